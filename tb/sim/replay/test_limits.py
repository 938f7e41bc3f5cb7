"""What limits each cycle: against a reading of the page cycle by cycle, and the stall counters."""

import random
from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import _DispatcherBase

from tb.replay.test_event_model import random_launches
from tb.support.replays import model_replay
from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import random_document, write
from tb.support.whole_replays import Limits, find_limits, rate_by_time_scale
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim import replay as run_replay
from warploom_sim.replay.analysis import limit_walk
from warploom_sim.replay.analysis.block_walk import find_waits
from warploom_sim.replay.analysis.limits import (
    LABELS,
    LIMITS,
    fits,
)
from warploom_sim.replay.replay_result import Replay
from warploom_sim.views import replay_table
from warploom_sim.views.html_report.charts import STYLES
from warploom_spec import (
    RESOURCES,
    Config,
    Fate,
    LaunchDescriptor,
    capacities,
    preset,
    timing,
)
from warploom_spec.config import RECLAIMS


def in_order(
    rng: random.Random, config: Config, *, one_stream: bool = False, **more: Any
) -> list[LaunchDescriptor]:
    """Draw launches each of which waits for the one before in its stream."""
    return [
        replace(launch, stream=0 if one_stream else launch.stream)
        for launch in random_launches(rng, config, rng.randint(8, 16), **more)
    ]


def random_replay(
    name: str, policy: str, reclaim: str, rng: random.Random, late: bool = False, **more: Any
) -> Replay:
    config = replace(preset(name), policy=policy, reclaim=reclaim)
    launches = in_order(rng, config, **more)
    arrivals = None
    if late:
        gaps = [300, *(rng.choice((0, 5, 300)) for _ in launches[1:])]
        arrivals = list(accumulate(gaps))
    return model_replay(launches, config, rng.randrange(1 << 32), arrivals)


class Reference:
    """The page's questions, asked in each cycle of all blocks: slow and plain."""

    def __init__(self, replay: Replay):
        self.replay, self.config = replay, replay.config
        self.t = timing(replay.config)
        self.sizes = list(capacities(replay.config).values())
        self.launches, self.blocks = replay.launches, replay.blocks
        self.stream = self.launches.stream.tolist()
        self.arrival = self.launches.arrival.tolist()
        # The first cycle in which each launch is no longer resident, by its record.
        # That has six words, with loops seven.
        last_word = self.t.queue_record + 5 + self.config.has_loops
        self.ends = [end - last_word for end in self.launches.end.tolist()]
        self.decided = (self.blocks.start - self.t.resident_offer).tolist()
        self.rows = self.blocks.launch.tolist()
        self.sms: list[int] = self.blocks.sm.tolist()
        self.ends_of_blocks = self.blocks.end.tolist()
        self.starts = self.started()
        entries = self.config.queue_depth * 2**self.config.priority_bits
        self.boot = max(entries, 2**self.config.stream_bits) + 4
        self.takes = self.launches.takes.tolist()
        self.last: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.cycles = set(self.decided)
        #: Of each resource the cycles in which it is one that most SMs are short of.
        self.lacked: Counter[int] = Counter()
        for row, cycle in zip(self.rows, self.decided, strict=True):
            self.last[row] = cycle
            self.first.setdefault(row, cycle)

    def limits(self) -> list[tuple[str, int]]:
        return [self.limit(cycle) for cycle in range(self.replay.cycles)]

    def limit(self, cycle: int) -> tuple[str, int]:
        # Streams are queues: the next launch is not the next one of the trace.
        coming = bisect_left(self.decided, cycle)
        if coming == len(self.decided):
            return "nothing_left", -1
        row = self.rows[coming]
        if cycle in self.cycles:
            return "rate", row
        # The queue's page, rule 1: its entries are given back, one a cycle, and 4 cycles more.
        if self.arrival[row] > self.boot and cycle < self.arrival[row]:
            return "arrivals", row
        if cycle < self.head(coming):
            return ("order" if self.follows(row, cycle) else "path"), row
        return self.of_head(cycle, row), row

    def started(self) -> list[tuple[int, int]]:
        """Return the starts: cycle and launch."""
        tables = self.replay.events.tables
        tickets, starts = tables["answers"]["ticket"].tolist(), tables["starts"]
        rows = [tickets.index(ticket) for ticket in starts["ticket"].tolist()]
        return list(zip(starts["cycle"].tolist(), rows, strict=True))

    def follows(self, row: int, cycle: int) -> bool:
        """Tell whether an earlier launch of its stream is resident, or waits to be."""
        first = {other: start for start, other in reversed(self.starts)}
        earlier = [other for other in self.last if first[other] < first[row]]
        same = [other for other in earlier if self.stream[other] == self.stream[row]]
        return any(self.ends[other] > cycle for other in same)

    def head(self, coming: int) -> int:
        """The dispatcher's page, 'Stages': a start in 0, the first pick in 6."""
        row, pick = self.rows[coming], self.decided[coming]
        start = max(start for start, one in self.starts if one == row and start < pick)
        others = [number for number in range(coming) if self.rows[number] != row][-1:]
        return max([start + 6, *(self.decided[number] + 1 for number in others)])

    def free(self, cycle: int) -> list[list[int]]:
        picked = bisect_left(self.decided, cycle)
        held = [number for number in range(picked) if cycle < self.ends_of_blocks[number]]
        free = [list(self.sizes) for _ in range(self.config.sms)]
        for number in held:
            for k, one in enumerate(self.takes[self.rows[number]]):
                free[self.sms[number]][k] -= one
        return free

    def decided_for(self, cycle: int) -> list[int]:
        first, last = bisect_left(self.decided, cycle), bisect_left(self.decided, cycle + 1)
        return self.sms[first:last]

    def of_head(self, cycle: int, row: int) -> str:
        free, need = self.free(cycle), self.takes[row]
        rooms = [all(a >= b for a, b in zip(sm, need, strict=True)) for sm in free]
        # A pick to the next one of the same SM: 5 cycles.
        just = [sm for ago in range(1, 5) for sm in self.decided_for(cycle - ago)]
        if any(rooms[sm] for sm in just):
            return "rate"
        if any(rooms):
            return "reclaim"
        short = [sum(sm[k] < need[k] for sm in free) for k in range(len(need))]
        self.lacked.update(k for k, sms in enumerate(short) if sms == max(short))
        return RESOURCES[short.index(max(short))]


