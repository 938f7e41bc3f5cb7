"""KernelQueue's rules beside random surroundings: its books are right, and hard cases happen."""

from collections import Counter
from random import Random

import pytest
from amaranth.hdl import Signal, Value

from tb.launch.queue_books import play_model
from tb.launch.queue_events import NAMES, NEAR_THE_WRAPS, QueueEvents
from tb.launch.queue_surroundings import QueueSurroundings, surroundings
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from warploom.launch import _queue_entries, _queue_lists
from warploom.launch._queue_choice import QueueChoice
from warploom.launch._queue_heads import Boundaries, ListHeads
from warploom.launch.kernel_queue import KernelQueue
from warploom_dev.planted import Change
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import KernelQueue as Model
from warploom_golden.launch import queue_cycle, queue_moves
from warploom_golden.launch.queue_cycle import Cycle
from warploom_golden.launch.queue_moves import Moves
from warploom_golden.launch.queue_packing import Packets
from warploom_golden.launch.queue_state import Numbers
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_sim.cosim.lockstep.events import require

SMALL = "tiny,stream_bits=2"
CONFIGS = (
    SMALL,
    "default",
    "tiny,queue_depth=1",
    "tiny,queue_depth=2,stream_bits=2,launch_waits=4",
    "tiny,launch_waits=0",
    "tiny,sm_kill=False",
    "tiny,index_memory_warps=0",
    "tiny,stream_bits=1,priority_bits=1,launch_waits=1",
)
#: Rounds of so many cycles after which a case that has not happened is said to happen never.
ROUND, MOST = 5000, 60
#: Cycles in which a wrong rule must have been found.
SOON = 60_000


def play(config, seed, cycles):
    """Run the model alone in its surroundings; the ledger looks at every cycle."""
    model = Model(config_of(config))
    around = QueueSurroundings(config_of(config), Random(seed))
    books = QueueEvents(config_of(config))
    return play_model(model, around, books, cycles), around


@pytest.mark.rule("kernel_queue", 6, 7, 9, 64)
@pytest.mark.parametrize("config", CONFIGS)
def test_the_rules_alone_keep_the_books(config, seed):
    play(config, seed, 1000)


@pytest.mark.deep
@pytest.mark.parametrize("config", CONFIGS)
def test_the_rules_alone_keep_the_books_for_long(config, seed):
    _, around = play(config, seed, 100_000)
    assert around.idle_times > 50


# Lockstep


def make(config, **first):
    return KernelQueue(config_of(config), **first), Model(config_of(config), **first)


def case(config, seed, cycles, resets=2, **first):
    """Return a run of RTL and model in random surroundings, with the books beside it.

    ``first`` is nothing or `NEAR_THE_WRAPS`.
    """
    events = "LATE_EVENTS" if first else "EVENTS"
    streams = ("request", "launch") if config_of(config).makes_indices else ("launch",)
    return Case(
        make=make,
        params={"config": config, **first},
        seed=seed,
        cycles=cycles,
        resets=resets,
        stimulus=surroundings,
        events={"books": f"tb.launch.queue_events:{events}.{config}"},
        withdrawable=dict.fromkeys(streams, "rule 39: its launch is out"),
    )


def test_equals_its_model_on_amaranth(seed):
    run([case(SMALL, seed, 150, resets=1, **NEAR_THE_WRAPS)], "amaranth")


@pytest.mark.rule("kernel_queue", 12, 16, 34, 35)
@pytest.mark.thorough
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(SMALL, seed, 1000, **NEAR_THE_WRAPS)], simulator)


@pytest.mark.deep
@pytest.mark.parametrize(("simulator", "cycles"), [("icarus", 1000), ("verilator", 12_000)])
@pytest.mark.parametrize("config", CONFIGS)
def test_equals_its_model_for_long(config, simulator, cycles, seed):
    run([case(config, seed + number, cycles, resets=6) for number in range(3)], simulator)


