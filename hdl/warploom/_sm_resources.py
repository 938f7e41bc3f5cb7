"""What the blocks on one SM hold of each resource, and whether another one fits."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


def capacities(config: Config) -> dict[str, int]:
    """Return what one SM has of each resource that blocks take by amount."""
    return {
        "warps": config.warp_slots,
        "registers": config.register_units,
        "shared": config.shared_units,
        "barriers": config.barriers,
    }


def amounts(config: Config) -> data.StructLayout:
    """Return the layout of an amount of each resource."""
    return data.StructLayout({r: n.bit_length() for r, n in capacities(config).items()})


def limits(config: Config) -> data.StructLayout:
    """Return the layout of what may be in use for a fit: signed, since it may be below 0."""
    return data.StructLayout(
        {r: signed(n.bit_length() + 2) for r, n in capacities(config).items()}
    )


class SmResources(wiring.Component):
    """Keep what each resident place's blocks hold on one SM.

    A place's total is wiped as a whole when its blocks are killed. A block is charged in the cycle
    after its decision; the fit flags count it at once.

    Parameters
    ----------
    config : Config
        The SM's resources.
    most : int
        Blocks of one place that may be returned in one cycle.

    Attributes
    ----------
    needs : In(array of 2 x most multiples)
        What 1, 2, ... blocks of each place need.
    charged : In(2)
        A block of the place was decided for this SM in the last cycle.
    returned : In(array of 2)
        Blocks of the place that return what they hold at the end of this cycle.
    wipe : In(2)
        One cycle before an acknowledgement is processed: the place's total becomes 0.
    limit : In
        What may be in use in the next cycle for the head to fit then.
    fits : Out(4)
        Whether the head's warps, registers, shared units, barriers fit, as of this cycle.
    present : Out(2)
        Whether the place had blocks charged here in this cycle.
    remaining : Out(2)
        Whether it has after this cycle.
    expected : In(array of 2), more : Out(2)
        Whether the place had more than that many blocks (0 to 2) charged here before this cycle;
        a wipe in the cycle before does not count.
    load : Out
        Warps in use after this cycle.
    """

    needs: data.View
    charged: Signal
    returned: data.View
    wipe: Signal
    limit: data.View
    fits: Signal
    present: Signal
    remaining: Signal
    expected: data.View
    more: Signal
    load: Signal

    def __init__(self, config: Config, most: int) -> None:
        self._config = config
        self._most = most
        amount = amounts(config)
        super().__init__(
            {
                "needs": In(data.ArrayLayout(data.ArrayLayout(amount, most), 2)),
                "charged": In(2),
                "returned": In(data.ArrayLayout(most.bit_length(), 2)),
                "wipe": In(2),
                "limit": In(limits(config)),
                "fits": Out(4),
                "present": Out(2),
                "remaining": Out(2),
                "expected": In(data.ArrayLayout(2, 2)),
                "more": Out(2),
                "load": Out(config.warp_slots.bit_length()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        fits = []
        for resource, capacity in capacities(self._config).items():
            used = [self._total(m, place, resource) for place in range(2)]
            sum_ = Signal(capacity.bit_length(), name=f"used_{resource}")
            m.d.comb += sum_.eq(used[0] + used[1])
            fits.append(self.limit[resource] >= sum_)
            if resource == "warps":
                m.d.comb += [
                    self.load.eq(sum_),
                    self.remaining.eq(Cat(used[0].any(), used[1].any())),
                ]
                self._compare(m, used)
        m.d.sync += [self.fits.eq(Cat(fits)), self.present.eq(self.remaining)]
        return m

    def _compare(self, m: Module, used: list[Value]) -> None:
        """Tell whether a place held more blocks than expected, by their warps."""
        for place in range(2):
            before = Signal.like(used[place], name=f"warps_{place}_before")
            m.d.sync += before.eq(used[place])
            warps = self.needs[place][0].warps
            expected = Mux(
                self.expected[place][1], warps << 1, Mux(self.expected[place][0], warps, 0)
            )
            m.d.comb += self.more[place].eq(before != expected)

    def _total(self, m: Module, place: int, resource: str) -> Value:
        """Add one place's total of one resource; return its value after this cycle."""
        bits = amounts(self._config)[resource].width
        total = Signal(bits, name=f"{resource}_{place}")
        after = Signal(bits, name=f"{resource}_{place}_after")
        needs = self.needs[place]
        charged = self.charged[place]
        returned = self.returned[place]
        if self._most == 1:
            # One of the two alone moves the total: subtracted by complement and carry.
            moved = Mux(charged ^ returned, needs[0][resource] ^ returned.replicate(bits), 0)
            m.d.comb += after.eq(total + moved + (returned & ~charged))
        else:
            given = needs[0][resource] & charged.replicate(bits)
            back: Value = C(0, bits)
            for k in range(self._most):
                back = Mux(returned == k + 1, needs[k][resource], back)
            m.d.comb += after.eq(total + given - back)
        m.d.sync += total.eq(after)
        with m.If(self.wipe[place]):
            m.d.sync += total.eq(0)
        return after