def one_kernel(blocks: int, length: int, scale: Fraction, **fields: Any) -> Replay:
    """Return a replay of one launch of blocks of a warp, of which `tiny` holds four an SM."""
    config = replace(preset("tiny"), **fields)
    launch = LaunchDescriptor(grid=(blocks, 1, 1), block=(8, 1, 1), arguments=length)
    replay = model_replay([launch], config, 1)
    return replace(replay, settings=replace(replay.settings, time_scale=scale))


@pytest.mark.parametrize(
    ("length", "scale", "made"),
    [
        # Two SMs have 8 places: 4 cycles are too short for them, 8 recorded ones are not.
        (4, "1/2", True),
        (4, "4/7", False),
        (4, "1", False),
        (8, "1/32", False),
    ],
)
def test_the_time_scale_makes_what_recorded_lengths_would_not(
    length: int, scale: str, made: bool
) -> None:
    replay = one_kernel(100, length, Fraction(scale))
    limits = find_limits(replay)
    assert fits(replay.launches.takes, replay.config).tolist() == [4]
    rate = limits.shares()["rate"]
    assert rate > 0.1
    assert rate_by_time_scale(replay, limits) == (rate if made else 0)


def test_few_blocks_need_few_places() -> None:
    replay = one_kernel(4, 4, Fraction(1, 32))
    assert rate_by_time_scale(replay, find_limits(replay)) == 0


def test_a_launch_by_hand() -> None:
    """One SM with one place: its report times given."""
    replay = one_kernel(3, 20, Fraction(1), sms=1, block_slots=1)
    decided = (replay.blocks.start - 3).tolist()
    ends = replay.blocks.end.tolist()
    expected = {
        "path": decided[0],
        "rate": 3,
        "slots": sum(end - start - 1 for end, start in zip(ends[:2], decided[:2], strict=True)),
        # A report in t gives room and a pick in t + 7 (rule 26).
        "reclaim": 2 * 7,
        "nothing_left": replay.cycles - decided[2] - 1,
    }
    found = {name: held for name, held in find_limits(replay).by_limit().items() if held}
    assert found == expected