@pytest.mark.rule("kernel_queue", 14, 19, 29, 33, 39, 52, 54, 66)
@pytest.mark.deep
@pytest.mark.coverage
def test_equals_its_model_and_hard_cases_happen(seed):
    run_until(NAMES, lambda n: [case(SMALL, seed + n, 30_000, **NEAR_THE_WRAPS)], "verilator")


#: A wrong rule each of the RTL: a simulator's process makes a model of its own.
FAULTS = {
    "the choice does not rotate": Change(
        QueueChoice, "_next", "later.eq(group & behind)", "later.eq(group)"
    ),
    "the writer of a head is forgotten": Change(
        ListHeads, "build", "tag if w < other else ~tag", "tag"
    ),
    "a boundary at the tail is not known": Change(
        Boundaries, "meets", "Mux(at_tail, single, kept == entry)", "kept == entry"
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS)
def test_lockstep_finds_a_wrong_rule(monkeypatch, fault, seed):
    plant(monkeypatch, [FAULTS[fault]])
    with pytest.raises(LockstepError):
        run([case("tiny,stream_bits=3,priority_bits=1", seed, 8000)], "verilator")


def garbled(m, memory, address, enable=1):
    """Read a memory, each bit wrong where the word was written in the cycle of its address."""
    port, (write,) = memory.read_port(), memory.write_ports
    meets = Signal()
    m.d.comb += [port.addr.eq(address), port.en.eq(enable)]
    with m.If(enable):
        m.d.sync += meets.eq(write.en & (write.addr == address))
    found = Signal(memory.shape)
    wrong = meets.replicate(len(Value.cast(found)))
    m.d.comb += Value.cast(found).eq(Value.cast(port.data) ^ wrong)
    return found


@pytest.mark.deep
def test_no_word_is_used_that_was_read_while_it_was_written(monkeypatch, seed):
    """Block memory says nothing of such a word: `no_rw_check`."""
    plant(monkeypatch, [])
    for user in (_queue_entries, _queue_lists):
        monkeypatch.setattr(user, "read_later", garbled)
    run([case(SMALL, seed, 12_000)], "verilator")


# Wrong rules


@pytest.mark.deep
def test_every_hard_case_happens(seed):
    total = Counter()
    for number in range(MOST):
        total += play(SMALL, f"{seed}/{number}", ROUND)[0]
        if all(total[name] for name in NAMES):
            break
    require(NAMES, {name: total[name] for name in NAMES})


#: A wrong rule each, and the part of the message that finds it.
WRONG = {
    "a head does not wait": (
        Rewrite(queue_cycle, "is_reached", "REACHED_BELOW", "COUNTS"),
        "did not wait for",
    ),
    "a drained launch begins anew": (
        Rewrite(Packets, "launch", "launch.start", "(0, 0, 0)"),
        "goes on at",
    ),
    "a drained launch's number is forgotten": (
        Rewrite(Model, "outputs", "launch.start_number", "0"),
        "has number",
    ),
    "a skip forgets the number": (
        Rewrite(queue_moves, "progress", "launch.start_number", "0"),
        "has number",
    ),
    "a reference of the line is forgotten": (
        Rewrite(Moves, "_take_back", "launch.prepared", "False"),
        "idle with references",
    ),
    "a purged launch has no record": (
        Rewrite(Moves, "_handle_passing", "passing.record is not None", "False"),
        "passes a launch without a record",
    ),
    "a waiting head is never loaded": (
        Rewrite(Cycle, "_wants_job", "not stream.loaded", "False"),
        "a deadlock",
    ),
    "room is one too high": (
        Rewrite(Numbers, "advance", "number < self._depth", "number <= self._depth"),
        "room was 1",
    ),
}


@pytest.mark.parametrize("wrong", deep_but(["a head does not wait"], WRONG))
def test_the_books_find_a_wrong_rule(monkeypatch, wrong, seed):
    change, says = WRONG[wrong]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError, match=says):
        play(SMALL, seed, SOON)
