"""What each event changes in its last step (10 to 19)."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from warploom_golden.launch.queue_parts.packing import Run
from warploom_golden.launch.queue_parts.parts import Parts
from warploom_golden.launch.queue_parts.preempts import EndSeen
from warploom_golden.launch.queue_parts.rows import Launch, Pair, Row, is_reached, widened
from warploom_golden.launch.queue_parts.writer import (
    LAUNCH_WORDS,
    LOOPS_LAUNCH_WORDS,
    PREEMPT_WORDS,
)
from warploom_spec.errors import ErrorCode, Fate
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue import FinalFate, Mode, QueueCode
from warploom_spec.queue_packets import COUNT_BITS, FIRST_WAIT_WORD, WAIT_AHEAD, WAIT_BITS

MOST_KILLS = 7
#: Of a launch that ends outside the dispatcher.
NO_RUN = Run()


class Event(IntEnum):
    """The engine's events, the first first (6)."""

    ACCEPT = 0
    END = 1
    COMMAND = 2
    ABORT = 3
    LATE = 4
    LOOK = 5
    PREEMPT = 6


@dataclass(eq=False, slots=True)
class Service:
    """An event that the engine serves.

    Attributes
    ----------
    event : Event
        Its kind.
    stream : int or None
        Its stream; a PREEMPT has none.
    picked, last : int
        The cycle of its pick, and that of its last step.
    closed, no_sm : bool
        As they are in the cycle after the pick.
    preparing, resident : bool
        Whether the stream's head is, two cycles after the pick.
    launch : Launch or None
        An ACCEPT's or ABORT's.
    clears : bool
        A COMMAND of ``clear_stream``.
    fate, code : int
        An END's.
    begun, held_begun : bool
        As they are in an END's pick.
    first_offer, cycles : int
        What comes beside an END.
    """

    event: Event
    stream: int | None
    picked: int
    last: int
    closed: bool
    no_sm: bool
    preparing: bool = False
    resident: bool = False
    launch: Launch | None = None
    clears: bool = False
    fate: int = 0
    code: int = 0
    begun: bool = False
    held_begun: bool = False
    first_offer: int = 0
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """The record that a launch gets."""

    fate: FinalFate
    code: int = ErrorCode.OK


def finish(parts: Parts, service: Service) -> EndSeen | None:
    """Let an event change what it changes; return what a PREEMPT sees of an END."""
    if service.event is Event.END:
        return _end(parts, service)
    _FINISH[service.event](parts, service)
    return None


def _stream(service: Service) -> int:
    assert service.stream is not None
    return service.stream


def _accept(parts: Parts, service: Service) -> None:
    """A launch from the inbox is refused or accepted (10 to 12)."""
    launch = parts.inbox.launch
    assert launch is not None
    row = parts.rows[launch.stream]
    refused = _refusal(parts, service, launch)
    if refused is not None:
        parts.entries.give(launch.entry)
        parts.kept.places += 1
        parts.pulses.answer = parts.packets.answer(0, 0, *refused)
        return
    launch.waits = _kept_waits(parts, launch)
    launch.number = row.accepted = (row.accepted + 1) % (1 << COUNT_BITS)
    launch.ticket, launch.accepted_in = parts.kept.ticket, service.last
    parts.kept.ticket = launch.ticket % ((1 << TICKET_BITS) - 1) + 1
    parts.search.launches[launch.entry] = launch
    row.priority = launch.priority
    row.launches.append(launch)
    if row.head is launch:
        _first_head(parts, launch)
    parts.pulses.answer = parts.packets.answer(launch.ticket, row.accepted)


def _first_head(parts: Parts, launch: Launch) -> None:
    if launch.plain:
        parts.flags.make_ready(launch.stream)
    else:
        parts.rows[launch.waits[0].stream].waiters |= 1 << launch.stream


