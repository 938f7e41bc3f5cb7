"""The mailbox's side to LoopExpander: its steps, and what becomes of loops and their launches."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import number_of
from warploom_spec import Config, loop_packets
from warploom_spec.errors import ERROR_CODE_BITS
from warploom_spec.host_commands import TASK_WORDS, loop_words


def loop_ports(config: Config) -> dict[str, Any]:
    """Return what goes to LoopExpander and comes from it; nothing without loops."""
    if not config.has_loops:
        return {}
    return {
        # A LOOP begins; what became of loops' launches in the cycle before. Registers.
        "begin": Out(loop_packets.loop_begin(config).layout()),
        "answers": Out(loop_packets.loop_answers(config).layout()),
        # A write, taken in a cycle in which the host has none.
        "step": In(loop_packets.loop_step(config).layout()),
        # RESULT2 or RESULT3 of a read that was sampled in the cycle before.
        "loop_result": In(32),
    }


class LoopSide(wiring.Component):
    """Take the expander's steps, and tell it what becomes of its loops' launches.

    A vector has a bit for each section; that of one that cannot loop is 0.

    Parameters
    ----------
    config : Config
        ``loop_sections``, ``loop_templates``, ``sections``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        sections = config.sections
        super().__init__(
            {
                # The host has a write; the mailbox is shut.
                "writing": In(1),
                "shut": In(1),
                # A step is taken: its section; the word that it writes, one-hot.
                "takes": Out(1),
                "section": Out(max(1, (config.sections - 1).bit_length())),
                "chosen": Out(TASK_WORDS),
                # A step commits: whose launch is rung, and is judged a cycle later; whose loop
                # ends, and completes in the next cycle.
                "rings": Out(sections),
                "serving": Out(sections),
                "ends": Out(sections),
                "over": Out(sections),
                # A LOOP is judged and not refused: whose, and its task.
                "begins": In(sections),
                "task": In(32 * TASK_WORDS),
                # Doorbells that are rung; sections that complete.
                "rung": In(sections),
                "completed": In(sections),
                # What becomes of launches in this cycle: refused by the mailbox, no room,
                # answered, with a code.
                "refuses": In(sections),
                "turns_away": In(sections),
                "answers_now": In(sections),
                "code": In(ERROR_CODE_BITS),
                # The section loops; its launch was refused in the cycle before; it shows its
                # loop's results. Registers.
                "loops": Out(sections),
                "refused": Out(sections),
                "shows": Out(sections),
                **loop_ports(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        first = self._config.first_loop_section
        self._take(m)
        loops, shows = (
            Signal(self._config.loop_sections, name=name) for name in ("looping", "showing")
        )
        answered, fails = ports.answers_now[first:] & loops, ports.code.any().replicate(len(loops))
        answers, begins = ports.answers, ports.begins[first:]
        m.d.sync += [
            loops.eq((loops | begins) & ~ports.completed[first:]),
            shows.eq((shows | ports.over[first:]) & ~ports.rung[first:]),
            answers.accepted.eq(answered & ~fails),
            answers.refused.eq((answered & fails) | ports.refuses[first:]),
            answers.full.eq(ports.turns_away[first:] & loops),
        ]
        m.d.comb += [
            ports.loops.eq(self._wide(loops)),
            ports.shows.eq(self._wide(shows)),
            ports.refused.eq(self._wide(answers.refused)),
        ]
        words: Any = data.View(loop_words(self._config).layout(), ports.task)
        begin = ports.begin
        m.d.sync += [
            begin.valid.eq(begins.any()),
            begin.loop.eq(number_of(begins)),
            *(begin[n].eq(words[n]) for n in ("count", "first_slot", "last_slot", "in_flight")),
        ]
        return m

    def _wide(self, loops: Value) -> Value:
        """Return a bit for each section."""
        return Cat(C(0, self._config.first_loop_section), loops)

    def _take(self, m: Module) -> None:
        """Take a step, and let it commit in the next cycle unless the mailbox is shut then."""
        ports: Any = self
        step, loops = ports.step, self._config.loop_sections
        whose = Cat(step.loop == k for k in range(loops)) & ports.takes.replicate(loops)
        rings, ends, serving, over = (
            Signal(loops, name=name) for name in ("may_ring", "may_end", "rung_before", "ended")
        )
        opens = (~ports.shut).replicate(loops)
        is_word = ports.takes & ~step.ring & ~step.end
        m.d.comb += [
            ports.takes.eq(step.valid & ~ports.writing),
            ports.section.eq(step.loop + self._config.first_loop_section),
            ports.chosen.eq(Cat(is_word & (step.word == k) for k in range(TASK_WORDS))),
            ports.rings.eq(self._wide(rings & opens)),
            ports.ends.eq(self._wide(ends & opens)),
            ports.serving.eq(self._wide(serving)),
            ports.over.eq(self._wide(over)),
        ]
        m.d.sync += [
            rings.eq(whose & step.ring.replicate(loops)),
            ends.eq(whose & step.end.replicate(loops)),
            serving.eq(rings & opens),
            over.eq(ends & opens),
        ]


def add_loop_side(m: Module, box: Any, loop: Any, shut: Value) -> Any:
    """Add what takes the expander's steps, a LoopSide, between a mailbox's ports; return it."""
    m.submodules.loop_side = loop
    m.d.comb += [
        loop.writing.eq(box.write.valid),
        loop.shut.eq(shut),
        loop.step.eq(box.step),
        box.begin.eq(loop.begin),
        box.answers.eq(loop.answers),
    ]
    return loop


def connect_loop(
    m: Module,
    box: Any,
    loop: Any,
    side: Any,
    verdict: Any,
    rings: Value,
    serving: Value,
    completed: Value,
    judged: Value,
) -> None:
    """Tell the loops' side what is rung and judged, and what becomes of sections and launches."""
    m.d.comb += [
        loop.rung.eq(rings),
        loop.begins.eq(serving & verdict.loops.replicate(len(serving))),
        loop.task.eq(judged),
        loop.completed.eq(completed),
        loop.refuses.eq(loop.serving & verdict.finishes.replicate(len(serving))),
        loop.turns_away.eq(side.turns_away_now),
        loop.answers_now.eq(side.answers_now),
        loop.code.eq(box.launch_answer.code),
        side.loops.eq(loop.loops),
    ]


def whose(side: Any, loop: Any) -> tuple[Value, Value, Value, Value]:
    """Return whose command an answer ends, explains, gives a ticket; who is turned away for good.

    Of a loop's launch it ends nothing: a refusal is kept for ERROR, a ticket for RESULT0.
    """
    launched, turned_away = side.launched, side.turned_away
    if loop is None:
        return launched, launched, launched, turned_away
    ends = launched & ~loop.loops
    told, accepted = ends | (launched & loop.refused), launched & ~(loop.loops & loop.refused)
    return ends, told, accepted, turned_away & ~loop.loops
