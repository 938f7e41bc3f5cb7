"""What the page of the SM's port says of cycles, of RTL and model alike."""

import re
from pathlib import Path

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    TINY,
    at,
    completing,
    completion,
    drive,
    ends,
    errors,
    launch,
    mask,
    stop,
)
from warploom_spec import ErrorCode, Fate, layouts

pytestmark = RTL_AND_MODEL
PAGE = Path(__file__).parents[3] / "docs" / "dispatch" / "sm" / "port.md"
BLOCKS = "ABC"


def figure():
    """Return the rows of the page's figure by their names, and its cycles."""
    lines = re.findall(r"^    (\S+) +(\S.*)$", PAGE.read_text(), re.MULTILINE)
    rows = {name: cells.split() for name, cells in lines}
    return rows, [int(cycle) for cycle in rows.pop("cycle")]


def named(pulse):
    """Return the letters of the slots of a mask."""
    slots = layouts.slot_mask(TINY).unpack(pulse)["mask"]
    return "".join(name for slot, name in enumerate(BLOCKS) if slots >> slot & 1) or "."


def test_the_figure_of_a_kill(block):
    recording = drive(
        block,
        [launch(gx=3)],
        cycles=30,
        enable=1,
        stop__valid=at(8),
        stop__payload=stop(1),
        offer__0__ready=lambda cycle: int(cycle in (4, 5) or cycle >= 13),
        acknowledge__0=lambda cycle: {14: mask(0b001), 19: mask(0b100)}.get(cycle, 0),
        **completing(0, (13, completion(1))),
    )
    offer, done = layouts.block_offer(TINY), layouts.block_completion(TINY)
    port = recording.port
    offered = zip(port("offer__0__valid"), port("offer__0__payload"), strict=True)
    completed = zip(port("completion__0__valid"), port("completion__0__payload"), strict=True)
    seen = {
        "stop": ["*" if valid else "." for valid in port("stop__valid")],
        "offer": [BLOCKS[offer.unpack(word)["slot"]] if valid else "." for valid, word in offered],
        "offer.ready": [str(ready) for ready in port("offer__0__ready")],
        "kill": [named(pulse) for pulse in port("kill__0")],
        "completion": [BLOCKS[done.unpack(w)["slot"]] if valid else "." for valid, w in completed],
        "acknowledge": [named(pulse) for pulse in port("acknowledge__0")],
        "ended": ["K" if valid else "." for valid in port("ended__valid")],
    }
    rows, cycles = figure()
    assert rows == {name: [cells[cycle] for cycle in cycles] for name, cells in seen.items()}
    assert errors(recording) == []
    ((_, end),) = ends(recording)
    assert (end["fate"], end["cycles"]) == (Fate.KILLED, 19 - 4)


@pytest.mark.parametrize(("late", "lost"), [(0, []), (1, [17])])
def test_an_offer_is_in_time_a_kill_timeout_after_its_first_cycle(block, late, lost):
    # The stop counts from 4 on, the offer's first cycle: no earlier one leaves an offer.
    recording = drive(
        block,
        [launch()],
        cycles=24,
        enable=1,
        stop__valid=at(2),
        stop__payload=stop(1),
        offer__0__ready=at(4 + TINY.kill_timeout + late),
        acknowledge__0=at(20, mask(1)),
    )
    assert recording.cycles("offer__0__valid")[0] == 4
    assert recording.cycles("lost")[:1] == lost


@pytest.mark.parametrize(("completed", "slots"), [(20, 0b10), (21, 0b11), (23, 0b11)])
def test_a_kill_names_a_block_that_completed_up_to_three_cycles_before(block, completed, slots):
    recording = drive(
        block,
        [launch(gx=2)],
        cycles=35,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(26, mask(0b10)),
        **completing(0, (completed, completion(0))),
    )
    assert recording.cycles("kill__0") == [24]
    assert recording.port("kill__0")[24] == mask(slots)
    assert errors(recording) == []


def test_a_completion_sent_twice_may_complete_the_slot_s_next_block(block):
    recording = drive(
        block,
        [launch(gx=2, warps=TINY.warp_slots)],
        enable=1,
        **completing(0, (7, completion(0)), (12, completion(0))),
    )
    assert recording.cycles("offer__0__valid") == [4, 11]
    assert errors(recording) == []
    assert [end["fate"] for _, end in ends(recording)] == [Fate.FINISHED]


def test_words_hold_until_the_block_completes(block):
    # Completed in 20; the next launch gets the same place as early as there is room.
    packet = layouts.launch_words(TINY)
    recording = drive(
        block,
        [launch(1), launch(2)],
        cycles=30,
        enable=1,
        launch__hold=lambda cycle: int(0 < cycle < 25),
        **completing(0, (20, completion(0))),
    )
    tickets = [packet.unpack(word or 0)["ticket"] for word in recording.port("words__0")]
    assert tickets[1:26] == [1] * 25 and tickets[26] == 2


@pytest.mark.parametrize(
    ("completed", "code"),
    [(34, ErrorCode.BLOCK_FAULT), (36, ErrorCode.NO_SM), (37, ErrorCode.SM_LOST)],
)
def test_a_fault_beside_the_loss_of_the_only_sm(block, completed, code):
    # Lost at the end of 38. The fault is processed in 36: all blocks of its launch are killed, and
    # the launch is gone with its only one. In 38: it has blocks left that no SM is there for. In
    # 39: the SM was lost with its block.
    config = config_of("tiny,policy=first_fit,kill_timeout=12,sms=1")
    recording = drive(
        block,
        [launch(1, config), launch(2, config, stream=1, gx=8, barriers=3)],
        config=config,
        stop__valid=at(20),
        stop__payload=stop(1),
        **completing(0, (completed, completion(1, code=5))),
    )
    (record,) = [end for _, end in ends(recording) if end["ticket"] == 2]
    assert (record["fate"], record["code"]) == (Fate.FAILED, code)
