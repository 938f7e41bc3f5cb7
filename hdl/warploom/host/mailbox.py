"""A doorbell and a task register for each worker."""

from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._explanations import (
    Explanation,
    add_errors,
    explain_answers,
    explain_verdict,
)
from warploom.host._launch_side import LaunchSide, launch_path_ports
from warploom.host._loop_side import LoopSide, add_loop_side, connect_loop, loop_ports, whose
from warploom.host._outcome import Outcome, choose_word
from warploom.host._task_words import TaskWords, used_words
from warploom.host._verdict import Verdict
from warploom.lib.bits import before, number_of
from warploom.lib.rows import style
from warploom_spec import Config, host_packets
from warploom_spec.host_commands import FLAG_SKIP_PRIMARY, TASK_WORDS, run_words
from warploom_spec.host_map import (
    LOOP_RESULTS,
    OFFSETS,
    SECTION_BASE,
    SECTION_BYTES,
    SECTION_WORDS,
    section_words,
)
from warploom_spec.queue_packets import WAIT_BITS

_OFFSET_BITS: Final = (SECTION_BYTES // 4 - 1).bit_length()
_FIRST_TASK_WORD: Final = OFFSETS["T0"] // 4


def _offsets(access: str) -> list[int]:
    """Return the word offsets with one kind of access."""
    return [word.offset // 4 for word in SECTION_WORDS if word.access == access]


class Mailbox(wiring.Component):
    """Answer the sections' commands, or hand them to their units and to LaunchPath.

    Parameters
    ----------
    config : Config
        ``sections``, ``units``, ``cores_per_unit``, widths of a launch.
    launches : bool, optional
        Whether there is a launch path behind it; without one the ports from ``launch`` on are
        absent.
    """

    write: "data.View[data.StructLayout]"
    write_refused: Signal
    read: "data.View[data.StructLayout]"
    answer: "data.View[data.StructLayout]"
    run: "list[data.View[data.StructLayout]]"
    done: "list[data.View[data.StructLayout]]"
    error: "list[data.View[data.StructLayout]]"
    result: "list[data.View[data.StructLayout]]"
    missing: Signal
    unit_reset: Signal
    disconnected: Signal

    def __init__(self, config: Config, *, launches: bool = True) -> None:
        self._config, self._launches = config, launches
        self._loops = launches and config.has_loops
        self._bits = max(1, (config.sections - 1).bit_length())
        units = config.units
        launch_path = {
            **launch_path_ports(config),
            **loop_ports(config),
            # A section completed in the cycle before. A register.
            "completed": Out(1),
            # A soft reset is running: accesses are refused, and two cycles later commands end with
            # `RESET`.
            "soft_reset_active": In(1),
            # Some doorbell is 1 (state).
            "waiting": Out(1),
        }
        super().__init__(
            {
                # A write that commits in the next cycle.
                "write": In(host_packets.bus_write(config).layout()),
                # The write that commits in this cycle is refused.
                "write_refused": Out(1),
                # A read that is sampled in the next cycle.
                "read": In(host_packets.bus_read(config).layout()),
                # Two cycles after a sampling, with the state in the cycle of the sampling.
                "answer": Out(host_packets.bus_answer(config).layout()),
                # Pulses, two cycles after a doorbell's write commits. Registers.
                "run": Out(host_packets.unit_run(config).layout()).array(units),
                # Pulses: the section's doorbell is 0 in the next cycle. `error` comes a cycle after
                # `done`.
                "done": In(host_packets.unit_done(config).layout()).array(units),
                "error": In(host_packets.unit_error(config).layout()).array(units),
                # Pulses; one in the cycle of `done` still counts. The words read 0 until the
                # doorbell is 0.
                "result": In(host_packets.unit_result(config).layout()).array(units),
                # A core of the unit is missing; the unit is reset.
                "missing": In(units),
                "unit_reset": In(units),
                # The unit's section runs no commands.
                "disconnected": Out(units),
                **(launch_path if launches else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        sections = self._config.sections
        shut, closed = self._close(m)
        doorbell = Signal(sections)
        rings, completes, serving = (
            Signal(sections, name=name) for name in ("rings", "completes", "serving")
        )
        loop: Any = None
        if self._loops:
            loop = add_loop_side(m, self, LoopSide(self._config), shut)
        section, asks, words = self._write(m, doorbell, rings, shut, loop)
        # The section whose doorbell is being written: its task is read in the same cycle.
        m.d.sync += serving.eq(rings)
        judged = before(m, "task_judged", words.task)
        # A loop's launch is rung and judged like one of a host.
        rung, judging = (
            (rings, serving) if loop is None else (rings | loop.rings, serving | loop.serving)
        )
        verdict = self._judge(m, judging, section, words.task, judged)
        m.d.comb += completes.eq(serving & verdict.finishes.replicate(sections))
        explained = {"judged": explain_verdict(m, completes, verdict, loop, words.datum)}
        interrupted = Signal(sections)
        answered: Value = completes
        awaits: Value = C(0, sections)
        kept: Value = C(0, 32 + WAIT_BITS)
        m.d.comb += words.read_section.eq(section)
        if self._launches:
            side = self._launch_side(m, asks, rung, section, words, closed, judged, verdict)
            launched, told, accepted, turned_away = whose(side, loop)
            answered = answered | launched | side.aborted | side.commanded | turned_away
            awaits = side.awaits
            explained |= explain_answers(m, self, side, told, turned_away)
            kept = self._keep_answers(m, rings, accepted, interrupted, doorbell)
            m.d.comb += self.waiting.eq(doorbell.any())
        if loop is not None:
            answered = answered | loop.over
        m.d.comb += interrupted.eq(doorbell & ~awaits & closed.replicate(sections))
        ended = Cat(done.valid & ~closed for done in self.done)
        completed = answered | interrupted | ended
        if loop is not None:
            connect_loop(m, self, loop, side, verdict, rings, serving, completed, judged)
        m.d.sync += doorbell.eq((doorbell | rings) & ~completed)
        if self._launches:
            m.d.sync += self.completed.eq(completed.any())
        self._read(
            m,
            *self._keep_outcomes(m, doorbell, rings, interrupted, closed, ended, explained),
            kept,
            shut,
            loop,
        )
        return m

    def _close(self, m: Module) -> tuple[Value, Value]:
        """Return whether accesses are refused, and whether what stands in the sections ends.

        The second comes two cycles later: by then each command that was taken is handed on.
        """
        if not self._launches:
            return C(0, 1), C(0, 1)
        active = self.soft_reset_active
        shut = Signal()
        settles = Signal()
        closed = Signal()
        m.d.sync += [shut.eq(active), settles.eq(active & shut), closed.eq(active & settles)]
        return shut, closed

    def _keep_outcomes(
        self,
        m: Module,
        doorbell: Signal,
        rings: Signal,
        interrupted: Signal,
        closed: Value,
        ended: Value,
        explained: dict[str, Explanation],
    ) -> tuple[list[Outcome], Value]:
        """Add the words of all sections but their tickets; return them, and ERROR."""
        config = self._config
        inside, section, offset = self._address(self.read.address)
        reads = choose_word(m, offset)
        selected = Signal(config.sections, name="reads_section")
        m.d.sync += selected.eq(Cat(inside & (section == k) for k in range(config.sections)))
        errors = add_errors(m, config, explained)
        m.d.comb += [
            errors.clear.eq(before(m, "rung_before", rings)),
            errors.interrupted.eq(before(m, "was_interrupted", interrupted)),
            errors.ended.eq(before(m, "ended_before", ended)),
            errors.section.eq(before(m, "section_shown", before(m, "section_read", section))),
            errors.shows.eq(before(m, "shows_error", self._shown(reads, selected, doorbell))),
        ]
        outcomes = []
        for k in range(config.sections):
            outcome = Outcome(config, has_unit=k < config.units)
            m.submodules[f"outcome_{k}"] = outcome
            wiring.connect(m, reads, outcome.reads)
            m.d.comb += [
                outcome.clear.eq(rings[k] | interrupted[k]),
                outcome.selected.eq(selected[k]),
                outcome.doorbell.eq(doorbell[k]),
            ]
            if k < config.units:
                m.d.comb += [
                    outcome.done.eq(self.done[k]),
                    outcome.done.valid.eq(ended[k]),
                    outcome.error.eq(self.error[k]),
                    outcome.result.eq(self.result[k]),
                    outcome.result.valid.eq(self.result[k].valid & ~closed),
                    outcome.shows_error.eq(errors.shows_unit[k]),
                ]
            outcomes.append(outcome)
        return outcomes, errors.word

    def _shown(self, reads: Any, selected: Value, doorbell: Value) -> Value:
        """Return the section whose ERROR is read, one-hot.

        That of a section that can loop reads 0 while the doorbell is 1: a loop's launch may be
        refused long before the loop ends.
        """
        shown: Value = selected & reads.error.replicate(len(selected))
        if not self._loops:
            return shown
        first = self._config.first_loop_section
        return shown & ~Cat(C(0, first), doorbell[first:])

    def _keep_answers(
        self, m: Module, rings: Value, launched: Value, interrupted: Signal, doorbell: Signal
    ) -> Value:
        """Keep ticket and number of the sections' launches; return the read section's."""
        depth = 1 << self._bits
        answers: memory.Memory = memory.Memory(
            shape=32 + WAIT_BITS, depth=depth, init=[], attrs=style(depth)
        )
        m.submodules.answers = answers
        writer = answers.write_port()
        reader = answers.read_port(domain="comb")
        held = Signal(self._config.sections, name="answer_held")
        answer: Any = self.launch_answer
        m.d.comb += [
            writer.addr.eq(number_of(launched)),
            writer.data.eq(before(m, "new_answer", Cat(answer.ticket, answer["count"]))),
            writer.en.eq(launched.any()),
            reader.addr.eq(before(m, "answer_section", self._address(self.read.address)[1])),
        ]
        shown: Value = held
        if self._loops:
            # A loop has many answers before its end, or before the reset that ends it.
            shown, rings = held & ~doorbell, rings | interrupted
        m.d.sync += held.eq((held | launched) & ~rings)
        return Mux(Array(shown)[reader.addr], reader.data, 0)

    def _address(self, address: Value) -> tuple[Value, Value, Value]:
        """Return whether a word address is in a section, the section, and the word's offset."""
        first = SECTION_BASE // SECTION_BYTES
        upper = address[_OFFSET_BITS:]
        inside = (upper >= first) & (upper < first + self._config.sections)
        return inside, (upper - first)[: self._bits], address[:_OFFSET_BITS]

    def _write(
        self, m: Module, doorbell: Signal, rings: Signal, shut: Value, loop: Any
    ) -> tuple[Signal, Value, TaskWords]:
        """Answer and perform a write.

        Returns its section, whether it asks for a doorbell, a host's or a loop's, refused or not,
        and the task registers.

        A write is decoded in the cycle before it commits. Only `shut` and the doorbells are looked
        at after that.
        """
        write = self.write
        inside, section, offset = self._address(write.address)
        is_doorbell = offset == OFFSETS["DOORBELL"] // 4
        writable = is_doorbell | Cat(offset == o for o in _offsets("wo")).any()
        alters = write.strobes.any()
        wrong_value = is_doorbell & (~write.strobes.all() | write.data[1:].any())
        here = Signal(self._config.sections, name="writes_section")
        m.d.comb += here.eq(
            Cat(write.valid & inside & (section == k) for k in range(self._config.sections))
        )
        chosen = Cat(here.any() & (offset == _FIRST_TASK_WORD + k) for k in range(TASK_WORDS))
        strobes, datum, target = write.strobes, write.data, section
        if loop is not None:
            chosen, strobes = chosen | loop.chosen, strobes | loop.takes.replicate(len(strobes))
            datum = Mux(loop.takes, loop.step.data, datum)
            target = Mux(loop.takes, loop.section, section)
        place = before(m, "place", target)
        wrong = before(m, "wrong", ~inside | ~writable | (alters & wrong_value))
        altering = before(m, "altering", alters)
        # A doorbell that falls at the end of this cycle still counts in the next one.
        rung = before(m, "rung", (here & (doorbell | rings)).any())
        may_ring = Signal(self._config.sections)
        rung_value = is_doorbell & write.strobes.all() & write.data[0] & ~write.data[1:].any()
        rings_one = here & rung_value.replicate(self._config.sections)
        m.d.sync += may_ring.eq(rings_one)
        asks = rings_one.any()
        if loop is not None:
            asks = asks | (loop.takes & loop.step.ring)
        free = Signal()
        m.d.comb += [
            free.eq(~rung & ~shut),
            self.write_refused.eq(shut | wrong | (altering & rung)),
            rings.eq(may_ring & free.replicate(self._config.sections)),
        ]
        used = used_words(self._config, launches=self._launches)
        m.submodules.task_words = words = TaskWords(self._bits, used)
        m.d.comb += [
            words.chosen.eq(chosen),
            words.strobes.eq(strobes),
            words.performs.eq(free),
            words.section.eq(place),
            words.datum.eq(before(m, "datum", datum)),
        ]
        return place, before(m, "asks", asks), words

    def _judge(
        self, m: Module, serving: Signal, section: Signal, task: Signal, judged: Signal
    ) -> Verdict:
        """Judge the command of the section in ``serving`` (one-hot); hand a task to its unit.

        ``task`` is read a cycle before, when its section is ``section``; ``judged`` is the same in
        the cycle of the judgement. All units see the same fields.
        """
        m.submodules.verdict = verdict = Verdict(self._config, launches=self._launches)
        m.d.comb += [
            verdict.task.eq(task),
            verdict.section.eq(section),
            verdict.serving.eq(serving),
            verdict.missing.eq(self.missing),
            verdict.unit_reset.eq(self.unit_reset),
            self.disconnected.eq(verdict.disconnected),
        ]
        words: Any = data.View(run_words(self._config).layout(), judged)
        handed: Any = Signal(host_packets.unit_run(self._config).layout(), name="handed_task")
        valid = Signal(self._config.units, name="runs_unit")
        m.d.sync += [
            valid.eq(serving[: self._config.units] & verdict.runs.replicate(self._config.units)),
            handed.skip_primary.eq(words.flags[0] & FLAG_SKIP_PRIMARY),
            handed.parts.eq(verdict.parts),
            *(
                handed[name].eq(words[name])
                for name in ("larger", "small", "first", "code", "arguments")
            ),
        ]
        for k, run in enumerate(self.run):
            m.d.comb += [run.eq(handed), run.valid.eq(valid[k])]
        return verdict

    def _launch_side(
        self,
        m: Module,
        asks: Value,
        rings: Value,
        section: Signal,
        words: TaskWords,
        closed: Value,
        judged: Signal,
        verdict: Verdict,
    ) -> LaunchSide:
        """Add what sends commands to the launch path."""
        m.submodules.launch_side = side = LaunchSide(self._config)
        names = launch_path_ports(self._config)
        for name in names:
            theirs, ours = getattr(side, name), getattr(self, name)
            if isinstance(ours, stream.Interface):
                wiring.connect(m, theirs, wiring.flipped(ours))
            else:
                m.d.comb += theirs.eq(ours)
        m.d.comb += [
            side.asks.eq(asks),
            side.ringing.eq(rings.any()),
            side.rung.eq(section),
            side.closed.eq(closed),
            side.task.eq(judged),
            *(
                getattr(side, name).eq(getattr(verdict, name))
                for name in ("launches", "aborts", "commands", "opcode")
            ),
            words.read_section.eq(side.read_section),
        ]
        return side

    def _read(
        self,
        m: Module,
        outcomes: list[Outcome],
        error: Value,
        kept: Value,
        shut: Value,
        loop: Any,
    ) -> None:
        """Answer a read two cycles after its sampling.

        The words come in three steps: choice of the word, the section's word, all sections' words.
        """
        inside, _, offset = self._address(self.read.address)
        named = Cat(offset == word.offset // 4 for word in section_words(self._config)).any()
        answers = before(m, "in_map", inside & named)
        is_ticket, is_count = (
            before(m, name, inside & (offset == OFFSETS[word] // 4))
            for name, word in (("is_ticket", "RESULT0"), ("is_count", "RESULT1"))
        )
        count = Cat(C(0, 32 - WAIT_BITS), Mux(is_count, kept[32:], 0))
        answered = before(m, "answered", answers & ~shut)
        words: list[Value] = [
            before(m, "shown_ticket", Mux(is_ticket, kept[:32], 0)),
            before(m, "shown_count", count),
            *(outcome.word for outcome in outcomes),
            error,
            *(outcome.error_word for outcome in outcomes[: self._config.units]),
        ]
        if loop is not None:
            words.append(_loop_word(m, self, inside, offset, outcomes, loop))
        shown = Signal(32)
        m.d.comb += shown.eq(reduce(or_, words))
        held: Any = Signal(self.answer.shape(), name="held_answer", reset_less=True)
        m.d.comb += self.answer.eq(held)
        m.d.sync += [
            held.refused.eq(~answered),
            held.data.eq(Mux(answered, shown, 0)),
        ]


def _loop_word(
    m: Module, box: Any, inside: Value, offset: Value, outcomes: list[Outcome], loop: Any
) -> Value:
    """Return what a read of RESULT2 or RESULT3 gives."""
    named = Cat(offset == word.offset // 4 for word in LOOP_RESULTS).any()
    is_result = before(m, "is_loop_result", inside & named)
    reads = Cat(outcome.selected for outcome in outcomes)
    shows = before(m, "shows_loop_result", is_result & (reads & loop.shows).any())
    result: Value = box.loop_result
    return result & shows.replicate(32)
