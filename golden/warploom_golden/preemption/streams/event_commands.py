"""PREEMPT, RESUME and ABORT_STREAMS (rules 55 to 60)."""

from collections.abc import Iterable

from warploom_golden.preemption.streams.event_admission import Admission
from warploom_golden.preemption.streams.event_launch import Launch
from warploom_golden.preemption.streams.event_log import Code
from warploom_golden.preemption.streams.event_state import EventState, Preempt
from warploom_spec import ErrorCode
from warploom_spec.queue import Mode, QueueCode
from warploom_spec.queue_packets import QueueOpcode


class Commands:
    """Commands for masks of streams, at most one a cycle.

    Parameters
    ----------
    state : EventState
        What all parts share.
    admission : Admission
        Counts the reserved records.
    """

    def __init__(self, state: EventState, admission: Admission):
        self._state, self._admission = state, admission
        self._given: tuple[QueueOpcode, set[int]] | None = None

    def give(self, opcode: QueueOpcode, streams: Iterable[int]) -> None:
        """Let a command be at the port in this cycle."""
        assert self._given is None, "two commands in one cycle"
        self._given = opcode, set(streams)

    @property
    def aborted_streams(self) -> set[int]:
        """The streams that an ABORT_STREAMS of this cycle names."""
        if self._given is None or self._given[0] is not QueueOpcode.ABORT_STREAMS:
            return set()
        return self._given[1]

    def step(self, chosen: Launch | None, taken_back: Launch | None) -> None:
        """Run one cycle; a launch may be chosen, and one taken back, in it."""
        s = self._state
        given, self._given = self._given, None
        if given is not None:
            opcode, streams = given
            if opcode is QueueOpcode.RESUME:
                code = self._resume(streams)
            elif opcode is QueueOpcode.ABORT_STREAMS:
                code = self._abort_streams(streams)
            else:
                code = self._check_preempt()
            s.log.commands.append(Code(s.cycle + 1, code))
        self._act_on_resumes()
        if given is not None and given[0] is QueueOpcode.PREEMPT and not code:
            self._preempt(given[1], chosen, taken_back)

    # --- PREEMPT ---------------------------------------------------------------------------------
    def _check_preempt(self) -> int:
        """Return why a PREEMPT is refused; 0 if it is not (rule 56)."""
        if self._state.preempt is not None:
            return QueueCode.PREEMPT_PENDING
        return 0 if self._admission.has_record_for_preempt else ErrorCode.COMPLETION_FULL

    def _preempt(self, streams: set[int], chosen: Launch | None, taken_back: Launch | None) -> None:
        s = self._state
        self._admission.reserve_for_preempt()
        preempt = Preempt(streams, s.clock)
        launches = [*s.on_line(), *(each.launch for each in s.residents())]
        launches += [chosen] if chosen is not None else []
        met = [each for each in launches if each.stream in streams and each is not taken_back]

        def begin() -> None:
            s.preempt = preempt
            for number in streams:
                s.streams[number].held = True
            for each in met:
                each.met = True

        s.later(begin)

    def report_preempt(self) -> None:
        """Make the pending PREEMPT's record, if none of its launches is on its way (rule 58)."""
        s = self._state
        if s.preempt is None or s.made:
            return
        if any(each.met for each in self._on_their_way()):
            return
        s.make_preempt_record()

        def forget() -> None:
            s.preempt = None

        s.later(forget)

    def _on_their_way(self) -> Iterable[Launch]:
        """Yield the launches in stage, line, places and end register."""
        s = self._state
        yield from s.on_line()
        yield from (each.launch for each in s.residents())
        if s.ending is not None:
            yield s.ending[0].launch

    # --- RESUME ----------------------------------------------------------------------------------
    def _resume(self, streams: set[int]) -> int:
        s = self._state
        held = [each for each in s.streams if each.number in streams and each.held]
        if not held:
            return QueueCode.NOT_PREEMPTED

        def note() -> None:
            for each in held:
                each.resuming = True

        s.later(note)
        return 0

    def _act_on_resumes(self) -> None:
        """Let each RESUME act that may (rule 59)."""
        s = self._state
        resuming = [each for each in s.streams if each.resuming]
        if not resuming:
            return
        waits = any(
            each.launch.met and each.launch.mode == Mode.WAIT and each.begun and not each.killing
            for each in s.residents()
        )
        named = s.preempt.mask if s.preempt is not None and not waits else set()
        acting = [each for each in resuming if each.number not in named]

        def go_on() -> None:
            for each in acting:
                each.held = each.resuming = False

        if acting:
            s.later(go_on)

    # --- ABORT_STREAMS ---------------------------------------------------------------------------
    def _abort_streams(self, streams: set[int]) -> int:
        """Abort all launches of some streams (rule 60)."""
        s = self._state
        named = [each for each in s.streams if each.number in streams]
        tails = [(each, each.items[-1]) for each in named if each.items]
        marked = [launch for each in named for launch in each.started]
        residents = [each for each in s.residents() if each.launch.stream in streams]

        def abort() -> None:
            for stream, tail in tails:
                stream.boundary = tail if tail in stream.items else None
            for launch in marked:
                launch.marked = True
            for each in residents:
                each.aborted = True

        s.later(abort)
        return 0
