"""A replay's blocks and figures from events in pieces: those of the whole, in little memory."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tb.replay.test_event_model import random_launches
from tb.support.replays import model_replay
from tb.support.trace_files import large_document, random_document, write
from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events
from warploom_sim import replay
from warploom_sim.replay import replay_events, replay_job
from warploom_sim.replay.analysis import block_sums
from warploom_sim.replay.analysis.overview import overview
from warploom_sim.replay.replay_columns import block_columns
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import Blocks
from warploom_spec import preset

#: Offers, or reports, of a piece here.
PIECE = 16
#: A gibibyte, in what `getrusage` counts.
GIB = 1 << 20


@pytest.fixture
def runs(seed: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Replay, Replay]:
    """Return the same replay, its events whole and in pieces."""
    config = preset("tiny")
    launches = random_launches(random.Random(seed), config, 14, crowded=True)
    whole = model_replay(launches, config, seed)
    monkeypatch.setattr(event_model, "PIECE", PIECE)
    return whole, model_replay(launches, config, seed, in_pieces=True)


def same(one: Blocks, other: Blocks) -> bool:
    return all(
        np.array_equal(column, other.columns()[name]) for name, column in one.columns().items()
    )


def late_blocks(run: Replay) -> int:
    """Return how many blocks end in a later piece than the one that offers them."""
    late = offered = 0
    for piece, blocks in zip(run.source.pieces(), run.block_pieces(), strict=False):
        late += int((blocks.start < offered).sum())
        offered = int(piece.events.tables["offers"]["cycle"].max(initial=0)) + 1
    return late


def test_each_block_is_in_the_piece_in_which_it_ends(runs: tuple[Replay, Replay]) -> None:
    whole, pieced = runs
    slots = pieced.config.sms * pieced.config.block_slots
    parts = list(pieced.block_pieces())
    assert len(parts) >= len(whole.blocks) // (PIECE + pieced.config.sms)
    assert max(map(len, parts)) <= PIECE + slots
    reports = [piece.events.tables["reports"]["cycle"] for piece in pieced.source.pieces()]
    for part, ended in zip(parts, reports, strict=True):
        assert sorted(part.end) == sorted(ended)
        assert (np.diff(part.start) > 0).all()
    assert late_blocks(pieced) > 0
    assert same(pieced.blocks, block_columns(whole.events))
    assert len(pieced.blocks) == whole.launches.blocks.sum()


def test_a_block_that_is_forgotten_between_two_pieces_is_found(
    runs: tuple[Replay, Replay], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check above can fail: with a joiner that forgets the blocks that still run."""
    whole, pieced = runs
    take = replay_events.BlockJoiner.add

    def forgetful(joiner: replay_events.BlockJoiner, events: Events) -> Blocks:
        joiner._open = {name: column[:0] for name, column in joiner._open.items()}
        return take(joiner, events)

    monkeypatch.setattr(replay_events.BlockJoiner, "add", forgetful)
    again = replay_events.ReplayEvents(pieced.source.pieces)
    assert not same(again.blocks, whole.blocks)


def test_the_overview_of_pieces_is_that_of_the_whole(runs: tuple[Replay, Replay]) -> None:
    whole, pieced = (overview(run, 50) for run in runs)
    assert pieced.waits.cycles.tolist() == whole.waits.cycles.tolist()
    assert pieced.kernels == whole.kernels
    for name, column in vars(whole.over_time).items():
        found = getattr(pieced.over_time, name)
        columns = column if isinstance(column, dict) else {"": column}
        parts = found if isinstance(column, dict) else {"": found}
        assert [*parts] == [*columns]
        for part, values in columns.items():
            assert parts[part].tolist() == values.tolist(), (name, part)
    assert len(pieced.blockers) == len(whole.blockers) > 1
    for one, other in zip(pieced.blockers, whole.blockers, strict=True):
        assert (one.kernel, one.by_limit) == (other.kernel, other.by_limit)
        assert one.over_time.tolist() == other.over_time.tolist()


