"""What a bench of BlockDispatcher sees, from the page: its ports, SMs, stops, one launch."""

from collections.abc import Sequence
from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Signal, Value

from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import BlockStatus, Config, Stop, capacities, timing
from warploom_spec.layouts import PLACES as PLACE_COUNT
from warploom_spec.layouts import STOP_BITS
from warploom_spec.resources import BLOCK_AMOUNTS

#: Free bits of a launch, if its fields are as wide. Of the ticket it is stated that words keep it,
#: for which one is enough.
FREE: Final = {
    **dict.fromkeys(("ticket", "gz", *(r.name for r in BLOCK_AMOUNTS), "index_address"), 0b1),
    **dict.fromkeys(("gx", "gy", "warps", "registers"), 0b11),
    **dict.fromkeys(("stream", "after_previous", "width_x"), 0b1),
}
PLACES: Final = range(PLACE_COUNT)
AXES: Final = "xyz"
#: Seeded bugs of a bench: what the block sees, or what is seen of it, is not so.
BUGS: Final = {
    "stop_unseen": "no stop",
    "phantom_stop": "a drain of place 0 in every cycle",
    "enable_unseen": "all SMs enabled",
    "phantom_report": "a report of SM 0 in every cycle",
    "report_unseen": "no report of SM 0",
    "status_unseen": "each report as OK",
    "order_unseen": "no launch starts after its stream's earlier ones",
    "address_unseen": "index addresses as 0",
    "light": "blocks that need no warp",
    "small": "grids with one block less in each row of three",
    "flat": "grids without a row",
    "slow_kill": "rightly all; `kill` is seen 5 cycles late",
    "crossed_lost": "rightly all; of two SMs the other one is seen lost",
    "crossed_end": "rightly all; a record is seen as one of the other place",
}


def capacity(config: Config) -> dict[str, int]:
    """Return what a block takes of an SM beside its slot, and how much of it there is."""
    return {name: size for name, size in capacities(config).items() if name != "slots"}


def of_place(place: Value, of_each: Sequence[Any]) -> Any:
    """Return the value of a place."""
    return Mux(place, of_each[1], of_each[0])


