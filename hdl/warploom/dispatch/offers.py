"""The offers: a picked block, some cycles later, with its slot."""

from amaranth.hdl import C, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.pipes import Pipe, decoded_later, held
from warploom_spec import Config, timing
from warploom_spec.resident_limits import in_groups
from warploom_spec.resident_packets import resident_block, resident_entry_bits


class Offers(wiring.Component):
    """Carry a picked block to the SMs' bus. Rule 21 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms`` and the block's widths.
    """

    pick: Signal
    was_picked: Signal
    picked_sm: Signal
    picked: "data.View[data.StructLayout]"
    first: Signal
    slot: Signal
    offer: Signal
    block: "data.View[data.StructLayout]"
    fetch: Signal
    began: Signal

    def __init__(self, config: Config) -> None:
        block = resident_block(config).layout()
        self._last, self._grouped = timing(config).resident_offer, in_groups(config)
        super().__init__(
            {
                # The picked SM, one-hot, in the pick's cycle.
                "pick": In(config.sms),
                # One cycle later: there was one; its number.
                "was_picked": In(1),
                "picked_sm": In(config.sm_bits),
                # Then, too: the block, its slot apart; it is its launch's first.
                "picked": In(block),
                "first": In(1),
                # In the offer's cycle: its slot.
                "slot": In(config.slot_bits),
                # Three cycles after the pick, five with groups of SMs. Registers.
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
        last = self._last
        block = Pipe(m, "block", Value.cast(self.picked), 1, last)
        layout = self.block.shape()
        m.d.comb += [
            self.offer.eq(self._offered(m)),
            self.began.eq(Pipe(m, "first", self.first, 1, last, keeps=False)[last]),
            self.fetch.eq(data.View(layout, block[last - 2]).entry),
            *(
                self.block[name].eq(
                    self.slot if name == "slot" else data.View(layout, block[last])[name]
                )
                for name in layout.members
            ),
        ]
        return m

    def _offered(self, m: Module) -> Value:
        """Return the SM of the block that is offered, one-hot: registers."""
        sms, last = len(self.offer), self._last
        if not self._grouped:
            return Pipe(m, "offer", self.pick, 0, last, keeps=False)[last]
        number = Pipe(m, "offer_sm", self.picked_sm, 1, last - 2)[last - 2]
        valid = Pipe(m, "offer_valid", self.was_picked, 1, last - 2, keeps=False)[last - 2]
        one = decoded_later(m, "offer", number, sms, valid, clear=C(0, 1))
        return held(m, "offer_one", one, clear=C(0, 1))
