"""The study of the index memory's allocators: the page has what replays give."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tb.support.trace_files import WITHOUT_EVENT_WAITS
from warploom_dev import cli
from warploom_dev.allocator_study import ALLOCATORS, ENTRIES, LARGEST, MEMORIES, rate
from warploom_dev.commands import allocator
from warploom_golden.index.index_memory_allocator import POLICIES
from warploom_sim import replay
from warploom_sim.replay import request
from warploom_sim.sweep.run_figures import run_figures

ROOT = Path(__file__).parents[2]
PAGE = ROOT / allocator.PAGE
TRACES = list(WITHOUT_EVENT_WAITS)
STENCIL = "stencil3d_shapes"
USE = "{http://www.w3.org/2000/svg}use"

#: Rate as printed, by trace, allocator, entries, memory.
Printed = dict[tuple[str, str, int, int], str]


def printed() -> Printed:
    """Return the rates of the page's two tables."""
    found: Printed = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if cells[0] not in TRACES:
            continue
        if cells[1] in ALLOCATORS:
            for entries, cell in zip(ENTRIES, cells[2:], strict=True):
                found[cells[0], cells[1], entries, LARGEST] = cell
        else:
            columns = [(each, memory) for each in ALLOCATORS[1:] for memory in MEMORIES]
            for (each, memory), cell in zip(columns, cells[1:], strict=True):
                # Where both tables have a run they print the same.
                key = (cells[0], each, ENTRIES[-1], memory)
                assert found.setdefault(key, cell) == cell
    return found


def replayed(trace: str, policy: str, entries: int, memory: int) -> str:
    run = replay(
        ROOT / "traces" / f"{trace}.json.gz",
        "default",
        allocator=policy,
        time_scale="1/32",
        contention="none",
        history_entries=entries,
        index_memory_warps=memory,
    )
    return f"{rate(run_figures(run)):.1f}"


def test_the_tool_has_the_models_policies() -> None:
    assert set(request.ALLOCATORS) == set(POLICIES) == set(ALLOCATORS)
    assert request.ALLOCATORS[0] == "frequent"


def test_the_tables_have_every_run() -> None:
    keys = {
        (trace, each, entries, LARGEST)
        for trace in TRACES
        for each in ALLOCATORS
        for entries in ENTRIES
    }
    keys |= {
        (trace, each, ENTRIES[-1], memory)
        for trace in TRACES
        for each in ALLOCATORS[1:]
        for memory in MEMORIES
    }
    assert printed().keys() == keys


def test_what_one_learns_is_what_the_tables_say() -> None:
    rates = {key: float(text) for key, text in printed().items()}
    text = " ".join(PAGE.read_text().split())
    for (trace, each, *rest), value in rates.items():
        if each == "own":
            assert value >= rates.get((trace, "frequent", *rest), 0)
        if each == "shared":
            assert value == rates[trace, each, 1, LARGEST]

    def lost(less: int, more: int) -> float:
        """Return the most points that so many entries less cost."""
        pairs = [(trace, each) for trace in TRACES for each in ALLOCATORS]
        return max(rates[*pair, more, LARGEST] - rates[*pair, less, LARGEST] for pair in pairs)

    said = f"4 entries lose up to {lost(4, 8):.1f} points, 2 lose up to {lost(2, 8):.1f}."
    assert f"16 and 32 add at most {lost(8, 32):.1f} points. {said}" in text
    pairs = [(trace, each) for trace in TRACES for each in ALLOCATORS[1:]]
    for pair in pairs:
        more = rates[*pair, 32, 512] - rates[*pair, 32, 128]
        assert more == 0 or (pair == (STENCIL, "frequent") and more < 0)
    worst = max(rates[*pair, 32, 128] - rates[*pair, 32, 64] for pair in pairs)
    assert f"64 warps lose up to {worst:.1f} points." in text