class Ports:
    """What the ports say in this cycle: what is sent, what is new, which places are occupied.

    Parameters
    ----------
    b : FormalBench
        Its ``fault`` may be one of `BUGS`.
    dut : BlockDispatcher
        The block.
    """

    def __init__(self, b: FormalBench, dut: Any) -> None:
        self.b, self.dut, self.config = b, dut, b.config
        self.sms, self.slots = range(b.config.sms), range(b.config.block_slots)
        m = b.m
        launch = dut.launch.payload.shape()
        free = {name: mask & ~(-1 << launch[name].width) for name, mask in FREE.items()}
        self.given = b.partly(launch, free, "given", b.free, port="launch")
        self.stop = [b.free(STOP_BITS, f"stop_{p}") for p in PLACES]
        self.enable = b.free(self.config.sms, "enable")
        boots = b.register(range(timing(self.config).boot + 1), "boots")
        #: The boot is not over.
        self.boot = b.value(boots != timing(self.config).boot, "boot")
        m.d.sync += boots.eq(boots + self.boot)
        self.sent = [b.free(1, f"report__{k}__valid") for k in self.sms]
        shape = dut.report[0].payload.shape()
        self.report = [
            b.partly(shape, {"slot": 1, "status": 3}, f"report_{k}", b.free) for k in self.sms
        ]
        self.transfer = dut.launch.valid & dut.launch.ready
        #: For each SM whether its offer is in its first cycle, and whether it is taken.
        self.new = [b.first(dut.offer[k], f"offer__{k}") for k in self.sms]
        self.taken = [
            offer.valid & b.inputs[f"offer__{k}__ready"] for k, offer in enumerate(dut.offer)
        ]
        self.ended = b.first(dut.ended, "ended")
        #: What the SMs see of the kills.
        self.kill = b.past(dut.kill, 5, "slow_kill") if b.fault == "slow_kill" else dut.kill
        self._follow_places()

    def _follow_places(self) -> None:
        """Follow which launch has which place.

        A launch takes the lowest free place; its record shows in the first cycle it is free.
        """
        b, m = self.b, self.b.m
        kept = [b.register(1, f"occupied_{p}") for p in PLACES]
        place = self.dut.ended.payload.place ^ (b.fault == "crossed_end")
        #: A record of a place that no launch has.
        self.stray = b.value(self.ended & ~of_place(place, kept), "stray")
        self.launches = [b.register(self.given.shape(), f"launch_{p}") for p in PLACES]
        self.ends = [b.value(self.ended & (place == p), f"ends_{p}") for p in PLACES]
        self.occupied = [b.value(kept[p] & ~self.ends[p], f"now_occupied_{p}") for p in PLACES]
        #: The place that a launch which transfers now takes.
        self.place = self.occupied[0]
        self.entered = [b.value(self.transfer & (self.place == p), f"entered_{p}") for p in PLACES]
        for p, entered in enumerate(self.entered):
            m.d.sync += kept[p].eq(self.occupied[p] | entered)
            with m.If(entered):
                m.d.sync += self.launches[p].eq(self.given)

    def drive(self) -> None:
        """Connect the block; with a seeded bug it sees something else than it is sent."""
        b, fault = self.b, self.b.fault
        stop: Any = Cat(self.stop)
        if fault in ("stop_unseen", "phantom_stop"):
            stop = C(int(Stop.DRAIN) if fault == "phantom_stop" else 0, PLACE_COUNT * STOP_BITS)
        sent: list[Any] = list(self.sent)
        sent[0] = {"phantom_report": 1, "report_unseen": 0}.get(fault or "", sent[0])
        b.drive(
            self.dut,
            launch__payload=self._seen_launch(),
            stop=stop,
            enable=-1 if fault == "enable_unseen" else self.enable,
            **{f"report__{k}__valid": sent[k] for k in self.sms},
            **{f"report__{k}__payload": self._seen_report(k) for k in self.sms},
        )

    def _seen_launch(self) -> Any:
        """Return the launch as the block sees it."""
        b, given = self.b, self.given
        seen: Any = Signal(given.shape(), name="seen_launch")
        b.m.d.comb += seen.eq(given)
        changed: dict[str | None, list[Any]] = {
            "order_unseen": [seen.after_previous.eq(0)],
            "address_unseen": [seen.index_address.eq(0)],
            "light": [seen.warps.eq(0)],
            "small": [seen.gx.eq(Mux(given.gx == 3, 2, given.gx))],
            "flat": [seen.gy.eq(0)],
        }
        b.m.d.comb += changed.get(b.fault, [])
        return seen

    def _seen_report(self, k: int) -> Any:
        """Return an SM's report as the block sees it."""
        seen: Any = Signal(self.report[k].shape(), name=f"seen_report_{k}")
        self.b.m.d.comb += seen.eq(self.report[k])
        if self.b.fault == "status_unseen":
            self.b.m.d.comb += seen.status.eq(0)
        return seen

    def assume(self) -> None:
        """State what LaunchPath sends: launches that fit an SM."""
        b, given, valid = self.b, self.given, self.dut.launch.valid
        b.assume(
            "grid",
            "no dimension of a grid is 0",
            ~valid | Cat(given[f"g{axis}"] != 0 for axis in AXES).all(),
            source="launch_path.handed_grid",
        )
        fits = Cat(given[name] <= most for name, most in capacity(self.config).items()).all()
        b.assume(
            "fits",
            "a block has a warp or more and fits an SM that is empty",
            ~valid | (fits & (given.warps != 0)),
            source="launch_path.handed_fits",
        )


