"""Event model of a replay with merged launches: LaunchPath and SMs, all in one stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merged_dispatcher import STREAM, MergedDispatcher
from warploom_golden.merging.merged_indices import MergedIndices
from warploom_golden.merging.merged_work import MergedWork, merged_work, plain_work
from warploom_golden.replay.residents.front import Checks, IndexConfig
from warploom_golden.replay.residents.path import ResidentPath
from warploom_golden.replay.residents.source import ReplaySource
from warploom_spec import Config, LaunchDescriptor

#: What runs: a plain launch, or a table that becomes one merged launch.
Item = LaunchDescriptor | MappingTable


@dataclass(frozen=True, kw_only=True)
class MergeRules:
    """How merged launches run.

    Attributes
    ----------
    mode : str
        ``gate``: the dispatcher holds a block until its marks stand. ``spin``: its SM does.
    charge : str
        ``maximum``: each block takes the maxima over the tasks, as in patent CN102708009A.
        ``task``: each block takes what its own task needs.
    last : str
        Which block of a task reports last: ``merged_id``, or ``block_id``, which shows the
        patent's fault.
    walk : int
        Under ``spin``: cycles that a task's last block takes to read one tag. 0: it reads none.
    jitter : bool
        Whether block lengths vary around their base, as in a replay.
    """

    mode: str = "gate"
    charge: str = "maximum"
    last: str = "merged_id"
    walk: int = 0
    jitter: bool = True


@dataclass(frozen=True)
class MergedRun:
    """The results of a run.

    Attributes
    ----------
    cycles : int
        Cycles from cycle 0 to the last answer or final record, both included.
    works : list of MergedWork
        The launches that were not refused, with each block's log; empty if ``keep`` was False.
    refused : int
        Number of launches that LaunchCheck refused.
    spin_slot_cycles, gate_cycles : int
        The counts of `MergedDispatcher`, in cycles.
    """

    cycles: int
    works: list[MergedWork]
    refused: int
    spin_slot_cycles: int
    gate_cycles: int


def run_merged(
    items: Sequence[Item],
    config: Config,
    seed: int,
    rules: MergeRules | None = None,
    progress: Callable[[int], object] = lambda blocks: None,
    keep: bool = True,
) -> MergedRun:
    """Run launches and tables, one after the other, in stream 0.

    The tables are loaded before cycle 0. This function checks none of them.

    Parameters
    ----------
    items : sequence of LaunchDescriptor or MappingTable
        What runs, in the order in which it is sent.
    config : Config
        The configuration.
    seed : int
        Seed of the block lengths.
    rules : MergeRules
        How merged launches run; None: the defaults.
    progress : callable
        Called when a launch ends, with its number of blocks.
    keep : bool
        Whether to keep each block's log: some hundred bytes a block.

    Raises
    ------
    Deadlock
        If a merged launch is not finished and no event can come any more.
    """
    return _MergedReplay(items, config, seed, rules or MergeRules()).run(progress, keep)


class _MergedPath(ResidentPath):
    """LaunchPath whose dispatcher and whose index requests are those of merged launches.

    Parameters
    ----------
    config : Config
        The configuration.
    dispatcher : MergedDispatcher
        The dispatcher.
    shapes_of : callable
        Returns the index configurations of a launch.
    """

    def __init__(
        self,
        config: Config,
        dispatcher: MergedDispatcher,
        shapes_of: Callable[[LaunchDescriptor], Sequence[IndexConfig]],
    ):
        super().__init__(config)
        self.dispatcher = dispatcher
        # Tables are loaded before cycle 0.
        self._checks = Checks(config, tables=(1 << config.max_tables) - 1)
        self._indices = MergedIndices(config, shapes_of)


class _MergedReplay:
    """Launches and tables, the path that they take, and what became of them."""

    def __init__(self, items: Sequence[Item], config: Config, seed: int, rules: MergeRules):
        self._config, self._seed, self._rules = config, seed, rules
        self._launches = [_launch_of(item, config) for item in items]
        # What a launch at a port of the path stands for.
        self._items = {id(one): item for one, item in zip(self._launches, items, strict=True)}
        self._dispatcher = MergedDispatcher(
            config, self._work_of, rules.mode, rules.walk, self._note_end
        )
        self._path = _MergedPath(config, self._dispatcher, self._shapes_of)
        self._works: list[MergedWork] = []
        self._progress: Callable[[int], object] = lambda blocks: None
        self._keep = True

    def run(self, progress: Callable[[int], object], keep: bool) -> MergedRun:
        self._progress, self._keep = progress, keep
        source = ReplaySource(self._launches, self._path)
        self._path.run(source)
        source.check_sent()
        log = self._path.log
        ends = [answer.cycle for answer in log.answers[-1:]]
        ends += [record["cycle"] for record in log.records[-1:]]
        return MergedRun(
            cycles=max(ends, default=-1) + 1,
            works=self._works,
            refused=sum(1 for answer in log.answers if answer.code),
            spin_slot_cycles=self._dispatcher.spin_slot_cycles,
            gate_cycles=self._dispatcher.gate_cycles,
        )

    def _note_end(self, work: MergedWork) -> None:
        self._progress(len(work.tasks))
        if self._keep:
            self._works.append(work)

    def _shapes_of(self, launch: LaunchDescriptor) -> Sequence[IndexConfig]:
        item = self._items[id(launch)]
        if isinstance(item, MappingTable):
            return item.shapes()
        return [(launch.index_address, launch.block)]

    def _work_of(self, launch: LaunchDescriptor) -> MergedWork:
        item, rules = self._items[id(launch)], self._rules
        if isinstance(item, MappingTable):
            return merged_work(
                item, self._config, self._seed, rules.charge, rules.last, jitter=rules.jitter
            )
        return plain_work(item, self._config, self._seed, rules.jitter)


def _launch_of(item: Item, config: Config) -> LaunchDescriptor:
    """Return the launch that is sent for an item; all go in one stream, with one priority."""
    if isinstance(item, MappingTable):
        return item.launch(config)
    return replace(item, stream=STREAM, priority=0, mode=0)
