"""The offers: a picked block, three cycles later, with its slot."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.pipes import Pipe
from warploom_spec import Config
from warploom_spec.resident_packets import resident_block, resident_entry_bits


class Offers(wiring.Component):
    """Carry a picked block to the SMs' bus. Rule 21 of ``docs/dispatch/resident_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms`` and the block's widths.
    """

    pick: Signal
    picked: "data.View[data.StructLayout]"
    first: Signal
    slot: Signal
    offer: Signal
    block: "data.View[data.StructLayout]"
    fetch: Signal
    began: Signal

    def __init__(self, config: Config) -> None:
        block = resident_block(config).layout()
        super().__init__(
            {
                # The picked SM, one-hot, in the pick's cycle.
                "pick": In(config.sms),
                # One cycle later: the block, its slot apart; it is its launch's first.
                "picked": In(block),
                "first": In(1),
                # Three cycles after the pick: its slot.
                "slot": In(config.slot_bits),
                # Three cycles after the pick. Registers.
                "offer": Out(config.sms),
                "block": Out(block),
                # The entry of the block that is offered two cycles later.
                "fetch": Out(resident_entry_bits(config)),
                # The offered block is its launch's first.
                "began": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        block = Pipe(m, "block", Value.cast(self.picked), 1, 3)
        layout = self.block.shape()
        m.d.comb += [
            self.offer.eq(Pipe(m, "offer", self.pick, 0, 3, keeps=False)[3]),
            self.began.eq(Pipe(m, "first", self.first, 1, 3, keeps=False)[3]),
            self.fetch.eq(self.picked.entry),
            *(
                self.block[name].eq(
                    self.slot if name == "slot" else data.View(layout, block[3])[name]
                )
                for name in layout.members
            ),
        ]
        return m
