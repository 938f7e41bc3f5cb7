"""BlockDispatcher over-commits nothing, skips nothing, and keeps to orders, stops and losses."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.dispatch import BlockDispatcher
from warploom_dev.formal.dispatcher_checks import check_error, check_last_offer
from warploom_dev.formal.dispatcher_view import (
    AXES,
    PLACES,
    Flags,
    OneLaunch,
    OneSm,
    Ports,
    capacity,
    of_place,
)
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, ErrorCode, timing

CONFIG: Final = Config(
    sms=2,
    warp_size=8,
    block_slots=2,
    warp_slots=3,
    register_units=3,
    shared_units=1,
    barriers=1,
    max_threads=16,
    grid_bits=(2, 2, 1),
    history_entries=1,
    index_memory_warps=2,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=12,
)
SIZE: Final = "2 SMs, 2 slots, 3 warps; grids up to 3 x 3 x 1"
#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 22
#: Likewise of what follows a loss.
LOSS_BOUND: Final = 30


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one SM and one launch, which may be any ones."""
    b = FormalBench("block_dispatcher", CONFIG, SIZE, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = BlockDispatcher(CONFIG)
    ports = Ports(b, dut)
    ports.drive()
    ports.assume()
    _state_places(ports)
    sm = OneSm(ports, b.constant(1, "sm"))
    _state_resources(ports, sm)
    _state_sm(ports, sm)
    _state_errors(ports, sm)
    launch = OneLaunch(ports)
    _state_launch(ports, launch)
    _state_stops(ports, Flags(ports, [sm]), launch)
    _state_kill(ports)
    for k in ports.sms:
        b.check_held(dut.offer[k], f"offer__{k}")
    b.check_held(dut.ended, "ended")
    return b.close()


def _state_places(ports: Ports) -> None:
    """State that no launch has two records."""
    ports.b.check(
        "records",
        "a launch has one record at most, and a place is free again with it, not before",
        (ports.dut.launch.ready == (~ports.boot & ~Cat(ports.occupied).all())) & ~ports.stray,
        fault="deaf_ended",
        cover=("one ends while another is given", ports.ended & ports.transfer),
    )


def _state_resources(ports: Ports, sm: OneSm) -> None:
    """State that what is offered to one SM fits beside what it holds."""
    b, first = ports.b, sm.new
    others = Cat(h & (p != sm.offer.place) for h, p in zip(sm.held, sm.places, strict=True)).any()
    for name, most in capacity(CONFIG).items():
        total = sm.launch[name]
        for s in ports.slots:
            total = total + Mux(sm.held[s], sm.needs[name][s], 0)
        b.check(
            name,
            f"an SM never holds blocks that need more of {name} than it has",
            ~first | (total <= most),
            fault="light" if name == "warps" else "phantom_report",
            cover=(
                "the rest of it is taken beside a block of the other launch",
                first & others & (total == most) & (sm.launch[name] != 0),
            ),
            bound=BOUND,
            slow=True,
        )


def _state_sm(ports: Ports, sm: OneSm) -> None:
    """State which slot a block gets, and which SMs get none."""
    b, number = ports.b, sm.offer.slot
    held = Cat(sm.held)
    b.check(
        "slot",
        "a block gets the slot that has been free longest: neither offered nor running",
        ~sm.new | (~held.bit_select(number, 1) & (held.any() | (number == sm.longest))),
        fault="phantom_report",
        cover=("slot 1 is given before slot 0 again", sm.new & (number == 1) & ~held.any()),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "lost",
        "nothing is offered to an SM that was lost when it would have been decided",
        ~(sm.new & b.past(sm.lost, timing(CONFIG).offer, "lost")),
        fault="crossed_lost",
        cover=("the other SM gets a block", Cat(ports.new).any() & sm.lost),
        slow=True,
    )
    b.check(
        "enabled",
        f"an SM is offered a block only if it was enabled {timing(CONFIG).offer + 1} cycles before",
        ~sm.new | b.past(sm.enable, timing(CONFIG).offer + 1, "enable"),
        fault="enable_unseen",
        cover=("it has just been disabled", sm.new & ~b.past(sm.enable, 2, "recent_enable")),
        slow=True,
    )


def _state_errors(ports: Ports, sm: OneSm) -> None:
    """State whose blocks reports mean: each report of no running block is an error."""
    check_error(
        ports,
        sm,
        ErrorCode.REPORT_NOT_RUNNING,
        sm.not_running,
        "running",
        "a report of a slot in which no block runs is an error, and no other report is",
        fault="report_unseen",
        bound=BOUND,
    )
    check_error(
        ports,
        sm,
        ErrorCode.KILL_NOT_ASKED,
        sm.not_asked,
        "asked",
        "a block reported killed without a kill is an error, and no other report is",
        fault="status_unseen",
        bound=BOUND,
    )


def _state_launch(ports: Ports, launch: OneLaunch) -> None:
    """State what becomes of one launch's blocks."""
    b, dut = ports.b, ports.dut
    new = launch.some_new
    right, own = [], []
    for first, offer in zip(launch.new, (o.payload for o in dut.offer), strict=True):
        right.append(~first | Cat(offer[f"b{a}"] == launch.next[a] for a in AXES).all())
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
        fault="small",
        cover=("the first block of the second row", new & (launch.next["y"] == 1)),
        slow=True,
    )
    words = b.value(
        of_place(launch.place, [Value.cast(w) for w in dut.words]), "words", dut.words[0].shape()
    )
    kept = Cat(words[n] == launch.launch[n] for n in ("ticket", "gx", "warps", "width_x")).all()
    b.check(
        "own",
        "offers and words of a launch's place are its own, as long as it is resident",
        Cat(own).all() & (~launch.followed | launch.ends | kept),
        fault="address_unseen",
        cover=("an offer of the second place", new & launch.place),
        slow=True,
    )
    b.check(
        "resident",
        "each block offered is of a place that a launch has",
        Cat(
            ~first | of_place(offer.payload.place, ports.occupied)
            for first, offer in zip(ports.new, dut.offer, strict=True)
        ).all(),
        fault="crossed_end",
        cover=("one of either place at once", Cat(ports.new).any() & Cat(ports.occupied).all()),
        bound=BOUND,
        slow=True,
    )
    b.check(
        "stream_order",
        "a launch that starts after its stream's earlier ones has no offer before they ended",
        ~(new & launch.waits),
        fault="order_unseen",
        cover=("its turn comes", new & launch.launch.after_previous & launch.place),
        slow=True,
    )
    other_new = Cat(launch.other_new).any()
    b.check(
        "leftover",
        "the younger launch has no offer while the older one has blocks left and is undisturbed",
        ~(other_new & launch.older & ~launch.exhausted & ~launch.disturbed),
        fault="phantom_stop",
        cover=("the younger one fills up", other_new & launch.older),
        bound=BOUND,
        slow=True,
    )


