"""The one who looks at the loops, one after the other, and does what is next for each."""

from itertools import pairwise
from typing import Any, Final

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.host._loop_look import loop_look
from warploom.host._loop_pipe import loop_entry
from warploom.host._loop_rows import loop_position, loop_span
from warploom_spec import Config
from warploom_spec.host_commands import STEP_WORD
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import template_numbers

#: Slots that are swept in a cycle.
_SWEPT: Final = 4
#: After a reset no slot is in use, four slots a cycle. Then: a loop is chosen; its look reads, and
#: decides; its slots are taken, or given back; its words enter the pipe; its ring does; its end
#: does, and is waited for.
_STATES: Final = (
    *("sweep", "choose", "read", "decide", "take", "give"),
    *("words", "ring", "end", "ending"),
)


class LoopWalker(wiring.Component):
    """Choose a loop, look at it, and take its slots, write and ring its launch, or end it.

    Parameters
    ----------
    config : Config
        ``loop_templates``, ``loop_sections``, ``inline_args``, ``launch_waits``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        word, slot = loop_entry(config).members["word"], config.template_bits
        super().__init__(
            {
                # A loop may be chosen, and which one; it is chosen; the one that was chosen last.
                "found": In(1),
                "chosen": In(config.loop_bits),
                "chooses": Out(1),
                "loop": Out(config.loop_bits),
                # The look at this loop reads; what it has read; the loop's slots, its next launch.
                "reads": Out(1),
                "look": In(loop_look(config)),
                "span": In(loop_span(config)),
                "position": In(loop_position(config)),
                # A loop begins in this cycle; a launch ends in it, or was accepted; a host writes.
                "another_begins": In(1),
                "counts": In(1),
                "host_writes": In(1),
                # Slots are made free after a reset; the bit of a slot is written.
                "sweeps": Out(1),
                "writes_slot": Out(1),
                "uses_slot": Out(1),
                "slot": Out(slot),
                "slot_in_use": In(1),
                # What the loop does: all its slots are taken; its counts become 0; a launch is
                # written, and it goes on; its ring enters; its end enters.
                "runs": Out(1),
                "clears": Out(1),
                "launches": Out(1),
                "rings": Out(1),
                "ends": Out(1),
                # Of this loop, in this cycle.
                "stopped": In(1),
                # To the pipe, and from it.
                "entry": Out(loop_entry(config)),
                "code": Out(8),
                "is_busy": Out(1),
                "busy_slot": Out(slot),
                "moves": In(1),
                "empty": In(1),
                # Words that change of the template that was written last.
                "changes": In(1),
                "first_word": In(word),
                "last_word": In(word),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        # One register a state: one of them is 1.
        now = {name: Signal(name=f"in_{name}", init=name == _STATES[0]) for name in _STATES}
        following = {name: Signal(name=f"to_{name}") for name in _STATES}
        m.d.sync += [now[name].eq(following[name]) for name in _STATES]
        loop = Signal.like(self.loop, name="walkers_loop", init=self._config.loop_sections - 1)
        with m.If(self.chooses):
            m.d.sync += loop.eq(self.chosen)
        m.d.comb += [
            self.loop.eq(loop),
            ports.entry.loop.eq(loop),
            # Mailbox gets an end before another loop is looked at.
            self.chooses.eq(self.found & (now["choose"] | (now["ending"] & self.empty))),
            following["read"].eq(self.chooses | self.runs),
            following["choose"].eq(now["choose"] & ~self.found),
            following["ending"].eq((now["ending"] & ~self.chooses) | self.ends),
        ]
        last_swept = self._walk_slots(m, now, following)
        with m.If(now["sweep"]):
            m.d.comb += [
                self.sweeps.eq(1),
                following["sweep"].eq(~last_swept),
                following["choose"].eq(last_swept),
            ]
        m.d.comb += self.reads.eq(now["read"])
        with m.If(now["read"]):
            m.d.comb += following["decide"].eq(1)
        with m.If(now["decide"]):
            self._decide(m, following)
        self._launch(m, now, following)
        return m

    def _decide(self, m: Module, following: dict[str, Signal]) -> None:
        """Do what the look's result asks for."""
        look: Any = self.look
        with m.If(look.begins):
            m.d.comb += [
                self.clears.eq(~self.counts),
                following["decide"].eq(self.counts),
                following["take"].eq(~self.counts),
            ]
        with m.Elif(look.over):
            m.d.comb += [following["give"].eq(look.settled), following["choose"].eq(~look.settled)]
        with m.Elif(look.again):
            m.d.comb += [
                following["ring"].eq(look.has_room),
                following["choose"].eq(~look.has_room),
            ]
        with m.Elif(~look.may_launch):
            m.d.comb += following["choose"].eq(1)
        with m.Elif(self.another_begins):
            # The rows have one writer.
            m.d.comb += [self.reads.eq(1), following["decide"].eq(1)]
        with m.Else():
            no_words = look.short & ~self.changes
            m.d.comb += [
                self.launches.eq(1),
                following["ring"].eq(no_words),
                following["words"].eq(~no_words),
            ]

    def _walk_slots(self, m: Module, now: dict[str, Signal], following: dict[str, Signal]) -> Value:
        """Take the loop's slots, or give them back: from the first one on, a slot a cycle.

        Return whether the last slots are swept.
        """
        span, look = (getattr(self, name) for name in ("span", "look"))
        last, undoes = Signal.like(self.slot, name="last_slot"), Signal(name="undoes")
        at_last, walks, busy = (Signal(name=name) for name in ("at_last_slot", "walks", "busy"))
        step = Mux(now["sweep"], _SWEPT, 1)
        m.d.comb += [
            at_last.eq(self.slot == last),
            walks.eq(~self.host_writes),
            busy.eq(now["take"] & walks & self.slot_in_use),
            self.uses_slot.eq(now["take"]),
            self.writes_slot.eq(
                walks & ((now["take"] & ~self.slot_in_use) | (now["give"] & ~(undoes & at_last)))
            ),
            self.runs.eq(now["take"] & walks & ~self.slot_in_use & at_last),
            self.busy_slot.eq(last),
            self.is_busy.eq(undoes),
            self.code.eq(
                Mux(
                    undoes,
                    HostError.TEMPLATE_BUSY,
                    Mux(
                        look.failed,
                        HostError.LAUNCH_FAILED,
                        Mux(look.by_host, HostError.LOOP_STOPPED, 0),
                    ),
                )
            ),
        ]
        with m.If(self.reads | busy):
            # Those before a slot that is in use are given back.
            m.d.sync += [
                self.slot.eq(span.first),
                last.eq(Mux(self.reads, span.last, self.slot)),
                undoes.eq(~self.reads),
            ]
        with m.Elif(now["sweep"] | ((now["take"] | now["give"]) & walks)):
            m.d.sync += self.slot.eq(self.slot + step)
        with m.If(now["take"]):
            m.d.comb += [following["take"].eq(~busy & ~self.runs), following["give"].eq(busy)]
        with m.If(now["give"]):
            over = walks & at_last
            m.d.comb += [following["give"].eq(~over), following["end"].eq(over)]
        last_swept: Value = self.slot[2:] == self._config.loop_templates // _SWEPT - 1
        return last_swept

    def _launch(self, m: Module, now: dict[str, Signal], following: dict[str, Signal]) -> None:
        """Let the words of a launch enter the pipe, then its ring; or an end."""
        entry: Any = self.entry
        at_last_word = self._words(m)
        m.d.comb += [
            entry.valid.eq(now["words"] | (now["ring"] & ~self.stopped) | now["end"]),
            entry.ring.eq(now["ring"]),
            entry.end.eq(now["end"]),
            self.rings.eq(now["ring"] & self.moves & ~self.stopped),
            self.ends.eq(now["end"] & self.moves),
        ]
        with m.If(now["words"]):
            behind = self.moves & at_last_word
            m.d.comb += [following["words"].eq(~behind), following["ring"].eq(behind)]
        with m.If(now["ring"]):
            m.d.comb += [following["ring"].eq(~self.moves), following["choose"].eq(self.moves)]
        with m.If(now["end"]):
            m.d.comb += following["end"].eq(~self.moves)

    def _words(self, m: Module) -> Value:
        """Step through the words of a launch; return whether this one is the last."""
        entry, look, position = (getattr(self, name) for name in ("entry", "look", "position"))
        order = (
            STEP_WORD,
            *(word for word in template_numbers(self._config) if word != STEP_WORD),
        )
        word, following = (Signal.like(entry.word, name=name) for name in ("number", "following"))
        slot = Signal.like(self.slot, name="slot_of_words")
        later, odd = Signal(name="later_iteration"), Signal(name="odd_iteration")
        m.d.comb += [
            following.eq(word + 1),
            *(
                entry[name].eq(value)
                for name, value in zip(
                    ("word", "slot", "later", "odd"), (word, slot, later, odd), strict=True
                )
            ),
        ]
        with m.Switch(word):
            for before, behind in pairwise(order):
                if behind != before + 1:
                    with m.Case(before):
                        m.d.comb += following.eq(behind)
        with m.If(self.moves & entry.valid):
            m.d.sync += word.eq(following)
        with m.If(self.launches):
            m.d.sync += [
                word.eq(Mux(look.short, self.first_word, STEP_WORD)),
                slot.eq(position.slot),
                later.eq(position.later),
                odd.eq(position.odd),
            ]
        at_last: Value = word == Mux(look.short, self.last_word, order[-1])
        return at_last
