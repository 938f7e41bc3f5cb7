"""The host's ledger: it accepts what the whole core's model does, and finds every wrong entry."""

from collections import Counter
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest

from tb.host.test_front_end import TINY, case, diligent
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom_golden.dispatch import returns
from warploom_golden.host import FrontEnd
from warploom_golden.host.mailbox_launches import LaunchSide
from warploom_golden.launch import LaunchPath
from warploom_golden.oracles.block_state import LedgerError, State
from warploom_golden.oracles.host_blocks import HostBlocks
from warploom_golden.oracles.host_launch import HeldBlock, Launch
from warploom_sim.cosim.lockstep import Ports
from warploom_sim.cosim.lockstep.checker import Checker
from warploom_sim.cosim.lockstep.events import require
from warploom_spec import layouts
from warploom_spec.errors import BlockStatus
from warploom_spec.host_commands import Opcode
from warploom_spec.host_map import template_address, template_numbers
from warploom_spec.resident_packets import resident_block

BLOCK, WORDS = resident_block(config_of(TINY)), layouts.launch_words(config_of(TINY))


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


def books(profile="no_stops", seed=1, cycles=2500):
    """Return a run without a reset but its last cycle's: everything is settled some times."""
    return replace(diligent(case(TINY, seed, cycles, profile)), resets=0)


@pytest.mark.thorough
def test_the_model_keeps_its_books():
    total = Counter()
    for profile in ("mixed", "sm_loss"):
        for seed in range(3, 7):
            outcome = watch(books(profile, seed))
            assert outcome.failure is None, outcome.failure
            total.update(outcome.counts)
    require([name for name in total if name.startswith("host ledger")], total)


def offers(field):
    """Flip a field's lowest bit in every offer."""

    def change(cycle, inputs, outputs):
        if outputs["offer"]:
            outputs["block"] ^= 1 << BLOCK.offsets[field]

    return change


def words(field):
    """Flip a field's lowest bit in the launch words."""

    def change(cycle, inputs, outputs):
        if outputs["offer"]:
            outputs["words"] ^= 1 << WORDS.offsets[field]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (offers("bx"), "want"),
        (offers("block_number"), "block_number"),
        (words("code"), "nobody rang it"),
        (words("gx"), "nobody rang it|of"),
    ],
    ids=["bx", "block_number", "code", "gx"],
)
def test_wrong_ports_are_found(change, message):
    assert found(books(), message, change)


def found(run, message, change=lambda cycle, inputs, outputs: None):
    """Watch a run that must fail by the ledger, with one of the messages."""
    failure = watch(run, change).failure
    assert failure is not None and "host ledger" in str(failure), failure
    return any(one in str(failure) for one in message.split("|"))


