"""ExecutionUnit's barrier: nobody begins the next task before all have left this one."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Value

from warploom.host import ExecutionUnit
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config
from warploom_spec.host_errors import HostError

CONFIG: Final = Config(cores_per_unit=3, core_timeout=6)
_CORE_BITS: Final = 2


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one core, which may be any one.

    Its seeded bugs: ``one_for_all`` is a block that sees all cores arrive when one does,
    ``phantom_run`` one that sees a task in every third cycle, ``lost_run`` one that sees none in
    every third cycle, ``reset_unseen`` one that sees no reset. With ``missing_unseen`` the block is
    right, and its ``missing`` is seen as 0.
    """
    b = FormalBench("execution_unit", CONFIG, "3 cores, time-out of 6 cycles", fault)
    dut = ExecutionUnit(CONFIG)
    cores = CONFIG.cores_per_unit
    levels = {name: b.free(cores, name) for name in ("arrived", "failed")}
    run: Any = b.partly(
        dut.run.shape(),
        {"valid": 1, "skip_primary": 1, "parts": 0b11, "larger": 0b11, "small": 1},
        "run",
        b.free,
    )
    reset = b.free(1, "reset")
    third = b.register(2, "third")
    b.m.d.sync += third.eq(Mux(third == 2, 0, third + 1))
    seen: dict[str, Any] = {"run": run, "reset": reset}
    seen |= {f"cores__{name}": level for name, level in levels.items()}
    if fault == "one_for_all":
        seen["cores__arrived"] = levels["arrived"].any().replicate(cores)
    if fault == "phantom_run":
        seen["run"] = Cat(run.as_value()[0] | (third == 2), run.as_value()[1:])
    if fault == "lost_run":
        seen["run"] = Cat(run.as_value()[0] & (third != 2), run.as_value()[1:])
    if fault == "reset_unseen":
        seen["reset"] = C(0, 1)
    b.drive(dut, **seen)
    here = b.value(levels["arrived"] | levels["failed"], "here")
    runs = _assume_mailbox(b, dut, run)
    _state_ends(b, dut, runs, run.valid, reset)
    _state_barrier(b, dut, here, levels["failed"])
    b.check_held(dut.cores.start, "cores__start", check="start_held", unless=reset)
    return b.close()


def _assume_mailbox(b: FormalBench, dut: Any, run: Any) -> Value:
    """State what Mailbox sends; return whether a task has begun and not ended (state)."""
    runs: Value = b.register(1, "runs")
    b.m.d.sync += runs.eq(run.valid | (runs & ~dut.done.valid))
    b.assume(
        "idle",
        "a task comes only when the unit's last one ended two cycles before, or earlier",
        ~(run.valid & (runs | b.before(dut.done.valid, "ended_then"))),
        source="mailbox.run_idle",
    )
    b.assume(
        "missing",
        "a task comes only if no core was missing in the cycle before, in which it was judged",
        ~(run.valid & b.before(dut.missing, "missing")),
        source="mailbox.run_missing",
    )
    b.assume(
        "parts",
        "a task has a part or more, and a core for each",
        ~run.valid | ((run.parts != 0) & (run.parts <= CONFIG.cores_per_unit - run.skip_primary)),
        source="mailbox.run_parts",
    )
    return runs


