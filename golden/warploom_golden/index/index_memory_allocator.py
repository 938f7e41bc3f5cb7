"""Golden model of the host's allocator for index memory: an own address or the shared one.

Addresses count warps. Untimed: the host decides once for each launch, before it sends it.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from warploom_golden.oracles.index_reference import Dims, warps
from warploom_spec.config import Config
from warploom_spec.errors import WarploomError

#: ``shared``: every kernel uses the shared address. ``frequent``: a kernel gets an address of its
#: own at its ``frequent_launches``-th launch. ``own``: at its first.
POLICIES: Final = ("shared", "frequent", "own")
SHARED_ADDRESS: Final = 0


class IndexMemoryAllocator:
    """Give every launch the address of its packed indices.

    The shared region stands at address 0 and holds the largest block; behind it, regions of their
    own are given out in ascending order and never taken back.

    Parameters
    ----------
    config : Config
        Size of the index memory, warp size, threads of the largest block.
    policy : str
        One of `POLICIES`.
    frequent_launches : int
        Launches that make a kernel a frequent one, at least 1.
    scarce_warps : int
        While fewer warps than this are free, nobody gets an address of its own.

    Raises
    ------
    WarploomError
        If a parameter is out of its range, or the memory does not hold the largest block.
    """

    def __init__(
        self,
        config: Config,
        policy: str = "frequent",
        frequent_launches: int = 2,
        scarce_warps: int = 0,
    ):
        if policy not in POLICIES:
            raise WarploomError(f"policy is {policy!r}; legal: {', '.join(POLICIES)}")
        if frequent_launches < 1:
            raise WarploomError(f"frequent_launches is {frequent_launches}; legal: 1 and more")
        if scarce_warps < 0:
            raise WarploomError(f"scarce_warps is {scarce_warps}; legal: 0 and more")
        if config.max_warps > config.index_memory_warps:
            raise WarploomError(
                f"index_memory_warps is {config.index_memory_warps}; legal: {config.max_warps}"
                " and more, or the largest block has no place"
            )
        self._config = config
        self._needed = {"shared": None, "frequent": frequent_launches, "own": 1}[policy]
        self._scarce_warps = scarce_warps
        self._launches: Counter[Hashable] = Counter()
        self._own: dict[Hashable, int] = {}
        self._next = config.max_warps

    @property
    def free_warps(self) -> int:
        """Warps that belong to no region."""
        return self._config.index_memory_warps - self._next

    def address(self, kernel: Hashable, warps: int) -> int:
        """Count a launch and return the address of its indices.

        Parameters
        ----------
        kernel : hashable
            Whatever the host tells kernels apart by; launches with the same indices may share it.
        warps : int
            Warps of the kernel's block, the same at every launch.

        Raises
        ------
        WarploomError
            If the block has more warps than the largest one.
        """
        if not 1 <= warps <= self._config.max_warps:
            raise WarploomError(f"warps is {warps}; legal: 1 to {self._config.max_warps}")
        self._launches[kernel] += 1
        if kernel in self._own:
            return self._own[kernel]
        frequent = self._needed is not None and self._launches[kernel] >= self._needed
        if not frequent or self.free_warps < max(warps, self._scarce_warps):
            return SHARED_ADDRESS
        self._own[kernel] = self._next
        self._next += warps
        return self._own[kernel]


@dataclass(frozen=True)
class HitRate:
    """Launches, and how many of them found their indices in memory."""

    launches: int
    hits: int

    @property
    def rate(self) -> float:
        """Hits as a fraction of the launches."""
        return self.hits / self.launches


class History:
    """ConfigFilter's history without time: every launch has ended before the next begins.

    Parameters
    ----------
    entries : int
        Configurations that it remembers.
    """

    def __init__(self, entries: int):
        self._entries = entries
        self._places: OrderedDict[tuple[int, Dims], range] = OrderedDict()

    def look_up(self, address: int, dims: Dims, warps: int) -> bool:
        """Return whether the indices stand in memory, and make them stand there."""
        key = address, dims
        hit = key in self._places
        if not hit:
            self._make(key, range(address, address + warps))
        self._places.move_to_end(key)
        return hit

    def _make(self, key: tuple[int, Dims], region: range) -> None:
        """Let the oldest entry go if none is free, and every one that the region overwrites."""
        if len(self._places) == self._entries:
            self._places.popitem(last=False)
        for other, place in list(self._places.items()):
            if max(place.start, region.start) < min(place.stop, region.stop):
                del self._places[other]
        self._places[key] = region


def hit_rate(shapes: Iterable[Dims], config: Config, allocator: IndexMemoryAllocator) -> HitRate:
    """Launch blocks of these shapes, one after the other, and count history hits.

    A kernel's identity is its block shape, all that its indices depend on.

    Raises
    ------
    WarploomError
        If there is no shape, or one is too large for the configuration.
    """
    history = History(config.history_entries)
    launches = hits = 0
    for dims in shapes:
        count = warps(dims, config.warp_size)
        hits += history.look_up(allocator.address(dims, count), dims, count)
        launches += 1
    if not launches:
        raise WarploomError("shapes is empty; legal: at least one launch")
    return HitRate(launches, hits)
