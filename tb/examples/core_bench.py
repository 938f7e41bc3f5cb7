"""SimtCore on Amaranth's simulator, with a stand-in for what hands warps to it.

The stand-in takes blocks in order, places their shared memory, hands on their warps, answers index
reads, and counts the ends. Indices come from division.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from simt_core import SimtCore
from simt_core.packets import retired_turn
from simt_gpu import SimtMemory
from simt_model import Launch
from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.sm_packets import warp_end

CORE_BITS = 14


@dataclass
class Block:
    """A block for the stand-in, and what became of it."""

    launch: Launch
    position: tuple[int, int, int]
    stream: int = 0
    slot: int = 0
    status: BlockStatus | None = None
    taken: int = -1
    reported: int = -1
    handed: int = 0
    ended: int = 0

    @property
    def threads(self) -> int:
        return int(np.prod(self.launch.block))

    @property
    def warps(self) -> int:
        return -(-self.threads // self.launch.warp_size)


@dataclass
class CoreRun:
    """What a run of the core has shown.

    Attributes
    ----------
    turns : list of dict
        Each turn as the core retired it, in order.
    memory : ndarray of uint8
        The memory afterwards.
    cycles : int
        Cycles that it took.
    reads : int
        Index reads.
    """

    turns: list[dict[str, int]] = field(default_factory=list)
    memory: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    cycles: int = 0
    reads: int = 0


def packed_row(config: Config, launch: Launch, warp: int) -> tuple[int, int]:
    """Return the words and the mask of a warp's packed indices."""
    dx, dy, dz = launch.block
    widths = [(d - 1).bit_length() for d in launch.block]
    words, mask = 0, 0
    for lane in range(config.warp_size):
        number = warp * config.warp_size + lane
        if number < dx * dy * dz:
            x, y, z = number % dx, number // dx % dy, number // (dx * dy)
            index = x | y << widths[0] | z << widths[0] + widths[1]
            words |= index << config.word_bits * lane
            mask |= 1 << lane
    return words, mask


