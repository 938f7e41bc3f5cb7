"""A soft reset of LaunchPath in every cycle of a short scenario, of RTL and model alike."""

from dataclasses import replace
from functools import partial

import pytest

from tb.support.path_rules import (
    FINE,
    LAUNCH,
    LOST,
    RTL_AND_MODEL,
    SINGLE,
    SKIPPED,
    TINY,
    Bus,
    answers,
    path_run,
    records,
)
from tb.support.record import made, record
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import Fate
from warploom_spec.host_errors import HostError

#: A short time-out, so that a silent SM is lost soon.
SHORT = replace(TINY, kill_timeout=16)
#: The scenario: three launches; the first one's blocks end before the last launch is placed.
SCENARIO = [LAUNCH, SINGLE, replace(LAUNCH, grid=(3, 1, 1))]
CYCLES = 60
#: Cycles from the end of a reset to the launch that follows it, and how long that one is watched.
PAUSE, WATCHED = 8, 45
#: What a launch does at the ports, tickets aside.
PORTS = (
    *("kill", "room", "decided_valid", "written_valid", "stall_order", "stall_slots"),
    *("error_count", "dispatch_error_count", "index_error_count", "idle"),
    *(f"offer__{n}__valid" for n in range(TINY.sms)),
)


#: Payloads that count while another port is 1.
PAYLOADS = {
    "decided": "decided_valid",
    **{f"offer__{n}__payload": f"offer__{n}__valid" for n in range(TINY.sms)},
}


def valid_ones(seen, port, valid):
    """Return a port's values, None where they mean nothing."""
    pairs = zip(seen.port(port), seen.port(valid), strict=True)
    return [value if counts else None for value, counts in pairs]


class ResetAt(Bus):
    """The scenario, a soft reset that begins in one cycle, and one more launch after it.

    Parameters
    ----------
    at : int
        First cycle with ``soft_reset_active`` = 1; -1: none, and the last launch alone is sent.
    silent : int or None
        An SM that never reports.
    config : Config
        The machine.
    length : int
        Cycles of a block.
    """

    def __init__(self, at, silent=None, config=SHORT, length=6):
        launches = [*(SCENARIO if at >= 0 else []), SINGLE]
        super().__init__(config, launches, length=length, launch__hold=self._hold)
        self._at, self._silent = at, silent
        self._active = self._restart = 0
        #: First cycle after the restart; 0 without one.
        self.again = 0 if at < 0 else None
        self._now = 0

    def _hold(self, cycle):
        """Hold the last launch back until some cycles after the restart."""
        if len(self._sender.waiting["launch"]) > 1:
            return self._active
        return int(self.again is None or cycle < self.again + PAUSE)

    def next(self, outputs):
        """Return the next cycle's inputs."""
        if self._restart:
            self._active, self._restart, self.again = 0, 0, self._now
            # Launches of the scenario that were never sent are forgotten.
            waiting = self._sender.waiting["launch"]
            while len(waiting) > 1:
                waiting.popleft()
        elif self._active:
            self._restart = outputs["idle"]
        elif self._now == self._at:
            self._active = 1
        self._now += 1
        if self._silent is not None:
            self._due[self._silent].clear()
        values = super().next(outputs)
        return values | {"soft_reset_active": self._active, "restart": int(self._restart)}


def play(kind, at, silent=None):
    stimulus = ResetAt(at, silent)
    seen = record(made(kind, SHORT, soft_reset=True), stimulus, CYCLES + 60 + PAUSE + WATCHED)
    assert stimulus.again is not None, "the soft reset does not end"
    return seen, stimulus.again


def check(kind, at, fresh):
    """Check one soft reset: records, refusals, and that the next launch is like the first."""
    seen, again = play(kind, at)
    tickets = [ticket for ticket, _ in answers(seen) if ticket]
    assert (
        sorted(ticket for ticket, _, _ in records(seen)) == tickets == [*range(1, len(tickets) + 1)]
    )
    assert {code for _, code in answers(seen)} <= {0, HostError.RESET}
    assert records(seen)[-1] == (tickets[-1], *FINE)
    assert {fate for _, fate, _ in records(seen)} <= {Fate.FINISHED, Fate.KILLED, Fate.SKIPPED}
    for port in PORTS:
        found = seen.port(port)[again : again + WATCHED]
        assert found == fresh.port(port)[:WATCHED], (at, port)
    for port, valid in PAYLOADS.items():
        found = valid_ones(seen, port, valid)[again : again + WATCHED]
        assert found == valid_ones(fresh, port, valid)[:WATCHED], (at, port)
    return len(answers(seen)) - len(tickets), {fate for _, fate, _ in records(seen)}


def test_the_next_launch_is_like_the_first_whenever_a_soft_reset_begins():
    fresh, _ = play(Model, -1)
    assert fresh.cycles("offer__0__valid"), "the launch after it is seen to start"
    refused, fates = 0, set()
    for at in range(CYCLES):
        more, seen = check(Model, at, fresh)
        refused += more
        fates |= seen
    assert refused > 5 and fates == {Fate.FINISHED, Fate.KILLED, Fate.SKIPPED}


@pytest.mark.parametrize("at", [2, 6, 10, 14, 20, 27])
def test_so_in_the_rtl(at):
    check(LaunchPath, at, play(LaunchPath, -1)[0])


@pytest.mark.deep
@pytest.mark.parametrize("at", range(CYCLES))
def test_so_in_the_rtl_in_every_cycle(at):
    check(LaunchPath, at, play(LaunchPath, -1)[0])


@pytest.mark.parametrize("kind", [LaunchPath, Model], ids=["rtl", "model"])
def test_a_lost_sm_stays_lost_and_the_next_launch_runs_on_the_other(kind):
    """SM 1 never reports: it is lost while the soft reset waits for its block."""
    seen, again = play(kind, 24, silent=1)
    assert seen.port("lost")[again - 1 :] == [2] * len(seen.port("lost")[again - 1 :])
    assert not any(seen.port("offer__1__valid")[again:])
    (end,) = [one for one in records(seen) if one[0] == len(records(seen))]
    assert end[1:] == FINE


@RTL_AND_MODEL
def test_waiting_launches_are_skipped_whatever_becomes_of_those_in_a_place(block):
    """Nothing is reported: launch 1's blocks are lost with both SMs, 16 cycles after its kill.

    Launches 1 and 2 have the places, 3 to 9 wait for their stream. All that wait end at once, one a
    cycle. Who let them go to the places would end them one by one, some of them for NO_SM.
    """
    with_reset = partial(block, soft_reset=True)
    seen = path_run(
        [LAUNCH] * 9,
        config=SHORT,
        block=with_reset,
        length=0,
        soft_reset_active=lambda cycle: int(cycle >= 60),
        restart=0,
    )
    waiting = [(ticket, *SKIPPED) for ticket in range(3, 10)]
    # Launch 2 has a place and has not started; its record comes between those of 6 and 7.
    assert records(seen) == [*waiting[:4], (2, *SKIPPED), *waiting[4:], (1, *LOST)]
    cycles = [cycle for cycle, _ in seen.transfers("ended")]
    # Closed from 61 on; marked from 62 on, and the first record is at `ended` in 63.
    assert cycles == [*range(63, 71), 89]
