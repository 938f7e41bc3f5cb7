"""IncrementalScheduler's formula: which core runs what of a program in which of its steps."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.sm_side import IncrementalScheduler
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config

CONFIG: Final = Config(warp_size=8, max_threads=24, index_memory_warps=4, word_bits=8, cores=3)
#: Free bits of a program: fewer warps than cores and as many; up to three passes, or none.
FREE: Final = {"address": 0b11, "warps": 0b11, "instructions": 0b111}
_CORES: Final = range(CONFIG.cores)
#: A program is followed for so many of its steps: three passes, and the last core's.
_STEPS: Final = 12

#: Seeded bugs in the block's source. ``no_maximum``: a pass over fewer warps than cores takes as
#: many steps as it has warps. ``early_read``: a read that is not granted freezes nothing.
PLANTED: Final = {
    "no_maximum": Change(
        IncrementalScheduler,
        "_core_0",
        "idle_steps.eq(cores - program.warps)",
        "idle_steps.eq(0)",
    ),
    "early_read": Change(
        IncrementalScheduler, "_core_0", "self.read.valid & self.read.ready", "self.read.valid"
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one program, picked at any time, at any of its places."""
    size = "3 cores, up to 3 warps and 7 instructions"
    b = FormalBench("incremental_scheduler", CONFIG, size, fault, PLANTED)
    dut: Any = IncrementalScheduler(CONFIG)
    given = b.partly(dut.i.payload.shape(), FREE, "given", b.free, port="i")
    stall = b.free(1, "stall")
    data = b.free(dut.data.payload.shape(), "data__payload")
    b.drive(
        dut,
        i__payload=given,
        stall=0 if fault == "stall_unseen" else stall,
        data__payload=b.before(data, "data") if fault == "stale_data" else data,
    )
    granted = b.value(dut.read.valid & b.inputs["read__ready"], "granted")
    step = b.value(~stall & (~dut.read.valid | granted), "step")
    _state_program(b, dut, given, _Program(b, dut, given, step), stall, step)
    _state_cores(b, dut, granted, step)
    _state_word(b, dut, data)
    _state_read(b, dut, granted, stall)
    return b.close()


class _Program:
    """A program from its transfer on, and one place of its schedule.

    The place is a constant that may be any one: pass, and warp or the step of a pass in which core
    0 has none. Step 0 is the first in which core 0 asks for the program's first warp.
    """

    def __init__(self, b: FormalBench, dut: Any, given: Any, step: Value) -> None:
        followed, begun = b.register(1, "followed"), b.register(1, "begun")
        #: The program.
        self.request = b.register(given.shape(), "request")
        kept = b.register(range(_STEPS + 1), "step_number")
        picked = dut.i.valid & dut.i.ready & b.free(1, "pick") & ~followed
        #: Whether step ``number`` is this cycle, if it is one.
        self.running = b.value(followed & (begun | dut.read.valid), "running")
        self.number = kept
        with b.m.If(picked):
            b.m.d.sync += [followed.eq(1), begun.eq(0), kept.eq(0), self.request.eq(given)]
        with b.m.Else():
            b.m.d.sync += [
                begun.eq(self.running),
                kept.eq(kept + (self.running & step)),
                followed.eq(followed & (kept != _STEPS)),
            ]
        request = self.request
        self.round, self.warp = b.constant(2, "round"), b.constant(2, "warp")
        rounds = b.value(Mux(request.warps > CONFIG.cores, request.warps, CONFIG.cores), "rounds")
        self.first = b.value(self.round * CONFIG.cores, "first_instruction")
        self.place = b.value(self.round * rounds + self.warp, "place")
        #: Whether the place is one of the program's: core 0 has a warp there, or waits.
        self.exists = b.value(
            (self.first < request.instructions) & (self.warp < rounds) & request.warps.any(),
            "place_exists",
        )
        self.busy = b.value(self.warp < request.warps, "place_busy")


