"""FrontEnd beside a ledger that sees the bus and the SMs' ports alone."""

from collections import Counter

import pytest

from tb.host.booked_model import play
from tb.host.test_front_end import LOOPS, PROFILES, TINY, case, diligent
from tb.support.deep_values import deep_but, thorough_but
from tb.support.hard_cases import run_until
from tb.support.planted import plant
from warploom_dev.rewrite import Rewrite
from warploom_golden.host.loop_templates import Templates
from warploom_golden.launch.queue_parts import events
from warploom_golden.launch.queue_parts.packing import Packets
from warploom_golden.launch.record_queue import RecordQueue
from warploom_golden.oracles import LedgerError
from warploom_sim.cosim.lockstep.events import require

BOOKED = [
    f"host ledger: {what}"
    for what in (
        "commands",
        "blocks",
        "settled",
        "tickets read",
        "times",
        "waits",
        "records of PREEMPTs",
        "launches that began anew",
        "record says finished",
        "record says aborted",
        "record says failed",
    )
]
OF_LOOPS = [f"host ledger: {what}" for what in ("launches of loops", "quiet", "numbers")]


@pytest.mark.parametrize("config", thorough_but([TINY], [TINY, LOOPS]))
def test_the_model_keeps_the_books(config, seed):
    counts = play(config, seed, 2400).counts
    assert counts["host ledger: commands"] > 10
    assert counts["host ledger: blocks"] > 0


@pytest.mark.deep
@pytest.mark.parametrize(("config", "names"), [(TINY, BOOKED), (LOOPS, [*BOOKED, *OF_LOOPS])])
def test_ten_thousand_commands_keep_the_books(config, names, seed):
    total, number = Counter(), 0
    while total["host ledger: commands"] < 10_000:
        profile = PROFILES[number % len(PROFILES)]
        total.update(play(config, seed + number, 4000, profile).counts)
        number += 1
    require(names, total)


@pytest.mark.deep
def test_rtl_and_model_keep_the_books(seed):
    def cases(n):
        return [diligent(case(TINY, seed + 4 * n + k, 6000, p)) for k, p in enumerate(PROFILES)]

    run_until(BOOKED, cases, "verilator")


#: A wrong rule of the model with loops each, and the part of the message that finds it.
WRONG_WITH_LOOPS = {
    "no quiet launch has a record": (
        Rewrite(events, "_make_record", "launch.quiet and finished", "launch.quiet"),
        "has no record",
    ),
    "a quiet launch that finishes has one": (
        Rewrite(events, "_make_record", "launch.quiet and finished", "False"),
        "it is quiet",
    ),
    "a record has the number of the launch before": (
        Rewrite(Packets, "record", "launch.number", "(launch.number - 1)"),
        "in its stream",
    ),
    "steps are never added": (
        Rewrite(
            Templates,
            "_stepped",
            "before[number] + second[number] + carry",
            "before[number] + carry",
        ),
        "nobody rang it",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("rule", WRONG_WITH_LOOPS)
def test_the_ledger_finds_a_wrong_rule_of_loops(rule, seed, monkeypatch):
    change, says = WRONG_WITH_LOOPS[rule]
    plant(monkeypatch, [change])
    with pytest.raises(LedgerError, match=says):
        for number in range(12):
            play(LOOPS, seed + number, 4000)


#: A wrong rule of the model each, and the part of the message that finds it.
WRONG = {
    "the youngest record comes first": (
        Rewrite(RecordQueue, "_load", "self._held[0]", "self._held[-1]"),
        "made",
    ),
    "a head does not wait": (
        Rewrite(
            events,
            "_first_not_reached",
            "not is_reached(parts.rows[pair.stream].timeline, pair.until, COUNT_BITS)",
            "False",
        ),
        "did not wait",
    ),
}


@pytest.mark.parametrize("rule", deep_but(["the youngest record comes first"], WRONG))
def test_the_ledger_finds_a_wrong_rule(rule, seed, monkeypatch):
    change, says = WRONG[rule]
    plant(monkeypatch, [change])
    with pytest.raises(LedgerError, match=says):
        for number in range(12):
            play(TINY, seed + number, 4000)
