"""What a bench of BlockDispatcher sees, from the page: its ports, one SM, stops, one launch."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Signal, Value

from warploom_dev.formal.formal_bench import Bench
from warploom_spec import Config

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
SMS: Final = range(CONFIG.sms)
SLOTS: Final = range(CONFIG.block_slots)
PLACES: Final = range(2)


class Ports:
    """What the ports say in this cycle: what is sent, what is new, which places are occupied."""

    def __init__(self, b: Bench, dut: Any) -> None:
        self.b, self.dut = b, dut
        m = b.m
        self.given = b.partly(dut.launch.payload.shape(), FREE, "given", b.free, port="launch")
        self.stop_valid = b.free(1, "stop__valid")
        self.stop = b.partly(dut.stop.payload.shape(), {"ticket": 1, "drain": 1}, "stop", b.free)
        self.enable = b.free(CONFIG.sms, "enable")
        self.sent = [b.free(1, f"completion__{k}__valid") for k in SMS]
        self.completion = [
            b.partly(
                port.payload.shape(),
                {"slot": 1, "code": 1},
                f"completion_{k}",
                b.free,
                port=f"completion[{k}]",
            )
            for k, port in enumerate(dut.completion)
        ]
        self.transfer = dut.launch.valid & dut.launch.ready
        #: For each SM whether its offer is in its first cycle.
        self.new = [b.first(dut.offer[k], f"offer__{k}") for k in SMS]
        ended = b.first(dut.ended, "ended")
        self.ended = ended

        # A launch takes the lowest free place; its record shows in the first cycle it is free.
        kept = [b.register(1, f"occupied_{p}") for p in PLACES]
        self.launches = [b.register(self.given.shape(), f"launch_{p}") for p in PLACES]
        ticket = dut.ended.payload.ticket
        self.ends = [
            b.value(ended & kept[p] & (self.launches[p].ticket == ticket), f"ends_{p}")
            for p in PLACES
        ]
        self.occupied = [b.value(kept[p] & ~self.ends[p], f"now_occupied_{p}") for p in PLACES]
        #: The place that a launch which transfers now takes.
        self.place = self.occupied[0]
        self.entered = [b.value(self.transfer & (self.place == p), f"entered_{p}") for p in PLACES]
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
        if fault == "failure_unseen":
            sent = sent & ~self.completion[0].code.any()
        given: Any = self.given
        if fault == "flat":
            given = Signal(self.given.shape(), name="flat")
            b.m.d.comb += [given.eq(self.given), given.gy.eq(0)]
        completion = self.completion
        if fault == "code_unseen":
            completion = [Signal(c.shape(), name=f"codeless_{k}") for k, c in enumerate(completion)]
            b.m.d.comb += [c.slot.eq(self.completion[k].slot) for k, c in enumerate(completion)]
        b.drive(
            dut,
            launch__payload=given,
            stop__payload=self.stop,
            stop__valid=stop,
            enable=enable,
            completion__0__valid=sent,
            completion__1__valid=self.sent[1],
            **{f"completion__{k}__payload": completion[k] for k in SMS},
        )

    def assume(self) -> None:
        """State what LaunchPath sends: launches that fit an SM, with tickets of their own."""
        b, given, valid = self.b, self.given, self.dut.launch.valid
        b.assume(
            "grid",
            "no dimension of a grid is 0",
            ~valid | Cat(given[f"g{axis}"] != 0 for axis in "xyz").all(),
            source="launch_path.handed_grid",
        )
        fits = Cat(given[name] <= most for name, most in CAPACITY.items()).all()
        b.assume(
            "fits",
            "a block has a warp or more and fits an SM that is empty",
            ~valid | (fits & (given.warps != 0)),
            source="launch_path.handed_fits",
        )
        differs = [~self.occupied[p] | (self.launches[p].ticket != given.ticket) for p in PLACES]
        b.assume(
            "tickets",
            "a launch's ticket is not that of a resident one",
            ~valid | Cat(differs).all(),
            source="launch_path.handed_tickets",
        )


class OneSm:
    """One SM as the page has it, cycle by cycle; which one is a bit that never changes.

    A block is held from its offer's first cycle, which is the one after its decision, to the one in
    which its completion, or the acknowledgement of a kill that named it, is processed.
    """

    def __init__(self, ports: Ports, number: Value, fault: str | None) -> None:
        self.b, dut = ports.b, ports.dut
        b = self.b

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
        self.runs = [b.register(1, f"runs_{s}") for s in SLOTS]
        #: Held in this cycle; without the block whose offer is in its first cycle.
        self.held, self.kept = [], [b.register(1, f"held_{s}") for s in SLOTS]
        self.places = [b.register(1, f"held_{s}_place") for s in SLOTS]
        self.needs = {
            name: [b.register(len(self.launch[name]), f"held_{s}_{name}") for s in SLOTS]
            for name in CAPACITY
        }
        #: For each slot whether its block ends with this cycle, and has failed.
        self.failed = []
        for s in SLOTS:
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


class Stops:
    """What stops each place's launch, but for what happens on the other SM."""

    def __init__(self, ports: Ports, sm: OneSm) -> None:
        b, m = ports.b, ports.b.m
        struck = b.value(sm.lost & ~b.before(sm.lost, "lost_before"), "struck")
        drain = b.before(ports.stop.drain, "drain")
        #: For each place whether its launch is stopped: by a stop at the port; by a block that
        #: failed, or was lost, here; whether it is being killed.
        self.asked, self.broken, self.kill = [], [], []
        #: The same as ``broken``, from the cycle on in which the launch is stopped by it.
        self.was_broken = []
        #: Whether the SM's loss strikes blocks of it, and one that was decided in that very cycle.
        self.struck, self.late = [], []
        #: A completion with a code was sent on any SM since the place was occupied.
        self.fails = [b.register(1, f"fails_{p}") for p in PLACES]
        fails = Cat(v & c.code.any() for v, c in zip(ports.sent, ports.completion, strict=True))
        for p in PLACES:
            named = b.before(
                ports.stop_valid
                & ports.occupied[p]
                & (ports.launches[p].ticket == ports.stop.ticket),
                f"named_{p}",
            )
            failed = b.value(
                Cat(sm.failed[s] & (sm.places[s] == p) for s in SLOTS).any(), f"failed_{p}"
            )
            here = Cat(sm.kept[s] & (sm.places[s] == p) for s in SLOTS).any()
            # A block decided in the very cycle of the loss is seen with its offer, a cycle later.
            late = b.value(struck & sm.new & (sm.offer.place == p), f"struck_late_{p}")
            asked, ended = b.register(1, f"asked_{p}"), b.register(1, f"was_broken_{p}")
            kill = b.register(1, f"kill_{p}")
            self.late.append(late)
            self.struck.append(b.value((struck & here) | late, f"struck_{p}"))
            self.kill.append(b.value(kill & ports.occupied[p], f"now_kill_{p}"))
            self.asked.append(asked)
            self.was_broken.append(ended)
            self.broken.append(b.value(ended | (struck & here), f"now_broken_{p}"))
            m.d.sync += [
                asked.eq(~ports.entered[p] & (asked | named)),
                ended.eq(~ports.entered[p] & (self.broken[p] | failed | late)),
                kill.eq(~ports.entered[p] & (kill | (named & ~drain) | failed)),
                self.fails[p].eq(~ports.entered[p] & (self.fails[p] | fails.any())),
            ]


class OneLaunch:
    """One launch, picked at any time: its next block, and what may hold it back."""

    def __init__(self, ports: Ports) -> None:
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
