"""What ResourceRanges keeps and what it does not look at, wrong rules among it."""

import pytest

from tb.sm_side import test_resource_ranges_rules as rules
from tb.sm_side.test_resource_ranges_rules import EXAMPLE, THIRD, blocks, offer, played, ranges_of
from tb.support.planted import Change
from tb.support.resettable import resettable
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.sm_side import ResourceRanges
from warploom_golden.sm_side import ResourceRanges as Model
from warploom_golden.sm_side.resource_ranges import Rows
from warploom_spec import BlockStatus

KINDS = pytest.mark.parametrize("kind", [ResourceRanges, Model], ids=["rtl", "model"])


@pytest.mark.rule("resource_ranges", 2, 4, 5, 6)
@KINDS
@pytest.mark.parametrize(("comes", "held"), [(5, 10), (20, 25)], ids=["before", "after"])
def test_a_row_reaches_as_far_as_ever_while_one_block_has_a_range_in_it(kind, comes, held):
    """A2 and A1, the last two of row 0, end in 14 and 16. A0 ends in 30, and B waits up to then.

    B comes before they end, when row 0 is no longer current, or after it.
    """
    ends, hold = {14: 2, 16: 1, 30: 0}, range(5, comes)
    seen = played(kind, [*blocks(3), offer(1, 3)], 40, reports=ends, hold=hold)
    assert ranges_of(seen)[3:] == [(34, 3, 31, 34)]
    assert seen.cycles("held_back") == list(range(held, 34))


@pytest.mark.rule("resource_ranges", 3)
@KINDS
def test_a_row_that_begins_anew_has_no_free_ranges(kind):
    """Both blocks of stream 0 have ended when those of stream 1 come: rule 3 (a)."""
    offers = [*blocks(2), *blocks(2, stream=1, first=2)]
    seen = played(kind, offers, 30, reports={8: 0, 9: 1}, hold=range(2, 20))
    assert ranges_of(seen)[2:] == [(25, 2, 0, 0), (26, 3, 1, 30)]


@pytest.mark.rule("resource_ranges", 2, 4)
@KINDS
def test_a_kill_takes_no_range_from_a_block_in_placed(kind):
    """A1 stands at `o` from 6 to 12; its stream is killed from 7 on, so A2 has no range.

    A1 is reported in 14. A block of the other stream and of the same size gets A1's range.
    """
    offers = [*blocks(3), offer(1, 3)]
    seen = played(
        kind,
        offers,
        30,
        sizes=({"shared": 20}, {"shared": 20}),
        killed=(1, range(7, 30)),
        o_waits=range(6, 12),
        reports={14: 1},
        hold=range(5, 20),
    )
    assert ranges_of(seen) == [(5, 0, 0, 0), (12, 1, 0, 20), (13, 2, 0, 0), (23, 3, 0, 20)]
    assert len(set(seen.port("o__payload")[6:13])) == 1


@pytest.mark.rule("resource_ranges", 4)
@KINDS
@pytest.mark.parametrize("status", [BlockStatus.FAULT, BlockStatus.KILLED, 3])
def test_a_range_is_free_however_its_block_ended(kind, status):
    seen = played(kind, blocks(2), 20, sizes=({"shared": 64}, {}), reports={10: 0}, status=status)
    assert ranges_of(seen) == [(5, 0, 0, 0), (13, 1, 0, 0)]


@pytest.mark.rule("resource_ranges", 2, 4)
@KINDS
def test_a_killed_block_does_not_free_the_range_of_the_block_before_it_in_its_slot(kind):
    """Slot 1's first block ends in 8; its next one, without a range, ends in 18.

    Two blocks more get two ranges: that of the first block, and the row's next.
    """
    offers = [offer(0, 1), offer(1, 1), offer(0, 2), offer(0, 3)]
    seen = played(
        kind,
        offers,
        40,
        sizes=({"shared": 20}, {"shared": 20}),
        reports={8: 1, 18: 1},
        killed=(2, range(40)),
        hold=[*range(1, 12), *range(13, 24)],
    )
    assert ranges_of(seen) == [(5, 1, 0, 0), (15, 1, 0, 0), (27, 2, 0, 0), (28, 3, 0, 20)]


@pytest.mark.rule("resource_ranges", 3, 4)
@KINDS
def test_live_stays_as_a_block_comes_and_another_one_ends(kind):
    """A1 leaves at the end of 6, at which A0, reported in 5, is counted out: one block is there.

    So B, judged in 14, takes row 1 (3b). A1 ends in 20: no block is there, and C takes row 0.
    """
    offers = [offer(0, 0), offer(0, 1), offer(1, 2), offer(0, 3)]
    seen = played(
        kind,
        offers,
        40,
        sizes=(EXAMPLE[0], {"shared": 20}),
        third=THIRD,
        reports={5: 0, 20: 1},
        hold=[1, 2, 3, *range(5, 12), *range(13, 30)],
    )
    assert ranges_of(seen) == [(5, 0, 0, 0), (7, 1, 8, 20), (17, 2, 32, 44), (35, 3, 0, 0)]


