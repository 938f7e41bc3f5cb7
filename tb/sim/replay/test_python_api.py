"""`warploom_sim.replay`: columns held against a slow reference, refusals, quick import."""

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace as with_fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb.support import replay_reference
from tb.support.trace_files import random_document, write
from warploom_sim import replay
from warploom_sim.failure import MismatchError
from warploom_sim.replay import rtl_replay
from warploom_sim.replay.replay_columns import block_columns
from warploom_sim.replay.replay_result import Replay
from warploom_sim.replay.replay_rows import NEVER, REFUSED
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import (
    RESOURCES,
    Fate,
    WarploomError,
    capacities,
    preset,
    resident_packets,
)

#: So many that `tiny` refuses some and runs some, whatever the seed.
LAUNCHES = 40
SCALE = Fraction(1, 64)


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    """Return a small trace on three streams.

    Of the first launches some find the indices of another, and `tiny` refuses the fifth.
    """
    document = random_document(random.Random(seed), LAUNCHES)
    for number, block in enumerate((*[[32, 1, 1]] * 4, [256, 1, 1])):
        document["traceEvents"][2 * number + 1]["args"]["block"] = block
    return write(tmp_path, document)


class Reference(replay_reference.Replay):
    """The cycle model's replay, which also notes in which cycles launches transfer."""

    def _see(self, cycle: int, outputs: Mapping[str, int | None]) -> None:
        super()._see(cycle, outputs)
        if self.sent > len(self.transfers):
            self.transfers.append(cycle)
        now = self.model._now()
        if now.queue["start__valid"] and now.dispatcher["start__ready"]:
            start = resident_packets.resident_start(self.config)
            stream = start.unpack(now.queue["start__payload"] or 0)["stream"]
            self.starts.append((cycle, stream))

    transfers: list[int]
    #: Cycle and stream of each start: no port of the whole says it.
    starts: list[tuple[int, int]]


def reference(trace: Path, seed: int) -> tuple[Reference, list[Any]]:
    config = preset("tiny")
    launches = make_launches(trace_reader.load(trace), config, SCALE)
    run = Reference(launches, config, seed)
    run.transfers, run.starts = [], []
    run.run()
    return run, launches


def launch_rows(run: Reference, launches: list[Any]) -> list[dict[str, Any]]:
    """Return what the columns must hold, counted launch by launch in plain Python."""
    rows = []
    for number, launch in enumerate(launches):
        answer = run.rows["answers"][number]
        ticket = answer["ticket"]

        def of_launch(kind: str, ticket: int = ticket) -> list[dict[str, int]]:
            return [row for row in run.rows[kind] if ticket and row["ticket"] == ticket]

        offers, ended = of_launch("offers"), of_launch("ended")
        reported = sorted(report_of(run, offer) for offer in offers)
        # It is resident from the cycle after its start on.
        starts = [
            cycle + 1
            for cycle, stream in run.starts
            for row in offers[:1]
            if stream == row["stream"] and cycle < row["cycle"]
        ]
        last_offer = max((row["cycle"] for row in offers), default=NEVER)
        rows.append(
            {
                "stream": launch.stream,
                "resident": max(starts, default=NEVER),
                "first_offer": min((row["cycle"] for row in offers), default=NEVER),
                "last_offer": last_offer,
                "last_report": max(reported, default=NEVER),
                "held": sum(report_of(run, row) - row["cycle"] for row in offers),
                "held_after": sum(max(0, cycle - last_offer) for cycle in reported),
                "end": ended[0]["cycle"] if ended else NEVER,
                "blocks": len(offers),
                "fate": ended[0]["fate"] if ended else REFUSED,
                "code": answer["code"],
                "length": launch.arguments,
            }
        )
    return rows


def report_of(run: Reference, offer: dict[str, int]) -> int:
    """Return the cycle of the first report from the offer's slot that follows the offer."""
    return min(
        row["cycle"]
        for row in run.rows["reports"]
        if (row["sm"], row["slot"]) == (offer["sm"], offer["slot"])
        and row["cycle"] > offer["cycle"]
    )


