"""The page of the SM's port: its picture, its gaps and its errors, of RTL and model alike."""

import re
from pathlib import Path

import pytest

from tb.support.block_dispatcher_rules import (
    KILLED,
    OK,
    RTL_AND_MODEL,
    TINY,
    blocks,
    drive,
    ends,
    errors,
    given,
    ones,
    start,
)
from warploom_spec import ErrorCode, Fate, layouts, resident_packets, timing

PAGE = Path(__file__).parents[3] / "docs" / "dispatch" / "sm" / "port.md"
STREAM = 2


def figure():
    """Return the rows of the page's figure by name, each with its cells by cycle."""
    block = PAGE.read_text().split("## Timing")[1].split("\n    cycle")[1].split("\n\n")[0]
    rows = {}
    for line in ("cycle" + block).splitlines():
        name, *cells = line.split()
        rows[name] = cells
    cycles = [int(cell) if cell != ".." else None for cell in rows.pop("cycle")]
    return {
        name: {c: cell for c, cell in zip(cycles, cells, strict=True) if c is not None}
        for name, cells in rows.items()
    }


def stopped_in(cycle):
    return lambda now: 1 << STREAM if now == cycle else 0


@RTL_AND_MODEL
def test_the_figure_of_a_kill(block):
    """What the page shows is what is sent and what comes."""
    rows = figure()
    cycles = list(rows["offer"])
    (stop,) = (cycle for cycle in cycles if rows["stop[2]"][cycle] == "*")
    slots = {"A": 0, "B": 1, "C": 2}
    first = {cell: cycle for cycle, cell in reversed(rows["report"].items()) if cell != "."}
    reports = [
        (cycle, 0, slots[name], OK if name == "B" else KILLED) for name, cycle in first.items()
    ]
    recording = drive(
        block, {0: start(STREAM, gx=3)}, reports=reports, enable=1, stop=stopped_in(stop)
    )
    offered = dict(zip((c for c, _ in given(recording)), blocks(recording), strict=True))
    packet = layouts.block_report(TINY)
    for cycle in cycles:
        shown = "ABC"[offered[cycle]["slot"]] if cycle in offered else "."
        assert shown == rows["offer"][cycle], f"offer in {cycle}"
        kill = "1" if recording.port("kill")[cycle] == 1 << STREAM else "."
        assert kill == rows["kill[2]"][cycle], f"kill in {cycle}"
        inputs = recording.inputs[cycle]
        slot = packet.unpack(inputs["report__0__payload"])["slot"]
        sent = "ABC"[slot] if inputs["report__0__valid"] else "."
        assert sent == rows["report"][cycle], f"report in {cycle}"
        ready = "1" if recording.port("report__0__ready")[cycle] else "."
        assert ready == rows["report.ready"][cycle], f"report.ready in {cycle}"
    over = [cycle for cycle, cell in rows["ended"].items() if cell == "*"]
    assert ends(recording) == [(over[0], STREAM, Fate.KILLED, ErrorCode.OK)]
    assert errors(recording) == []


@RTL_AND_MODEL
def test_a_killed_streams_next_offer_comes_kill_gap_cycles_after_the_bit_fell(block):
    # The next start comes as early as it may: eight cycles after the transfer at `ended`.
    reports = [(18, 0, 0, KILLED)]
    stop = stopped_in(12)
    recording = drive(
        block, {0: start(STREAM), 32: start(STREAM)}, reports=reports, enable=1, stop=stop
    )
    ((_, last),) = ones(recording, "kill", STREAM)
    ((ended, *_),) = ends(recording)
    assert (ended, last) == (24, 24)
    assert [cycle for cycle, _ in given(recording)] == [9, 25 + timing(TINY).kill_gap]


@RTL_AND_MODEL
@pytest.mark.parametrize(("early", "fate"), [(4, Fate.KILLED), (5, Fate.FAILED)])
def test_killed_may_be_reported_four_cycles_early(block, early, fate):
    """`KILLED` is judged when its books are written, four cycles after the report."""
    reports = [(30 - early, 0, 0, KILLED)]
    recording = drive(block, {0: start(STREAM)}, reports=reports, enable=1, stop=stopped_in(29))
    assert [end[2] for end in ends(recording)] == [fate]
    assert [code for _, code, _ in errors(recording)] == (
        [] if fate == Fate.KILLED else [ErrorCode.KILL_NOT_ASKED]
    )


@RTL_AND_MODEL
def test_kill_may_be_1_for_a_stream_without_blocks_on_any_sm(block):
    recording = drive(block, {0: start(STREAM)}, enable=0, stop=stopped_in(20))
    assert given(recording) == []
    assert ones(recording, "kill", STREAM)[0][0] == 21
    assert [end[2] for end in ends(recording)] == [Fate.KILLED]


def test_the_page_says_what_the_packets_and_timing_say():
    text = " ".join(PAGE.read_text().split())
    gap = re.search(r"up to `timing\.kill_gap` \((\d+)\) more", text)
    assert gap and int(gap[1]) == timing(TINY).kill_gap == 16
    assert [f"{n}. **" in text for n in range(1, 7)] == [True] * 5 + [False]
    tables = PAGE.read_text().split("## The offer\n")[1].split("\n## What")[0]
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", tables, re.MULTILINE)))
    packets = resident_packets.resident_block(TINY), layouts.launch_words(TINY)
    fields = {field.name for packet in packets for field in packet.fields}
    widths = {f"width_{axis}" for axis in "xyz"}
    assert fields - set(named) - widths - {f"inline{k}" for k in range(TINY.inline_args)} == set()
