"""BlockDispatcher ends a launch of which nothing is left, and what its walker is given."""

from collections.abc import Iterable
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal

from warploom.dispatch import BlockDispatcher
from warploom_dev.formal.dispatcher_view import CONFIG, SLOTS, OneLaunch, OneSm, Ports, Stops
from warploom_dev.formal.formal_bench import Bench
from warploom_spec import Config, Fate, layouts, timing

#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 18


class _Tapped(BlockDispatcher):
    """The dispatcher; of what is inside it shows what its walker is given."""

    def __init__(self, config: Config, *, fault: str | None) -> None:
        super().__init__(config, fault=fault)
        #: There is a grid to walk, and it.
        self.walks = Signal()
        self.walk: Any = Signal(layouts.grid_walk(config).layout(), name="tapped_walk")

    def _walk(self, m: Module, places: Any, walker: Any, placement: Any) -> None:
        super()._walk(m, places, walker, placement)
        m.d.comb += [self.walks.eq(walker.i.valid), self.walk.eq(walker.i.payload)]


def bench(fault: str | None = None) -> Bench:
    """Return the bench; it follows one launch, which may be any one, and all its blocks."""
    b = Bench("block_dispatcher", CONFIG, "2 SMs, 2 slots, 3 warps; grids up to 3 x 3 x 1", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = _Tapped(CONFIG, fault=fault if fault in BlockDispatcher.FAULTS else None)
    ports = Ports(b, dut)
    ports.drive(fault)
    ports.assume()
    number = b.constant(1, "sm")
    sm, other = (OneSm(ports, which, fault) for which in (number, ~number))
    stops = Stops(ports, sm)
    _state_walk(b, dut)
    _state_progress(ports, (sm, other), stops, OneLaunch(ports))
    return b.close()


def _state_walk(b: Bench, dut: Any) -> None:
    """State what the walker takes as given."""
    walk = dut.walk
    b.check(
        "walked_grid",
        "a grid that the walker is given starts inside itself: start < g in each axis",
        ~dut.walks | Cat(walk[f"start_{a}"] < walk[f"g{a}"] for a in "xyz").all(),
        fault="flat",
        cover=("one of two rows", dut.walks & (walk.gy == 2)),
    )


def _state_progress(ports: Ports, sms: Iterable[OneSm], stops: Stops, launch: OneLaunch) -> None:
    """State that a launch of which nothing is left has its record."""
    b, ended = ports.b, ports.dut.ended
    # Of two launches one is first: the other's record is a cycle later.
    most = timing(CONFIG).end + 1

    def its(of_each: Any) -> Any:
        return Mux(launch.place, of_each[1], of_each[0])

    def is_its(sm: OneSm, s: int) -> Any:
        place = Mux(sm.new & (sm.offer.slot == s), sm.offer.place, sm.places[s])
        return sm.held[s] & (place == launch.place)

    out = Cat(is_its(sm, s) & ~sm.lost for sm in sms for s in SLOTS).any()
    stopped = b.value(its(stops.asked) | its(stops.was_broken), "followed_stopped")
    # In the first of these cycles a block may stand to be decided; it is forgotten then.
    over = launch.exhausted | (stopped & b.before(stopped, "was_stopped"))
    left = b.value(launch.followed & over & ~out, "nothing_left")
    refused = ended.valid & ~b.inputs["ended__ready"]
    waited = b.register(range(most + 2), "waited")
    b.m.d.sync += waited.eq(Mux(left & ~refused & ~launch.ends, waited + (waited <= most), 0))
    b.check(
        "progress",
        f"a launch of which nothing is left has its record in {most} cycles, while none is refused",
        waited <= most,
        fault="failure_unseen",
        cover=(
            "the record of a launch that failed",
            launch.ends & (ended.payload.fate == int(Fate.FAILED)) & (waited >= most - 1),
        ),
        bound=BOUND,
        slow=True,
    )
