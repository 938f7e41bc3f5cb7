"""How many cycles launches take when one bound is relaxed: ``docs/replay/gains.md``."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from warploom_golden.replay.event_model import check
from warploom_golden.replay.machine import RELAXATIONS, Machine, relaxed
from warploom_spec import Config, LaunchDescriptor, WarploomError


@dataclass(frozen=True)
class Workload:
    """What is run again and again.

    Attributes
    ----------
    launches, config, seed, kill_every, arrivals
        As for ``event_model.pieces``.
    """

    launches: Sequence[LaunchDescriptor]
    config: Config
    seed: int
    kill_every: int | None = None
    arrivals: Sequence[int] | None = None


@dataclass(frozen=True)
class Gain:
    """What one relaxation would bring.

    Attributes
    ----------
    name : str
        One of ``machine.RELAXATIONS``.
    knee : int or None
        As for ``event_model.pieces``: None is without contention.
    before, cycles : float
        Cycles as it is, and with the bound relaxed.
    """

    name: str
    knee: int | None
    before: float
    cycles: float

    @property
    def fewer_cycles_percent(self) -> float:
        """How many percent fewer cycles it takes; below 0, so many more."""
        return 100 * (1 - self.cycles / self.before) if self.before else 0.0


def find_gains(
    work: Workload, knees: Sequence[int | None], threads: int | None = None
) -> list[Gain]:
    """Run launches again with one bound relaxed, once for each relaxation and knee.

    Parameters
    ----------
    work : Workload
        What is run.
    knees : sequence of int or None
        As for ``event_model.pieces``; gains come in this order.
    threads : int or None
        Runs at once; None: as many as there are processors. What is found does not depend on it.

    Raises
    ------
    WarploomError
        If the event model refuses the workload.
    """
    check(work.config, work.kill_every)
    check_launches(work.launches)
    as_it_is = Machine.of(work.config)
    machines = {name: relaxed(work.config, name, work.launches) for name in RELAXATIONS}
    # Where a bound holds nothing back by its size alone, the machine stays the same: no run.
    wanted = [(machine, knee) for knee in knees for machine in {as_it_is, *machines.values()}]
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        ran = pool.map(lambda which: run_cycles(work, *which), wanted)
        cycles = dict(zip(wanted, ran, strict=True))
    return [
        Gain(name, knee, cycles[as_it_is, knee], cycles[machine, knee])
        for knee in knees
        for name, machine in machines.items()
    ]


def check_launches(launches: Sequence[LaunchDescriptor]) -> None:
    """Refuse launches that stand in no line.

    Raises
    ------
    WarploomError
        If they differ in priority.
    """
    if len({launch.priority for launch in launches}) > 1:
        raise WarploomError("priority differs between launches; legal: one value for all")


def line_cycles(
    launches: Sequence[LaunchDescriptor], config: Config, seed: int, knee: int | None = None
) -> int:
    """Return the cycles of launches in one line on a configuration's hardware, nothing relaxed."""
    return round(run_cycles(Workload(launches, config, seed), Machine.of(config), knee))


def run_cycles(work: Workload, machine: Machine, knee: int | None = None) -> float:
    """Return the cycles of a run: from cycle 0 to the last answer or final record, both included.

    Where the dispatcher's cycles are shorter than those of the blocks, they count as parts of
    these.
    """
    # Numba's import takes a while: whoever asks for no gains goes without.
    from warploom_golden.replay.event_dispatch import EventDispatch

    dispatch = EventDispatch(
        work.launches,
        work.config,
        work.seed,
        work.kill_every,
        knee,
        work.arrivals,
        machine=machine,
    )
    for _ in dispatch.run():
        dispatch.take_logs()
    last = [rows[-1][0] for rows in (dispatch.front.answers, dispatch.ended) if rows]
    return (max(last, default=-1) + 1) / machine.speed
