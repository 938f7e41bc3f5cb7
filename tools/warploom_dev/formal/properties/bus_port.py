"""BusPort answers each write and each read once, in order, in the cycle its page names."""

from types import SimpleNamespace
from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.host.bus_port import BusPort
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, timing
from warploom_spec.host_map import OKAY, SLVERR

CONFIG: Final = Config()
LIMITS: Final = timing(CONFIG)
DEPTH: Final = LIMITS.bus_requests
#: Cycles from `read` to `answer`.
TO_ANSWER: Final = LIMITS.bus_sample + LIMITS.bus_answer
#: Bits of an access's number: more numbers than accesses that are on their way at once.
NUMBER_BITS: Final = 4


class _Seeded(BusPort):
    """The block with a queue whose oldest entry counts as there when it is not.

    ``eager_aw`` issues data without their address, ``eager_w`` an address without its data;
    ``eager_ar`` issues reads that nobody sent.
    """

    BUGS: Final = ("eager_aw", "eager_w", "eager_ar")

    def __init__(self, config: Config, bug: str) -> None:
        super().__init__(config)
        self._eager = bug.removeprefix("eager_")

    def _queue(self, m: Module, name: str, depth: int) -> Any:
        queue: Any = super()._queue(m, name, depth)
        if name != self._eager:
            return queue
        kept = {name: getattr(queue, name) for name in ("i", "o", "ready_next", "payload_next")}
        return SimpleNamespace(valid_next=C(1), **kept)


