"""The page of the SM's port, rule by rule, of RTL and model alike."""

import re
from pathlib import Path

import pytest

from tb.support.dispatch_rules import (
    KILLED,
    OK,
    RTL_AND_MODEL,
    TINY,
    at,
    begun,
    drive,
    errors,
    fates,
    launch,
    levels_of,
    offers,
    reporting,
    resettable_block,
    stop,
)
from warploom_spec import ErrorCode, Fate, layouts, preset, timing

pytestmark = RTL_AND_MODEL

PAGE = Path(__file__).parents[3] / "docs" / "dispatch" / "sm" / "port.md"


def figure():
    """Return the rows of the page's figure by name, each with its cells by cycle."""
    block = PAGE.read_text().split("## Timing")[1].split("\n    cycle")[1].split("\n\n")[0]
    lines = ("cycle" + block).splitlines()
    rows = {}
    for line in lines:
        name, *cells = line.split()
        rows[name] = cells
    cycles = [int(cell) for cell in rows.pop("cycle")]
    return {name: dict(zip(cycles, cells, strict=True)) for name, cells in rows.items()}


def test_the_figure_of_a_kill(block):
    """What the page shows is what is sent and what comes."""
    rows = figure()
    cycles = list(rows["offer"])
    (stopped,) = (cycle for cycle in cycles if rows["stop"][cycle] == "*")
    slots = {"A": 0, "B": 1, "C": 2}
    sent = [(c, slots[cell]) for c, cell in rows["report"].items() if cell != "."]
    reports = [(c, slot, OK if slot == slots["B"] else KILLED) for c, slot in sent]
    config = preset("tiny")
    recording = drive(
        block,
        [launch(config=config, gx=3)],
        config=config,
        enable=1,
        stop=at(stopped, stop()),
        offer__0__ready=lambda cycle: int(rows["offer.ready"].get(cycle, "1")),
        **reporting(0, *reports),
    )
    offer = layouts.block_offer(config)
    for cycle in cycles:
        valid, word = (recording.port(f"offer__0__{part}")[cycle] for part in ("valid", "payload"))
        shown = "ABC"[offer.unpack(word)["slot"]] if valid else "."
        assert shown == rows["offer"][cycle], f"offer in {cycle}"
        kill = "1" if recording.port("kill")[cycle] else "."
        assert kill == rows["kill[0]"][cycle], f"kill in {cycle}"
        ended = "K" if recording.port("ended__valid")[cycle] else "."
        assert ended == rows["ended"][cycle], f"ended in {cycle}"
    assert fates(recording) == [(22, 1, Fate.KILLED, ErrorCode.OK, 16 - 6)]
    assert errors(recording) == []


# 1. Take


def test_an_offer_stands_unchanged_until_it_is_taken(block):
    # Its launch is killed and its SM is disabled and lost meanwhile.
    recording = drive(
        block,
        [launch(gx=2)],
        enable=lambda cycle: int(cycle < 12),
        stop=at(15, stop()),
        offer__0__ready=at(50),
    )
    assert recording.cycles("lost")[0] == 17 + 16 + 4
    shown = {recording.port("offer__0__payload")[cycle] for cycle in range(6, 51)}
    assert recording.cycles("offer__0__valid") == list(range(6, 51))
    assert len(shown) == 1


@pytest.mark.rule("block_dispatcher", 16)
def test_block_numbers_are_those_of_the_grid_whichever_sm_takes_the_blocks(block):
    # Two launches of two streams: 2 x 2 blocks, then 1 x 1 x 3. SM 0 lets each offer stand.
    sent = [launch(1, gx=2, gy=2), launch(2, gz=3, stream=1)]
    recording = drive(block, sent, offer__0__ready=lambda cycle: int(cycle % 7 == 0))
    found = {
        (offer["place"], offer["bx"], offer["by"], offer["bz"]): offer["block_number"]
        for sm in (0, 1)
        for offer in offers(recording, sm)
    }
    first = {(0, 0, 0, 0): 0, (0, 1, 0, 0): 1, (0, 0, 1, 0): 2, (0, 1, 1, 0): 3}
    assert found == first | {(1, 0, 0, 0): 0, (1, 0, 0, 1): 1, (1, 0, 0, 2): 2}


@pytest.mark.rule("block_dispatcher", 16)
def test_a_launch_that_begins_inside_its_grid_is_numbered_from_0(block):
    sent = [launch(gx=3, gy=2, start_x=1, start_y=1)]
    found = [(offer["bx"], offer["block_number"]) for offer in offers(drive(block, sent, enable=1))]
    assert found == [(1, 0), (2, 1)]


# 2. Report


@pytest.mark.parametrize(
    ("status", "fate", "code"),
    [
        (0, Fate.FINISHED, ErrorCode.OK),
        (1, Fate.FAILED, ErrorCode.BLOCK_FAULT),
        (2, Fate.FAILED, ErrorCode.BLOCK_FAULT),
        (3, Fate.FAILED, ErrorCode.BLOCK_FAULT),
    ],
)
def test_each_status_without_a_kill(block, status, fate, code):
    recording = drive(block, [launch()], **reporting(0, (20, 0, status)))
    assert fates(recording) == [(26, 1, fate, code, 14)]