WRONG = {
    "a record is shown again": (
        Change(FrontEnd, "_path_inputs", '"pop": registers["pop"]', '"pop": 0'),
        "has two records|made",
    ),
    "records are lost": (
        Change(LaunchPath, "tick", '"record": now.queue["record"] or 0', '"record": 0'),
        "has no record",
    ),
    "a host is given a ticket that nobody has": (
        Change(
            LaunchSide,
            "take_answers",
            '"RESULT0": launch["ticket"]',
            '"RESULT0": 999',
        ),
        "has no record",
    ),
    "a fault is none": (
        Change(returns, "_report", "turn.status is BlockStatus.FAULT", "False"),
        "a block after the last one",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_of_the_model_is_found(name, monkeypatch):
    change, message = WRONG[name]
    plant(monkeypatch, [change])
    profile = "mixed" if "fault" in name else "no_stops"
    messages = message.split("|")
    assert any(found_or_none(books(profile, seed), messages) for seed in range(1, 4))


def found_or_none(run, messages):
    """Tell whether the ledger finds it in a run; one may be too short for it."""
    failure = watch(run).failure
    return failure is not None and any(message in str(failure) for message in messages)


def test_an_overcommitted_sm_is_found():
    """The ledger counts with SMs that have room for two warps, the model with 16."""
    run = books()
    smaller = f"tb.support.dispatch_configs:HOST_LEDGERS.{TINY},warp_slots=2"
    assert found(replace(run, events={"ledger": smaller}), "over-committed")


def slot_used_twice(ledger, gap):
    """Let an SM report its empty slot 1, get a block there after so many cycles, and a second."""
    ledger._bus = SimpleNamespace(see=lambda *_: (), asked={"aw": ()})
    config = config_of(TINY)
    words = WORDS.pack({**dict.fromkeys(WORDS.offsets, 0), "ticket": 1, "gx": 2, "gy": 1, "gz": 1})
    offers = {20 + gap: 0, 60: 1}
    for cycle in range(61):
        number = offers.get(cycle, 0)
        fields = {**dict.fromkeys(BLOCK.offsets, 0), "slot": 1, "bx": number}
        block = BLOCK.pack({**fields, "block_number": number})
        outputs = {"offer": int(cycle in offers), "kill": 0, "block": block, "words": words}
        inputs = {f"report__{n}__valid": int((n, cycle) == (0, 20)) for n in range(config.sms)}
        report = layouts.block_report(config).pack({"slot": 1, "status": 0})
        inputs |= {f"report__{n}__payload": report for n in range(config.sms)}
        outputs |= {f"report__{n}__ready": 1 for n in range(config.sms)}
        ledger.see(cycle, inputs, outputs)


@pytest.mark.parametrize(("gap", "legal"), [(1, True), (5, True), (6, False), (-1, True)])
def test_a_report_shortly_before_an_offer_may_be_that_blocks_and_no_earlier_one(gap, legal):
    """With two SMs a report may wait so long that a block offered 5 cycles behind it is found."""
    if legal:
        slot_used_twice(HostBlocks(config_of(TINY)), gap)
    else:
        with pytest.raises(LedgerError, match="cycle 60: SM 0, slot 1, ticket 1: the slot is held"):
            slot_used_twice(HostBlocks(config_of(TINY)), gap)


@pytest.mark.parametrize(("known", "is_loops"), [({}, True), ({"gx": 1}, False)])
def test_a_command_of_which_little_is_known_is_not_taken_for_a_loops_launch(known, is_loops):
    """A loop over a template of zeros launches once; a host's launch has a field more, or none."""
    ledger, gx = HostBlocks(config_of(TINY)), known.get("gx", 0)
    ledger._rung = [dict(known)]
    for second, number in product((False, True), template_numbers(config_of(TINY))):
        ledger._loops.write(template_address(0, number, steps=second), 0)
    ledger._loops.ring(0, [int(Opcode.LOOP), 1, 0])
    launch = Launch(1, {**dict.fromkeys(WORDS.offsets, 0), "ticket": 1, "gx": gx})
    ledger._match(launch)
    assert launch.need is not None
    assert (ledger._rung, not list(ledger._loops.candidates())) == ([known] * is_loops, is_loops)


#: Statuses of an early report and of the block's own; whether the launch surely is whole, may be
#: whole, may have failed.
DOUBTS = {
    "no early report": (None, BlockStatus.OK, (True, True, False)),
    "an early one that says the same": (BlockStatus.OK, BlockStatus.OK, (True, True, False)),
    "an early fault": (BlockStatus.FAULT, BlockStatus.OK, (False, True, True)),
    "an early ok": (BlockStatus.OK, BlockStatus.FAULT, (False, True, True)),
    "a fault alone": (None, BlockStatus.FAULT, (False, False, True)),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_an_early_report_of_another_status_leaves_a_doubt(case):
    """The dispatcher took one of the two for the block's own; nobody sees which."""
    early, own, said = DOUBTS[case]
    launch = Launch(1, dict.fromkeys(("gx", "gy", "gz"), 1))
    launch.states[State.OPEN] += 1
    HeldBlock(launch, 0, early).end(own, killed=False)
    assert (launch.is_whole, launch.may_be_whole, launch.may_have_failed) == said