def test_launches_and_blocks_are_what_a_cycle_model_shows(trace: Path, seed: int) -> None:
    run, launches = reference(trace, seed)
    got = replay(trace, "tiny", time_scale=SCALE, seed=seed)
    expected = launch_rows(run, launches)
    assert sum(row["fate"] == REFUSED for row in expected) > 0
    # A launch whose answer waits for the queue's other events counts as sent so much later.
    late = got.launches.transfer - np.array(run.transfers)
    assert late[0] == 0 and 0 <= late.min() <= late.max() < 16
    assert (late == 0).mean() > 0.5
    assert got.launches.arrival.tolist() == got.launches.transfer.tolist()
    for name in expected[0]:
        column = getattr(got.launches, name)
        assert column.tolist() == [row[name] for row in expected], name
    assert got.launches.name.tolist() == [f"kernel{n}" for n in range(LAUNCHES)]
    assert got.launches.grid.tolist() == [list(launch.grid) for launch in launches]
    assert got.launches.block.tolist() == [list(launch.block) for launch in launches]
    number = {row["ticket"]: n for n, row in enumerate(run.rows["answers"])}
    blocks = [
        [number[row["ticket"]], row["bx"], row["by"], row["bz"], row["sm"], row["slot"]]
        + [row["cycle"], report_of(run, row)]
        for row in run.rows["offers"]
    ]
    assert len(blocks) > 100
    columns = got.blocks.columns()
    assert [*columns] == ["launch", "place_x", "place_y", "place_z", "sm", "slot", "start", "end"]
    assert np.stack([*columns.values()], axis=1).tolist() == blocks


