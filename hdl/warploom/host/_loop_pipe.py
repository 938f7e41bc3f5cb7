"""The templates in block memory, and the pipe from a word there to `step`."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config
from warploom_spec.host_commands import INLINE_WORD, STEP_WORD, TASK_WORDS, Opcode, launch_words
from warploom_spec.loop_packets import loop_step

_WORD_BITS: Final = (TASK_WORDS - 1).bit_length()
#: The fields that can change, by their words; of two words the first is the low one.
_FIELDS: Final = ((6,), (7,), (3, 4))
#: Its halves are added apart.
_TWO_HALVES: Final = 7
#: The first bit of T11 that says of a field that it alternates.
_ALTERNATES: Final = 16
#: What `step` shows of a place, and what a place has from the one before.
_SHOWN: Final = ("valid", "ring", "end", "loop", "word")
_HANDED_ON: Final = (*_SHOWN, "slot")


def loop_entry(config: Config) -> data.StructLayout:
    """Return what enters the pipe: a word of a slot, a ring or an end.

    ``later`` and ``odd`` say of the iteration that it is not the first one, and odd.
    """
    return data.StructLayout(
        {
            "valid": 1,
            "ring": 1,
            "end": 1,
            "loop": config.loop_bits,
            "word": _WORD_BITS,
            "slot": config.template_bits,
            "later": 1,
            "odd": 1,
        }
    )


def template_place(config: Config) -> data.StructLayout:
    """Return where a word of a template stands."""
    return data.StructLayout({"word": _WORD_BITS, "slot": config.template_bits, "second": 1})


def _fields(config: Config) -> tuple[tuple[int, ...], ...]:
    """Return the words of each field that can change, in their order in T11."""
    inline = range(INLINE_WORD, INLINE_WORD + 2 * config.inline_args, 2)
    return (*_FIELDS, *((word, word + 1) for word in inline))


def _low_words(config: Config) -> tuple[int, ...]:
    """Return the words whose carry goes to the next word."""
    return tuple(words[0] for words in _fields(config) if len(words) > 1)


def _place(config: Config) -> data.StructLayout:
    """Return what the second and the last place hold.

    An entry; whether its word is kept as the present one; whether its carry goes to the next word.
    """
    entry = loop_entry(config).members
    shapes = {name: entry[name] for name in _HANDED_ON}
    return data.StructLayout({**shapes, "kept": 1, "is_low": 1})


def _any_of(word: Value, numbers: tuple[int, ...]) -> Value:
    """Return whether a word is one of these."""
    return Cat(word == number for number in numbers).any()


class LoopPipe(wiring.Component):
    """Keep the templates, and make each word of a launch from them.

    One memory has both halves of the slots, as the host wrote them. The other one has the words as
    they were written last: in the first iteration each word of the first half comes here. So a word
    is the sum of one word of each memory, either of which may be left out.

    Parameters
    ----------
    config : Config
        ``loop_templates``, ``loop_sections``, ``inline_args``, ``priority_bits``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A word of the host is written to its place at the end of this cycle.
                "writes": In(1),
                "place": In(template_place(config)),
                "datum": In(32),
                # What enters; the pipe moves in this cycle; no place of it holds anything.
                "entry": In(loop_entry(config)),
                "moves": Out(1),
                "empty": Out(1),
                # Of an end, while one is in the pipe; and whether a slot is its argument.
                "code": In(8),
                "is_busy": In(1),
                "busy_slot": In(config.template_bits),
                # The last place; a host's write makes it stand.
                "step": Out(loop_step(config).layout()),
                "host_writes": In(1),
                # The first and the last word that change, of the slot whose T11 was read last. They
                # stay when only words that change enter.
                "short": In(1),
                "changes": Out(1),
                "first_word": Out(_WORD_BITS),
                "last_word": Out(_WORD_BITS),
                # Priority of the launch that a loop wrote last.
                "loop": In(config.loop_bits),
                "priority": Out(config.priority_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        entry, depth = ports.entry, self._config.loop_templates * TASK_WORDS
        m.d.comb += self.moves.eq(~(ports.step.valid & self.host_writes))
        templates = Rows(m, "templates", 32, 2 * depth, block=True)
        templates.write(self.writes, ports.place, self.datum)
        present = Rows(m, "present", 32, depth, block=True)
        is_table = (entry.word == STEP_WORD) & ~entry.ring & ~entry.end
        place = Cat(entry.word, entry.slot)
        second = entry.later & ~is_table
        words = templates.later(Cat(place, second), self.moves)
        was = present.later(place, self.moves)
        first: Any = Signal(entry.shape(), name="place_1")
        table_came = Signal(name="table_came")
        with m.If(self.moves):
            m.d.sync += [
                first.eq(entry),
                first.valid.eq(entry.valid & ~is_table),
                table_came.eq(entry.valid & is_table),
            ]
        second_place, operands = self._select(m, first, table_came, words, was)
        third, out = self._add(m, second_place, operands)
        self._step(m, third, out, present)
        m.d.comb += self.empty.eq(~(first.valid | second_place.valid | third.valid))
        return m

    def _changes(self, m: Module, first: Any, table_came: Value, words: Value) -> tuple[Any, Any]:
        """Keep T11; return of the word in the first place whether it changes, and alternates."""
        fields = _fields(self._config)
        changing, alternating = (
            Signal(len(fields), name=name) for name in ("changing", "alternating")
        )
        changes, alternates = Signal(name="word_changes"), Signal(name="word_alternates")
        with m.If(self.moves & table_came):
            m.d.sync += [changing.eq(words), alternating.eq(words[_ALTERNATES:])]
        with m.Switch(first.word):
            for number, of_field in enumerate(fields):
                with m.Case(*of_field):
                    m.d.comb += [
                        changes.eq(changing[number]),
                        alternates.eq(changing[number] & alternating[number]),
                    ]
        seen = first.valid & ~first.ring & ~first.end & changes & ~self.short
        with m.If(self.moves & table_came):
            m.d.sync += self.changes.eq(0)
        with m.Elif(self.moves & seen):
            m.d.sync += [self.changes.eq(1), self.last_word.eq(first.word)]
            with m.If(~self.changes):
                m.d.sync += self.first_word.eq(first.word)
        return changes, alternates

    def _select(
        self, m: Module, first: Any, table_came: Value, words: Value, was: Value
    ) -> tuple[Any, tuple[Signal, Signal]]:
        """Return the second place, and the two words whose sum is its word."""
        changes, alternates = self._changes(m, first, table_came, words)
        # An end adds nothing to nothing.
        takes_words = ~first.end & (~first.later | (changes & (~alternates | first.odd)))
        takes_present = ~first.end & first.later & ~(alternates & first.odd)
        a, b = (Signal(32, name=name, reset_less=True) for name in ("step_word", "present_word"))
        second: Any = Signal(_place(self._config), name="place_2")
        is_word = first.valid & ~first.ring & ~first.end
        with m.If(self.moves):
            m.d.sync += [
                *(second[name].eq(first[name]) for name in _HANDED_ON),
                # The other value of a field that alternates is not kept.
                second.kept.eq(is_word & ~(alternates & first.odd)),
                second.is_low.eq(is_word & _any_of(first.word, _low_words(self._config))),
                a.eq(words),
                b.eq(was),
            ]
        with m.If(self.moves & ~takes_words):
            m.d.sync += a.eq(0)
        with m.If(self.moves & ~takes_present):
            m.d.sync += b.eq(0)
        return second, (a, b)

    def _add(self, m: Module, second: Any, operands: tuple[Signal, Signal]) -> tuple[Any, Signal]:
        """Return the last place, and its word."""
        a, b = operands
        carry, out = Signal(name="carry"), Signal(32, name="word", reset_less=True)
        third: Any = Signal(_place(self._config), name="place_3")
        # The lowest bits add the carry. The ones between the halves let their carry pass, or not.
        joined = second.word != _TWO_HALVES
        total = Cat(C(1, 1), a[:16], joined, a[16:]) + Cat(carry, b[:16], C(0, 1), b[16:])
        slot = self.busy_slot & (second.end & self.is_busy).replicate(len(self.busy_slot))
        ended = Cat(self.code & second.end.replicate(8), C(0, 8), slot)
        with m.If(self.moves):
            m.d.sync += [
                third.eq(second),
                carry.eq(total[34] & second.is_low),
                out.eq(Cat(total[1:17], total[18:34]) | ended),
            ]
        with m.If(self.moves & (second.word == 0) & ~second.end):
            m.d.sync += out[:8].eq(int(Opcode.LAUNCH))
        return third, out

    def _step(self, m: Module, third: Any, out: Signal, present: Rows) -> None:
        """Show the last place; keep its word, and the priority, when it is taken."""
        ports: Any = self
        kept = third.kept & ~self.host_writes
        priority_field = launch_words(self._config).by_name["priority"]
        present.write(kept, Cat(third.word, third.slot), out)
        priorities = Rows(m, "priorities", len(self.priority), self._config.loop_sections)
        priorities.write(
            kept & (third.word == priority_field.word),
            third.loop,
            out[priority_field.low :][: len(self.priority)],
        )
        m.d.comb += [
            self.priority.eq(priorities.now(self.loop)),
            *(ports.step[name].eq(third[name]) for name in _SHOWN),
            ports.step.data.eq(out),
        ]
