"""BlockToWarps, RTL and model: the cycles of its page and of each rule."""

import functools
from dataclasses import replace

import pytest

from tb.support.record import Sender, made, record
from tb.support.sm_side_tables import NONE, named, packed, rows_of
from warploom.sm_side import BlockToWarps
from warploom_golden.sm_side import BlockToWarps as Model
from warploom_spec import PRESETS, BlockStatus, layouts, sm_packets, timing

TINY = PRESETS["tiny"]
BOOT = timing(TINY).boot
WARPS_END = timing(TINY).warps_end
OK, FAULT, KILLED = BlockStatus
#: The page's launch.
THREE = {"warps": 3, "last_mask": 0b11}


def block(slot, stream=0, config=TINY, **fields):
    return packed(sm_packets.placed_block(config), slot=slot, stream=stream, **fields)


def ended(slot, warps=1, status=OK, config=TINY):
    return packed(sm_packets.warp_end(config), slot=slot, warps=warps, status=status)


def played(
    block_of,
    offers,
    cycles,
    *,
    ends=(),
    launches=(THREE, THREE),
    killed=(),
    refused=(),
    hold=(),
    config=TINY,
    first=0,
    kill=3,
    noise=0,
    reports_wait=(),
    dropped=(),
    resets=(),
):
    """Run the model; cycle 0 is the first one after the boot.

    Offers come from the cycle `first` on, and the recording begins with it. `ends` are payloads of
    `ended` by cycle; it is `noise` while it is not valid. `kill` has its level in the cycles
    `killed`: the streams 0 and 1, whose launches are `launches`. No report is taken in the cycles
    `reports_wait`. `dropped` are slots by cycle. `resets` are cycles with a reset of a resettable
    block.
    """
    ends, dropped = dict(ends), dict(dropped)
    words = [packed(layouts.launch_words(config), **fields) for fields in launches]
    unpack = sm_packets.placed_block(config).unpack
    boot = timing(config).boot

    def inputs(cycle):
        cycle -= boot
        waiting = sender.waiting["offer"]
        return {
            "words": words[unpack(waiting[0])["stream"]] if waiting else 0,
            "kill": kill if cycle in killed else 0,
            "dropped__valid": int(cycle in dropped),
            "dropped__payload": dropped.get(cycle, 0),
            "offer__hold": int(cycle < first or cycle in hold),
            "report__ready": int(cycle not in reports_wait),
            "warp__ready": int(cycle not in refused),
            "ended": ends.get(cycle, noise),
            "ended_valid": int(cycle in ends),
            "reset_now": int(cycle in resets),
        }

    sender = Sender({"offer": offers}, inputs)
    seen = record(made(block_of, config), sender, boot + cycles)
    del seen.inputs[: boot + first], seen.outputs[: boot + first]
    return seen


def warps_of(seen, config=TINY):
    """Return the cycle and the fields of each warp that transfers."""
    start = sm_packets.warp_start(config)
    return [(cycle, start.unpack(word)) for cycle, word in seen.transfers("warp")]


def reports_of(seen, config=TINY):
    """Return cycle, slot and status of each report."""
    unpack = layouts.block_report(config).unpack
    found = [(cycle, unpack(word)) for cycle, word in seen.transfers("report")]
    return [(cycle, report["slot"], report["status"]) for cycle, report in found]


@pytest.fixture(params=[BlockToWarps, Model], ids=["rtl", "model"])
def play(request):
    """Return `played` of the RTL and of the model."""
    return functools.partial(played, request.param)


PAGE = """
    offer         A   .   .   .   .   .   B   .   .   C   C   .   .   .   .
    offer.ready   1   0   0   0   0   1   1   0   0   0   1   0   1   1   1
    warp          .   A0  A1  A1  A2  .   .   B0  B1  .   .   .   .   .   .
    warp.ready    1   1   0   1   1   1   1   1   1   1   1   1   1   1   1
    mask          .   ff  ff  ff  03  .   .   ff  ff  .   .   .   .   .   .
    kill[0]       0   0   0   0   0   0   0   0   1   1   1   1   1   1   1
    ended         .   .   .   A   .   A   A   .   .   .   .   .   B   .   .
    warps         .   .   .   1   .   1   1   .   .   .   .   .   2   .   .
    status        .   .   .   OK  .   OK  OK  .   .   .   .   .  KIL  .   .
    report        .   .   .   .   .   .   .   .   A   .   .   .   .   C   B
"""
SLOTS = {"A": 1, "B": 2, "C": 3}