class _Followed:
    """What passes one point in order: how many did, and what the followed one carried.

    The followed ones are those whose number is a constant, which may be any one, modulo 16.

    Parameters
    ----------
    b : FormalBench
        The bench.
    moves : Value
        One passes in this cycle.
    carries : Value
        What it carries.
    which : Value
        Number of the followed one.
    name : str
        Of the point.
    """

    def __init__(self, b: FormalBench, moves: Value, carries: Any, which: Value, name: str) -> None:
        carried = Value.cast(carries)
        self.number = b.register(NUMBER_BITS, f"{name}_number")
        self.kept = b.register(len(carried), f"{name}_kept")
        #: The followed one passes in this cycle.
        self.here = b.value(moves & (self.number == which), f"{name}_here")
        b.m.d.sync += self.number.eq(self.number + moves)
        with b.m.If(self.here):
            b.m.d.sync += self.kept.eq(carried)

    def since(self, later: "_Followed") -> Any:
        """Return how many passed here and not yet at a later point (state)."""
        return (self.number - later.number)[:NUMBER_BITS]


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one write and one read, which may be any ones."""
    b = FormalBench("bus_port", CONFIG, "whole: 32 data bits, 16 address bits, all queues", fault)
    dut = _Seeded(CONFIG, fault) if fault in _Seeded.BUGS else BusPort(CONFIG)
    b.drive(dut)
    _state_writes(b, dut)
    _state_reads(b, dut)
    b.check_held(dut.axil.b, "axil__b")
    b.check_held(dut.axil.r, "axil__r")
    return b.close()


def _moves(b: FormalBench, channel: Any, name: str) -> Any:
    """Return whether a channel transfers, as the host sees it."""
    given = b.inputs.get(f"axil__{name}__valid", channel.valid)
    ready = b.inputs.get(f"axil__{name}__ready", channel.ready)
    return b.value(given & ready, f"{name}_moves")


def _state_writes(b: FormalBench, dut: Any) -> None:
    """State when a write is issued, with what, and that each has one response."""
    axil, write = dut.axil, dut.write
    which = b.constant(NUMBER_BITS, "write")
    addresses = _Followed(b, _moves(b, axil.aw, "aw"), axil.aw.payload.addr[2:], which, "aw")
    words = _Followed(b, _moves(b, axil.w, "w"), axil.w.payload, which, "w")
    issues = _Followed(b, write.valid, C(0), which, "write")
    # The response enters its queue two cycles after `write`, as was said in the cycle between.
    enters = b.past(write.valid, LIMITS.bus_commit + 1, "enters")
    refused = b.before(b.inputs["write_refused"], "refused")
    given = _Followed(b, b.value(enters, "entered"), refused, which, "given")
    responses = _Followed(b, _moves(b, axil.b, "b"), axil.b.payload, which, "b")
    waiting = [b.value(queue.since(issues), n) for queue, n in ((addresses, "as"), (words, "ws"))]
    taken = b.value(issues.since(responses), "taken_b")
    owed = b.value(given.since(responses), "owed_b")
    both = (waiting[0] != 0) & (waiting[1] != 0)
    no_room = b.before(taken >= LIMITS.bus_responses - 1, "no_room_b")
    b.check(
        "commit",
        "a write is issued when its address and its data are there and B had room in the cycle"
        " before, and only then",
        write.valid == (both & ~no_room),
        fault="eager_aw",
        cover=("four data wait, and the first of their addresses comes", both & (waiting[1] == 4)),
    )
    carried = Value.cast(write)[1:]
    b.check(
        "pair",
        "the k-th write that is issued has the k-th address and the k-th data",
        ~issues.here | (carried == Cat(addresses.kept, words.kept)),
        fault="eager_w",
        cover=("four addresses were ahead of it", issues.here & (waiting[0] == 4)),
        slow=True,
    )
    b.check(
        "response",
        "B is valid while a write has no response, from the second cycle after its commit on",
        axil.b.valid == (owed != 0),
        fault="deaf_axil__b",
        cover=("all responses are owed", owed == LIMITS.bus_responses),
    )
    b.check(
        "refusal",
        "the k-th B says whether the k-th write was refused",
        ~responses.here | (axil.b.payload == Mux(given.kept, SLVERR, OKAY)),
        fault="deaf_axil__b",
        cover=("one was", responses.here & given.kept),
    )
    full = [waiting[0] == DEPTH, waiting[1] == DEPTH]
    b.check(
        "room",
        "AW and W each take four that wait, and no more",
        (axil.aw.ready == ~full[0]) & (axil.w.ready == ~full[1]),
        fault="eager_aw",
        cover=("both are full", full[0] & full[1]),
    )


def _state_reads(b: FormalBench, dut: Any) -> None:
    """State when a read is issued, of what, and that each has one answer."""
    axil, read, answer = dut.axil, dut.read, dut.answer
    which = b.constant(NUMBER_BITS, "read")
    addresses = _Followed(b, _moves(b, axil.ar, "ar"), axil.ar.payload.addr[2:], which, "ar")
    samples = _Followed(b, read.valid, C(0), which, "read")
    given = b.value(b.past(read.valid, TO_ANSWER, "sampled"), "answer_given")
    answers = _Followed(b, given, answer, which, "answer")
    returned = _Followed(b, _moves(b, axil.r, "r"), axil.r.payload, which, "r")
    waiting = b.value(addresses.since(samples), "reads_waiting")
    taken = b.value(samples.since(returned), "reads_taken")
    owed = b.value(answers.since(returned), "owed_r")
    no_room = b.before(taken >= LIMITS.bus_reads - 1, "no_room_r")
    b.check(
        "sample",
        "a read is issued when its address is there and R had room in the cycle before, and only"
        " then",
        read.valid == ((waiting != 0) & ~no_room),
        fault="eager_ar",
        cover=("one waits for room", (waiting != 0) & (taken == LIMITS.bus_reads)),
    )
    b.check(
        "address",
        "the k-th read that is issued has the k-th address",
        ~samples.here | (read.address == addresses.kept),
        fault="eager_ar",
        cover=("four waited", samples.here & (waiting == DEPTH)),
        slow=True,
    )
    b.check(
        "answer",
        "R is valid while an answer was given and not taken, from three cycles after its sampling"
        " on",
        axil.r.valid == (owed != 0),
        fault="deaf_axil__r",
        cover=("all answers are owed", owed == LIMITS.bus_reads),
    )
    kept: Any = Signal(answer.shape(), name="bench_kept_answer")
    b.m.d.comb += Value.cast(kept).eq(answers.kept)
    data = Mux(kept.refused, 0, kept.data)
    said = axil.r.payload
    b.check(
        "data",
        "the k-th R has the k-th answer; a refused one has SLVERR and data 0",
        ~returned.here | ((said.data == data) & (said.resp == Mux(kept.refused, SLVERR, OKAY))),
        fault="deaf_axil__r",
        cover=("a refused one", returned.here & kept.refused & (kept.data != 0)),
        slow=True,
    )
