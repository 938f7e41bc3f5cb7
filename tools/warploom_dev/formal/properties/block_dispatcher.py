"""BlockDispatcher over-commits nothing, skips nothing, and keeps to orders, stops and losses."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.dispatch import BlockDispatcher
from warploom_dev.formal.dispatcher_view import (
    CAPACITY,
    CONFIG,
    PLACES,
    SLOTS,
    SMS,
    OneLaunch,
    OneSm,
    Ports,
    Stops,
)
from warploom_dev.formal.formal_bench import Bench
from warploom_spec import ErrorCode, Fate, timing

#: Cycles that are searched of what is not proved for all time. Blocks of two launches meet on an SM
#: in the one before the last.
BOUND: Final = 18


def bench(fault: str | None = None) -> Bench:
    """Return the bench; it follows one SM and one launch, which may be any ones."""
    b = Bench("block_dispatcher", CONFIG, "2 SMs, 2 slots, 3 warps; grids up to 3 x 3 x 1", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = BlockDispatcher(CONFIG, fault=fault if fault in BlockDispatcher.FAULTS else None)
    ports = Ports(b, dut)
    ports.drive(fault)
    ports.assume()
    _state_places(ports)
    sm = OneSm(ports, b.constant(1, "sm"), fault)
    stops = Stops(ports, sm)
    _state_sm(ports, sm)
    _state_kills(ports, sm, stops)
    launch = OneLaunch(ports)
    _state_launch(ports, launch)
    _state_stops(ports, sm, stops, launch)
    for k in SMS:
        b.check_held(dut.offer[k], f"offer__{k}")
    b.check_held(dut.ended, "ended")
    return b.close()


def _state_places(ports: Ports) -> None:
    """State that no launch has two records."""
    ports.b.check(
        "records",
        "a launch has one record at most, and a place is free again with it, not before",
        (ports.dut.launch.ready == ~Cat(ports.occupied).all())
        & (~ports.ended | Cat(ports.ends).any()),
        fault="deaf_ended",
        cover=("one ends while another is given", ports.ended & ports.transfer),
    )


def _state_sm(ports: Ports, sm: OneSm) -> None:
    """State what is offered to one SM: what its decision, a cycle before, found."""
    b, first = ports.b, sm.new
    held = [b.before(held, f"found_held_{s}") for s, held in enumerate(sm.held)]
    others = Cat(h & (place != sm.offer.place) for h, place in zip(held, sm.places, strict=True))
    for name, most in CAPACITY.items():
        total = sm.launch[name]
        for s in SLOTS:
            total = total + Mux(held[s], sm.needs[name][s], 0)
        b.check(
            name,
            f"an SM never holds blocks that need more of {name} than it has",
            ~first | (total <= most),
            fault="overcommit" if name == "warps" else "phantom_completion",
            cover=(
                "the rest of it is taken beside a block of the other launch",
                first & others.any() & (total == most) & (sm.launch[name] != 0),
            ),
            bound=BOUND,
            slow=True,
        )
    number = sm.offer.slot
    used = b.value(Cat(held) | b.before(sm.named, "found_named"), "used")
    b.check(
        "slot",
        "a block gets the lowest free slot: none holds it, and no outstanding kill names it",
        ~first | (~used & ((1 << number) | ((1 << number) - 1)) == (1 << number)),
        fault="phantom_completion",
        cover=(
            "slot 1 while slot 0 is named by a kill",
            first & (number == 1) & b.before(sm.named[0], "first_named"),
        ),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "lost",
        "nothing new is offered to an SM that was lost in the cycle before",
        ~(sm.new & b.before(sm.lost, "lost")),
        fault="crossed_lost",
        cover=("the other SM gets a block", Cat(ports.new).any() & sm.lost),
        slow=True,
    )
    b.check(
        "enabled",
        "an SM is offered a block only if it was enabled two cycles before",
        ~sm.new | b.before(b.before(sm.enable, "enable"), "earlier_enable"),
        fault="enable_unseen",
        cover=("it has just been disabled", sm.new & ~b.before(sm.enable, "recent_enable")),
        slow=True,
    )


def _state_kills(ports: Ports, sm: OneSm, stops: Stops) -> None:
    """State what a kill names, and what it holds back."""
    b = ports.b
    runs = b.value(Cat(sm.runs), "running")
    killed = [b.before(kill, f"kill_before_{p}") for p, kill in enumerate(stops.kill)]
    doomed = Cat(runs[s] & Mux(sm.places[s], killed[1], killed[0]) for s in SLOTS)
    due = b.before(doomed, "due")
    #: Not stopped, as far as this SM and the port tell, and nothing failed on any SM.
    spared = Cat(
        runs[s] & ~Mux(sm.places[s], killed[1] | stops.fails[1], killed[0] | stops.fails[0])
        for s in SLOTS
    )
    free = b.before(~runs | spared, "spared")
    idle = ~b.before(sm.outstanding, "was_outstanding")
    b.check(
        "kill",
        "a kill names all blocks that ran and whose launch was killed a cycle before, no others",
        Mux(
            sm.pulse,
            idle & sm.mask.any() & ~(due & ~sm.mask).any() & ~(sm.mask & free).any(),
            ~(idle & ~sm.lost & due.any()),
        ),
        fault="stop_unseen",
        cover=("it names two blocks", sm.pulse & sm.mask.all()),
        bound=BOUND - 1,
        slow=True,
    )
    hides = b.value(sm.outstanding | Cat(stops.kill).any(), "hides")
    some = b.value(~(Cat(sm.held) | sm.named).all(), "some")
    hid = b.before(b.before(hides, "hides"), "hid")
    given = b.before(b.before(~some, "none") | sm.new, "given")
    b.check(
        "seen",
        "beside a kill a slot is given only if one was free, and none given, the cycle before",
        ~(sm.new & hid & given),
        fault="stop_unseen",
        cover=("one is given", sm.new & hid),
        bound=BOUND,
        slow=True,
    )


def _state_launch(ports: Ports, launch: OneLaunch) -> None:
    """State what becomes of one launch's blocks."""
    b, dut = ports.b, ports.dut
    new = Cat(launch.new).any()
    right, own = [], []
    for first, offer in zip(launch.new, (o.payload for o in dut.offer), strict=True):
        is_next = Cat(offer[f"b{a}"] == launch.next[a] for a in "xyz").all()
        right.append(~first | is_next)
        own.append(
            ~first
            | (
                (offer.index_address == launch.launch.index_address)
                & (offer.index_warps == launch.launch.warps)
                & (offer.width_x == launch.launch.width_x)
            )
        )
    b.check(
        "order",
        "a launch's blocks are offered in walk order, each once, one a cycle",
        Cat(right).all() & ~(new & launch.exhausted) & ~Cat(launch.new).all(),
        fault="grid_walker.skip_block",
        cover=("the first block of the second row", new & (launch.next["y"] == 1)),
        slow=True,
    )
    words = b.value(
        Mux(launch.place, *(Value.cast(w) for w in reversed(list(dut.words)))),
        "words",
        dut.words[0].shape(),
    )
    kept = Cat(words[n] == launch.launch[n] for n in ("ticket", "gx", "warps", "width_x")).all()
    b.check(
        "own",
        "offers and words of a launch's place are its own, as long as it is resident",
        Cat(own).all() & (~launch.followed | launch.ends | kept),
        fault="stale_address",
        cover=("an offer of the second place", new & launch.place),
        slow=True,
    )
    b.check(
        "stream_order",
        "a launch that starts after its stream's earlier ones has no offer before they ended",
        ~(new & launch.waits),
        fault="stream_order",
        cover=("its turn comes", new & launch.launch.after_previous & launch.place),
        slow=True,
    )
    b.check(
        "leftover",
        "the younger launch has no offer while the older one has blocks left and is undisturbed",
        ~(Cat(launch.other_new).any() & launch.older & ~launch.exhausted & ~launch.disturbed),
        fault="phantom_stop",
        cover=("the younger one fills up", Cat(launch.other_new).any() & launch.older),
        bound=BOUND,
        slow=True,
    )
    record = dut.ended.payload
    drained = Cat(record[f"next_{a}"] == launch.next[a] for a in "xyz").all()
    b.check(
        "fate",
        "a finished launch has had all its blocks offered, a drained one goes on with its next",
        ~launch.ends
        | (
            ((record.fate != int(Fate.FINISHED)) | launch.exhausted)
            & ((record.fate != int(Fate.DRAINED)) | (drained & ~launch.exhausted))
        ),
        fault="grid_walker.skip_block",
        cover=("a launch is drained", launch.ends & (record.fate == int(Fate.DRAINED))),
        bound=BOUND,
        slow=True,
    )


