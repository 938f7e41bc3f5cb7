"""Which launches a recorded program made wait for launches of other streams, through events.

The rule stands in ``docs/sim/traces.md``. A trace names the waiting stream, but rarely the record
that the stream waited for; each wait is therefore of one of `RULES`, or unknown.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from warploom_sim.traces.trace_file import Place

#: Calls that make a stream wait for an event; their variants have longer names.
EVENT_WAIT_CALLS: Final = ("cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent")
#: Calls that record an event, in the order in which their number is tried.
RECORD_CALLS: Final = ("cudaEventRecordWithFlags", "cudaEventRecord")
#: How a wait's record was found: by its correlation id, by the number of its event, not at all.
RULES: Final = ("named", "matched", "guessed")
SYNC_CATEGORY: Final = "cuda_sync"
_SYNC_NAME: Final = "Stream Wait Event"
#: What a profiler writes for an id that it does not know.
_UNKNOWN: Final = -1
_HIGHEST: Final = 2**64 - 1
#: What is read of the profiler's event of a wait.
_SYNC_FIELDS: Final = (
    "correlation",
    "stream",
    "device",
    "wait_on_stream",
    "wait_on_cuda_event_record_corr_id",
    "wait_on_cuda_event_id",
)


class Launch(Protocol):
    """What is asked of a launch: its stream, its GPU, and when it ran, in microseconds."""

    @property
    def stream(self) -> int:
        """Its stream."""

    @property
    def device(self) -> int:
        """Its GPU."""

    @property
    def start(self) -> float:
        """When it began."""

    @property
    def duration(self) -> float:
        """How long it ran."""


@dataclass
class Calls:
    """The calls of a trace that waits are made of, as they are read.

    Attributes
    ----------
    waits : dict of int to float
        When each wait was called, by correlation id.
    records : dict of str to dict of int to float
        When each record was called, by the call's name and its correlation id.
    syncs : dict of int to dict of str to int
        What the profiler said of each wait, by correlation id: the ids in the ``args`` of its event
        that it knew.
    without_id : int
        Waits without a correlation id: their streams are unknown.
    """

    waits: dict[int, float] = field(default_factory=dict)
    records: dict[str, dict[int, float]] = field(
        default_factory=lambda: {name: {} for name in RECORD_CALLS}
    )
    syncs: dict[int, Mapping[str, int]] = field(default_factory=dict)
    without_id: int = 0

    def note_call(self, name: str, correlation: int | None, began: float) -> None:
        """Note a runtime or driver call, if it waits or records."""
        if name.startswith(EVENT_WAIT_CALLS):
            if correlation is None:
                self.without_id += 1
            else:
                self.waits[correlation] = began
        elif name in self.records and correlation is not None:
            self.records[name][correlation] = began

    def note_sync(self, place: Place, event: Mapping[str, Any]) -> None:
        """Note what the profiler said of a wait; other synchronisations are passed over.

        Raises
        ------
        WarploomError
            If an id is no integer from -1 on, with its ``place``; null is as if it were not there.
        """
        arguments = event.get("args")
        if event.get("name") != _SYNC_NAME or not isinstance(arguments, dict):
            return
        there = (name for name in _SYNC_FIELDS if arguments.get(name) is not None)
        ids = {name: place.integer(arguments, name, _UNKNOWN, _HIGHEST) for name in there}
        known = {name: number for name, number in ids.items() if number != _UNKNOWN}
        if "correlation" in known and "stream" in known:
            self.syncs[known["correlation"]] = known


@dataclass(frozen=True)
class EventWaits:
    """The event waits of a trace.

    Attributes
    ----------
    by_rule : mapping of str to int
        Waits by each of `RULES`.
    unknown : int
        Waits whose stream the trace does not say.
    pairs : tuple of (int, int)
        (launch, launch that it waits for), as numbers in the trace's order, without those that
        other pairs or the order within a stream imply.
    asked : tuple of tuple of (int, int)
        Of each wait whose stream is known all such pairs, those that others imply among them.
    """

    by_rule: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))
    unknown: int = 0
    pairs: tuple[tuple[int, int], ...] = ()
    asked: tuple[tuple[tuple[int, int], ...], ...] = ()

    @property
    def count(self) -> int:
        """All waits, those that are unknown among them."""
        return sum(self.by_rule.values()) + self.unknown

    def among(self, chosen: Sequence[int], launches: Sequence[Launch]) -> "EventWaits":
        """Return what some launches of the trace wait for among themselves, in numbers of theirs.

        The waits are not counted: one may be for launches that are chosen and for others.

        Parameters
        ----------
        chosen : sequence of int
            The launches that are chosen, in rising order.
        launches : sequence of Launch
            All launches of the trace.
        """
        place = {number: k for k, number in enumerate(chosen)}
        asked = tuple(
            tuple((place[a], place[b]) for a, b in pairs if a in place and b in place)
            for pairs in self.asked
        )
        return EventWaits(
            pairs=_without_implied(asked, [launches[number] for number in chosen]), asked=asked
        )

    def across(self, chosen: Collection[int]) -> int:
        """Return how many waits are between launches that are chosen and others."""
        return sum(any((a in chosen) != (b in chosen) for a, b in pairs) for pairs in self.asked)


@dataclass(frozen=True)
class _Wait:
    """A wait whose stream is known."""

    rule: str
    called: float
    stream: int
    device: int | None
    recorded: float
    awaited: int | None


def event_waits(calls: Calls, launches: Sequence[Launch], began: Sequence[float]) -> EventWaits:
    """Return the waits of a trace, and the pairs of launches that they make.

    Parameters
    ----------
    calls : Calls
        What was read.
    launches : sequence of Launch
        In the order of their calls.
    began : sequence of float
        When each launch was called, in microseconds.
    """
    waits = list(_waits(calls))
    by_rule = dict.fromkeys(RULES, 0)
    for wait in waits:
        by_rule[wait.rule] += 1
    unknown = len(calls.waits) - len(waits) + calls.without_id
    streams: dict[tuple[int, int], list[int]] = {}
    for number, launch in enumerate(launches):
        streams.setdefault((launch.device, launch.stream), []).append(number)
    asked = tuple(tuple(_awaited(wait, streams, launches, began)) for wait in waits)
    return EventWaits(by_rule, unknown, _without_implied(asked, launches), asked)


def _waits(calls: Calls) -> Iterable[_Wait]:
    """Yield the waits whose stream is known, each with the time of its record."""
    every = {key: time for records in calls.records.values() for key, time in records.items()}
    sync_events = {key: calls.syncs[key] for key in calls.waits if key in calls.syncs}
    matched = _records_by_event(calls, sync_events.values())
    for correlation, known in sync_events.items():
        called = calls.waits[correlation]
        record = known.get("wait_on_cuda_event_record_corr_id")
        event = known.get("wait_on_cuda_event_id")
        rule, recorded = "guessed", called
        if record is not None and record in every:
            rule, recorded = "named", every[record]
        elif event is not None and event in matched:
            rule, recorded = "matched", matched[event]
        yield _Wait(
            rule,
            called,
            known["stream"],
            known.get("device"),
            recorded,
            known.get("wait_on_stream"),
        )


def _records_by_event(calls: Calls, sync_events: Iterable[Mapping[str, int]]) -> dict[int, float]:
    """Return when each event was recorded, if events and calls of one name correspond one to one.

    The k-th event's number then belongs to the k-th call.
    """
    name = "wait_on_cuda_event_id"
    events = sorted({known[name] for known in sync_events if name in known})
    if not events or events[-1] - events[0] + 1 != len(events):
        return {}
    for records in calls.records.values():
        if len(records) == len(events):
            return dict(zip(events, sorted(records.values()), strict=True))
    return {}


def _awaited(
    wait: _Wait,
    streams: Mapping[tuple[int, int], Sequence[int]],
    launches: Sequence[Launch],
    began: Sequence[float],
) -> Iterable[tuple[int, int]]:
    """Yield (waiting launch, awaited launch) of one wait.

    The stream's next launch waits, in each other stream, for the last launch that was called before
    the record and had ended when the waiting launch began: what the recording contradicts is not
    asked for.
    """
    for (device, stream), numbers in streams.items():
        if stream != wait.stream or wait.device not in (None, device):
            continue
        after = bisect_left(numbers, True, key=lambda number: began[number] > wait.called)
        if after == len(numbers):
            continue
        waiting = numbers[after]
        for other, theirs in streams.items():
            if other == (device, stream) or other[0] != device:
                continue
            if wait.awaited not in (None, other[1]):
                continue
            until = bisect_left(theirs, True, key=lambda number: began[number] >= wait.recorded)
            until = min(until, bisect_left(theirs, waiting))
            for number in reversed(theirs[:until]):
                if launches[number].start + launches[number].duration <= launches[waiting].start:
                    yield waiting, number
                    break


def _without_implied(
    asked: Iterable[Iterable[tuple[int, int]]], launches: Sequence[Launch]
) -> tuple[tuple[int, int], ...]:
    """Return all pairs but those that follow from others and from the order within a stream.

    For each launch stands, for each stream, the latest launch that has ended before it begins.
    """
    wanted: dict[int, dict[tuple[int, int], int]] = {}
    for waiting, other in (pair for pairs in asked for pair in pairs):
        of = wanted.setdefault(waiting, {})
        place = launches[other].device, launches[other].stream
        of[place] = max(other, of.get(place, -1))
    ended: list[dict[tuple[int, int], int]] = []
    last: dict[tuple[int, int], int] = {}
    kept = []
    for number, launch in enumerate(launches):
        stream = (launch.device, launch.stream)
        direct = wanted.get(number, {})
        before = [last[stream]] if stream in last else []
        for awaited_stream, awaited in sorted(direct.items(), key=lambda item: item[1]):
            others = before + [other for other in direct.values() if other != awaited]
            if all(ended[other].get(awaited_stream, -1) < awaited for other in others):
                kept.append((number, awaited))
        known: dict[tuple[int, int], int] = {}
        for other in (*before, *direct.values()):
            behind = ended[other] | {(launches[other].device, launches[other].stream): other}
            for each, latest in behind.items():
                known[each] = max(latest, known.get(each, -1))
        ended.append(known)
        last[stream] = number
    return tuple(kept)
