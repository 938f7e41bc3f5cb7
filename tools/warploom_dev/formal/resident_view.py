"""What a bench of KernelQueue sees, from its page: a host, a dispatcher, one followed launch."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Signal, Value

from warploom.launch.kernel_queue import KernelQueue
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Fate
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue import RecordKind
from warploom_spec.queue_packets import COUNT_BITS, QueueOpcode

#: Bits of a launch's number: `ResidentView` sends it as gx.
TAG_BITS: Final = 3
#: Free bits of a launch, if there are such fields: those that decide its order. Others are 0.
FREE: Final = {
    **dict.fromkeys(("stream", "idempotent", "error", "wait0_valid", "wait0_stream"), 0b1),
    "mode": 0b111,
    "wait0_count": 0b11,
}
#: Seeded bugs of a bench: what the block sees, or what is seen of it, is not so.
BUGS: Final = {
    "waits_unseen": "launches without waits",
    "one_stream": "rightly all; each launch is seen as one of stream 0",
    "phantom_command": "a command in every cycle",
    "phantom_abort": "an ABORT in every cycle",
    "second": "rightly all; the first launch has ticket 2",
    "early_taken": "each record taken when it was made",
}


class ResidentView:
    """The block between a host and a dispatcher that keep to the page's *Relies on*.

    The host sends launches when it may, and commands and ABORTs in any cycle. Launches come to
    ``checked`` in their order, with or without an error. The dispatcher begins a run in any cycle.
    A run that has begun ends as finished in any cycle, and one that was stopped as killed. No
    launch has a time limit, no SM is lost, no soft reset comes.

    Parameters
    ----------
    b : FormalBench
        Its ``fault`` may be one of `BUGS`.
    launches : int, optional
        How many launches the host sends at most: as many as a number has values, or fewer.

    Attributes
    ----------
    dut : KernelQueue
        The block.
    sends, comes, starts, ends : Value
        A launch goes to LaunchCheck; transfers at ``checked``; at ``start``; a run at ``ended``.
    given : View
        The launch at ``checked``.
    resident, waits : list of Signal
        For each stream: it has a resident launch; that one has mode `wait`.
    begun : Signal
        The dispatcher's levels.
    """

    def __init__(self, b: FormalBench, launches: int = (1 << TAG_BITS) - 1) -> None:
        self.b, self.launches = b, launches
        self.streams = range(1 << b.config.stream_bits)
        # Its ports are made from a dictionary: no type checker sees them.
        first = 2 if b.fault == "second" else 1
        self.dut: Any = KernelQueue(b.config, first_ticket=first)
        self._send()
        self._come()
        self._command()
        self._run()
        self._records()
        self._drive()

    def _send(self) -> None:
        """Send a launch with `pace`, `records_left` and `room`; at most so many in a run."""
        b, dut = self.b, self.dut
        self.sent_priority = b.free(b.config.priority_bits, "sent_priority")
        number = b.register(TAG_BITS, "sent_number")
        may = dut.pace & dut.records_left & dut.room.bit_select(self.sent_priority, 1)
        left = number != self.launches
        self.sends = b.value(b.free(1, "sent_valid") & may & left, "sends")
        b.m.d.sync += number.eq(number + self.sends)

    def _come(self) -> None:
        """Let launches come to `checked` in their order; a refused one stands."""
        b, m, dut = self.b, self.b.m, self.dut
        layout = dut.checked.payload.shape()
        fields = {name: mask for name, mask in FREE.items() if name in layout.members}
        fresh: Any = b.partly(layout, fields, "fresh", b.free, port="checked")
        # The priorities of those in LaunchCheck: at most as many as there are entries.
        depth = b.config.queue_depth << b.config.priority_bits
        inside = b.register(range(depth + 1), "inside")
        priorities = b.register(depth * b.config.priority_bits, "priorities")
        number = b.register(TAG_BITS, "come_number")
        stood, kept = b.register(1, "stood"), b.register(layout, "kept_launch")
        valid = b.value(stood | (b.free(1, "checked_valid") & (inside != 0)), "checked_valid")
        self.given: Any = Signal(layout, name="bench_given")
        width = b.config.priority_bits
        m.d.comb += [
            fresh.gx.eq(number + 1),
            fresh.priority.eq(priorities[:width]),
            Value.cast(self.given).eq(Mux(stood, Value.cast(kept), Value.cast(fresh))),
        ]
        self.checked_valid = valid
        self.comes = b.value(valid & dut.checked.ready, "comes")
        left = b.value(inside - self.comes, "inside_left", inside.shape())
        moved = Mux(self.comes, priorities >> width, priorities)
        m.d.sync += [
            inside.eq(left + self.sends),
            number.eq(number + self.comes),
            stood.eq(valid & ~self.comes),
            kept.eq(self.given),
            priorities.eq(moved),
        ]
        with m.If(self.sends):
            m.d.sync += priorities.eq(moved | (self.sent_priority << (left * width)))

    def _command(self) -> None:
        """Send commands, and ABORTs that stand until they are taken."""
        b, dut = self.b, self.dut
        self.commands = b.free(1, "command_valid")
        self.command: Any = b.partly(
            dut.command.payload.shape(), {"opcode": 0b11, "mask": 0b11}, "command", b.free
        )
        asked = self.commands & dut.command.ready
        named = asked & (self.command.opcode == int(QueueOpcode.PREEMPT))
        answer = dut.command_answer
        accepts = b.before(named, "preempt") & answer.valid & (answer.code == 0)
        #: A PREEMPT was accepted: its answer comes in this cycle.
        self.preempted = b.value(accepts, "preempted")
        ticket = b.free(2, "abort_ticket")
        stood, kept = b.register(1, "abort_stood"), b.register(2, "abort_kept")
        self.aborts = b.value(stood | b.free(1, "abort_valid"), "aborts")
        self.abort_ticket = b.value(Mux(stood, kept, ticket), "abort_ticket")
        b.m.d.sync += [stood.eq(self.aborts & ~dut.abort.ready), kept.eq(self.abort_ticket)]

    def _run(self) -> None:
        """Begin and end runs; at most one end stands."""
        b, m, dut = self.b, self.b.m, self.dut
        streams = self.streams
        self.resident = [b.register(1, f"resident_{s}") for s in streams]
        self.waits = [b.register(1, f"waits_{s}") for s in streams]
        self.begun = b.register(len(streams), "begun")
        stopped = [b.register(1, f"stopped_{s}") for s in streams]
        self.starts = b.value(dut.start.valid & b.free(1, "start__ready"), "starts")
        self.end_stands = stands = b.register(1, "end_stands")
        end: Any = Signal(dut.ended.payload.shape(), name="bench_end")
        self.end = end
        self.ends = b.value(stands & dut.ended.ready, "ends")
        which, killed = b.free(b.config.stream_bits, "end_stream"), b.free(1, "end_killed")
        begins = b.free(len(streams), "begins")
        fate = b.register(1, "end_killed_then")
        stream = b.register(b.config.stream_bits, "end_stream_then")
        m.d.comb += [
            end.stream.eq(stream),
            end.fate.eq(Mux(fate, int(Fate.KILLED), int(Fate.FINISHED))),
        ]
        may = Cat(
            (which == s)
            & self.resident[s]
            & Mux(killed, stopped[s], self.begun[s])
            & ~(stands & (stream == s))
            for s in streams
        ).any()
        comes = b.value(b.free(1, "end_comes") & ~stands & may, "end_comes")
        m.d.sync += stands.eq((stands & ~self.ends) | comes)
        with m.If(comes):
            m.d.sync += [stream.eq(which), fate.eq(killed)]
        self.entry = [b.register(dut.start.payload.entry.shape(), f"entry_{s}") for s in streams]
        for s in streams:
            enters = b.value(self.starts & (dut.start.payload.stream == s), f"enters_{s}")
            leaves = b.value(self.ends & (stream == s), f"leaves_{s}")
            # A run that stands at `ended` begins no more.
            begin = begins[s] & self.resident[s] & ~(stands & (stream == s)) & ~comes
            m.d.sync += [
                self.resident[s].eq((self.resident[s] & ~leaves) | enters),
                self.begun[s].eq((self.begun[s] | begin) & ~enters),
                stopped[s].eq(((stopped[s] | dut.stop[s]) & self.resident[s]) & ~enters),
            ]
            with m.If(enters):
                m.d.sync += [
                    self.waits[s].eq(dut.start.payload.wait_mode),
                    self.entry[s].eq(dut.start.payload.entry),
                ]

    def _records(self) -> None:
        """Follow the words of records, and let the host take whole ones."""
        b, m, record = self.b, self.b.m, self.dut.record
        is_launch = b.register(1, "record_of_launch")
        with m.If(record.valid & (record.word == 1)):
            m.d.sync += is_launch.eq(record.data[11:14] == int(RecordKind.LAUNCH))
        #: The first word of a record; the ticket of a launch's record.
        self.record_begins = b.value(record.valid & (record.word == 1), "record_begins")
        self.record_names = b.value(record.valid & (record.word == 0) & is_launch, "record_names")
        made = b.register(4, "records_made")
        whole = b.value(record.valid & record.last, "record_whole")
        #: Whole records that were not taken; one of them is taken.
        self.taken = b.value(b.free(1, "record_is_taken") & (made != 0), "taken")
        m.d.sync += made.eq(made + whole - self.taken)
        self.whole = whole

    def _drive(self) -> None:
        """Connect the block; with a seeded bug it sees something else than it is sent."""
        b, fault, given = self.b, self.b.fault, self.given
        seen: Any = Signal(given.shape(), name="bench_seen")
        b.m.d.comb += seen.eq(given)
        if fault == "waits_unseen":
            b.m.d.comb += seen.wait0_valid.eq(0)
        b.drive(
            self.dut,
            sent=Cat(self.sends, self.sent_priority),
            checked__payload=seen,
            checked__valid=self.checked_valid,
            command__payload=self.command,
            command__valid=1 if fault == "phantom_command" else self.commands,
            abort__payload=self.abort_ticket,
            abort__valid=1 if fault == "phantom_abort" else self.aborts,
            begun=self.begun,
            ended__payload=self.end,
            ended__valid=self.end_stands,
            record_taken=self.whole if fault == "early_taken" else self.taken,
            **dict.fromkeys(
                (
                    "clear_stream__payload",
                    "clear_stream__valid",
                    "launch_timeout",
                    "clock",
                    "no_sm",
                    "ended_first",
                    "ended_cycles",
                    "fetch",
                    "soft_reset_active",
                    "restart",
                ),
                0,
            ),
        )


class Followed:
    """The launch of one number, which may be any of the first three, from the ports alone.

    Of a host that sends one launch it is that one.

    Attributes
    ----------
    accepted, ended : Signal
        It was accepted; its record was made (state).
    mine_answered, mine_starts, mine_recorded : Value
        It is answered, it starts, its record says its ticket, in this cycle.
    running : Signal
        It is resident.
    stream, count : Signal
        Its stream, and its number in it.
    timelines : list of Signal
        Of each stream, as `timeline` told.
    """

    def __init__(self, view: ResidentView) -> None:
        self.view, b, m = view, view.b, view.b.m
        dut = view.dut
        self.tag = tag = b.constant(2, "tag") if view.launches > 1 else C(1, 2)
        answers = b.register(TAG_BITS, "answers")
        m.d.sync += answers.eq(answers + dut.answer.valid)
        self.mine_answered = b.value(dut.answer.valid & (answers + 1 == tag), "mine_answered")
        comes = b.value(view.comes & (view.given.gx == tag), "mine_comes")
        self.stream = b.register(b.config.stream_bits, "mine_stream")
        self.pair = {
            name: b.register(len(Value.cast(view.given[name])), f"mine_{name}")
            for name in ("wait0_valid", "wait0_stream", "wait0_count")
            if name in view.given.shape().members
        }
        with m.If(comes):
            seen = 0 if b.fault == "one_stream" else view.given.stream
            m.d.sync += self.stream.eq(seen)
            m.d.sync += [kept.eq(view.given[name]) for name, kept in self.pair.items()]
        self.accepted, self.ended = b.register(1, "accepted"), b.register(1, "has_ended")
        self.ticket = b.register(TICKET_BITS, "mine_ticket")
        self.count = b.register(len(dut.answer["count"]), "mine_count")
        with m.If(self.mine_answered):
            m.d.sync += [
                self.accepted.eq(dut.answer.code == 0),
                self.ticket.eq(dut.answer.ticket),
                self.count.eq(dut.answer["count"]),
            ]
        names = dut.record.data == self.ticket
        self.mine_recorded = b.value(view.record_names & self.accepted & names, "mine_recorded")
        start = dut.start.payload
        self.mine_starts = b.value(view.starts & (start.gx == tag), "mine_starts")
        self.running, self.runs = b.register(1, "mine_runs"), b.register(2, "mine_run_count")
        self.leaves = b.value(
            self.running & view.ends & (view.end.stream == self.stream), "mine_leaves"
        )
        m.d.sync += [
            self.ended.eq(self.ended | self.mine_recorded),
            self.running.eq((self.running & ~self.leaves) | self.mine_starts),
            self.runs.eq(self.runs + (self.mine_starts & ~self.runs.all())),
        ]
        self.timelines = [b.register(COUNT_BITS, f"timeline_{s}") for s in view.streams]
        for s in view.streams:
            with m.If(dut.timeline.valid & (dut.timeline.stream == s)):
                m.d.sync += self.timelines[s].eq(dut.timeline["count"])

    def timeline(self, stream: Value, name: str) -> Any:
        """Return a stream's timeline."""
        whole: Any = Mux(stream[0], self.timelines[-1], self.timelines[0])
        return self.view.b.value(whole, name)
