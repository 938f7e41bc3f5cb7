"""A dispatcher and a core around ResourceRanges, and an observer of the ranges that it gives."""

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from tb.support.sm_side_tables import drawn, packed
from warploom_spec import Config, layouts, sm_packets
from warploom_spec.resident_packets import resident_block
from warploom_spec.resources import RANGED

Ports = Mapping[str, int]
Outputs = Mapping[str, int | None]
#: From a report on, the dispatcher may offer the block's slot and its resources again.
AGAIN = 2
#: Streams that have launches.
STREAMS = 2


def size_of(words: Mapping[str, int], config: Config) -> tuple[int, ...]:
    """Return the units that a block takes of each resource that has ranges, in whole cells."""
    return tuple(
        r.in_cells(words[r.field.name] * (words["warps"] if r.field.of_warp else 1), config)
        for r in RANGED
        if r.field
    )


@dataclass
class Launch:
    """A resident launch: what is left to offer, and its slots that are not reported."""

    words: dict[str, int]
    left: int
    killed: bool = False
    out: set[int] = field(default_factory=set)

    @property
    def offers(self) -> bool:
        """Whether it has a block to offer."""
        return bool(self.left) and not self.killed


class RangesTraffic:
    """Launches of random sizes, and a core that takes and ends their blocks at random.

    It keeps to what ResourceRanges relies on: a block is offered when enough cells are free,
    wherever they are. Blocks of the launches come in any order.

    Parameters
    ----------
    config : Config
        Of the SM.
    rng : random.Random
        For all choices.
    resident : int
        Launches at a time.
    kills : float
        Chance of a kill in a cycle.
    hurries : bool
        Whether a stream's next launch comes while blocks of the last one are out, as if there were
        many streams. Launches have few and small blocks then, so that those of many sizes meet on
        the SM, and no launch is killed.
    """

    def __init__(
        self,
        config: Config,
        rng: random.Random,
        resident: int = STREAMS,
        kills: float = 0.01,
        *,
        hurries: bool = False,
    ):
        self._hurries = hurries
        if hurries:
            kills = 0.0
        self._config, self._rng = config, rng
        self._resident, self._kills = resident, kills
        self._capacity = [r.limit(config) for r in RANGED]
        self._packets = (
            layouts.launch_words(config),
            resident_block(config),
            layouts.block_report(config),
            sm_packets.placed_block(config),
        )
        # A launch after a reset now and then has the size of one before it.
        self._words = [dict.fromkeys(("warps", "warp_registers", "shared"), 1)] * STREAMS
        self.reset()

    def reset(self) -> None:
        """Forget all launches."""
        self._cycle = 0
        self._streams: list[Launch | None] = [None] * STREAMS
        #: Slots with the first cycle in which each may be offered, and the units used by each.
        self._free = deque((slot, 0) for slot in range(self._config.block_slots))
        self._used: dict[int, tuple[int, ...]] = {}
        self._returns: deque[tuple[int, int]] = deque()
        self._offer: tuple[int, int] | None = None
        #: Stream by slot of blocks in the core.
        self._running: dict[int, int] = {}
        self._refused: int | None = None
        self._inputs: Ports = {}
        self._draw_paces()

    def next(self, outputs: Outputs | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        if outputs is None:
            self.reset()
        else:
            self._see(outputs)
        if self._cycle % 200 == 0:
            self._draw_paces()
        while self._returns and self._returns[0][0] <= self._cycle:
            del self._used[self._returns.popleft()[1]]
        self._begin_and_kill()
        if self._offer is None and self._rng.random() < self._offers:
            self._offer = self._next_offer()
        kill = sum(1 << p for p, launch in enumerate(self._streams) if launch and launch.killed)
        ready = self._rng.random() < self._takes
        reported = self._reported(ready)
        words, _, block_report, _ = self._packets
        self._inputs = {
            "words": packed(words, **self._words[self._offered() or 0]),
            "kill": kill,
            "offer__valid": int(self._offer is not None),
            "offer__payload": self._offer[1] if self._offer else 0,
            "o__ready": int(ready),
            "report": packed(block_report, slot=reported or 0, status=self._rng.randrange(4)),
            "report_valid": int(reported is not None),
        }
        self._cycle += 1
        return dict(self._inputs)

    def _draw_paces(self) -> None:
        rng = self._rng
        self._offers, self._takes = rng.choice((0.3, 1.0, 1.0)), rng.choice((0.3, 1.0, 1.0))
        self._reports = rng.choice((0.05, 0.2, 0.5, 1.0))

    def _see(self, outputs: Outputs) -> None:
        if self._inputs["offer__valid"] and outputs["offer__ready"]:
            self._offer = None
        self._refused = None
        if outputs["o__valid"]:
            block = self._packets[3].unpack(outputs["o__payload"] or 0)
            if not self._inputs["o__ready"]:
                self._refused = block["slot"]
            elif block["slot"] in self._used and not self._is_returned(block["slot"]):
                self._running[block["slot"]] = block["stream"]

    def _is_returned(self, slot: int) -> bool:
        """Tell whether a block was reported in the cycle in which it was taken."""
        return any(slot == returned for _, returned in self._returns)

    def _offered(self) -> int | None:
        """Return the stream of the block that is offered: its launch's words stay on the bus."""
        return self._packets[1].unpack(self._offer[1])["stream"] if self._offer else None

    def _begin_and_kill(self) -> None:
        rng = self._rng
        for stream, launch in enumerate(self._streams):
            gone = launch and not launch.offers and stream != self._offered()
            if gone and (self._hurries or not launch.out):
                self._streams[stream] = None
            elif launch and rng.random() < self._kills:
                launch.killed = True
        empty = [p for p, launch in enumerate(self._streams) if launch is None]
        if empty and STREAMS - len(empty) < self._resident and rng.random() < 0.2:
            stream = rng.choice(empty)
            self._words[stream] = self._new_words(stream)
            blocks = rng.randint(1, 2 if self._hurries else 16)
            self._streams[stream] = Launch(self._words[stream], blocks)

    def _new_words(self, stream: int) -> dict[str, int]:
        """Return a launch's size, now and then that of the other stream."""
        rng = self._rng
        if rng.random() < 0.25:
            return self._words[1 - stream]
        words = self._packets[0]
        parts = (4, 8) if self._hurries else (1, 2, 4, 8)
        registers, shared = (max(units // rng.choice(parts), 1) for units in self._capacity)
        most = rng.choice((4, self._config.warp_slots))
        warps = rng.randint(1, min(most, registers))
        return drawn(
            words,
            rng,
            warps=warps,
            warp_registers=rng.randint(0, registers // warps),
            shared=rng.randint(0, shared),
        )

    def _next_offer(self) -> tuple[int, int] | None:
        """Return slot and payload of a launch's next block, if the SM has room for it."""
        waiting = [
            (stream, launch)
            for stream, launch in enumerate(self._streams)
            if launch and launch.offers
        ]
        if not waiting or not self._free or self._free[0][1] > self._cycle:
            return None
        stream, launch = self._rng.choice(waiting)
        size = size_of(launch.words, self._config)
        for units, *taken in zip(self._capacity, size, *self._used.values(), strict=True):
            if sum(taken) > units:
                return None
        slot, _ = self._free.popleft()
        self._used[slot] = size
        launch.left -= 1
        launch.out.add(slot)
        fields = drawn(self._packets[1], self._rng, stream=stream, slot=slot)
        return slot, packed(self._packets[1], **fields)

    def _reported(self, ready: bool) -> int | None:
        """Return a slot to report, now and then one that is taken in this very cycle."""
        slot = None
        if ready and self._refused is not None and self._rng.random() < self._reports:
            slot = self._refused
        elif self._running and self._rng.random() < self._reports:
            slot = self._rng.choice(list(self._running))
            del self._running[slot]
        if slot is None:
            return None
        for launch in self._streams:
            if launch:
                launch.out.discard(slot)
        self._free.append((slot, self._cycle + AGAIN))
        self._returns.append((self._cycle + AGAIN, slot))
        return slot


class RangesHeld:
    """Holds what a core relies on, and counts hard cases.

    Ranges are whole cells in the SM and do not overlap. Blocks come out in order with their fields.
    No block is held back while all blocks have had one size since the SM was empty, and none waits
    for long while no other has ranges.

    Parameters
    ----------
    config : Config
        Of the SM.
    """

    def __init__(self, config: Config):
        self._config = config
        self._words = layouts.launch_words(config)
        self._offer = resident_block(config)
        self._report = layouts.block_report(config)
        self._placed = sm_packets.placed_block(config)
        self.counts_of = dict.fromkeys(
            (
                "blocks",
                "held back",
                "goes on without ranges",
                "the last cells",
                "a range before others",
                "ranges of three sizes",
                "reported in the cycle of its transfer",
            ),
            0,
        )
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        self._waiting: deque[tuple[dict[str, int], tuple[int, ...]]] = deque()
        #: Ranges by slot of blocks in a core; none if the stream was killed.
        self._given: dict[int, tuple[range, ...]] = {}
        #: Sizes of the blocks that came since the SM was empty.
        self._sizes: set[tuple[int, ...]] = set()
        #: Cycles in which a block waited beside an SM without ranges.
        self._alone = 0

    def counts(self) -> dict[str, int]:
        """Return how often each hard case happened."""
        return self.counts_of

    def see(self, cycle: int, inputs: Ports, outputs: Outputs) -> None:
        """Look at a cycle."""
        alike = len(self._sizes) == 1
        assert not (alike and outputs["held_back"]), f"one of equal blocks is held back in {cycle}"
        self._count("held back", bool(outputs["held_back"]))
        if outputs["o__valid"] and inputs["o__ready"]:
            self._take(inputs, outputs["o__payload"] or 0)
        if inputs["offer__valid"] and outputs["offer__ready"]:
            offer = self._offer.unpack(inputs["offer__payload"])
            words = self._words.unpack(inputs["words"])
            if not self._waiting and not self._given:
                self._sizes = set()
            self._waiting.append((offer, size_of(words, self._config)))
            self._sizes.add(self._waiting[-1][1])
        self._see_wait(cycle, outputs)
        if inputs["report_valid"]:
            slot = self._report.unpack(inputs["report"])["slot"]
            taken = outputs["o__valid"] and inputs["o__ready"]
            at_o = taken and self._placed.unpack(outputs["o__payload"] or 0)["slot"] == slot
            self._count("reported in the cycle of its transfer", bool(at_o))
            del self._given[slot]

    def _see_wait(self, cycle: int, outputs: Outputs) -> None:
        """Demand that the oldest block goes on soon when nothing is in its way."""
        empty = not any(any(ranges) for ranges in self._given.values())
        self._alone = self._alone + 1 if empty and self._waiting and not outputs["o__valid"] else 0
        # A search that finds none, one that finds a run, and its marking.
        most = 3 * max(r.cells(self._config) for r in RANGED) + 8
        assert self._alone < most, f"a block waits beside an empty SM in {cycle}"

    def _count(self, name: str, happened: bool) -> None:
        self.counts_of[name] += happened

    def _take(self, inputs: Ports, payload: int) -> None:
        """Look at a block that transfers at `o`."""
        block = self._placed.unpack(payload)
        offer, size = self._waiting.popleft()
        assert {name: block[name] for name in offer} == offer
        firsts = [block[f"{r.name}_first"] for r in RANGED]
        killed = bool(inputs["kill"] >> offer["stream"] & 1)
        ranges = tuple(range(f, f + n) for f, n in zip(firsts, size, strict=True))
        self._count("blocks", True)
        self._count("goes on without ranges", killed and not any(firsts))
        if killed:
            ranges = ()
        self._hold(ranges)
        self._given[offer["slot"]] = ranges

    def _hold(self, ranges: tuple[range, ...]) -> None:
        """Demand that ranges lie in the SM and touch no others."""
        others = [given for given in self._given.values() if given]
        for n, (resource, wanted) in enumerate(zip(RANGED, ranges, strict=False)):
            units, cell = resource.limit(self._config), resource.cell_units(self._config)
            assert wanted.stop <= units, f"{wanted} ends beyond {units} units"
            assert wanted.start % cell == 0, f"{wanted} begins within a cell of {cell}"
            for other in others:
                overlap = max(wanted.start, other[n].start) < min(wanted.stop, other[n].stop)
                assert not (wanted and other[n] and overlap), f"{wanted} overlaps {other[n]}"
            self._count("the last cells", bool(wanted) and wanted.stop == units)
            above = any(other[n].start >= wanted.stop for other in others if other[n])
            self._count("a range before others", bool(wanted) and above)
        sizes = {tuple(map(len, one)) for one in (ranges, *others) if one}
        self._count("ranges of three sizes", len(sizes) > 2)
