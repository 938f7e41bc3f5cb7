"""A dispatcher and a core around BlockToWarps; both hold what each may rely on."""

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from tb.support.offer_traffic import FAULT, KILLED, OK, OfferTraffic
from tb.support.sm_side_tables import packed
from warploom_spec import BlockStatus, Config, sm_packets, timing

Outputs = Mapping[str, int | None]


@dataclass
class Running:
    """A block in the core: its fields, what it expects next, warps that run, how others ended."""

    fields: dict[str, int]
    warps: int
    last_mask: int
    next_warp: int = 0
    running: int = 0
    statuses: list[BlockStatus] = field(default_factory=list)


class WarpsTraffic(OfferTraffic):
    """Launches of random shapes, kills, and a core that ends warps in any order.

    Some blocks are dropped before they come, as OfferQueue does. Each warp comes once and in order
    with its fields. Each block is reported once, after its warps, with the worst of their statuses.

    Parameters
    ----------
    config : Config
        Of the SM.
    rng : random.Random
        For all choices.
    """

    def __init__(self, config: Config, rng: random.Random):
        self._placed = sm_packets.placed_block(config)
        self._start = sm_packets.warp_start(config)
        self._end = sm_packets.warp_end(config)
        super().__init__(config, rng)

    def reset(self) -> None:
        """Forget all launches."""
        super().reset()
        #: Blocks that were offered to the SM and have not come here.
        self._line: deque[dict[str, int]] = deque()
        self._standing = False
        self._dropped: int | None = None
        self._in_core: dict[int, Running] = {}
        self._over: list[int] = []
        self._inputs: dict[str, int] = {}

    def next(self, outputs: Outputs | None = None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        rng = self._rng
        if outputs is None:
            self.reset()
        else:
            self._see(outputs)
        if self._cycle % 100 == 0:
            self._offers, self._takes = rng.choice((0.3, 1.0)), rng.choice((0.2, 0.7, 1.0))
            self._ends, self._reports = rng.choice((0.1, 0.5, 1.0)), rng.choice((0.1, 1.0))
        booting = self._cycle < timing(self._config).boot
        port = super().next()
        if self._offered:
            fields = self._block.unpack(port["block"])
            ranges = {f.name: rng.getrandbits(f.bits) for f in self._placed.present}
            self._line.append({**ranges, **fields})
        self._drop(port["kill"])
        self._standing = self._standing or bool(self._line) and rng.random() < self._offers
        words = self.words_of(self._line[0]["stream"]) if self._standing else 0
        self._inputs = {
            "words": words,
            "kill": port["kill"],
            "offer__valid": int(self._standing),
            "offer__payload": packed(self._placed, **self._line[0]) if self._standing else 0,
            "dropped__valid": int(self._dropped is not None),
            "dropped__payload": self._dropped or 0,
            "report__ready": int(rng.random() < self._reports),
            "warp__ready": int(rng.random() < self._takes),
            **self._next_end(booting),
        }
        return dict(self._inputs)

    def _drop(self, kill: int) -> None:
        """Drop a block that waits behind the offer."""
        behind = list(self._line)[1:]
        killed = [fields for fields in behind if kill >> fields["stream"] & 1]
        if self._dropped is None and killed and self._rng.random() < 0.2:
            self._line.remove(killed[0])
            self._dropped = killed[0]["slot"]

    def _next_end(self, booting: bool) -> dict[str, int]:
        rng = self._rng
        if booting:
            # Ends that are ignored.
            return {"ended": rng.getrandbits(self._end.bits), "ended_valid": rng.randrange(2)}
        slots = [slot for slot, block in self._in_core.items() if block.running]
        if not slots or rng.random() >= self._ends:
            return {"ended": rng.getrandbits(self._end.bits), "ended_valid": 0}
        slot = rng.choice(slots)
        block = self._in_core[slot]
        warps = rng.randint(1, block.running)
        killed = (FAULT, 3, KILLED, KILLED) if self.killed(slot) else (FAULT,)
        status = rng.choice((OK, OK, OK, *killed))
        block.running -= warps
        block.statuses.append(BlockStatus.of(status))
        return {
            "ended": packed(self._end, slot=slot, warps=warps, status=status),
            "ended_valid": 1,
        }

    def _see(self, outputs: Outputs) -> None:
        given = self._inputs
        if outputs["over_valid"]:
            slot = self._report.unpack(outputs["over"] or 0)["slot"]
            assert slot in self._in_core and slot not in self._over
            self._over.append(slot)
        if outputs["report__valid"] and given["report__ready"]:
            self._see_report(outputs["report__payload"] or 0)
        if outputs["warp__valid"] and given["warp__ready"]:
            self._see_warp(outputs)
        if given["offer__valid"] and outputs["offer__ready"]:
            fields = self._line.popleft()
            words = self.launches[fields["stream"]].words
            self._in_core[fields["slot"]] = Running(fields, words["warps"], words["last_mask"])
            self._standing = False
        if given["dropped__valid"] and outputs["dropped__ready"]:
            self._over.append(given["dropped__payload"])
            self._dropped = None

    def _see_warp(self, outputs: Outputs) -> None:
        warp = self._start.unpack(outputs["warp__payload"] or 0)
        block = self._in_core[warp["slot"]]
        fields, number = block.fields, block.next_warp
        assert outputs["block"] == packed(self._placed, **fields)
        last = number == block.warps - 1
        wanted = {
            "slot": fields["slot"],
            "warp": number,
            "mask": block.last_mask if last else (1 << self._config.warp_size) - 1,
            "row": 0,
        }
        if self._config.makes_indices:
            rows = 1 << self._config.index_address_bits
            wanted["row"] = (fields["index_address"] + number) % rows
        assert warp == wanted
        assert number < block.warps
        block.next_warp += 1
        block.running += 1

    def _see_report(self, payload: int) -> None:
        slot = self._report.unpack(payload)["slot"]
        assert self._over.pop(0) == slot, "reports are not in the order of the ends"
        killed = self.killed(slot)
        slot, status = self.reported(payload)
        block = self._in_core.pop(slot, None)
        if block is None:
            self.counts["not begun"] += 1
            assert status == KILLED
            return
        assert not block.running, "a block is reported before its warps have ended"
        if block.next_warp < block.warps:
            assert killed, "warps are dropped without a kill"
            block.statuses.append(KILLED)
            self.counts["dropped"] += 1
        assert status == next(one for one in (FAULT, KILLED, OK) if one in block.statuses)
