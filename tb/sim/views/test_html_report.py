"""The report read back: its figures are the run's, it needs no network, it is small."""

import html
import json
import random
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import random_document, write
from tb.support.whole_replays import find_limits
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import Events, Piece
from warploom_golden.replay.machine import together
from warploom_sim import cli, replay
from warploom_sim.replay.analysis.limits import LABELS
from warploom_sim.replay.analysis.overview import overview
from warploom_sim.replay.replay_events import ReplayEvents
from warploom_sim.replay.replay_gains import label as gain_label
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.views.html_report.page import Run, short_name, write_report
from warploom_sim.views.replay_views import recorded_lengths
from warploom_spec import RESOURCES

# One worker, so that Numba compiles for one alone.
pytestmark = pytest.mark.xdist_group("reports")

ROOT = Path(__file__).parents[3]
RESNET = ROOT / "traces" / "resnet50_infer.json.gz"


class Page(HTMLParser):
    """What a browser would find: tables by class, marked cells, scripts, and what is fetched."""

    VOID = ("meta", "link", "br", "img", "path", "rect", "use", "image", "circle", "line")

    def __init__(self, text: str):
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.figures: dict[str, str] = {}
        self.limits: dict[str, str] = {}
        self.data: list[Any] = []
        self.fetched: list[str] = []
        self.charts: list[str] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.target: tuple[str, str] | None = None
        self.json = False
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag not in self.VOID:
            self.open.append(tag)
        self.fetched += [
            known[n]
            for n in ("src", "href", "xlink:href", "data")
            if known.get(n, "")[:1] not in "#"
        ]
        if tag == "table":
            self.rows = self.tables.setdefault(known.get("class", ""), [])
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "svg":
            self.charts.append(known["aria-label"])
        self.json = tag == "script" and known.get("type") == "application/json"
        for kind in ("data-figure", "data-limit"):
            if kind in known:
                self.target = kind, known[kind]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag
        if tag in ("td", "dd"):
            self.target = None
        self.json = False

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.json:
            self.data.append(json.loads(data))
        self.text += data
        if self.open and self.open[-1] in ("td", "th") and self.rows:
            self.rows[-1][-1] += data.strip()
        if self.target:
            kind, name = self.target
            found = self.figures if kind == "data-figure" else self.limits
            found[name] = found.get(name, "") + data.strip()


def number(text: str) -> float:
    return float(text.replace(",", "").removesuffix("%"))


@pytest.fixture(scope="module")
def trace(plain_replay: SharedReplay) -> Path:
    """Return a small trace: three streams, many shapes, some of which `tiny` refuses."""
    return plain_replay.trace


def sim(*arguments: object) -> Any:
    return CliRunner().invoke(cli.main, ["sim", *map(str, arguments)])


@pytest.fixture(scope="module")
def read(plain_replay: SharedReplay) -> tuple[Page, dict[str, Any]]:
    """Return a report that the command wrote, read back, and the figures in JSON."""
    assert f"report: {plain_replay.report}" in plain_replay.stdout
    return Page(plain_replay.report.read_text()), plain_replay.figures


def test_the_figures_are_the_runs(read: tuple[Page, dict[str, Any]]) -> None:
    page, figures = read
    shown = page.figures
    assert number(shown["cycles"]) == figures["cycles"]
    assert number(shown["blocks"]) == figures["blocks"]
    assert number(shown["history_hits"]) == figures["history_hits"]
    assert number(shown["blocks_per_cycle"]) == pytest.approx(figures["blocks_per_cycle"], abs=6e-4)
    assert shown["occupancy.warps"] == f"{figures['occupancy']['warps']:.1%}"
    held = {name: share for name, share in figures["head_blocked"].items() if share}
    assert held.keys() <= page.limits.keys()
    assert sum(number(cycles) for cycles in page.limits.values()) == figures["cycles"]
    for name, share in held.items():
        assert number(page.limits[name]) / figures["cycles"] == pytest.approx(share, abs=6e-5)
    for row in page.tables["limits"][1:]:
        assert row[0] in LABELS.values()
    assert "--config tiny" in page.text and f"--seed {figures['seed']}" in page.text


