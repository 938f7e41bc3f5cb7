"""Which template slots some loop uses."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config

#: Slots of a row.
_ROW = 4


class SlotsInUse(wiring.Component):
    """Keep a bit for each slot, four slots a row.

    Parameters
    ----------
    config : Config
        ``loop_templates``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        bits = config.template_bits
        super().__init__(
            {
                # The row of `slot` is emptied; until all have been no slot counts as in use.
                "sweeps": In(1),
                # The bit of `slot` is written.
                "writes_slot": In(1),
                "uses_slot": In(1),
                # Whether a slot is in use: the walker's, and the host's.
                "slot": In(bits),
                "in_use": Out(1),
                "host_slot": In(bits),
                "host_in_use": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        rows = Rows(m, "slots", _ROW, max(2, self._config.loop_templates // _ROW))
        mine, hosts = rows.now(self.slot[2:]), rows.now(self.host_slot[2:])
        bits = Signal(_ROW, name="bit_of_slot")
        m.d.comb += [
            bits.eq(_bits(self.slot)),
            self.in_use.eq((mine & bits).any()),
            self.host_in_use.eq((hosts & _bits(self.host_slot)).any() & ~self.sweeps),
        ]
        written = Mux(self.uses_slot, mine | bits, mine & ~bits)
        rows.write(
            self.sweeps | self.writes_slot, self.slot[2:], written & ~self.sweeps.replicate(_ROW)
        )
        return m


def _bits(slot: Value) -> Value:
    """Return the bit of a slot in its row."""
    return Cat(slot[:2] == k for k in range(_ROW))
