"""How many cycles launches take when one bound is relaxed: ``docs/replay/gains.md``."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from warploom_golden.replay.event_model import PIECE, check
from warploom_golden.replay.machine import RELAXATIONS, Machine, relaxed
from warploom_golden.replay.replay_source import ReplaySource, Waits
from warploom_spec import Config, LaunchDescriptor


@dataclass(frozen=True)
class Workload:
    """What is run again and again.

    Attributes
    ----------
    launches, config, seed, kill_every, arrivals, waits
        As for ``event_model.pieces``.
    """

    launches: Sequence[LaunchDescriptor]
    config: Config
    seed: int
    kill_every: int | None = None
    arrivals: Sequence[int] | None = None
    waits: Waits | None = None


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
        Cycles as it is, and with the bound relaxed. Where the relaxation has launches in one line,
        both are those of the line.
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
    as_it_is = Machine.of(work.config)
    machines = {name: relaxed(work.config, name, work.launches) for name in RELAXATIONS}
    # A run is known by whether it is in one line, its machine, and its knee. Where a bound holds
    # nothing back by its size alone, the machine stays the same: no run.
    wanted = {
        (one.in_line, machine, knee)
        for one in machines.values()
        for machine in (as_it_is, one)
        for knee in knees
    }

    def cycles_of(run: tuple[bool, Machine, int | None]) -> float:
        in_line, machine, knee = run
        return (run_line if in_line else run_queue)(work, machine, knee)

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        cycles = dict(zip(wanted, pool.map(cycles_of, wanted), strict=True))
    return [
        Gain(
            name,
            knee,
            cycles[machine.in_line, as_it_is, knee],
            cycles[machine.in_line, machine, knee],
        )
        for knee in knees
        for name, machine in machines.items()
    ]


def line_cycles(
    launches: Sequence[LaunchDescriptor], config: Config, seed: int, knee: int | None = None
) -> int:
    """Return the cycles of launches in one line on a configuration's hardware, nothing relaxed."""
    return round(run_line(Workload(launches, config, seed), Machine.of(config), knee))


def run_queue(work: Workload, machine: Machine, knee: int | None = None) -> float:
    """Return the cycles of a run: from cycle 0 to the last answer or final record, both included.

    Where the dispatcher's cycles are shorter than those of the blocks, they count as parts of
    these.
    """
    # Numba's import takes a while: whoever asks for no gains goes without.
    from warploom_golden.preemption.streams import QueuedModel

    launches = work.launches
    if not machine.ordered:
        launches = [replace(launch, after_previous=0) for launch in launches]
    model = QueuedModel(
        work.config,
        seed=work.seed,
        knee=knee,
        drained=PIECE,
        kill_every=work.kill_every,
        machine=machine,
    )
    arrivals = [cycle * machine.speed for cycle in work.arrivals or ()]
    source = ReplaySource(launches, work.config, model.dispatcher, work.waits, arrivals)
    for _ in model.pieces(source):
        model.dispatcher.take_logs()
    source.check_sent()
    last = [row.cycle for rows in (model.log.answers, model.log.records) for row in rows[-1:]]
    return (max(last, default=-1) + 1) / machine.speed


def run_line(work: Workload, machine: Machine, knee: int | None = None) -> float:
    """Return the cycles of a run in one line, without event waits, priorities and kills."""
    from warploom_golden.replay.event_dispatch import EventDispatch

    dispatch = EventDispatch(work.launches, work.config, work.seed, knee, work.arrivals, machine)
    for _ in dispatch.run():
        dispatch.take_logs()
    last = [rows[-1][0] for rows in (dispatch.front.answers, dispatch.ended) if rows]
    return max(last, default=-1) + 1