def launch_words(config: Config, launch: Launch) -> dict[str, int]:
    """Return the launch words that LaunchCheck derives."""
    packet = layouts.launch_words(config)
    threads = int(np.prod(launch.block))
    warps = -(-threads // config.warp_size)
    values = dict.fromkeys((f.name for f in packet.fields), 0)
    values |= {"code": launch.entry, "arguments": launch.arguments}
    values |= {f"g{axis}": g for axis, g in zip("xyz", launch.grid, strict=True)}
    values |= {f"d{axis}": d for axis, d in zip("xyz", launch.block, strict=True)}
    values |= {"threads": threads, "warps": warps, "shared": -(-launch.shared_bytes // 128)}
    widths = [(d - 1).bit_length() for d in launch.block]
    values |= {f"width_{axis}": w for axis, w in zip("xyz", widths, strict=True)}
    values["last_mask"] = (1 << threads - (warps - 1) * config.warp_size) - 1
    return {name: value for name, value in values.items() if name in packet.offsets}


class CoreBench:
    """One simulation: a core, its memory and the stand-in.

    Parameters
    ----------
    config : Config
        Of the front end.
    memory : ndarray of uint8
        What the memory holds.
    rng : random.Random
        Latency of index reads, pauses.
    core : callable, optional
        Makes the core; a test plants its faults there.
    """

    def __init__(
        self,
        config: Config,
        memory: np.ndarray,
        rng: random.Random,
        core: Callable[..., SimtCore] = SimtCore,
    ):
        self.config = config
        self.rng = rng
        self.core = core(config, CORE_BITS)
        self.memory = SimtMemory(1, CORE_BITS)
        self._words = memory[: 1 << CORE_BITS].view("<u4")
        #: Killed streams, by cycle.
        self.kill: Callable[[int], int] = lambda cycle: 0
        #: Changes a read's row of packed indices.
        self.answer: Callable[[int], int] = lambda words: words
        #: Cycles between a block's warp and its next one.
        self.pause = 0
        #: Changes a warp's mask and shared memory's first unit.
        self.mask: Callable[[int], int] = lambda mask: mask
        self.shared_first: Callable[[int], int] = lambda first: first

    def run(self, blocks: Sequence[Block], limit: int) -> CoreRun:
        """Run blocks of some launches, one for each stream; stop when all are reported."""
        m = Module()
        m.submodules.core = core = self.core
        m.submodules.memory = memory = self.memory
        wiring.connect(m, core.request, memory.request[0])
        m.d.comb += [
            core.loaded.eq(memory.loaded),
            memory.fetch_address[0].eq(core.fetch_address),
            core.fetched.eq(memory.fetched[0]),
        ]
        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        made = CoreRun()

        async def bench(ctx):
            for address in np.flatnonzero(self._words):
                ctx.set(memory.words[int(address)], int(self._words[address]))
            await self._drive(ctx, deque(blocks), made, limit)
            words = [ctx.get(memory.words[n]) for n in range(len(self._words))]
            made.memory = np.array(words, "<u4").view(np.uint8)

        simulator.add_testbench(bench)
        simulator.run()
        return made

    async def _drive(self, ctx, waiting: deque[Block], made: CoreRun, limit: int) -> None:
        """Hand on warps, answer reads and count ends, until nothing is left to do."""
        core, config, rng = self.core, self.config, self.rng
        resident: dict[int, Block] = {}
        # Warps of the last block that came, and from when on the first of them is handed on.
        handing: deque[dict[str, int]] = deque()
        next_at = 0
        # From when on a read is answered, and its row.
        reads: deque[tuple[int, int]] = deque()
        rows: dict[int, tuple[Launch, int]] = {}
        end, turn = warp_end(config), retired_turn(config)
        ctx.set(core.read.ready, 1)
        while waiting or resident:
            cycle = made.cycles
            assert cycle < limit, f"blocks still run after {limit} cycles: {resident}"
            kill = self.kill(cycle)
            ctx.set(core.kill, kill)
            ctx.set(core.block_valid, 0)
            offered = None
            if handing and kill >> resident[handing[0]["slot"]].stream & 1:
                # What was not handed on is dropped.
                handing.clear()
            elif handing and cycle >= next_at:
                offered = handing[0]
            if not handing and waiting and (block := self._room(waiting[0], resident)):
                waiting.popleft()
                self._take(ctx, block, cycle)
                resident[block.slot] = block
                handing.extend(self._warps(block, rows))
            ctx.set(core.warp.valid, offered is not None)
            if offered is not None:
                for name, value in offered.items():
                    ctx.set(getattr(core.warp.payload, name), value)
            answered = bool(reads) and reads[0][0] <= cycle
            ctx.set(core.data_valid, answered)
            if answered:
                _, row = reads.popleft()
                words, mask = packed_row(config, *rows[row])
                ctx.set(core.data.words, self.answer(words))
                ctx.set(core.data.mask, mask)
            await ctx.delay(5e-7)
            if offered is not None and ctx.get(core.warp.ready):
                resident[offered["slot"]].handed += 1
                handing.popleft()
                next_at = cycle + 1 + self.pause
            if ctx.get(core.read.valid):
                payload = ctx.get(core.read.payload)
                row = (payload["address"] + payload["warp"]) % (1 << config.index_address_bits)
                assert payload["warp"] < payload["index_warps"]
                reads.append((cycle + rng.randint(1, 9), row))
                made.reads += 1
            if ctx.get(core.retired_valid):
                made.turns.append(turn.unpack(ctx.get(core.retired.as_value())))
                made.turns[-1] |= {"block": resident[made.turns[-1]["slot"]], "cycle": cycle}
            if ctx.get(core.ended_valid):
                ended = end.unpack(ctx.get(core.ended.as_value()))
                resident[ended["slot"]].ended += ended["warps"]
                block = resident[ended["slot"]]
                if block.status in (None, BlockStatus.OK):
                    block.status = BlockStatus(ended["status"])
            for slot, block in list(resident.items()):
                left = bool(handing) and handing[0]["slot"] == slot
                dropped = kill >> block.stream & 1
                all_handed = block.handed == block.warps or (dropped and not left)
                if all_handed and block.ended == block.handed:
                    if block.status is None or (dropped and block.handed < block.warps):
                        block.status = BlockStatus.KILLED
                    block.reported = cycle
                    del resident[slot]
            await ctx.tick()
            made.cycles += 1

    def _room(self, block: Block, resident: dict[int, Block]) -> Block | None:
        """Give the next block a free slot, if its warps fit as well."""
        free = set(range(self.config.block_slots)) - set(resident)
        held = sum(other.warps for other in resident.values())
        if not free or held + block.warps > self.config.warp_slots:
            return None
        block.slot = self.rng.choice(sorted(free))
        return block

    def _take(self, ctx, block: Block, cycle: int) -> None:
        """Say that a block comes."""
        core, config = self.core, self.config
        block.taken = cycle
        stripe = config.shared_units // config.block_slots
        fields = {"stream": block.stream, "slot": block.slot}
        fields["shared_first"] = self.shared_first(block.slot * stripe)
        fields |= {f"b{axis}": b for axis, b in zip("xyz", block.position, strict=True)}
        for name, value in fields.items():
            ctx.set(getattr(core.block, name), value)
        for name, value in launch_words(config, block.launch).items():
            ctx.set(getattr(core.words, name), value)
        ctx.set(core.block_valid, 1)

    def _warps(self, block: Block, rows: dict[int, tuple[Launch, int]]) -> Iterator[dict[str, int]]:
        """Give a block's warps; each has a row of its own."""
        size = self.config.warp_size
        for warp in range(block.warps):
            row = (block.slot * block.warps + warp) % (1 << self.config.index_address_bits)
            rows[row] = block.launch, warp
            lanes = min(size, block.threads - warp * size)
            mask = self.mask((1 << lanes) - 1)
            yield {"slot": block.slot, "warp": warp, "mask": mask, "row": row}