def _refusal(parts: Parts, service: Service, launch: Launch) -> tuple[int, int] | None:
    """Return code and argument of the first reason to refuse a launch (10)."""
    row, fields = parts.rows[launch.stream], launch.fields
    ahead = _ahead(parts, launch)
    other_priority = bool(row.launches) and row.priority != launch.priority
    if service.closed:
        return HostError.RESET, 0
    if fields["error"]:
        return fields["error"], fields["argument"]
    if ahead is not None:
        return WAIT_AHEAD, FIRST_WAIT_WORD + ahead
    if other_priority:
        return ErrorCode.STREAM_PRIORITY, 0
    if row.broken:
        return ErrorCode.STREAM_BROKEN, 0
    return (ErrorCode.NO_SM, 0) if service.no_sm else None


def _ahead(parts: Parts, launch: Launch) -> int | None:
    """Return the lowest pair that waits for what was not accepted yet."""
    for k in launch.valid_pairs(parts.config.launch_waits):
        pair = launch.pair(k, parts.rows)
        if not is_reached(parts.rows[pair.stream].accepted, pair.until, WAIT_BITS):
            return k
    return None


def _kept_waits(parts: Parts, launch: Launch) -> tuple[Pair, ...]:
    """Return the pairs that are not reached, with counts of 32 bits (11)."""
    numbers = launch.valid_pairs(parts.config.launch_waits)
    return tuple(
        Pair(pair.stream, widened(timeline, pair.until))
        for pair in (launch.pair(k, parts.rows) for k in numbers)
        if not is_reached(timeline := parts.rows[pair.stream].timeline, pair.until, WAIT_BITS)
    )


def _end(parts: Parts, service: Service) -> EndSeen:
    """A run is over (13, 14)."""
    stream = _stream(service)
    row, bit = parts.rows[stream], 1 << stream
    asked = service.closed or service.no_sm or row.timed or row.aborted or row.doomed
    final = service.fate != Fate.KILLED or asked
    parts.flags.resident &= ~bit
    started = parts.residences[stream].started
    if parts.config.makes_indices:
        parts.pulses.release = started.history
    if final:
        ending = _ending(row, service)
        _make_record(parts, service, row.head, ending, _run(started.launch, service))
        _pass_head(parts, service, ending.code)
    else:
        parts.flags.ready |= bit
        row.timed = False
        row.kills = min(row.kills + 1, MOST_KILLS)
        parts.pulses.killed = parts.packets.killed(stream)
    return EndSeen(stream, service.fate, final)


def _ending(row: Row, service: Service) -> Ending:
    """Return the record of a run that is final: the first that holds (13)."""
    if service.fate == Fate.FAILED:
        return Ending(FinalFate.FAILED, service.code)
    if service.fate == Fate.FINISHED:
        return Ending(FinalFate.FINISHED)
    if row.timed:
        return Ending(FinalFate.FAILED, QueueCode.TIMEOUT)
    if row.aborted or row.doomed or service.closed:
        return Ending(FinalFate.ABORTED)
    return Ending(FinalFate.FAILED, ErrorCode.NO_SM)


def _run(launch: Launch, service: Service) -> Run:
    resets = launch.fields["mode"] == Mode.RESET and not launch.fields["idempotent"]
    as_drain = resets and service.held_begun
    if not service.begun:
        return Run(reset_as_drain=as_drain)
    return Run(True, service.cycles, service.first_offer, as_drain)


def _make_record(
    parts: Parts, service: Service, launch: Launch, ending: Ending, run: Run = NO_RUN
) -> None:
    """Make the record of a launch, if it has one (8, 32)."""
    row = parts.rows[launch.stream]
    finished = ending.fate is FinalFate.FINISHED
    launch.made_in = service.last
    if launch.loop:
        parts.pulses.loop_end = parts.packets.loop_end(launch.loop - 1, finished=finished)
    if launch.quiet and finished:
        parts.kept.places += 1
        return
    kills = row.kills if row.head is launch else 0
    words = parts.packets.record(launch, ending.fate, ending.code, kills, run)
    order = LOOPS_LAUNCH_WORDS if parts.config.has_loops else LAUNCH_WORDS
    parts.writer.make(service.last, words, order)


