"""A replay as a Perfetto timeline: SMs and their slots, launches by stream, resources held."""

from collections.abc import Callable
from typing import Final

import numpy as np

from warploom_sim.replay.replay_result import NEVER, Integers, Launches, Replay
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
    _add_resources(timeline, replay, title)
    _add_blocks(timeline, replay, title, flows, progress)


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


def _add_resources(timeline: Timeline, replay: Replay, title: str) -> None:
    """Add what blocks hold of each resource of all SMs, and how many launches wait."""
    group = timeline.group(f"{title}resources")
    cycles = np.arange(0, replay.cycles + 1, -(-(replay.cycles + 1) // MOST_SAMPLES))
    blocks, launches = replay.blocks, replay.launches
    ran = blocks.end != NEVER
    takes = launches.takes[blocks.launch[ran]]
    sizes = capacities(replay.config)
    for k, name in enumerate(RESOURCES):
        held = _level(blocks.start[ran], blocks.end[ran], takes[:, k], cycles)
        whole = sizes[name] * replay.config.sms
        _add_counter(timeline, group, f"{title}{name} held, of {whole:,}", name, cycles, held)
    started = launches.first_offer != NEVER
    ones = np.ones(int(started.sum()), np.int64)
    waiting = _level(launches.arrival[started], launches.first_offer[started], ones, cycles)
    _add_counter(timeline, group, f"{title}launches waiting", "launches", cycles, waiting)


def _add_counter(
    timeline: Timeline, group: int, name: str, unit: str, cycles: Integers, values: Integers
) -> None:
    counter = timeline.counter(group, name, unit)
    changed = np.flatnonzero(np.diff(values, prepend=-1))
    for cycle, value in zip(cycles[changed].tolist(), values[changed].tolist(), strict=True):
        timeline.value(counter, cycle, value)


def _level(starts: Integers, ends: Integers, amounts: Integers, cycles: Integers) -> Integers:
    """Return how much is held in each of some cycles, of amounts held from start to before end."""
    level = np.zeros(len(cycles), np.int64)
    for times, sign in ((starts, 1), (ends, -1)):
        order = np.argsort(times, kind="stable")
        sums = np.concatenate([[0], np.cumsum(amounts[order])])
        level += sign * sums[np.searchsorted(times[order], cycles, side="right")]
    return level


def _add_blocks(
    timeline: Timeline,
    replay: Replay,
    title: str,
    flows: int,
    progress: Callable[[int], object],
) -> None:
    """Add a track for each slot and a slice for each block; a launch's first one ends its flow."""
    blocks, config = replay.blocks, replay.config
    tracks = []
    for sm in range(config.sms):
        name = f"{title}SM {sm}"
        group = timeline.group(name)
        slots = range(config.block_slots)
        tracks.append([timeline.track(group, f"{name} slot {k}") for k in slots])
    names = [str(name) for name in replay.launches.name]
    begun: set[int] = set()
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
        event = timeline.begin(tracks[sm][slot], start, names[launch], details)
        if launch not in begun:
            begun.add(launch)
            event.terminating_flow_ids.append(flows + launch)
        if end != NEVER:
            timeline.end(tracks[sm][slot], end)
        if number % _PORTION == _PORTION - 1:
            progress(_PORTION)
    progress(len(blocks) % _PORTION)
