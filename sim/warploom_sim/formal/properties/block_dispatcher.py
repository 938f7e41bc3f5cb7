"""BlockDispatcher over-commits nothing, skips nothing, and keeps to orders, stops and losses."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Signal, Value

from warploom.block_dispatcher import BlockDispatcher
from warploom_sim.formal.bench import Bench
from warploom_spec import Config, ErrorCode, Fate, timing

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
    kill_timeout=4,
)
#: Free bits of a launch. Two tickets are enough: those of resident launches differ.
FREE: Final = {
    **dict.fromkeys(("ticket", "gz", "shared", "barriers", "index_address"), 0b1),
    **dict.fromkeys(("gx", "gy", "warps", "registers"), 0b11),
    **dict.fromkeys(("stream", "after_previous", "width_x"), 0b1),
}
#: What a block takes of an SM, and how much of it there is.
CAPACITY: Final = {
    "warps": CONFIG.warp_slots,
    "registers": CONFIG.register_units,
    "shared": CONFIG.shared_units,
    "barriers": CONFIG.barriers,
}
#: Cycles that are searched of what is not proved for all time. Blocks of two launches meet on an SM
#: in the one before the last.
BOUND: Final = 18
_SMS: Final = range(CONFIG.sms)
_SLOTS: Final = range(CONFIG.block_slots)
_PLACES: Final = range(2)


def bench(fault: str | None = None) -> Bench:
    """Return the bench; it follows one SM and one launch, which may be any ones."""
    b = Bench("block_dispatcher", CONFIG, "2 SMs, 2 slots, 3 warps; grids up to 3 x 3 x 1", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = BlockDispatcher(CONFIG, fault=fault if fault in BlockDispatcher.FAULTS else None)
    ports = _Ports(b, dut)
    ports.drive(fault)
    _assume(ports)
    _state_places(ports)
    sm = _Sm(ports, fault)
    stops = _Stops(ports, sm)
    _state_sm(ports, sm)
    _state_kills(ports, sm, stops)
    launch = _Launch(ports)
    _state_launch(ports, launch)
    _state_stops(ports, sm, stops, launch)
    for k in _SMS:
        b.check_held(dut.offer[k], f"offer__{k}")
    b.check_held(dut.ended, "ended")
    return b.close()


class _Ports:
    """What the ports say in this cycle: what is sent, what is new, which places are occupied."""

    def __init__(self, b: Bench, dut: Any) -> None:
        self.b, self.dut = b, dut
        m = b.m
        self.given = b.partly(dut.launch.payload.shape(), FREE, "given", b.free)
        self.stop_valid = b.free(1, "stop__valid")
        self.stop = b.partly(dut.stop.payload.shape(), {"ticket": 1, "drain": 1}, "stop", b.free)
        self.enable = b.free(CONFIG.sms, "enable")
        self.sent = [b.free(1, f"completion__{k}__valid") for k in _SMS]
        self.completion = [
            b.partly(port.payload.shape(), {"slot": 1, "code": 1}, f"completion_{k}", b.free)
            for k, port in enumerate(dut.completion)
        ]
        self.transfer = dut.launch.valid & dut.launch.ready
        #: For each SM whether its offer is in its first cycle.
        self.new = [b.first(dut.offer[k], f"offer__{k}") for k in _SMS]
        ended = b.first(dut.ended, "ended")
        self.ended = ended

        # A launch takes the lowest free place; its record shows in the first cycle it is free.
        kept = [b.register(1, f"occupied_{p}") for p in _PLACES]
        self.launches = [b.register(self.given.shape(), f"launch_{p}") for p in _PLACES]
        ticket = dut.ended.payload.ticket
        self.ends = [
            b.value(ended & kept[p] & (self.launches[p].ticket == ticket), f"ends_{p}")
            for p in _PLACES
        ]
        self.occupied = [b.value(kept[p] & ~self.ends[p], f"now_occupied_{p}") for p in _PLACES]
        #: The place that a launch which transfers now takes.
        self.place = self.occupied[0]
        self.entered = [b.value(self.transfer & (self.place == p), f"entered_{p}") for p in _PLACES]
        for p, entered in enumerate(self.entered):
            m.d.sync += kept[p].eq(self.occupied[p] | entered)
            with m.If(entered):
                m.d.sync += self.launches[p].eq(self.given)

    def drive(self, fault: str | None) -> None:
        """Connect the block; some seeded bugs are what it does not see, or sees wrongly."""
        b, dut = self.b, self.dut
        stop: Any = self.stop_valid
        enable: Any = self.enable
        sent: Any = self.sent[0]
        if fault == "stop_unseen":
            stop = 0
        if fault == "phantom_stop":
            stop = 1
        if fault == "enable_unseen":
            enable = -1
        if fault == "phantom_completion":
            sent = 1
        completion = self.completion
        if fault == "code_unseen":
            completion = [Signal(c.shape(), name=f"codeless_{k}") for k, c in enumerate(completion)]
            b.m.d.comb += [c.slot.eq(self.completion[k].slot) for k, c in enumerate(completion)]
        b.drive(
            dut,
            launch__payload=self.given,
            stop__payload=self.stop,
            stop__valid=stop,
            enable=enable,
            completion__0__valid=sent,
            completion__1__valid=self.sent[1],
            **{f"completion__{k}__payload": completion[k] for k in _SMS},
        )


def _assume(ports: _Ports) -> None:
    """State what LaunchPath sends: launches that fit an SM, with tickets of their own."""
    b, given, valid = ports.b, ports.given, ports.dut.launch.valid
    b.assume(
        "grid",
        "no dimension of a grid is 0",
        ~valid | Cat(given[f"g{axis}"] != 0 for axis in "xyz").all(),
        source="launch_check.grid",
    )
    fits = Cat(given[name] <= most for name, most in CAPACITY.items()).all()
    b.assume(
        "fits",
        "a block has a warp or more and fits an SM that is empty",
        ~valid | (fits & (given.warps != 0)),
        source="launch_check.plain_error, launch_check.error, launch_check.products",
    )
    differs = [~ports.occupied[p] | (ports.launches[p].ticket != given.ticket) for p in _PLACES]
    b.assume(
        "tickets",
        "a launch's ticket is not that of a resident one",
        ~valid | Cat(differs).all(),
        source="launch_path's tickets, in a row from 1 on",
    )


def _state_places(ports: _Ports) -> None:
    """State that each launch has one record."""
    ports.b.check(
        "records",
        "each launch has one record, and a place is free again with it, not before",
        (ports.dut.launch.ready == ~Cat(ports.occupied).all())
        & (~ports.ended | Cat(ports.ends).any()),
        fault="deaf_ended",
        cover=("one ends while another is given", ports.ended & ports.transfer),
    )


class _Sm:
    """One SM as the page has it, cycle by cycle; its number is a constant that may be any one.

    A block is held from its offer's first cycle, which is the one after its decision, to the one in
    which its completion, or the acknowledgement of a kill that named it, is processed.
    """

    def __init__(self, ports: _Ports, fault: str | None) -> None:
        self.b, dut = ports.b, ports.dut
        b = self.b
        number = b.constant(1, "sm")

        def mine(of_each: Any, name: str, shape: Any = None) -> Any:
            one, other = (Value.cast(of) for of in of_each)
            return b.value(Mux(number, other, one), f"sm_{name}", shape)

        offers = dut.offer
        self.offer = mine([o.payload for o in offers], "offer", offers[0].payload.shape())
        self.new = mine(ports.new, "new")
        taken = mine([o.valid & b.inputs[f"offer__{k}__ready"] for k, o in enumerate(offers)], "tk")
        self.lost = mine(list(dut.lost)[:: -1 if fault == "crossed_lost" else 1], "lost")
        self.enable = mine(list(ports.enable), "enable")
        #: A completion is looked at in the cycle after its own, and in the next.
        self._sent = b.before(mine(ports.sent, "sent"), "sent")
        self._slot = b.before(mine([c.slot for c in ports.completion], "slot"), "slot")
        code = b.before(mine([c.code.any() for c in ports.completion], "code"), "code")
        self._code = b.before(code, "processed_code")
        self.pulse = mine([k.valid for k in dut.kill], "kill")
        self.mask = mine([k.mask for k in dut.kill], "mask")
        self._acknowledge = mine([a.valid for a in dut.acknowledge], "acknowledge")
        self.launch = b.value(
            Mux(self.offer.place, *(Value.cast(w) for w in reversed(ports.launches))),
            "sm_launch",
            ports.given.shape(),
        )
        self._answer()
        self._keep(taken)

    def _answer(self) -> None:
        """Follow the outstanding kill: what it names, and when it is answered."""
        b, m = self.b, self.b.m
        outstanding = b.register(1, "outstanding")
        named = b.register(CONFIG.block_slots, "named")
        #: A kill is outstanding; the slots that it names.
        self.outstanding = b.value(outstanding | self.pulse, "now_outstanding")
        self.named = b.value(Mux(self.pulse, self.mask, named), "now_named")
        processed = b.before(b.before(self._acknowledge, "answer"), "processed_answer")
        # What was at the port before the pulse is no answer to it.
        early = self.pulse | b.before(self.pulse, "pulse")
        self.answered = b.value(processed & self.outstanding & ~early, "answered")
        m.d.sync += [
            outstanding.eq(self.outstanding & ~self.answered),
            named.eq(Mux(self.answered, 0, self.named)),
        ]

    def _keep(self, taken: Value) -> None:
        """Follow the slots: which hold blocks, of what needs, which of them run."""
        b, m = self.b, self.b.m
        self.runs = [b.register(1, f"runs_{s}") for s in _SLOTS]
        #: Held in this cycle; without the block whose offer is in its first cycle.
        self.held, self.kept = [], [b.register(1, f"held_{s}") for s in _SLOTS]
        self.places = [b.register(1, f"held_{s}_place") for s in _SLOTS]
        self.needs = {
            name: [b.register(len(self.launch[name]), f"held_{s}_{name}") for s in _SLOTS]
            for name in CAPACITY
        }
        #: For each slot whether its block ends with this cycle, and has failed.
        self.failed = []
        for s in _SLOTS:
            runs, kept = self.runs[s], self.kept[s]
            here = b.value(self.new & (self.offer.slot == s), f"new_{s}")
            ran = b.before(self._sent & (self._slot == s) & runs, f"ran_{s}")
            completes = b.value(ran & runs, f"completes_{s}")
            ends = b.value(completes | (self.answered & self.named[s] & runs), f"ends_{s}")
            held = b.value(kept | here, f"now_held_{s}")
            self.held.append(held)
            self.failed.append(b.value(completes & self._code & ~self.lost, f"failed_{s}"))
            m.d.sync += [
                runs.eq((runs | (taken & (self.offer.slot == s))) & ~ends),
                kept.eq(held & ~ends),
            ]
            with m.If(here):
                m.d.sync += self.places[s].eq(self.offer.place)
                m.d.sync += [self.needs[name][s].eq(self.launch[name]) for name in CAPACITY]


class _Stops:
    """What stops each place's launch, but for what happens on the other SM."""

    def __init__(self, ports: _Ports, sm: _Sm) -> None:
        b, m = ports.b, ports.b.m
        struck = b.value(sm.lost & ~b.before(sm.lost, "lost_before"), "struck")
        drain = b.before(ports.stop.drain, "drain")
        #: For each place whether its launch is stopped: by a stop at the port; by a block that
        #: failed, or was lost, here; whether it is being killed.
        self.asked, self.broken, self.kill = [], [], []
        #: Whether the SM's loss strikes blocks of it, and one that was decided in that very cycle.
        self.struck, self.late = [], []
        #: A completion with a code was sent on any SM since the place was occupied.
        self.fails = [b.register(1, f"fails_{p}") for p in _PLACES]
        fails = Cat(v & c.code.any() for v, c in zip(ports.sent, ports.completion, strict=True))
        for p in _PLACES:
            named = b.before(
                ports.stop_valid
                & ports.occupied[p]
                & (ports.launches[p].ticket == ports.stop.ticket),
                f"named_{p}",
            )
            failed = b.value(
                Cat(sm.failed[s] & (sm.places[s] == p) for s in _SLOTS).any(), f"failed_{p}"
            )
            here = Cat(sm.kept[s] & (sm.places[s] == p) for s in _SLOTS).any()
            # A block decided in the very cycle of the loss is seen with its offer, a cycle later.
            late = b.value(struck & sm.new & (sm.offer.place == p), f"struck_late_{p}")
            asked, ended = b.register(1, f"asked_{p}"), b.register(1, f"was_broken_{p}")
            kill = b.register(1, f"kill_{p}")
            self.late.append(late)
            self.struck.append(b.value((struck & here) | late, f"struck_{p}"))
            self.kill.append(b.value(kill & ports.occupied[p], f"now_kill_{p}"))
            self.asked.append(asked)
            self.broken.append(b.value(ended | (struck & here), f"now_broken_{p}"))
            m.d.sync += [
                asked.eq(~ports.entered[p] & (asked | named)),
                ended.eq(~ports.entered[p] & (self.broken[p] | failed | late)),
                kill.eq(~ports.entered[p] & (kill | (named & ~drain) | failed)),
                self.fails[p].eq(~ports.entered[p] & (self.fails[p] | fails.any())),
            ]


