"""FrontEnd refuses LOOPs, and launches of loops, through the doorbell; PREEMPT holds a loop."""

import pytest

from tb.host.test_front_end_loops import (
    KINDS,
    LOOPS,
    OFFERED,
    RUNG,
    SIX,
    launched,
    loop,
    outcome,
    template,
    two_templates,
)
from tb.host.test_front_end_streams import Sms, offers, rings
from tb.support.front_end_script import play, read_of, read_section
from warploom_spec import ErrorCode
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import QueueCode

pytestmark = [KINDS, pytest.mark.xdist_group("front_end")]
#: Fields of a template, and why its launch is refused: a code and its argument.
WRONG = (
    ({"stream": 8}, HostError.FIELD_RANGE, 5),
    ({"gx": (1 << 32) - 1}, HostError.FIELD_RANGE, 6),
    ({"gx": 1 << 16}, ErrorCode.GRID_RANGE, 0),
    ({"index_address": 64}, HostError.FIELD_RANGE, 9),
    ({"mode": 5}, HostError.FIELD_RANGE, 10),
    ({"flags": 1, "wait0_stream": 8}, HostError.FIELD_RANGE, 28),
    # There are two pairs.
    ({"flags": 4}, HostError.FIELD_RANGE, 30),
    ({"flags": 1, "wait0_stream": 5, "wait0_count": 9}, QueueCode.WAIT_AHEAD, 28),
    ({"gx": 0}, ErrorCode.GRID_ZERO, 0),
    ({"dx": 0}, ErrorCode.BLOCK_ZERO, 0),
)
#: Cycles for a template, its LOOP and the outcome.
TURN = 160


def one_loop(cycle, section, slots):
    return rings(cycle, section, [Opcode.LOOP, 3, slots])


@pytest.mark.rule("mailbox", 5, 17)
def test_each_refusal_of_a_loop_through_the_doorbell(kind):
    """Section 0 has a unit and cannot loop; slots go up to 7. The last LOOP of all is served."""
    refused = [
        (0, 0, HostError.NO_LOOP),
        (1, 8, HostError.FIELD_RANGE | 2 << 16),
        (2, 8 << 8, HostError.FIELD_RANGE | 2 << 16),
    ]
    accesses = two_templates()
    for k, (section, slots, _) in enumerate(refused):
        accesses += one_loop(RUNG + 20 * k, section, slots)
        accesses += [read_section(RUNG + 20 * k + 12, section, "ERROR")]
    accesses += rings(RUNG + 70, 0, [Opcode.DISCONNECT]) + one_loop(RUNG + 90, 0, 0)
    accesses += [read_section(RUNG + 110, 0, "ERROR"), *loop(300, 2, 3), *outcome(900, 2)]
    seen, found = play(kind, LOOPS, accesses, 940, host=Sms)
    assert found[:3] == [error for *_, error in refused]
    assert found[3] == HostError.DISCONNECTED
    # As if nobody had been refused.
    assert next(c for c, *_ in offers(seen)) == 300 + OFFERED
    assert sorted(launched(seen)) == SIX
    assert found[4:] == [0, 0, 6, 3 << 16, 6, 6]


@pytest.mark.rule("loop_expander", 8, 10, 18)
@pytest.mark.rule("mailbox", 19)
def test_each_refusal_of_a_loops_launch_ends_the_loop(kind):
    """The second of three launches never comes; the next LOOP is served."""
    accesses = []
    for k, (fields, *_) in enumerate(WRONG):
        cycle = 20 + k * TURN
        fields = {"stream": 6, "quiet": 1} | fields
        accesses += [*template(cycle, 3, **fields), *one_loop(cycle + 30, 2, 3 | 3 << 8)]
        accesses += outcome(cycle + TURN - 20, 2)
    end = 20 + len(WRONG) * TURN
    accesses += [*template(end, 3, stream=6, quiet=1), *one_loop(end + 30, 2, 3 | 3 << 8)]
    accesses += [*outcome(end + 400, 2), read_of(LOOPS, end + 410, "RECORDS")]
    seen, found = play(kind, LOOPS, accesses, end + 440, host=Sms)
    for k, (fields, code, argument) in enumerate(WRONG):
        assert found[6 * k : 6 * k + 6] == [0, code | argument << 16, 0, 0, 0, 0], fields
    assert found[-7:] == [0, 0, 3, 3 << 16, 3, 3, 0]
    assert [ticket for ticket, *_ in launched(seen)] == [1, 2, 3]


@pytest.mark.rule("loop_expander", 12, 17, 18)
def test_a_loop_whose_streams_are_held_goes_on_where_it_was(kind):
    """PREEMPT of both streams meets launch 1 or 2 on its SM; RESUME comes 400 cycles later."""
    mask = 1 << 5 | 1 << 6
    accesses = [*two_templates(), *loop(RUNG, 2, 3)]
    accesses += rings(RUNG + 70, 0, [Opcode.PREEMPT, mask])
    accesses += [read_section(RUNG + 460, 2, "DOORBELL")]
    accesses += rings(RUNG + 470, 0, [Opcode.RESUME, mask])
    accesses += [*outcome(RUNG + 1100, 2), read_of(LOOPS, RUNG + 1110, "RECORDS")]
    seen, found = play(kind, LOOPS, accesses, RUNG + 1140, host=Sms)
    held = [cycle for cycle, *_ in offers(seen) if RUNG + 200 < cycle < RUNG + 470]
    assert not held and sorted(set(launched(seen))) == SIX
    # The record is the PREEMPT's.
    assert found == [1, 0, 0, 6, 3 << 16, 6, 6, 1]
