"""The page of a comparison read back: its figures are the event model's, and parts add up."""

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tb.sim.views.test_html_report import (
    Page,
    assert_fits_a_narrow_screen,
    assert_needs_no_network,
    number,
)
from tb.support.replays import figures_of
from tb.support.trace_files import random_document, write
from warploom_golden.replay.machine import RELAXATIONS
from warploom_sim import gains, replay
from warploom_sim.replay.analysis.anatomy import Anatomy, KernelTime, anatomy
from warploom_sim.replay.analysis.limits import LABELS, LIMITS
from warploom_sim.replay.replay_gains import label as gain_label
from warploom_sim.replay.replay_gains import said
from warploom_sim.sweep import comparison_page
from warploom_sim.sweep.combinations import by_combination, combine
from warploom_sim.sweep.comparison_page import check_pairs, letter, runs_of_report, write_comparison
from warploom_sim.sweep.execute import execute
from warploom_sim.sweep.plan import plan
from warploom_sim.sweep.result_folder import Row
from warploom_sim.sweep.run_difference import difference_of, in_words
from warploom_sim.views.html_report.page import short_name
from warploom_spec import WarploomError

# One worker, so that Numba compiles for one alone.
pytestmark = [pytest.mark.xdist_group("reports"), pytest.mark.thorough]

SEEDS = (3, 4)
SETTINGS = {"config": "tiny", "contention": "sharing", "knee": 3}


class Written(NamedTuple):
    """A page, what it was made of, and the parts of each combination: first seed, all seeds."""

    text: str
    page: Page
    rows: list[Row]
    parts: list[Anatomy]
    by_seed: list[list[Anatomy]]
    trace: Path

    def over_seeds(self, part: Callable[[Anatomy], int]) -> str:
        """Return the mean difference of two seeds: with one degree of freedom t is a tangent."""
        one, other = (part(b) - part(a) for a, b in zip(*self.by_seed, strict=True))
        half = math.tan(0.475 * math.pi) * abs(one - other) / 2
        return f"{(one + other) / 2:+,.0f} +/-{half:,.0f}"


def made(folder: Path, trace: Path, **given: Sequence[Any]) -> tuple[str, list[Row]]:
    """Return the page of combinations, and their rows."""
    lists = {name: (value,) for name, value in SETTINGS.items()} | {"seed": SEEDS, **given}
    runs = plan((trace,), lists)
    found = {run.run_id: execute(run, trace.read_bytes()).row for run in runs}
    rows = combine(runs, {name: row for name, row in found.items() if row})
    done: list[int] = []
    file = folder / "ab.html"
    write_comparison(file, rows, by_combination(runs), done.append)
    assert sum(done) == runs_of_report(by_combination(runs))
    return file.read_text(), rows


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, seed: int) -> Path:
    return write(tmp_path_factory.mktemp("trace"), random_document(random.Random(seed), 12))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, trace: Path) -> Written:
    """Return the page of two numbers of SMs."""
    text, rows = made(tmp_path_factory.mktemp("page"), trace, settings=("sms=2,3",))
    by_seed = [
        [anatomy(figures_of(replay(trace, sms=sms, seed=seed, **SETTINGS))) for seed in SEEDS]
        for sms in (2, 3)
    ]
    return Written(text, Page(text), rows, [each[0] for each in by_seed], by_seed, trace)


def cells(row: Sequence[str]) -> list[float]:
    return [number(cell) for cell in row]


def test_each_run_has_a_row_with_mean_change_and_verdict(written: Written) -> None:
    _, *shown = written.page.tables["runs"]
    expected = []
    for name, row in zip("AB", written.rows, strict=True):
        half = row["change_plus_minus"]
        change = f"{row['change_percent']:+.2f} +/-{half:.2f}"
        label = f"{row['set']['sms']}"
        expected.append([name, label, f"{row['cycles_mean']:,.0f}", change, row["verdict"]])
    assert [[row[0], row[1].removeprefix("sms "), *row[2:]] for row in shown] == expected
    a, b = (replay(written.trace, sms=sms, seed=4, **SETTINGS).cycles for sms in (2, 3))
    assert [row["cycles"] for row in written.rows] == [
        [written.parts[0].cycles, a],
        [written.parts[1].cycles, b],
    ]
    assert written.page.tables["plain settings_of"][1] == ["sms", "2", "3"]


def blocked_by(name: str) -> Callable[[Anatomy], int]:
    """Return the cycles that a cause blocked the head."""
    return lambda run: run.by_limit[name]


def headed_by(name: str) -> Callable[[Anatomy], int]:
    """Return the cycles in which a kernel was at the head."""
    return lambda run: run.kernels[name].head


