"""LaunchPath's tickets and records, at most one each; and what it hands to the dispatcher."""

from typing import Any, Final

from amaranth.hdl import Cat, Module, Signal, Value

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, ErrorCode, Fate, capacities, timing
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.resources import AMOUNT_FIELDS

CONFIG: Final = Config(
    sms=1,
    warp_size=8,
    block_slots=1,
    warp_slots=2,
    register_units=2,
    shared_units=2,
    barriers=2,
    max_threads=24,
    grid_bits=(1, 1, 1),
    history_entries=1,
    index_memory_warps=4,
    inline_args=0,
    word_bits=8,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=10,
)
#: Free bits of a launch: legal ones of one block, and ones that are refused. Of what an SM has two
#: units of, a block may need three: where it has one, a field of one bit cannot hold too much.
FREE: Final = {
    "dx": 0b11001,
    **dict.fromkeys(AMOUNT_FIELDS, 0b11),
    **dict.fromkeys(("gx", "gy", "gz", "dy", "dz"), 0b1),
    **dict.fromkeys(("stream", "priority", "after_previous"), 0b1),
}
#: What a block takes of an SM, and how much of it there is.
_CAPACITY: Final = {name: size for name, size in capacities(CONFIG).items() if name != "slots"}
#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 24
#: Likewise of records: the second launch's is in the cycle before the last but one.
RECORDED: Final = 28
#: Likewise of the tickets that are handed over: the second launch's cycle and two more.
HANDED: Final = 28
#: Tickets that a stop may name, and that are followed: the first of them.
_TICKETS: Final = 0b11
#: Cycles from a launch to its answer.
ANSWER: Final = timing(CONFIG).launch_check + 1


