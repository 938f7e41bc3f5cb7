"""What a bench of KernelQueue sees, from its page: a host, a dispatcher, followed tickets."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Signal, Value

from warploom.launch.kernel_queue import KernelQueue
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, Fate, Stop, timing
from warploom_spec.layouts import PLACES as PLACE_COUNT
from warploom_spec.queue import Mode, RecordKind
from warploom_spec.queue_packets import STOP_SKIP

PLACES: Final = range(PLACE_COUNT)
#: Tickets that are followed; a run may have more.
TICKETS: Final = (1, 2, 3)
#: Free bits of a launch: those that decide its order. All others are 0.
FREE: Final = {
    **dict.fromkeys(("stream", "priority", "after_previous", "idempotent"), 0b1),
    **dict.fromkeys(("wait0_valid", "wait0_stream"), 0b1),
    "mode": 0b111,
    "wait0_count": 0b11,
}
#: Seeded bugs of a bench: what the block sees, or what is seen of it, is not so.
BUGS: Final = {
    "waits_unseen": "launches without waits",
    "one_stream": "rightly all; each launch is seen as one of stream 0",
    "all_wait": "rightly all; each launch is seen with mode `wait`",
    "records_unseen": "rightly all; no record is seen",
    "early_taken": "each record taken when it was made",
}


def _block(config: Config) -> Any:
    """Return the block: its ports are made from a dictionary, no type checker sees them."""
    return KernelQueue(config)


def of_place(place: Value, of_each: list[Any]) -> Any:
    """Return the value of a place."""
    return Mux(place, of_each[1], of_each[0])


class QueueView:
    """The block between a host and a dispatcher that keep to the page's *Relies on*.

    The host sends launches, commands and aborts in any cycle. The dispatcher takes a launch if a
    place is free, begins it and ends it in any later cycle, as its stops allow. No launch has a
    time limit, no SM is lost, no soft reset comes.

    Parameters
    ----------
    b : FormalBench
        Its ``fault`` may be one of `BUGS`.
    launches : bool, optional
        Whether launches are sent.

    Attributes
    ----------
    dut : KernelQueue
        The block.
    sent : list of View
        The launch that was sent so many cycles ago, with ``valid``.
    handed : Value
        A launch transfers to the dispatcher.
    ends : list of Value
        For each place: its launch is at ``ended``.
    occupied, started : list of Value
        For each place: a launch has it, and is not at ``ended``; its launch has begun.
    place_ticket : list of Value
        Of each place's launch.
    outstanding, taken : Value
        Records that were made, and whose place is not free again; one of them is taken.
    """

    def __init__(self, b: FormalBench, *, launches: bool = True) -> None:
        self.b = b
        self.dut = _block(b.config)
        self._send(launches)
        self._places()
        free = b.free(1, "record_is_taken")
        made = b.register(4, "records_made")
        self.outstanding = made
        self.taken = taken = b.value(free & (made != 0), "taken")
        b.m.d.sync += made.eq(made + self.dut.record.valid - taken)
        if b.fault == "early_taken":
            taken = b.before(self.dut.record.valid, "record")
        self._drive(taken)

    def _send(self, launches: bool) -> None:
        """Let a launch be sent, and be at ``checked`` five cycles later, without an error."""
        b, layout = self.b, self.dut.checked.shape()
        fields = {name: mask for name, mask in FREE.items() if name in layout.members}
        given = b.partly(layout, fields, "given", b.free, port="checked")
        sent = b.value(b.free(1, "sent_valid") if launches else C(0, 1), "sent")
        delays = timing(b.config).launch_check
        self.sent = [(sent, given)]
        for k in range(delays + 1):
            valid = b.register(1, f"sent_{k + 1}")
            launch = b.register(layout, f"launch_{k + 1}")
            b.m.d.sync += [valid.eq(self.sent[-1][0]), launch.eq(self.sent[-1][1])]
            self.sent.append((valid, launch))
        self.at_checked, self.at_answer = self.sent[delays], self.sent[delays + 1]

    def _places(self) -> None:
        """Follow the dispatcher's two places: a launch takes the lowest that is free."""
        b, m, dut = self.b, self.b.m, self.dut
        kept = [b.register(1, f"occupied_{p}") for p in PLACES]
        self.started = [b.register(1, f"started_{p}") for p in PLACES]
        self.place_ticket = [b.register(32, f"ticket_{p}") for p in PLACES]
        self.killed, self.drained, self.taken_back = (
            [b.register(1, f"{name}_{p}") for p in PLACES] for name in ("killed", "drained", "back")
        )
        stops = [dut.stop.place0, dut.stop.place1]
        self.stops = stops
        # One begin in a cycle, of place 0 before place 1.
        asked = [b.free(1, f"begins_{p}") for p in PLACES]
        begins: list[Any] = []
        for p in PLACES:
            skips = b.register(3, f"skips_{p}")
            # A skip whose place has not started three cycles later takes its launch back.
            acts = b.value(self.taken_back[p] | (skips[2] & ~self.started[p]), f"acts_{p}")
            begin = asked[p] & kept[p] & ~acts & ~self.started[p]
            begin &= ~begins[0] if begins else C(1, 1)
            begins.append(b.value(begin, f"begin_{p}"))
            m.d.sync += [
                skips.eq(Cat(kept[p] & (stops[p] == STOP_SKIP), skips[:2])),
                self.taken_back[p].eq(acts),
                self.killed[p].eq(self.killed[p] | (stops[p] == int(Stop.KILL))),
                self.drained[p].eq(self.drained[p] | (stops[p] == int(Stop.DRAIN))),
                self.started[p].eq(self.started[p] | begins[p]),
            ]
            with m.If(~kept[p]):
                m.d.sync += skips.eq(0)
        self._end(kept)
        real = [kept[p] & ~self.ends[p] for p in PLACES]
        self.occupied = [b.value(kept[p] & ~self.ends[p], f"stays_{p}") for p in PLACES]
        ready = b.free(1, "launch_is_taken") & ~Cat(real).all()
        self.ready = b.value(ready, "ready")
        self.handed = b.value(dut.launch.valid & self.ready, "handed")
        enters = [b.value(self.handed & ~real[0], "enters_0")]
        enters.append(b.value(self.handed & real[0], "enters_1"))
        for p in PLACES:
            m.d.sync += kept[p].eq(real[p] | enters[p])
            with m.If(enters[p] | self.ends[p]):
                clears = (self.killed, self.drained, self.taken_back, self.started)
                m.d.sync += [of[p].eq(0) for of in clears]
            with m.If(enters[p]):
                m.d.sync += [
                    self.place_ticket[p].eq(dut.launch.payload.ticket),
                ]
        self.enters = enters

    def _end(self, kept: list[Any]) -> None:
        """Let one launch be at ``ended``: its fate is one that its stops allow."""
        b = self.b
        self.ended_place = b.free(1, "ended_place")
        self.fate = b.free(3, "ended_fate")
        legal = [b.value(self._may_end(p), f"may_end_{p}") for p in PLACES]
        ends = b.free(1, "ended_valid") & of_place(self.ended_place, legal)
        ends &= of_place(self.ended_place, kept)
        self.ends = [b.value(ends & (self.ended_place == p), f"ends_{p}") for p in PLACES]

    def _may_end(self, p: int) -> Value:
        """Return whether a place's launch may end with the fate."""
        back = self.taken_back[p]
        may = {
            Fate.FINISHED: self.started[p] & ~back,
            Fate.KILLED: self.killed[p] & ~back,
            Fate.DRAINED: self.drained[p] & ~back,
            Fate.SKIPPED: back,
        }
        return Cat((self.fate == int(fate)) & holds for fate, holds in may.items()).any()

    def _drive(self, taken: Any) -> None:
        b, dut = self.b, self.dut
        at_checked, launch = self.at_checked
        now, given = self.sent[0]
        sees = 0 if b.fault == "waits_unseen" else 1
        checked = self._filled(dut.checked.shape(), "checked_in", launch, at_checked, sees)
        sent = self._filled(dut.sent.shape(), "sent_in", given, now, sees)
        command = b.partly(dut.command.shape(), {"valid": 1, "opcode": 3, "mask": 3}, "cmd", b.free)
        b.drive(
            dut,
            sent=sent,
            checked=checked,
            command=command,
            abort__payload=b.partly(dut.abort.payload.shape(), {"ticket": 0b11}, "abort", b.free),
            **dict.fromkeys(("clear_stream", "launch_timeout", "clock", "no_sm", "yields"), 0),
            soft_reset_active=0,
            restart=0,
            launch__ready=self.ready,
            started=Cat(self.started),
            ended__valid=Cat(self.ends).any(),
            ended__payload=self._ended(),
            record_taken=taken,
        )

    def _filled(self, layout: Any, name: str, launch: Any, valid: Value, sees: int) -> Any:
        """Return a packet with the fields of a launch, and ``valid``; with ``sees`` 0 no wait."""
        made: Any = Signal(layout, name=f"bench_{name}")
        self.b.m.d.comb += made.valid.eq(valid)
        for field in FREE:
            if field in layout.members:
                shown = launch[field] if sees or field != "wait0_valid" else C(0, 1)
                self.b.m.d.comb += made[field].eq(shown)
        return made

    def _ended(self) -> Any:
        """Return the dispatcher's record."""
        made: Any = Signal(self.dut.ended.payload.shape(), name="bench_ended_in")
        self.b.m.d.comb += [
            made.place.eq(self.ended_place),
            made.fate.eq(self.fate),
            made.ticket.eq(of_place(self.ended_place, self.place_ticket)),
        ]
        return made


