"""ExecutionUnit beside its model, cycle by cycle."""

import pytest

from tb.host.core_behaviour import Cores, Runs
from tb.support.deep_values import OTHER_SIMULATORS, deep_but, thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from warploom.host.execution_unit import ExecutionUnit
from warploom_golden.host import ExecutionUnit as Model
from warploom_sim.cosim.lockstep import Case, run
from warploom_spec import host_packets
from warploom_spec.host_errors import HostError

TIMEOUT = 12
SHORT = f"tiny,core_timeout={TIMEOUT}"
WIDE = "default,core_timeout=60"
CONFIG = config_of(SHORT)
RUN, START = host_packets.unit_run(CONFIG), host_packets.core_start(CONFIG)
ERROR = host_packets.unit_error(CONFIG)


def make(config):
    return ExecutionUnit(config_of(config)), Model(config_of(config))


class Environment:
    """A legal mailbox, cores that do anything, and results at any time."""

    def __init__(self, context):
        config = config_of(context.params["config"])
        self._runs = Runs(config, context.case)
        self._cores = Cores(config, context.case.rng("cores"))
        self._results = context.driver("cores__result")

    def next(self, outputs):
        cores = self._cores.next(outputs)
        levels = cores["cores__arrived"] | cores["cores__failed"]
        return cores | self._runs.next(outputs, levels) | self._results.next(outputs)


class Tasks:
    """Counts what tasks go through, from ports alone. ``timeout`` is the configuration's."""

    timeout = TIMEOUT
    cores = 4

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "task ends well",
                "several cores fail in the first cycle of a failure",
                "time-out",
                "time-out while a start stands",
                "arrival in the last cycle before the time-out",
                "level rises in the cycle after the time-out",
                "late arrival",
                "late arrival and reset in one cycle",
                "reset and run in one cycle",
                "reset while busy",
                "reset in the cycle in which a task ends",
                "reset while a core is missing",
                "reset while a start stands",
                "stray",
                "level of a core whose start is taken",
                "arrived and failed at once",
                "one part",
                "a part for each core",
                "primary core skipped",
                "result in the cycle of a reset",
                "result while idle",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._age = self._strays = 0
        self._ended = False
        self._started = self._arrived = 0
        self._failed = False

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        busy, missing, reset = outputs["busy"], outputs["missing"], inputs["reset"]
        levels, failed = inputs["cores__arrived"] | inputs["cores__failed"], inputs["cores__failed"]
        shown = (
            START.unpack(outputs["cores__start__payload"])["core"]
            if outputs["cores__start__valid"]
            else None
        )
        taken = 1 << shown if shown is not None and inputs["cores__start__ready"] else 0
        arrives = levels & self._started & ~self._arrived if busy else 0
        error = ERROR.unpack(outputs["error"])
        all_before = busy and shown is None and self._started == self._arrived
        late = missing and not busy and levels & self._started & ~self._arrived
        for name, happened in {
            "task ends well": self._ended and error["code"] == HostError.OK,
            "several cores fail in the first cycle of a failure": (
                not self._failed and (arrives & failed).bit_count() > 1
            ),
            "time-out": self._ended and error["code"] == HostError.CORE_TIMEOUT,
            "time-out while a start stands": (
                self._ended and error["code"] == HostError.CORE_TIMEOUT and shown is not None
            ),
            "arrival in the last cycle before the time-out": arrives and self._age == self.timeout,
            "level rises in the cycle after the time-out": (
                arrives and self._age == self.timeout + 1
            ),
            "late arrival": outputs["cores__barrier_open"] and not outputs["done"],
            "late arrival and reset in one cycle": late and reset,
            "reset and run in one cycle": reset and inputs["run"],
            "reset while busy": reset and busy,
            "reset in the cycle in which a task ends": reset and all_before,
            "reset while a core is missing": reset and missing,
            "reset while a start stands": reset and shown is not None and not taken,
            "stray": outputs["strays"] > self._strays,
            "level of a core whose start is taken": taken & levels,
            "arrived and failed at once": arrives & inputs["cores__arrived"] & failed,
            "result in the cycle of a reset": reset and busy and inputs["cores__result__valid"],
            "result while idle": not busy and inputs["cores__result__valid"],
        }.items():
            self.counts_of[name] += bool(happened)
        self._see_run(RUN.unpack(inputs["run"]))
        self._strays = outputs["strays"]
        self._ended = bool(outputs["done"])
        self._failed |= bool(arrives & failed)
        self._arrived |= arrives | (late or 0)
        self._started |= taken
        self._age += 1
        if inputs["run"]:
            self._age = self._started = self._arrived = 0
            self._failed = False

    def _see_run(self, fields):
        if not fields["valid"]:
            return
        parts = fields["parts"]
        self.counts_of["one part"] += parts == 1
        self.counts_of["a part for each core"] += parts == self.cores
        self.counts_of["primary core skipped"] += fields["skip_primary"]


class WideTasks(Tasks):
    """The same for `WIDE`."""

    timeout = 60
    cores = 32


def case(config, seed, cycles=6000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Environment,
        withdrawable={"cores__start": "a reset of the unit withdraws a start that stands"},
        events={"tasks": WideTasks if config == WIDE else Tasks},
    )


#: What comes to one cycle of a time-out is seldom where the time-out is long.
SELDOM = (
    "arrival in the last cycle before the time-out",
    "level rises in the cycle after the time-out",
    "late arrival and reset in one cycle",
    "reset in the cycle in which a task ends",
)


@pytest.mark.parametrize(
    ("config", "seldom"), deep_but([], [(SHORT, ()), (WIDE, SELDOM)], thorough=[(SHORT, ())])
)
def test_equals_its_model_and_hard_cases_happen(config, seldom, seed):
    names = Tasks().counts().keys() - set(seldom)
    run_until(names, lambda n: [case(config, seed + 2 * n + k) for k in range(2)], "amaranth")


@pytest.mark.parametrize(
    "config",
    thorough_but(
        ["tiny,core_timeout=1"],
        [
            "tiny",
            "default",
            *(f"tiny,{odd}" for odd in ("core_timeout=0", "core_timeout=1")),
            f"{SHORT},cores_per_unit=1",
            f"{SHORT},cores_per_unit=2",
        ],
    ),
)
def test_equals_its_model_in_odd_configurations(config, seed):
    run([case(config, seed + k, 1500) for k in range(2)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(SHORT, seed + k, 2500) for k in range(2)], simulator)