def test_history_hits_are_what_a_cycle_model_shows(tmp_path: Path, seed: int) -> None:
    """Of one stream: its launches are decided one by one."""
    document = random_document(random.Random(seed), 16)
    for number, event in enumerate(document["traceEvents"][1::2]):
        event["args"] |= {"stream": 7, "block": [32, 1 + number % 3 // 2, 1]}
    trace = write(tmp_path, document)
    run, _ = reference(trace, seed)
    tickets = [row["ticket"] for row in run.rows["answers"]]
    decided = [bool(row["hit"]) for row in run.rows["decisions"]]
    hits = dict(zip(filter(None, tickets), decided, strict=True))
    got = replay(trace, "tiny", time_scale=SCALE, seed=seed).launches.hit.tolist()
    assert got == [hits.get(ticket, False) for ticket in tickets]
    assert 0 < sum(got) < sum(map(bool, tickets))


def test_figures_follow_from_the_rows(trace: Path, seed: int) -> None:
    got = replay(trace, "tiny", seed=seed)
    assert got.blocks_per_cycle == len(got.blocks) / got.cycles
    assert got.cycles == 1 + max(got.launches.end.max(), got.events.tables["answers"]["cycle"][-1])
    finished = got.launches.fate == Fate.FINISHED
    assert 0 < finished.sum() < LAUNCHES
    launches = got.launches
    for n in np.flatnonzero(finished):
        ends = got.blocks.end[got.blocks.launch == n]
        assert launches.latency[n] == launches.end[n] - launches.arrival[n] > launches.cycles[n]
        assert launches.cycles[n] == launches.last_report[n] - launches.first_offer[n]
        starts = got.blocks.start[got.blocks.launch == n]
        assert launches.last_offer[n] == starts.max()
        assert launches.after_last_offer[n] == ends.max() - starts.max()
        # Of one wave all places are taken until the first block ends.
        cycles = np.arange(starts.max(), ends.max())
        running = [int(((starts <= cycle) & (cycle < ends)).sum()) for cycle in cycles]
        lost = sum(int(launches.places[n]) - each for each in running)
        assert launches.sm_time_lost[n] == lost / (launches.places[n] * launches.cycles[n])
    assert np.isnan(launches.sm_time_lost[~finished]).all()
    assert launches.places.max() < launches.blocks.max()
    for column in (launches.latency, launches.cycles, launches.after_last_offer):
        assert set(column[~finished]) == {NEVER}
    # A final record counts up to the cycle in which the last return's books are written: 4 later.
    counted = got.events.tables["ended"]["word2"].astype(int).tolist()
    assert sorted(launches.cycles[finished]) == sorted(cycles - 4 for cycles in counted)
    sizes = capacities(got.config)
    for k, name in enumerate(RESOURCES):
        held = sum(
            int(end - start) * int(launches.takes[n, k])
            for n, start, end in zip(
                got.blocks.launch, got.blocks.start, got.blocks.end, strict=True
            )
        )
        share = held / (got.cycles * got.config.sms * sizes[name])
        assert got.occupancy[name] == pytest.approx(share)
        assert 0 <= share <= 1


def same(one: Replay, other: Replay) -> bool:
    pairs = ((one.launches, other.launches), (one.blocks, other.blocks))
    return (one.stalls, one.cycles, one.config) == (other.stalls, other.cycles, other.config) and (
        all(
            np.array_equal(column, b.columns()[name], equal_nan=column.dtype.kind == "f")
            for a, b in pairs
            for name, column in a.columns().items()
        )
    )


@pytest.mark.thorough
def test_the_rtl_gives_the_same_rows(trace: Path, seed: int) -> None:
    # The hardware of another test's replay, which is one build less.
    fields = {"policy": "first_fit", "sms": 3}
    options: dict[str, Any] = {**fields, "launches": 9, "seed": seed, "time_scale": "1/16"}
    model = replay(trace, "tiny", **options)
    rtl = replay(trace, "tiny", rtl=True, simulator="icarus", **options)
    assert same(model, rtl)
    assert (model.settings.simulator, rtl.settings.simulator) == (None, "icarus")
    assert with_fields(rtl.settings, rtl=False) == model.settings
    assert not same(model, replay(trace, "tiny", **options | {"seed": seed + 1}))


def test_a_configuration_its_fields_or_its_name(trace: Path) -> None:
    config = with_fields(preset("tiny"), policy="first_fit", block_slots=2)
    named = replay(trace, "tiny", policy="first_fit", block_slots=2)
    assert same(named, replay(trace, config))
    assert same(
        named, replay(trace, with_fields(config, policy="least_loaded"), policy="first_fit")
    )
    assert named.config == config
    assert named.blocks.slot.max() == 1
    half = replay(trace, "tiny", time_scale="1/64")
    assert half.settings.time_scale == Fraction(1, 64)
    assert same(half, replay(trace, "tiny", time_scale=1 / 64))


def test_a_difference_is_raised(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = rtl_replay.Outcome({}, ["first mismatch: offers 3"], None)
    monkeypatch.setattr(rtl_replay, "run_one", lambda job: outcome)
    with pytest.raises(MismatchError, match="first mismatch: offers 3") as raised:
        replay(trace, "tiny", rtl=True, simulator="icarus")
    assert raised.value.problems == ("first mismatch: offers 3",)


def test_a_block_without_a_report_has_no_end(trace: Path) -> None:
    events = replay(trace, "tiny").events
    whole = block_columns(events)
    events.tables["reports"] = {name: c[:-1] for name, c in events.tables["reports"].items()}
    cut = block_columns(events)
    assert (cut.end == NEVER).sum() == 1
    assert (cut.end[cut.end != NEVER] == whole.end[cut.end != NEVER]).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda path: replay(path, "huge"),
            "config is 'huge'; legal: tiny, default, large, recorded",
        ),
        (lambda path: replay(path, polcy="x"), "field is 'polcy'; legal: sms, "),
        (lambda path: replay(path, policy="x"), "policy is 'x'; legal: first_fit, "),
        (lambda path: replay(path, sms=0), "sms is 0; legal: 1 to 1024"),
        (lambda path: replay(path, launches=0), "launches is 0; legal: 1 or more"),
        (lambda path: replay(path, launches=True), "launches is True; legal: 1 or more"),
        (lambda path: replay(path, seed=2**32), "seed is 4294967296; legal: 0 to 4294967295"),
        (lambda path: replay(path, seed=1.5), "seed is 1.5; legal: 0 to 4294967295"),
        (lambda path: replay(path, time_scale="0"), "time_scale is '0'; legal: a fraction above"),
        (lambda path: replay(path, time_scale=None), "time_scale is None; legal: a fraction above"),
        (lambda path: replay(path, time_scale=float("inf")), "time_scale is inf; legal: a "),
        (lambda path: replay(path, rtl=True, simulator="vcs"), "simulator is 'vcs'; legal: "),
        (lambda path: replay(path / "none"), "none"),
    ],
)
def test_what_is_refused(trace: Path, call: Callable[[Path], Replay], text: str) -> None:
    with pytest.raises((WarploomError, OSError), match=text.replace("(", r"\(")):
        call(trace)


def test_frames_hold_the_same_columns(trace: Path) -> None:
    run = replay(trace, "tiny", launches=4)
    for table, frame in zip((run.launches, run.blocks), run.to_pandas(), strict=True):
        assert len(frame) == len(table) > 0
        assert [*frame.columns] == [*table.columns()]
        assert all((frame[name] == column).all() for name, column in table.columns().items())
    assert frame.sm.dtype == "int64"


def test_a_frame_needs_pandas(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = replay(trace, "tiny", launches=2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(WarploomError, match="a frame needs the Python package pandas; run: pip"):
        run.to_pandas()


def test_the_name_is_there_at_once_and_numpy_is_not() -> None:
    script = "import sys; from warploom_sim import replay; replay.__name__"
    script += "; assert not {'numpy', 'amaranth'} & {*sys.modules}"
    # The package of the same name does not take the function's place.
    script += "; import warploom_sim.replay.rtl_replay; assert warploom_sim.replay is replay"
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(ImportError, match="nothing"):
        exec("from warploom_sim import nothing")
