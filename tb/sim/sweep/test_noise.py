"""Rows of several seeds: mean, spread, what cannot be told apart, in table, plot, JSON and CSV."""

import csv
import io
import json
import random
import statistics
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from tb.support.trace_files import document, random_document, write
from warploom_sim import cli, replay
from warploom_sim.screen import PlainConsole
from warploom_sim.sweep import comparison
from warploom_sim.sweep.combinations import as_json, combine, write_csv
from warploom_sim.sweep.execute import Finished
from warploom_sim.sweep.noise import difference, student
from warploom_sim.sweep.plan import Run, plan
from warploom_sim.sweep.plot import draw_comparison
from warploom_sim.sweep.result_folder import Row
from warploom_sim.sweep.run_figures import GROUPS
from warploom_sim.sweep.table import show_comparison, verdicts

#: Of Student's t with so many degrees of freedom the 97.5 % quantile, from printed tables.
QUANTILES = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 30: 2.042}
#: Jitter of five seeds, common to all settings: far more than the settings differ by.
JITTER = (0, 20_000, -15_000, 7_000, -2_000)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path, document())


def row_of(run: Run, cycles: int) -> Row:
    figures: Row = {"launches": 3, "refused": 0, "killed": 0, "blocks": 70, "cycles": cycles}
    figures |= {"blocks_per_cycle": 0.5, "rate_by_time_scale": 0.0, "error_percent": 1.5}
    groups = {group: dict.fromkeys(names, 0.25) for group, names in GROUPS.items()}
    return run.identity() | figures | groups | {"history_hits": 1, "wall_s": 0.5}


def combined(trace: Path, cycles: dict[str, Sequence[int]], **given: Any) -> list[Row]:
    """Return the rows of policies whose cycles, seed by seed, are given."""
    seeds = tuple(range(1, len(next(iter(cycles.values()))) + 1))
    runs = plan((trace,), {"policy": tuple(cycles), "seed": seeds, **given})
    found = {run.run_id: cycles[run.config.policy][run.request.seed - 1] for run in runs}
    return combine(runs, {run.run_id: row_of(run, found[run.run_id]) for run in runs})


def jittered(mean: int, *own: int) -> list[int]:
    return [mean + common + each for common, each in zip(JITTER, own or [0] * 5, strict=True)]


def test_the_quantile_of_student_is_the_tables() -> None:
    assert {n: round(student(n), 3) for n in QUANTILES} == QUANTILES


def test_the_interval_holds_the_true_difference_as_often_as_it_says() -> None:
    """95 of 100 draws of 5 seeds; with twice the standard error it would be 88."""
    rng = np.random.default_rng(1)
    held, draws = 0, 2000
    for _ in range(draws):
        common = rng.normal(0, 20_000, 5)
        one, other = (common + 1_000_000 + rng.normal(extra, 300, 5) for extra in (2_000, 0))
        found = difference(one.tolist(), other.tolist())
        assert found.plus_minus is not None
        held += abs(found.percent - 0.2) < found.plus_minus
    assert 0.93 < held / draws < 0.97


def test_a_difference_is_taken_seed_by_seed() -> None:
    slower = [2_000 + cycles for cycles in jittered(1_000_000, 30, -40, 10, -20, 20)]
    found = difference(slower, jittered(1_000_000))
    assert found.told_apart
    assert (round(found.percent, 3), found.plus_minus) == (0.2, pytest.approx(0.0036, abs=2e-4))
    # Without the pairs the jitter hides it.
    assert statistics.stdev(slower) > 5 * 2_000
    assert not difference(slower[1:] + slower[:1], jittered(1_000_000)).told_apart


@pytest.mark.parametrize(
    ("extra", "own", "apart"),
    [
        (13, (0, 0, 0, 0, 0), False),  # 13 of a million cycles, whatever the spread
        (999, (0, 0, 0, 0, 0), False),
        (1_003, (0, 0, 0, 0, 0), True),
        (-1_003, (0, 0, 0, 0, 0), True),
        (3_000, (-3_000, 4_000, -4_000, 2_000, 1_000), False),  # once the other way round
    ],
)
def test_what_is_too_small_or_too_uneven_is_not_told_apart(
    extra: int, own: tuple[int, ...], apart: bool
) -> None:
    others = jittered(1_000_000)
    found = difference([o + extra + e for o, e in zip(others, own, strict=True)], others)
    assert found.told_apart is apart


