"""A dispatcher at one SM's port: launches in streams, offers in any cycle, kills."""

import random
from collections import Counter, deque
from dataclasses import dataclass

from tb.support.sm_side_tables import drawn, packed
from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.resident_packets import resident_block

OK, FAULT, KILLED = BlockStatus


@dataclass
class Launch:
    """A resident launch: blocks left, blocks out, and whether it is killed."""

    words: dict[str, int]
    left: int
    out: int = 0
    killed: bool = False


class OfferTraffic:
    """Offers for one SM as the port's page allows; holds that each block is reported once.

    Parameters
    ----------
    config : Config
        Of the SM.
    rng : random.Random
        For all choices.

    Attributes
    ----------
    launches : dict
        Resident launches by stream.
    blocks : dict
        Fields of the blocks that are not reported, by slot.
    counts : Counter
        Launches, offers in a row, and reports by status.
    """

    def __init__(self, config: Config, rng: random.Random):
        self._config, self._rng = config, rng
        self._block = resident_block(config)
        self._words = layouts.launch_words(config)
        self._report = layouts.block_report(config)
        self._streams = range(min(4, 1 << config.stream_bits))
        self.counts: Counter[str] = Counter()
        self.reset()

    def reset(self) -> None:
        """Forget all launches."""
        self._cycle = 0
        self._free = deque(range(self._config.block_slots))
        self._pace = 1.0
        self._took = self._offered = False
        self.launches: dict[int, Launch] = {}
        self.blocks: dict[int, dict[str, int]] = {}

    def next(self) -> dict[str, int]:
        """Return the next cycle's inputs of the port, but the reports'."""
        rng = self._rng
        if self._cycle % 100 == 0:
            self._pace = rng.choice((0.05, 0.4, 1.0))
        self._begin_and_kill()
        block, words = rng.getrandbits(self._block.bits), rng.getrandbits(self._words.bits)
        waiting = [s for s, one in self.launches.items() if one.left]
        self._offered = bool(waiting and self._free) and rng.random() < self._pace
        if self._offered:
            stream = rng.choice(waiting)
            block, words = self._offer(stream)
            self.counts["in a row"] += self._took
        self._took = self._offered
        kill = sum(1 << s for s, one in self.launches.items() if one.killed)
        self._cycle += 1
        return {"offer": int(self._offered), "block": block, "words": words, "kill": kill}

    def _begin_and_kill(self) -> None:
        rng = self._rng
        for stream, launch in list(self.launches.items()):
            if not launch.out and (launch.killed or not launch.left) and rng.random() < 0.1:
                del self.launches[stream]
            elif rng.random() < 0.015:
                launch.killed = True
                # Some offers were decided already.
                launch.left = min(launch.left, rng.randrange(3))
        stream = rng.choice(self._streams)
        if stream not in self.launches and rng.random() < 0.2:
            warps = rng.choice((1, 2, rng.randint(1, 6), self._config.warp_slots))
            warps = min(warps, self._config.max_warps, self._config.warp_slots)
            words = drawn(self._words, rng, warps=warps)
            self.launches[stream] = Launch(words, rng.randint(1, 12))
            self.counts["launches"] += 1

    def _offer(self, stream: int) -> tuple[int, int]:
        launch = self.launches[stream]
        fields = drawn(self._block, self._rng, stream=stream, slot=self._free.popleft())
        fields["warps"] = launch.words["warps"]
        launch.left -= 1
        launch.out += 1
        self.blocks[fields["slot"]] = fields
        return packed(self._block, **fields), packed(self._words, **launch.words)

    def words_of(self, stream: int) -> int:
        """Return the packed words of a stream's launch."""
        return packed(self._words, **self.launches[stream].words)

    def killed(self, slot: int) -> bool:
        """Tell whether the launch of a slot's block is killed."""
        return self.launches[self.blocks[slot]["stream"]].killed

    def reported(self, payload: int) -> tuple[int, BlockStatus]:
        """Take a report; return its slot and status."""
        report = self._report.unpack(payload)
        slot, status = report["slot"], BlockStatus(report["status"])
        assert slot in self.blocks, "a report of a slot in which no block runs"
        assert status != KILLED or self.killed(slot), "KILLED without a kill"
        self.launches[self.blocks.pop(slot)["stream"]].out -= 1
        self._free.append(slot)
        self.counts[status.name] += 1
        return slot, status
