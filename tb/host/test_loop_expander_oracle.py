"""LoopExpander's model against a plain loop over the templates, and faults that this finds."""

import random

import pytest

from tb.host.loop_ledger import EVENTS, LoopLedger, plain_launches
from tb.host.loop_traffic import LoopTraffic
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom_golden.deferral.loop_expansion import expand
from warploom_golden.host.loop_expander import LoopExpander
from warploom_golden.host.loop_templates import Templates

TINY = "tiny"
DEFAULT = "default"
#: Three loops of five sections, and few slots.
ODD = "tiny,sections=5,loop_sections=3,loop_templates=4,inline_args=2,priority_bits=1"
#: More than any run needs for a loop.
CYCLES_A_LOOP = 400


def run_loops(config, seed, loops):
    """Run the model with random loops until so many have ended; return the ledger."""
    model = LoopExpander(config_of(config))
    ledger = LoopLedger(config_of(config), knows_templates=True)
    traffic = LoopTraffic(config_of(config), lambda purpose: random.Random(f"{seed}/{purpose}"))
    outputs = None
    for cycle in range(CYCLES_A_LOOP * loops):
        inputs = traffic.next(outputs)
        outputs = model.outputs(inputs)
        ledger.see(cycle, inputs, outputs)
        model.tick(inputs)
        if ledger.loops == loops:
            return ledger
    raise AssertionError(f"{ledger.loops} of {loops} loops have ended")


@pytest.mark.parametrize("config", [TINY, pytest.param(ODD, marks=pytest.mark.thorough)])
def test_launches_are_those_of_a_plain_loop(config, seed):
    # Of few slots most are in use.
    assert run_loops(config, seed, 150).launches > 50


@pytest.mark.deep
@pytest.mark.parametrize("config", [TINY, DEFAULT, ODD])
def test_ten_thousand_loops_launch_what_a_plain_loop_does_and_hard_cases_happen(config, seed):
    ledger = run_loops(config, seed, 10_000)
    assert {name for name in EVENTS if not ledger.happened[name]} == set()


def test_two_plain_loops_agree(seed):
    """The ledger's, and the one that was written for groups of a message."""
    config, rng = config_of(DEFAULT), random.Random(seed)
    for _ in range(40):
        slots = [
            [rng.choice((0, 1, 0xFFFF_FFFF, rng.getrandbits(32))) for _ in range(64)]
            for _ in range(config.loop_templates)
        ]
        first, span, count = rng.randrange(64), rng.randint(1, 5), rng.randint(0, 6)
        last = (first + span - 1) % 64
        names = [(first + k) % 64 for k in range(span)]
        ours = plain_launches(config, lambda s, h, n, at=slots: at[s][32 * h + n], names, count)
        theirs = list(expand(slots, [4, count, first | last << 8]))
        launches = [words for _, words in ours]
        assert len(launches) == len(theirs) == count * span
        for mine, other in zip(launches, theirs, strict=True):
            assert mine == {number: other[number] for number in mine}


FAULTS = {
    "a carry is lost": [Change(Templates, "_stepped", " + carry", "")],
    "gy carries into gz": [
        Change(Templates, "_stepped", "self._fields[field] == (ROWS_WORD,)", "False")
    ],
    "an alternating field keeps its other value": [
        Change(Templates, "launch", "iteration % 2", "True")
    ],
    "one more launch is in flight": [
        Change(LoopExpander, "_decision", "in_flight < loop.in_flight", "True")
    ],
    "slots are not marked": [
        Change(LoopExpander, "_take_slots", "self._in_use.add(slot)", "pass"),
        Change(LoopExpander, "_end", "remove", "discard"),
    ],
    "slots are not given back": [Change(LoopExpander, "_end", "self._in_use.remove(slot)", "pass")],
    "QUEUE_FULL counts as accepted": [
        Change(
            LoopExpander, "_arrive", "loop.accepted + accepted", "loop.accepted + accepted + full"
        )
    ],
    "a launch that has failed stops nothing": [
        Change(LoopExpander, "_count", 'not end["finished"]', "False")
    ],
    "a refusal stops nothing": [Change(LoopExpander, "_arrive", "loop.stop(Stop.REFUSED)", "pass")],
    "LOOP_STOP stops nothing": [Change(LoopExpander, "_arrive", "loop.stop(Stop.HOST)", "pass")],
    "a host's write loses a word": [
        Change(LoopExpander, "_move", "not self._stands(cycle)", "True")
    ],
    "finished launches are not cleared": [
        Change(LoopExpander, "_take_slots", "loop.ended = loop.finished = 0", "loop.ended = 0")
    ],
    "a soft reset is not heard": [
        Change(LoopExpander, "tick", "off = active or self._shut", "off = False")
    ],
    "the template's opcode is kept": [
        Change(Templates, "launch", "words[0] & ~0xFF | Opcode.LAUNCH", "words[0]")
    ],
    "slots wrap to the second one": [
        Change(
            LoopExpander,
            "_next_launch",
            "% self._config.loop_templates",
            "% self._config.loop_templates or 1",
        )
    ],
    "a full queue is not asked again": [
        Change(
            LoopExpander,
            "_decision",
            "if seen.has_room else Does.NOTHING",
            "if False else Does.END",
        )
    ],
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_model_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, FAULTS[fault])
    with pytest.raises(AssertionError):
        run_loops(TINY, seed, 1000)
