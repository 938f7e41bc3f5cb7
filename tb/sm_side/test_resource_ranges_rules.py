"""ResourceRanges, RTL and model: the cycles of its page and of each rule."""

import functools

import pytest

from tb.support.record import Sender, made, record
from tb.support.sm_side_tables import NONE, named, packed, rows_of
from warploom.sm_side import ResourceRanges
from warploom_golden.sm_side import ResourceRanges as Model
from warploom_spec import PRESETS, layouts, sm_packets, timing
from warploom_spec.resident_packets import resident_block

TINY = PRESETS["tiny"]
#: Sizes of the page's example, by stream: registers and shared memory are 8 and 20, 1 and 30.
EXAMPLE = (
    {"warps": 2, "warp_registers": 4, "shared": 20},
    {"warps": 1, "warp_registers": 1, "shared": 30},
)
RANGES = timing(TINY).ranges
CHANGE = timing(TINY).ranges_change
FREED = timing(TINY).ranges_freed


def offer(stream, slot, **fields):
    return packed(resident_block(TINY), stream=stream, slot=slot, **fields)


def reported(slot, status=0):
    return packed(layouts.block_report(TINY), slot=slot, status=status)


def played(
    block_of,
    offers,
    cycles,
    *,
    reports=(),
    sizes=EXAMPLE,
    killed=(0, ()),
    hold=(),
    o_waits=(),
    third=None,
    status=0,
    resets=(),
):
    """Run the model.

    `reports` are slots by cycle, all with one status. `killed` is the level of `kill`, and its
    cycles. `third` is the size of stream 0 from cycle 8 on. `resets` are cycles with a reset of a
    resettable block.
    """
    reports = dict(reports)
    words = [packed(layouts.launch_words(TINY), **size) for size in sizes]
    later = packed(layouts.launch_words(TINY), **(third or sizes[0]))

    def inputs(cycle):
        waiting = sender.waiting["offer"]
        stream = unpack(waiting[0])["stream"] if waiting else 0
        return {
            "words": later if cycle >= 8 and not stream else words[stream],
            "kill": killed[0] if cycle in killed[1] else 0,
            "report": reported(reports.get(cycle, 0), status),
            "report_valid": int(cycle in reports),
            "offer__hold": int(cycle in hold),
            "o__ready": int(cycle not in o_waits),
            "reset_now": int(cycle in resets),
        }

    unpack = resident_block(TINY).unpack
    sender = Sender({"offer": offers}, inputs)
    return record(made(block_of, TINY), sender, cycles)


def ranges_of(seen):
    """Return cycle, slot and both first units of each block that transfers at `o`."""
    placed = sm_packets.placed_block(TINY)
    found = [(cycle, placed.unpack(word)) for cycle, word in seen.transfers("o")]
    return [(c, b["slot"], b["registers_first"], b["shared_first"]) for c, b in found]


def blocks(count, stream=0, first=0):
    return [offer(stream, first + n) for n in range(count)]


@pytest.fixture(params=[ResourceRanges, Model], ids=["rtl", "model"])
def play(request):
    """Return `played` of the RTL and of the model."""
    return functools.partial(played, request.param)


PAGE = """
    offer            A0  A1  A2  A2  A2  B   .   .   .   .   .   .   .   .   .
    offer.ready      1   1   0   0   1   1   1   1   1   1   1   1   1   1   1
    o                .   .   .   .   .   A0  A1  A2  .   .   .   .   .   .   B
    registers_first  .   .   .   .   .   0   8   16  .   .   .   .   .   .   31
    shared_first     .   .   .   .   .   0   20  40  .   .   .   .   .   .   34
    report           .   .   .   .   .   .   .   .   A1  A0  A2  .   .   .   .
    held_back        .   .   .   .   .   .   .   .   .   .   *   *   *   *   .
"""