def _state_stops(ports: Ports, sm: OneSm, stops: Stops, launch: OneLaunch) -> None:
    """State what a stop, or what an SM does, makes of a launch."""
    b, dut = ports.b, ports.dut
    record = dut.ended.payload
    new = Cat(launch.new).any()

    def its(of_each: Any) -> Any:
        return Mux(launch.place, of_each[1], of_each[0])

    asked, broken = (
        b.value(launch.followed & its(of_each), f"followed_{name}")
        for name, of_each in (("asked", stops.asked), ("broken", stops.broken))
    )
    b.check(
        "stopped",
        f"a stopped launch has no offer later than {timing(CONFIG).stop} cycles after its stop",
        ~(new & b.before(asked, "asked")),
        fault="stop_unseen",
        cover=("the last one", new & asked),
        slow=True,
    )
    b.check(
        "broken",
        "a launch has no offer once a block of it has failed or was on an SM that got lost",
        ~(new & b.before(broken, "broken")),
        fault="code_unseen",
        cover=("the last one", new & broken),
        bound=BOUND,
        slow=True,
    )
    struck = b.register(1, "followed_struck")
    late = b.register(1, "followed_struck_late")
    b.m.d.sync += [
        struck.eq(launch.followed & (struck | its(stops.struck))),
        late.eq(launch.followed & (late | (its(stops.late) & ~struck))),
    ]
    b.check(
        "struck",
        "a launch of which a block was on an SM that got lost fails with it",
        ~(launch.ends & struck)
        | ((record.fate == int(Fate.FAILED)) & (record.code == int(ErrorCode.SM_LOST))),
        fault="crossed_lost",
        cover=("the block was decided when the SM got lost", launch.ends & late),
        bound=BOUND,
        slow=True,
    )
    known = [ports.occupied[p] & (ports.launches[p].ticket == ports.stop.ticket) for p in PLACES]
    unknown = b.before(b.before(ports.stop_valid & ~Cat(known).any(), "unknown"), "was_unknown")
    error, code = dut.error, int(ErrorCode.STOP_UNKNOWN)
    b.check(
        "unknown",
        "a stop of no resident launch is an error two cycles later, and only then",
        (~unknown | (error.valid & (error.code <= code)))
        & (unknown | ~error.valid | (error.code != code)),
        fault="phantom_stop",
        cover=("a lower error hides it", unknown & (error.code != code)),
        slow=True,
    )
