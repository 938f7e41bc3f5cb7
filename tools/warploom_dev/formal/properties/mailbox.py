"""Mailbox serves what was written, completes at one edge, and leaves a free section alone."""

from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warploom.host import Mailbox
from warploom.lib.bits import before
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.mailbox_view import (
    CONFIG,
    DATA_BITS,
    Doorbells,
    OneSection,
    Outcome,
    held_packet,
    offset_of,
    section_of,
    word_offset,
)
from warploom_spec import timing
from warploom_spec.host_map import RESULT_WORDS

#: Free bits of what comes in.
FREE: Final[dict[str, dict[str, int]]] = {
    "write": {"valid": 1, "address": -1, "data": DATA_BITS, "strobes": -1},
    "done__0": {"status": 0b11, "assigned": 0b11, "valid": 1, "task": 1},
    "error__0": {"code": 0b11, "core": 1, "argument": 1},
    "result__0": {"valid": 1, "word": RESULT_WORDS - 1, "data": 0b11},
    "launch_answer": {"valid": 1, "ticket": 0b11, "code": 0b11, "argument": 1, "count": 0b11},
    "abort_answer": {"valid": 1, "code": 0b11},
    "command_answer": {"valid": 1, "code": 0b11},
}
_SECTION: Final = 1 << 7
#: Cycles that are searched of what is not proved for all time.
BOUND: Final = 16


class _Stale(Mailbox):
    """The block with a bug: it serves the task register as it was read a cycle before."""

    def _judge(self, m: Module, serving: Signal, section: Signal, *task: Any) -> Any:
        read, judged = task
        return super()._judge(m, serving, section, read, before(m, "stale", judged))


class _Crossed(Mailbox):
    """The block with a bug: an answer of the launch path goes to the section beside."""

    def _launch_side(self, *arguments: Any) -> Any:
        side: Any = super()._launch_side(*arguments)
        names = ("launched", "aborted", "commanded", "turned_away")
        crossed = {name: Cat(reversed(list(getattr(side, name)))) for name in names}
        return SimpleNamespace(awaits=side.awaits, full_code=side.full_code, **crossed)


class _Early(Mailbox):
    """The block with a bug: result words show while their task runs."""

    def _keep_outcomes(self, m: Module, doorbell: Signal, *rest: Any) -> Any:
        return super()._keep_outcomes(m, Signal.like(doorbell, name="no_doorbell"), *rest)


