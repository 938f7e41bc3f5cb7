"""How many cycles launches take when one bound is relaxed: ``docs/replay/gains.md``."""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

from warploom_golden.replay.event_model import PIECE, check
from warploom_golden.replay.machine import RELAXATIONS, Machine, relaxed, together
from warploom_golden.replay.refusal import judge
from warploom_golden.replay.waits import Waits
from warploom_spec import RESOURCES, Config, LaunchDescriptor

#: All resources together.
ALL_RESOURCES: Final = together(RESOURCES)
#: Resources hide each other if all together gain so many points more than the best one alone.
HIDDEN_PERCENT: Final = 2.0
#: Launches that each have a stream of their own may have so many, 2 to the power of this.
MOST_STREAM_BITS: Final = 5
#: A resource whose bound costs fewer points than this is none of those.
LOST_PERCENT: Final = 1.0


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
        One of ``machine.RELAXATIONS``, or what ``machine.together`` calls some resources.
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


class _Runs:
    """Runs of a workload, each made once.

    A run is known by its machine and its knee. Where a bound holds nothing back by its size alone,
    the machine stays the same: no run.
    """

    def __init__(self, work: Workload, pool: ThreadPoolExecutor):
        self._work, self._pool = work, pool
        # A refused launch has no blocks: nothing has to have room for them.
        self._accepted = [one for one in work.launches if not judge(one, work.config)[0]]
        self._as_it_is = Machine.of(work.config)
        self._machines: dict[str, Machine] = {}
        self._cycles: dict[tuple[Machine, int | None], float] = {}

    def make(self, names: Iterable[str], knees: Sequence[int | None]) -> None:
        """Make the runs of some relaxations that were not made yet."""
        for name in names:
            self._machines[name] = relaxed(self._work.config, name, self._accepted)
        wanted = {
            (machine, knee)
            for one in map(self._machines.__getitem__, names)
            for machine in (self._as_it_is, one)
            for knee in knees
        }
        missing = [run for run in wanted if run not in self._cycles]
        self._cycles |= zip(missing, self._pool.map(self._run, missing), strict=True)

    def _run(self, run: tuple[Machine, int | None]) -> float:
        machine, knee = run
        return run_queue(self._work, machine, knee)

    def gain(self, name: str, knee: int | None) -> Gain:
        """Return the gain of a relaxation whose runs were made."""
        before, cycles = (self._cycles[one, knee] for one in (self._as_it_is, self._machines[name]))
        return Gain(name, knee, before, cycles)

    def hidden(self, knee: int | None) -> str | None:
        """Return the resources that hide each other's gains, together; None if none do.

        The runs of all resources together, and of each one alone, were made.
        """
        alone = {name: self.gain(name, knee).fewer_cycles_percent for name in RESOURCES}
        whole = self.gain(ALL_RESOURCES, knee).fewer_cycles_percent
        if whole < max(0.0, *alone.values()) + HIDDEN_PERCENT:
            return None
        kept = set(RESOURCES)
        # What gains least alone is the first to go.
        for name in sorted(RESOURCES, key=alone.__getitem__):
            fewer = together(kept - {name})
            self.make([fewer], [knee])
            if self.gain(fewer, knee).fewer_cycles_percent > whole - LOST_PERCENT:
                kept.remove(name)
        return together(kept)


def find_gains(
    work: Workload, knees: Sequence[int | None], threads: int | None = None
) -> list[Gain]:
    """Run launches again with one bound relaxed, once for each relaxation and knee.

    Where resources hide each other's gains, the gain without them all comes behind those of the
    relaxations, for each knee.

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
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        runs = _Runs(work, pool)
        runs.make([*RELAXATIONS, ALL_RESOURCES], knees)
        sets = [*dict.fromkeys(found for knee in knees if (found := runs.hidden(knee)))]
        runs.make(sets, knees)
    return [runs.gain(name, knee) for knee in knees for name in (*RELAXATIONS, *sets)]


def run_queue(work: Workload, machine: Machine, knee: int | None = None) -> float:
    """Return the cycles of a run: from cycle 0 to the last answer or final record, both included.

    Where the dispatcher's cycles are shorter than those of the blocks, they count as parts of
    these.
    """
    # Numba's import takes a while: whoever asks for no gains goes without.
    from warploom_golden.replay.residents.path import ResidentPath
    from warploom_golden.replay.residents.source import ReplaySource, UnorderedSource

    config = work.config if machine.ordered else _with_streams(work.config)
    path = ResidentPath(
        config,
        seed=work.seed,
        knee=knee,
        drained=PIECE,
        kill_every=work.kill_every,
        machine=machine,
    )
    given = [cycle * machine.speed for cycle in work.arrivals or ()]
    if machine.ordered:
        source = ReplaySource(work.launches, path, work.waits, given)
    else:
        streams = 1 << config.stream_bits
        source = UnorderedSource(work.launches, path, work.waits, given, streams)
    for _ in path.pieces(source):
        path.dispatcher.take_logs()
    source.check_sent()
    ends = [answer.cycle for answer in path.log.answers[-1:]]
    ends += [record["cycle"] for record in path.log.records[-1:]]
    return (max(ends, default=-1) + 1) / machine.speed


def _with_streams(config: Config) -> Config:
    """Return a configuration with as many streams as there may be."""
    references = max(config.reference_bits, MOST_STREAM_BITS + 1)
    return replace(config, stream_bits=MOST_STREAM_BITS, reference_bits=references)
