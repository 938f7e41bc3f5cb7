"""RecordQueue beside its model."""

from collections.abc import Mapping

import pytest

from tb.launch.test_record_queue_rules import LAUNCH_ORDER, LOOPS_LAUNCH_ORDER, PREEMPT_ORDER
from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from warploom.launch.record_queue import RecordQueue
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import RecordQueue as Model
from warploom_sim.cosim.lockstep import Case, Context, LockstepError, Pace, run
from warploom_spec import queue_packets
from warploom_spec.queue import RecordKind
from warploom_spec.resident_packets import record_word

LOOPS = "tiny,queue_depth=1"
SMALL = f"{LOOPS},loop_templates=0"
RATES = (0.0, 0.05, 0.5, 1.0)


def make(config):
    return RecordQueue(config_of(config)), Model(config_of(config))


class Traffic:
    """Words of records while there is room, and pops; both at rates of their own, 0 and 1 too.

    Parameters
    ----------
    context : Context
        Case, ports and randomness.
    """

    def __init__(self, context: Context):
        config = config_of(context.params["config"])
        self._rng = context.rng
        self._packet = record_word(config)
        self._most = config.records
        self._launch_order = LOOPS_LAUNCH_ORDER if config.has_loops else LAUNCH_ORDER
        self._comes, self._pops = Pace(context.rng, RATES), Pace(context.rng, RATES)
        self._forget()

    def _forget(self) -> None:
        self._held, self._words = 0, []

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        rng = self._rng
        if outputs is None:
            self._forget()
        comes, pops = self._comes(), self._pops()
        if not self._words and comes and self._held < self._most:
            self._words = self._record()
        fields = {"valid": 0, "last": 0, "word": 0, "data": 0}
        # Of a word that is not valid nothing counts. A record's words may have gaps.
        fields |= {"last": rng.getrandbits(1), "word": rng.getrandbits(3)}
        fields["data"] = rng.getrandbits(32)
        if self._words and rng.random() < 0.95:
            number, data = self._words.pop(0)
            fields = {"valid": 1, "last": int(not self._words), "word": number, "data": data}
        self._held += (fields["valid"] and fields["last"]) - (pops and self._held > 0)
        return {"record": self._packet.pack(fields), "pop": int(pops)}

    def _record(self) -> list[tuple[int, int]]:
        """Return number and bits of each word of a record at random."""
        rng = self._rng
        kind = rng.choice(list(RecordKind))
        order = self._launch_order if kind is RecordKind.LAUNCH else PREEMPT_ORDER
        words = {number: rng.getrandbits(32) for number in order}
        words[1] &= ~(7 << 11 | 0x7F << 25)
        words[1] |= kind << 11
        return list(words.items())


class Happenings:
    """Counts what the page speaks of, from ports alone."""

    NAMES = (
        "full",
        "a last word comes and one is popped",
        "popped while none is there",
        "popped before all words are loaded",
        "popped the cycle after it came",
        "back to back pops",
        "a PREEMPT's record",
        "a launch's word 3",
    )

    def __init__(self, config):
        self._full = config.records
        self._word = record_word(config)
        self._oldest = queue_packets.final_record_words(config)
        self._counts = dict.fromkeys(self.NAMES, 0)
        self.reset()

    def reset(self):
        """Forget the cycles before."""
        self._took, self._since, self._came = False, 0, False

    def counts(self):
        """Return how often each happened."""
        return dict(self._counts)

    def see(self, cycle, inputs, outputs):
        """Take in a cycle."""
        del cycle
        takes, pop = bool(outputs["record_taken"]), bool(inputs["pop"])
        comes = inputs["record"] & 3 == 3
        self._since = 0 if takes or not outputs["records"] else self._since + 1
        happened = {
            "full": outputs["records"] == self._full,
            "a last word comes and one is popped": comes and pop and outputs["records"],
            "popped while none is there": pop and not outputs["records"] and not self._came,
            "popped before all words are loaded": pop and 0 < self._since < 6,
            "popped the cycle after it came": pop and self._came and not outputs["records"],
            "back to back pops": takes and self._took,
            "a PREEMPT's record": outputs["oldest"] >> 43 & 7 == RecordKind.PREEMPT,
            "a launch's word 3": self._is_numbered(outputs["oldest"]),
        }
        self._took, self._came = takes, comes
        for name, it_did in happened.items():
            self._counts[name] += bool(it_did)

    def _is_numbered(self, oldest):
        """Say whether a launch's record shows a number; its kind is shown before its word 3."""
        return oldest >> 43 & 7 == RecordKind.LAUNCH and oldest >> 96 & 0xFFFFFFFF


class SmallHappenings(Happenings):
    """Of `SMALL`."""

    def __init__(self):
        super().__init__(config_of(SMALL))


class LoopsHappenings(Happenings):
    """Of `LOOPS`."""

    def __init__(self):
        super().__init__(config_of(LOOPS))


class TinyHappenings(Happenings):
    """Of `tiny`."""

    def __init__(self):
        super().__init__(config_of("tiny"))


EVENTS = {SMALL: SmallHappenings, "tiny": TinyHappenings, LOOPS: LoopsHappenings}


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


@pytest.mark.rule("record_queue", 1, 7)
@pytest.mark.parametrize("config", EVENTS)
def test_equals_its_model_and_hard_cases_happen(config, seed):
    numbered = "a launch's word 3"
    loops = config_of(config).has_loops
    names = [name for name in Happenings.NAMES if loops or name != numbered]
    total = run_until(names, lambda n: [case(config, seed + n)], "amaranth")
    assert bool(total[numbered]) == loops


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("default", seed + k, 1500) for k in range(2)], simulator)


#: A wrong rule of the RTL each.
WRONG = {
    name: Rewrite(RecordQueue, "elaborate", *change)
    for name, change in {
        "a pop without a record counts": ("ports.pop & held.any()", "ports.pop"),
        "the count is not late": ("ports.records.eq(held)", "ports.records.eq(held + comes)"),
        "a launch's words 3 and 4 are loaded": ("_PREEMPT_WORDS", "()"),
        "a word comes after its record was removed": ("reads & ~removed", "reads"),
    }.items()
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(SMALL, seed + k) for k in range(24)], "amaranth", waves=False)