class Tickets:
    """Of each ticket that is followed, from the ports alone: its launch, and how far it is.

    Attributes
    ----------
    accepted, begun, recorded : list of Value
        State: it was given, it has begun once, it has its record.
    stream, number, after_previous, waits, awaited, count : list of Value
        Of its launch: stream, number in it, and its pair.
    records : list of Value
        Its record comes in this cycle.
    handed : list of Value
        It is handed to the dispatcher in this cycle.
    in_place, ending : list of Value
        It is in a place; it was at ``ended`` in this cycle or the two before, so that its record
        may still come.
    mode : list of Value
        Its mode.
    """

    def __init__(self, view: QueueView) -> None:
        b, m, dut = view.b, view.b.m, view.dut
        _, launch = view.at_answer

        def of_each(shape: Any, name: str) -> list[Any]:
            return [b.register(shape, f"{name}_{k}") for k in TICKETS]

        self.accepted, self.begun, self.recorded = (
            of_each(1, name) for name in ("accepted", "begun", "recorded")
        )
        self.stream, self.after_previous, self.waits, self.awaited = (
            of_each(1, name) for name in ("stream", "after_previous", "waits", "awaited")
        )
        self.number, self.count = of_each(2, "number"), of_each(2, "count")
        self.mode = of_each(3, "ticket_mode")
        record = dut.record
        self.records, self.handed, self.in_place, self.ending = [], [], [], []
        for n, k in enumerate(TICKETS):
            given = dut.answer.valid & (dut.answer.ticket == k)
            made = record.valid & (record.kind == int(RecordKind.LAUNCH)) & (record.ticket == k)
            self.records.append(b.value(made, f"records_{k}"))
            moves = view.handed & (dut.launch.payload.ticket == k)
            self.handed.append(b.value(moves, f"handed_{k}"))
            here = Cat(view.occupied[p] & (view.place_ticket[p] == k) for p in PLACES)
            self.in_place.append(b.value(here.any(), f"in_place_{k}"))
            ends = Cat(view.ends[p] & (view.place_ticket[p] == k) for p in PLACES).any()
            late = [ends, *(b.past(ends, age, f"ends_{k}_{age}") for age in (1, 2))]
            self.ending.append(b.value(Cat(late).any(), f"ending_{k}"))
            begins = Cat(view.started[p] & (view.place_ticket[p] == k) for p in PLACES).any()
            seen = self.records[n] & (b.fault != "records_unseen")
            m.d.sync += [
                self.accepted[n].eq(self.accepted[n] | given),
                self.begun[n].eq(self.begun[n] | begins),
                self.recorded[n].eq(self.recorded[n] | seen),
            ]
            with m.If(given):
                m.d.sync += [
                    self.stream[n].eq(launch.stream & (b.fault != "one_stream")),
                    self.number[n].eq(dut.answer.count),
                    self.after_previous[n].eq(launch.after_previous),
                    self.waits[n].eq(launch.wait0_valid),
                    self.mode[n].eq(int(Mode.WAIT) if b.fault == "all_wait" else launch.mode),
                    self.awaited[n].eq(launch.wait0_stream),
                    self.count[n].eq(launch.wait0_count),
                ]
