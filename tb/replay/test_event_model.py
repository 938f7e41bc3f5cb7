"""The event model against the cycle models: every event of small random replays, every policy."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tb.support.deep_values import deep_but, thorough_but
from tb.support.replay_reference import Replay, assert_equal, difference
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.kills import kill_block
from warploom_golden.replay.waits import Waits
from warploom_spec import Config, LaunchDescriptor, WarploomError, preset
from warploom_spec.config import RECLAIMS
from warploom_spec.queue import FinalFate

#: Shapes that differ in warps, dimensions and words.
SHAPES = (
    (8, 1, 1),
    (64, 1, 1),
    (5, 7, 3),
    (33, 3, 1),
    (1, 1, 64),
    (16, 2, 2),
    (100, 1, 1),
    (128, 1, 1),
    (5, 5, 5),
)
REFUSED = ((7, 0, 1), (1, 1, 65), (1025, 1, 1), (64, 64, 1))


def random_launches(
    rng: random.Random, config: Config, count: int, crowded: bool = False
) -> list[LaunchDescriptor]:
    """Draw launches that overlap, collide in the index memory and now and then are refused.

    With ``crowded`` they are sure to fill the SMs, to hit the history and to wait for their stream.
    """
    shapes = [*rng.sample(SHAPES, rng.randint(1, 5)), rng.choice(REFUSED)]
    streams = rng.randint(2, 3)
    longest = 300 if crowded else rng.choice((6, 30, 300))
    most_blocks = 10 * config.sms if crowded else rng.choice((1, 4, 5 * config.sms))
    launches = []
    for number in range(count):
        # One is always refused.
        block = shapes[-1] if number == 1 else rng.choice(shapes)
        launches.append(
            LaunchDescriptor(
                grid=(rng.randint(1, most_blocks), rng.randint(1, 2), rng.randint(1, 2)),
                block=block,
                warp_registers=rng.randint(0, 4),
                shared=rng.randint(0, config.shared_units // 3),
                barriers=rng.choice((0, 1, 1, config.barriers // 2)),
                # A shape mostly stands in one place; another one's place is often written over.
                index_address=rng.choice((0, 8 * shapes.index(block), 3)),
                stream=rng.randrange(streams),
                code=number,
                arguments=rng.randint(1, longest),
            )
        )
    if crowded:
        # Twice the same shape in the same place, the second behind the long first in its stream.
        twin = replace(
            launches[2],
            block=(64, 1, 1),
            index_address=40,
            stream=0,
            warp_registers=1,
            shared=1,
            barriers=1,
            arguments=longest,
        )
        launches[2:4] = [replace(twin, code=number) for number in (2, 3)]
        # Two of its blocks fill an SM.
        launches[4] = replace(
            launches[4],
            grid=(5 * config.sms, 1, 1),
            block=(8, 1, 1),
            shared=0,
            barriers=config.barriers // 2,
            arguments=longest,
        )
    return launches


def cases() -> list[Any]:
    """Return every configuration, policy and reclaim.

    By default one runs. In `make test-all` each policy runs with one of the reclaims, in turn, and
    ``default`` with half of those.
    """
    pairs = list(itertools.product(PREDICTED_POLICIES, RECLAIMS))
    tiny, default = ([(name, *pair) for pair in pairs] for name in ("tiny", "default"))
    return deep_but(
        default[:1],
        [*tiny, *default],
        thorough=[tiny[3], tiny[4], default[7]],
    )


@pytest.mark.parametrize(("name", "policy", "reclaim"), cases(), ids=lambda case: case)
def test_every_event_of_random_replays(name: str, policy: str, reclaim: str, seed: int) -> None:
    config = replace(preset(name), policy=policy, reclaim=reclaim)
    happened: Counter[str] = Counter()
    # Nothing was compared where nothing happened: one seed in a hundred takes a replay more.
    demanded = ("offers", "warps", "hits", "refused", "stall_any", "both resident")
    for k in range(20):
        if k >= (3 if name == "tiny" else 2) and all(happened[what] for what in demanded):
            break
        rng = random.Random(f"{seed}-{name}-{policy}-{reclaim}-{k}")
        launches = random_launches(rng, config, rng.randint(10, 25), crowded=k == 0)
        replay_seed = rng.randrange(1 << 32)
        knee = rng.choice((None, 2, 20))
        launches = [replace(one, address_space=rng.randint(0, 40)) for one in launches]
        model = event_model.run(launches, config, replay_seed, knee=knee)
        reference = Replay(launches, config, replay_seed, knee=knee).run()
        assert_equal(reference, model, f"seed {seed}, replay {k}")
        happened += Counter({kind: len(t["cycle"]) for kind, t in model.tables.items()})
        happened += Counter(model.stalls)
        happened["hits"] += int(model.tables["decisions"]["hit"].sum())
        happened["stall_any"] += sum(n for name, n in model.stalls.items() if "order" not in name)
        happened["refused"] += int((model.tables["answers"]["code"] > 0).sum())
        happened["both resident"] += both_resident(model)
    assert all(happened[what] for what in demanded), happened


#: Hard cases of kills: the random replays below go on until each has come up.
KILL_CASES = ("ok while killed", "taken while killed", "reported when taken")


def quick_launches(rng: random.Random, config: Config, count: int) -> list[LaunchDescriptor]:
    """Draw launches of small blocks that overlap; SMs have room when they are killed."""
    return [
        LaunchDescriptor(
            grid=(rng.randint(1, 3 * config.sms), 1, 1),
            block=(8, 1, 1),
            stream=number % 4,
            code=number,
            arguments=rng.choice((4, 8, 40)),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("name", "policy", "reclaim"), cases(), ids=lambda case: case)
@pytest.mark.thorough
def test_every_event_of_random_replays_with_kills(
    name: str, policy: str, reclaim: str, seed: int
) -> None:
    config = replace(preset(name), policy=policy, reclaim=reclaim)
    demanded = (*KILL_CASES, "ABORTED", "FINISHED")
    happened: Counter[str] = Counter()
    # A block that ends `OK` while it is killed is in one replay of eight.
    for k in range(100):
        if k >= (4 if name == "tiny" else 2) and all(happened[what] for what in demanded):
            break
        rng = random.Random(f"{seed}-kills-{name}-{policy}-{reclaim}-{k}")
        if k % 2:
            launches = random_launches(rng, config, rng.randint(10, 25), crowded=True)
        else:
            launches = quick_launches(rng, config, 40)
        replay_seed, every = rng.randrange(1 << 32), 1 + k % 2
        model = event_model.run(launches, config, replay_seed, every)
        replay = Replay(launches, config, replay_seed, every)
        assert_equal(replay.run(), model, f"seed {seed}, replay {k}, every {every}")
        happened += replay.seen
        happened += Counter(FinalFate(int(fate)).name for fate in model.tables["ended"]["fate"])
    assert all(happened[what] for what in demanded), happened


def random_waits(rng: random.Random, launches: Sequence[LaunchDescriptor]) -> Waits:
    """Let launches wait for earlier ones of other streams, as their numbers there say."""
    seen: Counter[int] = Counter()
    pairs: list[list[tuple[int, int]]] = []
    for launch in launches:
        others = [stream for stream in seen if stream != launch.stream and seen[stream]]
        chosen = rng.sample(others, min(len(others), rng.choice((0, 1, 2))))
        pairs.append([(stream, rng.randint(1, seen[stream])) for stream in chosen])
        seen[launch.stream] += 1
    return Waits(pairs, [()] * len(launches))


@pytest.mark.parametrize("name", thorough_but(["tiny"], ["tiny", "default"]))
def test_every_event_of_random_graphs_with_waits_and_priorities(name: str, seed: int) -> None:
    config = replace(preset(name), policy="round_robin", reclaim="out_of_order")
    happened: Counter[str] = Counter()
    for k in range(3):
        rng = random.Random(f"{seed}-waits-{name}-{k}")
        launches = [
            replace(one, stream=number % 4, priority=number % 4 % 3, idempotent=1, mode=number % 5)
            for number, one in enumerate(quick_launches(rng, config, 24))
        ]
        waits, replay_seed = random_waits(rng, launches), rng.randrange(1 << 32)
        model = event_model.run(launches, config, replay_seed, waits=waits)
        reference = Replay(launches, config, replay_seed, waits=waits).run()
        assert_equal(reference, model, f"seed {seed}, replay {k}")
        happened += Counter({kind: len(t["cycle"]) for kind, t in model.tables.items()})
    assert happened["killed"], happened


def test_a_kill_stands_where_the_pages_put_it() -> None:
    """By hand: offer taken in o, ABORT in o + 1, its ticket found and served, then `kill`."""
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(32, 1, 1), arguments=100, code=3)
    tables = event_model.run([launch], TINY, 0, 3).tables
    (offered,) = tables["offers"]["cycle"].tolist()
    # The search begins in o + 1, reads entry 0 in o + 2 and hits in o + 5; the ABORT's last step is
    # in o + 8. The LOOK is chosen in o + 10, picked then, and its last step is W + 4 later; `stop`
    # follows a cycle later, and `kill` a cycle after that.
    waits = TINY.launch_waits
    assert tables["reports"]["cycle"].tolist() == [offered + 16 + waits]
    assert tables["reports"]["status"].tolist() == [2]
    assert tables["ended"]["fate"].tolist() == [FinalFate.ABORTED]
    assert event_model.run([launch], TINY, 0, 2).tables["ended"]["fate"].tolist() == [0]


def test_a_killed_launch_keeps_at_least_the_blocks_that_were_offered_before(seed: int) -> None:
    launches = [
        LaunchDescriptor(grid=(40, 1, 1), block=(32, 1, 1), arguments=30, code=number)
        for number in range(40)
    ]
    tables = event_model.run(launches, preset("tiny"), seed, 1).tables
    offered = np.bincount(tables["offers"]["ticket"].astype(int), minlength=41)[1:]
    least = [kill_block(seed, number, 40, 1) for number in range(40)]
    assert least[0] is None
    assert len({*least}) > 15
    for number, last in enumerate(least):
        killed = tables["ended"]["fate"][number] == FinalFate.ABORTED
        assert offered[number] == 40 if not killed else offered[number] > last


def both_resident(events: Events) -> int:
    """Count blocks that were offered while an earlier launch still had some out."""
    offers, ended = events.tables["offers"], events.tables["ended"]
    over = dict(zip(ended["ticket"].tolist(), ended["cycle"].tolist(), strict=True))
    pairs = zip(offers["ticket"].tolist(), offers["cycle"].tolist(), strict=True)
    return sum(any(over[t] > c for t in range(1, ticket)) for ticket, c in pairs)


#: Small, and no jitter of blocks of 4 cycles.
TINY = preset("tiny")


def test_a_first_block_stands_where_the_pages_put_it() -> None:
    """By hand: the boot of 16 entries, sent 20, taken 26, requested 33, accepted 36, started 38."""
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(32, 1, 1), arguments=4)
    tables = event_model.run([launch], TINY, 0).tables
    cycles = {kind: table["cycle"].tolist() for kind, table in tables.items()}
    assert cycles["answers"] == [30]
    assert cycles["decisions"] == [37]
    assert cycles["starts"] == [38]
    assert cycles["offers"] == [47]
    assert cycles["reports"] == [51]
    # The report's books are written in 55, it is over in 57, and its record has seven words.
    assert cycles["timeline"] == [61]
    assert cycles["ended"] == [68]
    assert tables["ended"]["first_offer"].tolist() == [47]
    assert tables["ended"]["word2"].tolist() == [55 - 47]


def test_the_first_launch_waits_for_the_boot() -> None:
    """By hand: 8 SMs of 32 slots are entered in 256 cycles, and 9 more."""
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(32, 1, 1), arguments=100)
    tables = event_model.run([launch], preset("default"), 0).tables
    assert tables["starts"]["cycle"].tolist() == [265]
    assert tables["offers"]["cycle"].tolist() == [274]


def test_the_next_launch_of_a_stream_follows_its_last_report() -> None:
    launch = LaunchDescriptor(grid=(3, 1, 1), block=(8, 1, 1), arguments=50)
    tables = event_model.run([launch, replace(launch, code=1)], TINY, 0).tables
    reported = tables["reports"]["cycle"][:3].max()
    # Over in t + 6, its END's last step in t + 9; then ready, chosen and requested within 4 cycles,
    # a hit accepted 3 later, started 2 later, and offered 9 later.
    assert tables["starts"]["cycle"][1] == reported + 18
    assert tables["offers"]["cycle"][3] == reported + 27


def test_many_streams_are_resident_at_once() -> None:
    """A launch of each stream runs beside all others, though none of them ends before."""
    config = replace(preset("default"), stream_bits=4)
    launches = [
        LaunchDescriptor(grid=(4, 1, 1), block=(32, 1, 1), stream=k, code=k, arguments=9000)
        for k in range(16)
    ]
    tables = event_model.run(launches, config, 0).tables
    assert tables["offers"]["cycle"].max() < tables["reports"]["cycle"].min()
    assert len(tables["offers"]["cycle"]) == 64


def test_no_launch_at_all() -> None:
    events = event_model.run([], preset("tiny"), 0)
    assert all(len(column) == 0 for t in events.tables.values() for column in t.values())


@pytest.mark.parametrize(
    ("fields", "kill_every", "message"),
    [
        ({"index_memory_warps": 0}, None, "index_memory_warps is 0; legal in a replay: 2 to 65536"),
        ({"sm_kill": False}, 3, "kill_every is 3; legal with sm_kill = False: none"),
    ],
)
def test_what_the_model_does_not_cover_is_refused(
    fields: dict[str, Any], kill_every: int | None, message: str
) -> None:
    config = replace(preset("tiny"), **fields)
    with pytest.raises(WarploomError, match=f"^{message}$"):
        event_model.run([], config, 0, kill_every)


def test_without_kills_it_makes_no_difference_whether_sms_can_kill() -> None:
    launches = random_launches(random.Random(1), preset("tiny"), 12)
    found = [
        event_model.run(launches, replace(preset("tiny"), sm_kill=kills), 5).tables["reports"]
        for kills in (True, False)
    ]
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


def test_a_flipped_bit_anywhere_is_found(seed: int) -> None:
    rng = random.Random(seed)
    launches = random_launches(rng, TINY, 12)
    model, reference = event_model.run(launches, TINY, 5), Replay(launches, TINY, 5).run()
    for kind, table in reference.tables.items():
        for name in table:
            changed = model.tables[kind][name].copy()
            changed.reshape(len(changed), -1)[rng.randrange(len(changed)), 0] ^= np.uint64(1)
            tables = model.tables | {kind: model.tables[kind] | {name: changed}}
            found = difference(reference, Events(tables, model.stalls))
            assert found is not None
            assert f": {name} is" in found


@pytest.mark.parametrize(
    ("knee", "count"), thorough_but([(None, 300)], [(None, 300), (None, 1000), (4, 1000)])
)
def test_beside_a_launch_that_never_ends_those_of_other_streams_run_through(
    knee: int | None, count: int
) -> None:
    """All its blocks are placed; what they leave of the SMs is enough for the others."""
    rng = random.Random(1)
    endless = LaunchDescriptor(
        grid=(4, 1, 1), block=(16, 1, 1), barriers=0, arguments=1 << 31, address_space=2
    )
    launches = [endless] + [
        replace(
            endless,
            grid=(rng.randint(1, 3), 1, 1),
            stream=1 + number % 7,
            code=1 + number,
            arguments=rng.randint(4, 60),
        )
        for number in range(count)
    ]
    config = replace(TINY, stream_bits=3, reclaim="out_of_order")
    tables = event_model.run(launches, config, 0, knee=knee).tables
    blocks = sum(launch.grid[0] for launch in launches)
    assert len(tables["offers"]["cycle"]) == len(tables["reports"]["cycle"]) == blocks
    # Its four blocks are offered first, and reported after all else is over.
    assert tables["offers"]["ticket"][:4].tolist() == [1] * 4
    ends = tables["ended"]
    assert sorted(ends["ticket"].tolist()) == list(range(1, count + 2))
    assert ends["ticket"][-1] == 1
    assert ends["cycle"][-2] < tables["reports"]["cycle"][-4] < ends["cycle"][-1]
    assert not ends["fate"].any()
    for stream in range(1, 8):
        mine = [t for t in ends["ticket"].tolist() if launches[t - 1].stream == stream]
        assert mine == sorted(mine)
