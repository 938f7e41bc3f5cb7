"""LaunchPath's tickets and records: each launch one answer, each ticket one record, and why."""

from typing import Any, Final

from amaranth.hdl import Signal, Value

from warploom.launch_path import LaunchPath
from warploom_sim.formal.bench import Bench
from warploom_spec import Config, Fate, timing
from warploom_spec.layouts import TICKET_BITS

CONFIG: Final = Config(
    sms=1,
    warp_size=8,
    block_slots=1,
    warp_slots=1,
    register_units=1,
    shared_units=1,
    barriers=1,
    max_threads=8,
    grid_bits=(1, 1, 1),
    history_entries=1,
    index_memory_warps=2,
    inline_args=0,
    word_bits=8,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=4,
)
#: Free bits of a launch: legal ones of one block, and ones that are refused.
FREE: Final = {
    **dict.fromkeys(("gx", "gy", "gz", "dx", "dy", "dz", "warp_registers"), 0b1),
    **dict.fromkeys(("stream", "priority", "after_previous"), 0b1),
}
#: Tickets that a stop may name, and that are followed: the first of them.
_TICKETS: Final = 0b11
#: Launches that have no answer yet, at most: LaunchCheck's, and the answer that is on its way.
_UNANSWERED: Final = timing(CONFIG).launch_check + 1


def bench(fault: str | None = None) -> Bench:
    """Return the bench; it follows one ticket, which may be any of the first three."""
    b = Bench("launch_path", CONFIG, "1 SM with 1 slot, grids of 1 block", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = LaunchPath(CONFIG, fault=fault if fault in LaunchPath.FAULTS else None)
    given = b.partly(dut.launch.payload.shape(), FREE, "given", b.free, port="launch")
    stop = b.partly(dut.stop.payload.shape(), {"ticket": _TICKETS, "drain": 1}, "stop", b.free)
    stops = b.free(1, "stop__valid")
    b.drive(
        dut,
        launch__payload=given,
        stop__payload=stop,
        stop__valid=1 if fault == "phantom_stop" else stops,
    )
    answered = b.first(dut.answer, "answer")
    recorded = b.first(dut.ended, "ended")
    _state_answers(b, dut, answered)
    _state_records(b, dut, answered, recorded, stops & dut.stop.ready, stop)
    b.check_held(dut.answer, "answer", slow=True)
    b.check_held(dut.ended, "ended", bound=24, slow=True)
    return b.close()


def _state_answers(b: Bench, dut: Any, answered: Value) -> None:
    """State that each launch has one answer, and what tickets are given."""
    m, answer = b.m, dut.answer.payload
    came = b.value(dut.launch.valid & dut.launch.ready, "came")
    unanswered = b.register(range(_UNANSWERED + 3), "unanswered")
    m.d.sync += unanswered.eq(unanswered + came - answered)
    b.check(
        "one_answer",
        f"each launch has one answer, and {_UNANSWERED} wait for theirs at most",
        (unanswered <= _UNANSWERED) & ~(answered & (unanswered == 0)),
        fault="deaf_answer",
        cover=(f"{_UNANSWERED} wait", unanswered == _UNANSWERED),
    )
    ticket = Signal(TICKET_BITS, name="bench_next_ticket", init=1)
    given = b.value(answered & answer.ticket.any(), "given_ticket")
    refused = b.register(1, "one_refused")
    m.d.sync += refused.eq(refused | (answered & ~given))
    with m.If(given):
        m.d.sync += ticket.eq(ticket + 1 + ticket.all())
    b.check(
        "tickets",
        "tickets are given in a row from 1 on, and none to a launch that is refused",
        ~answered
        | ((answer.ticket == 0) == (answer.code != 0))
        & ((answer.ticket == 0) | (answer.ticket == ticket)),
        fault="deaf_answer",
        cover=("the second ticket after a refusal", given & (ticket == 2) & refused),
        bound=24,
        slow=True,
    )


def _state_records(
    b: Bench, dut: Any, answered: Value, recorded: Value, stops: Value, stop: Any
) -> None:
    """State that each ticket has one record, and what it says."""
    m, record = b.m, dut.ended.payload
    ticket = b.constant(_TICKETS.bit_length(), "ticket")
    accepted, ended = b.register(1, "accepted"), b.register(1, "has_ended")
    stopped = b.register(1, "stopped")
    mine = b.value(recorded & (record.ticket == ticket), "mine")
    finished = b.register(1, "one_finished")
    m.d.sync += [
        finished.eq(finished | (recorded & (record.fate == int(Fate.FINISHED)))),
        accepted.eq(accepted | (answered & (dut.answer.payload.ticket == ticket))),
        ended.eq(ended | mine),
        stopped.eq(stopped | (stops & (stop.ticket == ticket))),
    ]
    b.check(
        "one_record",
        "a ticket has its record after its answer, and only one",
        ~mine | (accepted & ~ended),
        fault="ends_twice",
        cover=("the second ticket's after one that finished", mine & (ticket == 2) & finished),
        bound=24,
        slow=True,
    )
    b.check(
        "skipped",
        "a launch is skipped or killed only if it was stopped",
        ~mine | stopped | ((record.fate != int(Fate.SKIPPED)) & (record.fate != int(Fate.KILLED))),
        fault="phantom_stop",
        cover=("a launch is skipped", mine & (record.fate == int(Fate.SKIPPED))),
        bound=24,
        slow=True,
    )
