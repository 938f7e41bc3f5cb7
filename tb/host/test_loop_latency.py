"""How quickly loops' launches follow each other, at Mailbox's ports, beside the figures."""

import json
from pathlib import Path

import pytest

from tb.host.commands import a_write
from tb.host.looped_mailbox import Behind, LoopedMailbox, LoopedMailboxModel
from tb.host.test_loop_expander_rules import a_template_write
from tb.support.deep_values import thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from warploom_spec import timing
from warploom_spec.host_commands import Opcode

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "docs" / "figures" / "latency.json").read_text()
)
#: The figures, and the cycles at most.
MEASURED = {
    "loop_launch_interval": 18,
    "loop_launch_interval_several": 38,
    "loop_launch_interval_of_any": 26,
    "loop_doorbell_to_launch": 1 + 35,
    "loop_end_to_doorbell": 1 + 11,
}
CONFIG = config_of("default")
KINDS = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(LoopedMailbox, marks=pytest.mark.thorough, id="rtl"),
        pytest.param(LoopedMailboxModel, id="model"),
    ],
)
pytestmark = [KINDS, pytest.mark.xdist_group("looped_mailbox")]
#: Of a template whose arguments step by 0x1_0000_0004.
STEPS_ARGUMENTS = 1 << 2
#: Cycles from a launch to its answer.
ANSWER = 6
#: The first doorbell commits here, behind all other writes.
RUNG = 220


def template(slot):
    """Return the writes of a launch of one block whose arguments step."""
    first = {0: Opcode.LAUNCH, 6: 1, 7: 1 | 1 << 16, 8: 1, 11: STEPS_ARGUMENTS}
    writes = [a_template_write(slot, number, data) for number, data in first.items()]
    return [*writes, *(a_template_write(slot, n, data, steps=True) for n, data in ((3, 4), (4, 1)))]


def rung(loop, first, last, count):
    """Return the words of a LOOP with 200 launches in flight."""
    section = CONFIG.first_loop_section + loop
    words = {"T0": Opcode.LOOP, "T1": count, "T2": first | last << 8 | 200 << 16}
    return [a_write(section, name, data) for name, data in words.items()], section


def run(kind, loops, cycles, runs_for=20):
    """Run loops over (first slot, last slot, count); return the recording from RUNG on.

    Doorbells commit one a cycle, in RUNG and behind it.
    """
    writes = [write for slot in range(16) for write in template(slot)]
    bells = []
    for loop, slots in enumerate(loops):
        words, section = rung(loop, *slots)
        writes += words
        bells.append(a_write(section, "DOORBELL", 1))
    assert len(writes) < RUNG
    by_cycle = dict(enumerate(writes)) | dict(enumerate(bells, RUNG))
    host = Behind(CONFIG, by_cycle, ANSWER, runs_for)
    # The first cycle is -1.
    return record(made(kind, CONFIG), host, RUNG + cycles + 1)


def launches(seen):
    """Return the cycles of launches, from the first doorbell's commit on."""
    return [cycle - 1 - RUNG for cycle, _ in seen.transfers("launch")]


def demand(key, found):
    assert MEASURED[key] >= found == COMMITTED[key]


def gaps(cycles):
    return {b - a for a, b in zip(cycles, cycles[1:], strict=False)}


@pytest.mark.parametrize(
    ("key", "templates", "words"),
    [("loop_launch_interval", 1, 2), ("loop_launch_interval_several", 3, 22)],
)
def test_a_loop_alone(kind, key, templates, words):
    """In each iteration of one template two words change; of several all are written."""
    cycles = launches(run(kind, [(0, templates - 1, 12 // templates)], 600))
    assert len(cycles) == 12
    (interval,) = gaps(cycles)
    assert interval == timing(CONFIG).loop_launch_interval(words, ANSWER)
    demand(key, interval)


def test_all_loops_at_once(kind):
    """Of two templates each."""
    loops = [(2 * loop, 2 * loop + 1, 3) for loop in range(CONFIG.loop_sections)]
    cycles = launches(run(kind, loops, 1400))
    assert len(cycles) == 6 * CONFIG.loop_sections
    # The first launches come while the other loops begin.
    steady = cycles[CONFIG.loop_sections : -CONFIG.loop_sections]
    (interval,) = gaps(steady)
    assert interval == timing(CONFIG).loop_launch_interval_of_any
    demand("loop_launch_interval_of_any", interval)


def test_a_doorbell_to_the_first_launch(kind):
    """The figure is that of one template; each template more takes a cycle."""
    found = {n: launches(run(kind, [(0, n - 1, 1)], 80))[0] for n in (1, 2, 7)}
    assert found == {n: timing(CONFIG).loop_doorbell_to_launch(n) for n in found}
    demand("loop_doorbell_to_launch", found[1])


@pytest.mark.parametrize("templates", thorough_but([1], [1, 4]))
def test_a_last_end_to_the_doorbell(kind, templates):
    """The walker looks at its loop in every third cycle: the end comes in each of the three."""
    found = []
    for runs_for in range(30, 34):
        seen = run(kind, [(0, templates - 1, 1)], 90 + 40 * templates, runs_for)
        # In the cycle of `completed` the doorbell reads 0.
        (completed,) = seen.cycles("completed")
        found.append(completed - seen.cycles("loop_end")[-1])
    most = timing(CONFIG).loop_end_to_doorbell(templates)
    assert {*found} == {most - 2, most - 1, most}
    if templates == 1:
        demand("loop_end_to_doorbell", max(found))
