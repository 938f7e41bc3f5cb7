"""What a replay's source does: pieces, holds, pairs, priorities, kills."""

import random
from dataclasses import replace

import numpy as np
import pytest

from tb.replay.test_event_model import random_launches
from tb.support import sent_cycles
from tb.support.replay_reference import assert_equal
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.kills import kill_block
from warploom_golden.replay.waits import Waits
from warploom_spec import Config, LaunchDescriptor, preset
from warploom_spec.queue import FinalFate

CONFIG = preset("tiny")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces be a few blocks."""
    monkeypatch.setattr(event_model, "PIECE", 24)


def launches_of(seed: int, count: int = 16, streams: int = 4) -> list[LaunchDescriptor]:
    """Return launches of some streams, each with a priority of its own."""
    rng = random.Random(seed)
    priorities = [rng.randrange(1 << CONFIG.priority_bits) for _ in range(streams)]
    made = random_launches(rng, CONFIG, count, crowded=True)
    result = []
    for number, launch in enumerate(made):
        stream = rng.randrange(streams)
        changed = replace(launch, stream=stream, priority=priorities[stream], code=number)
        result.append(replace(changed, arguments=launch.arguments + 60))
    return result


def ended(events: Events) -> dict[int, int]:
    """Return the cycle of each launch's record, by the launch's number."""
    tickets = events.tables["answers"]["ticket"].tolist()
    table = events.tables["ended"]
    return {
        tickets.index(ticket): cycle
        for ticket, cycle in zip(table["ticket"].tolist(), table["cycle"].tolist(), strict=True)
    }


def test_pieces_are_the_whole(seed: int, request: pytest.FixtureRequest) -> None:
    launches = launches_of(seed)
    given = (launches, CONFIG, seed, 3, 2, [40 * k for k in range(len(launches))])
    whole = event_model.run(*given)
    request.getfixturevalue("small")
    parts = list(event_model.pieces(*given))
    lean = [each.events for each in event_model.pieces(*given, lean=True)]
    assert_equal(event_model.joined([part.events for part in parts]), whole, f"seed {seed}")
    # Pieces are cut by their offers: a seed with few blocks has few pieces.
    assert len(parts) >= max(2, len(whole.tables["offers"]["cycle"]) // (24 + 4))
    assert parts[-1].until == NEVER
    for part, later in zip(parts, parts[1:], strict=False):
        for kind, table in later.events.tables.items():
            assert (table["cycle"] >= np.uint64(part.until)).all(), kind
    for kind, table in event_model.joined(lean).tables.items():
        for name, column in table.items():
            assert column.tolist() == whole.tables[kind][name].tolist(), (kind, name)


def test_a_held_launch_is_sent_after_the_records_that_it_is_held_for(seed: int) -> None:
    # Where its priority has no place by then, it waits for one: such seeds are passed over.
    assert any(held_launch_is_sent_in_time(seed + further) for further in range(10))


def held_launch_is_sent_in_time(seed: int) -> bool:
    """Check when the last launch is sent; False if no place was free for it."""
    launches = launches_of(seed)
    last = len(launches) - 1
    with sent_cycles.noted() as free:
        records = ended(event_model.run(launches, CONFIG, seed))
    # The two that were accepted last.
    others = tuple(sorted(records.keys() - {last})[-2:])
    held = [()] * last + [others]
    with sent_cycles.noted() as cycles:
        records = ended(
            event_model.run(launches, CONFIG, seed, waits=Waits([()] * (last + 1), held))
        )
    # A record is popped in the cycle after its last word, and known three cycles later.
    known = max(records[other] for other in others) + 4
    alive = [
        number
        for number, made in records.items()
        if number != last and made + 1 >= known
        if launches[number].priority == launches[last].priority
    ]
    if len(alive) >= CONFIG.queue_depth:
        return False
    assert cycles[last] == known > free[last]
    return True


def test_a_pair_lets_a_launch_wait_for_another_streams_record() -> None:
    launches = [
        LaunchDescriptor(grid=(3, 1, 1), block=(4, 1, 1), arguments=300, stream=stream, code=code)
        for code, stream in enumerate((0, 1))
    ]
    first = {
        pairs: event_model.run(launches, CONFIG, 1, waits=Waits(pairs, ((), ()))).tables
        for pairs in (((), ()), ((), ((0, 1),)))
    }
    (free, waiting) = (
        int(tables["offers"]["cycle"][tables["offers"]["ticket"] == 2].min())
        for tables in first.values()
    )
    assert free < 70
    # Its first word is at `record` 6 cycles before the last one. The launch requests its indices 10
    # cycles later, has the decision in 4 more, starts in the next one and offers 9 later.
    assert waiting == int(first[(), ((0, 1),)]["ended"]["cycle"][0]) - 6 + 10 + 4 + 1 + 9


def test_launches_are_aborted_after_the_block_that_says_so(seed: int) -> None:
    config: Config = replace(CONFIG, policy="round_robin")
    launches = launches_of(seed, 24)
    events = event_model.run(launches, config, seed, 2)
    tickets = events.tables["answers"]["ticket"].tolist()
    offered = events.tables["offers"]["ticket"].tolist()
    aborted = 0
    for ticket, fate in zip(
        events.tables["ended"]["ticket"].tolist(), events.tables["ended"]["fate"], strict=True
    ):
        launch = launches[tickets.index(ticket)]
        blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        last = kill_block(seed, launch.code, blocks, 2)
        if fate == FinalFate.ABORTED:
            assert last is not None
            assert last < offered.count(ticket) <= blocks
            aborted += 1
        else:
            assert (fate, offered.count(ticket)) == (FinalFate.FINISHED, blocks)
    assert aborted