def test_a_report_before_an_offer_of_an_earlier_piece_adds_nothing_after_it() -> None:
    """The last offer is in 37; of the blocks of 10 and 37 those cycles count that are after it."""
    sums, slots = np.zeros((1, block_sums.SUMS), np.int64), np.zeros((3, 2), np.int64)

    def add(offers: dict[int, int], reports: dict[int, int]) -> None:
        given = [
            np.array(values, np.int64)
            for each in (offers, reports)
            for values in ([*each], [*each.values()])
        ]
        cycles, offered, reported, ended = given
        rows, found = np.zeros_like(cycles), np.zeros((2, len(reported)), np.int64)
        block_sums.add(sums, slots, cycles, rows, offered, reported, ended, *found)

    add({10: 0, 11: 1, 37: 2}, {})
    add({}, {36: 1, 40: 0, 50: 2})
    assert sums[0, block_sums.HELD_AFTER] == (40 - 37) + (50 - 37)
    assert sums[0, block_sums.HELD] == (36 - 11) + (40 - 10) + (50 - 37)


@pytest.mark.parametrize("options", [{}, {"kill_every": 2, "arrivals": "trace"}], ids=str)
def test_more_blocks_than_are_kept_come_again(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    trace = write(tmp_path, random_document(random.Random(seed), 12))
    kept = replay(trace, "tiny", time_scale="1/32", **options)
    count = len(kept.blocks)
    monkeypatch.setattr(event_model, "PIECE", PIECE)
    most = replay_job.KEPT_BLOCKS
    monkeypatch.setattr(replay_job, "KEPT_BLOCKS", count - 1)
    made: list[object] = []
    make = replay_job.model_pieces

    def counted(job: replay_job.Job, **more: bool) -> object:
        made.append(job)
        return make(job, **more)

    monkeypatch.setattr(replay_job, "model_pieces", counted)
    again = replay(trace, "tiny", time_scale="1/32", **options)
    assert (len(made), again.cycles, again.stalls) == (1, kept.cycles, kept.stalls)
    assert again.occupancy == kept.occupancy
    for name, column in kept.launches.columns().items():
        equal = np.array_equal(
            column, again.launches.columns()[name], equal_nan=column.dtype.kind == "f"
        )
        assert equal, name
    assert sum(map(len, again.block_pieces())) == count
    assert same(again.blocks, kept.blocks)
    for kind, table in kept.events.tables.items():
        for name, column in table.items():
            assert np.array_equal(again.events.tables[kind][name], column), (kind, name)
    # Blocks and events are kept once they were asked for.
    assert len(made) == 4
    assert again.blocks is again.blocks and again.events is again.events
    monkeypatch.setattr(replay_job, "KEPT_BLOCKS", most)
    made.clear()
    assert same(replay(trace, "tiny", time_scale="1/32", **options).blocks, kept.blocks)
    assert len(made) == 1


#: What takes a run of more than 2^24 blocks, and prints how many blocks it has seen.
USES = {
    "python": (
        "from warploom_sim import replay; run = replay(path, 'large');"
        " print(sum(map(len, run.block_pieces())), round(sum(run.occupancy.values()), 3))"
    ),
    "report": (
        "from tb.sim.views.test_html_report import plain; from warploom_sim import replay;"
        " from warploom_sim.views.html_report.page import Run, write_report;"
        " run = replay(path, 'large');"
        " one = Run(replay=run, figures=plain(run), command='');"
        " write_report(path.with_name('r.html'), [one]);"
        " print(run.launches.blocks.sum())"
    ),
    "timeline": (
        "from warploom_sim import replay;"
        " from warploom_sim.views.replay_timeline import add_replay;"
        " from warploom_sim.views.timeline import new_timeline; seen = [];"
        " run = replay(path, 'large'); file = pathlib.Path('/dev/null')\n"
        "with new_timeline(file) as timeline: add_replay(timeline, run, '', seen.append)\n"
        "print(sum(seen))"
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("use", USES)
def test_2_24_blocks_and_more_take_less_than_a_gigabyte(tmp_path: Path, use: str) -> None:
    """In a process of its own, whose largest memory counts, with all that it imports."""
    trace = write(tmp_path, large_document())
    script = (
        f"import pathlib, resource, sys; path = pathlib.Path(sys.argv[1]); {USES[use]}\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, trace], capture_output=True, text=True, check=True
    )
    first, kib = done.stdout.splitlines()
    print(use, done.stdout.split())
    assert int(first.split()[0]) > 2**24
    assert int(kib) < GIB
