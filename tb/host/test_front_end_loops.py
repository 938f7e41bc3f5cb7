"""FrontEnd with loops: templates and LOOP from the bus to the SMs, and back to the doorbell."""

import pytest

from tb.host.test_front_end_streams import Sms, offers, rings
from tb.support.dispatch_configs import config_of
from tb.support.front_end_script import play, read_of, read_section, write_to
from warploom.host.front_end import FrontEnd
from warploom_golden.host import FrontEnd as Model
from warploom_spec import layouts, queue_packets
from warploom_spec.host_commands import Opcode, template_words
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import template_address, template_numbers
from warploom_spec.queue import FinalFate

LOOPS = config_of("tiny,sections=3")
RTL = pytest.param(FrontEnd, marks=pytest.mark.thorough, id="rtl")
KINDS = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])
pytestmark = [KINDS, pytest.mark.xdist_group("front_end")]
WORDS, TEMPLATE = layouts.launch_words(LOOPS), template_words(LOOPS)
#: The field of a template that the arguments are.
ARGUMENTS = 1 << 2
#: The LOOP's doorbell commits here; the templates stand before.
RUNG = 120
#: Cycles from its commit to the first offer, with two slots: 2 + 16 words + 13 to LaunchPath, 27.
OFFERED = 58
#: Ways in which a loop's section ends.
OUTCOME = ("DOORBELL", "ERROR", "RESULT0", "RESULT1", "RESULT2", "RESULT3")


def template(cycle, slot, second=None, **fields):
    """Return the writes of a slot; ``second`` has words of its second half, by their numbers."""
    shape = {"opcode": Opcode.LAUNCH, "gx": 1, "gy": 1, "gz": 1, "dx": 1, "dy": 1, "dz": 1}
    words = TEMPLATE.pack(dict.fromkeys((f.name for f in TEMPLATE.fields), 0) | shape | fields)
    writes = [(template_address(slot, n), words[n]) for n in template_numbers(LOOPS)]
    for number, word in (second or {}).items():
        writes.append((template_address(slot, number, steps=True), word))
    return [(cycle + k, address, word) for k, (address, word) in enumerate(writes)]


def two_templates():
    """Return two of them: the arguments of the first one step, those of the second alternate.

    A launch of the second one waits for the one before it, in another stream.
    """
    first = template(
        20, 6, {3: 0xFFFFFFF0, 4: 1}, stream=5, quiet=1, arguments=0x120, changes=ARGUMENTS
    )
    both = {"changes": ARGUMENTS, "alternates": ARGUMENTS}
    waits = {"flags": 0x11, "wait0_stream": 5, "wait0_count": 0}
    return [*first, *template(50, 7, {3: 7}, stream=6, quiet=1, arguments=9, **both, **waits)]


def loop(cycle, section, count):
    """Return a LOOP over both slots whose doorbell's write commits in a cycle."""
    return rings(cycle, section, [Opcode.LOOP, count, 6 | 7 << 8])


def outcome(cycle, section):
    return [read_section(cycle + k, section, name) for k, name in enumerate(OUTCOME)]


def launched(seen):
    """Return ticket, stream and arguments of each block that is offered."""
    found = []
    for cycle, _, stream in offers(seen):
        words = WORDS.unpack(seen.port("words")[cycle])
        found.append((words["ticket"], stream, words["arguments"]))
    return found


#: Arguments of three iterations; a step is added in 64 bits.
SIX = [
    *[(1, 5, 0x120), (2, 6, 9)],
    *[(3, 5, 0x2_0000_0110), (4, 6, 7)],
    *[(5, 5, 0x4_0000_0100), (6, 6, 9)],
]


@pytest.mark.rule("loop_expander", 12, 13, 14, 16, 17, 18)
def test_a_loop_launches_its_templates_in_order_and_leaves_no_record(kind):
    accesses = [*two_templates(), *loop(RUNG, 2, 3), read_section(RUNG + 40, 2, "DOORBELL")]
    accesses += [*outcome(900, 2), read_of(LOOPS, 910, "RECORDS")]
    seen, found = play(kind, LOOPS, accesses, 940, host=Sms)
    # Streams overtake each other; tickets are in the order of the launches.
    assert sorted(launched(seen)) == SIX
    assert next(c for c, *_ in offers(seen)) == RUNG + OFFERED
    assert found == [1, 0, 0, 6, 3 << 16, 6, 6, 0]


