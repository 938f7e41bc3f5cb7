"""`in_order`: what a block took comes back after that of every block offered before it."""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warploom.dispatch.amounts import Amounts
from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config


class Judged(NamedTuple):
    """A look at the oldest block: whether there is one, what it took, and what retired before."""

    valid: Signal
    sm: Value
    slot: Value
    toggle: Value
    needs: Value
    retired: Signal


class Retirement:
    """The line of offered blocks, and a bit for each that says whether it was reported.

    The bit is in phase with the place's lap, so nothing needs to be cleared.

    Parameters
    ----------
    m : Module
        The module that has the memories.
    config : Config
        ``sms`` times ``block_slots`` is a power of two.
    amounts : Amounts
        What a block takes.
    """

    def __init__(self, m: Module, config: Config, amounts: Amounts) -> None:
        places = config.sms * config.block_slots
        self._bits = bits = (places - 1).bit_length()
        self.place_bits = bits + 1
        self._m, self._config = m, config
        self.place = Signal(bits + 1, init=1 << bits, name="line_place")
        width = config.sm_bits + config.slot_bits + 1 + amounts.bits
        self._line = Rows(m, "line", width, places, block=True)
        self._reported = Rows(m, "line_reported", 1, places, block=True)

    def enter(self, enters: Value, row: Value, toggle: Value, needs: Value) -> None:
        """Put an offered block into the line; ``row`` is its slot and SM."""
        self._m.d.sync += self.place.eq(self.place + enters)
        self._line.write(enters, self.place[: self._bits], Cat(row, toggle, needs))

    def report(self, boot: Value, returns: Value, place: Value) -> None:
        """Note that the block at a place was reported; the boot clears all bits."""
        at = Signal(self._bits, name="line_boot")
        with self._m.If(boot):
            self._m.d.sync += at.eq(at + 1)
        self._reported.write(
            boot | returns, Mux(boot, at, place[: self._bits]), place[self._bits] & ~boot
        )

    def look(self) -> Judged:
        """Look at the oldest block until it was reported: three cycles a look, one in a cycle."""
        m, config, bits = self._m, self._config, self._bits
        fetch, at_1, at_2 = (
            Signal(bits + 1, init=1 << bits, name=f"line_{name}")
            for name in ("fetch", "fetched", "judged")
        )
        valid_1, valid_2, retires, again = (
            Signal(name=f"line_{name}") for name in ("valid_1", "valid_2", "retires", "again")
        )
        row = held(m, "line_row", self._line.later(fetch[:bits]))
        reported = held(m, "line_bit", self._reported.later(fetch[:bits]))
        slot, sm = row[: config.slot_bits], row[config.slot_bits :][: config.sm_bits]
        toggle, needs = (
            row[config.slot_bits + config.sm_bits],
            row[config.slot_bits + config.sm_bits + 1 :],
        )
        retired = Signal()
        retired_sm = held(m, "retired_sm", sm)
        more = fetch != self.place
        # An SM's book takes two cycles: the second of two blocks in a row is looked at again.
        m.d.comb += [
            retires.eq(valid_2 & (reported == at_2[bits]) & ~(retired & (retired_sm == sm))),
            again.eq(valid_2 & ~retires),
        ]
        m.d.sync += [
            valid_1.eq(more & ~again),
            at_1.eq(fetch),
            valid_2.eq(valid_1 & ~again),
            at_2.eq(at_1),
            retired.eq(retires),
            fetch.eq(Mux(again, at_2, fetch + more)),
        ]
        return Judged(valid_2, sm, slot, toggle, needs, retired)
