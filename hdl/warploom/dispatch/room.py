"""One bit an SM: the active launch's next block is known to fit there. The base of all policies."""

from typing import Any, ClassVar

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import number_of
from warploom.lib.pipes import held
from warploom_spec import Config, layouts
from warploom_spec.resident_limits import in_groups


class Room(wiring.Component):
    """Keep which SMs have room, and pick one of them: the base of all placement policies.

    A policy is a class in a file of its name under ``policies``, with `choose` and, where they are
    needed, the class attributes. Ports that it does not read stay unconnected. Rules 16 to 20 of
    ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms`` and the SM's resources.
    """

    #: Nothing is picked before the scan's first round is known.
    NEEDS_ROUND: ClassVar[bool] = False
    #: Cycles from the end of the scan's first round to the cycle in which it is known: without
    #: groups of SMs, and with them.
    ROUND_KNOWN: ClassVar[tuple[int, int]] = (4, 8)
    #: The scan begins at the SM behind the one that got the last block, else at SM 0.
    ROTATES: ClassVar[bool] = False
    #: It reads the order table, and which slots came back.
    READS_RETURNS: ClassVar[bool] = False

    go: Signal
    known: Signal
    change: Signal
    used: Signal
    placement: Any
    returned: Any
    pick: Signal
    picks: Signal
    picked_sm: Signal
    freed: Signal
    freed_sm: Signal
    quiet: Signal
    boot: Signal
    boot_sm: Signal
    swap: stream.Interface
    swap_refused: stream.Interface

    def __init__(self, config: Config) -> None:
        self._config = config
        #: No SM has room in the next cycle.
        self.clears = Signal(name="clears")
        super().__init__(
            {
                # A block may be picked; the scan's first round is known.
                "go": In(1),
                "known": In(1),
                # Another launch becomes active in the next cycle: no SM is known to have room.
                "change": In(1),
                # SMs that may get new blocks.
                "used": In(config.sms),
                # What lands from the pipes of placements and of returns.
                "placement": In(Verdict(config)),
                "returned": In(Verdict(config)),
                # The picked SM, one-hot; whether there is one. Gates over registers.
                "pick": Out(config.sms),
                "picks": Out(1),
                # In the cycle after a pick: the SM's number; else 0.
                "picked_sm": Out(config.sm_bits),
                # With `READS_RETURNS`: the verdict on a slot of this SM that came back lands.
                "freed": In(1),
                "freed_sm": In(config.sm_bits),
                # With `READS_RETURNS`: no block is out or was picked of late.
                "quiet": In(1),
                # With `READS_RETURNS`: the boot writes this row.
                "boot": In(1),
                "boot_sm": In(config.sm_bits),
                # With `READS_RETURNS`: two positions of the table change places.
                "swap": In(stream.Signature(layouts.order_swap(config).layout())),
                "swap_refused": Out(stream.Signature(layouts.error_record(config).layout())),
            }
        )

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return one of the SMs with room, one-hot; 0 if there is none to be picked.

        ``picks`` says whether the choice counts in this cycle.
        """
        raise NotImplementedError

    def finds(self, room: Signal) -> Value:
        """Return whether `choose` returns an SM."""
        return room.any()

    def number(self, m: Module) -> Value:
        """Return the number of the SM that was picked in the cycle before; 0 without one."""
        picked = held(m, "was_picked", self.pick, clear=C(0, 1))
        return number_of(picked) if len(picked) > 1 else C(0, 1)

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        sms = self._config.sms
        room = Signal(sms, name="room")
        out = Signal(sms, name="out")
        chosen = Signal(sms)
        may = self.go & self.known if self.NEEDS_ROUND else self.go
        m.d.comb += [
            self.picks.eq(may & self.finds(room)),
            self.pick.eq(Mux(may, chosen, 0)),
        ]
        # In groups a verdict with the needs of before the change lands a cycle later.
        late = held(m, "changed", self.change, clear=C(0, 1)) if in_groups(self._config) else 0
        m.d.comb += self.clears.eq(self.change | late)
        m.d.comb += [chosen.eq(self.choose(m, room, out)), self.picked_sm.eq(self.number(m))]
        # An SM with a block on its way is judged by that block's own verdict alone.
        own = self.placement.sm & self.placement.own.replicate(sms)
        m.d.sync += out.eq(self.pick | (out & ~own))
        self.judge(m, room, out)
        return m

    def judge(self, m: Module, room: Signal, out: Signal) -> None:
        """Renew the bits. The verdicts come last: all else is ready before them, and kept so."""
        sms = self._config.sms
        placement, returned = self.placement, self.returned
        names = ("stays", "by_placement", "by_return", "open")
        stays, by_placement, by_return, open_ = (Signal(sms, name=name) for name in names)
        m.d.comb += [
            open_.eq(~self.pick & self.used & ~self.clears.replicate(sms)),
            stays.eq(room & open_),
            by_placement.eq(placement.sm & ~(out ^ placement.own.replicate(sms)) & open_),
            by_return.eq(returned.sm & ~out & open_),
        ]
        m.d.sync += room.eq(
            stays
            | (by_placement & placement.fits.replicate(sms))
            | (by_return & returned.fits.replicate(sms))
        )


class Verdict(wiring.Signature):
    """A verdict that lands: of which SM (one-hot, 0: none), and whether the next block fits.

    Members: ``sm`` (registers), ``fits`` (late in its cycle), ``own``: it is that of a placement or
    a return, not one of the scan's looks, and ``warps``: free warps.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "sm": Out(config.sms),
                "fits": Out(1),
                "own": Out(1),
                "warps": Out(config.warp_slots.bit_length()),
            }
        )


def late_found(m: Module, found: Value, change: Value) -> Signal:
    """Return the SMs that were found in the cycle before, unless the launch changed in it."""
    return held(m, "found", found, clear=change)
