"""Preemption with contention: beside SMs that walk through every cycle.

Blocks of other launches on an SM come and go by a preemption. The blocks that stay run at another
speed from then on; a killed block's report time stays as it is.
"""

from collections import Counter
from dataclasses import replace

import pytest

from tb.preemption.rtl_runs import TINY, setting, small_workload
from tb.support.deep_values import deep_but
from tb.support.replay_reference import SmCore, block_length
from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.residents.path import ResidentPath
from warploom_golden.replay.sm_behaviour import SmBehaviour
from warploom_sim.methods.preempt.measure import measuring_host
from warploom_spec import BlockStatus, timing

KILLED = int(BlockStatus.KILLED)


def ran(knee, report_time, seed):
    """Run a small workload in which blocks slow each other down; return path and launches."""
    load = small_workload("reset")
    low = tuple(replace(each, address_space=4 + 3 * n) for n, each in enumerate(load.low))
    host = measuring_host(replace(load, low=low), setting(8, seed))
    behaviour = SmBehaviour(report_time=report_time)
    path = ResidentPath(TINY, seed=seed, sm=behaviour, knee=knee, log=1 << 14)
    path.run(host)
    return path, host.launches


def kills(path):
    """Return of each start the first cycle of its kill; `NEVER` without one."""
    rises = [(cycle + timing(TINY).resident_kill, stop) for cycle, _, stop in path.log.levels]
    starts = path.log.starts
    ends = [
        min((each.cycle for each in starts[n + 1 :] if each.stream == start.stream), default=NEVER)
        for n, start in enumerate(starts)
    ]
    return [
        min(
            (
                cycle
                for cycle, stop in rises
                if start.cycle < cycle < end and stop >> start.stream & 1
            ),
            default=NEVER,
        )
        for start, end in zip(starts, ends, strict=True)
    ]


class Ports:
    """The dispatcher's ports of reports: one is held of each SM, and one is granted in a cycle."""

    def __init__(self):
        self._held, self._granted, self._next = set(), None, 0

    def begin(self):
        """Begin a cycle: a report that transferred in the one before is held; one is granted."""
        self._before = self._granted
        order = [(self._next + k) % TINY.sms for k in range(TINY.sms)]
        self._granted = next((n for n in order if n in self._held), None)
        self._ready = set(range(TINY.sms)) - self._held - {self._before}
        if self._granted is not None:
            self._held.remove(self._granted)
            self._next = self._granted + 1

    def is_ready(self, sm):
        return sm in self._ready

    def take(self, sm):
        self._held.add(sm)


def walked(path, launches, knee, report_time, seed):
    """Return what SMs report that take the model's offers and kills, each SM in every cycle."""
    taken = {(cycle, sm): rest for cycle, sm, *rest in path.dispatcher.offers.T.tolist()}
    sms = [SmCore(knee, report_time) for _ in range(TINY.sms)]
    starts, killed_at, found, ports = path.log.starts, kills(path), [], Ports()
    for cycle in range(int(path.dispatcher.reports[0, -1]) + 1):
        level = sum((at <= cycle) << n for n, at in enumerate(killed_at))
        ports.begin()
        for number, sm in enumerate(sms):
            sm.begin(cycle)
            slot = None
            if (cycle, number) in taken:
                slot, ticket, block = taken[cycle, number]
                # The last run that had begun: a launch may come back several times.
                runs = (n for n, s in enumerate(starts) if s.ticket == ticket and s.cycle < cycle)
                launch = launches[ticket - 1]
                length = block_length(seed, launch.code, launch.arguments, (block, 0, 0))
                count = warps(launch.block, TINY.warp_size)
                sm.take(slot, max(runs), length, count, launch.address_space)
            sm.kill(level)
            sent = sm.send(slot, ready=ports.is_ready(number))[0]
            if sent is not None and ports.is_ready(number):
                ports.take(number)
                found.append((cycle, number, sent[0], int(sent[2])))
    return found


@pytest.mark.parametrize("report_time", deep_but([5], [0, 1, 5, 20]))
@pytest.mark.parametrize("knee", deep_but([3], [None, 3]))
def test_reports_are_those_of_sms_that_walk_every_cycle(knee, report_time, seed):
    path, launches = ran(knee, report_time, seed)
    reports = [tuple(row) for row in path.dispatcher.reports.T.tolist()]
    assert reports == walked(path, launches, knee, report_time, seed), f"seed {seed}"
    seen = Counter(status for *_, status in reports)
    assert seen[KILLED] > 3, f"seed {seed}"
    free = ran(None, report_time, seed)[0].dispatcher.reports.T.tolist()
    assert (free != path.dispatcher.reports.T.tolist()) == (knee is not None)
