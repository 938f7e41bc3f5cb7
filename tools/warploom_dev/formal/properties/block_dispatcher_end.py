"""BlockDispatcher ends a launch of which nothing is left, and its record says what became of it."""

from collections.abc import Sequence
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal

from warploom.dispatch import BlockDispatcher
from warploom_dev.formal.dispatcher_view import (
    AXES,
    PLACES,
    Flags,
    OneLaunch,
    OneSm,
    Ports,
    of_place,
)
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties.block_dispatcher import CONFIG, SIZE
from warploom_spec import Config, ErrorCode, Fate, layouts, timing

#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 24


class _Tapped(BlockDispatcher):
    """The dispatcher; of what is inside it shows what its walker is given."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        #: There is a grid to walk, and it.
        self.walks = Signal()
        self.walk: Any = Signal(layouts.grid_walk(config).layout(), name="tapped_walk")

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        walker: Any = m.submodules.walker
        m.d.comb += [self.walks.eq(walker.i.valid), self.walk.eq(walker.i.payload)]
        return m


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one launch, which may be any one, and all its blocks."""
    b = FormalBench("block_dispatcher", CONFIG, SIZE, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = _Tapped(CONFIG)
    ports = Ports(b, dut)
    ports.drive()
    ports.assume()
    sms = [OneSm(ports, k, f"sm_{k}") for k in ports.sms]
    _state_walk(b, dut)
    flags, launch = Flags(ports, sms), OneLaunch(ports)
    _state_kill(ports, flags)
    no_sm = _no_sm(ports, launch)
    _state_progress(ports, sms, flags, launch, no_sm)
    _state_fate(ports, flags, launch, no_sm)
    return b.close()


def _state_walk(b: FormalBench, dut: Any) -> None:
    """State what the walker takes as given."""
    walk = dut.walk
    b.check(
        "walked_grid",
        "a grid that the walker is given starts inside itself: start < g in each axis",
        ~dut.walks | Cat(walk[f"start_{a}"] < walk[f"g{a}"] for a in AXES).all(),
        fault="flat",
        cover=("one of two rows", dut.walks & (walk.gy == 2)),
    )


def _state_kill(ports: Ports, flags: Flags) -> None:
    """State when a place is killed."""
    b = ports.b
    due = [flags.kill[p] & ports.occupied[p] for p in PLACES]
    b.check(
        "kill",
        "a place is killed from a stop, a fault or a loss on until it is free, and only then",
        ports.kill == Cat(due),
        fault="slow_kill",
        cover=("one is killed by a fault while the other goes on", _by_fault(ports, flags)),
        bound=BOUND,
        slow=True,
    )


def _by_fault(ports: Ports, flags: Flags) -> Any:
    killed = Cat(flags.fault[p] & ~flags.asked[p] & ports.occupied[1 - p] for p in PLACES)
    return ports.b.value(killed.any() & (ports.kill != 3) & ports.kill.any(), "by_fault")


def _no_sm(ports: Ports, launch: OneLaunch) -> Signal:
    """Return whether every SM got lost while the launch had blocks left."""
    no_sm: Signal = ports.b.register(1, "followed_no_sm")
    left = Cat(ports.dut.lost).all() & ~launch.now_exhausted
    ports.b.m.d.sync += no_sm.eq(launch.followed & ~launch.ends & (no_sm | left))
    return no_sm


def _state_progress(
    ports: Ports, sms: Sequence[OneSm], flags: Flags, launch: OneLaunch, no_sm: Signal
) -> None:
    """State that a launch of which nothing is left has its record."""
    b, ended = ports.b, ports.dut.ended
    # Of two launches one is first: the other's record is a cycle later.
    most = timing(CONFIG).end + 1
    out = []
    for k, sm in enumerate(sms):
        of_it = b.value(of_place(launch.place, sm.unreported), f"followed_on_{k}")
        out.append(
            (launch.new[k] | of_it | b.before(of_it, f"followed_was_on_{k}"))
            & ~b.past(sm.lost, 2, f"long_lost_{k}")
        )
    stopped = b.value(of_place(launch.place, flags.stopped) | no_sm, "followed_stopped")
    # A head is forgotten in the third cycle of its launch's stop.
    over = launch.now_exhausted | b.past(stopped, 3, "forgotten")
    left = b.value(launch.followed & over & ~Cat(out).any(), "nothing_left")
    refused = ended.valid & ~b.inputs["ended__ready"]
    waited = b.register(range(most + 2), "waited")
    b.m.d.sync += waited.eq(Mux(left & ~refused & ~launch.ends, waited + (waited <= most), 0))
    b.check(
        "progress",
        f"a launch of which nothing is left has its record in {most} cycles, while none is refused",
        waited <= most,
        fault="report_unseen",
        cover=("two end at once", launch.ends & (waited == most)),
        bound=BOUND,
        slow=True,
    )


def _state_fate(ports: Ports, flags: Flags, launch: OneLaunch, no_sm: Signal) -> None:
    """State what a record says: by what was known two cycles before it shows."""
    b, record = ports.b, ports.dut.ended.payload

    def known(value: Any, name: str) -> Any:
        return b.past(value, 2, f"known_{name}")

    sm_lost, fault, killed, kill = (
        known(of_place(launch.place, of_each), name)
        for name, of_each in (
            ("sm_lost", flags.sm_lost),
            ("fault", flags.fault),
            ("killed", flags.killed),
            ("kill", flags.kill),
        )
    )
    exhausted, started = known(launch.now_exhausted, "all"), known(launch.now_started, "some")
    no_sm_left = known(no_sm, "no_sm") & ~exhausted
    failed = b.value(sm_lost | fault | no_sm_left, "expected_failure")
    why = Mux(fault, int(ErrorCode.BLOCK_FAULT), int(ErrorCode.NO_SM))
    stopped = Mux(started, Mux(kill, int(Fate.KILLED), int(Fate.DRAINED)), int(Fate.SKIPPED))
    unfailed = Mux(exhausted & ~killed, int(Fate.FINISHED), stopped)
    fate = b.value(Mux(failed, int(Fate.FAILED), unfailed), "expected_fate")
    code = Mux(failed, Mux(sm_lost, int(ErrorCode.SM_LOST), why), 0)
    drained = fate == int(Fate.DRAINED)
    following = Cat(record[f"next_{a}"] == Mux(drained, launch.next[a], 0) for a in AXES).all()
    b.check(
        "fate",
        "a record says what became of the launch, why it failed, and a drained one's next block",
        ~launch.ends | ((record.fate == fate) & (record.code == code) & following),
        fault="status_unseen",
        cover=("a launch is drained after its first block", launch.ends & drained),
        bound=BOUND,
        slow=True,
    )
