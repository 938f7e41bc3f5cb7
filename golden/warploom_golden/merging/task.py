"""What a merged kernel is made of: tasks, and how many of them a table may hold."""

from dataclasses import dataclass

from warploom_golden.oracles.index_reference import Dims, threads, warps
from warploom_spec import Config, LaunchDescriptor, WarploomError

#: Most tasks that any configuration may have.
MOST_TASKS = 64
#: Most entries of a table that any configuration may have.
MOST_ENTRIES = 65536


@dataclass(frozen=True, kw_only=True)
class MergeLimits:
    """How large a mapping table may be: parameters of the hardware.

    Attributes
    ----------
    max_tasks : int
        Tasks of one table.
    max_table_entries : int
        Runs of one table.

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
    """One task of a merged kernel: a launch, and the tasks that must have ended before it.

    Attributes
    ----------
    launch : LaunchDescriptor
        Grid, block, index address and resources. ``arguments`` is the base length of its blocks in
        cycles, ``code`` the number that seeds their jitter.
    depends : frozenset of int
        Numbers of the tasks that it depends on.
    weight : int or None
        What `longest_first` compares; None: blocks times threads.
    name : str
        For messages.
    """

    launch: LaunchDescriptor
    depends: frozenset[int] = frozenset()
    weight: int | None = None
    name: str = ""

    @property
    def blocks(self) -> int:
        """Blocks of its grid."""
        return threads(self.launch.grid)

    @property
    def threads(self) -> int:
        """Threads of one of its blocks."""
        return threads(self.launch.block)

    @property
    def work(self) -> int:
        """What `longest_first` compares."""
        return self.blocks * self.threads if self.weight is None else self.weight

    @property
    def shape(self) -> tuple[int, Dims]:
        """Its index configuration: address and block."""
        return self.launch.index_address, self.launch.block

    def need(self, config: Config) -> tuple[int, int, int, int, int]:
        """Return what one of its blocks takes: slots, warps, register units, shared, barriers."""
        count = warps(self.launch.block, config.warp_size)
        registers = count * self.launch.warp_registers
        return 1, count, registers, self.launch.shared, self.launch.barriers