class OneSm:
    """One SM as the page has it, cycle by cycle.

    A report is looked up in the cycle after its own. An SM holds a block, for later offers, from
    its offer's first cycle until `timing.returns` + `timing.offer` cycles after its report.

    Parameters
    ----------
    ports : Ports
        Of the dispatcher.
    number : Value or int
        Which SM: of two, a bit that never changes.
    name : str
        Distinguishes its registers from those of another one.
    """

    def __init__(self, ports: Ports, number: Value | int, name: str = "sm") -> None:
        self.b, self.number, dut = ports.b, number, ports.dut
        self._ports, self._name = ports, name
        b = self.b

        def of_sm(of_each: Any, what: str, shape: Any = None) -> Any:
            values = [Value.cast(of) for of in of_each]
            one = values[number] if isinstance(number, int) else Mux(number, values[1], values[0])
            return b.value(one, f"{name}_{what}", shape)

        offers = dut.offer
        self.offer = of_sm([o.payload for o in offers], "offer", offers[0].payload.shape())
        self.new, self.taken = of_sm(ports.new, "new"), of_sm(ports.taken, "taken")
        lost = list(dut.lost)[:: -1 if b.fault == "crossed_lost" else 1]
        self.lost, self.enable = of_sm(lost, "lost"), of_sm(list(ports.enable), "enable")
        self.sent = b.before(of_sm(ports.sent, "report") & ~ports.boot, f"{name}_sent")
        self.slot = b.before(of_sm([r.slot for r in ports.report], "at"), f"{name}_slot")
        self.status = b.before(of_sm([r.status for r in ports.report], "was"), f"{name}_status")
        self.launch = b.value(
            of_place(self.offer.place, [Value.cast(w) for w in ports.launches]),
            f"{name}_launch",
            ports.given.shape(),
        )
        self.places = [b.register(1, f"{name}_place_{s}") for s in ports.slots]
        self.needs = {
            what: [b.register(len(self.launch[what]), f"{name}_{s}_{what}") for s in ports.slots]
            for what in capacity(b.config)
        }
        self._look_up()
        self._keep()
        self._lose()

    def _look_up(self) -> None:
        """Find the report's block, and what its status says."""
        b, slots, name = self.b, self._ports.slots, self._name
        #: For each slot whether a block runs that was taken before this cycle.
        self.runs = [b.register(1, f"{name}_runs_{s}") for s in slots]
        at = [self.slot == s for s in slots]
        self.hit = [
            b.value(self.sent & ~self.lost & at[s] & self.runs[s], f"{name}_hit_{s}") for s in slots
        ]
        kill = b.before(self._ports.kill, f"{name}_kill")
        asked = Cat(of & of_place(p, kill) for of, p in zip(self.hit, self.places, strict=True))
        killed = self.status == int(BlockStatus.KILLED)
        hits = Cat(self.hit).any()
        #: The report is of no running block; of one that was killed unasked; of a lost SM.
        self.not_running = b.value(self.sent & ~self.lost & ~hits, f"{name}_not_running")
        self.not_asked = b.value(hits & killed & ~asked.any(), f"{name}_not_asked")
        self.from_lost = b.value(self.sent & self.lost, f"{name}_from_lost")
        faulty = self.status[0] | self.not_asked

        def by_place(which: Any, what: str) -> list[Any]:
            return [
                b.value(which & Cat(h & (q == p) for h, q in self._hits()).any(), f"{what}_{p}")
                for p in PLACES
            ]

        #: For each place whether the report is a fault of its launch, of a killed block.
        self.faulty = by_place(faulty, f"{name}_faulty")
        self.killed = by_place(killed, f"{name}_killed")

    def _hits(self) -> list[tuple[Any, Any]]:
        return list(zip(self.hit, self.places, strict=True))

    def _keep(self) -> None:
        """Follow the slots: which are free, offered or running, and their blocks' needs."""
        b, m, name = self.b, self.b.m, self._name
        wait = timing(b.config).returns + timing(b.config).offer - 2
        #: Held for offers of this cycle; offered and not reported, as of the cycle before this.
        self.held, self.out = [], []
        #: Of two free slots the one that has been free longer.
        self.longest = b.register(1, f"{name}_longest")
        for s, hit in enumerate(self.hit):
            new = b.value(self.new & (self.offer.slot == s), f"{name}_new_{s}")
            held, out = (b.register(1, f"{name}_{what}_{s}") for what in ("held", "out"))
            returns = b.past(hit, wait, f"{name}_returns_{s}")
            m.d.sync += [
                self.runs[s].eq((self.runs[s] | (self.taken & (self.offer.slot == s))) & ~hit),
                held.eq((held | new) & ~returns),
                out.eq((out | new) & ~hit),
            ]
            with m.If(returns):
                m.d.sync += self.longest.eq(1 - s)
            with m.If(new):
                m.d.sync += self.places[s].eq(self.offer.place)
                m.d.sync += [self.needs[n][s].eq(self.launch[n]) for n in self.needs]
            self.held.append(held)
            self.out.append(out)
        #: For each place whether blocks of it were offered before this cycle and not reported.
        self.unreported = [
            b.value(
                Cat(o & (q == p) for o, q in zip(self.out, self.places, strict=True)).any(),
                f"{name}_unreported_{p}",
            )
            for p in PLACES
        ]

    def _lose(self) -> None:
        """Follow whose blocks a loss hits: those decided before it, seen two cycles later."""
        b, name = self.b, self._name
        second = b.before(self.lost, f"{name}_lost") & ~b.past(self.lost, 2, f"{name}_was_lost")
        #: For each place whether a block that is new by then is on the lost SM.
        self.late = [
            b.value(second & self.new & (self.offer.place == p), f"{name}_late_{p}") for p in PLACES
        ]
        #: For each place whether any unreported block is on the lost SM.
        self.sm_loss = [
            b.value((second & self.unreported[p]) | self.late[p], f"{name}_sm_loss_{p}")
            for p in PLACES
        ]


