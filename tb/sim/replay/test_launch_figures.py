"""Figures launch by launch: in ``--json``, as CSV, of a preset with fields set."""

import csv
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import random_document, write
from warploom_sim import cli, replay
from warploom_sim.replay import replay_words
from warploom_sim.replay.launch_figures import FIGURES, launch_figures, write_launches_csv
from warploom_sim.replay.request import ReplayRequest

LAUNCHES = 24
FEW = 8
OPTIONS = ("--sim", "icarus", "--config", "tiny")


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    """Return a small trace of which `tiny` refuses some launches."""
    return write(tmp_path, random_document(random.Random(seed), LAUNCHES))


def sim(*arguments: object) -> Result:
    return CliRunner().invoke(cli.main, ["sim", *map(str, arguments)], catch_exceptions=False)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def as_text(value: Any) -> str:
    return "" if value is None else str(value)


def test_json_and_csv_hold_what_python_returns(tmp_path: Path, plain_replay: SharedReplay) -> None:
    written, trace = plain_replay.figures, plain_replay.trace
    rows = launch_figures(replay(trace, "tiny", time_scale="1/32", seed=plain_replay.seed))
    assert rows == written["per_launch"]
    assert [*rows[0]] == [*FIGURES]
    assert len(rows) == written["launches"] == LAUNCHES
    assert sum(row["blocks"] for row in rows) == written["blocks"] > 0
    assert sum(row["history_hit"] for row in rows) == written["history_hits"]
    texts = [
        {"trace": trace.name} | {name: as_text(value) for name, value in row.items()}
        for row in written["per_launch"]
    ]
    assert plain_replay.rows == texts
    # Of several traces the rows stand below each other.
    table = tmp_path / "l.csv"
    write_launches_csv(table, [(trace.name, rows)] * 2)
    assert rows_of(table) == 2 * texts
    # Too many for the table on the screen.
    assert "per launch" not in plain_replay.stdout


def test_a_launchs_figures_follow_from_each_other(trace: Path, seed: int) -> None:
    rows = launch_figures(replay(trace, "tiny", time_scale="1/32", seed=seed))
    refused = [row for row in rows if row["refusal"]]
    assert 0 < len(refused) < LAUNCHES
    for row in refused:
        assert row["refusal"] in ("THREADS", "BLOCK_WARPS", "BLOCK_REGISTERS", "BLOCK_SHARED")
        assert {
            row[name] for name in ("fate", "end", "cycles", "sm_time_lost", "blocks_per_cycle")
        } == {None}
        assert row["blocks"] == 0
    for row in rows:
        if row["refusal"]:
            continue
        assert row["fate"] == "FINISHED"
        assert row["cycles"] == row["last_report"] - row["first_offer"] > 0
        assert row["latency"] == row["end"] - row["arrival"] > row["cycles"]
        assert row["after_last_offer"] == row["last_report"] - row["last_offer"] > 0
        assert 0 <= row["sm_time_lost"] < 1
        assert row["blocks_per_cycle"] == round(row["blocks"] / row["cycles"], 4)


def test_any_name_goes_through_csv(tmp_path: Path) -> None:
    names = ['a,"b"', "line\nline", "kernel<int, \u00e4>", "\ud800"]
    document = random_document(random.Random(1), len(names))
    kernels = [event for event in document["traceEvents"] if event["cat"] == "kernel"]
    for event, name in zip(kernels, names, strict=True):
        event["name"] = name
    rows = launch_figures(replay(write(tmp_path, document), "tiny", time_scale="1/32"))
    table = tmp_path / "l.csv"
    write_launches_csv(table, [("t", rows)])
    assert [row["name"] for row in rows_of(table)] == [*names[:3], "\\ud800"]


@pytest.mark.thorough
def test_set_changes_the_preset(tmp_path: Path) -> None:
    trace, figures = write(tmp_path, random_document(random.Random(1), FEW)), tmp_path / "f.json"
    fields = ("--set", "sms=3", "--set", "policy=first_fit", "--launches", FEW)
    result = sim(trace, *OPTIONS, *fields, "--json", figures)
    assert result.exit_code == 0, result.output
    written = json.loads(figures.read_text())
    options = {"time_scale": "1/32", "policy": "first_fit", "launches": FEW}
    run = replay(trace, "tiny", sms=3, **options)
    assert (written["cycles"], written["policy"]) == (run.cycles, "first_fit")
    assert written["cycles"] != replay(trace, "tiny", **options).cycles
    assert (written["config"], written["set"]) == ("tiny", ["sms=3", "policy=first_fit"])
    assert "sms=3" in result.stdout
    # The command that repeats a replay names the fields.
    request = ReplayRequest(traces=(trace,), config="tiny", settings=("sms=3",))
    assert "--set sms=3" in replay_words.command(request)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (("--set", "sms=0"), "sms is 0; legal: 1 to 256"),
        (("--set", "sections=1"), "loop_sections is 2; legal: 1 to 1 (sections)"),
        (("--set", "sm=4"), "field is 'sm'; legal: sms, "),
        (("--set", "sms"), "setting is 'sms'; legal: FIELD=VALUE, such as sms=4"),
        (("--set", "policy=first_fit", "--policy", "first_fit"), "policy is set twice"),
    ],
)
def test_wrong_fields_are_refused(
    tmp_path: Path, trace: Path, fields: tuple[str, ...], text: str
) -> None:
    table = tmp_path / "l.csv"
    result = sim(trace, *OPTIONS, *fields, "--launches-csv", table)
    assert (result.exit_code, result.stdout, table.exists()) == (2, "", False)
    assert result.stderr.startswith(f"Error: {text}")
    assert result.stderr.count("\n") == 1


def test_one_file_is_not_written_twice(tmp_path: Path, trace: Path) -> None:
    file = tmp_path / "both"
    result = sim(trace, *OPTIONS, "--json", file, "--launches-csv", file)
    assert (result.exit_code, file.exists()) == (2, False)
    assert "'--launches-csv'" in result.stderr


@pytest.mark.thorough
def test_a_run_that_differs_writes_no_csv(tmp_path: Path, trace: Path) -> None:
    figures, table = tmp_path / "f.json", tmp_path / "l.csv"
    options = ("--json", figures, "--launches-csv", table, "--launches", FEW)
    options = (*options, "--forced-fault", "event.offers.0.64")
    result = sim(trace, *OPTIONS, *options)
    assert (result.exit_code, table.exists()) == (1, False)
    assert f"{table} not written: RTL and model differ" in result.stdout.replace("\n", "")
    written = json.loads(figures.read_text())
    assert written["per_launch"] == []
    shutil.rmtree(written["event_files"])