def _pass_head(parts: Parts, service: Service, code: int) -> None:
    """The head of a stream leaves it (16)."""
    stream = _stream(service)
    row, flags, bit = parts.rows[stream], parts.flags, 1 << stream
    head = row.launches.popleft()
    parts.entries.give(head.entry)
    row.timeline = (row.timeline + 1) % (1 << COUNT_BITS)
    parts.pulses.timeline = parts.packets.timeline(stream, row.timeline)
    flags.look |= row.waiters
    row.waiters = row.kills = 0
    row.aborted = row.timed = False
    flags.stuck &= ~bit
    flags.tried &= ~bit
    row.broken = row.broken or code == ErrorCode.SM_LOST
    if row.bound is head:
        row.bound = None
    if not row.launches:
        flags.live &= ~bit
        flags.ready &= ~bit
        row.gap = False
    elif row.head.plain and not (row.doomed or row.broken or row.gap) and _open(service):
        flags.make_ready(stream)
    else:
        flags.look_at(stream)


def _open(service: Service) -> bool:
    return not (service.closed or service.no_sm)


def _command(parts: Parts, service: Service) -> None:
    """One stream of a walk, or ``clear_stream`` (15)."""
    row = parts.rows[_stream(service)]
    if service.clears:
        row.broken = False
        return
    if parts.walk.aborts and row.launches:
        row.bound = row.launches[-1]
    parts.flags.look_at(_stream(service))


def _abort(parts: Parts, service: Service) -> None:
    """An ABORT's launch (18)."""
    launch, row = service.launch, parts.rows[_stream(service)]
    assert launch is not None
    if row.head is launch and (service.preparing or service.resident):
        row.aborted = True
    else:
        _make_record(parts, service, launch, Ending(FinalFate.ABORTED))
        launch.dead = row.gap = True
    parts.flags.look_at(launch.stream)


def _late(parts: Parts, service: Service) -> None:
    """A run takes too long (19)."""
    if service.resident:
        parts.rows[_stream(service)].timed = True
        parts.flags.look |= 1 << _stream(service)


def _look(parts: Parts, service: Service) -> None:
    """What does the head wait for? (17)."""
    stream = _stream(service)
    row, flags, bit = parts.rows[stream], parts.flags, 1 << stream
    if not row.launches:
        return
    if service.preparing:
        flags.look |= bit
    elif service.resident:
        if row.doomed or row.aborted or row.timed or not _open(service):
            parts.pulses.stop |= bit
    elif row.head.dead or row.aborted or row.doomed or row.broken or not _open(service):
        _look_passes(parts, service)
    elif (awaited := _first_not_reached(parts, row.head)) is not None:
        parts.rows[awaited].waiters |= bit
        flags.ready &= ~bit
        flags.live &= ~bit
    else:
        flags.make_ready(stream)


def _look_passes(parts: Parts, service: Service) -> None:
    """The head passes, if its record can be made now (17 d)."""
    stream = _stream(service)
    row = parts.rows[stream]
    if parts.writer.busy(service.last):
        parts.flags.look |= 1 << stream
        return
    ending = Ending(FinalFate.FAILED, ErrorCode.NO_SM)
    if row.broken:
        ending = Ending(FinalFate.FAILED, ErrorCode.STREAM_BROKEN)
    elif row.aborted or row.doomed or service.closed:
        ending = Ending(FinalFate.ABORTED)
    if not row.head.dead:
        _make_record(parts, service, row.head, ending)
    _pass_head(parts, service, ErrorCode.OK)


def _first_not_reached(parts: Parts, head: Launch) -> int | None:
    for pair in head.waits:
        if not is_reached(parts.rows[pair.stream].timeline, pair.until, COUNT_BITS):
            return pair.stream
    return None


def _preempt(parts: Parts, service: Service) -> None:
    """A PREEMPT's record (29)."""
    words = parts.packets.preempt_record(parts.preempts.record(service.last))
    parts.writer.make(service.last, words, PREEMPT_WORDS)


_FINISH: dict[Event, Callable[[Parts, Service], None]] = {
    Event.ACCEPT: _accept,
    Event.COMMAND: _command,
    Event.ABORT: _abort,
    Event.LATE: _late,
    Event.LOOK: _look,
    Event.PREEMPT: _preempt,
}