def _state_ends(b: FormalBench, dut: Any, runs: Value, begins: Value, reset: Value) -> None:
    """State that each task has one end, and when the unit may write its outcome."""
    done, word = dut.done, dut.result
    # Why it ended is said a cycle later.
    ended, code = b.before(done.valid, "ended"), dut.error.code
    b.check(
        "one_done",
        "a task ends once, and nothing ends without a task",
        ~done.valid | runs,
        fault="phantom_run",
        cover=("one ended with a time-out", ended & (code == int(HostError.CORE_TIMEOUT))),
    )
    b.check(
        "word_in_task",
        "a result word comes only between a task's beginning and its end, its end included",
        ~word.valid | runs,
        fault="phantom_run",
        cover=("one comes with the end", word.valid & done.valid),
    )
    by_reset = b.value(b.before(reset, "was_reset") & runs, "by_reset")
    b.check(
        "reset_ends",
        "a reset ends the task in the next cycle, with `cancel`, and with RESET a cycle later",
        (b.before(reset, "reset") == dut.cores.cancel)
        & (~by_reset | done.valid)
        & (~b.before(by_reset, "ended_by_reset") | (code == int(HostError.RESET))),
        fault="reset_unseen",
        cover=(
            "with a task that begins in this cycle",
            dut.cores.cancel & b.before(begins, "began"),
        ),
    )
    late = CONFIG.core_timeout + 3
    age = b.register(range(late + 2), "age")
    with b.m.If(begins):
        b.m.d.sync += age.eq(1)
    with b.m.Elif(age <= late):
        b.m.d.sync += age.eq(age + (age != 0))
    b.check(
        "in_time",
        f"a task ends {late} cycles after it came, at the latest",
        ~(runs & (age == late)) | done.valid,
        fault="lost_run",
        cover=("as late as can be", runs & (age == late)),
    )


def _state_barrier(b: FormalBench, dut: Any, here: Value, failed: Value) -> None:
    """State when the followed core may be started, and that the unit waits for it."""
    core = b.constant(_CORE_BITS, "core")
    cores = dut.cores
    start, shown = cores.start.payload, cores.start.valid
    takes = b.value(shown & b.inputs["cores__start__ready"], "takes")
    mine = b.value(takes & (start.core == core), "mine")
    # The followed core: whether it has a part, has arrived, succeeded; and of which task.
    has, arrived = b.register(1, "has"), b.register(1, "has_arrived")
    good, task = b.register(1, "good"), b.register(len(start.task), "task")
    level = here.bit_select(core, 1)
    arrives = b.value(has & ~arrived & level, "arrives")
    opens = b.value(cores.barrier_open | cores.cancel, "opens")
    at_barrier = b.value(has & arrived, "at_barrier")
    b.m.d.sync += [
        arrived.eq((arrived | arrives) & has),
        good.eq(Mux(arrives, ~failed.bit_select(core, 1), good)),
    ]
    with b.m.If(cores.cancel | (cores.barrier_open & at_barrier)):
        b.m.d.sync += [has.eq(0), arrived.eq(0)]
    with b.m.If(mine):
        b.m.d.sync += [has.eq(1), arrived.eq(0), task.eq(start.task)]
    b.check(
        "barrier",
        "no core is given a part of a task while a core has a part of another one: that core has"
        " arrived, and the barrier has opened since",
        ~(shown & has & ((start.task != task) | (start.core == core))),
        fault="one_for_all",
        cover=("a core gets a part of a second task", mine & (start.task == 2) & (core == 0)),
    )
    done, code = dut.done, dut.error.code
    # Of the cycle of `done`, which comes before its code.
    ended, had = b.before(done.valid, "core_ended"), b.before(has, "had")
    status, assigned = b.before(done.status, "status"), b.before(done.assigned, "assigned")
    good_then = b.before(good, "was_good")
    well = (code == int(HostError.OK)) | (code == int(HostError.CORE_FAILED))
    b.check(
        "waits",
        "a task that ends well or failed has waited for each core with a part of it",
        ~(ended & well & had) | b.before(at_barrier, "was_at_barrier"),
        fault="one_for_all",
        cover=("three cores arrived", ended & well & (assigned == 0b111)),
    )
    b.check(
        "status",
        "at a task's end a core's status bit is 1 if it succeeded, and only then",
        ~(ended & well)
        | (status.bit_select(core, 1) == (had & good_then & (core < CONFIG.cores_per_unit))),
        fault="one_for_all",
        cover=("one of two failed", ended & well & had & ~good_then & status.any()),
    )
    seen = C(b.fault != "missing_unseen", 1)
    b.check(
        "opens",
        "`barrier_open` comes with a task's end, or for a core that arrives after a time-out",
        ~cores.barrier_open | done.valid | (dut.missing & seen),
        fault="missing_unseen",
        cover=("a late core is released", cores.barrier_open & ~done.valid & opens),
    )