#: Blocks with a bug, by its name.
_SEEDED: Final = {"stale": _Stale, "crossed": _Crossed, "early": _Early}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one section, which may be any one.

    Its own seeded bugs: ``stale``, ``crossed`` and ``early``, see there. ``phantom_done`` is a
    block that sees its unit's task end in every cycle, ``missing_unseen`` one that sees no core
    missing, ``phantom_write`` one that sees a write in every cycle. With ``crossed_read`` the block
    is right, and a read is seen as one of the section beside; with ``more_parts`` a task is seen
    with a part more.
    """
    b = FormalBench("mailbox", CONFIG, "2 sections, 1 unit of 2 cores", fault)
    dut: Any = _SEEDED.get(fault or "", Mailbox)(CONFIG)
    given = free_inputs(b, dut)
    read: Any = b.partly(dut.read.shape(), {"valid": 1, "address": (1 << 14) - 1}, "read", b.free)
    b.drive(dut, **given | _seen(b, given, read))
    bells = Doorbells(b, dut, given["write"])
    one = OneSection(b, bells)
    runs = assume_neighbours(b, dut, bells)
    _state_tasks(b, dut, bells, runs)
    _state_landed(b, dut, bells, one)
    _state_reads(b, dut, bells, one, read)
    return b.close()


def free_inputs(b: FormalBench, dut: Any) -> dict[str, Any]:
    """Return the packets of `FREE`, by their ports."""
    given: dict[str, Any] = {}
    for name, masks in FREE.items():
        port = getattr(dut, name.removesuffix("__0"))
        layout = (port[0] if name.endswith("__0") else port).shape()
        widths = {field: layout[field].width for field in layout.members}
        masked = {field: mask & ~(-1 << widths[field]) for field, mask in masks.items()}
        given[name] = b.partly(layout, masked, name, b.free)
    return given


def _seen(b: FormalBench, given: dict[str, Any], read: Any) -> dict[str, Any]:
    """Return what the block sees otherwise than it is."""
    seen: dict[str, Any] = {"read": read}
    if b.fault == "crossed_read":
        crossed = Value.cast(read.address) ^ _SECTION
        seen["read"] = Cat(read.valid, crossed)
    if b.fault == "phantom_done":
        seen["done__0"] = Cat(1, Value.cast(given["done__0"])[1:])
    if b.fault == "missing_unseen":
        b.free(CONFIG.units, "missing")
        seen["missing"] = 0
    if b.fault == "phantom_write":
        seen["write"] = Cat(1, Value.cast(given["write"])[1:])
    return seen


def assume_neighbours(b: FormalBench, dut: Any, bells: Doorbells) -> Any:
    """State what the units, the registers and the launch path do; return whether a task runs."""
    given = {name: b.inputs[f"{name}__0__valid"] for name in ("done", "result")}
    runs = b.register(1, "runs")
    b.m.d.sync += runs.eq(dut.run[0].valid | (runs & ~given["done"]))
    closed = bells.closed
    was_closed = b.before(closed, "was_closed")
    b.assume(
        "one_done",
        "a unit's task ends once, and nothing ends without a task",
        ~given["done"] | runs,
        source="execution_unit.one_done",
    )
    b.assume(
        "word_in_task",
        "a result word comes only between a task's beginning and its end",
        ~given["result"] | runs,
        source="execution_unit.word_in_task",
    )
    b.assume(
        "reset_ends",
        "a unit that is reset ends its task in the next cycle",
        ~(b.before(dut.unit_reset[0], "unit_reset") & runs) | given["done"],
        source="execution_unit.reset_ends",
    )
    b.assume(
        "close_resets",
        "the units are reset in the first cycle in which the mailbox is closed",
        ~closed | was_closed | dut.unit_reset[0],
        source="host_registers.resets_units",
    )
    b.assume(
        "close_lasts",
        "the mailbox is closed for two cycles at least",
        closed | ~was_closed | b.before(was_closed, "long_closed"),
        source="host_registers.lasts",
    )
    b.assume(
        "launch_answers",
        "a launch is answered after it was sent, and once",
        ~dut.launch_answer.valid | (bells.unanswered[0] != 0),
        source="launch_path.one_answer",
    )
    b.assume(
        "abort_answers",
        "an abort is answered after it was taken, and once",
        ~dut.abort_answer.valid | (bells.unanswered[1] != 0),
        source="kernel_queue.abort_answer",
    )
    b.assume(
        "command_answers",
        "a command for streams is answered after it was taken, and once",
        ~dut.command_answer.valid | (bells.unanswered[2] != 0),
        source="kernel_queue.command_answer",
    )
    return runs


def _state_tasks(b: FormalBench, dut: Any, bells: Doorbells, runs: Value) -> None:
    """State what is served, and what ExecutionUnit relies on."""
    run = dut.run[0]
    b.check(
        "served",
        "a task goes to the unit two cycles after its section's doorbell; the oldest launch goes"
        " when its task is read, the pace lets it go, and there is room; a command for streams"
        " stands only if one was rung and not taken",
        (~run.valid | b.before(bells.judge[0], "judged_then"))
        & (dut.launch.valid == bells.sent)
        & (~dut.command.valid | (bells.pending != 0)),
        fault="phantom_write",
        cover=("a launch right behind a task", b.before(run.valid, "ran_then") & dut.launch.valid),
    )
    b.check(
        "run_idle",
        "a task goes to a unit only when the unit's last one ended two cycles before, or earlier",
        ~(run.valid & (runs | b.before(dut.done[0].valid, "ended"))),
        fault="phantom_done",
        cover=("a second task", run.valid & b.before(_once(b, run.valid, "ran"), "ran_before")),
        bound=BOUND,
        slow=True,
    )
    missing = b.inputs["missing"][0] if "missing" in b.inputs else dut.missing[0]
    b.check(
        "run_missing",
        "a task goes to a unit only if no core of it was missing in the cycle before, in which it"
        " was judged",
        ~(run.valid & b.before(missing, "missing")),
        fault="missing_unseen",
        cover=("one is by now", run.valid & missing),
    )
    parts = run.parts + (b.fault == "more_parts")
    b.check(
        "run_parts",
        "a task that goes to a unit has a part or more, and a core for each",
        ~run.valid | ((parts != 0) & (parts <= CONFIG.cores_per_unit - run.skip_primary)),
        fault="more_parts",
        cover=("all cores but the primary one", run.valid & run.skip_primary),
    )


def _once(b: FormalBench, happens: Value, name: str) -> Any:
    """Return whether something has happened, now or before."""
    before = b.register(1, f"{name}_once")
    b.m.d.sync += before.eq(before | happens)
    return before | happens


def _state_landed(b: FormalBench, dut: Any, bells: Doorbells, one: OneSection) -> None:
    """State that a command is served as it was written before its doorbell: a word, by bytes."""
    write = bells.write
    word = b.register(32, "landed", keeps=True)
    here = Cat(w & (one.number == k) for k, w in enumerate(bells.writes)).any()
    fresh = b.register(1, "fresh")
    written = b.value(here & (offset_of(write.address) == word_offset("T1")), "written")
    for byte in range(4):
        with b.m.If(written & write.strobes[byte]):
            b.m.d.sync += word.word_select(byte, 8).eq(write.data.word_select(byte, 8))
    b.m.d.sync += fresh.eq(written)
    launches = one.sent
    late = b.past(fresh, 2, "was_fresh")
    mask = dut.command.payload.mask
    b.check(
        "landed",
        "a task, a launch and a mask of streams are the words that were written before their"
        " doorbell",
        (~launches | (dut.launch.payload.code[:32] == word))
        & (~one.begins | (dut.run[0].first == word))
        & (~one.given | (mask == word[: len(mask)])),
        fault="stale",
        cover=("written in the cycle before the doorbell", launches & late & (word == DATA_BITS)),
        slow=True,
    )
    b.check(
        "busy",
        "a write into a section whose doorbell is 1 is refused, unless it has no strobes",
        ~(here & one.doorbell & write.strobes.any()),
        fault="phantom_done",
        cover=("in the cycle of its completion", _refused_late(bells, one)),
    )


def _refused_late(bells: Doorbells, one: OneSection) -> Value:
    mine = section_of(bells.write.address) == one.number
    refused: Value = bells.write.valid & bells.dut.write_refused & mine & one.launched[1]
    return refused


#: Cycles from a read's sampling to its answer.
ANSWERED: Final = timing(CONFIG).bus_answer


def _state_reads(b: FormalBench, dut: Any, bells: Doorbells, one: OneSection, read: Any) -> None:
    """State what a read of the followed section gives."""
    outcome = Outcome(b, one, dut)
    read = held_packet(b, read, "sampled")
    offset = offset_of(read.address)
    its = read.valid & (section_of(read.address) == one.number)
    mine = b.value(its & ~bells.shut, "reads")
    answered = b.value(~dut.answer.refused, "answered")
    data = dut.answer.data
    is_doorbell = offset == word_offset("DOORBELL")
    bell_read = b.past(mine & is_doorbell, ANSWERED, "bell_read") & answered
    behind = b.past(one.launched[0] & dut.launch_answer.valid, ANSWERED, "behind")
    b.check(
        "doorbell",
        "a doorbell reads 1 from its write on until its command completes, and then 0",
        ~bell_read | (data == b.past(one.doorbell, ANSWERED, "bell")),
        fault="crossed_read",
        cover=("1 while its launch waits behind another's", bell_read & data[0] & behind),
        slow=True,
    )
    busy_read = b.past(mine & one.doorbell & ~is_doorbell, ANSWERED, "busy_read") & answered
    b.check(
        "one_edge",
        "while a section's doorbell is 1 its STATUS, ASSIGNED, ERROR and RESULT words read 0",
        ~busy_read | (data == 0),
        fault="early",
        cover=(
            "a result word that a core has written",
            busy_read
            & b.past((outcome.result != 0) & (offset == _result(outcome)), ANSWERED, "early"),
        ),
        bound=BOUND,
        slow=True,
    )
    _state_own(b, dut, one, outcome, mine & ~one.doorbell, offset)
    _state_quiet(b, dut, one, mine & ~one.doorbell, offset)


def _result(outcome: Outcome) -> Value:
    place: Value = word_offset("RESULT8") + outcome.which
    return place


def _state_own(
    b: FormalBench, dut: Any, one: OneSection, outcome: Outcome, reads: Value, offset: Value
) -> None:
    """State that the words are the section's own, by who answers its command."""
    want = b.past(outcome.word(b, offset), ANSWERED, "want")
    # Of RESULT8 to RESULT15 one is followed.
    results = (offset >= word_offset("RESULT8")) & (offset != _result(outcome))
    known = outcome.now_exact & ~(results & (offset < word_offset("RESULT8") + RESULT_WORDS))
    asked = b.value(reads & known & (offset != word_offset("DOORBELL")), "asked")
    data, answered = dut.answer.data, ~dut.answer.refused
    texts = {
        "launch": ("a launch's section", "crossed", "a ticket, or an error"),
        "turned": ("a section whose launch is turned away", "crossed", "an error"),
        "abort": ("an abort's section", "crossed", "an error"),
        "command": ("a section with a command for streams", "crossed", "an error"),
        "unit": ("a task's section", "crossed_read", "a word that is not 0"),
    }
    for by, (whose, fault, case) in texts.items():
        its = b.past(asked & outcome.by[by], ANSWERED, f"asked_{by}")
        got = b.value(its & answered, f"got_{by}")
        b.check(
            f"own_{by}",
            f"{whose} reads its own answer, word by word, until its doorbell is rung again",
            ~got | (data == want),
            fault=fault,
            cover=(case, got & (data != 0)),
            bound=BOUND,
            slow=True,
        )


