"""Event model of a replay with merged launches: LaunchPath, dispatcher, SMs, all in one stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.merged_dispatcher import MergedDispatcher
from warploom_golden.merging.merged_work import MergedWork, merged_work, plain_work
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_front import EventFront, Waiting
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


class _MergedReplay:
    """EventFront hands launches to MergedDispatcher, one after the other."""

    def __init__(self, items: Sequence[Item], config: Config, seed: int, rules: MergeRules):
        self._items = items
        self._config = config
        self._seed = seed
        self._rules = rules
        launches = [
            item.launch(config) if isinstance(item, MappingTable) else replace(item, stream=0)
            for item in items
        ]
        merged = {
            n: item.shapes() for n, item in enumerate(items) if isinstance(item, MappingTable)
        }
        self._front = EventFront(launches, config, merged)
        self._dispatcher = MergedDispatcher(config, rules.mode, rules.walk)
        self._waiting: list[Waiting] = []
        self._works: list[MergedWork] = []
        self._last_cycle = 0

    def run(self, progress: Callable[[int], object], keep: bool) -> MergedRun:
        cycle = 0
        while cycle < NEVER:
            if self._front.wake <= cycle:
                self._hand_over(cycle)
            cycle, ended = self._dispatcher.advance(cycle, self._front.wake)
            if ended is not None:
                # The end was loaded in cycle - 1, is valid in cycle, and is in the record queue in
                # cycle + 1.
                self._front.end(cycle - 1, self._waiting.pop(0).entries)
                self._last_cycle = cycle + 1
                progress(len(ended.tasks))
                if keep:
                    self._works.append(ended)
        answers = self._front.answers
        last_answer = max((answer[0] for answer in answers), default=0)
        return MergedRun(
            cycles=max(self._last_cycle, last_answer) + 1,
            works=self._works,
            refused=sum(1 for answer in answers if answer[2]),
            spin_slot_cycles=self._dispatcher.spin_slot_cycles,
            gate_cycles=self._dispatcher.gate_cycles,
        )

    def _hand_over(self, cycle: int) -> None:
        waiting = self._front.step(cycle, self._dispatcher.places_free > 0)
        if waiting is None:
            return
        item = self._items[waiting.number]
        rules = self._rules
        if isinstance(item, MappingTable):
            work = merged_work(
                item, self._config, self._seed, rules.charge, rules.last, jitter=rules.jitter
            )
        else:
            work = plain_work(item, self._config, self._seed, rules.jitter)
        self._waiting.append(waiting)
        self._dispatcher.accept(work, cycle)
