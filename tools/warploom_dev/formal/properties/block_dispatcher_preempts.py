"""BlockDispatcher with `preempts`: who yields gets no block placed, and a skip never tears."""

from dataclasses import replace
from typing import Any, Final

from amaranth.hdl import Cat, Mux

from warploom.dispatch import BlockDispatcher
from warploom_dev.formal.dispatcher_view import PLACES, Ports
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import block_dispatcher
from warploom_spec import BlockStatus, Fate, Stop, timing
from warploom_spec.queue_packets import STOP_SKIP

CONFIG: Final = replace(
    block_dispatcher.CONFIG,
    sms=1,
    warp_slots=2,
    register_units=1,
    max_threads=8,
    grid_bits=(2, 1, 1),
)
SIZE: Final = "1 SM, 2 slots, 2 warps; grids of 1 to 3 blocks"
#: Cycles that are searched of what is not proved for all time: an urgent launch begins beside a
#: block of the one that yields, ends its grid, and the other one goes on.
BOUND: Final = 24


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its own seeded bugs are wrong views of what the block was sent or says.

    ``rude``: all launches are seen as yielding. ``crossed_yields``, ``crossed_started``: the two
    places' bits are seen exchanged. ``drain_as_skip``: a drain is seen as a skip.
    """
    b = FormalBench("block_dispatcher", CONFIG, SIZE, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = BlockDispatcher(CONFIG, preempts=True)
    ports = Ports(b, dut)
    ports.drive()
    ports.assume()
    launches = _Launches(ports)
    _state_yields(ports, launches)
    _state_skips(ports, launches)
    return b.close()


class _Launches:
    """Of the launch in each place, from the ports alone: its blocks, and what it was sent."""

    def __init__(self, ports: Ports) -> None:
        b, m, dut = ports.b, ports.b.m, ports.dut
        offer = dut.offer[0].payload
        first = ports.new[0]
        #: For each place whether a block of it is offered for the first time.
        self.new = [b.value(first & (offer.place == p), f"new_{p}") for p in PLACES]
        self.priority = [b.register(CONFIG.priority_bits, f"priority_{p}") for p in PLACES]
        self.may_yield = [b.register(1, f"may_yield_{p}") for p in PLACES]
        #: Blocks offered before this cycle; cycles since the transfer, up to 4.
        self.count = [b.register(range(9), f"count_{p}") for p in PLACES]
        self.age = [b.register(range(5), f"age_{p}") for p in PLACES]
        #: A stop was asked, a skip among them; a block failed, or the SM is lost.
        self.asked, self.failed = (
            [b.register(1, f"{name}_{p}") for p in PLACES] for name in ("asked", "failed")
        )
        #: The place whose launch came last.
        self.newest = b.register(1, "newest")
        report = ports.report[0]
        fails = b.value(
            (ports.sent[0] & (report.status != int(BlockStatus.OK))) | dut.lost.any(), "fails"
        )
        for p in PLACES:
            counted = self.count[p] + self.new[p]
            m.d.sync += [
                self.count[p].eq(counted),
                self.age[p].eq(self.age[p] + (self.age[p] != 4)),
                self.asked[p].eq(self.asked[p] | ports.stop[p].any()),
                self.failed[p].eq(self.failed[p] | fails),
            ]
            with m.If(ports.entered[p]):
                m.d.sync += [
                    self.priority[p].eq(b.inputs["launch_priority"]),
                    self.may_yield[p].eq(b.inputs["launch_yields"] | (b.fault == "rude")),
                    self.count[p].eq(0),
                    self.age[p].eq(1),
                    self.newest.eq(p),
                    self.asked[p].eq(0),
                    self.failed[p].eq(fails),
                ]

    def left(self, ports: Ports, p: int) -> Any:
        """Return whether blocks of a place's launch are left to offer, and nothing stops it."""
        left = self.count[p] < ports.launches[p].gx
        return ports.occupied[p] & left & ~self.asked[p] & ~self.failed[p]