def _state_sm(ports: _Ports, sm: _Sm) -> None:
    """State what is offered to one SM: what its decision, a cycle before, found."""
    b, first = ports.b, sm.new
    held = [b.before(held, f"found_held_{s}") for s, held in enumerate(sm.held)]
    others = Cat(h & (place != sm.offer.place) for h, place in zip(held, sm.places, strict=True))
    for name, most in CAPACITY.items():
        total = sm.launch[name]
        for s in _SLOTS:
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


def _state_kills(ports: _Ports, sm: _Sm, stops: _Stops) -> None:
    """State what a kill names, and what it holds back."""
    b = ports.b
    runs = b.value(Cat(sm.runs), "running")
    killed = [b.before(kill, f"kill_before_{p}") for p, kill in enumerate(stops.kill)]
    doomed = Cat(runs[s] & Mux(sm.places[s], killed[1], killed[0]) for s in _SLOTS)
    due = b.before(doomed, "due")
    #: Not stopped, as far as this SM and the port tell, and nothing failed on any SM.
    spared = Cat(
        runs[s] & ~Mux(sm.places[s], killed[1] | stops.fails[1], killed[0] | stops.fails[0])
        for s in _SLOTS
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


class _Launch:
    """One launch, picked at any time: its next block, and what may hold it back."""

    def __init__(self, ports: _Ports) -> None:
        b, dut = ports.b, ports.dut
        m = b.m
        self.followed = b.register(1, "followed")
        self.place = b.register(1, "place")
        self.launch = b.register(ports.given.shape(), "followed_launch")
        self.next = {a: b.register(len(ports.given[f"g{a}"]), f"next_{a}") for a in "xyz"}
        self.exhausted = b.register(1, "exhausted")
        picked = b.value(ports.transfer & b.free(1, "pick") & ~self.followed, "picked")
        self.ends = b.value(
            self.followed & Mux(self.place, ports.ends[1], ports.ends[0]), "followed_ends"
        )
        other_ends = Mux(self.place, ports.ends[0], ports.ends[1])
        other = Mux(ports.place, ports.occupied[0], ports.occupied[1])
        same_stream = (
            Mux(ports.place, ports.launches[0].stream, ports.launches[1].stream)
            == ports.given.stream
        )
        #: For each SM whether one of the launch's blocks, or one of the other's, is new.
        self.new, self.other_new = (
            [
                b.value(self.followed & first & (offer.payload.place == place), f"{name}_{k}")
                for k, (first, offer) in enumerate(zip(ports.new, dut.offer, strict=True))
            ]
            for name, place in (("followed_new", self.place), ("other_new", ~self.place))
        )
        #: A launch of its stream is before it, after which it must start.
        self.waits = b.register(1, "waits")
        self.older = b.register(1, "older")
        #: Something may have stopped it: a stop, a block that failed, an SM that is lost.
        self.disturbed = b.register(1, "disturbed")
        stopped = ports.stop_valid & (ports.stop.ticket == self.launch.ticket)
        failed = Cat(
            sent & (what.code != 0) for sent, what in zip(ports.sent, ports.completion, strict=True)
        )
        with m.If(picked):
            m.d.sync += [
                *(self.place.eq(ports.place), self.launch.eq(ports.given), self.followed.eq(1)),
                self.exhausted.eq(0),
                self.waits.eq(other & same_stream & ports.given.after_previous),
                self.older.eq(~other),
                self.disturbed.eq(failed.any() | dut.lost.any()),
                *(self.next[a].eq(0) for a in "xyz"),
            ]
        with m.Else():
            m.d.sync += [
                self.followed.eq(self.followed & ~self.ends),
                self.waits.eq(self.waits & ~other_ends),
                self.older.eq(self.older | other_ends),
                self.disturbed.eq(self.disturbed | stopped | failed.any() | dut.lost.any()),
            ]
        at_end = {a: self.next[a] + 1 == self.launch[f"g{a}"] for a in "xyz"}
        self.last = Cat(at_end.values()).all()
        with m.If(Cat(self.new).any()):
            carry: Value = Cat(self.new).any()
            for a in "xyz":
                with m.If(carry):
                    m.d.sync += self.next[a].eq(Mux(at_end[a], 0, self.next[a] + 1))
                carry = carry & at_end[a]
            m.d.sync += self.exhausted.eq(self.last)


def _state_launch(ports: _Ports, launch: _Launch) -> None:
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


def _state_stops(ports: _Ports, sm: _Sm, stops: _Stops, launch: _Launch) -> None:
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
    known = [ports.occupied[p] & (ports.launches[p].ticket == ports.stop.ticket) for p in _PLACES]
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
