"""A replay in pieces: files that grow, a comparison and figures that forget what they have seen."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb.replay.test_event_model import random_launches
from tb.support.replays import model_replay
from tb.support.trace_files import random_document, write
from tb.support.whole_replays import find_limits, rate_by_time_scale
from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay import event_files, replay_job
from warploom_sim.replay.analysis.running import RunningFigures
from warploom_sim.replay.bench.records import CLOSED, record_packets, record_words
from warploom_sim.replay.event_comparison import Comparing, compare
from warploom_sim.replay.event_files import EventFile
from warploom_sim.replay.launch_figures import CYCLES
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import WarploomError, preset

CONFIG = preset("tiny")
PACKET = record_packets(CONFIG)["reports"]
SIZE = 8 * record_words(PACKET)


@pytest.mark.parametrize(
    "options",
    [{}, {"kill_every": 2, "reclaim": "in_order"}, {"arrivals": "trace", "contention": "sharing"}],
    ids=str,
)
def test_figures_of_pieces_are_those_of_the_whole(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    trace = write(tmp_path, random_document(random.Random(seed), 16))
    given = ReplayRequest(traces=(trace,), config="tiny", knee=3, **options)
    job = replay_job.prepare(given)
    whole = replay_job.model_alone(job)
    monkeypatch.setattr(event_model, "PIECE", 16)
    names = [launch.name for launch in job.trace.launches]
    running = RunningFigures(job.launches, names, job.config, job.arrivals)
    pieces = list(replay_job.model_pieces(job))
    assert len(pieces) >= len(whole.blocks) // (16 + 4)
    for piece in pieces:
        running.add(piece)
    figures = running.finish()
    limits = find_limits(whole)
    assert figures.cycles == whole.cycles
    assert figures.waits is not None
    assert figures.waits.by_limit() == limits.by_limit()
    assert figures.waits.shares() == limits.shares()
    expected = rate_by_time_scale(whole, limits)
    scale = given.time_scale
    assert figures.waits.rate_by_time_scale(figures.launches, job.config, scale) == expected
    assert figures.occupancy == pytest.approx(whole.occupancy)
    for name in (*CYCLES, "blocks", "held_after", "hit", "fate", "code", "resident"):
        expected = getattr(whole.launches, name)
        assert getattr(figures.launches, name).tolist() == expected.tolist(), name


def records(rng: random.Random, count: int) -> np.ndarray:
    """Draw records of reports, several in a cycle, and the closing one."""
    rows = np.zeros((count + 1, SIZE // 8), np.uint64)
    rows[:count, 0] = np.cumsum([rng.choice((0, 0, 1, 5)) for _ in range(count)])
    rows[:count, 1] = [rng.randrange(1 << PACKET.bits - 64) for _ in range(count)]
    rows[count] = [CLOSED, count]
    return rows


def joined(parts: list[Table]) -> Table:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_a_file_that_grows_is_read_as_one_that_is_whole(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    data = records(rng, 500).tobytes()
    path = tmp_path / "reports.bin"
    path.write_bytes(data)
    file = EventFile(path, PACKET)
    whole = joined([*iter(file.read, None), file.finish()])
    monkeypatch.setattr(event_files, "_PIECE", 7 * SIZE + 3)
    path.unlink()
    growing, parts = EventFile(path, PACKET), []
    assert growing.read() is None
    # It grows by any number of bytes: a record is cut now and then.
    with path.open("wb", buffering=0) as out:
        at = 0
        while at < len(data):
            step = rng.randint(1, 5 * SIZE)
            out.write(data[at : at + step])
            at += step
            parts += iter(growing.read, None)
    parts.append(growing.finish())
    seen = joined(parts)
    assert growing.count == 500
    for name, column in whole.items():
        assert (seen[name] == column).all(), name
    order = list(zip(seen["cycle"].tolist(), seen["sm"].tolist(), strict=True))
    assert order == sorted(order)


def test_a_bit_is_flipped_wherever_the_pieces_end(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reports.bin"
    path.write_bytes(records(random.Random(seed), 60).tobytes())
    file = EventFile(path, PACKET)
    whole = joined([*iter(file.read, None), file.finish()])
    monkeypatch.setattr(event_files, "_PIECE", 4 * SIZE)
    for number in range(60):
        file = EventFile(path, PACKET)
        file.flip(number, 64)
        seen = joined([*iter(file.read, None), file.finish()])
        assert np.flatnonzero(seen["sm"] != whole["sm"]).tolist() == [number]
        assert seen["sm"][number] == whole["sm"][number] ^ np.uint64(1)
    file = EventFile(path, PACKET)
    file.flip(60, 1)
    list(iter(file.read, None))
    with pytest.raises(WarploomError, match="event reports.60.1 does not exist; legal: numbers be"):
        file.finish()


def test_what_was_read_is_given_back_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 1 << 18
    rows = records(random.Random(1), count)
    path = tmp_path / "reports.bin"
    monkeypatch.setattr(event_files, "_PIECE", 1 << 18)
    taken = []
    for gives_back in (False, True):
        path.write_bytes(rows.tobytes())
        file = EventFile(path, PACKET)
        file.gives_back = gives_back
        parts = [*iter(file.read, None), file.finish()]
        assert sum(len(part["cycle"]) for part in parts) == count
        taken.append(path.stat().st_blocks * 512)
        assert path.stat().st_size == rows.nbytes
    assert taken[0] >= rows.nbytes
    # The last piece is kept, and what of the one before shares its pages.
    assert taken[1] < 3 << 18


def cut(table: Table, rng: random.Random) -> list[Table]:
    """Cut a table into pieces."""
    length = len(table["cycle"])
    ends = [0, *sorted(rng.randrange(length + 1) for _ in range(4)), length]
    return [
        {name: column[a:b] for name, column in table.items()}
        for a, b in zip(ends, ends[1:], strict=False)
    ]


@pytest.mark.parametrize("kind", ["offers", "reports", "ended", "warps"])
@pytest.mark.parametrize("fault", ["changed", "lost", "more"])
def test_pieces_are_compared_as_the_whole(kind: str, fault: str, seed: int) -> None:
    rng = random.Random(f"{seed}-{kind}-{fault}")
    launches = random_launches(rng, CONFIG, 12, crowded=True)
    model = model_replay(launches, CONFIG, seed).events
    table = model.tables[kind]
    number = rng.randrange(len(table["cycle"]))
    rows = {
        "changed": np.arange(len(table["cycle"])),
        "lost": np.delete(np.arange(len(table["cycle"])), number),
        "more": np.insert(np.arange(len(table["cycle"])), number, number),
    }[fault]
    wrong = {name: column[rows].copy() for name, column in table.items()}
    if fault == "changed":
        wrong["cycle"][number] ^= np.uint64(1)
    rtl = Events(model.tables | {kind: wrong}, model.stalls)
    expected = compare(rtl, model)
    assert expected.mismatches >= 1
    comparing = Comparing()
    steps: list[Any] = [
        (comparing.add_model, {one: part})
        for one, whole in model.tables.items()
        for part in cut(whole, rng)
    ]
    own = [
        (comparing.add_rtl, one, part)
        for one, whole in rtl.tables.items()
        for part in cut(whole, rng)
    ]
    while steps or own:
        first, *given = (steps if steps and (not own or rng.random() < 0.5) else own).pop(0)
        first(*given)
    found = comparing.finish(rtl.stalls, model.stalls, lambda: [model])
    assert found == expected


def test_a_mismatch_is_placed_by_the_models_pieces(seed: int) -> None:
    rng = random.Random(seed)
    launches = random_launches(rng, CONFIG, 12, crowded=True)
    model = model_replay(launches, CONFIG, seed).events
    reports = model.tables["reports"]
    number = rng.randrange(len(reports["cycle"]))
    wrong = reports | {"status": reports["status"].copy()}
    wrong["status"][number] ^= np.uint64(2)
    rtl = Events(model.tables | {"reports": wrong}, model.stalls)
    whole = compare(rtl, model).first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_model, "PIECE", 32)
        parts = [p.events for p in event_model.pieces(launches, CONFIG, seed)]
    comparing = Comparing()
    for part in parts:
        comparing.add_model(part.tables)
    for kind, table in rtl.tables.items():
        comparing.add_rtl(kind, table)
    found = comparing.finish(rtl.stalls, model.stalls, lambda: parts).first
    assert found == whole and found is not None
    offers = model.tables["offers"]
    slot = (offers["sm"] == reports["sm"][number]) & (offers["slot"] == reports["slot"][number])
    row = np.flatnonzero(slot & (offers["cycle"] <= reports["cycle"][number]))[-1]
    assert found.block == tuple(int(offers[name][row]) for name in ("bx", "by", "bz"))