def test_one_row_for_each_combination(trace: Path) -> None:
    cycles = {"first_fit": jittered(1_000_000), "least_loaded": jittered(900_000)}
    rows = [as_json(row, 7.5) for row in combined(trace, cycles)]
    assert [row["policy"] for row in rows] == ["first_fit", "least_loaded"]
    for row in rows:
        own = cycles[row["policy"]]
        assert (row["seeds"], row["cycles"]) == ([1, 2, 3, 4, 5], own)
        assert row["cycles_mean"] == statistics.mean(own)
        assert row["cycles_sd"] == round(statistics.stdev(own), 1)
        assert (row["time_scale"], row["wall_s"], "seed" in row) == (1, 2.5, False)
        assert row["runs_per_minute"] == 7.5
    assert [row["change_percent"] for row in rows] == [0, pytest.approx(-9.98, abs=0.01)]
    assert [row["told_apart_from_first"] for row in rows] == [False, True]
    assert [row["verdict"] for row in rows] == ["slower", "quickest"]
    (half, _) = combined(trace, cycles, time_scale=("1/32",))
    assert as_json(half, None)["time_scale"] == 1 / 32


def test_the_quickest_is_named_only_if_it_is_told_apart(trace: Path) -> None:
    cycles = {
        "round_robin": jittered(1_000_000),
        "first_fit": jittered(1_000_013),
        "least_loaded": jittered(1_100_000),
    }
    rows = combined(trace, cycles)
    assert [row["verdict"] for row in rows] == [
        "cannot be told apart",
        "cannot be told apart",
        "slower",
    ]
    assert verdicts(rows) == [
        "trace: cannot be told apart: round_robin; first_fit; 1 takes longer than round_robin"
    ]
    alone = combined(trace, {name: cycles[name] for name in ("round_robin", "least_loaded")})
    assert verdicts(alone) == ["trace: the quickest is round_robin"]


def test_what_the_sentence_names_is_true_for_each_pair(trace: Path) -> None:
    """Each is as good as the fewest cycles within its own spread; two of them are told apart."""
    spread = (6_000, -6_000, 9_000, -7_000, -2_000)
    cycles = {
        "round_robin": jittered(1_002_000, *spread),
        "first_fit": jittered(1_005_000, *spread),
        "least_loaded": jittered(1_000_000),
        "freed_first": jittered(1_020_000),
    }
    rows = combined(trace, cycles)
    assert [row["verdict"] for row in rows] == [*["cannot be told apart"] * 3, "slower"]
    # The column compares with the first combination.
    assert [row["told_apart_from_first"] for row in rows] == [False, True, False, True]
    assert verdicts(rows) == [
        "trace: the fewest cycles has least_loaded; not told apart from it: round_robin;"
        " first_fit; 1 takes longer than least_loaded"
    ]


def test_another_contention_is_another_work(trace: Path) -> None:
    """Its runs are held against each other, not against those without."""
    cycles = {"round_robin": jittered(1_000_000), "first_fit": jittered(1_000_013)}
    rows = combined(trace, cycles, contention=("none", "sharing"))
    assert [row["change_percent"] for row in rows] == [0, 0.0013, 0, 0.0013]
    assert verdicts(rows) == [
        "trace, contention none: cannot be told apart: round_robin; first_fit",
        "trace, contention sharing: cannot be told apart: round_robin; first_fit",
    ]


def test_one_seed_names_none(trace: Path) -> None:
    rows = combined(trace, {"round_robin": [1_000_000], "first_fit": [2_000_000]})
    assert {row["verdict"] for row in rows} == {"one seed: unknown"}
    assert [row["cycles_sd"] for row in rows] == [None, None]
    assert verdicts(rows) == ["trace: one seed does not say which is quicker; --seeds 5 does"]
    (row,) = combined(trace, {"round_robin": jittered(1_000_000)})
    assert (row["verdict"], verdicts([row])) == ("nothing to compare", [])


