"""RecordQueue beside its model."""

from collections.abc import Mapping

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from warploom.launch.record_queue import RecordQueue
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import RecordQueue as Model
from warploom_sim.cosim.lockstep import Case, Context, LockstepError, Pace, run
from warploom_spec import queue_packets
from warploom_spec.queue import FinalFate, RecordKind

SMALL = "tiny,queue_depth=1"
RATES = (0.0, 0.05, 0.5, 1.0)


def make(config):
    return RecordQueue(config_of(config)), Model(config_of(config))


class Traffic:
    """Records while there is room, and pops; both at rates of their own, 0 and 1 among them.

    Parameters
    ----------
    context : Context
        Case, ports and randomness.
    """

    def __init__(self, context: Context):
        config = config_of(context.params["config"])
        self._rng = context.rng
        self._packet = queue_packets.final_record(config)
        self._most = config.records
        self._comes, self._pops = Pace(context.rng, RATES), Pace(context.rng, RATES)
        self._forget()

    def _forget(self) -> None:
        self._memory, self._shown = 0, False

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        if outputs is None:
            self._forget()
        room = self._memory + self._shown < self._most
        comes, pops = self._comes() and room, self._pops()
        stays = self._shown and not pops
        moves = bool(self._memory) and not stays
        self._memory += comes - moves
        self._shown = stays or moves
        fields = {field.name: self._rng.getrandbits(field.bits) for field in self._packet.fields}
        fields |= {"valid": int(comes)}
        if self._rng.random() < 0.9:
            fields |= {"fate": self._rng.choice(list(FinalFate))}
            fields |= {"kind": self._rng.choice(list(RecordKind))}
        return {"record": self._packet.pack(fields), "pop": int(pops)}


class Happenings:
    """Counts what the page speaks of, from ports alone."""

    def __init__(self):
        self._counts = dict.fromkeys(
            (
                "full",
                "a record comes and one is popped",
                "a record comes beside the first one that is shown",
                "popped while none is shown",
                "a record counts and none is shown",
                "back to back pops",
                *(f"fate {fate.name}" for fate in FinalFate),
            ),
            0,
        )
        self.full = 0
        self.reset()

    def reset(self):
        """Forget the cycle before."""
        self._took = False

    def counts(self):
        """Return how often each happened."""
        return dict(self._counts)

    def see(self, cycle, inputs, outputs):
        """Take in a cycle."""
        del cycle
        oldest, takes = outputs["oldest"], bool(outputs["record_taken"])
        comes = inputs["record"] & 1
        happened = {
            "full": outputs["records"] == self.full,
            "a record comes and one is popped": comes and inputs["pop"] and oldest,
            "a record comes beside the first one that is shown": comes and outputs["records"] == 1,
            "popped while none is shown": inputs["pop"] and not outputs["records"],
            "a record counts and none is shown": outputs["records"] and not oldest,
            "back to back pops": takes and self._took,
        }
        if takes:
            fate = oldest >> 40 & 7
            if fate < len(FinalFate):
                self._counts[f"fate {FinalFate(fate).name}"] += 1
        self._took = takes
        for name, it_did in happened.items():
            self._counts[name] += bool(it_did)


class SmallHappenings(Happenings):
    """Of `SMALL`."""

    def __init__(self):
        super().__init__()
        self.full = config_of(SMALL).records


class TinyHappenings(Happenings):
    """Of `tiny`."""

    def __init__(self):
        super().__init__()
        self.full = config_of("tiny").records


EVENTS = {SMALL: SmallHappenings, "tiny": TinyHappenings}


def case(config, seed, cycles=3000):
    events = {"happenings": EVENTS[config]} if config in EVENTS else {}
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Traffic,
        events=events,
    )


@pytest.mark.rule("record_queue", 1, 6)
@pytest.mark.parametrize("config", EVENTS)
def test_equals_its_model_and_hard_cases_happen(config, seed):
    run_until(tuple(Happenings().counts()), lambda n: [case(config, seed + n)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("default", seed + k, 1500) for k in range(2)], simulator)


#: A wrong rule of the model each.
WRONG = {
    "a pop without a record counts": Rewrite(
        Model, "tick", "bool(inputs['pop']) and self._shown is not None", "bool(inputs['pop'])"
    ),
    "the count is not late": Rewrite(
        Model, "tick", "len(self._memory) + (self._shown is not None)", "comes + len(self._memory)"
    ),
    "the oldest is the newest": Rewrite(
        Model, "tick", "self._memory.popleft()", "self._memory.pop()"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(SMALL, seed + k) for k in range(24)], "amaranth", waves=False)
