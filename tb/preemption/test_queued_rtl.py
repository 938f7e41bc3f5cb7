"""The scenario of ``test_queued_every_cycle.py`` on LaunchPath's RTL: every event is the model's.

Offers, reports, answers, index decisions, put-backs, timelines and records, each with its cycle.
"""

import random

import pytest

from tb.preemption.queued_cycles import QueuedHost, difference, seen
from tb.preemption.queued_rtl import AmaranthPath, play_on_verilator
from tb.preemption.queued_script import run, slow
from tb.preemption.test_queued_every_cycle import (
    CONFIG,
    FIRST,
    LAST,
    MODES,
    QUICK,
    REPORT_TIMES,
    by_command,
    by_priority,
    faults,
)
from tb.support.deep_values import thorough_but
from tb.support.planted import plant
from warploom.launch.preemption import Preemption
from warploom_dev.rewrite import Rewrite
from warploom_golden.replay.event_constants import NEVER
from warploom_spec.queue import Mode

#: Cycles that the RTL is watched after the event model's last event.
BEYOND = 20


class Played:
    """A scenario that has run with the event model, and that the RTL is to play.

    Attributes
    ----------
    expected : dict
        What the event model says.
    host : QueuedHost
        The host and the SMs around the RTL.
    cycles : int
        Cycles to run.
    """

    def __init__(self, script, time):
        model = run(script, CONFIG, sm=slow(time))
        assert not faults(script, model)
        self.expected = seen(model, NEVER)
        self.host = QueuedHost(CONFIG, script, slow(time), 1)
        self.cycles = BEYOND + max(row[0] for table in self.expected.values() for row in table)

    def difference(self, rows):
        """Return the first difference from what was seen at the RTL's ports."""
        return difference(self.expected, rows, "RTL")


def scenarios(mode, cycles, rng):
    """Yield the scenario preempted in each of some cycles, by priority and by command."""
    for cycle in cycles:
        yield by_priority(mode, cycle)
        yield by_command(mode, cycle, rng.randint(cycle + 1, cycle + LAST))


@pytest.fixture(scope="module")
def path():
    """LaunchPath on Amaranth's simulator."""
    return AmaranthPath(CONFIG)


@pytest.mark.parametrize(("mode", "time"), thorough_but(QUICK[:1], QUICK))
def test_the_rtl_has_the_same_events(path, mode, time, seed):
    rng = random.Random(f"{seed} {mode}")
    for script in scenarios(mode, [rng.randrange(FIRST + 5, LAST)], rng):
        played = Played(script, time)
        assert played.difference(path.play(played.host, played.cycles)) is None, script.commands


@pytest.mark.deep
@pytest.mark.parametrize("mode", MODES)
def test_the_rtl_has_the_same_events_preempted_at_every_cycle(mode, seed, tmp_path):
    rng = random.Random(f"{seed} {mode}")
    runs = [
        (script, Played(script, time))
        for time in REPORT_TIMES
        for script in scenarios(mode, range(FIRST + 5, LAST), rng)
    ]
    hosts = [(played.host, played.cycles) for _, played in runs]
    for (script, played), rows in zip(
        runs, play_on_verilator(CONFIG, hosts, tmp_path), strict=True
    ):
        assert played.difference(rows) is None, script.commands


@pytest.mark.thorough
def test_rtl_with_a_wrong_rule_differs(monkeypatch):
    """The RTL kills launches that are not idempotent, too."""
    rule = "(self.mode <= Mode.RESET) & self.idempotent & (self.kills < queue_packets.MAX_KILLS)"
    wrong = rule.replace(" & self.idempotent", "")
    plant(monkeypatch, [Rewrite(Preemption, "elaborate", rule, wrong)])
    # Launch 2 runs when the urgent one comes, and ends a block in cycle 108.
    played = Played(by_priority(Mode.RESET, 98), 5)
    said = played.difference(AmaranthPath(CONFIG).play(played.host, played.cycles))
    assert said == "reports: (108, 1, 1, 0) in the event model alone"
