"""The ledger: it accepts what the model does, and finds every kind of wrong entry."""

from collections import Counter
from dataclasses import replace

import pytest

from tb.support.dispatch_cases import dispatcher_case
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.dispatch import place as place_module
from warploom_golden.dispatch.reports import Reports
from warploom_golden.dispatch.sm.sm import Sm
from warploom_golden.oracles import Ledger, LedgerError
from warploom_golden.oracles import ledger as ledger_module
from warploom_golden.oracles import ledger_places as places_module
from warploom_golden.oracles.ledger import RARE
from warploom_sim.cosim.lockstep import Ports
from warploom_sim.cosim.lockstep.checker import Checker
from warploom_spec import STALL_CAUSES, Fate, layouts, timing

CONFIG = "tiny,policy=round_robin,kill_timeout=16"
TINY = config_of(CONFIG)
#: Runs after which what has not happened is said to happen never.
MOST = 40
OFFER, RECORD = layouts.block_offer(TINY), layouts.dispatch_end(TINY)


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


@pytest.mark.parametrize("profile", ["no_stops", "mixed", "sm_loss"])
def test_the_model_keeps_its_books(profile, seed):
    demanded = {"ledger: blocks ok": 50}
    if profile == "no_stops":
        demanded |= {"ledger: fate finished": 10, "ledger: nothing open": 1}
    # A mixed run may be stopped again and again.
    runs = ((dispatcher_case(CONFIG, profile, seed + n),) for n in range(MOST))
    books_of(runs, demanded)


def books_of(rounds, demanded):
    """Run cases of the right model, a round after the other, until enough has happened."""
    counts = Counter()
    for cases in rounds:
        for case in cases:
            outcome = watch(case)
            assert outcome.failure is None, outcome.failure.problems
            counts += Counter(outcome.counts)
        if all(counts[name] >= least for name, least in demanded.items()):
            return
    raise AssertionError(f"{demanded} did not happen: {counts}")


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
    outputs["kill"] ^= 1
    return True


def lose_at_will(inputs, outputs):
    outputs["lost"] |= 1
    return True


def other_words(inputs, outputs):
    outputs["words__0"] ^= 1 << 40
    outputs["words__1"] ^= 1 << 40
    return False


