"""A replay as a Perfetto timeline: SMs and their slots, launches by stream, resources held."""

from collections.abc import Callable
from typing import Final

import numpy as np

from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER, Blocks, Integers, Launches
from warploom_sim.views.timeline import Timeline
from warploom_spec import RESOURCES, ErrorCode, capacities

#: A counter has a value in so many cycles at most, evenly spread over the run.
MOST_SAMPLES: Final = 20_000
#: Blocks between two calls of ``progress``.
_PORTION: Final = 4096


def add_replay(
    timeline: Timeline, replay: Replay, title: str, progress: Callable[[int], object]
) -> None:
    """Add a replay's tracks to a timeline: `docs/sim/report.md` says which.

    Parameters
    ----------
    timeline : Timeline
        Where to.
    replay : Replay
        The run.
    title : str
        Stands before the name of each group and track; empty in a timeline of one run. With it no
        two tracks of a file have one name.
    progress : callable
        Told now and then how many blocks were added since.
    """
    flows = timeline.flows(len(replay.launches))
    _add_launches(timeline, replay.launches, title, flows)
    counters = _Counters(timeline, replay, title)
    slots = _Slots(timeline, replay, title, flows)
    for blocks in replay.block_pieces():
        counters.add(blocks)
        slots.add(blocks, progress)
    counters.finish()


def _add_launches(timeline: Timeline, launches: Launches, title: str, flows: int) -> None:
    """Add a slice for each launch, with its waiting and its running inside; a flow leaves it."""
    group = timeline.group(f"{title}launches")
    for stream in sorted(set(launches.stream.tolist())):
        rows = np.flatnonzero(launches.stream == stream)
        # Slices of one track nest; launches of a stream that wait at the same time do not.
        free: list[int] = []
        tracks: list[int] = []
        for row in rows[np.argsort(launches.arrival[rows], kind="stable")].tolist():
            arrival = int(launches.arrival[row])
            lane = next((k for k, end in enumerate(free) if end <= arrival), len(free))
            if lane == len(free):
                free.append(0)
                more = f", row {lane + 1}" if lane else ""
                tracks.append(timeline.track(group, f"{title}stream {stream}{more}"))
            free[lane] = _add_launch(timeline, tracks[lane], launches, row, flows)


def _add_launch(timeline: Timeline, track: int, launches: Launches, row: int, flows: int) -> int:
    """Add one launch; return the cycle in which its slice ends."""
    arrival, end = int(launches.arrival[row]), int(launches.end[row])
    name = str(launches.name[row])
    if launches.code[row]:
        code = ErrorCode(int(launches.code[row])).name
        timeline.instant(track, arrival, f"refused, {code}: {name}")
        return arrival
    details = (("launch", row), ("blocks", int(launches.blocks[row])))
    event = timeline.begin(track, arrival, name, details)
    first, last = int(launches.first_offer[row]), int(launches.last_report[row])
    if first != NEVER and last != NEVER:
        event.flow_ids.append(flows + row)
        timeline.begin(track, arrival, "waits")
        timeline.end(track, first)
        timeline.begin(track, first, "runs")
        timeline.end(track, last)
    timeline.end(track, end)
    return end


class _Counters:
    """Counters of what blocks hold of each resource of all SMs, and of launches that wait."""

    def __init__(self, timeline: Timeline, replay: Replay, title: str):
        self._timeline, self._launches = timeline, replay.launches
        self._cycles = np.arange(0, replay.cycles + 1, -(-(replay.cycles + 1) // MOST_SAMPLES))
        group = timeline.group(f"{title}resources")
        sizes = capacities(replay.config)
        self._held = [
            timeline.counter(group, f"{title}{name} held, of {size * replay.config.sms:,}", name)
            for name, size in sizes.items()
        ]
        self._waiting = timeline.counter(group, f"{title}launches waiting", "launches")
        # How much more is held from each cycle on than before.
        self._changes = np.zeros((len(self._cycles) + 1, len(RESOURCES)), np.int64)

    def add(self, blocks: Blocks) -> None:
        """Count what blocks that ended held."""
        ran = blocks.end != NEVER
        takes = self._launches.takes[blocks.launch[ran]]
        self._changes += _changes(blocks.start[ran], blocks.end[ran], takes, self._cycles)

    def finish(self) -> None:
        """Write the counters' values."""
        for counter, changes in zip(self._held, self._changes.T, strict=True):
            self._write(counter, changes)
        launches = self._launches
        started = launches.first_offer != NEVER
        ones = np.ones((int(started.sum()), 1), np.int64)
        arrival, offer = launches.arrival[started], launches.first_offer[started]
        self._write(self._waiting, _changes(arrival, offer, ones, self._cycles)[:, 0])

    def _write(self, counter: int, changes: Integers) -> None:
        values = np.cumsum(changes[:-1])
        changed = np.flatnonzero(np.diff(values, prepend=-1))
        cycles = self._cycles[changed].tolist()
        for cycle, value in zip(cycles, values[changed].tolist(), strict=True):
            self._timeline.value(counter, cycle, value)


def _changes(starts: Integers, ends: Integers, amounts: Integers, cycles: Integers) -> Integers:
    """Return how much more is held from each of some cycles on than from the one before.

    Parameters
    ----------
    starts, ends : array of int64
        Each amount is held from its start until before its end.
    amounts : array of int64, shape (starts, kinds)
        The amounts.
    cycles : array of int64
        The cycles.

    Returns
    -------
    array of int64, shape (cycles + 1, kinds)
        In the last row what begins or ends later.
    """
    changes = np.zeros((len(cycles) + 1, amounts.shape[1]), np.int64)
    np.add.at(changes, np.searchsorted(cycles, starts), amounts)
    np.subtract.at(changes, np.searchsorted(cycles, ends), amounts)
    return changes


class _Slots:
    """A track for each slot and a slice for each block; a launch's first one ends its flow."""

    def __init__(self, timeline: Timeline, replay: Replay, title: str, flows: int):
        self._timeline, self._flows = timeline, flows
        self._names = [str(name) for name in replay.launches.name]
        self._tracks = []
        for sm in range(replay.config.sms):
            name = f"{title}SM {sm}"
            group = timeline.group(name)
            slots = range(replay.config.block_slots)
            self._tracks.append([timeline.track(group, f"{name} slot {k}") for k in slots])

    def add(self, blocks: Blocks, progress: Callable[[int], object]) -> None:
        """Add the slices of blocks, each slot's in order."""
        timeline = self._timeline
        columns = zip(
            blocks.launch.tolist(),
            blocks.place.tolist(),
            blocks.sm.tolist(),
            blocks.slot.tolist(),
            blocks.start.tolist(),
            blocks.end.tolist(),
            strict=True,
        )
        for number, (launch, place, sm, slot, start, end) in enumerate(columns):
            details = (("launch", launch), *zip(("bx", "by", "bz"), place, strict=True))
            track = self._tracks[sm][slot]
            event = timeline.begin(track, start, self._names[launch], details)
            if place == [0, 0, 0]:
                event.terminating_flow_ids.append(self._flows + launch)
            if end != NEVER:
                timeline.end(track, end)
            if number % _PORTION == _PORTION - 1:
                progress(_PORTION)
        progress(len(blocks) % _PORTION)
