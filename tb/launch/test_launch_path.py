"""LaunchPath beside its model in random surroundings; its books are right, cases happen."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest

from tb.launch.path_ledger import PathLedger
from tb.launch.path_traffic import Mood, PathTraffic
from tb.support.dispatch_configs import Observers, config_of, soon
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_sim.cosim.lockstep import Case, Context, run

#: Configurations; SMs are lost soon.
SMALL = soon("tiny,stream_bits=2")
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
#: Cycles in which everything that is here comes to its end.
ENDS = 8000
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


@pytest.mark.rule("launch_path", 15)
def test_equals_its_model_on_amaranth(seed):
    run([case(SMALL, seed, 400, "usual", resets=1, **NEAR_THE_WRAPS)], "amaranth")


@pytest.mark.deep
@pytest.mark.parametrize("mood", MOODS)
@pytest.mark.parametrize("config", CONFIGS)
def test_equals_its_model_for_long(config, mood, seed):
    run([case(config, seed + n, 10_000, mood) for n in range(2)], "verilator")


@pytest.mark.deep
def test_equals_its_model_on_icarus(seed):
    run([case(SMALL, seed, 1500, **NEAR_THE_WRAPS)], "icarus")
