"""KernelQueue keeps order, waits and one resident a stream; it starts no launch twice."""

from typing import Final

from amaranth.hdl import Cat, Value

from warploom.launch.free_entries import FreeEntries
from warploom.launch.preemption import Preemption
from warploom.launch.queue_events import QueueEvents
from warploom.launch.queue_states import QueueStates
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.resident_view import TAG_BITS, Followed, ResidentView
from warploom_dev.planted import Change
from warploom_spec import Config, timing
from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue import QueueCode
from warploom_spec.queue_packets import WAIT_BITS

CONFIG: Final = Config(
    sms=1,
    warp_size=8,
    block_slots=2,
    warp_slots=2,
    register_units=2,
    shared_units=2,
    barriers=2,
    max_threads=16,
    grid_bits=(TAG_BITS, 1, 1),
    index_memory_warps=0,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=12,
    queue_depth=2,
    launch_waits=1,
    loop_templates=0,
)
SIZE: Final = "2 streams, 2 priorities, 2 entries each, 1 pair; at most 7 launches; no indices"
#: Cycles from a transfer at `ended` to the stream's next start, at least.
APART: Final = 8
#: Cycles from a transfer at `ended` to `killed`, and to the first word of the record.
TOLD: Final = 4
RECORDED: Final = timing(CONFIG).queue_record
#: Cycles that are searched: two starts of a stream, with what is before them.
BOUND: Final = 33
#: Likewise of what comes with a launch's first start, or with its stream's second one.
STARTED: Final = 30
#: Seeded bugs in the block's source. ``still_ready``: a head that is prepared stays ready.
#: ``newest_first``: each accepted launch is its stream's head. ``twice``: a finished run starts
#: again, too. ``untold``: of a killed run nothing is told, and it does not start again.
#: ``forgotten``: a killed launch is not ready again. ``one_entry``: a priority's
#: launches have one entry. ``wait_yields``: a launch of mode `wait` makes way.
PLANTED: Final = {
    bug: Change(owner, method, old, new)
    for bug, owner, method, old, new in (
        ("still_ready", QueueStates, "elaborate", " & ~self.enters)", ")"),
        (
            "newest_first",
            QueueEvents,
            "_lists",
            "enters.eq(ports.accepts & ~ports.state.filled)",
            "enters.eq(ports.accepts)",
        ),
        (
            "twice",
            QueueEvents,
            "_end",
            "ports.again.eq(ports.last[END] & ~final)",
            "ports.again.eq(ports.last[END])",
        ),
        (
            "forgotten",
            QueueEvents,
            "_lists",
            "ports.sets_ready.eq(ports.sets_live | ports.again)",
            "ports.sets_ready.eq(ports.sets_live)",
        ),
        (
            "untold",
            QueueEvents,
            "_end",
            "ports.again.eq(ports.last[END] & ~final)",
            "ports.again.eq(0)",
        ),
        ("one_entry", FreeEntries, "elaborate", "taken + step", "taken"),
        ("wait_yields", Preemption, "elaborate", "(self.mode != Mode.WAIT) & ", ""),
    )
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; seeded bugs stand in `PLANTED` and in `resident_view.BUGS`."""
    b = FormalBench("kernel_queue", CONFIG, SIZE, fault, PLANTED)
    view = ResidentView(b)
    mine = Followed(view)
    _state_residents(view)
    _state_order(view, mine)
    _state_life(view, mine)
    _state_holds(view)
    _state_answers(view)
    return b.close()


def _state_residents(view: ResidentView) -> None:
    """State that a stream has one resident launch, and a resident launch its own entry."""
    b, start = view.b, view.dut.start
    apart = []
    again = []
    for s in view.streams:
        its = start.valid & (start.payload.stream == s)
        leaves = b.value(view.ends & (view.end.stream == s), f"left_{s}")
        recent = b.value(
            Cat(b.past(leaves, k, f"left_{s}_{k}") for k in range(APART)).any(), f"r{s}"
        )
        left = b.register(1, f"has_left_{s}")
        b.m.d.sync += left.eq(left | leaves)
        apart.append(b.value(~(view.starts & its) | ~(view.resident[s] | recent), f"apart_{s}"))
        again.append(view.starts & its & left)
    b.check(
        "one_resident",
        "a launch starts only in a stream without a resident one,"
        f" {APART} cycles after that one's transfer at `ended` or later",
        Cat(apart).all(),
        fault="still_ready",
        cover=("a second run in a stream", Cat(again).any()),
        bound=BOUND,
        slow=True,
    )
    same = Cat(
        (start.payload.stream != s) & view.resident[s] & (start.payload.entry == view.entry[s])
        for s in view.streams
    ).any()
    other = Cat((start.payload.stream != s) & view.resident[s] for s in view.streams).any()
    b.check(
        "own_entry",
        "a launch that starts has not the entry of a resident one",
        ~(view.starts & same),
        fault="one_entry",
        cover=("it starts beside another", view.starts & other),
        bound=STARTED,
        slow=True,
    )


def _state_order(view: ResidentView, mine: Followed) -> None:
    """State when the followed launch may start: by its stream, and by its pair."""
    b = view.b
    timeline = mine.timeline(mine.stream, "my_timeline")
    before = b.value(timeline[:WAIT_BITS] + 1, "before_me", WAIT_BITS)
    b.check(
        "order",
        "a launch starts when all before it in its stream have ended, and no later",
        ~mine.mine_starts | (before == mine.count),
        fault="newest_first",
        cover=("the second of its stream", mine.mine_starts & (mine.count == 2)),
        bound=STARTED,
        slow=True,
    )
    pair = mine.pair
    awaited = mine.timeline(pair["wait0_stream"], "awaited")
    behind = b.value(awaited[:WAIT_BITS] - pair["wait0_count"], "behind", WAIT_BITS)
    b.check(
        "waits",
        "a launch starts only when the timeline of its pair's stream has come to the pair's count",
        ~mine.mine_starts | ~pair["wait0_valid"] | ~behind[-1],
        fault="waits_unseen",
        cover=(
            "it has waited for a launch of the other stream",
            mine.mine_starts
            & pair["wait0_valid"]
            & (pair["wait0_count"] == 1)
            & (pair["wait0_stream"] != mine.stream),
        ),
        bound=BOUND,
        slow=True,
    )


def _state_life(view: ResidentView, mine: Followed) -> None:
    """State that the followed launch does not run twice at once, and what is told of each run."""
    b, dut = view.b, view.dut
    b.check(
        "started_once",
        "a launch starts only after it was accepted, while it does not run, and before its record",
        ~mine.mine_starts | (mine.accepted & ~mine.running & ~mine.ended),
        fault="twice",
        cover=("it starts again after a kill", mine.mine_starts & (mine.runs == 1)),
        bound=BOUND,
        slow=True,
    )
    left = b.value(view.ends, "left")
    stream = b.past(view.end.stream, TOLD, "left_stream")
    killed = b.value(dut.killed.valid & (dut.killed.stream == stream), "told_killed")
    again = b.value(b.past(left, TOLD, "told") & killed, "goes_on")
    record = b.past(left, RECORDED, "recorded") & ~b.past(again, RECORDED - TOLD, "went_on")
    others = b.value(b.past(left, TOLD, "told_once") | ~dut.killed.valid, "no_other_kill")
    b.check(
        "told",
        f"a run that was taken at `ended` is told by `killed` {TOLD} cycles later, or has the first"
        f" word of its record {RECORDED} cycles later; `killed` tells of nothing else",
        (~record | view.record_begins) & others,
        fault="untold",
        cover=("a killed run", again),
        bound=BOUND,
        slow=True,
    )


def _state_holds(view: ResidentView) -> None:
    """State that a begun launch of mode `wait` is not held."""
    b, dut = view.b, view.dut
    held, beside = [], []
    for s in view.streams:
        begun = b.value(view.resident[s] & view.waits[s] & view.begun[s], f"begun_wait_{s}")
        held.append(b.before(begun, f"begun_wait_{s}") & dut.hold[s])
        # The one that starts beside it has the higher priority, or was preempted by command.
        beside.append(begun & view.starts & dut.start.payload.priority & dut.hold.any())
    b.check(
        "wait_held",
        "a launch of mode `wait` that has begun is not held, by priority or by command",
        ~Cat(held).any(),
        fault="wait_yields",
        cover=("a higher one starts beside it, and another one is held", Cat(beside).any()),
        bound=STARTED,
        slow=True,
    )


def _state_answers(view: ResidentView) -> None:
    """State what answers there are."""
    b, dut = view.b, view.dut
    code = dut.command_answer.code
    pending = dut.command_answer.valid & (code == int(QueueCode.PREEMPT_PENDING))
    taken = view.commands & dut.command.ready
    state_answered(
        b,
        "command",
        taken,
        dut.command.ready,
        dut.command_answer.valid,
        ("a PREEMPT while another one is pending", pending),
    )
    state_answered(
        b,
        "abort",
        view.aborts & dut.abort.ready,
        dut.abort.ready,
        dut.abort_answer.valid,
        ("of a launch that is there", dut.abort_answer.valid & (dut.abort_answer.code == 0)),
    )
    answer, ticket = dut.answer, b.register(TICKET_BITS, "tickets_given")
    given = b.value(answer.valid & answer.ticket.any(), "given")
    refused = b.register(1, "one_refused")
    b.m.d.sync += [
        ticket.eq(ticket + given),
        refused.eq(refused | (answer.valid & ~given)),
    ]
    b.check(
        "tickets",
        "tickets are given in a row from 1 on, and none to a launch that is refused",
        ~answer.valid
        | (((answer.ticket == 0) == (answer.code != 0)) & (~given | (answer.ticket == ticket + 1))),
        fault="second",
        cover=("the second ticket after a refusal", given & (ticket == 1) & refused),
        bound=STARTED,
        slow=True,
    )


def state_answered(
    b: FormalBench,
    name: str,
    taken: Value,
    ready: Value,
    answered: Value,
    cover: tuple[str, Value],
) -> None:
    """State that a command is answered after it was taken, and once, before the next is taken."""
    served = b.register(1, f"{name}_served")
    b.m.d.sync += served.eq((served & ~answered) | taken)
    article = "an" if name == "abort" else "a"
    b.check(
        f"{name}_answer",
        f"{article} {name} is answered after it was taken, and once; no other is taken before its"
        " answer",
        (~answered | served) & ~(served & ~answered & ready),
        fault=f"phantom_{name}",
        cover=cover,
        bound=STARTED,
        slow=True,
    )
