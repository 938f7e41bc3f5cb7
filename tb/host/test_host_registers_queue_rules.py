"""HostRegisters' time-outs, clock, ROOM and completed commands, on RTL and model alike."""

from tb.host.accesses import answers
from tb.host.test_host_registers_rules import KINDS, play, rd, wr
from tb.support.dispatch_configs import config_of

TINY = config_of("tiny")
COMMAND_DONE = 1 << 4


def high(seen, port, cycles):
    """Return the cycles in which a port of one bit is 1."""
    return [cycle for cycle in range(cycles) if seen.port(port)[cycle]]


def level(first, last, value=1):
    return dict.fromkeys(range(first, last), value)


@KINDS
def test_identification_and_reset_values(kind):
    names = ("VERSION", "PARAMS3", "ROOM", "LAUNCH_TIMEOUT", "IRQ_TIMEOUT", "RECORD7")
    seen = play(kind, 20, read={4 + k: rd(name) for k, name in enumerate(names)})
    identity = [0x0003_0001, 2 << 24 | 8 << 16 | 2 << 12 | 2 << 8 | 4]
    assert list(answers(seen).values()) == [*identity, 0, 0, 0, 0]


@KINDS
def test_each_new_register_shows_its_input_in_the_read_s_cycle(kind):
    inputs = {
        "ROOM": ("room", 0b1010, 0b1010),
        "RECORD6": ("oldest", 0x1234_5678 << 192, 0x1234_5678),
        "RECORD7": ("oldest", 0x9ABC_DEF0 << 224, 0x9ABC_DEF0),
        "CLOCK_LOW": ("clock", 5 << 32 | 7, 7),
        "CLOCK_HIGH": ("clock", 5 << 32 | 7, 5),
    }
    for name, (port, value, shown) in inputs.items():
        seen = play(kind, 12, read={c: rd(name) for c in (3, 4, 5)}, **{port: {4: value}})
        assert answers(seen) == {3: 0, 4: shown, 5: 0}, name


@KINDS
def test_a_launch_timeout_is_there_in_the_next_cycle_and_outlasts_a_soft_reset(kind):
    """Rules 3a and 12: written in 3; the soft reset of 6 is over long before the read in 25."""
    write = {3: wr("LAUNCH_TIMEOUT", 0xAABBCCDD), 6: wr("CONTROL", 1)}
    write |= {4: wr("LAUNCH_TIMEOUT", 0, strobes=0b0010)}
    seen = play(kind, 30, write=write, idle=level(0, 30), read={25: rd("LAUNCH_TIMEOUT")})
    shown = seen.port("launch_timeout")
    assert [shown[cycle] for cycle in (3, 4, 5, 25)] == [0, 0xAABBCCDD, 0xAABB00DD, 0xAABB00DD]
    assert answers(seen) == {25: 0xAABB00DD}


@KINDS
def test_the_page_s_example_of_a_record_that_waits(kind):
    """Threshold 4, time-out 10: one record from 101 on, popped in 150."""
    write = {1: wr("IRQ_THRESHOLD", 4), 2: wr("IRQ_TIMEOUT", 10), 3: wr("IRQ_ENABLE", 1)}
    seen = play(kind, 160, write=write | {150: wr("RECORD_POP", 1)}, records=level(101, 152))
    assert high(seen, "irq", 160) == list(range(113, 152))


@KINDS
def test_the_same_with_two_records(kind):
    write = {1: wr("IRQ_THRESHOLD", 4), 2: wr("IRQ_TIMEOUT", 10), 3: wr("IRQ_ENABLE", 1)}
    records = level(101, 152, 2) | level(152, 180, 1)
    seen = play(kind, 180, write=write | {150: wr("RECORD_POP", 1)}, records=records)
    assert high(seen, "irq", 180) == [*range(113, 152), *range(163, 180)]


@KINDS
def test_a_pop_in_the_cycle_before_the_time_is_over_begins_anew(kind):
    """Rule 5a: r = 10; `late` would be 1 from 22 on. The pop in 21 moves r to 21."""
    write = {1: wr("IRQ_THRESHOLD", 9), 2: wr("IRQ_TIMEOUT", 10), 3: wr("IRQ_ENABLE", 1)}
    for pop, first in ((20, 33), (21, 34), (22, 23)):
        script = write | {pop: wr("RECORD_POP", 1)}
        seen = play(kind, 40, write=script, records=level(11, 40, 2))
        assert high(seen, "irq", 40)[0] == first, pop


@KINDS
def test_a_new_time_out_begins_anew_and_0_never_ends(kind):
    """Rule 5a: written in 30, r = 31; `late` is 1 from 31 + 3 + 2 on, `irq` a cycle later."""
    write = {1: wr("IRQ_THRESHOLD", 9), 2: wr("IRQ_TIMEOUT", 4), 3: wr("IRQ_ENABLE", 1)}
    records = level(0, 60)
    seen = play(kind, 60, write=write | {30: wr("IRQ_TIMEOUT", 3)}, records=records)
    assert high(seen, "irq", 60) == [*range(10, 32), *range(37, 60)]
    seen = play(kind, 60, write=write | {30: wr("IRQ_TIMEOUT", 0)}, records=records)
    assert high(seen, "irq", 60) == list(range(10, 32))


@KINDS
def test_the_shortest_time_out(kind):
    """A record first counted in 11 with a time-out of 1: `late` from 13 on."""
    write = {1: wr("IRQ_THRESHOLD", 9), 2: wr("IRQ_TIMEOUT", 1), 3: wr("IRQ_ENABLE", 1)}
    seen = play(kind, 20, write=write, records=level(11, 20))
    assert high(seen, "irq", 20) == list(range(14, 20))


@KINDS
def test_a_completed_command_interrupts_and_wins_over_the_write_that_clears_it(kind):
    """Rules 6 and 7: the event of 10 is cleared in 15; the write of 20 meets the event of 20."""
    write = {2: wr("IRQ_ENABLE", COMMAND_DONE)}
    write |= dict.fromkeys((15, 20, 25), wr("IRQ_STATUS", COMMAND_DONE))
    reads = {cycle: rd("IRQ_STATUS") for cycle in (10, 11, 16, 21, 26)}
    seen = play(kind, 32, write=write, completed={10: 1, 20: 1}, read=reads)
    assert answers(seen) == {10: 0, 11: COMMAND_DONE, 16: 0, 21: COMMAND_DONE, 26: 0}
    assert high(seen, "irq", 32) == [*range(12, 17), *range(22, 27)]


@KINDS
def test_room_and_a_record_are_not_written(kind):
    seen = play(kind, 12, write={4: wr("RECORD7", 1), 5: wr("ROOM", 1)})
    assert [seen.port("write_refused")[cycle] for cycle in (4, 5)] == [1, 1]