@pytest.mark.rule("resource_ranges", 1, 2, 3)
@KINDS
def test_a_size_is_that_of_the_words_in_the_cycle_of_the_transfer(kind):
    """A0 transfers in 7 and A1 in 8, from which on the words of their stream are others."""
    seen = played(kind, blocks(2), 20, third=THIRD, hold=range(7))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [7, 8]
    assert ranges_of(seen) == [(12, 0, 0, 0), (15, 1, 30, 54)]


@KINDS
def test_a_reset_forgets_blocks_rows_and_sizes(kind):
    """It comes in 20: both rows have blocks, B2 has ended, and A is in *measured*.

    Then a block of B's size comes. It needs a change, and its range is the first one of row 0.
    """
    offers = [*blocks(2), *blocks(2, stream=1, first=2), offer(0, 0), offer(1, 2)]
    seen = played(
        lambda config: resettable(kind(config)),
        offers,
        40,
        sizes=(EXAMPLE[0], {"warps": 1, "warp_registers": 1, "shared": 10}),
        reports={14: 2},
        hold=[*range(6, 18), *range(19, 25)],
        resets=[20],
    )
    placed = [(5, 0, 0, 0), (6, 1, 8, 20), (9, 2, 31, 54), (10, 3, 30, 44)]
    assert ranges_of(seen) == [*placed, (30, 2, 0, 0)]
    assert seen.cycles("held_back") == []


RESIZED = (
    'self._block(inputs | {"offer__payload": self._offer.pack(self._arrived.offer)})'
    " if self._arrived else None"
)
WITHOUT_RANGES = (
    "self._placed_block.pack((placed := self._placed_block.unpack(self._placed)) |"
    " dict.fromkeys(('registers_first', 'shared_first') * (inputs['kill'] >> placed['stream'] & 1)"
    ", 0))"
)
WRONG = {
    "a row that begins anew keeps its free ranges": WrongRule(
        test_a_row_that_begins_anew_has_no_free_ranges,
        (
            Change(
                ResourceRanges,
                "_place",
                "with m.If(change):\n        m.d.sync += some.eq(0)",
                "with m.If(change & lives.bit_select(current, 1)):\n        m.d.sync += some.eq(0)",
            ),
            Change(
                Rows,
                "change",
                "self._size, self._stack = size, []",
                "self._size = size\n"
                "    self._stack = [] if self._rows[1 - self._current].live else self._stack",
            ),
        ),
    ),
    "a killed block that stands at `o` loses its ranges": WrongRule(
        test_a_kill_takes_no_range_from_a_block_in_placed,
        (
            Change(
                ResourceRanges,
                "_place",
                "Mux(ranged, read",
                "Mux(ranged & ~self.kill.bit_select(self.o.payload.stream, 1), read",
            ),
            Change(
                Model,
                "outputs",
                '"o__payload": self._placed,',
                f'"o__payload": None if self._placed is None else {WITHOUT_RANGES},',
            ),
        ),
    ),
    "a block that was killed frees nothing": WrongRule(
        test_a_range_is_free_however_its_block_ended,
        (
            Change(
                ResourceRanges,
                "_free",
                "reported.eq(self.report_valid)",
                "reported.eq(self.report_valid & (self.report.status != 2))",
            ),
            Change(
                Model,
                "_reported",
                'if not inputs["report_valid"]:',
                'if not inputs["report_valid"] or '
                'self._report.unpack(inputs["report"])["status"] == 2:',
            ),
        ),
        (BlockStatus.KILLED,),
    ),
    "a report of a block without a range frees its slot's last one": WrongRule(
        test_a_killed_block_does_not_free_the_range_of_the_block_before_it_in_its_slot,
        (
            Change(ResourceRanges, "_free", "write.en.eq(leaves)", "write.en.eq(takes)"),
            Change(Model, "_reported", "self._range_of.pop(", "self._range_of.get("),
            Change(Model, "_place", "self._range_of.pop(slot, None)", "pass"),
        ),
    ),
    "a block that comes hides another one's end": WrongRule(
        test_live_stays_as_a_block_comes_and_another_one_ends,
        (
            Change(ResourceRanges, "_place", "m.If(up ^ down)", "m.If(up | down)"),
            Change(
                ResourceRanges,
                "_place",
                "down.replicate(len(count) - 1)",
                "(down & ~up).replicate(len(count) - 1)",
            ),
            Change(Rows, "free", "freed: Range)", "freed: Range, comes: bool)"),
            Change(Rows, "free", "live -= 1", "live -= not comes"),
            Change(
                Model,
                "tick",
                "self._rows.free(freed)",
                "self._rows.free(freed, bool(block and leaves and not killed))",
            ),
        ),
    ),
    "a size is that of the words in the next cycle": WrongRule(
        test_a_size_is_that_of_the_words_in_the_cycle_of_the_transfer,
        (
            Change(
                ResourceRanges,
                "_measure",
                "with m.If(self.offer.ready):\n                m.d.sync += part.eq(term)",
                "m.d.comb += part.eq(term)",
            ),
            Change(
                Model,
                "_move",
                "self._measured, self._arrived = self._arrived, None",
                f"self._measured, self._arrived = {RESIZED}, None",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (ResourceRanges, Model), rules, monkeypatch)
