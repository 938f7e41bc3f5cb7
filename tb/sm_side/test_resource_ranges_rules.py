"""ResourceRanges, RTL and model: the cycles of its page and of each rule."""

import functools

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.record import Sender, made, record
from tb.support.sm_side_tables import NONE, named, packed, rows_of
from warploom.sm_side import ResourceRanges
from warploom_golden.sm_side import ResourceRanges as Model
from warploom_spec import layouts, sm_packets, timing
from warploom_spec.resident_packets import resident_block

#: Eight cells of registers and of shared memory; the page's example has four.
EIGHT = config_of("tiny,register_cell=4,shared_cell=8")
FOUR = config_of("tiny,register_cell=8,shared_cell=16")
RANGES = timing(EIGHT).ranges
CELL = timing(EIGHT).ranges_cell
FREED = timing(EIGHT).ranges_freed


def offer(stream, slot, **fields):
    return packed(resident_block(EIGHT), stream=stream, slot=slot, **fields)


def blocks(*slots, stream=0):
    return [offer(stream, slot) for slot in slots]


def cells(count):
    """Return a size of so many cells of shared memory in `EIGHT`."""
    return {"shared": 8 * count}


def played(
    block_of,
    offers,
    cycles,
    *,
    sizes,
    config=EIGHT,
    reports=(),
    killed=(0, ()),
    hold=(),
    o_waits=(),
    status=0,
    resets=(),
):
    """Run the block.

    `sizes` are those of the streams, each a size or sizes by their first cycle. `reports` are slots
    by cycle, all with one status. `killed` is the level of `kill`, and its cycles. `resets` are
    cycles with a reset of a resettable block.
    """
    reports = dict(reports)

    def words(stream, cycle):
        size = sizes[stream]
        if 0 in size:
            size = size[max(since for since in size if since <= cycle)]
        return packed(layouts.launch_words(config), **size)

    def inputs(cycle):
        slot = reports.get(cycle, 0)
        waiting = sender.waiting["offer"]
        return {
            "words": words(unpack(waiting[0])["stream"] if waiting else 0, cycle),
            "kill": killed[0] if cycle in killed[1] else 0,
            "report": packed(layouts.block_report(config), slot=slot, status=status),
            "report_valid": int(cycle in reports),
            "offer__hold": int(cycle in hold),
            "o__ready": int(cycle not in o_waits),
            "reset_now": int(cycle in resets),
        }

    unpack = resident_block(config).unpack
    sender = Sender({"offer": offers}, inputs)
    return record(made(block_of, config), sender, cycles)


def ranges_of(seen):
    """Return cycle, slot and both first units of each block that transfers at `o`."""
    placed = sm_packets.placed_block(EIGHT)
    found = [(cycle, placed.unpack(word)) for cycle, word in seen.transfers("o")]
    return [(c, b["slot"], b["registers_first"], b["shared_first"]) for c, b in found]