@pytest.mark.deep
@pytest.mark.parametrize("entries", [2, 32])
@pytest.mark.parametrize(
    ("trace", "shorter"), [(STENCIL, "0.00 %"), ("two_streams_priority", "0.37 %")]
)
def test_how_much_time_a_second_entry_saves(trace: str, shorter: str, entries: int) -> None:
    one, more = (
        replay(
            ROOT / "traces" / f"{trace}.json.gz",
            "default",
            allocator="own",
            time_scale="1/32",
            history_entries=each,
        ).cycles
        for each in (1, entries)
    )
    assert f"{100 * (1 - more / one):.2f} %" == shorter
    assert f"by {shorter} ({trace})" in " ".join(PAGE.read_text().split())


@pytest.mark.parametrize(
    ("policy", "entries", "memory"),
    [("shared", 1, 512), ("frequent", 8, 512), ("own", 4, 512), ("own", 32, 64)],
)
def test_a_rate_is_what_a_replay_gives(policy: str, entries: int, memory: int) -> None:
    key = (STENCIL, policy, entries, memory)
    assert replayed(*key) == printed()[key]


@pytest.mark.deep
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize(
    ("policy", "entries", "memory"),
    [("shared", 32, 512), ("frequent", 2, 512), ("frequent", 32, 64), ("own", 8, 512)],
)
def test_a_rate_of_every_trace(trace: str, policy: str, entries: int, memory: int) -> None:
    key = (trace, policy, entries, memory)
    assert replayed(*key) == printed()[key]


def test_the_figure_has_every_mark_where_the_table_puts_it() -> None:
    rates = printed()
    groups = {
        group.get("id"): [float(use.get("y", 0)) for use in group.iter(USE)]
        for group in ElementTree.parse(ROOT / allocator.FIGURE).iter()
    }
    marks = [
        (height, float(rates[trace, each, entries, LARGEST]))
        for trace in TRACES
        for each in ALLOCATORS
        for entries, height in zip(ENTRIES, groups[f"{trace}, {each}"], strict=True)
    ]
    (top, most), (bottom, least) = min(marks), max(marks)
    for height, value in marks:
        expected = least + (bottom - height) * (most - least) / (bottom - top)
        assert value == pytest.approx(expected, abs=0.2)


def rows(rates: Printed) -> list[dict[str, Any]]:
    """Return what `warploom compare --json` would write for rates, in tenths of a percent."""
    complete = {
        (trace, each, entries, memory): rates.get((trace, each, entries, memory), "0.0")
        for trace in TRACES
        for each in ALLOCATORS
        for entries in ENTRIES
        for memory in MEMORIES
    }
    return [
        {
            "trace": f"{trace}.json.gz",
            "allocator": each,
            "set": {"history_entries": str(entries), "index_memory_warps": str(memory)},
            "launches": 1010,
            "refused": 10,
            "history_hits": round(10 * float(text)),
        }
        for (trace, each, entries, memory), text in complete.items()
    ]


def test_the_command_writes_tables_and_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    current = PAGE.read_text()
    allocator.PAGE.parent.mkdir(parents=True)
    stale = re.sub(r"\| stencil3d_shapes \| `own` \| [\d.]+", r"\g<0>9", current)
    assert stale != current
    allocator.PAGE.write_text(stale)
    Path("runs.json").write_text(json.dumps(rows(printed())))
    result = CliRunner().invoke(cli.main, ["allocator", "runs.json"], catch_exceptions=False)
    assert result.exit_code == 0
    assert allocator.PAGE.read_text() == current
    assert allocator.FIGURE.read_bytes().startswith(b"<?xml")


def test_what_lacks_a_run_or_is_no_comparison_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    allocator.PAGE.parent.mkdir(parents=True)
    allocator.PAGE.write_text(PAGE.read_text())
    some = rows(printed())
    for content, said in (
        (json.dumps(some[:-1]), f"has no run of {TRACES[-1]}, own, 32, 512"),
        ("[{}]", "is no file of warploom compare --json"),
        ("no JSON", "is no file of warploom compare --json"),
    ):
        Path("runs.json").write_text(content)
        result = CliRunner().invoke(cli.main, ["allocator", "runs.json"])
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert said in result.stderr
    assert not allocator.FIGURE.exists()