@pytest.mark.parametrize("contention", ["none", "sharing"])
def test_killed_launches_leave_no_cycle_without_a_limit(
    tmp_path: Path, seed: int, contention: str
) -> None:
    trace = write(tmp_path, random_document(random.Random(seed), 24))
    knee = {"knee": 3} if contention == "sharing" else {}
    replay = run_replay(
        trace, "tiny", time_scale="1/32", kill_every=2, seed=seed, contention=contention, **knee
    )
    assert (replay.launches.fate == Fate.ABORTED).any()
    limits = find_limits(replay)
    assert (limits.start[0], sum(limits.by_limit().values())) == (0, replay.cycles)
    assert (limits.length > 0).all()
    found = by_cycle(limits)
    decided = (replay.blocks.start - timing(replay.config).resident_offer).tolist()
    for cycle, launch in zip(decided, replay.blocks.launch.tolist(), strict=True):
        assert found[cycle] == ("rate", launch)


def test_a_third_launch_is_the_head_while_two_others_run() -> None:
    """One short block, seven long ones beside it, and a third stream's that fill an SM each."""
    one = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), arguments=400)
    seven = replace(one, grid=(7, 1, 1), arguments=4000, stream=1, code=1)
    large = replace(one, block=(64, 2, 1), arguments=40, stream=2, code=2, index_address=32)
    config = preset("tiny")
    assert config.warp_slots * config.warp_size == 64 * 2
    replay = model_replay([one, seven, large], config, 1)
    found = by_cycle(find_limits(replay))
    assert found == Reference(replay).limits()
    # It is resident when the eighth block is picked, and next from then on. No slot is left.
    last, ended = int(replay.blocks.start[7]) - 3, int(replay.blocks.end.min())
    assert replay.launches.resident[2] + 5 < last < ended < replay.blocks.start[8] - 3
    assert set(found[last + 1 : ended]) == {("slots", 2)}
    limits = find_limits(replay)
    assert set(limits.blocker[limits.launch == 2].tolist()) == {2}


def test_the_table_and_json_have_the_limits(plain_replay: SharedReplay) -> None:
    figures, seed = plain_replay.figures, plain_replay.seed
    run = run_replay(plain_replay.trace, "tiny", time_scale="1/32", seed=seed)
    shares = find_limits(run).shares()
    assert figures["head_blocked"] == {name: round(share, 4) for name, share in shares.items()}
    lacked = {name: round(share, 4) for name, share in find_waits(run).shares_lacked().items()}
    assert figures["resources_lacked"] == lacked
    for name, share in figures["head_blocked"].items():
        assert (f"{LABELS[name]} {share:.1%}" in plain_replay.stdout) == (share > 0)


def test_the_table_warns_when_the_time_scale_limits() -> None:
    warning = replay_table.time_scale_warning({"rate_by_time_scale": 0.8, "time_scale": "1/32"})
    assert warning.startswith("for 80.0% of the time") and "--time-scale 1" in warning
    few = {"rate_by_time_scale": 0.0999, "time_scale": "1/32"}
    assert replay_table.time_scale_warning(few) == ""


def by_cycle(limits: Limits) -> list[tuple[str, int]]:
    names = [LIMITS[number] for number in np.repeat(limits.limit, limits.length)]
    return list(zip(names, np.repeat(limits.launch, limits.length).tolist(), strict=True))


def test_limits_have_the_numbers_of_the_walk() -> None:
    numbers = {
        "rate": limit_walk.RATE,
        "reclaim": limit_walk.RECLAIM,
        "order": limit_walk.ORDER,
        "path": limit_walk.PATH,
        "arrivals": limit_walk.ARRIVALS,
        "waits": limit_walk.WAITS,
        "nothing_left": limit_walk.NOTHING_LEFT,
    }
    numbers |= {name: limit_walk.FIRST_RESOURCE + k for k, name in enumerate(RESOURCES)}
    assert numbers == {name: number for number, name in enumerate(LIMITS)}


