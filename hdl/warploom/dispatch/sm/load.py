"""Warps in use on one SM, for the policy that looks at them."""

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


class SmLoad(wiring.Component):
    """Add up the warps of each place's blocks on one SM.

    Parameters
    ----------
    config : Config
        The SM's warps.
    most : int
        Blocks of one place that may be returned in one cycle.

    Attributes
    ----------
    warps : In(array of 2)
        Warps of one block of the place.
    placed, head_place, ending, wipe, stays :
        See `SmCounts`.
    load : Out
        Warps in use after this cycle, but for the block decided in it.
    """

    warps: "list[Signal]"
    placed: Signal
    head_place: Signal
    ending: data.View
    wipe: Signal
    stays: Signal
    load: Signal

    def __init__(self, config: Config, most: int) -> None:
        self._config = config
        self._most = most
        super().__init__(
            {
                "warps": In(config.warps_bits).array(2),
                "placed": In(1),
                "head_place": In(1),
                "ending": In(data.ArrayLayout(most.bit_length(), 2)),
                "wipe": In(2),
                "stays": In(2),
                "load": Out(config.warp_slots.bit_length()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        rests = [self._rest(m, place) for place in range(2)]
        m.d.comb += self.load.eq(rests[0] + rests[1])
        return m

    def _rest(self, m: Module, place: int) -> Value:
        """Return what the place's blocks have after this cycle, but for the one decided in it."""
        warps = self.warps[place]
        rest = Signal(self._config.warp_slots.bit_length(), name=f"warps_{place}")
        # A multiple by additions: how many blocks may end in a cycle is a small constant.
        back: Value = C(0, len(rest))
        for times in range(1, self._most + 1):
            multiple = Signal.like(rest, name=f"warps_{place}_times_{times}")
            m.d.comb += multiple.eq(sum((warps for _ in range(times)), start=C(0, 1)))
            back = Mux(self.ending[place] == times, multiple, back)
        decided = self.placed & (self.head_place == place)
        m.d.sync += rest.eq(rest - back + Mux(decided, warps, 0))
        with m.If(self.wipe[place]):
            m.d.sync += rest.eq(Mux(self.stays[place], warps, 0))
        return rest