@pytest.mark.rule("block_to_warps", 2, 3, 4, 5, 6, 7)
def test_the_page_s_cycles(play):
    table = rows_of(PAGE)
    statuses = {"OK": OK, "KIL": KILLED}
    seen = play(
        [block(slot) for slot in SLOTS.values()],
        15,
        ends={
            cycle: ended(SLOTS[name], int(table["warps"][cycle]), statuses[table["status"][cycle]])
            for cycle, name in enumerate(table["ended"])
            if name != NONE
        },
        killed=[cycle for cycle, level in enumerate(table["kill[0]"]) if level == "1"],
        refused=[cycle for cycle, ready in enumerate(table["warp.ready"]) if ready == "0"],
        hold=[*range(1, 6), *range(7, 9)],
    )
    names = {block(slot): name for name, slot in SLOTS.items()}
    assert named(seen.port("offer__payload"), seen.port("offer__valid"), names) == table["offer"]
    assert [str(ready) for ready in seen.port("offer__ready")] == table["offer.ready"]
    letters = {slot: name for name, slot in SLOTS.items()}
    shown = [
        sm_packets.warp_start(TINY).unpack(word) if valid else None
        for word, valid in zip(seen.port("warp__payload"), seen.port("warp__valid"), strict=True)
    ]
    assert [f"{letters[w['slot']]}{w['warp']}" if w else NONE for w in shown] == table["warp"]
    assert [f"{w['mask']:02x}" if w else NONE for w in shown] == table["mask"]
    assert named(seen.port("block"), seen.port("warp__valid"), names) == [
        cell[0] for cell in table["warp"]
    ]
    assert reports_of(seen) == [(8, SLOTS["A"], OK), (13, SLOTS["C"], KILLED), (14, 2, KILLED)]
    named_reports = {cycle: letters[slot] for cycle, slot, _ in reports_of(seen)}
    assert [named_reports.get(cycle, NONE) for cycle in range(15)] == table["report"]


@pytest.mark.rule("block_to_warps", 1)
def test_nothing_is_taken_and_no_end_counts_in_the_boot(play):
    """A's three warps count from the first cycle after the boot on."""
    ends = {-1: ended(1, 2), 3: ended(1), 4: ended(1), 5: ended(1)}
    seen = play([block(1)], 10, ends=ends, first=-BOOT)
    assert seen.port("offer__ready")[: BOOT + 2] == [*[0] * BOOT, 1, 0]
    assert reports_of(seen) == [(BOOT + 5 + WARPS_END, 1, OK)]


@pytest.mark.rule("block_to_warps", 2, 3)
def test_a_warp_a_cycle_and_one_cycle_without_between_two_blocks(play):
    seen = play([block(0), block(1)], 10)
    assert [(cycle, warp["slot"], warp["warp"]) for cycle, warp in warps_of(seen)] == [
        (1, 0, 0),
        (2, 0, 1),
        (3, 0, 2),
        (5, 1, 0),
        (6, 1, 1),
        (7, 1, 2),
    ]


def test_a_block_of_one_warp_has_the_lanes_of_last_mask(play):
    seen = play([block(0)], 5, launches=({"warps": 1, "last_mask": 0b10101}, THREE))
    assert [(cycle, warp["mask"]) for cycle, warp in warps_of(seen)] == [(1, 0b10101)]
    assert seen.cycles("offer__ready") == [0, 2, 3, 4]


@pytest.mark.rule("block_to_warps", 4)
def test_rows_wrap(play):
    """The memory of `tiny` has 64 rows."""
    seen = play([block(0, index_address=62)], 5)
    assert [warp["row"] for _, warp in warps_of(seen)] == [62, 63, 0]


def test_without_an_index_memory_warps_have_no_row(play):
    config = replace(TINY, index_memory_warps=0)
    seen = play([block(1, config=config)], 5, config=config)
    assert [warp["warp"] for _, warp in warps_of(seen, config)] == [0, 1, 2]


def test_block_shows_the_ranges_and_the_stream(play):
    word = block(1, stream=1, registers_first=8, shared_first=20, bx=5)
    seen = play([word], 5)
    assert seen.cycles("warp__valid") == [1, 2, 3]
    assert seen.port("block")[1:4] == [word] * 3


@pytest.mark.rule("block_to_warps", 3, 5)
def test_a_refused_warp_stays_while_its_stream_is_killed(play):
    """Warp 1 stands to 8. The stream is killed from 4 on, so warp 2 is dropped in 9."""
    seen = play([block(1)], 15, refused=range(2, 8), killed=range(4, 15), ends={10: ended(1, 2)})
    assert [cycle for cycle, _ in warps_of(seen)] == [1, 8]
    assert len(set(seen.port("warp__payload")[2:9])) == 1
    assert seen.cycles("offer__ready") == [0, *range(10, 15)]
    assert reports_of(seen) == [(10 + WARPS_END, 1, KILLED)]