class Flags:
    """What stops each place's launch, and what its record says: as of this cycle's state.

    Of faults and losses those of some SMs alone; with all SMs it is exact.

    Parameters
    ----------
    ports : Ports
        Of the dispatcher.
    sms : sequence of OneSm
        Those that are followed.
    """

    def __init__(self, ports: Ports, sms: Sequence[OneSm]) -> None:
        b = ports.b
        times = timing(b.config)

        def pulses(of_each: list[list[Any]], after: int, name: str) -> list[Any]:
            some = [Cat(one[p] for one in of_each).any() for p in PLACES]
            return [b.past(some[p], after, f"{name}_pulse_{p}") for p in PLACES]

        def level(cause: list[Any], name: str) -> list[Any]:
            flags = [b.register(1, f"{name}_{p}") for p in PLACES]
            for p in PLACES:
                b.m.d.sync += flags[p].eq(~ports.entered[p] & (flags[p] | cause[p]))
            return flags

        asked = [b.value(ports.stop[p].any() & ports.occupied[p], f"asked_{p}") for p in PLACES]
        kills = [b.value(ports.stop[p][1] & ports.occupied[p], f"kills_{p}") for p in PLACES]
        stop, to_kill = pulses([asked], times.stop - 1, "stop"), pulses([kills], 1, "to_kill")
        # A report is looked up a cycle after its own, a loss seen two cycles after it began.
        faulty = pulses([sm.faulty for sm in sms], times.fault - 2, "fault")
        sm_loss = pulses([sm.sm_loss for sm in sms], times.loss_kill - 2, "sm_loss")
        killed = pulses([sm.killed for sm in sms], times.fault - 2, "was_killed")
        #: A stop was asked; a block failed, was killed, or was on an SM that got lost.
        self.asked = level(stop, "asked_flag")
        self.fault, self.killed = level(faulty, "fault"), level(killed, "killed")
        self.sm_lost = level(sm_loss, "sm_lost")
        #: The launch is being killed.
        to_kill = [to_kill[p] | faulty[p] | sm_loss[p] for p in PLACES]
        self.kill = level(to_kill, "kill")
        #: In the cycles before: a stop that is known of, asked or not.
        self.stopped = [self.asked[p] | self.kill[p] for p in PLACES]