def _state_quiet(b: FormalBench, dut: Any, one: OneSection, reads: Value, offset: Value) -> None:
    """State that nothing is written into a section whose doorbell is 0."""
    word = b.constant(7, "word")
    asked = b.past(reads & (offset == word), ANSWERED, "asked_quiet")
    here = b.value(asked & ~dut.answer.refused, "quiet_read")
    known, value = b.register(1, "quiet_known"), b.register(32, "quiet_value")
    # A read is answered later: a doorbell that is rung in between begins a new command.
    rungs = [b.past(one.rings, k, f"quiet_rung_{k}") for k in range(ANSWERED + 1)]
    rung = b.value(Cat(rungs).any(), "quiet_rung")
    with b.m.If(here):
        b.m.d.sync += [known.eq(1), value.eq(dut.answer.data)]
    with b.m.If(rung):
        b.m.d.sync += known.eq(0)
    moved = b.register(1, "others_done")
    b.m.d.sync += moved.eq(Mux(known, moved | dut.done[0].valid, 0))
    b.check(
        "quiet",
        "no word of a section changes while its doorbell is 0",
        ~(here & known) | (dut.answer.data == value),
        fault="phantom_done",
        cover=("another section's task ended in between", here & known & moved & (value != 0)),
        bound=BOUND,
        slow=True,
    )
