"""Cycle model of BlockToWarps: a block's warps for a core that takes warps."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.sm_side.report_queue import ReportQueue
from warploom_spec import layouts, sm_packets
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus
from warploom_spec.timing import timing

#: Statuses from the weakest to the one that wins.
RANKS = (BlockStatus.OK, BlockStatus.KILLED, BlockStatus.FAULT)


@dataclass
class Held:
    """The block that is held.

    Attributes
    ----------
    payload : int
        Its `placed_block`.
    fields : mapping
        The same by field.
    warps, last_mask : int
        Of its launch.
    warp : int
        The warp at `warp`, or the first one that is dropped.
    dropping : bool
        Whether its warps from ``warp`` on are dropped.
    """

    payload: int
    fields: Mapping[str, int]
    warps: int
    last_mask: int
    warp: int
    dropping: bool


@dataclass(frozen=True)
class End:
    """Warps of a slot's block that have ended."""

    slot: int
    status: BlockStatus
    warps: int


@dataclass
class Slot:
    """A block slot: its block's warps, those that have ended, and how."""

    warps: int = 0
    ended: int = 0
    fate: BlockStatus = BlockStatus.OK


class BlockToWarps:
    """Cycle model of BlockToWarps.

    Ports and rules: ``docs/sm_side/block_to_warps.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Widths and the number of block slots.
    """

    def __init__(self, config: Config):
        self._boot = timing(config).boot
        self._slots_count = 1 << config.slot_bits
        self._rows = 1 << config.index_address_bits
        self._all_lanes = (1 << config.warp_size) - 1
        self._words = layouts.launch_words(config)
        self._block = sm_packets.placed_block(config)
        self._start = sm_packets.warp_start(config)
        self._end = sm_packets.warp_end(config)
        self._block_report = layouts.block_report(config)
        self._reports = ReportQueue(config)
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        self._cycle = 0
        self._held: Held | None = None
        self._slots = [Slot() for _ in range(self._slots_count)]
        #: The end of the cycle before.
        self._ended: End | None = None
        self._reports.reset()

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        held, over = self._shown(), self._over()
        return {
            "offer__ready": int(self._is_booted() and self._held is None),  # 1, 2
            "dropped__ready": int(over is None),  # 8
            **self._reports.outputs(),
            "over_valid": int(over is not None),
            "over": over,
            "warp__valid": int(held is not None),
            "warp__payload": self._warp_start(held) if held else None,
            "block": held.payload if held else None,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        held = self._held
        dropped = inputs["dropped__payload"] if inputs["dropped__valid"] else None
        self._reports.tick(inputs, self._over(), dropped)
        if self._ended:
            self._count(self._ended)
        self._ended = self._end_of(inputs)
        if held is None:
            if self._is_booted() and inputs["offer__valid"]:
                self._take(inputs)
        elif held.dropping:  # 5
            if not inputs["ended_valid"]:
                self._held = None
        elif inputs["warp__ready"]:
            self._hand_on(held, inputs)
        self._cycle += 1

    def _is_booted(self) -> bool:
        return self._cycle >= self._boot

    def _shown(self) -> Held | None:
        """Return the held block if its warp is valid (2, 3)."""
        return self._held if self._held and not self._held.dropping else None

    def _warp_start(self, held: Held) -> int:
        """Return the warp at `warp` (4)."""
        warp = held.warp
        return self._start.pack(
            {
                "slot": held.fields["slot"],
                "warp": warp,
                "mask": held.last_mask if warp == held.warps - 1 else self._all_lanes,
                "row": (held.fields["index_address"] + warp) % self._rows,
            }
        )

    def _take(self, inputs: Mapping[str, int]) -> None:
        """Hold the block that transfers (2)."""
        payload = inputs["offer__payload"]
        fields = self._block.unpack(payload)
        words = self._words.unpack(inputs["words"])
        self._held = Held(
            payload=payload,
            fields=fields,
            warps=words["warps"],
            last_mask=words["last_mask"],
            warp=0,
            dropping=_is_killed(fields["stream"], inputs),
        )
        self._slots[fields["slot"]].warps = words["warps"]

    def _hand_on(self, held: Held, inputs: Mapping[str, int]) -> None:
        """Go on from a warp that transfers (3)."""
        held.warp += 1
        held.dropping = _is_killed(held.fields["stream"], inputs)
        if held.warp == held.warps:
            self._held = None

    def _end_of(self, inputs: Mapping[str, int]) -> End | None:
        """Return what ends in this cycle: the core's warps, or else those that are dropped (5)."""
        if inputs["ended_valid"]:
            if not self._is_booted():
                return None
            end = self._end.unpack(inputs["ended"])
            return End(end["slot"], BlockStatus.of(end["status"]), end["warps"])
        held = self._held
        if held is None or not held.dropping:
            return None
        return End(held.fields["slot"], BlockStatus.KILLED, held.warps - held.warp)

    def _over(self) -> int | None:
        """Return the report of the block that the end of the cycle before completes (6, 7)."""
        end = self._ended
        if end is None or self._slots[end.slot].ended + end.warps != self._slots[end.slot].warps:
            return None
        fate = max(self._slots[end.slot].fate, end.status, key=RANKS.index)
        return self._block_report.pack({"slot": end.slot, "status": fate})

    def _count(self, end: End) -> None:
        """Add an end to its slot, which begins anew if its block is over (6)."""
        slot = self._slots[end.slot]
        slot.ended += end.warps
        slot.fate = max(slot.fate, end.status, key=RANKS.index)
        if slot.ended == slot.warps:
            slot.ended, slot.fate = 0, BlockStatus.OK


def _is_killed(stream: int, inputs: Mapping[str, int]) -> bool:
    return bool(inputs["kill"] >> stream & 1)
