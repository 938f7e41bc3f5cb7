"""Whether launches began after those that they wait for, by the trace's file alone.

The waits are read from the file again, without the reader, the pairs and the model of the replay:
a wait that one of these loses would be lost in RTL and model alike. The rules are those of
``docs/sim/traces.md``; pairs that follow from others are not left out.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_tables import Table
from warploom_sim.replay import recount

_WAITS: Final = ("cudaStreamWaitEvent", "cuStreamWaitEvent")
_RECORDS: Final = ("cudaEventRecordWithFlags", "cudaEventRecord")
#: What is read of the profiler's event of a wait.
_IDS: Final = (
    "stream",
    "device",
    "wait_on_stream",
    "wait_on_cuda_event_record_corr_id",
    "wait_on_cuda_event_id",
)


class _Ran(NamedTuple):
    """A kernel with a launch call: when it was called, when it began and ended, where."""

    called: float
    start: float
    end: float
    queue: tuple[int, int]


def awaited(path: Path, device: int | None = None) -> list[tuple[int, int]]:
    """Return which launch waits for which, by their numbers in the replay.

    Parameters
    ----------
    path : Path
        The trace.
    device : int or None
        As for `recount.read`.
    """
    waits: dict[int, float] = {}
    records: dict[str, dict[int, float]] = {name: {} for name in _RECORDS}
    syncs: dict[Any, Mapping[str, Any]] = {}
    every = list(recount.events(path))
    for _, event in every:
        arguments = event.get("args")
        if not isinstance(arguments, dict) or arguments.get("correlation") is None:
            continue
        number, name = int(arguments["correlation"]), str(event.get("name"))
        if event.get("cat") in recount.CALLS:
            time = recount.time_of(event, "ts") or 0.0
            if name.startswith(_WAITS):
                waits[number] = time
            elif name in records:
                records[name][number] = time
        elif event.get("cat") == "cuda_sync" and name == "Stream Wait Event":
            known = {key: arguments[key] for key in _IDS if arguments.get(key) is not None}
            ids = {key: int(value) for key, value in known.items() if int(value) != -1}
            if "stream" in ids:
                syncs[number] = ids
    ran = [
        _Ran(one.called, one.start, one.start + one.took, one.kernel.queue)
        for one in recount.launched(every, device)
    ]
    queues: dict[tuple[int, int], list[int]] = {}
    for n, kernel in enumerate(ran):
        queues.setdefault(kernel.queue, []).append(n)
    found = []
    for called, sync, recorded in _waits(waits, syncs, records):
        found += list(_pairs(ran, queues, called, sync, recorded))
    return found


def _waits(
    waits: Mapping[int, float],
    syncs: Mapping[int, Mapping[str, Any]],
    records: Mapping[str, Mapping[int, float]],
) -> Iterator[tuple[float, Mapping[str, Any], float]]:
    """Yield of each wait of a known stream its call, what was said of it, and its record."""
    known = {number: syncs[number] for number in waits if number in syncs}
    times = {number: time for calls in records.values() for number, time in calls.items()}
    ids = sorted({one.get("wait_on_cuda_event_id", -1) for one in known.values()} - {-1})
    in_turn: dict[int, float] = {}
    if ids and ids == list(range(ids[0], ids[0] + len(ids))):
        for calls in records.values():
            if len(calls) == len(ids) and not in_turn:
                in_turn = dict(zip(ids, sorted(calls.values()), strict=True))
    for number, sync in known.items():
        recorded = times.get(
            sync.get("wait_on_cuda_event_record_corr_id", -1),
            in_turn.get(sync.get("wait_on_cuda_event_id", -1), waits[number]),
        )
        yield waits[number], sync, recorded


def _pairs(
    ran: Sequence[_Ran],
    queues: Mapping[tuple[int, int], Sequence[int]],
    called: float,
    sync: Mapping[str, Any],
    recorded: float,
) -> Iterator[tuple[int, int]]:
    """Yield the launch that a wait holds back, with each one that it waits for."""
    only, on = sync.get("wait_on_stream", -1), sync.get("device", -1)
    for mine in queues:
        if mine[1] != sync["stream"] or on not in (-1, mine[0]):
            continue
        behind = bisect_right(queues[mine], called, key=lambda n: ran[n].called)
        if behind == len(queues[mine]):
            continue
        waiting = queues[mine][behind]
        for other, theirs in queues.items():
            if other == mine or other[0] != mine[0] or only not in (-1, other[1]):
                continue
            before = bisect_left(theirs, recorded, key=lambda n: ran[n].called)
            ended = (
                n
                for n in reversed(theirs[: min(before, bisect_left(theirs, waiting))])
                if ran[n].end <= ran[waiting].start
            )
            yield from ((waiting, n) for n in itertools.islice(ended, 1))


def early_starts(
    pairs: Iterable[tuple[int, int]],
    queues: Sequence[tuple[int, int]],
    answers: Table,
    ended: Table,
    first_offers: NDArray[np.int64],
) -> list[str]:
    """Return in words the launches that began before the records of all that they wait for.

    Parameters
    ----------
    pairs : iterable of (int, int)
        What `awaited` returned.
    queues : sequence of (int, int)
        The stream of each launch that was sent.
    answers, ended : Table
        What the RTL answered, and its final records.
    first_offers : array of int64
        First offers by ticket, as the RTL made them.
    """
    tickets = answers["ticket"].astype(np.int64).tolist()
    records = dict(zip(ended["ticket"].tolist(), ended["cycle"].tolist(), strict=True))
    problems = []
    for waiting, other in pairs:
        if waiting >= len(queues) or not tickets[waiting]:
            continue
        # A launch that was refused has no record: the one before it in its stream counts.
        before = [n for n in range(other + 1) if queues[n] == queues[other] and tickets[n]]
        if not before or tickets[waiting] >= len(first_offers):
            continue
        record, offer = records[tickets[before[-1]]], int(first_offers[tickets[waiting]])
        if offer <= record:
            problems.append(
                f"launch {waiting} began in cycle {offer}, before launch {before[-1]}, for which"
                f" it waits, had its record in cycle {record}"
            )
    return problems
