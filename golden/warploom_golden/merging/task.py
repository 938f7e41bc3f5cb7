"""The tasks of a merged kernel, and how many of them a table may hold."""

from dataclasses import dataclass

from warploom_golden.oracles.index_reference import Dims, threads, warps
from warploom_spec import Config, LaunchDescriptor, WarploomError
from warploom_spec.resources import block_amounts

#: The highest legal ``max_tasks``.
MOST_TASKS = 64
#: The highest legal ``max_table_entries``.
MOST_ENTRIES = 65536


@dataclass(frozen=True, kw_only=True)
class MergeLimits:
    """How large a mapping table may be: parameters of the hardware.

    Attributes
    ----------
    max_tasks : int
        The most tasks of one table, 1 to 64.
    max_table_entries : int
        The most entries of one table, 1 to 65536.

    Raises
    ------
    WarploomError
        If a value is out of its range.
    """

    max_tasks: int = 16
    max_table_entries: int = 1024

    def __post_init__(self) -> None:
        """Refuse a value outside its range."""
        for name, high in (("max_tasks", MOST_TASKS), ("max_table_entries", MOST_ENTRIES)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
                raise WarploomError(f"{name} is {value!r}; legal: 1 to {high}")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of a merged kernel: a launch, and the tasks that must end before it begins.

    Attributes
    ----------
    launch : LaunchDescriptor
        Grid, block, index address and resources. ``arguments`` is the base length of the task's
        blocks in cycles; ``code`` seeds the jitter of their lengths.
    depends : frozenset of int
        Numbers of the tasks that this task depends on.
    weight : int or None
        What the planner's order ``longest_first`` compares; None: blocks times threads.
    name : str
        The task's name in messages.
    """

    launch: LaunchDescriptor
    depends: frozenset[int] = frozenset()
    weight: int | None = None
    name: str = ""

    @property
    def blocks(self) -> int:
        """Number of blocks of the grid."""
        return threads(self.launch.grid)

    @property
    def threads(self) -> int:
        """Number of threads of one block."""
        return threads(self.launch.block)

    @property
    def work(self) -> int:
        """The weight, or blocks times threads: what ``longest_first`` compares."""
        return self.blocks * self.threads if self.weight is None else self.weight

    @property
    def shape(self) -> tuple[int, Dims]:
        """The task's index configuration: index address and block shape."""
        return self.launch.index_address, self.launch.block

    def need(self, config: Config) -> tuple[int, ...]:
        """Return what one block takes of an SM.

        Returns
        -------
        tuple of int
            In the order of `warploom_spec.RESOURCES`.
        """
        return block_amounts(vars(self.launch), warps(self.launch.block, config.warp_size), config)