@pytest.mark.rule("loop_expander", 2, 13, 18)
def test_a_second_loop_over_the_same_slots_is_busy_and_a_write_is_refused(kind):
    """Of section 1, while section 2 loops; behind it the slots launch the same once more."""
    write = [(RUNG + 60, template_address(6, 3), 5)]
    refusals = [read_of(LOOPS, 890, "REFUSED"), read_of(LOOPS, 10, "REFUSED")]
    accesses = [*two_templates(), *loop(RUNG, 2, 1), *loop(RUNG + 40, 1, 3), *write]
    accesses += [refusals[1], *outcome(RUNG + 70, 1), *loop(500, 1, 1), *outcome(880, 1)]
    seen, found = play(kind, LOOPS, [*accesses, refusals[0]], 920, host=Sms)
    assert found[1:7] == [0, HostError.TEMPLATE_BUSY | 6 << 16, 0, 0, 0, 0]
    assert launched(seen) == [*SIX[:2], (3, 5, 0x120), (4, 6, 9)]
    assert found[7:13] == [0, 0, 4, 2 << 16, 2, 2]
    assert found[0] == 0 and found[13] != 0


@pytest.mark.rule("loop_expander", 9, 12, 18)
def test_a_launch_that_is_aborted_ends_the_loop_and_has_its_record(kind):
    """Ticket 1 is aborted on its SM."""
    accesses = [*two_templates(), *loop(RUNG, 2, 50), *rings(RUNG + 70, 0, [Opcode.ABORT, 1])]
    accesses += [*outcome(900, 2), *(read_of(LOOPS, 910 + k, f"RECORD{k}") for k in range(8))]
    seen, found = play(kind, LOOPS, accesses, 940, host=Sms)
    doorbell, error, *_, finished, accepted = found[:6]
    assert (doorbell, error) == (0, HostError.LAUNCH_FAILED)
    assert finished == accepted - 1 < 5
    record = queue_packets.final_record_words(LOOPS).unpack(found[6:])
    assert (record["ticket"], record["fate"], record["word3"]) == (1, FinalFate.ABORTED, 1)
    assert len(launched(seen)) == accepted


@pytest.mark.rule("loop_expander", 10, 18)
def test_a_stopped_loop_ends_when_its_launches_have_ended(kind):
    """Bit 2 of LOOP_STOP is section 2; bit 1 stops nobody."""
    stops = [write_to(LOOPS, RUNG + 100, "LOOP_STOP", 2), write_to(LOOPS, 300, "LOOP_STOP", 4)]
    accesses = [*two_templates(), *loop(RUNG, 2, 50), *stops, *outcome(900, 2)]
    seen, found = play(kind, LOOPS, accesses, 940, host=Sms)
    doorbell, error, *_, finished, accepted = found
    assert (doorbell, error) == (0, HostError.LOOP_STOPPED)
    assert 2 < finished == accepted < 20 and len(launched(seen)) == accepted


@pytest.mark.rule("loop_expander", 19)
def test_a_soft_reset_ends_a_loop_and_the_next_one_is_like_the_first(kind):
    """The templates stay."""
    accesses = [*two_templates(), *loop(RUNG, 2, 50), write_to(LOOPS, 250, "CONTROL", 1)]
    accesses += [*outcome(500, 2), *loop(600, 2, 1), *outcome(900, 2)]
    seen, found = play(kind, LOOPS, accesses, 940, host=Sms)
    assert found[:6] == [0, HostError.RESET, 0, 0, 0, 0]
    later = [(cycle, *one) for (cycle, *_), one in zip(offers(seen), launched(seen), strict=True)]
    cycle, ticket, stream, arguments = next(one for one in later if one[0] > 600)
    assert (cycle, stream, arguments) == (600 + OFFERED, 5, 0x120)
    assert found[6:] == [0, 0, ticket + 1, 1 << 16, 2, 2]