def test_the_first_line_says_what_a_time_scale_below_1_does(
    read: tuple[Page, dict[str, Any]],
) -> None:
    """In report and JSON; gains are at the recorded lengths whatever the scale is."""
    page, figures = read
    said = "blocks last 1/32 of their recorded time: throughput, what more SMs gain and how often"
    assert next(iter(figures)) == "caution" and figures["caution"].startswith(said)
    assert page.text.index(said) < page.text.index("Replayed on")


def test_what_was_left_out_stands_in_the_report(
    tmp_path: Path, read: tuple[Page, dict[str, Any]], trace: Path
) -> None:
    page, figures = read
    assert "Not replayed" not in page.text
    run = replay(trace, "tiny")
    more = figures | {"left_out": 3, "event_waits_ignored": 1072}
    write_report(tmp_path / "r.html", [Run(replay=run, figures=more, command="warploom sim")])
    text = " ".join(Page((tmp_path / "r.html").read_text()).text.split())
    assert "Not replayed: 3 kernels without a launch call, 1,072 event waits." in text


def test_the_largest_gain_is_the_advice(read: tuple[Page, dict[str, Any]]) -> None:
    page, figures = read
    _, *rows = page.tables["gains"]
    percents: dict[str, list[float]] = {}
    for gain in figures["gains"]:
        percents.setdefault(gain["name"], []).append(gain["fewer_cycles_percent"])
    assert {row[0]: row[1:3] for row in rows} == {
        gain_label(name): [f"{round(percent, 1) + 0.0:.1f} %" for percent in pair]
        for name, pair in percents.items()
    }
    assert rows[0][0] == gain_label(max(percents, key=lambda name: max(percents[name])))
    changes = percents.keys() - {together(RESOURCES)}
    best = max(changes, key=lambda name: max(percents[name]))
    assert f"{gain_label(best)[1:]} would help most" in page.text
    assert page.data[0]["gains"] == figures["gains"]


def test_charts_and_tables_are_the_runs(
    read: tuple[Page, dict[str, Any]], trace: Path, seed: int
) -> None:
    page, figures = read
    run = replay(trace, "tiny", time_scale="1/32", seed=seed)
    limits, whole, data = find_limits(run), overview(run), page.data[0]
    found, listed = whole.over_time, whole.kernels
    assert (data["cycles"], data["blocks"]) == (figures["cycles"], figures["blocks"])
    assert data["head_blocked"] == limits.by_limit()
    assert data["resources_lacked"] == dict(zip(RESOURCES, limits.lacked.tolist(), strict=True))
    for cause, _, _, lacking, *_ in page.tables["limits"][1:]:
        if lacking:
            name = next(name for name in RESOURCES if LABELS[name] == cause)
            assert lacking == f"{data['resources_lacked'][name] / run.cycles:.1%}"
    assert data["edges"] == found.edges.tolist()
    for name, values in found.occupancy.items():
        assert data["occupancy"][name] == pytest.approx(values, abs=1e-4)
    for name, values in found.limits.items():
        assert data["head_blocked_over_time"][name] == pytest.approx(values, abs=1e-4)
    for stream, values in found.waiting.items():
        assert data["waiting"][str(stream)] == pytest.approx(values, abs=1e-4)
    head, *rows = page.tables["sortable kernels"]
    assert len(head) == 14 and len(rows) == len(listed) > 1
    for row, kernel in zip(rows, listed, strict=True):
        assert row[:2] == [f"K{kernel.number}", short_name(kernel.name)]
        expected = (kernel.launches, kernel.blocks, kernel.threads, kernel.cycles)
        assert tuple(map(number, row[2:6])) == expected
        shares = [f"{kernel.theoretical:.1%}", f"{kernel.achieved:.1%}"]
        assert row[8:10] == shares
        assert row[10] == ", ".join(LABELS[name] for name in kernel.limited_by)
        assert number(row[7]) == pytest.approx(kernel.waves, abs=6e-3)
        assert number(row[13]) == kernel.hits
        assert row[11] == f"{kernel.sm_time_lost:.1%}"
        assert number(row[12]) == pytest.approx(kernel.after_last_offer, abs=0.6)
    _, *rows = page.tables["sortable times"]
    assert len(rows) == len(listed)
    for row, kernel in zip(rows, listed, strict=True):
        launched = [figures["per_launch"][number] for number in kernel.rows]
        recorded, replayed = (
            sum(launch[name] for launch in launched) for name in ("recorded_us", "replayed_us")
        )
        assert [number(cell) for cell in row[2:4]] == pytest.approx([recorded, replayed], abs=0.06)
        ratio = replayed / recorded
        # The row is rounded to a tenth, each launch's times in JSON to a nanosecond.
        slack = 0.06 + 100 * 0.0005 * len(launched) * (1 + ratio) / recorded
        assert number(row[4]) == pytest.approx(100 * (ratio - 1), abs=slack)
    by_number = {launch["launch"]: launch for launch in figures["per_launch"]}
    shown = [(by_number[number(row[0])], row) for row in page.tables["lost"][1:]]
    for launch, row in shown:
        assert number(row[4]) == launch["after_last_offer"]
        assert number(row[5]) == pytest.approx(100 * launch["sm_time_lost"], abs=0.06)
    ended = sum(launch["sm_time_lost"] is not None for launch in figures["per_launch"])
    assert len(shown) == min(12, ended)


