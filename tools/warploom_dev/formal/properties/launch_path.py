"""LaunchPath's answers, one each in time; what it hands to the dispatcher; its records."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, ErrorCode, capacities, timing
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue import QueueCode, RecordKind
from warploom_spec.queue_packets import QueueOpcode
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
    index_memory_warps=0,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=10,
    queue_depth=1,
    launch_waits=0,
)
SIZE: Final = (
    "1 SM with 1 slot and 2 warps, 2 streams, 2 entries, no indices; a soft reset does not end"
)
#: Free bits of a launch: legal ones of one block, and ones that are refused. Of what an SM has two
#: units of, a block may need three: where it has one, a field of one bit cannot hold too much.
FREE: Final = {
    "dx": 0b11001,
    "mode": 0b111,
    **dict.fromkeys(AMOUNT_FIELDS, 0b11),
    **dict.fromkeys(("gx", "gy", "gz", "dy", "dz"), 0b1),
    **dict.fromkeys(("stream", "priority", "after_previous", "idempotent"), 0b1),
}
#: What a block takes of an SM, and how much of it there is.
_CAPACITY: Final = {name: size for name, size in capacities(CONFIG).items() if name != "slots"}
#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 24
#: Likewise of `room`, of records, and of what is handed over, which take longest.
ROOM, RECORDED, HANDED = 20, 18, 16
#: Tickets that an abort may name, and that are followed: the first of them.
_TICKETS: Final = 0b11
#: Cycles from a launch to its answer.
ANSWER: Final = timing(CONFIG).launch_check + 1
#: Entries that an abort is compared with, one in each cycle.
_ENTRIES: Final = CONFIG.queue_depth << CONFIG.priority_bits
#: Cycles from an abort to its answer, at most; and in which the next one is refused, since an abort
#: that was answered may still have to take its launch back.
ABORT_ANSWERED: Final = _ENTRIES + 3
ABORT_REFUSED: Final = _ENTRIES + 6


class _Seeded(LaunchPath):
    """The block with a bug in what it hands to the dispatcher, or in its records.

    ``same_ticket``: each launch has ticket 1. ``no_grid``: gx is lost. ``too_large``: a block has
    as many warps as the field holds. ``one_ticket``: each record has ticket 1.
    """

    BUGS: Final = ("same_ticket", "no_grid", "too_large", "one_ticket")

    def __init__(self, config: Config, bug: str) -> None:
        super().__init__(config)
        self._bug = bug

    def elaborate(self, platform: object) -> Module:
        m: Module = super().elaborate(platform)
        # Its ports are made from a dictionary: no type checker sees them.
        seen: Any = self
        dispatcher = seen._dispatcher
        launch = dispatcher.launch.payload
        bugs = {
            "same_ticket": launch.ticket.eq(1),
            "no_grid": launch.gx.eq(0),
            "too_large": launch.warps.eq(-1),
            "one_ticket": seen.record.ticket.eq(1),
        }
        m.d.comb += bugs[self._bug]
        return m


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one ticket, which may be any of the first three.

    Its own seeded bugs: ``second`` gives the first launch ticket 2; ``phantom_launch`` is a block
    that sees a launch, ``phantom_command`` one that sees a PREEMPT, ``phantom_abort`` one that sees
    an abort, in every cycle; with ``room_unseen`` the source takes ``room`` as 1; with
    ``late_abort`` the block is right, and its answers to aborts are seen a cycle late; with
    ``short_reset`` it is right, and a soft reset may end in any cycle.
    """
    b = FormalBench("launch_path", CONFIG, SIZE, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = (
        _Seeded(CONFIG, fault)
        if fault in _Seeded.BUGS
        else LaunchPath(CONFIG, first_ticket=2 if fault == "second" else 1)
    )
    given = b.partly(dut.launch.payload.shape(), FREE, "given", b.free, port="launch")
    abort = b.partly(dut.abort.payload.shape(), {"ticket": _TICKETS}, "abort", b.free)
    sent, aborts = b.free(1, "launch__valid"), b.free(1, "abort__valid")
    given_command = b.free(Value.cast(dut.command).shape(), "command")
    preempt = Cat(C(1, 1), C(int(QueueOpcode.PREEMPT), 2), given_command[3:])
    # HostRegisters ends no soft reset but by a restart.
    begun, begins = b.register(1, "reset_begun"), b.free(1, "soft_reset_begins")
    b.m.d.sync += begun.eq(begun | begins)
    b.drive(
        dut,
        launch__payload=given,
        launch__valid=1 if fault == "phantom_launch" else sent,
        abort__payload=abort,
        abort__valid=1 if fault == "phantom_abort" else aborts,
        command=preempt if fault == "phantom_command" else given_command,
        launch_timeout=0,
        soft_reset_active=begins if fault == "short_reset" else begun | begins,
        restart=0,
    )
    _state_answers(b, dut, sent)
    _state_commands(b, dut, given_command[0])
    _state_aborts(b, dut, aborts)
    _state_room(b, dut, sent, given)
    _state_records(b, dut)
    _state_handed(b, dut)
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


def _state_commands(b: FormalBench, dut: Any, sent: Value) -> None:
    """State that a command for streams is answered in the next cycle."""
    answer = dut.command_answer
    b.check(
        "command_answer",
        "a command for streams is answered in the next cycle; there is no other answer",
        answer.valid == b.before(sent, "commanded"),
        fault="phantom_command",
        cover=(
            "a PREEMPT while another one is pending",
            answer.valid & (answer.code == int(QueueCode.PREEMPT_PENDING)),
        ),
    )


def _state_aborts(b: FormalBench, dut: Any, sent: Value) -> None:
    """State that one abort is served at a time, and is answered soon."""
    answer = dut.abort_answer
    late = b.fault == "late_abort"
    answered = b.value(b.before(answer.valid, "late") if late else answer.valid, "abort_answered")
    taken = b.value(sent & dut.abort.ready, "abort_taken")
    served = b.register(1, "abort_served")
    b.m.d.sync += served.eq((served & ~answered) | taken)
    b.check(
        "abort_answer",
        "an abort is answered after it was taken, and once; no other is taken before its answer",
        (~answered | served) & (~served | answered | ~dut.abort.ready),
        fault="phantom_abort",
        cover=("the next one is taken with the answer", answered & taken),
    )
    waits = in_a_row(b, served & ~answered, "abort_waits")
    b.check(
        "abort_in_time",
        f"an abort is answered {ABORT_ANSWERED} cycles after it was taken at the latest",
        waits < ABORT_ANSWERED,
        fault="late_abort",
        cover=("as late as that", answered & (waits == ABORT_ANSWERED - 1)),
        bound=BOUND,
    )
    refused = in_a_row(b, ~dut.abort.ready, "abort_refused")
    b.check(
        "abort_taken",
        f"`abort` is refused in {ABORT_REFUSED} cycles in a row at most",
        refused <= ABORT_REFUSED,
        fault="short_reset",
        cover=("in as many, and then taken", taken & (refused == ABORT_REFUSED)),
        bound=BOUND,
    )


def in_a_row(b: FormalBench, holds: Any, name: str) -> Any:
    """Return in how many cycles before this one, in a row, something held; it stays at 31."""
    count = b.register(5, f"{name}_in_a_row")
    b.m.d.sync += count.eq(Mux(holds, count + ~count.all(), 0))
    return count


def _state_room(b: FormalBench, dut: Any, sent: Value, given: Any) -> None:
    """State that ``room`` promises a place; the records are not all reserved within the bound."""
    room = b.value(dut.room.bit_select(given.priority, 1) | (b.fault == "room_unseen"), "room")
    polite = Signal(name="bench_polite", init=1)
    b.m.d.sync += polite.eq(polite & (~sent | room))
    full = Cat(
        dut.answer.code == int(code) for code in (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)
    ).any()
    b.check(
        "room",
        "no launch is refused because its priority's entries are taken, or no record is left, if"
        " each was sent in a cycle with its priority's bit of `room`",
        ~(dut.answer.valid & full & polite & b.past(sent, ANSWER, "sent_politely")),
        fault="room_unseen",
        cover=("there is room for one priority alone", polite & (dut.room == 1)),
        bound=ROOM,
        slow=True,
    )


def _state_records(b: FormalBench, dut: Any) -> None:
    """State that no ticket has two records."""
    m, record, answer = b.m, dut.record, dut.answer
    ticket = b.constant(_TICKETS.bit_length(), "ticket")
    accepted, ended = b.register(1, "accepted"), b.register(1, "has_ended")
    is_launch = record.valid & (record.kind == int(RecordKind.LAUNCH))
    mine = b.value(is_launch & (record.ticket == ticket), "mine")
    others = b.register(1, "others_ended")
    m.d.sync += [
        others.eq(others | (is_launch & ~mine)),
        accepted.eq(accepted | (answer.valid & (answer.ticket == ticket))),
        ended.eq(ended | mine),
    ]
    b.check(
        "one_record",
        "a ticket has its record after its answer, and one at most",
        ~mine | (accepted & ~ended & (ticket != 0)),
        fault="one_ticket",
        cover=("the second ticket's after another's", mine & (ticket == 2) & others),
        bound=RECORDED,
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
        "a grid that the dispatcher is given has no dimension of 0, and its start is inside it",
        ~port.valid | Cat(given[f"start_{a}"] < given[f"g{a}"] for a in "xyz").all(),
        fault="no_grid",
        bound=HANDED,
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
        bound=HANDED,
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