def _state_stops(ports: Ports, flags: Flags, launch: OneLaunch) -> None:
    """State that a launch that is stopped, for whatever reason, gets no block any more."""
    after = timing(CONFIG)
    loss = after.loss_kill + after.offer
    check_last_offer(
        ports,
        launch,
        flags.asked,
        "stopped",
        f"a launch has no offer later than {after.stop + after.offer} cycles after a stop",
        fault="stop_unseen",
        bound=None,
    )
    check_last_offer(
        ports,
        launch,
        flags.fault,
        "failed",
        f"a launch has no offer later than {after.fault + after.offer} cycles after a fault of it",
        fault="status_unseen",
        bound=BOUND,
    )
    check_last_offer(
        ports,
        launch,
        flags.sm_lost,
        "sm_loss",
        f"a launch has no offer later than {loss} cycles after an SM with a block of it got lost",
        fault="crossed_lost",
        bound=LOSS_BOUND,
    )


def _state_kill(ports: Ports) -> None:
    """State how far a kill of a place is from the next launch's first offer."""
    b, gap = ports.b, 4
    recent = []
    for p in PLACES:
        before = Cat(b.past(ports.kill[p], k + 1, f"kill_{p}_{k}") for k in range(gap))
        recent.append(b.value(~ports.kill[p] & before.any(), f"recent_kill_{p}"))
    offered = [
        of_place(o.payload.place, recent) & n
        for n, o in zip(ports.new, ports.dut.offer, strict=True)
    ]
    b.check(
        "kill_gap",
        f"a place's next launch is offered {gap} cycles or more after its kill fell",
        ~Cat(offered).any(),
        fault="slow_kill",
        cover=("a block of a place that was killed", _offered_later(ports)),
        slow=True,
    )


def _offered_later(ports: Ports) -> Value:
    """Return whether a block is new of a place whose kill has fallen."""
    b = ports.b
    fell = [b.register(1, f"kill_fell_{p}") for p in PLACES]
    for p in PLACES:
        b.m.d.sync += fell[p].eq(fell[p] | (b.before(ports.kill[p], f"was_{p}") & ~ports.kill[p]))
    offers = zip(ports.new, ports.dut.offer, strict=True)
    later = Cat(n & of_place(o.payload.place, fell) & ~ports.kill.any() for n, o in offers).any()
    found: Value = b.value(later, "offered_later")
    return found
