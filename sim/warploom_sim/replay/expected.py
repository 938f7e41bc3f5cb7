"""What a replay must show at least, counted from the launches alone: no model has a part in it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.replay.request import ReplayRequest
from warploom_spec import RESOURCES, Config, ErrorCode, LaunchDescriptor
from warploom_spec.config import BLOCK_LIMITS
from warploom_spec.resources import AMOUNT_FIELDS, BLOCK_AMOUNTS, REGISTERS

#: Words of a launch's final record that are written without loops: the other two are 0. With loops
#: one of these has its number.
_RECORD_WORDS: Final = 6
_WITHOUT_OPTIONS: Final = ReplayRequest(traces=())


@dataclass(frozen=True)
class Expected:
    """Totals of one replay.

    Attributes
    ----------
    launches : int
        Launches sent.
    refused : dict of str to int
        Launches that the configuration refuses, by the code's name.
    blocks : int
        Blocks of the launches that are not refused.
    warps : int
        Warps of indices to write: at least once for each region and shape in it, and again
        whenever another shape was written over it in between.
    warps_exact : bool
        Whether more cannot be needed: no miss has to give up a shape that it does not overlap.
    least_blocks : tuple of int
        Of each launch that is not refused, in order: blocks that are offered at least. All, or if
        it is killed those up to the one after whose offer that is.
    in_order : bool
        Whether launches go to the dispatcher in order, each once.
    record_words : int
        Words that are written of a launch's final record.
    """

    launches: int
    refused: dict[str, int]
    blocks: int
    warps: int
    warps_exact: bool
    least_blocks: tuple[int, ...] = ()
    in_order: bool = True
    record_words: int = _RECORD_WORDS + 1

    @property
    def accepted(self) -> int:
        """Launches that are not refused."""
        return self.launches - sum(self.refused.values())

    def events(self) -> dict[str, int]:
        """Return the events that must have been compared at least, by kind; 1 for each counter."""
        kinds = ("decisions", "done", "starts", "words", "ended", "timeline")
        accepted = dict.fromkeys(kinds, self.accepted) | {"killed": 0}
        accepted["record_words"] = self.record_words * self.accepted
        blocks = dict.fromkeys(("offers", "reports"), sum(self.least_blocks))
        counters = dict.fromkeys((f"stall_{cause}" for cause in (*RESOURCES, "offer")), 1)
        events = {"answers": self.launches, **accepted, **blocks, "warps": self.warps}
        return events | counters

    def most(self, kind: str) -> float:
        """Return how many events of a kind there may be at most."""
        if kind in ("offers", "reports"):
            return self.blocks
        if kind == "words":
            # Each launch's once, and again where blocks of another came between.
            return self.blocks
        if not self.in_order and kind in ("decisions", "done", "starts", "killed"):
            return inf
        if kind == "warps" and not self.warps_exact:
            return inf
        return self.events()[kind]


def count(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    request: ReplayRequest = _WITHOUT_OPTIONS,
    *,
    in_order: bool = True,
) -> Expected:
    """Count what the launches demand of a configuration.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        What is sent.
    config : Config
        The configuration.
    request : ReplayRequest
        Options of the replay: which launches are killed, and its seed after which of their blocks.
    in_order : bool
        Whether launches go to the dispatcher in order, each once.
    """
    codes = refusal_codes(launches, config)
    refused = Counter(ErrorCode(int(code)).name for code in codes[codes > 0])
    accepted = [launch for launch, code in zip(launches, codes, strict=True) if not code]
    if in_order:
        warps, exact = _warps_to_write(accepted, config)
    else:
        # Each shape is written at least once in its place, in whatever order.
        shapes = {(launch.index_address, launch.block) for launch in accepted}
        warps, exact = sum(-(-prod(block) // config.warp_size) for _, block in shapes), False
    return Expected(
        launches=len(launches),
        refused=dict(sorted(refused.items(), key=lambda item: ErrorCode[item[0]])),
        blocks=sum(prod(launch.grid) for launch in accepted),
        least_blocks=tuple(_least_blocks(launch, request) for launch in accepted),
        warps=warps,
        warps_exact=exact,
        in_order=in_order,
        record_words=_RECORD_WORDS + config.has_loops,
    )


def _least_blocks(launch: LaunchDescriptor, request: ReplayRequest) -> int:
    """Return how many blocks of a launch are offered at least."""
    blocks, every = prod(launch.grid), request.kill_every
    if not every or launch.code == 0 or launch.code % every:
        return blocks
    word = _mixed(_mixed(request.seed ^ launch.code))
    return 1 + (word * blocks >> 32)


def nobody_killed(every: int | None, launches: int, killed: float) -> str:
    """Return a sentence if kills were asked for and no launch was killed; else nothing.

    Parameters
    ----------
    every : int or None
        Every launch of a multiple of this number was to be killed; None: no launch was.
    launches : int
        Launches that were sent.
    killed : float
        Launches that were killed; of several runs their mean.
    """
    if every is None or killed:
        return ""
    why = (
        f"launches are numbered from 0 to {launches - 1}"
        if launches <= every
        else "each launch to kill was refused, or all its blocks were offered before the kill"
    )
    return f"kill_every {every} killed nobody: {why}"


def _mixed(word: int) -> int:
    """Return a word of 32 bits with its bits mixed, as the replay's page has it."""
    word ^= word >> 16
    word = word * 0x7FEB_352D % 2**32
    word ^= word >> 15
    word = word * 0x846C_A68B % 2**32
    return word ^ word >> 16


