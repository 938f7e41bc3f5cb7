"""Replayed times beside the recorded ones: of each launch, of the whole, in every place."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tb.support.trace_files import call, document, kernel, random_document, write
from warploom_sim import cli, replay
from warploom_sim.replay.launch_figures import launch_figures
from warploom_sim.replay.recorded_times import busy, recorded_times, times_in_words
from warploom_sim.sweep.run_figures import run_figures

#: Cycles of a recorded microsecond, as the page of the replay has it.
CLOCK_MHZ = 1980


def two_kernels(folder: Path) -> Path:
    """Return a trace of two streams: 5 us from 1,000 us on, and 3 us from 1,004 us on."""
    content = document()
    second = kernel(2, ts=1004.0, stream=8) | {"dur": 3.0}
    content["traceEvents"] = [call(1, 10.0), call(2, 20.0), kernel(1), second]
    return write(folder, content)


@pytest.mark.parametrize("scale", ["1", "1/2", "3"])
def test_a_launchs_error_is_its_cycles_beside_its_recorded_time(tmp_path: Path, scale: str) -> None:
    """At any time scale the times are those of the recorded lengths."""
    run = replay(two_kernels(tmp_path), "recorded", time_scale=scale)
    rows = launch_figures(run)
    assert [row["recorded_us"] for row in rows] == [5.0, 3.0]
    for row in rows:
        replayed = row["cycles"] / CLOCK_MHZ / eval(scale)
        assert row["replayed_us"] == round(replayed, 3)
        assert row["error_percent"] == pytest.approx(
            100 * (replayed / row["recorded_us"] - 1), abs=0.006
        )
        # One wave of blocks, each within an eighth of the recorded time.
        assert -13 < row["error_percent"] < 14


def test_of_the_whole_gaps_and_overlaps_do_not_count(tmp_path: Path) -> None:
    run = replay(two_kernels(tmp_path), "recorded")
    times = recorded_times(run.launches)
    # From 1,000 to 1,007 us.
    assert times["recorded_us"] == 7.0
    first, second = (
        range(int(a), int(b))
        for a, b in zip(run.launches.first_offer, run.launches.last_report, strict=True)
    )
    replayed = len({*first, *second}) / CLOCK_MHZ
    assert times["replayed_us"] == round(replayed, 3)
    assert times["error_percent"] == pytest.approx(100 * (replayed / 7 - 1), abs=0.006)
    each = np.abs(run.launches.error)
    assert times["launch_error_percent"] == pytest.approx(100 * each.mean(), abs=0.006)


@pytest.mark.parametrize("seed", range(20))
def test_busy_time_is_that_of_every_point(seed: int) -> None:
    rng = random.Random(seed)
    stretches = [(rng.randrange(60), rng.randrange(9)) for _ in range(rng.randrange(1, 15))]
    points = {point for start, length in stretches for point in range(start, start + length)}
    starts, lengths = (np.array(column, float) for column in zip(*stretches, strict=True))
    assert busy(starts, lengths) == len(points)


def test_without_a_finished_launch_no_error_is_made_up(tmp_path: Path) -> None:
    content = document()
    for event in content["traceEvents"][2:]:
        event["args"]["grid"] = [0, 1, 1]
    run = replay(write(tmp_path, content), "recorded")
    assert recorded_times(run.launches) == {
        "recorded_us": 0.0,
        "replayed_us": 0.0,
        "error_percent": None,
        "launch_error_percent": None,
    }
    names = ("recorded_us", "replayed_us", "error_percent")
    assert {tuple(row[name] for name in names) for row in launch_figures(run)} == {
        (5.0, None, None)
    }
    assert run_figures(run)["error_percent"] is None


def test_a_launch_that_took_no_time_has_no_error(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"][2]["dur"] = 0
    rows = launch_figures(replay(write(tmp_path, content), "recorded"))
    assert [row["error_percent"] is None for row in rows] == [True, False]


@pytest.mark.thorough
def test_table_json_csv_and_report_have_the_times(tmp_path: Path) -> None:
    content = random_document(random.Random(5), 6)
    content["deviceProperties"][0]["numSms"] = 2
    path = write(tmp_path, content)
    names = {"json": "f.json", "launches-csv": "f.csv", "report": "f.html"}
    files = {name: tmp_path / file for name, file in names.items()}
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    command = ["sim", str(path), "--config", "recorded", "--sim", "icarus", *options]
    done = CliRunner().invoke(cli.main, command)
    assert done.exit_code == 0, done.output
    run = replay(path, "recorded", time_scale="1/32")
    times = recorded_times(run.launches)
    figures = json.loads(files["json"].read_text())
    # The RTL was built as the recorded GPU is.
    assert (figures["config"], figures["verdict"], run.config.sms) == ("recorded", "equal", 2)
    assert figures["cycles"] == run.cycles
    assert figures["recorded"] == times
    per_launch: list[dict[str, Any]] = figures["per_launch"]
    assert per_launch == launch_figures(run)
    with files["launches-csv"].open() as lines:
        for row, launch in zip(csv.DictReader(lines), per_launch, strict=True):
            for name in ("recorded_us", "replayed_us", "error_percent"):
                assert float(row[name]) == launch[name]
    said = times_in_words(times)
    assert len(said) == 3 and all(line in done.stdout for line in said)
    report = files["report"].read_text()
    assert "Time beside the recorded one" in report
    assert "; ".join(said).capitalize() in report
    for launch in run.launches.name:
        assert str(launch) in report
    assert report.count("%</td></tr>") >= len(run.launches)


def test_a_comparison_has_the_times(tmp_path: Path) -> None:
    run = replay(two_kernels(tmp_path), "recorded")
    figures = run_figures(run)
    assert {name: figures[name] for name in recorded_times(run.launches)} == recorded_times(
        run.launches
    )
