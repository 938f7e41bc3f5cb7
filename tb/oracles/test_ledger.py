"""The ledger: it accepts what the model does, and finds every kind of wrong entry."""

from collections import Counter
from dataclasses import replace

import pytest

from tb.support.dispatch_cases import dispatcher_case, path_case
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.dispatch.sm.sm import Sm
from warploom_golden.oracles import Ledger, LedgerError
from warploom_golden.oracles import ledger as ledger_module
from warploom_golden.oracles.ledger import RARE
from warploom_golden.oracles.list_scheduler import CAUSES
from warploom_sim.lockstep import Ports
from warploom_sim.lockstep.checker import Checker
from warploom_spec import Fate, layouts, timing

CONFIG = "tiny,policy=round_robin,kill_timeout=12"
TINY = config_of(CONFIG)
OFFER, RECORD = layouts.block_offer(TINY), layouts.dispatch_end(TINY)
MASK = layouts.slot_mask(TINY)


class Blind:
    """A model that compares nothing, around the one whose outputs stand at the ports."""

    def __init__(self, model):
        self.model = model
        self.tick, self.reset = model.tick, model.reset

    def outputs(self, inputs):
        return dict.fromkeys(self.model.outputs(inputs))


def watch(case, change=lambda cycle, inputs, outputs: None):
    """Run a case with the model's outputs at the ports, changed, and the ledger beside it.

    Returns
    -------
    Outcome
        Its failure is the ledger's.
    """
    component, model = case.build()
    checker = Checker(case, Ports.of(component), Blind(model))
    cycle = 0
    while checker.running:
        outputs = {name: value or 0 for name, value in model.outputs(checker.inputs).items()}
        change(cycle, checker.inputs, outputs)
        checker.step(outputs)
        cycle += 1
    return checker.outcome


@pytest.mark.parametrize("make", [dispatcher_case, path_case])
@pytest.mark.parametrize("climate", ["calm", "wild", "lossy"])
def test_the_model_keeps_its_books(make, climate, seed):
    counts = Counter()
    for n in range(5):  # a wild run may be stopped again and again
        outcome = watch(make(CONFIG, climate, seed + n))
        assert outcome.failure is None, outcome.failure.problems
        counts += Counter(outcome.counts)
    assert counts["ledger: blocks completed"] > 50
    if climate == "calm":
        assert counts["ledger: fate finished"] > 10
        assert counts["ledger: nothing open"] > 0


class Once:
    """Change the outputs in the first cycle after 300 in which the change applies."""

    def __init__(self, change):
        self._change = change
        self.done = False

    def __call__(self, cycle, inputs, outputs):
        if cycle > 300 and not self.done:
            self.done = self._change(inputs, outputs)


class Held:
    """Change an offer's payload, in every cycle in which it stands."""

    def __init__(self, change):
        self._change = change

    def __call__(self, cycle, inputs, outputs):
        """Change the offers of SM 0 from cycle 300 on."""
        if cycle > 300 and outputs["offer__0__valid"]:
            fields = OFFER.unpack(outputs["offer__0__payload"])
            outputs["offer__0__payload"] = OFFER.pack(fields | self._change(fields))


def ended(change):
    """Change the fields of a final record that is taken."""

    def apply(inputs, outputs):
        if not (outputs["ended__valid"] and inputs["ended__ready"]):
            return False
        fields = RECORD.unpack(outputs["ended__payload"])
        outputs["ended__payload"] = RECORD.pack(fields | change(fields))
        return True

    return Once(apply)


def lose_a_record(inputs, outputs):
    taken = outputs["ended__valid"] and inputs["ended__ready"]
    if taken:
        outputs["ended__valid"] = 0
    return bool(taken)


class Withdrawn:
    """Take an offer back that was refused."""

    def __init__(self):
        self._refused = 0

    def __call__(self, cycle, inputs, outputs):
        if cycle > 300 and self._refused:
            outputs["offer__0__valid"] = 0
        self._refused = outputs["offer__0__valid"] and not inputs["offer__0__ready"]


class Again:
    """Show a final record a second time."""

    def __init__(self):
        self._last = None

    def __call__(self, cycle, inputs, outputs):
        if self._last is not None and cycle > 300 and not outputs["ended__valid"]:
            outputs["ended__valid"], outputs["ended__payload"] = 1, self._last
        elif outputs["ended__valid"] and inputs["ended__ready"]:
            self._last = outputs["ended__payload"]


def two_at_once(inputs, outputs):
    valid = [name for name in ("offer__0", "offer__1") if outputs[f"{name}__valid"]]
    if len(valid) != 1:
        return False
    other = "offer__1" if valid == ["offer__0"] else "offer__0"
    outputs[f"{other}__valid"] = 1
    outputs[f"{other}__payload"] = outputs[f"{valid[0]}__payload"]
    return True


def kill_at_will(inputs, outputs):
    outputs["kill__0"] = MASK.pack({"valid": 1, "mask": 1})
    return True


def other_words(inputs, outputs):
    outputs["words__0"] ^= 1 << 40
    outputs["words__1"] ^= 1 << 40
    return False


