"""HostRegisters with and without loops: LOOP_STOP, and what identifies the core."""

import pytest

from tb.host.accesses import answers
from tb.host.test_host_registers import LOOPS
from tb.host.test_host_registers_rules import KINDS, play, rd, wr
from tb.support.dispatch_configs import config_of

TINY = config_of("tiny")
NO_LOOPS = config_of("tiny,loop_templates=0")


@pytest.mark.rule("host_registers", 3)
@KINDS
def test_loops_are_stopped_a_cycle_after_the_write(kind):
    """Three sections; a second write follows at once. A read gives 0."""
    config = config_of(LOOPS)
    writes = {3: wr("LOOP_STOP", 0xFFFFFFFD, config=config), 4: wr("LOOP_STOP", 2, config=config)}
    seen = play(kind, config=config, write=writes, read={4: rd("LOOP_STOP", config=config)})
    assert seen.port("loop_stop") == [0, 0, 0, 0, 5, 2, *[0] * 12]
    assert answers(seen) == {4: 0}


@pytest.mark.rule("host_registers", 1, 3)
@KINDS
def test_a_write_that_is_refused_stops_nothing(kind):
    """A strobe is missing in 3, none is there in 4; a soft reset runs from 7 on."""
    writes = {3: wr("LOOP_STOP", 3, strobes=0b0111, config=TINY)}
    writes |= {4: wr("LOOP_STOP", 3, strobes=0, config=TINY), 6: wr("CONTROL", 1, config=TINY)}
    writes |= {7: wr("LOOP_STOP", 3, config=TINY)}
    seen = play(kind, config=TINY, write=writes)
    assert seen.cycles("loop_stop") == []
    assert seen.cycles("write_refused") == [3, 7]


@pytest.mark.rule("host_registers", 4)
@KINDS
def test_without_loops_the_map_is_version_3_0_and_has_no_slots(kind):
    names = ("VERSION", "PARAMS3")
    read = {3 + k: rd(name, config=NO_LOOPS) for k, name in enumerate(names)}
    found = list(answers(play(kind, config=NO_LOOPS, read=read)).values())
    assert found == [0x0003_0000, 2 << 12 | 2 << 8 | 4]