@pytest.mark.rule("block_to_warps", 3)
def test_the_last_warp_s_transfer_while_killed_drops_nothing(play):
    seen = play([block(1)], 15, killed=range(3, 15), ends={8: ended(1, 3)})
    assert [warp["warp"] for _, warp in warps_of(seen)] == [0, 1, 2]
    assert seen.cycles("offer__ready") == [0, *range(4, 15)]
    assert reports_of(seen) == [(8 + WARPS_END, 1, OK)]


@pytest.mark.rule("block_to_warps", 5)
def test_a_drop_waits_while_the_core_s_ends_count(play):
    """A's warps end in 5 to 7. B is taken in 4 while its stream is killed, and dropped in 8."""
    ends = {cycle: ended(1) for cycle in (5, 6, 7)}
    seen = play([block(1), block(2)], 15, killed=range(4, 15), ends=ends)
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 4]
    assert seen.cycles("offer__ready") == [0, 4, *range(9, 15)]
    assert reports_of(seen) == [(7 + WARPS_END, 1, OK), (8 + WARPS_END, 2, KILLED)]


def test_ends_in_the_cycle_of_the_warp_s_transfer(play):
    seen = play([block(1)], 10, ends={cycle: ended(1) for cycle in (1, 2, 3)})
    assert reports_of(seen) == [(3 + WARPS_END, 1, OK)]


@pytest.mark.rule("block_to_warps", 6)
def test_blocks_end_in_any_order_and_a_slot_begins_anew(play):
    """Slot 0 ends after slot 1 and runs a second block; the fault is the first block's alone."""
    ends = {
        2: ended(0, 1, FAULT),
        6: ended(1),
        9: ended(1, 2),
        10: ended(0, 2),
        20: ended(0, 3),
    }
    seen = play([block(0), block(1), block(0)], 25, ends=ends, hold=range(5, 14))
    assert reports_of(seen) == [
        (9 + WARPS_END, 1, OK),
        (10 + WARPS_END, 0, FAULT),
        (20 + WARPS_END, 0, OK),
    ]


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ((OK, OK, OK), OK),
        ((OK, KILLED, OK), KILLED),
        ((FAULT, OK, OK), FAULT),
        ((OK, OK, 3), FAULT),
        ((KILLED, FAULT, OK), FAULT),
        ((FAULT, KILLED, KILLED), FAULT),
        ((3, KILLED, OK), FAULT),
    ],
)
@pytest.mark.rule("block_to_warps", 7)
def test_fault_wins_over_killed_and_killed_over_ok(play, statuses, status):
    ends = {5 + n: ended(1, status=one) for n, one in enumerate(statuses)}
    assert reports_of(play([block(1)], 12, ends=ends)) == [(7 + WARPS_END, 1, status)]


def test_a_fault_before_a_drop_wins(play):
    ends = {2: ended(1, 1, FAULT)}
    seen = play([block(1)], 12, refused=[2, 3], killed=range(3, 12), ends={**ends, 5: ended(1)})
    assert reports_of(seen) == [(6 + WARPS_END, 1, FAULT)]


def test_blocks_have_their_own_launch_s_number_of_warps(play):
    launches = ({"warps": 1, "last_mask": 1}, {"warps": 2, "last_mask": 3})
    ends = {4: ended(0), 5: ended(1), 6: ended(1)}
    seen = play([block(0), block(1, stream=1)], 12, launches=launches, ends=ends)
    assert reports_of(seen) == [(4 + WARPS_END, 0, OK), (6 + WARPS_END, 1, OK)]


@pytest.mark.rule("block_to_warps", 8)
def test_reports_wait_in_the_order_of_the_ends_while_the_dispatcher_takes_none(play):
    """Blocks go on meanwhile. `over` does not wait."""
    ends = {5: ended(1, 3), 9: ended(2, 3)}
    seen = play([block(1), block(2)], 24, ends=ends, reports_wait=range(20))
    assert reports_of(seen) == [(20, 1, OK), (21, 2, OK)]
    assert seen.cycles("over_valid") == [6, 10]
    assert seen.cycles("report__valid")[0] == 5 + WARPS_END


@pytest.mark.rule("block_to_warps", 8)
def test_a_dropped_block_is_reported_as_killed_and_waits_for_an_end(play):
    """Slot 3 is told in 6, in the cycle of A's `over`, and again in 7."""
    seen = play([block(1)], 12, ends={5: ended(1, 3)}, dropped={2: 0, 6: 3, 7: 3})
    assert [cycle for cycle, _ in seen.transfers("dropped")] == [2, 7]
    assert reports_of(seen) == [(3, 0, KILLED), (5 + WARPS_END, 1, OK), (8, 3, KILLED)]
    assert seen.cycles("over_valid") == [6]