@pytest.mark.rule("resource_ranges", 1, 2, 3, 4, 6)
def test_the_page_s_cycles(play):
    table = rows_of(PAGE)
    slots = {"A0": 0, "A1": 1, "A2": 2, "B": 3}
    offers = {name: offer(int(name == "B"), slot) for name, slot in slots.items()}
    reports = {c: slots[name] for c, name in enumerate(table["report"]) if name != NONE}
    seen = play(list(offers.values()), 15, reports=reports)
    names = {word: name for name, word in offers.items()}
    assert named(seen.port("offer__payload"), seen.port("offer__valid"), names) == table["offer"]
    assert [str(ready) for ready in seen.port("offer__ready")] == table["offer.ready"]
    assert ["*" if held else NONE for held in seen.port("held_back")] == table["held_back"]
    found = {cycle: block for cycle, *block in ranges_of(seen)}
    for cycle in range(15):
        cells = [table[row][cycle] for row in ("o", "registers_first", "shared_first")]
        if cycle not in found:
            assert cells == [NONE] * 3
        else:
            slot, *firsts = found[cycle]
            assert cells == [list(slots)[slot], *map(str, firsts)]


def test_the_offer_s_fields_go_on_as_they_are(play):
    given = {"bx": 7, "by": 6, "bz": 5, "entry": 3, "index_address": 33, "warps": 2}
    seen = play([offer(0, 1, **given)], 8)
    ((_, word),) = seen.transfers("o")
    block = sm_packets.placed_block(TINY).unpack(word)
    assert {name: block[name] for name in given} == given


@pytest.mark.rule("resource_ranges", 3)
def test_a_block_of_another_size_comes_two_cycles_later(play):
    seen = play([*blocks(1), *blocks(1, first=1)], 20, hold=range(1, 10))
    assert [cycle for cycle, *_ in ranges_of(seen)] == [RANGES + CHANGE, 10 + RANGES]
    assert seen.cycles("held_back") == []


@pytest.mark.rule("resource_ranges", 2)
def test_after_a_reset_the_row_has_blocks_of_no_size(play):
    """A block that needs nothing needs no change; its ranges begin where the row's do."""
    seen = play(blocks(3), 10, sizes=({}, {}))
    assert ranges_of(seen) == [(3, 0, 0, 0), (4, 1, 0, 0), (5, 2, 0, 0)]


def test_a_block_a_cycle_goes_through(play):
    """The change of the first block refuses the third one for two cycles."""
    seen = play(blocks(4), 10, sizes=({"shared": 1}, {}))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 1, 4, 5]
    assert ranges_of(seen) == [(5 + n, n, 0, n) for n in range(4)]


@pytest.mark.rule("resource_ranges", 1)
def test_three_blocks_wait_while_o_takes_none(play):
    """The fourth one is refused until the cycle in which `o` transfers: rule 1."""
    seen = play(blocks(4), 16, sizes=({"shared": 1}, {}), o_waits=range(10))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 1, 4, 10]
    assert [cycle for cycle, *_ in ranges_of(seen)] == [10, 11, 12, 13]
    assert seen.port("o__valid")[4:11] == [0, *[1] * 6]
    assert len(set(seen.port("o__payload")[5:11])) == 1


@pytest.mark.rule("resource_ranges", 3)
def test_a_change_needs_no_room_in_placed(play):
    """A stands at `o` to 9; B's change is in 5, so B leaves in 9 and stands at `o` in 10."""
    seen = play([offer(0, 0), offer(1, 1)], 14, o_waits=range(9))
    assert ranges_of(seen) == [(9, 0, 0, 0), (10, 1, 31, 34)]


@pytest.mark.rule("resource_ranges", 6)
def test_held_back_does_not_ask_for_room_in_placed(play):
    """A1 needs more than is left while A0 still stands at `o`."""
    sizes = ({"warps": 1, "shared": 40}, {})
    seen = play(blocks(2), 14, sizes=sizes, o_waits=range(9))
    assert seen.cycles("held_back") == list(range(6, 14))


@pytest.mark.parametrize(
    ("size", "most"),
    [
        ({"warps": 2, "warp_registers": 4}, 4),
        ({"warps": 2, "warp_registers": 5}, 3),
        ({"shared": 16}, 4),
        ({"shared": 17}, 3),
        ({"warps": 1, "warp_registers": 8, "shared": 22}, 2),
    ],
)
@pytest.mark.rule("resource_ranges", 2, 6)
def test_a_row_grows_to_the_last_unit_of_the_scarcer_resource(play, size, most):
    seen = play(blocks(4), 20, sizes=({"warps": 1} | size, {}))
    registers = size.get("warps", 1) * size.get("warp_registers", 0)
    shared = size.get("shared", 0)
    assert [block[1:] for block in ranges_of(seen)] == [
        (n, n * registers, n * shared) for n in range(most)
    ]
    assert bool(seen.cycles("held_back")) == (most < 4)