def _state_yields(ports: Ports, launches: _Launches) -> None:
    """State that a launch which yields has no block placed beside an urgent one with blocks."""
    b, dut = ports.b, ports.dut
    urgent, later = [], []
    for p in PLACES:
        q = 1 - p
        ordered = ports.launches[q].after_previous & (launches.newest == q)
        ordered &= ports.launches[q].stream == ports.launches[p].stream
        above = launches.may_yield[p] & (launches.priority[q] > launches.priority[p])
        above = b.value(above & ~ordered & ports.occupied[p] & (launches.age[q] == 4), f"above_{p}")
        urgent.append(b.value(above & launches.left(ports, q), f"urgent_{p}"))
        later.append(above & (launches.count[q] == ports.launches[q].gx) & (launches.newest == q))
    b.check(
        "urgent_first",
        "no block of a launch that yields is placed from the second cycle after the transfer of a "
        "more urgent one on, as long as that one has blocks left and is not stopped",
        ~Cat(new & first for new, first in zip(launches.new, urgent, strict=True)).any(),
        fault="rude",
        cover=(
            "the one that yielded goes on after its first block",
            Cat(
                n & of & (c != 0)
                for n, of, c in zip(launches.new, later, launches.count, strict=True)
            ).any(),
        ),
        bound=BOUND,
        slow=True,
    )
    levels = dut.yields[::-1] if b.fault == "crossed_yields" else dut.yields
    level = b.past(levels, timing(CONFIG).offer, "yields")
    b.check(
        "yields",
        "no block of a place is decided in a cycle in which the place yields",
        ~(Cat(launches.new) & level).any(),
        fault="crossed_yields",
        cover=("a block in the cycle after", Cat(launches.new).any() & b.before(level, "l").any()),
        bound=BOUND,
    )
    seen = dut.started[::-1] if b.fault == "crossed_started" else dut.started
    begun = [launches.new[p] | (launches.count[p] != 0) for p in PLACES]
    b.check(
        "started",
        "`started` is 1 from the first offer of a place's launch to the cycle of its record",
        seen == Cat((ports.occupied[p] | ports.ends[p]) & begun[p] for p in PLACES),
        fault="crossed_started",
        cover=("both have started", seen.all()),
        bound=BOUND,
        slow=True,
    )


def _state_skips(ports: Ports, launches: _Launches) -> None:
    """State that a skip takes a launch back that has not started, and changes no other one."""
    b, m, record = ports.b, ports.b.m, ports.dut.ended.payload
    answer = timing(CONFIG).skip_answer
    kinds = (STOP_SKIP, int(Stop.DRAIN)) if b.fault == "drain_as_skip" else (STOP_SKIP,)
    torn, told, untouched, late, beside = [], [], [], [], []
    for p in PLACES:
        skips = Cat(ports.stop[p] == kind for kind in kinds).any()
        # Skips of this launch by the cycles since.
        since = b.register(answer, f"skips_{p}")
        due = b.value(since[-1] & (ports.occupied[p] | ports.ends[p]), f"due_{p}")
        acts = b.value(due & ~ports.dut.started[p], f"acts_{p}")
        acted = b.register(1, f"acted_{p}")
        #: Any other stop was asked, or a skip that acts, or one whose answer is not known yet.
        other = b.register(1, f"other_{p}")
        asked = ports.stop[p].any() & (ports.stop[p] != STOP_SKIP)
        m.d.sync += [
            since.eq(Mux(ports.entered[p], 0, Cat(skips & ports.occupied[p], since[:-1]))),
            acted.eq(~ports.entered[p] & (acted | acts)),
            other.eq(~ports.entered[p] & (other | asked)),
        ]
        taken_back = b.value(acted | acts, f"taken_back_{p}")
        torn.append(launches.new[p] & taken_back)
        fate = (record.fate == int(Fate.SKIPPED)) | (record.fate == int(Fate.FAILED))
        told.append(~(ports.ends[p] & taken_back) | fate)
        beside.append(ports.ends[p] & taken_back & ports.dut.started[1 - p])
        plain = ~other & ~launches.failed[p] & ~taken_back & ~since.any()
        untouched.append(~(ports.ends[p] & plain) | (record.fate == int(Fate.FINISHED)))
        late.append(ports.ends[p] & plain & launches.asked[p] & (launches.count[p] > 1))
    b.check(
        "taken_back",
        f"a skip whose place has not started {answer} cycles later takes its launch back: none of "
        "its blocks is offered, and its record is skipped or failed",
        ~Cat(torn).any() & Cat(told).all(),
        fault="drain_as_skip",
        cover=("one is taken back beside one that has started", Cat(beside).any()),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "untouched",
        "a launch to which nothing was sent but skips that came too late is finished",
        Cat(untouched).all(),
        fault="phantom_stop",
        cover=("one of two blocks, after a skip", Cat(late).any()),
        bound=BOUND,
        slow=True,
    )