def test_the_page_has_every_part(read: tuple[Page, dict[str, Any]]) -> None:
    page, _ = read
    assert Counter(page.charts) == Counter(
        (
            "What blocked the head, over time",
            "Occupancy by resource, over time",
            "Blocks a cycle, over time",
            "Launches that wait, by stream, over time",
            "Kernels that held up the next launch, over time",
            "Launches by length",
        )
    )


def test_the_page_needs_no_network(tmp_path: Path, trace: Path) -> None:
    file = tmp_path / "r.html"
    run = replay(trace, "tiny", time_scale="1/32")
    write_report(file, [Run(replay=run, figures=plain(run), command="warploom sim")])
    assert_needs_no_network(file.read_text())


def assert_needs_no_network(text: str) -> None:
    """Demand that a page fetches nothing."""
    # Pictures inside the page begin with data:.
    assert all(there.startswith("data:") for there in Page(text).fetched)
    assert not re.search(r"@import|url\((?!#)|<link|<iframe|fetch\(|XMLHttp|<script[^>]*src", text)
    addresses = set(re.findall(r"https?://[^\"'\s<)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


#: Most columns of a table that a narrow screen shows as it is.
NARROW_COLUMNS = 5
#: Pixels that a window of 600 leaves to the page's content, and the least height of a letter.
NARROW, LETTER = 568, 8


def assert_fits_a_narrow_screen(text: str) -> None:
    """Demand what keeps a page of 600 pixels from needing a sideways scroll.

    Nothing scrolls inside; rows of wide tables are cards, each figure with its heading; charts
    shrink to the screen, and their letters stay readable.
    """
    style = text.split("<style>")[1].split("</style>")[0]
    assert "overflow-x" not in style and "scroll" not in re.sub(r"/\*.*?\*/", "", style)
    cards = style.split("@media screen and (max-width: 50rem) {")[1]
    assert "display: grid" in cards and ".wide td.name { display: block;" in cards
    tables = re.findall(r'(<div class="wide">)?<table class="([^"]*)">(.*?)</table>', text, re.S)
    assert len(tables) == text.count("<table")
    for wide, classes, content in tables:
        heads = [
            html.unescape(head)
            for head in re.findall(r"<th(?: [^>]*)?>(.*?)</th>", content.split("<tbody>")[0])
        ]
        assert wide or len(heads) <= NARROW_COLUMNS, classes
        for number, head in enumerate(heads, 1):
            rule = f'.{classes.split()[-1]} td:nth-child({number})::before {{ content: "{head}"; }}'
            assert not wide or head in ("", "kernel", "run") or rule in cards, (classes, head)
    for chart in re.findall(r"<svg .*?</svg>", text, re.S):
        width = float(chart.split('viewBox="')[1].split()[2])
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", chart)]
        assert min(sizes) * NARROW / width >= LETTER


def test_the_page_needs_no_sideways_scroll(tmp_path: Path, trace: Path) -> None:
    file = tmp_path / "r.html"
    run = replay(trace, "tiny", time_scale="1/32")
    write_report(file, [Run(replay=run, figures=plain(run), command="warploom sim")])
    text = file.read_text()
    assert_fits_a_narrow_screen(text)
    for old, new in (
        ("figure {", "figure { overflow-x: auto;"),
        ('<div class="wide">', "<div>"),
        ('{ content: "waves"; }', ""),
        ('viewBox="0 0 540', 'viewBox="0 0 720'),
    ):
        assert old in text
        with pytest.raises(AssertionError):
            assert_fits_a_narrow_screen(text.replace(old, new))


def plain(run: Any) -> dict[str, Any]:
    """Return figures as the command has them."""
    return {
        "trace": "<b>made & up</b>.json",
        "config": "tiny",
        "policy": run.config.policy,
        "reclaim": run.config.reclaim,
        "time_scale": str(run.settings.time_scale),
        "seed": 1,
        "simulator": "verilator",
        "compared_events": 1,
        "mismatches": 0,
        "cycles": run.cycles,
        "blocks": int(run.launches.blocks.sum()),
        "launches": len(run.launches),
        "refused": {},
        "blocks_per_cycle": run.blocks_per_cycle,
        "occupancy": run.occupancy,
        "stalls": run.stalls,
    }


def test_a_kernels_name_may_hold_anything(tmp_path: Path) -> None:
    document = random_document(random.Random(3), 6)
    evil = '</script><script>alert("1")</script><img src=x onerror=y>&amp;'
    for event in document["traceEvents"]:
        if event.get("cat") == "kernel":
            event["name"] = evil
    run = replay(write(tmp_path, document), "tiny", time_scale="1/32")
    file = tmp_path / "r.html"
    write_report(file, [Run(replay=run, figures=plain(run), command=f"warploom sim {evil}")])
    text = file.read_text()
    page = Page(text)
    assert "<img" not in text and "<script>alert" not in text
    assert page.data[0]["kernels"][0]["name"] == evil
    assert "<b>made & up</b>.json" in page.text


def test_half_a_character_is_written_as_its_escape(tmp_path: Path) -> None:
    run = replay(write(tmp_path, random_document(random.Random(3), 2)), "tiny", time_scale="1/32")
    file = tmp_path / "r.html"
    write_report(file, [Run(replay=run, figures=plain(run), command="warploom sim \ud800")])
    assert "warploom sim \\ud800" in file.read_text()


@pytest.mark.thorough
def test_450_000_blocks_stay_small_and_quick_to_open(tmp_path: Path) -> None:
    run = replay(RESNET, "default", time_scale="1/32")
    assert len(run.blocks) > 450_000
    file = tmp_path / "r.html"
    recorded = recorded_lengths(ReplayRequest(traces=(RESNET,)))
    assert recorded is not None
    one = Run(replay=run, figures=plain(run), command="warploom sim", recorded=recorded)
    write_report(file, [one])
    assert file.stat().st_size < 2_000_000
    text = file.read_text()
    # A browser lays out each element: some ten thousand take it a moment.
    assert text.count("<") < 30_000
    page = Page(text)
    assert f"limits for {find_limits(recorded).shares()['rate']:.1%}" in " ".join(page.text.split())
    assert f"{recorded.occupancy['registers']:.1%} of the registers" in page.text


def test_a_run_without_a_block_has_a_report(tmp_path: Path, trace: Path) -> None:
    run = replay(trace, "tiny", time_scale="1/32", launches=1)
    tables = dict(run.events.tables)
    for kind in ("offers", "reports"):
        tables[kind] = {name: column[:0] for name, column in tables[kind].items()}
    piece = Piece(Events(tables, run.events.stalls), NEVER)
    launches = replace(
        run.launches,
        blocks=run.launches.blocks * 0,
        held=run.launches.held * 0,
        fate=run.launches.fate * 0 - 1,
        first_offer=run.launches.first_offer * 0 - 1,
    )
    empty = replace(run, source=ReplayEvents(lambda: [piece]), launches=launches)
    file = tmp_path / "r.html"
    write_report(file, [Run(replay=empty, figures=plain(empty), command="warploom sim")])
    page = Page(file.read_text())
    assert page.limits == {"nothing_left": f"{run.cycles:,}"}
