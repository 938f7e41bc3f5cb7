"""What ResourceRanges keeps and what it does not look at, wrong rules among it."""

import functools

import pytest

from tb.sm_side import test_resource_ranges_rules as rules
from tb.sm_side.test_resource_ranges_rules import blocks, cells, offer, played, shared_of
from tb.support.planted import Change
from tb.support.resettable import resettable
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.sm_side import ResourceRanges
from warploom.sm_side._cell_runs import CellRuns
from warploom_golden.sm_side import ResourceRanges as Model
from warploom_golden.sm_side import resource_ranges as model_file
from warploom_spec import BlockStatus

KINDS = pytest.mark.parametrize("kind", [ResourceRanges, Model], ids=["rtl", "model"])


@pytest.mark.rule("resource_ranges", 3, 4)
@KINDS
def test_a_killed_block_goes_on_without_cells_and_its_report_frees_nothing(kind):
    """Slot 1's first block has cells 0 to 2 and ends in 20; its next one is killed, and ends in 40.

    Of the blocks of three cells that come in between, one gets cells 0 to 2. So the last one, of
    three cells, finds none after 40.
    """
    offers = [*blocks(1), *blocks(2), offer(1, 1), *blocks(0), *blocks(3)]
    seen = played(
        kind,
        offers,
        70,
        sizes=(cells(3), cells(3)),
        reports={20: 1, 40: 1},
        killed=(2, range(70)),
        hold=[*range(2, 24), *range(25, 30), *range(31, 44)],
    )
    assert [(slot, first) for _, slot, first in shared_of(seen)] == [
        (1, 0),
        (2, 3),
        (1, 0),
        (0, 0),
    ]
    assert seen.cycles("held_back") == list(range(50, 70))


@pytest.mark.rule("resource_ranges", 3)
@KINDS
@pytest.mark.parametrize("kill", range(4, 12))
def test_a_kill_ends_a_search_or_a_marking_in_the_next_cycle(kind, kill):
    """B, of three cells, is in *measured* from 5 on. Its run is found in 8; it leaves in 11.

    A block of the other stream, behind B, finds the cells that a killed B does not take.
    """
    offers = [*blocks(0), offer(1, 1), *blocks(2)]
    seen = played(kind, offers, 40, sizes=(cells(1), cells(3)), killed=(2, range(kill, 40)))
    killed = kill < 11
    leaves = kill + 1 if killed else 11
    first, behind = (0, 1) if killed else (1, 4)
    assert shared_of(seen)[1:] == [(leaves + 1, 1, first), (leaves + 4, 2, behind)]


@pytest.mark.rule("resource_ranges", 3, 5)
@KINDS
def test_a_kill_lets_a_block_go_on_that_is_held_back(kind):
    """A1, of five cells, finds none from 18 on. Its stream is killed in 27."""
    seen = played(
        kind,
        blocks(0, 1, 2),
        40,
        sizes=(cells(5), {}),
        killed=(1, range(27, 40)),
        o_waits=range(20),
    )
    assert shared_of(seen) == [(20, 0, 0), (29, 1, 0), (30, 2, 0)]
    assert seen.cycles("held_back") == list(range(19, 29))


@pytest.mark.rule("resource_ranges", 3)
@KINDS
def test_a_kill_takes_no_cells_from_a_block_in_placed(kind):
    """A0 stands at `o` to 20; its stream is killed from 7 on, so A1 has no cells.

    A0's cells stay taken: a block of the other stream gets the next ones.
    """
    seen = played(
        kind,
        [*blocks(0, 1), offer(1, 2)],
        40,
        sizes=(cells(1), cells(1)),
        killed=(1, range(7, 40)),
        o_waits=range(20),
    )
    assert shared_of(seen) == [(20, 0, 0), (21, 1, 0), (24, 2, 1)]


@pytest.mark.rule("resource_ranges", 4)
@KINDS
@pytest.mark.parametrize("status", [BlockStatus.FAULT, BlockStatus.KILLED, 3])
def test_cells_are_free_however_their_block_ended(kind, status):
    seen = played(kind, blocks(0, 1), 60, sizes=(cells(8), {}), reports={25: 0}, status=status)
    assert shared_of(seen) == [(19, 0, 0), (44, 1, 0)]


