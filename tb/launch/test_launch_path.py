"""LaunchPath beside its model in random surroundings; its books are right, cases happen."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest

from tb.launch.path_ledger import PathLedger
from tb.launch.path_traffic import Mood, PathTraffic
from tb.support.deep_values import thorough_but
from tb.support.dispatch_configs import Observers, config_of, soon
from tb.support.loop_books import LOOP_EVENTS
from tb.support.planted import plant
from warploom.launch import LaunchCheck, LaunchPath
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import LaunchPath as Model
from warploom_golden.launch import launch_path
from warploom_sim.cosim.lockstep import Case, Context, LockstepError, run
from warploom_sim.cosim.lockstep.events import require

#: Configurations; SMs are lost soon.
SMALL = soon("tiny,stream_bits=2,loop_templates=0")
LOOPS = soon("tiny,stream_bits=2")
CONFIGS = (
    SMALL,
    soon("tiny"),
    soon("tiny,queue_depth=1"),
    soon("tiny,queue_depth=2,stream_bits=2,sms=3,launch_waits=4"),
    soon("tiny,policy=freed_first,reclaim=in_order,launch_waits=0"),
    "tiny,sm_kill=False",
    soon("tiny,index_memory_warps=0"),
    soon("tiny,stream_bits=1,priority_bits=1,launch_waits=1,sms=1"),
    soon("default"),
    LOOPS,
    soon("tiny,queue_depth=1,launch_waits=4,loop_templates=4,loop_sections=1"),
)
MOODS = {
    "usual": Mood(),
    "crowded": Mood(launch=0.8, lengths=(1, 1, 2), take=0.6, wait=0.1),
    "reset": Mood(reset=0.002),
    "lossy": Mood(mute=0.02, abort_streams=0.003, clear=0.1, reset=0.001),
    "fault": Mood(fault=0.02, limits=(0, 60, 300)),
    "preempted": Mood(preempt=0.03, resume=0.05, launch=0.3, shapes=9, large=0.5),
    "everything": Mood(
        launch=0.3,
        preempt=0.01,
        abort=0.01,
        mute=0.003,
        fault=0.01,
        reset=0.0005,
        shapes=9,
        limits=(0, 0, 100),
    ),
}
#: Cycles in which everything that is here comes to its end; and with nothing new at least.
ENDS, QUIET = 60_000, 50
#: Rounds of so many cycles after which a case that has not happened is said to happen never.
ROUND, MOST = 2000, 40
#: Cases that happen.
NAMES = (
    *("offers", "kill", "killed", "restarts", "PREEMPT's records"),
    *("FINISHED 0", "ABORTED 0"),
    *(f"FAILED {code}" for code in (14, 17, 18, 27)),
    *(f"answer {code}" for code in (0, 1, 13, 14, 29, 55, 56)),
    *("PREEMPT 0", "PREEMPT 46", "RESUME 0", "RESUME 47", "ABORT_STREAMS 0"),
    *("ABORT 0", "ABORT 45"),
)
NEAR_THE_WRAPS = {
    "first_ticket": (1 << 32) - 20,
    "first_clock": (1 << 32) - 1000,
    "first_count": (1 << 32) - 10,
    "first_number": (1 << 32) - 5,
}


def make(config, **first):
    """Make a LaunchPath and its model."""
    chosen = config_of(config)
    return LaunchPath(chosen, **first), Model(chosen, **first)


class PathHost:
    """`PathTraffic`, anew after each reset. Option ``mood``: one of `MOODS`."""

    def __init__(self, context: Context):
        self._config = config_of(context.params["config"])
        self._mood, self._rng = MOODS[context.options["mood"]], context.rng
        self._first = context.params.get("first_count", 0)
        self._till = context.case.cycles
        self._ports = context.ports.inputs

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        if outputs is None:
            rng = Random(self._rng.getrandbits(64))
            self._traffic = PathTraffic(self._config, self._mood, rng, self._till, self._first)
        values = self._traffic.next(outputs)
        return {name: values[name] for name in self._ports}


class Books:
    """The ledger, anew after each reset."""

    FIRST: Mapping[str, int] = {}

    def __init__(self, config):
        self._config, self._seen = config, Counter()
        self.reset()

    def see(self, cycle, inputs, outputs):
        """Take in a cycle."""
        del cycle
        self._ledger.see(inputs, outputs)

    def reset(self):
        """Forget all but the counts."""
        first = {name: value for name, value in self.FIRST.items() if name != "first_clock"}
        self._ledger = PathLedger(self._config, seen=self._seen, **first)

    def counts(self):
        """Return how often each kind of thing happened."""
        return dict(self._seen)


class LateBooks(Books):
    """The same of a machine near its wraps."""

    FIRST = NEAR_THE_WRAPS


BOOKS, LATE_BOOKS = Observers(Books), Observers(LateBooks)
#: What a soft reset withdraws, as a reset does.
_RESTARTED = "a soft reset forgets it"


def case(config, seed, cycles, mood="everything", resets=2, **first):
    """Return a run of RTL and model in random surroundings, with the books beside it.

    ``first`` is nothing or `NEAR_THE_WRAPS`.
    """
    chosen = config_of(config)
    books = "LATE_BOOKS" if first else "BOOKS"
    streams = [f"report__{n}" for n in range(chosen.sms)]
    streams += ["launch", "command", "abort", "clear_stream"]
    streams += ["data", "read"] * chosen.makes_indices + ["order_swap"] * chosen.has_order_table
    return Case(
        make=make,
        params={"config": config, **first},
        seed=seed,
        cycles=cycles,
        resets=resets,
        stimulus=PathHost,
        options={"mood": mood},
        events={"books": f"{__name__}:{books}.{config}"},
        withdrawable=dict.fromkeys(streams, _RESTARTED),
    )


def play(config, mood, seed, cycles):
    """Run the model alone in its surroundings until all has ended; the ledger looks on.

    Returns
    -------
    Counter
        How often each kind of thing happened.
    """
    chosen, outputs, seen = config_of(config), None, Counter()
    model, books = Model(chosen), PathLedger(chosen, seen=seen)
    around = PathTraffic(chosen, MOODS[mood], Random(seed), cycles)
    for cycle in range(cycles + ENDS):
        inputs = around.next(outputs)
        outputs = model.outputs(inputs)
        books.see(inputs, outputs)
        if cycle > cycles + QUIET and outputs["idle"] and not books.open:
            return seen
        model.tick(inputs)
    raise AssertionError(f"it does not end: {[one.ticket for one in books.open]}")


@pytest.mark.parametrize("config", CONFIGS)
def test_the_rules_alone_keep_the_books(config, seed):
    play(config, "everything", seed, 300)


@pytest.mark.deep
@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("config", (*CONFIGS, "tiny,queue_depth=64", "tiny,launch_waits=0"))
def test_the_rules_alone_keep_the_books_for_long(config, mood, seed):
    for number in range(4):
        play(config, mood, f"{seed}/{number}", 4000)


@pytest.mark.thorough
@pytest.mark.parametrize(("config", "names"), [(SMALL, NAMES), (LOOPS, (*NAMES, *LOOP_EVENTS))])
def test_every_hard_case_happens(config, names, seed):
    total = Counter()
    for number in range(MOST):
        total += play(config, "everything", f"{seed}/{number}", ROUND)
        if all(total[name] for name in names):
            break
    require(names, {name: total[name] for name in names})


#: A wrong rule each, and the part of the message that finds it.
WRONG = {
    "a mode that does not exist is accepted": (
        Rewrite(Model, "_pack_checked", "Mode.YIELD", "7"),
        r"answered \d+, not 56",
    ),
    "the dispatcher hears of no hold": (
        Rewrite(Model, "_to_dispatcher", "return values", "return values | {'hold': 0}"),
        "a block of a held stream|beside that of",
    ),
    "the queue hears of no release that is needed": (
        Rewrite(launch_path, "_from_generator", 'indexed["needs_release"] or 0', "0"),
        "it does not end",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", WRONG)
def test_the_books_find_a_wrong_rule(monkeypatch, wrong, seed):
    change, says = WRONG[wrong]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError, match=says):
        for number in range(24):
            play(SMALL, "preempted", f"{seed}/{number}", ROUND)


@pytest.mark.rule("launch_path", 15)
@pytest.mark.parametrize("config", thorough_but([SMALL], [SMALL, LOOPS]))
def test_equals_its_model_on_amaranth(config, seed):
    run([case(config, seed, 400, "usual", resets=1, **NEAR_THE_WRAPS)], "amaranth")


@pytest.mark.deep
@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("config", CONFIGS)
def test_equals_its_model_for_long(config, mood, seed):
    run([case(config, seed + n, 10_000, mood) for n in range(2)], "verilator")


@pytest.mark.deep
def test_equals_its_model_on_icarus(seed):
    run([case(SMALL, seed, 1500, **NEAR_THE_WRAPS)], "icarus")


#: A wrong rule of the RTL each.
WRONG_RTL = {
    "waits travel at another pace than LaunchCheck": Rewrite(
        LaunchPath, "_launch", "moves.eq(~check.o.valid | check.o.ready)", "moves.eq(1)"
    ),
    "a refused launch takes another priority's entry": Rewrite(
        LaunchCheck, "_verdict", "_ANSWER", '("error", "argument")'
    ),
    "the queue hears of no release that is needed": Rewrite(
        LaunchPath,
        "_connect_generator",
        "queue.needs_release.eq(generator.needs_release)",
        "queue.needs_release.eq(0)",
    ),
    "the clock of the dispatcher stands": Rewrite(
        LaunchPath, "_connect_dispatcher", "dispatcher.clock.eq(low)", "dispatcher.clock.eq(0)"
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("wrong", WRONG_RTL)
def test_lockstep_finds_a_wrong_rule(monkeypatch, wrong, seed):
    plant(monkeypatch, [WRONG_RTL[wrong]])
    cases = [case(SMALL, seed + number, 2000, "crowded") for number in range(6)]
    with pytest.raises(LockstepError):
        run(cases, "amaranth", waves=False)
