"""What limits each cycle: against a reading of the page cycle by cycle, and the stall counters."""

import random
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
from warploom_sim.replay.replay_columns import QUEUE_END
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
        # The first cycle in which each launch's place is free.
        self.ends = [end - QUEUE_END for end in self.launches.end.tolist()]
        self.decided = (self.blocks.start - self.t.offer).tolist()
        self.takes = self.launches.takes.tolist()
        self.most = fits(self.launches.takes, self.config).tolist()
        self.until = self.seen()
        self.put_back = self.walks_forgotten()
        self.heads: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.cycles = set(self.decided)
        #: Of each resource the cycles in which it is one that most SMs are short of.
        self.lacked: Counter[int] = Counter()
        for row, cycle in zip(self.blocks.launch.tolist(), self.decided, strict=True):
            self.last[row] = cycle
            self.first.setdefault(row, cycle)

    def limits(self) -> list[tuple[str, int]]:
        return [self.limit(cycle) for cycle in range(self.replay.cycles)]

    def limit(self, cycle: int) -> tuple[str, int]:
        # Streams are queues: the next launch is not the next one of the trace.
        coming = [row for row, last in self.last.items() if last >= cycle]
        row = min(coming, key=lambda row: max(self.first[row], cycle), default=None)
        if row is None:
            return "nothing_left", -1
        if cycle in self.cycles:
            return "rate", row
        earlier = self.earlier(row)
        there = [other for other in earlier if self.ends[other] > cycle]
        if self.arrival[row] > 1 and cycle < self.arrival[row]:
            return "arrivals", row
        if any(self.stream[other] == self.stream[row] for other in there):
            return "order", row
        if len(there) == 2:
            return "places", row
        if cycle < self.head(row, earlier):
            return "path", row
        return self.of_head(cycle, row, earlier), row

    def earlier(self, row: int) -> list[int]:
        """Return the launches that were handed over before one."""
        return [other for other in self.last if self.transfer(other) < self.transfer(row)]

    def transfer(self, row: int) -> int:
        return int(self.launches.resident[row]) - 1

    def head(self, row: int, earlier: list[int]) -> int:
        """The dispatcher's page, rules 7 to 10."""
        if row not in self.heads:
            cycle = self.transfer(row) + self.t.stage
            same = [other for other in earlier if self.stream[other] == self.stream[row]]
            walks = [gone for stood, gone in self.put_back if stood <= self.transfer(row)]
            while (
                any(self.last[other] >= cycle for other in earlier)
                or any(self.ends[other] >= cycle for other in same)
                or any(gone > cycle for gone in walks)
            ):
                cycle += 1
            self.heads[row] = cycle + self.t.change
        return self.heads[row]

    def walks_forgotten(self) -> list[tuple[int, int]]:
        """Of launches that were put back: since when in a place, and when gone from the walker.

        The dispatcher's page, rules 10 and 36: a launch is gone when its walk is forgotten, and its
        record is at `ended` 3 cycles later. The queue's page, rules 47 and 50: `put_back` comes 2
        cycles after that. A launch is skipped in its second cycle in a place at the earliest.
        """
        tables, found = self.replay.events.tables, []
        stood: dict[int, int] = {}
        had: set[int] = set()
        moments = [
            (int(cycle) + late, kind, int(ticket))
            for kind, late in (("decisions", 2), ("put_back", 0), ("words", 0))
            for cycle, ticket in zip(tables[kind]["cycle"], tables[kind]["ticket"], strict=True)
        ]
        for cycle, kind, ticket in sorted(moments):
            if kind == "put_back":
                since = stood.pop(ticket, cycle)
                found += [(since, cycle - 5)] * (since <= cycle - 8)
            elif kind == "words" or ticket in had:
                stood[ticket] = cycle
                had.add(ticket)
        return found

    def seen(self) -> Any:
        """First decision that sees what each block held as free (rules 26, 27)."""
        if self.config.reclaim == "out_of_order":
            return self.blocks.end + self.t.returns
        retired, before = [], -1
        for reported in self.blocks.end.tolist():
            before = max(before + 1, reported + 2)
            retired.append(before + self.t.returns)
        return np.array(retired)

    def free(self, cycle: int, until: Any) -> list[list[int]]:
        free = [list(self.sizes) for _ in range(self.config.sms)]
        decided = self.blocks.start - self.t.offer
        for number in np.flatnonzero((decided < cycle) & (cycle < until)).tolist():
            sm = int(self.blocks.sm[number])
            for k, one in enumerate(self.takes[self.blocks.launch[number]]):
                free[sm][k] -= one
        return free

    def decided_for(self, cycle: int) -> list[int]:
        sms: list[int] = self.blocks.sm[self.blocks.start - self.t.offer == cycle].tolist()
        return sms

    def rooms(self, row: int, free: list[list[int]]) -> list[bool]:
        need = self.takes[row]
        return [all(a >= b for a, b in zip(sm, need, strict=True)) for sm in free]

    def with_room(self, cycle: int, row: int) -> int:
        """SMs with room in a stalled cycle: the port of each is not open (rules 14, 15)."""
        rooms = self.rooms(row, self.free(cycle, self.until))
        before = [rooms[sm] for sm in self.decided_for(cycle - 2)]
        return len(self.decided_for(cycle - 1)) + sum(before)

    def of_head(self, cycle: int, row: int, earlier: list[int]) -> str:
        free, need = self.free(cycle, self.blocks.end), self.takes[row]
        rooms = self.rooms(row, free)
        # The port of an SM is not open in the two cycles after a decision (rule 14).
        just = self.decided_for(cycle - 1) + self.decided_for(cycle - 2)
        if any(rooms[sm] for sm in just):
            return "rate"
        if any(rooms):
            given = self.head(row, earlier) - self.t.change
            beside = [other for other in earlier if self.ends[other] > given]
            known = self.transfer(row) + self.t.fit_table + 2 * self.most[row]
            known += self.most[beside[0]] if beside else 0
            return "path" if cycle < known else "reclaim"
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
    decided = (replay.blocks.start - 2).tolist()
    ends = replay.blocks.end.tolist()
    expected = {
        "path": decided[0],
        "rate": 3,
        "slots": sum(end - start - 1 for end, start in zip(ends[:2], decided[:2], strict=True)),
        # A report is seen by a decision `returns` cycles later.
        "reclaim": 2 * timing(replay.config).returns,
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
    decided = (replay.blocks.start - timing(replay.config).offer).tolist()
    for cycle, launch in zip(decided, replay.blocks.launch.tolist(), strict=True):
        assert found[cycle] == ("rate", launch)


def test_a_third_launch_waits_for_a_place_and_is_handed_over() -> None:
    """One short block, seven long ones beside it, and a third stream's that fill an SM each."""
    one = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), arguments=400)
    seven = replace(one, grid=(7, 1, 1), arguments=4000, stream=1, code=1)
    large = replace(one, block=(64, 2, 1), arguments=40, stream=2, code=2, index_address=32)
    config = preset("tiny")
    assert config.warp_slots * config.warp_size == 64 * 2
    replay = model_replay([one, seven, large], config, 1)
    found = by_cycle(find_limits(replay))
    assert found == Reference(replay).limits()
    # The first one's place is free two cycles before its record; then the third one is in it,
    # given to the walker `stage` cycles after its transfer, the head `change` cycles later.
    free = int(replay.launches.end[0]) - QUEUE_END
    transfer = int(replay.launches.resident[2]) - 1
    head = transfer + timing(config).stage + timing(config).change
    last = int(replay.blocks.start[7]) - timing(config).offer
    assert last + 1 < free <= transfer
    assert set(found[last + 1 : free]) == {("places", 2)}
    assert set(found[free:head]) == {("path", 2)}
    assert found[head][0] in RESOURCES
    limits = find_limits(replay)
    assert limits.blocker[limits.limit == limit_walk.PLACES].tolist() == [0]


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
        "places": limit_walk.PLACES,
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
    """The counters count other cycles than the limits do: of the same waits, by their own rules.

    A launch that waited for its stream in a place, and was put back, is no limit's.
    """
    waited = 0
    for k in range(40):
        policy = PREDICTED_POLICIES[k % len(PREDICTED_POLICIES)]
        rng = random.Random(f"{seed}-{name}-{policy}-{reclaim}-{k}")
        replay = random_replay(name, policy, reclaim, rng, crowded=k == 0)
        found, stalls = counters(replay, find_limits(replay)), dict(replay.stalls)
        if len(replay.events.tables["put_back"]["cycle"]):
            assert found.pop("order") <= stalls.pop("order")
        assert found == stalls, f"seed {seed}, {policy}, {k}"
        waited += found.get("order", 0)
        if waited and k >= len(PREDICTED_POLICIES):
            break
    assert waited


def counters(replay: Replay, limits: Limits) -> dict[str, int]:
    """The stall counters, rules 40 to 43 of the dispatcher's page, from the stretches."""
    t, launches = timing(replay.config), replay.launches
    most = fits(launches.takes, replay.config)
    sizes = np.array(list(capacities(replay.config).values()))
    decided = set((replay.blocks.start - t.offer).tolist())
    reference = Reference(replay)
    launched = list(reference.last)
    heads = {row: reference.head(row, reference.earlier(row)) for row in launched}
    found = Counter(dict.fromkeys(replay.stalls, 0))
    for cycle, (name, row) in enumerate(by_cycle(limits)):
        transfer = launches.resident[row] - 1
        if name == "order" and cycle >= transfer + t.stage - 1 and row >= 0:
            found["order"] += 1
        if cycle in decided or row < 0 or cycle < heads[row]:
            continue
        with_room = reference.with_room(cycle, row)
        found["offer"] += with_room > 0
        if cycle >= transfer + most[row] + 3 and with_room < replay.config.sms:
            limiting = (most[row] + 1) * launches.takes[row] > sizes
            found.update(name for name, yes in zip(RESOURCES, limiting, strict=True) if yes)
    return dict(found)


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