@pytest.mark.rule("resource_ranges", 4)
@KINDS
def test_a_report_in_the_cycle_of_the_transfer_at_o_frees_the_cells(kind):
    seen = played(kind, blocks(0, 1), 30, sizes=(cells(1), {}), hold=range(1, 5), reports={5: 0})
    assert shared_of(seen) == [(5, 0, 0), (10, 1, 0)]


@pytest.mark.rule("resource_ranges", 1, 2)
@KINDS
def test_a_size_is_that_of_the_words_in_the_cycle_of_the_transfer(kind):
    """A0 transfers in 7 and A1 in 8, from which on the words of their stream are others."""
    sizes = ({0: cells(1), 8: cells(3)}, {})
    seen = played(kind, blocks(0, 1), 30, sizes=sizes, hold=range(7))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [7, 8]
    assert shared_of(seen) == [(12, 0, 0), (19, 1, 1)]


@KINDS
def test_a_reset_forgets_blocks_and_cells(kind):
    """It comes in 20: blocks have six cells, and a search for a third one is on."""
    offers = [*blocks(0, 1, 2), offer(0, 0)]
    seen = played(
        lambda config: resettable(kind(config)),
        offers,
        50,
        sizes=(cells(3), {}),
        hold=range(10, 25),
        resets=[20],
    )
    assert shared_of(seen) == [(9, 0, 0), (16, 1, 3), (34, 0, 0)]
    assert seen.cycles("held_back") == [20]


def _finds_the_lowest_run(kind):
    rules.test_the_lowest_run_that_is_long_enough_is_found(functools.partial(played, kind))


WRONG = {
    "a killed block that is found takes its cells": WrongRule(
        test_a_kill_ends_a_search_or_a_marking_in_the_next_cycle,
        (
            Change(ResourceRanges, "elaborate", "takes.eq(found & ~killed)", "takes.eq(found)"),
            Change(
                Model,
                "tick",
                "NO_RUNS if self._kill_of_measured() or not found",
                "NO_RUNS if not found or found[1]",
            ),
        ),
        (10,),
    ),
    "a block that was killed frees nothing": WrongRule(
        test_cells_are_free_however_their_block_ended,
        (
            Change(
                ResourceRanges,
                "_remember",
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
    "a report of a block without cells frees its slot's last ones": WrongRule(
        test_a_killed_block_goes_on_without_cells_and_its_report_frees_nothing,
        (
            Change(ResourceRanges, "_remember", "write.en.eq(leaves)", "write.en.eq(takes)"),
            Change(Model, "_reported", "self._runs_of.pop(", "self._runs_of.get("),
            Change(
                Model,
                "_place",
                'self._runs_of[block.offer["slot"]] = given',
                'self._runs_of.update({block.offer["slot"]: given} if any(given) else {})',
            ),
        ),
    ),
    "the highest run is found": WrongRule(
        _finds_the_lowest_run,
        (
            Change(
                CellRuns,
                "elaborate",
                "starts & (~starts + 1)[: len(starts)]",
                "(lambda s: (s & (~s + 1)[: len(s)])[::-1])(starts[::-1])",
            ),
            Change(
                model_file,
                "_first_run",
                "for first in range(len(free) - size + 1):",
                "for first in reversed(range(len(free) - size + 1 if size else 1)):",
            ),
        ),
    ),
    "a size is that of the words in the next cycle": WrongRule(
        test_a_size_is_that_of_the_words_in_the_cycle_of_the_transfer,
        (
            Change(
                ResourceRanges,
                "_cells",
                "with m.If(self.offer.ready):\n            m.d.sync += part.eq(term)",
                "m.d.comb += part.eq(term)",
            ),
            Change(
                Model,
                "_move",
                "self._measured, self._arrived = self._arrived, None",
                "self._measured, self._arrived = "
                'self._block(inputs | {"offer__payload": self._offer.pack(self._arrived.offer)})'
                " if self._arrived else None, None",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (ResourceRanges, Model), rules, monkeypatch)
