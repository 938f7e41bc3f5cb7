"""Worked examples of yielding launches, on the event model's dispatcher.

All SMs of the event model are in use, so example A, which begins with one of two, is not here.
"""

from dataclasses import replace

import pytest

from tb.preemption.script import TINY, kernel
from warploom_golden.preemption.streams.event_launch import StopCode
from warploom_golden.preemption.streams.stopped_dispatcher import StoppedDispatcher
from warploom_golden.replay.event_sms import hold
from warploom_spec import Fate, timing

CONFIG = replace(TINY, policy="first_fit")
#: Cycle of the first launch's transfer; the page's cycle 0.
FIRST = timing(CONFIG).boot + 10
LONG = 1 << 20
WHOLE = {"barriers": 4}


class Scripted(StoppedDispatcher):
    """Blocks end in cycles that a test gives, by launch and block; all others run on."""

    def __init__(self):
        super().__init__(CONFIG, 1, log=256)
        self.reports_at = {}

    def _make_ready(self, number):
        super()._make_ready(number)
        self._lengths[:] = LONG


class Run:
    """Low launch in place 0, urgent one in place 1; cycles are the page's."""

    def __init__(self, *launches, stops=(), reports=(), until=120):
        self.dispatcher = Scripted()
        self.yields, self.started, self.ends = {0: [], 1: []}, {0: None, 1: None}, []
        for cycle in range(until):
            now = FIRST + cycle
            for at, place, launch, yields in launches:
                if at == cycle:
                    self.dispatcher.hand_over(now, place, launch, place + 1, yields=yields)
            for at, place, stop in stops:
                if at == cycle:
                    self.dispatcher.stop_place(now, place, stop)
            for at, sm, slot in reports:
                if at == cycle:
                    self._report(now, sm, slot)
            for place in (0, 1):
                if self.dispatcher.yields(place):
                    self.yields[place].append(cycle)
            _, end, _ = self.dispatcher.advance(now, now + 1)
            if end is not None:
                self.ends.append((cycle + 1, end.place, end.fate, end.next_block))
        for place in (0, 1):
            at = self.dispatcher.started(place)
            self.started[place] = None if at is None else at - FIRST

    def _report(self, now, sm, slot):
        """Let a block be due in this cycle."""
        hold.py_func(self.dispatcher._state, sm, slot, now)

    @property
    def offers(self):
        """(cycle, SM, place, block) of each offer."""
        rows = self.dispatcher.offers.T.tolist()
        return [(cycle - FIRST, sm, ticket - 1, block) for cycle, sm, _, ticket, block in rows]

    def decided(self, place):
        """(cycle, SM) of each decision of a place."""
        return [(cycle - 2, sm) for cycle, sm, theirs, _ in self.offers if theirs == place]


def low(at, blocks, *, yields=True, **fields):
    return at, 0, kernel(0, blocks, 4, **fields), yields


def urgent(at, blocks, *, yields=False, **fields):
    fields = {"stream": 1, "priority": 3} | fields
    return at, 1, kernel(1, blocks, 4, **fields), yields


def span(first, last):
    return list(range(first, last + 1))


def test_before_its_first_walk():
    run = Run(low(0, 9), urgent(1, 2))
    assert [cycle for cycle, _ in run.decided(1)] == [5, 6]
    assert run.yields[0] == span(3, 7)
    assert run.decided(0) == [(28, 0), (29, 1), (31, 0), (32, 1), (34, 0), (35, 1)]
    assert run.started[0] == 30


def test_between_given_and_head():
    run = Run(low(0, 9), urgent(2, 1))
    assert run.decided(1) == [(6, 0)]
    assert run.yields[0] == span(4, 7)
    assert run.decided(0)[0] == (9, 1)


def test_skip_of_a_launch_that_was_interrupted():
    stops = [(10, 0, StopCode.SKIP)]
    run = Run(low(0, 9), urgent(2, 9, **WHOLE), stops=stops)
    assert run.ends == [(15, 0, Fate.SKIPPED, 0)]
    assert run.yields[0] == span(4, 12)
    assert not run.decided(0)


def test_skip_of_a_head():
    run = Run(low(0, 9), stops=[(3, 0, StopCode.SKIP)])
    assert run.ends == [(11, 0, Fate.SKIPPED, 0)] and not run.offers


def test_skip_that_comes_with_the_first_block():
    stands = Run(low(0, 9), stops=[(4, 0, StopCode.SKIP)])
    assert stands.offers == Run(low(0, 9)).offers
    assert [row[:2] for row in stands.offers[:3]] == [(6, 0), (7, 1), (9, 0)]
    assert stands.started[0] == 6


def test_drain_of_a_head():
    run = Run(low(0, 9), stops=[(3, 0, StopCode.DRAIN)])
    assert [cycle for cycle, _ in run.decided(0)] == [4, 5]


def test_drain_and_skip_of_a_head():
    run = Run(low(0, 9), stops=[(2, 0, StopCode.DRAIN), (3, 0, StopCode.SKIP)])
    assert run.ends == [(10, 0, Fate.SKIPPED, 0)]


def test_skip_of_a_launch_that_waits():
    second = urgent(1, 9, priority=0, **WHOLE)
    run = Run(low(0, 9, **WHOLE), second, stops=[(20, 1, StopCode.SKIP)])
    assert run.ends == [(25, 1, Fate.SKIPPED, 0)]


def test_drain_while_it_yields():
    stops, reports = [(20, 0, StopCode.DRAIN)], [(30, 0, 0), (40, 1, 0)]
    run = Run(low(0, 9, **WHOLE), urgent(6, 2, **WHOLE), stops=stops, reports=reports)
    assert run.decided(0) == [(4, 0), (5, 1)]
    assert run.yields[0] == span(8, 22)
    assert run.decided(1) == [(34, 0), (44, 1)]
    assert run.ends == [(46, 0, Fate.DRAINED, 2)]


def test_the_urgent_launch_is_drained():
    stops, reports = [(30, 1, StopCode.DRAIN)], [(20, 0, 0), (36, 1, 0)]
    run = Run(low(0, 9, **WHOLE), urgent(6, 9, **WHOLE), stops=stops, reports=reports)
    assert run.decided(1) == [(24, 0)]
    assert run.yields[0] == span(8, 32)
    assert run.decided(0) == [(4, 0), (5, 1), (40, 1)]
    assert run.offers[-1] == (42, 1, 0, 2)


@pytest.mark.parametrize(
    ("yields", "second", "decided"),
    [
        (True, {"priority": 0}, [(23, 0)]),
        (False, {}, [(23, 0)]),
        (True, {"stream": 0}, []),
    ],
    ids=["same priority", "does not yield", "held by order"],
)
def test_nobody_yields(yields, second, decided):
    run = Run(low(0, 3, yields=yields), urgent(2, 1, **second))
    assert [cycle for cycle, _ in run.decided(0)] == [4, 5, 7]
    assert run.yields == {0: [], 1: []}
    # The fit beside the low launch's blocks is known in 2 + 9 + 2 x 4 + 4.
    assert run.decided(1) == decided
