"""A dispatcher and a core around BlockToWarps; both hold what each may rely on."""

import random
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from tb.support.sm_side_tables import drawn, packed
from warploom_spec import BlockStatus, Config, layouts, sm_packets, timing
from warploom_spec.layouts import PLACES

Outputs = Mapping[str, int | None]
OK, FAULT, KILLED = BlockStatus


@dataclass
class Launch:
    """A resident launch, and its blocks that are not reported."""

    warps: int
    last_mask: int
    left: int
    killed: bool = False
    out: int = 0


@dataclass
class Running:
    """A block in the core: its launch, what it expects next, warps that run, how others ended."""

    launch: Launch
    fields: dict[str, int]
    next_warp: int = 0
    running: int = 0
    statuses: list[BlockStatus] = field(default_factory=list)


class WarpsTraffic:
    """Launches of random shapes, kills, and a core that ends warps in any order.

    Each warp comes once and in order with its fields. Each block is reported once, after its warps,
    with the worst of their statuses.

    Parameters
    ----------
    config : Config
        Of the SM.
    rng : random.Random
        For all choices.
    """

    def __init__(self, config: Config, rng: random.Random):
        self._config, self._rng = config, rng
        self.counts: Counter[str] = Counter()
        self._words = layouts.launch_words(config)
        self._placed = sm_packets.placed_block(config)
        self._start = sm_packets.warp_start(config)
        self._end = sm_packets.warp_end(config)
        self._report = layouts.block_report(config)
        self.reset()

    def reset(self) -> None:
        """Forget all launches."""
        self._cycle = 0
        self._free = deque(range(self._config.block_slots))
        self._launches: list[Launch | None] = [None] * PLACES
        self._given = [{"warps": 1}] * PLACES
        self._offer: int | None = None
        self._offered: tuple[Launch, dict[str, int]] | None = None
        self._blocks: dict[int, Running] = {}
        self._inputs: dict[str, int] = {}
        self._draw_paces()

    def next(self, outputs: Outputs | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        if outputs is None:
            self.reset()
        else:
            self._see(outputs)
        if self._cycle % 100 == 0:
            self._draw_paces()
        for place in range(PLACES):
            self._begin_and_kill(place)
        if self._offer is None and self._rng.random() < self._offers:
            self._next_offer()
        kill = sum(1 << p for p, one in enumerate(self._launches) if one and one.killed)
        self._inputs = {
            **{f"words__{p}": packed(self._words, **self._given[p]) for p in range(PLACES)},
            "kill": kill,
            "offer__valid": int(self._offer is not None),
            "offer__payload": self._offer or 0,
            "report__ready": 1,
            "warp__ready": int(self._rng.random() < self._takes),
            **self._next_end(),
        }
        self._cycle += 1
        return dict(self._inputs)

    def _draw_paces(self) -> None:
        rng = self._rng
        self._offers, self._takes = rng.choice((0.3, 1.0)), rng.choice((0.2, 0.7, 1.0))
        self._ends = rng.choice((0.1, 0.5, 1.0))

    def _begin_and_kill(self, place: int) -> None:
        rng, launch = self._rng, self._launches[place]
        if launch and not launch.out and (launch.killed or not launch.left):
            launch = self._launches[place] = None
        if launch and rng.random() < 0.01:
            launch.killed = True
        if launch is None and rng.random() < 0.2:
            most = min(self._config.max_warps, self._config.warp_slots)
            warps = rng.choice((1, 2, rng.randint(1, 6), most))
            launch = Launch(
                min(warps, most), rng.getrandbits(self._config.warp_size), rng.randint(1, 8)
            )
            self._launches[place] = launch
            self._given[place] = drawn(
                self._words, rng, warps=launch.warps, last_mask=launch.last_mask
            )
            self.counts["launches"] += 1

    def _next_offer(self) -> None:
        waiting = [p for p, one in enumerate(self._launches) if one and one.left]
        if not waiting or not self._free:
            return
        place = self._rng.choice(waiting)
        launch = self._launches[place]
        assert launch
        fields = drawn(self._placed, self._rng, place=place, slot=self._free.popleft())
        if "index_warps" in fields:
            fields["index_warps"] = self._rng.randint(0, launch.warps)
        launch.left -= 1
        launch.out += 1
        self._offer, self._offered = packed(self._placed, **fields), (launch, fields)

    def _next_end(self) -> dict[str, int]:
        rng = self._rng
        if self._cycle < timing(self._config).boot:
            # Ends that are ignored.
            return {"ended": rng.getrandbits(self._end.bits), "ended_valid": rng.randrange(2)}
        slots = [slot for slot, block in self._blocks.items() if block.running]
        if not slots or rng.random() >= self._ends:
            return {"ended": rng.getrandbits(self._end.bits), "ended_valid": 0}
        slot = rng.choice(slots)
        block = self._blocks[slot]
        warps = rng.randint(1, block.running)
        killed = (FAULT, 3, KILLED, KILLED) if block.launch.killed else (FAULT,)
        status = rng.choice((OK, OK, OK, *killed))
        block.running -= warps
        block.statuses.append(BlockStatus.of(status))
        return {
            "ended": packed(self._end, slot=slot, warps=warps, status=status),
            "ended_valid": 1,
        }

    def _see(self, outputs: Outputs) -> None:
        if outputs["report__valid"]:
            self._see_report(self._report.unpack(outputs["report__payload"] or 0))
        if outputs["warp__valid"] and self._inputs["warp__ready"]:
            self._see_warp(outputs)
        if self._inputs["offer__valid"] and outputs["offer__ready"]:
            assert self._offered
            launch, fields = self._offered
            self._blocks[fields["slot"]] = Running(launch, fields)
            self._offer = None

    def _see_warp(self, outputs: Outputs) -> None:
        warp = self._start.unpack(outputs["warp__payload"] or 0)
        block = self._blocks[warp["slot"]]
        fields, launch, number = block.fields, block.launch, block.next_warp
        assert outputs["block"] == packed(self._placed, **fields)
        last = number == launch.warps - 1
        wanted = {
            "slot": fields["slot"],
            "warp": number,
            "mask": launch.last_mask if last else (1 << self._config.warp_size) - 1,
            "row": 0,
            "indices": 0,
        }
        if self._config.makes_indices:
            rows = 1 << self._config.index_address_bits
            wanted["row"] = (fields["index_address"] + number) % rows
            wanted["indices"] = int(number < fields["index_warps"])
        assert warp == wanted
        assert number < launch.warps
        block.next_warp += 1
        block.running += 1

    def _see_report(self, report: Mapping[str, int]) -> None:
        block = self._blocks.pop(report["slot"])
        assert not block.running, "a block is reported before its warps have ended"
        if block.next_warp < block.launch.warps:
            assert block.launch.killed, "warps are dropped without a kill"
            block.statuses.append(KILLED)
            self.counts["dropped"] += 1
        worst = next(one for one in (FAULT, KILLED, OK) if one in block.statuses)
        assert report["status"] == worst
        self.counts[worst.name] += 1
        block.launch.out -= 1
        self._free.append(report["slot"])