class OneLaunch:
    """One launch, picked at any time: its next block, and what may hold it back."""

    def __init__(self, ports: Ports) -> None:
        b, dut = ports.b, ports.dut
        m = b.m
        self.followed = b.register(1, "followed")
        self.place = b.register(1, "place")
        self.launch = b.register(ports.given.shape(), "followed_launch")
        self.next = {a: b.register(len(ports.given[f"g{a}"]), f"next_{a}") for a in AXES}
        #: Its first, its last block was offered before this cycle.
        self.started, self.exhausted = b.register(1, "started"), b.register(1, "exhausted")
        picked = b.value(ports.transfer & b.free(1, "pick") & ~self.followed, "picked")
        self.ends = b.value(self.followed & of_place(self.place, ports.ends), "followed_ends")
        other_ends = of_place(~self.place, ports.ends)
        other = of_place(~ports.place, ports.occupied)
        same_stream = of_place(~ports.place, [w.stream for w in ports.launches]) == (
            ports.given.stream
        )
        #: For each SM whether one of the launch's blocks, or one of the other's, is new.
        self.new, self.other_new = (
            [
                b.value(self.followed & first & (offer.payload.place == place), f"{name}_{k}")
                for k, (first, offer) in enumerate(zip(ports.new, dut.offer, strict=True))
            ]
            for name, place in (("followed_new", self.place), ("other_new", ~self.place))
        )
        self.some_new = b.value(Cat(self.new).any(), "followed_some_new")
        #: A launch of its stream is before it, after which it must start.
        self.waits = b.register(1, "waits")
        self.older = b.register(1, "older")
        #: Something may have stopped it: a stop, a block that failed, an SM that is lost.
        self.disturbed = b.register(1, "disturbed")
        stopped = of_place(self.place, [stop.any() for stop in ports.stop])
        failed = Cat(
            sent & (what.status != int(BlockStatus.OK))
            for sent, what in zip(ports.sent, ports.report, strict=True)
        ).any()
        with m.If(picked):
            m.d.sync += [
                self.place.eq(ports.place),
                self.launch.eq(ports.given),
                self.followed.eq(1),
                self.started.eq(0),
                self.exhausted.eq(0),
                self.waits.eq(other & same_stream & ports.given.after_previous),
                self.older.eq(~other),
                self.disturbed.eq(failed | dut.lost.any()),
                *(self.next[a].eq(0) for a in AXES),
            ]
        with m.Else():
            m.d.sync += [
                self.followed.eq(self.followed & ~self.ends),
                self.waits.eq(self.waits & ~other_ends),
                self.older.eq(self.older | other_ends),
                self.disturbed.eq(self.disturbed | stopped | failed | dut.lost.any()),
            ]
        self._step(m)

    def _step(self, m: Any) -> None:
        """Go to the next block with each that is offered."""
        at_end = {a: self.next[a] + 1 == self.launch[f"g{a}"] for a in AXES}
        self.last = Cat(at_end.values()).all()
        with m.If(self.some_new):
            carry: Value = self.some_new
            for a in AXES:
                with m.If(carry):
                    m.d.sync += self.next[a].eq(Mux(at_end[a], 0, self.next[a] + 1))
                carry = carry & at_end[a]
            m.d.sync += [self.started.eq(1), self.exhausted.eq(self.last)]
        #: Its last block was offered in this cycle or before: as the block's own state has it.
        self.now_exhausted = self.exhausted | (self.some_new & self.last)
        self.now_started = self.started | self.some_new
