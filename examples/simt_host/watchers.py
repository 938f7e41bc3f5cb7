"""Cocotb tasks that note what a SimtGpu's SMs are offered, and which blocks wait."""

from collections.abc import Sequence
from typing import Any, Final

from cocotb.triggers import FallingEdge, ValueChange
from cocotb.utils import get_sim_time

from simt_core.packets import retired_turn
from warploom_spec import Config
from warploom_spec.resident_packets import resident_block

#: Nanoseconds of a cycle.
PERIOD: Final = 2
_WORD: Final = 4


class Watcher:
    """Notes of one run.

    Parameters
    ----------
    dut : Any
        The SimtGpu.
    config : Config
        Its configuration.
    waits : sequence of int
        Addresses of the loads with which lane 0 of a block waits, each with a branch behind it;
        none: nobody's turns are looked at.

    Attributes
    ----------
    offers : list of dict
        Each offer in order: its SM, slot, stream, block x and cycle, and ``waited``: cycles between
        a load of ``waits`` and the same load again; 0 if what is awaited stands at the first look.
    """

    def __init__(self, dut: Any, config: Config, waits: Sequence[int]):
        self._dut = dut
        self._sms = range(config.sms)
        self._block, self._turn = resident_block(config), retired_turn(config)
        self._waits = frozenset(waits)
        # Of each slot of each SM: its block, the pc of lane 0's last turn, its last load's cycle.
        self._held: dict[tuple[int, int], dict[str, int]] = {}
        self._pcs: dict[tuple[int, int], int] = {}
        self._loaded: dict[tuple[int, int], int] = {}
        self.offers: list[dict[str, int]] = []

    async def watch_offers(self) -> None:
        """Note offers for ever."""
        await self._each_cycle(self._dut.offered, self._offer)

    async def watch_turns(self) -> None:
        """Note who waits for ever."""
        await self._each_cycle(self._dut.retired_valid, self._turn_of)

    async def _each_cycle(self, valid: Any, note: Any) -> None:
        """Call ``note`` in each cycle in which a signal is not 0, with its value."""
        while True:
            if not int(valid.value):
                await ValueChange(valid)
            await FallingEdge(self._dut.clk)
            value = int(valid.value)
            for n in self._sms:
                if value >> n & 1:
                    note(n)

    def _offer(self, sm: int) -> None:
        block = self._block.unpack(int(self._dut.offered_block.value))
        made = {"sm": sm, "slot": block["slot"], "stream": block["stream"], "block": block["bx"]}
        made |= {"cycle": _cycle(), "waited": 0}
        self._held[sm, made["slot"]] = made
        self._pcs.pop((sm, made["slot"]), None)
        self.offers.append(made)

    def _turn_of(self, sm: int) -> None:
        turn = self._turn.unpack(int(getattr(self._dut, f"retired__{sm}").value))
        if turn["warp"] or not turn["lanes"] & 1:
            return
        place, pc = (sm, turn["slot"]), turn["pc"]
        if pc in self._waits:
            if self._pcs.get(place) == pc + _WORD:
                self._held[place]["waited"] += _cycle() - self._loaded[place]
            self._loaded[place] = _cycle()
        self._pcs[place] = pc


def _cycle() -> int:
    return int(get_sim_time("ns")) // PERIOD