def test_causes_are_the_models_and_add_up_to_the_difference(written: Written) -> None:
    a, b = written.parts
    _, *rows, last = written.page.tables["causes"]
    shown = {row[0]: cells(row[1:4]) for row in rows}
    every = [run for runs in written.by_seed for run in runs]
    seen = [name for name in LIMITS if any(run.by_limit[name] for run in every)]
    for name in seen:
        over = written.over_seeds(blocked_by(name))
        assert [row[4] for row in rows if row[0] == LABELS[name]] == [over]
    assert last[4] == written.over_seeds(lambda run: run.cycles)
    assert shown == {
        LABELS[name]: [a.by_limit[name], b.by_limit[name], b.by_limit[name] - a.by_limit[name]]
        for name in seen
    }
    assert cells(last[1:4]) == [a.cycles, b.cycles, b.cycles - a.cycles]
    assert cells(last[1:4]) == [sum(column) for column in zip(*shown.values(), strict=True)]
    sizes = [abs(row[2]) for row in shown.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_kernels_are_the_models_and_add_up_to_the_difference(written: Written) -> None:
    a, b = written.parts
    _, *rows, idle, last = written.page.tables["differing"]
    assert sorted(row[0] for row in rows) == sorted(map(short_name, a.kernels))
    for row in rows:
        (name,) = (name for name in a.kernels if short_name(name) == row[0])
        one, other = a.kernels[name], b.kernels[name]
        assert row[5] == written.over_seeds(headed_by(name))
        assert cells([*row[1:5], *row[6:]]) == [
            other.launches,
            one.head,
            other.head,
            other.head - one.head,
            other.span - one.span,
            *(float(f"{each.mean_block:.0f}") for each in (one, other)),
        ]
    assert cells(idle[2:5]) == [a.idle, b.idle, b.idle - a.idle]
    assert idle[5] == written.over_seeds(lambda run: run.idle)
    assert last[5] == written.over_seeds(lambda run: run.cycles)
    columns = zip(*(cells(row[2:5]) for row in (*rows, idle)), strict=True)
    assert cells(last[2:5]) == [sum(column) for column in columns]
    assert cells(last[2:5]) == [a.cycles, b.cycles, b.cycles - a.cycles]


def test_the_blocks_own_time_is_the_models(written: Written) -> None:
    _, *rows = written.page.tables["own"]
    found = {row[0]: cells(row[1:]) for row in rows}
    for side, one in enumerate(written.parts):
        assert found["blocks"][side] == one.blocks
        assert found["launches refused"][side] == one.refused
        mean = found["cycles of a block, offer to report, on average"][side]
        assert mean == pytest.approx(one.mean_block, abs=0.06)
        assert found["blocks at once, on average"][side] == pytest.approx(one.at_once, abs=6e-4)


def test_gains_are_those_of_each_run_under_its_own_contention(written: Written) -> None:
    sides = []
    for sms in (2, 3):
        given = gains(written.trace, sms=sms, seed=SEEDS[0], **SETTINGS)
        # The page rounds what the data have, with three decimals.
        sides.append({g.name: round(g.fewer_cycles_percent, 3) for g in given if g.knee == 3})
    _, *rows = written.page.tables["gains_of"]
    runs = [run["gains"] for run in written.page.data[0]["runs"]]
    # A run has a set of resources only if it is found under its own contention: under the other
    # one, or in the other run, it may be found all the same.
    known = [{*RELAXATIONS} | {gain["name"] for gain in found} for found in runs]
    assert {row[0]: row[1:] for row in rows} == {
        gain_label(name): [
            f"{said(side[name])} %" if name in own else "-"
            for side, own in zip(sides, known, strict=True)
        ]
        for name in set.union(*known)
    }
    # Under the other contention nothing is found: nobody would see it.
    assert {gain["contention"] for found in runs for gain in found} == {"sharing"}
    assert written.page.text.count(" would help most: ") == 2


def test_words_and_data_have_the_same_figures(written: Written) -> None:
    a, b = written.parts
    text = " ".join(written.page.text.split())
    change = b.cycles - a.cycles
    longer = "more" if change > 0 else "fewer"
    assert f"B takes {abs(change):,} cycles {longer} than A ({abs(change) / a.cycles:.2%})." in text
    assert "Parts below are of seed 3; over all seeds is the mean of the seeds' differences" in text
    (data,) = written.page.data
    assert [row["cycles"] for row in data["runs"]] == [row["cycles"] for row in written.rows]
    (found,) = data["differences"]
    assert found["cycles"] == {"a": a.cycles, "b": b.cycles, "change": change}
    assert sum(one["change"] for one in found["head_blocked"].values()) == change
    assert sum(one["change"] for one in (*found["kernels"], found["no_kernel"])) == change
    over = found["over_seeds"]
    kernels = [*over["kernels"].values(), over["no_kernel"]]
    means = [row["cycles_mean"] for row in written.rows]
    for parts in (kernels, over["head_blocked"].values(), [over["cycles"]]):
        assert sum(one[0] for one in parts) == pytest.approx(means[1] - means[0])


def test_the_page_needs_neither_network_nor_sideways_scroll(written: Written) -> None:
    assert_needs_no_network(written.text)
    assert_fits_a_narrow_screen(written.text)
    assert written.page.charts == ["Cycles of each run, by what blocked the head"]


def test_each_work_has_a_section_and_each_run_a_pair_with_its_first(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels beyond those that are listed are one row; gains that are refused are none."""
    monkeypatch.setattr(comparison_page, "MOST_KERNELS", 2)

    def refused(*_: object) -> None:
        raise WarploomError("too long")

    monkeypatch.setattr(comparison_page.replay_gains, "gains_of", refused)
    policies = ("round_robin", "first_fit", "least_loaded")
    text, rows = made(tmp_path, trace, policy=policies, launches=(5, 9), seed=(1,))
    page = Page(text)
    assert len(page.data) == 2 and len(rows) == 6
    assert [len(one["differences"]) for one in page.data] == [2, 2]
    assert "C beside A" in page.text and "D beside A" not in page.text
    assert page.text.count("One seed does not say whether") == 4
    assert page.text.count("All parts below are of seed 1.") == 2 and "+/-" not in page.text
    assert "gains_of" not in page.tables and "would help most" not in page.text
    sums = [row for row in page.tables["differing"] if row[0].endswith("other kernels")]
    assert sums
    tables = text.split('<table class="differing">')[1:]
    for table, found in zip(
        tables, (d for one in page.data for d in one["differences"]), strict=True
    ):
        _, *listed, last = Page(f'<table class="t">{table.split("</table>")[0]}</table>').tables[
            "t"
        ]
        assert sum(number(row[4]) for row in listed) == number(last[4])
        assert number(last[4]) == found["cycles"]["change"]


def anatomy_of(by_limit: dict[str, int], heads: dict[str, int], blocks: int, time: int) -> Anatomy:
    kernels = {
        name: KernelTime(launches=2, blocks=1, head=head, span=head, block_time=1)
        for name, head in heads.items()
    }
    cycles = sum(by_limit.values())
    return Anatomy(
        cycles=cycles,
        by_limit=dict.fromkeys(LIMITS, 0) | by_limit,
        kernels=kernels,
        idle=cycles - sum(heads.values()),
        blocks=blocks,
        block_time=time,
        refused=0,
    )


def test_sentences_name_what_changed_most() -> None:
    a = anatomy_of(
        {"order": 600, "warps": 300, "rate": 100}, {"gemm": 700, "void f()": 200}, 10, 4000
    )
    b = anatomy_of(
        {"order": 450, "warps": 340, "rate": 104}, {"gemm": 690, "void f()": 100}, 10, 4400
    )
    assert in_words(difference_of(a, b), ("A", "B")) == [
        "B takes 106 cycles fewer than A (10.60%).",
        "Cycles by what blocked the next block: stream order -150, warps +40.",
        "A block runs 10.00% longer on average, and 23.04% more blocks run at once.",
        "The kernel that changes most is f(): -100 cycles in 2 launches.",
    ]
    assert in_words(difference_of(a, a), ("A", "C")) == [
        "C takes as many cycles as A with this seed."
    ]


def test_a_kernel_of_one_run_alone_counts_whole() -> None:
    a = anatomy_of({"order": 600}, {"f": 500}, 5, 5)
    b = anatomy_of({"order": 700}, {"f": 500, "g": 90}, 5, 5)
    found = difference_of(a, b)
    assert [(one.name, one.head_change) for one in found.kernels] == [("g", 90), ("f", 0)]
    assert sum(one.head_change for one in found.kernels) + found.idle.change == found.change == 100


def test_what_cannot_be_paired_is_refused(trace: Path) -> None:
    runs = plan((trace,), {"config": ("tiny",), "launches": (3, 4), "time_scale": (1,)})
    with pytest.raises(WarploomError) as refused:
        check_pairs([run.identity() for run in runs])
    assert str(refused.value) == (
        "--report shows combinations of the same work beside each other: 2 given, no two of the"
        " same trace, time scale, contention and launches; legal: two or more"
    )
    pair = plan((trace,), {"config": ("tiny",), "policy": ("first_fit", "round_robin")})
    check_pairs([run.identity() for run in pair])


def test_letters_go_on_after_z() -> None:
    assert [letter(k) for k in (0, 25, 26, 53)] == ["A", "Z", "A1", "B2"]
