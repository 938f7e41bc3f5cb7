"""LaunchPath's soft reset and answers to stops, beside its model."""

from dataclasses import replace

import pytest

from tb.support.deep_values import deep_but
from tb.support.dispatch_cases import path_case
from tb.support.dispatch_configs import config_of, soon
from tb.support.hard_cases import run_until
from tb.support.path_stimulus import PathHost
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_sim.cosim.lockstep import run
from warploom_spec import host_packets, layouts, preset
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode

ANSWER = layouts.launch_answer(preset("tiny"))
STOP_ANSWER = host_packets.stop_answer(preset("tiny"))


def make(config):
    chosen = config_of(config)
    return LaunchPath(chosen, soft_reset=True), Model(chosen, soft_reset=True)


class SoftResets(PathHost):
    """The surroundings of LaunchPath, with soft resets at any time.

    No launch comes while ``soft_reset_active`` is 1, and ``restart`` follows a cycle with ``idle``
    = 1.
    """

    def __init__(self, context):
        super().__init__(context)
        self._active = self._restart = False

    def may_launch(self):
        return super().may_launch() and not self._active

    def next(self, outputs):
        if outputs is None or self._restart:
            self._active = self._restart = False
        elif self._active:
            self._restart = bool(outputs["idle"])
        elif not self.draining:
            self._active = self.rng.random() < 0.004
        values = super().next(outputs)
        return values | {"soft_reset_active": int(self._active), "restart": int(self._restart)}


class Happenings:
    """Counts what the page speaks of, from ports alone."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "soft resets",
                "soft resets that find nothing to do",
                "soft resets that wait for more than twenty cycles",
                "a launch is refused by a soft reset",
                "a record stands in the cycle of restart",
                "a record is taken in the cycle of restart",
                "an SM is lost in the cycle of restart",
                "a stop finds its launch",
                "a stop does not find its launch",
                "a stop is answered during a soft reset",
                "no room after a soft reset",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._active_for = 0
        self._restarted = False
        self._launched = False

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        restart, answer = inputs["restart"], ANSWER.unpack(outputs["answer"])
        stop = STOP_ANSWER.unpack(outputs["stop_answer"])
        record = restart and outputs["ended__valid"]
        happened = {
            "soft resets": restart,
            "soft resets that find nothing to do": restart and self._active_for == 1,
            "soft resets that wait for more than twenty cycles": restart and self._active_for > 20,
            "a launch is refused by a soft reset": answer["valid"]
            and answer["code"] == HostError.RESET,
            "a record stands in the cycle of restart": record and not inputs["ended__ready"],
            "a record is taken in the cycle of restart": record and inputs["ended__ready"],
            "an SM is lost in the cycle of restart": restart and outputs["lost"],
            "a stop finds its launch": stop["valid"] and not stop["code"],
            "a stop does not find its launch": stop["valid"]
            and stop["code"] == QueueCode.TICKET_UNKNOWN,
            "a stop is answered during a soft reset": stop["valid"] and inputs["soft_reset_active"],
            "no room after a soft reset": self._restarted and not outputs["room"],
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        assert not (inputs["launch__valid"] and inputs["soft_reset_active"]), (
            "no launch comes during a soft reset"
        )
        self._active_for = self._active_for + 1 if inputs["soft_reset_active"] else 0
        self._restarted = bool(restart)


#: What a soft reset withdraws, as a reset does.
WITHDRAWN = "a restart withdraws what a reset withdraws"


def case(config, profile, seed, cycles=8000, **options):
    made = path_case(config, profile, seed, cycles)
    chosen = config_of(made.params["config"])
    streams = [f"offer__{n}" for n in range(chosen.sms)] + ["data"] * chosen.makes_indices
    return replace(
        made,
        make=make,
        stimulus=SoftResets,
        options={**made.options, **options},
        withdrawable=dict.fromkeys(streams, WITHDRAWN),
        events={"happenings": Happenings},
        resets=2,
    )


def cases(config, seed, cycles=8000):
    # One configuration, one build.
    config = soon(config)
    return [
        case(config, "mixed", seed, cycles, varied=True),
        case(config, "sm_loss", seed, cycles),
        # The host takes records rarely: they stand in their queue over a soft reset.
        case(config, "few_stops", seed, cycles, varied=True, hoard=True, busy=True),
    ]


def test_equals_its_model_and_hard_cases_happen(seed):
    names = Happenings().counts()
    run_until(names, lambda n: cases("tiny,sms=3", seed + n, 3500), "verilator")


@pytest.mark.parametrize("simulator", deep_but(["amaranth"], ["icarus", "amaranth"]))
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny", "mixed", seed, 2000, varied=True)], simulator)