def many(trace: Path) -> list[Row]:
    """Return 24 combinations, whose cycles are far apart."""
    policies = ("round_robin", "first_fit", "least_loaded", "freed_first")
    runs = plan(
        (trace,),
        {"policy": policies, "settings": ("sms=2,4,8,16,64,256",), "seed": (1, 2)},
    )
    rows = {run.run_id: row_of(run, 10**9 // run.config.sms**2) for run in runs}
    found = combine(runs, rows)
    assert len(found) == 24
    return found


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_the_table_fits_the_terminal(
    trace: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """And `COLUMNS` bounds a pipe, too; the cycles stand in a table of any width."""
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Console(file=io.StringIO(), force_terminal=True, color_system=None)
    for console in (PlainConsole(file=io.StringIO()), screen):
        with console.capture() as capture:
            show_comparison(console, many(trace))
        text = capture.get()
        assert max(len(line) for line in text.splitlines()) <= columns
        assert "250,000,000" in text and "least_loaded" in text
        assert ("too wide for" in text) is (columns < 200)


def test_a_pipe_takes_any_width(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    console = PlainConsole(file=io.StringIO(), width=60)
    with console.capture() as capture:
        show_comparison(console, many(trace))
    assert "too wide" not in capture.get()
    assert "(main causes)" in capture.get()


def test_labels_of_the_plot_do_not_print_over_each_other(trace: Path) -> None:
    """24 combinations, of which some bars are far shorter than their numbers."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw_comparison(many(trace))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    bars, *_ = figure.axes
    inside = bars.get_window_extent(renderer)
    boxes = [label.get_window_extent(renderer) for label in bars.get_yticklabels()]
    assert len(boxes) == len(bars.texts) == 24
    for text in bars.texts:
        box = text.get_window_extent(renderer)
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1
        boxes.append(box)
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    boxes += [legend.get_window_extent(renderer) for legend in legends]
    boxes += [axes.title.get_window_extent(renderer) for axes in figure.axes]
    boxes += [
        label.get_window_extent(renderer)
        for axes in figure.axes[:3]
        for label in axes.get_xticklabels()
        if axes.get_xlim()[0] <= label.get_position()[0] <= axes.get_xlim()[1]
    ]
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])


def test_the_csv_has_all_figures(tmp_path: Path, trace: Path) -> None:
    rows = many(trace)
    write_csv(tmp_path / "a.csv", [as_json(row, None) for row in rows])
    lines = [*csv.DictReader((tmp_path / "a.csv").read_text().splitlines())]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert line["cycles"] == " ".join(map(str, row["cycles"]))
        assert (line["seeds"], line["time_scale"], line["verdict"]) == ("1 2", "1", row["verdict"])
        assert float(line["latency_p95"]) == row["latency"]["p95"]
        assert line["set"] == f"sms={row['set']['sms']}"


def test_the_command_runs_five_seeds(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And takes none of a run's figures from another seed: each list is the replays'."""
    trace = write(tmp_path, random_document(random.Random(seed), 10))
    monkeypatch.chdir(tmp_path)
    ran: list[int] = []

    def run_missing(job: comparison.Job, *_: object) -> None:
        for run in reversed(job.missing):
            ran.append(run.request.seed)
            result = replay(trace, "tiny", policy=run.config.policy, seed=run.request.seed)
            job.rows[run.run_id] = row_of(run, result.cycles)
            job.results.write(run, job.rows[run.run_id])

    monkeypatch.setattr(comparison, "run_missing", run_missing)
    words = [str(trace), "--config", "tiny", "--policy", "first_fit,round_robin", "--json", "j"]
    done = CliRunner().invoke(cli.main, ["compare", *words, "--csv", "c"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "j").read_text())
    assert [row["seeds"] for row in rows] == [[1, 2, 3, 4, 5]] * 2
    for row in rows:
        runs = [replay(trace, "tiny", policy=row["policy"], seed=n).cycles for n in row["seeds"]]
        assert row["cycles"] == runs
    assert (tmp_path / "c").read_text().count("\n") == 3
    # More seeds run the new ones alone; a list is a group, in the order that was asked for.
    more = CliRunner().invoke(cli.main, ["compare", *words, "--seed", "9,2"])
    assert more.exit_code == 0
    assert sorted(ran) == sorted([1, 2, 3, 4, 5, 9] * 2)
    assert json.loads((tmp_path / "j").read_text())[0]["seeds"] == [9, 2]


def test_a_comparison_that_is_broken_off_says_what_is_kept(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def finished(_: object, runs: Sequence[Run], sources: str) -> Any:
        for run in runs[:2]:
            yield run, Finished(row_of(run, 100), sources)
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "connect", lambda *_: nullcontext())
    monkeypatch.setattr(comparison, "finished_runs", finished)
    done = CliRunner().invoke(cli.main, ["compare", str(trace), "--config", "tiny"])
    assert done.exit_code == 130
    kept = "2 of 5 runs are kept in build/compare: the same command goes on from there"
    assert done.stderr.splitlines()[-1] == f"Interrupted; {kept}", done.stderr
    assert len([*(tmp_path / "build" / "compare").iterdir()]) == 2