@pytest.mark.rule("resource_ranges", 4)
def test_a_freed_range_is_given_from_two_cycles_after_the_report_on(play):
    """Three blocks fill the row; the fourth waits in *measured* from 7 on. Slot 1 ends in 10."""
    seen = play(blocks(4), 20, sizes=({"shared": 20}, {}), reports={10: 1})
    assert ranges_of(seen)[3] == (10 + FREED + 1, 3, 0, 20)
    assert seen.cycles("held_back") == list(range(8, 10 + FREED + 1))


@pytest.mark.rule("resource_ranges", 2, 4)
def test_the_range_that_was_freed_last_is_given_first(play):
    offers = [*blocks(3), *blocks(3)]
    reports = {10: 1, 11: 0, 12: 2}
    seen = play(offers, 40, sizes=({"shared": 20}, {}), reports=reports, hold=range(5, 20))
    assert [block[1:] for block in ranges_of(seen)[3:]] == [(0, 0, 40), (1, 0, 0), (2, 0, 20)]


@pytest.mark.rule("resource_ranges", 2, 4)
def test_a_block_takes_the_old_top_while_another_range_is_freed(play):
    """Slot 0 is free from 12 on. The next block leaves in 14, at whose end slot 1's is pushed."""
    offers = [*blocks(3), offer(0, 3), offer(0, 0)]
    reports = {10: 0, 13: 1}
    hold = [*range(5, 12), *range(13, 20)]
    seen = play(offers, 40, sizes=({"shared": 20}, {}), reports=reports, hold=hold)
    assert ranges_of(seen)[3:] == [(15, 3, 0, 0), (23, 0, 0, 20)]
    assert seen.cycles("held_back") == []


def test_a_report_in_the_cycle_of_the_transfer_at_o_frees_the_range(play):
    seen = play([offer(0, 0), offer(0, 1)], 30, sizes=({"shared": 64}, {}), reports={5: 0})
    assert ranges_of(seen) == [(5, 0, 0, 0), (8, 1, 0, 0)]


@pytest.mark.rule("resource_ranges", 2, 4)
def test_a_killed_block_goes_on_without_ranges_and_its_report_frees_nothing(play):
    """Slot 1 is killed: three blocks get ranges, and the last block finds no free one."""
    offers = [offer(0, 0), offer(1, 1), offer(0, 2), offer(0, 3), offer(0, 1)]
    seen = play(
        offers,
        40,
        sizes=({"shared": 20}, {"shared": 20}),
        reports={12: 1},
        killed=(2, range(30)),
        hold=range(6, 20),
    )
    given = [block[1:] for block in ranges_of(seen)]
    assert given == [(0, 0, 0), (1, 0, 0), (2, 0, 20), (3, 0, 40)]
    assert seen.cycles("held_back") == list(range(23, 40))


def test_a_killed_block_needs_no_change(play):
    """B's size is another one than the row's. B leaves in the first cycle all the same."""
    offers = [offer(0, 0), offer(0, 1), offer(1, 2), offer(0, 3)]
    seen = play(offers, 14, killed=(2, range(14)), sizes=({"shared": 20}, {"shared": 60}))
    assert ranges_of(seen)[2:] == [(7, 2, 0, 0), (8, 3, 0, 40)]
    assert seen.cycles("held_back") == []


@pytest.mark.rule("resource_ranges", 2, 6)
def test_a_kill_lets_a_held_block_go_on(play):
    """A2 is in *measured* from 6 on; its stream is killed in 11."""
    seen = play(blocks(3), 20, sizes=({"shared": 30}, {}), killed=(1, range(11, 20)))
    assert ranges_of(seen)[2] == (13, 2, 0, 0)
    assert seen.cycles("held_back") == list(range(7, 13))


def test_a_killed_block_waits_for_room_in_placed_and_changes_nothing(play):
    """A and B stand in *placed* and *measured*; C has A's size and finds A's row."""
    seen = play(
        [offer(0, 0), offer(1, 1), offer(0, 2)], 20, killed=(2, range(20)), o_waits=range(9)
    )
    assert ranges_of(seen) == [(9, 0, 0, 0), (10, 1, 0, 0), (11, 2, 8, 20)]