def shared_of(seen):
    """Return cycle, slot and first cell of shared memory of each block that transfers at `o`."""
    return [(cycle, slot, shared // 8) for cycle, slot, _, shared in ranges_of(seen)]


@pytest.fixture(params=[ResourceRanges, Model], ids=["rtl", "model"])
def play(request):
    """Return `played` of the RTL and of the model."""
    return functools.partial(played, request.param)


PAGE = """
    offer            A0 A1 A2 A2 A2  .  .  .  .  B  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .
    offer.ready       1  1  0  0  1  0  0  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1  1
    o                 .  .  .  .  . A0  .  . A1  .  . A2  .  .  .  .  .  .  .  .  .  .  .  .  B
    registers_first   .  .  .  .  .  0  .  .  8  .  . 16  .  .  .  .  .  .  .  .  .  .  .  .  0
    shared_first      .  .  .  .  .  0  .  . 16  .  . 32  .  .  .  .  .  .  .  .  .  .  .  .  0
    report            .  .  .  .  .  .  .  .  . A1  .  .  .  .  .  . A0  .  .  .  .  .  .  .  .
    held_back         .  .  .  .  .  .  .  .  .  .  .  .  .  .  *  *  *  *  *  *  *  *  .  .  .
"""
EXAMPLE = (
    {"warps": 2, "warp_registers": 4, "shared": 12},
    {"warps": 1, "warp_registers": 1, "shared": 20},
)


@pytest.mark.rule("resource_ranges", 1, 2, 3, 4, 5)
def test_the_page_s_cycles(play):
    table = rows_of(PAGE)
    slots = {"A0": 0, "A1": 1, "A2": 2, "B": 3}
    offers = {name: offer(int(name == "B"), slot) for name, slot in slots.items()}
    reports = {c: slots[name] for c, name in enumerate(table["report"]) if name != NONE}
    seen = play(
        list(offers.values()), 25, sizes=EXAMPLE, config=FOUR, reports=reports, hold=range(5, 9)
    )
    names = {word: name for name, word in offers.items()}
    assert named(seen.port("offer__payload"), seen.port("offer__valid"), names) == table["offer"]
    assert [str(ready) for ready in seen.port("offer__ready")] == table["offer.ready"]
    assert ["*" if held else NONE for held in seen.port("held_back")] == table["held_back"]
    found = {cycle: block for cycle, *block in ranges_of(seen)}
    for cycle in range(25):
        shown = [table[row][cycle] for row in ("o", "registers_first", "shared_first")]
        if cycle not in found:
            assert shown == [NONE] * 3
        else:
            slot, *firsts = found[cycle]
            assert shown == [list(slots)[slot], *map(str, firsts)]


def test_the_offer_s_fields_go_on_as_they_are(play):
    given = {"bx": 7, "by": 6, "bz": 5, "entry": 3, "index_address": 33, "warps": 2}
    seen = play([offer(0, 1, **given)], 8, sizes=({}, {}))
    ((_, word),) = seen.transfers("o")
    block = sm_packets.placed_block(EIGHT).unpack(word)
    assert {name: block[name] for name in given} == given


# Search


@pytest.mark.rule("resource_ranges", 2, 3)
@pytest.mark.parametrize(
    ("size", "n"),
    [
        ({}, 1),
        ({"shared": 1}, 1),
        ({"shared": 8}, 1),
        ({"shared": 9}, 2),
        ({"warps": 3, "warp_registers": 3}, 3),
        ({"warps": 1, "warp_registers": 8, "shared": 40}, 5),
        ({"warps": 4, "warp_registers": 8, "shared": 1}, 8),
    ],
    ids=str,
)
def test_a_block_takes_two_cycles_for_each_cell_of_its_larger_size(play, size, n):
    assert (RANGES, CELL) == (5, 2)
    seen = play(blocks(0), 40, sizes=(size, {}))
    assert shared_of(seen) == [(5 + 2 * (n - 1), 0, 0)]


@pytest.mark.rule("resource_ranges", 2)
def test_blocks_of_n_cells_go_through_one_in_2_n_plus_1_cycles(play):
    seen = play(blocks(0, 1, 2, 3), 40, sizes=(cells(2), {}))
    assert shared_of(seen) == [(7, 0, 0), (12, 1, 2), (17, 2, 4), (22, 3, 6)]


@pytest.mark.rule("resource_ranges", 2)
def test_a_size_of_0_takes_no_cell(play):
    """All cells are taken by the first block. The next ones need none."""
    seen = play([offer(0, 0), *blocks(1, 2, stream=1)], 40, sizes=(cells(8), {}))
    assert shared_of(seen) == [(19, 0, 0), (22, 1, 0), (25, 2, 0)]
    assert seen.cycles("held_back") == []


@pytest.mark.rule("resource_ranges", 2, 3)
def test_the_lowest_run_that_is_long_enough_is_found(play):
    """Blocks of 1, 2, 1 and 3 cells lie at 0, 1, 3 and 4; the first two of them end.

    The next block, of 2 cells, fits at 0.
    """
    one, two, three = cells(1), cells(2), cells(3)
    sizes = ({0: one, 30: two}, {0: two, 10: one, 14: three})
    offers = [offer(0, 0), offer(1, 1), offer(1, 2), offer(1, 3), offer(0, 0)]
    hold = [*range(2, 10), *range(11, 14), *range(15, 40)]
    seen = play(offers, 60, sizes=sizes, hold=hold, reports={31: 0, 33: 1})
    assert [(slot, first) for _, slot, first in shared_of(seen)] == [
        (0, 0),
        (1, 1),
        (2, 3),
        (3, 4),
        (0, 0),
    ]


@pytest.mark.rule("resource_ranges", 2)
def test_each_resource_has_a_run_of_its_own(play):
    """A takes the first cells of registers alone, B's registers lie behind them."""
    sizes = ({"warps": 1, "warp_registers": 12}, {"warps": 1, "warp_registers": 4, "shared": 8})
    seen = play([offer(0, 0), offer(1, 1)], 30, sizes=sizes)
    assert [block[1:] for block in ranges_of(seen)] == [(0, 0, 0), (1, 12, 0)]


@pytest.mark.rule("resource_ranges", 2)
@pytest.mark.parametrize(
    ("size", "most"),
    [
        ({"warps": 2, "warp_registers": 4}, 4),
        ({"warps": 3, "warp_registers": 3}, 2),
        ({"shared": 16}, 4),
        ({"shared": 17}, 2),
        ({"warps": 1, "warp_registers": 8, "shared": 32}, 2),
    ],
    ids=str,
)
def test_blocks_lie_side_by_side_to_the_last_cell_of_the_scarcer_resource(play, size, most):
    seen = play(blocks(0, 1, 2, 3), 60, sizes=({"warps": 1} | size, {}))
    assert [slot for _, slot, *_ in ranges_of(seen)] == list(range(most))
    assert bool(seen.cycles("held_back")) == (most < 4)


@pytest.mark.rule("resource_ranges", 2)
def test_the_units_behind_the_last_whole_cell_are_not_given(play):
    """Seven cells of eight units, and five units more."""
    config = config_of("tiny,register_cell=4,shared_cell=8,shared_units=61")
    seen = play(blocks(0, 1), 40, sizes=({"shared": 28}, {}), config=config)
    assert shared_of(seen) == [(11, 0, 0)]
    assert seen.cycles("held_back")


@pytest.mark.rule("resource_ranges", 2, 4, 5)
def test_cells_that_are_freed_count_for_searches_that_begin_two_cycles_later(play):
    """A has cells 0 to 3, B needs five. Its searches begin in 11, 16, 21 and 26."""
    assert FREED == 2
    for report, begins in ((14, 16), (15, 21), (19, 21), (20, 26)):
        sizes = (cells(4), cells(5))
        seen = play([offer(0, 0), offer(1, 1)], 50, sizes=sizes, reports={report: 0})
        assert shared_of(seen)[1] == (begins + 2 * 5 + 1, 1, 0)
        assert seen.cycles("held_back") == list(range(17, begins + 6))


# How long a block waits


@pytest.mark.rule("resource_ranges", 2, 5)
def test_blocks_of_one_size_fill_holes_and_never_wait(play):
    """Four blocks of two cells; two that are not neighbours end, and two more come."""
    offers = [*blocks(0, 1, 2, 3), *blocks(2, 0)]
    hold = range(13, 40)
    seen = play(offers, 60, sizes=(cells(2), {}), hold=hold, reports={30: 2, 31: 0})
    assert shared_of(seen)[4:] == [(47, 2, 0), (52, 0, 4)]
    assert seen.cycles("held_back") == []


@pytest.mark.rule("resource_ranges", 2, 5)
def test_a_block_waits_for_ever_beside_one_that_never_ends(play):
    """The page's case: a block of one cell stands in cell 3, and one of five cells comes."""
    sizes = (cells(3), {0: cells(1), 20: cells(5)})
    offers = [offer(0, 0), offer(1, 1), offer(1, 2)]
    seen = play(offers, 400, sizes=sizes, hold=range(2, 24), reports={20: 0})
    assert [(slot, first) for _, slot, first in shared_of(seen)] == [(0, 0), (1, 3)]
    assert seen.cycles("held_back") == list(range(32, 400))


@pytest.mark.rule("resource_ranges", 1, 2)
def test_a_small_block_behind_one_that_waits_waits_too(play):
    """B of three cells waits in front of C of one cell, for which there is room."""
    sizes = ({0: cells(3), 12: cells(1)}, cells(3))
    offers = [offer(0, 0), offer(0, 1), offer(1, 2), offer(0, 3)]
    seen = play(offers, 80, sizes=sizes, hold=[*range(2, 13), 14], reports={50: 0})
    order = [slot for _, slot, _ in shared_of(seen)]
    assert order == [0, 1, 2, 3]
    assert shared_of(seen)[2][0] > 50


# Stages


@pytest.mark.rule("resource_ranges", 1, 3)
def test_three_blocks_wait_while_o_takes_none(play):
    """The fourth one is refused until the cycle in which `o` transfers: rule 1."""
    seen = play(blocks(0, 1, 2, 3), 22, sizes=(cells(1), {}), o_waits=range(12))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 1, 4, 12]
    assert [cycle for cycle, *_ in ranges_of(seen)] == [12, 13, 16, 19]
    assert seen.port("o__valid")[4:13] == [0, *[1] * 8]
    assert len(set(seen.port("o__payload")[5:13])) == 1


@pytest.mark.rule("resource_ranges", 2, 3)
def test_a_search_needs_no_room_in_placed(play):
    """A stands at `o` to 20; B, of three cells, has its run by then, and stands at `o` in 21."""
    seen = play([offer(0, 0), offer(1, 1)], 30, sizes=(cells(1), cells(3)), o_waits=range(20))
    assert shared_of(seen) == [(20, 0, 0), (21, 1, 1)]


@pytest.mark.rule("resource_ranges", 5)
def test_held_back_does_not_ask_for_room_in_placed(play):
    """A1 finds no run in 15, while A0 still stands at `o`."""
    seen = play(blocks(0, 1), 40, sizes=(cells(5), {}), o_waits=range(30))
    assert seen.cycles("held_back") == list(range(19, 40))