def test_words_hold_until_the_block_is_reported(block):
    recording = drive(block, [launch(1, code=5), launch(2)], **reporting(0, (20, 0), (40, 1)))
    words = layouts.launch_words(TINY)
    shown = [words.unpack(word) for word in recording.port("words__0")[6:21]]
    assert {(w["ticket"], w["code"]) for w in shown} == {(1, 5)}


def test_words_say_what_a_block_needs_of_its_sm(block):
    needs = {"threads": 15, "last_mask": 0x7F, "warp_registers": 3, "shared": 5, "barriers": 2}
    recording = drive(block, [launch(1, warps=2, **needs)])
    shown = layouts.launch_words(TINY).unpack(recording.port("words__0")[6])
    assert recording.cycles("offer__0__valid")[0] == 6
    assert {name: shown[name] for name in needs} == needs


# 3. Kill


def test_blocks_of_the_other_place_go_on(block):
    sent = [launch(1, gx=2), launch(2, gx=4, stream=1)]
    recording = drive(
        block,
        sent,
        enable=1,
        stop=at(30, stop(0)),
        **reporting(0, (34, 0, KILLED), (35, 1, KILLED), (50, 2), (51, 3), (52, 0), (53, 1)),
    )
    # The second launch's last two blocks get the killed blocks' slots.
    assert [offer["place"] for offer in offers(recording)] == [0, 0, 1, 1, 1, 1]
    assert errors(recording) == []
    assert fates(recording)[1] == (59, 2, Fate.FINISHED, ErrorCode.OK, 53 - begun(recording)[2])


def test_kill_may_be_1_for_a_place_without_blocks(block):
    recording = drive(block, [launch()], enable=0, stop=at(10, stop()))
    assert levels_of(recording, "kill") == {0: (12, 17)}


# 4. In time


@pytest.mark.parametrize(("late", "lost"), [(0, []), (1, [42])])
def test_a_block_is_reported_in_time_a_kill_timeout_after_the_kill(block, late, lost):
    # The offer is taken in the last cycle and reported in it.
    recording = drive(
        block,
        [launch()],
        enable=1,
        stop=at(20, stop()),
        offer__0__ready=at(38 + late),
        **reporting(0, (38 + late, 0, KILLED)),
    )
    assert TINY.kill_timeout == 16
    assert recording.cycles("lost")[:1] == lost
    assert errors(recording) == []


def test_without_a_kill_an_sm_may_take_its_time(block):
    recording = drive(block, [launch()], 300, offer__0__ready=at(200), **reporting(0, (250, 0)))
    assert recording.cycles("lost") == []
    assert fates(recording) == [(256, 1, Fate.FINISHED, ErrorCode.OK, 250 - 6)]


# 5. Reset, and the page


def test_a_reset_withdraws_the_offer_and_forgets_all_blocks(block):
    # In cycle 30 one block runs in slot 0, the next is offered, and a third waits.
    recording = drive(
        resettable_block(block),
        [launch(1, gx=3), launch(2)],
        enable=1,
        launch__hold=lambda cycle: int(0 < cycle <= 30),
        offer__0__ready=lambda cycle: int(cycle < 7 or cycle > 40),
        reset_now=at(30),
        # Of the forgotten block: during the boot, then when nothing runs; at last of launch 2.
        **reporting(0, (34, 0), (36, 0), (45, 0)),
    )
    assert recording.cycles("offer__0__valid") == [6, *range(9, 31), 41]
    assert [cycle for cycle, _ in recording.transfers("launch")] == [0, 35]
    assert [(o["slot"], o["place"]) for o in offers(recording)] == [(0, 0)] * 2
    assert errors(recording) == [(40, ErrorCode.REPORT_NOT_RUNNING, 0)]
    assert fates(recording) == [(51, 2, Fate.FINISHED, ErrorCode.OK, 45 - 41)]


def test_a_reset_brings_a_lost_sm_back_and_ends_a_kill(block):
    recording = drive(
        resettable_block(block),
        [launch(1, gx=2), launch(2)],
        enable=1,
        launch__hold=lambda cycle: int(0 < cycle <= 45),
        stop=at(15, stop()),
        reset_now=at(45),
        **reporting(0, (60, 0)),
    )
    # Nothing is reported before: lost 16 cycles after the kill's first, and 4 to see it.
    assert recording.cycles("lost") == list(range(17 + 16 + 4, 46))
    assert levels_of(recording, "kill")[0][0] == 17
    assert recording.cycles("offer__0__valid") == [6, 9, 56]
    assert [cycle for cycle in recording.cycles("kill") if cycle > 45] == []


def test_the_page_says_what_timing_says(block):
    del block
    text = " ".join(PAGE.read_text().split())
    gap = re.search(r"at least `timing\.kill_gap` \((\d+)\) cycles", text)
    assert gap and int(gap[1]) == timing(TINY).kill_gap == 4
    assert [f"{n}. **" in text for n in range(1, 7)] == [True] * 5 + [False]