@pytest.mark.rule("resource_ranges", 2, 3)
def test_a_killed_block_leaves_in_a_settling_cycle(play):
    """B's change is in 2, and its stream is killed from 2 on. A has the size: no change."""
    sizes = ({"shared": 20}, {"shared": 20})
    seen = play([offer(1, 0), offer(0, 1)], 10, sizes=sizes, killed=(2, range(2, 10)))
    assert ranges_of(seen) == [(4, 0, 0, 0), (5, 1, 0, 0)]


@pytest.mark.rule("resource_ranges", 6)
def test_a_block_is_not_held_back_in_a_settling_cycle(play):
    """B changes to row 1 in 14 and settles in 15. It has no room in 16, which shows in 17."""
    sizes = ({"shared": 40}, {"shared": 30})
    seen = play([offer(0, 0), offer(1, 1)], 20, sizes=sizes, hold=range(1, 12))
    assert seen.cycles("held_back") == [17, 18, 19]


def test_ready_is_1_a_cycle_after_the_kill(play):
    """A1 is held back and A2 waits in *arrived*. `kill` rises in 11: A1 leaves in 12."""
    seen = play(blocks(4), 16, sizes=({"shared": 40}, {}), killed=(1, range(11, 16)))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 1, 4, 12]


def test_launches_of_one_size_share_a_row(play):
    sizes = (EXAMPLE[0], {"warps": 4, "warp_registers": 2, "shared": 20})
    seen = play([offer(0, 0), offer(1, 1), offer(0, 2)], 10, sizes=sizes)
    assert ranges_of(seen) == [(5, 0, 0, 0), (6, 1, 8, 20), (7, 2, 16, 40)]


@pytest.mark.rule("resource_ranges", 3)
def test_a_row_without_blocks_begins_anew(play):
    """A's row is current and empty when B comes: B's ranges begin at unit 0 (3a)."""
    seen = play([offer(0, 0), offer(1, 1)], 30, reports={8: 0}, hold=range(1, 12))
    assert ranges_of(seen) == [(5, 0, 0, 0), (17, 1, 0, 0)]


@pytest.mark.rule("resource_ranges", 3, 5)
def test_a_change_in_the_cycle_before_the_row_is_empty_takes_the_other_row(play):
    """B is judged in t + 1 of A's report in t: `live` of row 0 is 1 in this cycle (3b)."""
    judged = 12 + 2
    seen = play([offer(0, 0), offer(1, 1)], 30, reports={judged - 1: 0}, hold=range(1, 12))
    assert ranges_of(seen)[1] == (17, 1, 31, 34)
    seen = play([offer(0, 0), offer(1, 1)], 30, reports={judged - 2: 0}, hold=range(1, 12))
    assert ranges_of(seen)[1] == (17, 1, 0, 0)


@pytest.mark.rule("resource_ranges", 3, 4, 5)
def test_a_range_freed_in_the_cycle_of_a_change_is_on_no_stack(play):
    """A0's range is free at the end of 14, in which B0 changes to row 1.

    B1 is in *measured* from 17 on: no range of row 0 is on its stack. A1 ends in 20: row 0 has no
    block then, as A0 is counted out, too.
    """
    offers = [*blocks(2), *blocks(2, stream=1, first=2)]
    sizes = ({"shared": 16}, {"shared": 24})
    seen = play(offers, 40, sizes=sizes, reports={13: 0, 20: 1}, hold=range(2, 12))
    assert ranges_of(seen)[2:] == [(17, 2, 32, 40), (24, 3, 32, 16)]
    assert seen.cycles("held_back") == list(range(18, 24))


THIRD = {"warps": 1, "warp_registers": 2, "shared": 10}


@pytest.mark.parametrize(("ends", "first"), [(0, (0, 0)), (1, (30, 54))], ids=["A", "B"])
@pytest.mark.rule("resource_ranges", 3, 5, 6)
def test_a_third_size_waits_until_a_row_has_no_blocks(play, ends, first):
    """A is out in row 0 and B in row 1. C is in *measured* from 14 on; A or B ends in 20 (3c)."""
    offers = [offer(0, 0), offer(1, 1), offer(0, 2)]
    seen = play(offers, 30, third=THIRD, reports={20: ends}, hold=range(2, 12))
    assert ranges_of(seen)[2] == (20 + FREED + CHANGE + 1, 2, *first)
    assert seen.cycles("held_back") == list(range(15, 20 + FREED + 1))