#: Change -> what the ledger says of it.
CHANGES = {
    "another block": (Held(lambda f: {"bx": f["bx"] ^ 1}), "want"),
    "another index address": (Held(lambda f: {"index_address": f["index_address"] ^ 1}), "indices"),
    "one slot for all": (Held(lambda f: {"slot": 0}), "the slot is held"),
    "another place": (Held(lambda f: {"place": f["place"] ^ 1}), "block|open|words"),
    "an offer withdrawn": (Withdrawn(), "an offer was withdrawn"),
    "two offers at once": (Once(two_at_once), "block|offered in one cycle|held"),
    "a kill of nobody": (Once(kill_at_will), "a kill of"),
    "other words": (Once(other_words), "words"),
    "a record lost": (Once(lose_a_record), "without a final record|given twice"),
    "a record twice": (Again(), "which is not open"),
    "another fate": (ended(lambda f: {"fate": Fate.SKIPPED, "code": 0}), "fate SKIPPED"),
    "a cycle more": (ended(lambda f: {"cycles": (f["cycles"] + 1) % (1 << 32)}), "cycles"),
    "a next block": (ended(lambda f: {"next_x": 1}), "next block"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_entry_is_found(change):
    apply, complaint = CHANGES[change]
    case = replace(
        dispatcher_case(CONFIG, "calm", 5, 2000),
        resets=0,
        withdrawable=dict.fromkeys(
            ("offer__0", "ended"), "the ledger is to find it, not the check of streams"
        ),
    )
    failure = watch(case, apply).failure
    assert failure is not None, f"{change} was not found"
    assert any(part in failure.problems[0] for part in complaint.split("|")), failure.problems[0]


@pytest.mark.parametrize("wrong", [-1, 1])
def test_it_holds_when_what_sms_send_counts(wrong, monkeypatch, seed):
    """With `timing.returns` a cycle off, the ledger and the model do not agree."""
    off = replace(timing(TINY), returns=timing(TINY).returns + wrong)
    monkeypatch.setattr(ledger_module, "timing", lambda config: off)
    failures = [watch(dispatcher_case(CONFIG, "wild", seed + n)).failure for n in range(4)]
    assert any(failure and "LedgerError" in failure.problems[0] for failure in failures)


def complaints(seed):
    """Return what the ledger says of the model in four wild runs."""
    failures = [watch(dispatcher_case(CONFIG, "wild", seed + n)).failure for n in range(4)]
    return " ".join(failure.problems[0] for failure in failures if failure)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [(-1, "a block after the launch was stopped"), (1, "which nobody stopped")],
)
def test_it_holds_when_a_stop_counts(wrong, complaint, monkeypatch, seed):
    """With `timing.stop` a cycle off, the ledger and the model do not agree."""
    off = replace(timing(TINY), stop=timing(TINY).stop + wrong)
    monkeypatch.setattr(ledger_module, "timing", lambda config: off)
    assert complaint in complaints(seed)


def test_it_holds_that_beside_a_kill_a_slot_is_seen_late(monkeypatch, seed):
    """A model that sees free slots at once is caught."""
    monkeypatch.setattr(Sm, "look", lambda sm, killing, decided: False)
    assert "the slot was not seen yet" in complaints(seed)


def test_it_holds_that_a_completion_comes_after_its_offer_was_taken(monkeypatch):
    """A model that takes completions from before, too, frees what the ledger holds."""
    monkeypatch.setattr(Sm, "ran", lambda sm, slot, cycle: sm.running(slot))
    assert "LedgerError" in "".join(complaints(seed) for seed in (1, 5, 9, 13))


#: A stall counter's wrong rule in the model, and what the ledger says of it.
WRONG_STALLS = {
    "counts with a decision": (" and chosen is None", "", "in a cycle with a decision"),
    "counts twice": ("counts[6] = int(", "counts[6] = 2 * int(", "stall counters moved by"),
    "counts with nothing to do": (
        "counts[0] = int(held",
        "counts[0] = 1 + 0 * int(held",
        "no block",
    ),
    "order counts beside others": (
        "counts[1 + resource] = ",
        "counts[0] = counts[1 + resource] = ",
        "a head waits",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_STALLS)
def test_it_holds_what_the_stall_counters_count(wrong, monkeypatch, seed):
    old, new, complaint = WRONG_STALLS[wrong]
    plant(monkeypatch, [Change(BlockDispatcher, "_count_stalls", old, new)])
    assert complaint in complaints(seed)


def test_rare_cases_are_counted(seed):
    counts = dict.fromkeys(RARE, 0)
    for n in range(3):
        for climate in ("wild", "lossy"):
            outcome = watch(dispatcher_case(CONFIG, climate, seed + n, 6000))
            assert outcome.failure is None, outcome.failure.problems
            for name in RARE:
                counts[name] += outcome.counts[name]
    assert all(counts.values()), counts


def test_an_error_names_the_cycle():
    with pytest.raises(LedgerError, match="ledger, cycle 7: SM 0 is found again"):
        ledger = Ledger(TINY)
        idle = {"enable": 0, "stop__valid": 0, "launch__valid": 0, "ended__ready": 0}
        idle |= {f"offer__{n}__ready": 0 for n in range(2)}
        idle |= {f"completion__{n}__valid": 0 for n in range(2)}
        idle |= {f"acknowledge__{n}": 0 for n in range(2)}
        still = {"lost": 1, "stop__ready": 1, "launch__ready": 1, "ended__valid": 0}
        still |= {f"kill__{n}": 0 for n in range(2)} | {f"offer__{n}__valid": 0 for n in range(2)}
        still |= {f"stall_{cause}": 0 for cause in CAUSES}
        ledger.see(6, idle, still)
        ledger.see(7, idle, still | {"lost": 0})
