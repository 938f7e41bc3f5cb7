"""The event model in pieces: all events, each once, in order, and as early as promised."""

import random
from dataclasses import replace

import numpy as np
import pytest

from tb.replay.test_event_model import random_launches
from tb.support.replay_reference import assert_equal
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import NEVER, PREDICTED_POLICIES
from warploom_spec import LaunchDescriptor, preset
from warploom_spec.config import RECLAIMS


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces be a few blocks."""
    monkeypatch.setattr(event_model, "PIECE", 24)


@pytest.mark.parametrize(("kill_every", "knee"), [(None, None), (2, 3)], ids=str)
@pytest.mark.parametrize("reclaim", RECLAIMS)
def test_pieces_are_the_whole(
    reclaim: str,
    kill_every: int | None,
    knee: int | None,
    seed: int,
    request: pytest.FixtureRequest,
) -> None:
    rng = random.Random(f"{seed}-{reclaim}-{kill_every}")
    config = replace(preset("tiny"), policy=rng.choice(PREDICTED_POLICIES), reclaim=reclaim)
    launches = random_launches(rng, config, 12, crowded=True)
    given = (launches, config, seed, kill_every, knee)
    whole = event_model.run(*given)
    request.getfixturevalue("small")
    parts = list(event_model.pieces(*given))
    assert_equal(event_model.joined([part.events for part in parts]), whole, f"seed {seed}")
    assert len(parts) >= len(whole.tables["offers"]["cycle"]) // (24 + 4)
    slots = config.sms * config.block_slots
    assert all(len(p.events.tables["offers"]["cycle"]) <= 24 + 4 for p in parts)
    assert all(len(p.events.tables["reports"]["cycle"]) <= 24 + 4 + slots for p in parts)
    assert [part.until for part in parts] == sorted(part.until for part in parts)
    assert parts[-1].until == NEVER
    for part, later in zip(parts, parts[1:], strict=False):
        for kind, table in later.events.tables.items():
            assert (table["cycle"] >= np.uint64(part.until)).all(), kind


def test_lean_pieces_have_columns_of_the_others(seed: int, request: pytest.FixtureRequest) -> None:
    config = preset("tiny")
    launches = random_launches(random.Random(seed), config, 80, crowded=True)
    request.getfixturevalue("small")
    whole, lean = (
        event_model.joined(
            [part.events for part in event_model.pieces(launches, config, seed, 2, lean=choice)]
        )
        for choice in (False, True)
    )
    assert lean.stalls == whole.stalls
    assert {kind: [*table] for kind, table in lean.tables.items()} == {
        "answers": ["cycle", "ticket", "code", "argument", "count"],
        "decisions": ["cycle", "ticket", "hit", "entry"],
        "offers": ["cycle", "sm", "slot", "ticket"],
        "reports": ["cycle", "sm", "slot", "status"],
        **{
            kind: [*whole.tables[kind]]
            for kind in ("ended", "killed", "record_words", "starts", "timeline")
        },
    }
    for kind, table in lean.tables.items():
        for name, column in table.items():
            assert column.tolist() == whole.tables[kind][name].tolist(), (kind, name)
    assert len(lean.tables["reports"]["cycle"]) > 100


def test_blocks_of_a_large_grid_have_their_places() -> None:
    """Many blocks in three dimensions."""
    grid = (37, 41, 59)
    launch = LaunchDescriptor(grid=grid, block=(8, 1, 1), arguments=4)
    offers = event_model.run([launch], preset("tiny"), 1).tables["offers"]
    bz, by, bx = np.indices(grid[::-1]).reshape(3, -1)
    for name, column in (("bx", bx), ("by", by), ("bz", bz)):
        assert (offers[name] == column.astype(np.uint64)).all()
