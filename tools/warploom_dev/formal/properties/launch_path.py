"""LaunchPath's answers, what it hands to the dispatcher, and the words that SMs see."""

from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Value

from warploom.launch import LaunchPath
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, capacities
from warploom_spec.resources import AMOUNT_FIELDS

CONFIG: Final = Config(
    sms=1,
    warp_size=8,
    block_slots=2,
    warp_slots=2,
    register_units=2,
    shared_units=2,
    barriers=2,
    max_threads=24,
    grid_bits=(2, 1, 1),
    index_memory_warps=0,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
    task_bits=1,
    max_tables=1,
    kill_timeout=12,
    queue_depth=1,
    launch_waits=0,
    loop_templates=0,
)
SIZE: Final = (
    "1 SM with 2 slots and 2 warps, 2 streams, 2 entries, no pairs, no indices; a soft reset does"
    " not end"
)
#: Free bits of a launch: legal ones of up to three blocks, and ones that are refused. Of what an SM
#: has two units of, a block may need three: where it has one, a field of one bit cannot hold too
#: much.
FREE: Final = {
    "dx": 0b11001,
    "mode": 0b111,
    "gx": 0b11,
    **dict.fromkeys(AMOUNT_FIELDS, 0b11),
    **dict.fromkeys(("gy", "gz", "dy", "dz"), 0b1),
    **dict.fromkeys(("stream", "priority", "idempotent"), 0b1),
}
#: What a block takes of an SM, and how much of it there is.
_CAPACITY: Final = {name: size for name, size in capacities(CONFIG).items() if name != "slots"}
#: Launches that were taken and not answered, at most: an entry each.
_UNANSWERED: Final = CONFIG.queue_depth << CONFIG.priority_bits
#: Cycles that are searched: the boot, a launch's way to the dispatcher, and to its first offer.
ANSWERED, HANDED, OFFERED = 26, 26, 36


class _Seeded(LaunchPath):
    """The block with a bug in what it hands to the dispatcher, or to the SMs.

    ``no_grid``: gx is lost. ``too_large``: a block has as many warps as the field holds.
    ``one_fetch``: each block has the words of entry 0.
    """

    BUGS: Final = ("no_grid", "too_large", "one_fetch")

    def __init__(self, config: Config, bug: str) -> None:
        super().__init__(config)
        self._bug = bug

    def elaborate(self, platform: object) -> Module:
        m: Module = super().elaborate(platform)
        # Its ports are made from a dictionary: no type checker sees them.
        seen: Any = self
        start = seen._dispatcher.start.payload
        bugs = {
            "no_grid": start.gx.eq(0),
            "too_large": start.warps.eq(-1),
            "one_fetch": seen._queue.fetch.eq(0),
        }
        m.d.comb += bugs[self._bug]
        return m


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; launches are sent only with room and a record's place, as the page asks.

    Its own seeded bugs: those of `_Seeded`; ``phantom_launch`` is a block that sees a launch in
    every cycle; with ``ready_unseen`` the block is right, and its launches are seen taken whatever
    its ``ready`` is.
    """
    b = FormalBench("launch_path", CONFIG, SIZE, fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = _Seeded(CONFIG, fault) if fault in _Seeded.BUGS else LaunchPath(CONFIG)
    given = b.partly(dut.launch.payload.shape(), FREE, "given", b.free, port="launch")
    room = dut.records_left & dut.room.bit_select(given.priority, 1)
    sent = b.value(b.free(1, "launch__valid") & room, "sent")
    ticket = b.partly(dut.abort.payload.shape(), {"ticket": 0b11}, "abort", b.free)
    # HostRegisters ends no soft reset but by a restart.
    begun, begins = b.register(1, "reset_begun"), b.free(1, "soft_reset_begins")
    b.m.d.sync += begun.eq(begun | begins)
    b.drive(
        dut,
        launch__payload=given,
        launch__valid=1 if fault == "phantom_launch" else sent,
        abort__payload=ticket,
        launch_timeout=0,
        soft_reset_active=begun | begins,
        restart=0,
    )
    _state_answers(b, dut, sent)
    _state_handed(b, dut)
    _state_words(b, dut)
    return b.close()


def _state_answers(b: FormalBench, dut: Any, sent: Value) -> None:
    """State that each launch has one answer, and how fast launches are taken."""
    seen = sent if b.fault == "ready_unseen" else sent & dut.launch.ready
    taken, answer = b.value(seen, "launch_taken"), dut.answer
    unanswered = b.register(range(_UNANSWERED + 2), "unanswered")
    b.m.d.sync += unanswered.eq(unanswered + taken - answer.valid)
    b.check(
        "one_answer",
        "a launch is answered after it was taken, and once; no more are taken and not answered than"
        " there are entries",
        (~answer.valid | (unanswered != 0)) & (unanswered <= _UNANSWERED),
        fault="phantom_launch",
        cover=("a launch is refused before another's answer", _refused_first(dut, unanswered)),
        bound=ANSWERED,
        slow=True,
    )
    again = b.before(taken, "taken") | b.past(taken, 2, "taken_twice")
    b.check(
        "pace",
        "a launch is taken three cycles after the one before at the earliest",
        ~(taken & again),
        fault="ready_unseen",
        cover=("as early as that", taken & b.past(taken, 3, "taken_thrice")),
        bound=ANSWERED,
        slow=True,
    )


def _refused_first(dut: Any, unanswered: Any) -> Value:
    refused: Value = dut.answer.valid & dut.answer.code.any() & (unanswered == _UNANSWERED)
    return refused


def _state_handed(b: FormalBench, dut: Any) -> None:
    """State what the dispatcher takes as given of its launches, at its port inside the block."""
    # No port of the block shows what is handed over.
    port = dut._dispatcher.start
    given = port.payload
    moves = b.value(port.valid & port.ready, "handed")
    b.check(
        "handed_grid",
        "a grid that the dispatcher is given has no dimension of 0",
        ~port.valid | Cat(given[f"g{a}"] != 0 for a in "xyz").all(),
        fault="no_grid",
        bound=HANDED,
        cover=("it is given one of three blocks", moves & (given.gx == 3)),
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


def _state_words(b: FormalBench, dut: Any) -> None:
    """State that an SM sees the words of the block that it is offered."""
    port = dut._dispatcher.start
    launches: list[Any] = []
    for s in range(1 << CONFIG.stream_bits):
        launches.append(b.register(port.payload.shape(), f"launch_{s}"))
        with b.m.If(port.valid & port.ready & (port.payload.stream == s)):
            b.m.d.sync += launches[s].eq(port.payload)
    second = dut.block.stream[0]
    same = Cat(
        dut.words[name] == Mux(second, launches[1][name], launches[0][name])
        for name in ("gx", "gy", "gz", "warps", "shared", "barriers")
    ).all()
    b.check(
        "own_words",
        "in an offer's cycle `words` are those of the launch that started last in its stream",
        ~dut.offer[0] | same,
        fault="one_fetch",
        cover=("a block of the second entry", dut.offer[0] & (dut.block.entry == 1)),
        bound=OFFERED,
        slow=True,
    )