def test_every_limit_has_a_name_and_a_style() -> None:
    assert [*LABELS] == [*STYLES] == [*LIMITS]


@pytest.mark.parametrize("reclaim", RECLAIMS)
def test_every_cycle_has_the_limit_that_the_page_says(reclaim: str, seed: int) -> None:
    seen: Counter[str] = Counter()
    several = 0
    for k, policy in enumerate(PREDICTED_POLICIES):
        rng = random.Random(f"{seed}-{policy}-{reclaim}")
        # Of one stream each launch waits for the one before.
        cases = {"crowded": k % 2 == 0, "late": k > 1, "one_stream": k == 1}
        replay = random_replay("tiny", policy, reclaim, rng, **cases)
        limits, reference = find_limits(replay), Reference(replay)
        found, expected = by_cycle(limits), reference.limits()
        lacked = [reference.lacked[k] for k in range(len(RESOURCES))]
        assert limits.lacked.tolist() == lacked, f"seed {seed}, {policy}"
        several += sum(lacked) > sum(limits.by_limit()[name] for name in RESOURCES)
        assert len(found) == replay.cycles
        for cycle, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert one == other, f"seed {seed}, {policy}, cycle {cycle}"
        seen += Counter(name for name, _ in found)
    assert {"rate", "reclaim", "order", "path", "arrivals", "nothing_left"} <= set(seen), seen
    assert any(seen[name] for name in RESOURCES), seen
    assert several


@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("name", ["tiny", "default"])
def test_stretches_agree_with_the_stall_counters(name: str, reclaim: str, seed: int) -> None:
    """Each cycle without a pick that one of the counters counts is one of a stretch's."""
    waited = 0
    for k in range(40):
        policy = PREDICTED_POLICIES[k % len(PREDICTED_POLICIES)]
        rng = random.Random(f"{seed}-{name}-{policy}-{reclaim}-{k}")
        replay = random_replay(name, policy, reclaim, rng, crowded=k == 0)
        found, stalled = waiting(replay), sum(replay.stalls.values())
        # In a cycle in which the scan has the turn nothing is picked, and no counter counts. It
        # takes it after eight cycles without an advance, so after a pick in each of seven (23).
        assert 0 <= found - stalled <= len(replay.blocks) // 7, f"seed {seed}, {policy}, {k}"
        # Two SMs get four blocks in ten cycles.
        assert name != "tiny" or found == stalled, f"seed {seed}, {policy}, {k}"
        waited += stalled
        if waited and k >= len(PREDICTED_POLICIES):
            break
    assert waited


def waiting(replay: Replay) -> int:
    """Count the cycles of stretches in which the machine may go, and no block is picked.

    The dispatcher's page, rules 10 to 14: a change to a launch is wanted 3 cycles after its start,
    when the one before is spent, and 4 cycles after the last change. It is made in the next cycle,
    and 2 cycles later the machine may go. All launches have one priority, and none is held.
    """
    reference, change, last = Reference(replay), -4, -1
    starts = {row: start for start, row in reference.starts}
    goes: dict[int, int] = {}
    for row in sorted(reference.first, key=lambda row: reference.first[row]):
        change = 1 + max(starts[row] + 3, last + 1, change + 4)
        goes[row], last = change + 2, reference.last[row]
    picked = {cycle: row for row, cycle in reference.first.items()}
    assert all(cycle >= goes[row] for cycle, row in picked.items())
    return sum(
        row in goes and goes[row] <= cycle and cycle not in reference.cycles
        for cycle, (_, row) in enumerate(by_cycle(find_limits(replay)))
    )


def test_walk_and_event_model_are_found_compiled_in_one_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the first call of each, Numba need not look for the compiled function in Python."""

    def both() -> None:
        find_limits(random_replay("tiny", "round_robin", "out_of_order", random.Random(1)))

    both()
    searched: Counter[str] = Counter()
    search = _DispatcherBase._compile_for_args

    def counted(function: Any, *arguments: Any, **named: Any) -> Any:
        searched[function.py_func.__name__] += 1
        return search(function, *arguments, **named)

    monkeypatch.setattr(_DispatcherBase, "_compile_for_args", counted)
    both()
    assert not searched