class _Seeded(LaunchPath):
    """The block with a bug in what it hands to the dispatcher.

    ``same_ticket``: each launch has ticket 1. ``no_grid``: gx is lost. ``too_large``: a block has
    as many warps as the field holds.
    """

    BUGS: Final = ("same_ticket", "no_grid", "too_large")

    def __init__(self, config: Config, bug: str) -> None:
        super().__init__(config)
        self._bug = bug

    def elaborate(self, platform: object) -> Module:
        m: Module = super().elaborate(platform)
        dispatcher: Any = m.submodules.dispatcher
        launch = dispatcher.launch.payload
        bugs = {
            "same_ticket": launch.ticket.eq(1),
            "no_grid": launch.gx.eq(0),
            "too_large": launch.warps.eq(-1),
        }
        m.d.comb += bugs[self._bug]
        return m


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one ticket, which may be any of the first three.

    Its own seeded bugs: ``second`` gives the first launch ticket 2; ``phantom_launch`` is a block
    that sees a launch, ``phantom_stop`` one that sees a stop, in every cycle; with ``room_unseen``
    the source takes ``room`` as 1.
    """
    b = FormalBench("launch_path", CONFIG, "1 SM with 1 slot and 2 warps, grids of 1 block", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = (
        _Seeded(CONFIG, fault)
        if fault in _Seeded.BUGS
        else LaunchPath(CONFIG, first_ticket=2 if fault == "second" else 1)
    )
    given = b.partly(dut.launch.payload.shape(), FREE, "given", b.free, port="launch")
    stop = b.partly(dut.stop.payload.shape(), {"ticket": _TICKETS, "drain": 1}, "stop", b.free)
    sent, stops = b.free(1, "launch__valid"), b.free(1, "stop__valid")
    b.drive(
        dut,
        launch__payload=given,
        launch__valid=1 if fault == "phantom_launch" else sent,
        stop__payload=stop,
        stop__valid=1 if fault == "phantom_stop" else stops,
    )
    recorded = b.first(dut.ended, "ended")
    _state_answers(b, dut, sent)
    _state_room(b, dut, sent)
    _state_records(b, dut, recorded, stops & dut.stop.ready, stop)
    _state_handed(b, dut)
    b.check_held(dut.ended, "ended", bound=BOUND, slow=True)
    return b.close()


def _state_answers(b: FormalBench, dut: Any, sent: Value) -> None:
    """State that each launch has its answer in time, and what tickets are given."""
    m, answer = b.m, dut.answer
    b.check(
        "one_answer",
        f"a launch is taken at once and answered {ANSWER} cycles later; there is no other answer",
        dut.launch.ready & (answer.valid == b.past(sent, ANSWER, "sent")),
        fault="phantom_launch",
        cover=("a launch is refused", answer.valid & answer.code.any()),
    )
    ticket = Signal(TICKET_BITS, name="bench_next_ticket", init=1)
    given = b.value(answer.valid & answer.ticket.any(), "given_ticket")
    refused = b.register(1, "one_refused")
    m.d.sync += refused.eq(refused | (answer.valid & ~given))
    with m.If(given):
        m.d.sync += ticket.eq(ticket + 1 + ticket.all())
    b.check(
        "tickets",
        "tickets are given in a row from 1 on, and none to a launch that is refused",
        ~answer.valid
        | ((answer.ticket == 0) == (answer.code != 0))
        & ((answer.ticket == 0) | (answer.ticket == ticket)),
        fault="second",
        cover=("the second ticket after a refusal", given & (ticket == 2) & refused),
        slow=True,
    )


def _state_room(b: FormalBench, dut: Any, sent: Value) -> None:
    """State that ``room`` promises a place; the records are not all reserved within the bound."""
    room = b.value(dut.room | (b.fault == "room_unseen"), "room")
    polite = Signal(name="bench_polite", init=1)
    b.m.d.sync += polite.eq(polite & (~sent | room))
    full = Cat(
        dut.answer.code == int(code) for code in (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)
    ).any()
    b.check(
        "room",
        "no launch is refused because the waiting queue is full if each was sent in a cycle with"
        " `room`",
        ~(dut.answer.valid & full & polite & b.past(sent, ANSWER, "sent_politely")),
        fault="room_unseen",
        cover=("there is no room", polite & ~dut.room),
        bound=BOUND,
        slow=True,
    )


def _state_records(b: FormalBench, dut: Any, recorded: Value, stops: Value, stop: Any) -> None:
    """State that no ticket has two records, and what they say."""
    m, record, answer = b.m, dut.ended.payload, dut.answer
    ticket = b.constant(_TICKETS.bit_length(), "ticket")
    accepted, ended = b.register(1, "accepted"), b.register(1, "has_ended")
    stopped = b.register(1, "stopped")
    mine = b.value(recorded & (record.ticket == ticket), "mine")
    finished = b.register(1, "one_finished")
    m.d.sync += [
        finished.eq(finished | (recorded & (record.fate == int(Fate.FINISHED)))),
        accepted.eq(accepted | (answer.valid & (answer.ticket == ticket))),
        ended.eq(ended | mine),
        stopped.eq(stopped | (stops & (stop.ticket == ticket))),
    ]
    b.check(
        "one_record",
        "a ticket has its record after its answer, and one at most",
        ~mine | (accepted & ~ended),
        fault="same_ticket",
        cover=("the second ticket's after one that finished", mine & (ticket == 2) & finished),
        bound=RECORDED,
        slow=True,
    )
    b.check(
        "skipped",
        "a launch is skipped or killed only if it was stopped",
        ~mine | stopped | ((record.fate != int(Fate.SKIPPED)) & (record.fate != int(Fate.KILLED))),
        fault="phantom_stop",
        cover=("a launch is skipped", mine & (record.fate == int(Fate.SKIPPED))),
        bound=BOUND,
        slow=True,
    )


def _state_handed(b: FormalBench, dut: Any) -> None:
    """State what the dispatcher takes as given of its launches, at its port inside the block."""
    # No port of the block shows what is handed over.
    port = dut._dispatcher.launch
    given = port.payload
    moves = b.value(port.valid & port.ready, "handed")
    b.check(
        "handed_grid",
        "a grid that the dispatcher is given has no dimension of 0, and starts at 0",
        ~port.valid | Cat([given[f"g{a}"] != 0, given[f"start_{a}"] == 0] for a in "xyz").all(),
        fault="no_grid",
        bound=BOUND,
        cover=("it is given one", moves),
        slow=True,
    )
    fits = Cat(given[name] <= most for name, most in _CAPACITY.items()).all()
    full = Cat(given[name] == most for name, most in _CAPACITY.items()).all()
    b.check(
        "handed_fits",
        "a block that the dispatcher is given has a warp or more and fits an SM that is empty",
        ~port.valid | (fits & (given.warps != 0)),
        fault="too_large",
        bound=BOUND,
        cover=("one that takes all of it", moves & full),
        slow=True,
    )
    _state_handed_tickets(b, port, dut._dispatcher.ended, moves)


def _state_handed_tickets(b: FormalBench, port: Any, ended: Any, moves: Value) -> None:
    """State that what is handed over is no resident launch, by the dispatcher's two places.

    A launch takes the lowest free one; its record shows in the first cycle in which it is free. The
    record never stands refused.
    """
    m = b.m
    kept = [b.register(1, f"occupied_{p}") for p in range(2)]
    tickets = [b.register(TICKET_BITS, f"resident_{p}") for p in range(2)]
    occupied = [
        b.value(kept[p] & ~(ended.valid & (ended.payload.ticket == tickets[p])), f"stays_{p}")
        for p in range(2)
    ]
    for p, enters in enumerate((moves & ~occupied[0], moves & occupied[0])):
        m.d.sync += kept[p].eq(occupied[p] | enters)
        with m.If(enters):
            m.d.sync += tickets[p].eq(port.payload.ticket)
    same = Cat(occupied[p] & (tickets[p] == port.payload.ticket) for p in range(2)).any()
    b.check(
        "handed_tickets",
        "a launch that the dispatcher is given has no ticket of one that is resident",
        ~(port.valid & same),
        fault="same_ticket",
        cover=("it is given a launch beside another", moves & Cat(occupied).any()),
        bound=HANDED,
        slow=True,
    )