def _state_program(
    b: FormalBench, dut: Any, given: Any, program: _Program, stall: Value, step: Value
) -> None:
    """State what a program's steps read and run, and when it has finished."""
    request, read = program.request, dut.read.payload
    here = b.value(program.running & program.exists & (program.number == program.place), "here")
    own = (read.address == request.address) & (read.index_warps == request.warps)
    b.check(
        "reads",
        "in step p max(w_count, C) + w the program's warp w is read if there is one, else nothing",
        ~(here & ~stall)
        | (
            (dut.read.valid == program.busy) & (~dut.read.valid | own & (read.warp == program.warp))
        ),
        fault="no_maximum",
        cover=(
            "a step of the second pass in which core 0 waits",
            here & ~program.busy & program.round[0],
        ),
    )
    core = b.constant(range(CONFIG.cores), "core")
    issue = b.value(
        Mux(core == 2, dut.issue[2], Mux(core == 1, dut.issue[1], dut.issue[0])),
        "issue",
        dut.issue[0].shape(),
    )
    number = b.value(program.first + core, "instruction")
    due = b.before(
        program.running
        & program.exists
        & step
        & (core < CONFIG.cores)
        & (program.number == program.place + core),
        "due",
    )
    runs = b.value(program.busy & (number < request.instructions), "runs")
    right = (issue.warp == program.warp) & (issue.instruction == number)
    b.check(
        "formula",
        "instruction p C + j of warp w runs on core j after step p max(w_count, C) + w + j",
        ~due | ((issue.valid == runs) & (~runs | right)),
        fault="no_maximum",
        cover=("the third pass", due & runs & (number == 6)),
        slow=True,
    )
    last = runs & (program.warp + 1 == request.warps) & (number + 1 == request.instructions)
    empty = b.before(
        dut.i.valid & dut.i.ready & ~(given.warps.any() & given.instructions.any()), "empty"
    )
    some = Cat(dut.issue[j].valid for j in _CORES).any()
    b.check(
        "finished",
        "`finished` is there with a program's last instruction, or after an empty one's transfer",
        (~(due & last) | dut.finished) & (~empty | dut.finished) & (~dut.finished | some | empty),
        fault="deaf_read",
        cover=("one ends on the second core", due & last & (core == 1)),
        slow=True,
    )


def _state_cores(b: FormalBench, dut: Any, granted: Value, step: Value) -> None:
    """State that a warp moves on from core to core, and that nothing moves in a frozen cycle."""
    moved = b.before(step, "moved")
    ran = [b.register(dut.issue[0].shape(), f"ran_{j}") for j in _CORES]
    with b.m.If(moved):
        b.m.d.sync += [ran[j].eq(dut.issue[j]) for j in _CORES]
    follows = [
        ~dut.issue[j].valid | (ran[j - 1].valid & (dut.issue[j].warp == ran[j - 1].warp))
        for j in _CORES[1:]
    ]
    b.check(
        "conveyor",
        "a core runs the warp that the core before it ran a step earlier, or none",
        Cat(follows).all(),
        fault="stall_unseen",
        cover=("all cores run", Cat(dut.issue[j].valid for j in _CORES).all()),
    )
    frozen = Cat(dut.issue[j].valid for j in _CORES).any() & ~moved
    taken, warp = b.before(granted, "was_granted"), b.before(dut.read.payload.warp, "was_read")
    first = dut.issue[0]
    b.check(
        "granted",
        "core 0 runs the warp granted in the cycle before, if any; after a frozen one no core runs",
        (first.valid == taken)
        & (dut.data.ready == taken)
        & (~taken | (first.warp == warp))
        & ~frozen,
        fault="early_read",
        cover=(
            "a refused read is granted",
            granted & b.before(dut.read.valid & ~granted, "refused"),
        ),
    )


def _state_word(b: FormalBench, dut: Any, data: Value) -> None:
    """State that core 0 gets what IndexMemory gives in the cycle after the grant: in this one."""
    word, runs = Value.cast(dut.word), dut.issue[0].valid
    b.check(
        "word",
        "while core 0 runs a warp, `word` is what comes at `data` in this very cycle",
        ~runs | (word == data),
        fault="stale_data",
        cover=(
            "other words follow at once",
            runs & b.before(runs, "ran") & (word != b.before(word, "word")),
        ),
    )


def _state_read(b: FormalBench, dut: Any, granted: Value, stall: Value) -> None:
    """State that a refused read is held but for a stall."""
    payload = Value.cast(dut.read.payload)
    refused = b.register(1, "read_refused")
    kept = b.register(len(payload), "read_payload")
    b.m.d.sync += refused.eq((refused | dut.read.valid) & ~granted)
    with b.m.If(dut.read.valid):
        b.m.d.sync += kept.eq(payload)
    b.check(
        "read_held",
        "a refused `read` stands until it is granted, but for the cycles with a stall",
        (~refused | (dut.read.valid == ~stall))
        & ~(dut.read.valid & stall)
        & (~(refused & dut.read.valid) | (payload == kept)),
        fault="deaf_read",
        cover=("it is granted after a stall", refused & granted & b.before(stall, "stalled")),
    )