#: Change -> what the ledger says of it.
CHANGES = {
    "another block": (Held(lambda f: {"bx": f["bx"] ^ 1}), "want"),
    "another block's number": (
        Held(lambda f: {"block_number": f["block_number"] ^ 1}),
        "block_number",
    ),
    "another index address": (Held(lambda f: {"index_address": f["index_address"] ^ 1}), "indices"),
    "one slot for all": (Held(lambda f: {"slot": 0}), "the slot is held|free longest"),
    "another free slot": (Held(lambda f: {"slot": f["slot"] ^ 1}), "free longest|the slot is held"),
    "another place": (Held(lambda f: {"place": f["place"] ^ 1}), "block|open|words|place"),
    "an offer withdrawn": (Withdrawn(), "an offer was withdrawn"),
    "two offers at once": (Once(two_at_once), "block|offered in one cycle|held|free longest"),
    "a kill of nobody": (Once(kill_at_will), "a kill of|is not killed"),
    "an SM lost for nothing": (Once(lose_at_will), "lost is 1"),
    "other words": (Once(other_words), "words"),
    "a record lost": (
        Once(lose_a_record),
        "without a final record|given twice|a third launch is taken",
    ),
    "a record twice": (Again(), "which is not open"),
    "another fate": (ended(lambda f: {"fate": Fate.SKIPPED, "code": 0}), "fate SKIPPED"),
    "a cycle more": (ended(lambda f: {"cycles": (f["cycles"] + 1) % (1 << 32)}), "cycles"),
    "a next block": (ended(lambda f: {"next_x": 1}), "next block"),
    "another record's place": (ended(lambda f: {"place": f["place"] ^ 1}), "place"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_entry_is_found(change):
    apply, complaint = CHANGES[change]
    case = replace(
        dispatcher_case(CONFIG, "no_stops", 5, 2000),
        resets=0,
        withdrawable=dict.fromkeys(
            ("offer__0", "ended"), "the ledger is to find it, not the check of streams"
        ),
    )
    failure = watch(case, apply).failure
    assert failure is not None, f"{change} was not found"
    assert any(part in failure.problems[0] for part in complaint.split("|")), failure.problems[0]


def demand_complaint(parts, seed, profile="mixed"):
    """Run a wrong model until the ledger says one of some things of it: at once, or after a few.

    A single run may not meet the rule; no seed has `MOST` of them that do not.
    """
    said = set()
    for n in range(MOST):
        failure = watch(dispatcher_case(CONFIG, profile, seed + n)).failure
        said |= {failure.problems[0]} if failure else set()
        if any(part in problem for part in parts for problem in said):
            return
    raise AssertionError(f"the ledger says nothing of {parts} but {said}")


#: A constant of `timing` that the ledger has a cycle off, and what it then says of the model.
TIMES = {
    ("stop", -1): "is not killed|after the launch was stopped",
    ("stop", 1): "unasked",
    ("fault", -1): "is not killed|after the launch was stopped",
    ("fault", 1): "unasked",
    ("loss", -1): "lost is",
    ("loss", 1): "lost is",
    ("loss_kill", -1): "is not killed|after the launch was stopped",
    ("loss_kill", 1): "unasked",
    ("offer", -1): "after the launch was stopped|is disabled",
}


@pytest.mark.parametrize(("constant", "wrong"), TIMES)
def test_it_holds_when_things_count(constant, wrong, monkeypatch, seed):
    off = replace(timing(TINY), **{constant: getattr(timing(TINY), constant) + wrong})
    for module in (ledger_module, places_module):
        monkeypatch.setattr(module, "timing", lambda config: off)
    profile = "frequent_sm_loss" if constant.startswith("loss") else "mixed"
    demand_complaint(TIMES[constant, wrong].split("|"), seed, profile)


def test_it_holds_that_a_report_comes_after_its_offer_was_taken(monkeypatch, seed):
    """A model that takes reports of offers that stand, too, frees what the ledger holds."""
    real = Reports._counts

    def hasty(self, sm, payload, errors):
        standing = sm.standing
        slot = self._packet.unpack(payload)["slot"]
        if standing is not None and standing.slot == slot and not sm.lost:
            sm.running.setdefault(slot, standing)
        return real(self, sm, payload, errors)

    monkeypatch.setattr(Reports, "_counts", hasty)
    # In most runs this model dies of a slot that it freed twice before the ledger sees one.
    demand_complaint(["LedgerError"], seed, "kill_bursts")


def test_it_holds_that_no_sm_is_over_committed(monkeypatch, seed):
    """A model that forgets what one block in eight takes is caught."""
    real, count = Sm.take, iter(range(10**9))

    def forgetful(self, block):
        if next(count) % 8:
            real(self, block)

    monkeypatch.setattr(Sm, "take", forgetful)
    demand_complaint(["over-committed", "is held"], seed, "no_stops")


def test_it_holds_which_slot_is_given(monkeypatch, seed):
    """A model that gives the slot freed last is caught."""

    def give(self, block):
        self.blocks.remove(block)
        self.free_slots.appendleft(block.slot)
        self.held[block.place.number] -= 1
        for n, amount in enumerate(block.place.need.amounts):
            self.free[n] += amount

    monkeypatch.setattr(Sm, "give", give)
    demand_complaint(["free longest"], seed, "no_stops")


def test_it_holds_what_a_killed_block_makes_of_its_launch(monkeypatch, seed):
    """A model in which a launch with a killed block may finish is caught."""
    real = place_module.Place.judge

    def lenient(self):
        killed, self.any_killed = self.any_killed, False
        verdict = real(self)
        self.any_killed = killed
        return verdict

    monkeypatch.setattr(place_module.Place, "judge", lenient)
    demand_complaint(["fate FINISHED"], seed, "dual_kill")


#: A stall counter's wrong rule in the model, and what the ledger says of it.
WRONG_STALLS = {
    "counts with a decision": (
        "chosen is not None or not self._may_decide()",
        "not self._may_decide()",
        "in a cycle with a decision",
    ),
    "counts with nothing to do": (
        'return {"order"} if candidate[1] else set()',
        'return {"order"}',
        "no block",
    ),
    "order counts beside others": (
        'causes.add("offer")',
        'causes |= {"offer", "order"}',
        "a head waits",
    ),
}


@pytest.mark.parametrize("wrong", WRONG_STALLS)
def test_it_holds_what_the_stall_counters_count(wrong, monkeypatch, seed):
    old, new, complaint = WRONG_STALLS[wrong]
    plant(monkeypatch, [Change(BlockDispatcher, "_causes", old, new)])
    demand_complaint([complaint], seed)


def test_it_holds_that_a_stall_counts_once(monkeypatch, seed):
    old, new = "(self._counters[cause] + 1)", "(self._counters[cause] + 2)"
    plant(monkeypatch, [Change(BlockDispatcher, "_count_stalls", old, new)])
    demand_complaint(["stall counters moved by"], seed)


@pytest.mark.thorough
def test_rare_cases_are_counted(seed):
    profiles = ("mixed", "sm_loss", "dual_kill", "frequent_sm_loss")
    rounds = (
        [dispatcher_case(CONFIG, profile, seed + n, 6000) for profile in profiles]
        for n in range(MOST)
    )
    books_of(rounds, dict.fromkeys(RARE, 1))


def idle(**changes):
    """Return inputs and outputs of a dispatcher of two SMs on which nothing happens."""
    inputs = {"enable": 0, "stop": 0, "launch__valid": 0, "ended__ready": 0}
    inputs |= {f"offer__{n}__ready": 0 for n in range(2)}
    inputs |= {f"report__{n}__valid": 0 for n in range(2)}
    outputs = {"lost": 0, "kill": 0, "launch__ready": 1, "ended__valid": 0}
    outputs |= {f"offer__{n}__valid": 0 for n in range(2)}
    outputs |= {f"stall_{cause}": 0 for cause in STALL_CAUSES}
    return inputs, outputs | changes


def test_an_error_names_the_cycle():
    ledger = Ledger(TINY)
    ledger.see(6, *idle())
    with pytest.raises(LedgerError, match="ledger, cycle 7: SM 0: lost is 1"):
        ledger.see(7, *idle(lost=1))