def refusal_codes(launches: Sequence[LaunchDescriptor], config: Config) -> NDArray[np.int64]:
    """Return for each launch the lowest code that refuses it, or 0."""
    grid = np.array([launch.grid for launch in launches], np.int64).reshape(-1, 3)
    block = np.array([launch.block for launch in launches], np.int64).reshape(-1, 3)
    column = {
        name: np.array([getattr(launch, name) for launch in launches], np.int64)
        for name in ("index_address", "table", *AMOUNT_FIELDS)
    }
    threads = block.prod(axis=1)
    warps = (threads + config.warp_size - 1) // config.warp_size
    # Powers of two up to a dimension count the bits that its largest index needs.
    powers = 1 << np.arange(32)
    index_bits = (powers < block[:, :, None]).sum(axis=(1, 2))
    grounds = {
        ErrorCode.GRID_ZERO: (grid == 0).any(axis=1),
        ErrorCode.GRID_RANGE: (grid > config.max_grid).any(axis=1),
        ErrorCode.BLOCK_ZERO: (block == 0).any(axis=1),
        ErrorCode.BLOCK_RANGE: (block > BLOCK_LIMITS).any(axis=1),
        ErrorCode.THREADS: threads > config.max_threads,
        ErrorCode.INDEX_BITS: index_bits > config.word_bits,
        ErrorCode.INDEX_REGION: column["index_address"] + warps > config.index_memory_warps,
        ErrorCode.BLOCK_WARPS: warps > config.warp_slots,
        ErrorCode.BLOCK_REGISTERS: column["warp_registers"] * warps > REGISTERS.limit(config),
        **{r.refusal(): column[r.name] > r.limit(config) for r in BLOCK_AMOUNTS},
        ErrorCode.TABLE_UNKNOWN: column["table"] != 0,
    }
    codes = sorted(grounds)
    return np.select([grounds[code] for code in codes], [int(code) for code in codes], 0)


def _warps_to_write(accepted: Sequence[LaunchDescriptor], config: Config) -> tuple[int, bool]:
    """Return the warps to write with a history of unlimited entries, and if ours is as good.

    What stands in such a history is all that could stand in a smaller one: the count is a floor.
    """
    # Shapes that stand, the least recently accepted one first.
    standing: dict[tuple[int, tuple[int, int, int]], range] = {}
    total, exact = 0, True
    for launch in accepted:
        key = launch.index_address, launch.block
        if key in standing:
            standing[key] = standing.pop(key)
            continue
        x, y, z = launch.block
        warps = -(-x * y * z // config.warp_size)
        region = range(launch.index_address, launch.index_address + warps)
        overlapped = [other for other, place in standing.items() if _overlap(place, region)]
        # A full history gives an entry up before the overlapped ones are dropped: the least
        # recently accepted of those that nobody reads. Nobody reads the overlapped ones by then.
        if len(standing) >= config.history_entries:
            exact = exact and next(iter(standing)) in overlapped
        for other in overlapped:
            del standing[other]
        standing[key] = region
        total += warps
    return total, exact


def _overlap(one: range, other: range) -> bool:
    return one.start < other.stop and other.start < one.stop
