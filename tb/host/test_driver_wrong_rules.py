"""Rules that are wrong in a driver: each is found by the test of its accesses."""

import re

import pytest

from tb.host import test_driver_accesses as rules
from tb.host.c_driver import HOST
from tb.host.driver_hosts import c_host, python_host
from tb.support.planted import Change, plant
from warploom_dev.rewrite import Rewrite
from warploom_host import HostDriver
from warploom_host.launch_words import LaunchWords
from warploom_spec.host_registers import IDENTITY
from warploom_spec.word_layout import WordLayout

READS = [("read", 0x000, IDENTITY), ("read", 0x004, 0x00030001)]
LAUNCH = ("launch", rules.SUBMITS["launch"])


def identifies(host, name, script, code):
    """Hold that a core is told as another one; ``name`` is the register that differs."""
    del name
    rules.test_another_core_map_or_configuration_is_told(host, script, code)


IDENTIFIES = {
    "ID": ([("read", 0x000, IDENTITY ^ 1)], rules.NOT_THERE),
    "VERSION": ([READS[0], ("read", 0x004, 0x00020000)], rules.OTHER_MAP),
    "CONFIG_CRC": ([*READS, ("read", 0x008, rules.CRC ^ 1)], rules.OTHER_CONFIG),
}


#: Rule -> the test that finds it, what it gets; the C driver's text (a local's name is ``\w+``) and
#: what stands there instead; the Python driver's change.
WRONG = {
    "ID is not looked at": (
        identifies,
        ("ID", *IDENTIFIES["ID"]),
        r"if \(\w+ != WARPLOOM_ID\)",
        "if (0)",
        Rewrite(HostDriver, "identify", "(IDENTITY, 0xFFFFFFFF)", "(IDENTITY, 0)"),
    ),
    "VERSION is not looked at": (
        identifies,
        ("VERSION", *IDENTIFIES["VERSION"]),
        r"if \(GET\(\w+, WARPLOOM_VERSION_MAJOR\) != [^)]*\)\)",
        "if (0)",
        Rewrite(HostDriver, "identify", "(MAP_VERSION, 0xFFFF0000)", "(MAP_VERSION, 0)"),
    ),
    "CONFIG_CRC is not looked at": (
        identifies,
        ("CONFIG_CRC", *IDENTIFIES["CONFIG_CRC"]),
        r"\w+ == WARPLOOM_CONFIG_CRC \?",
        "1 ?",
        Rewrite(
            HostDriver,
            "identify",
            "(config_crc(self._config), 0xFFFFFFFF)",
            "(config_crc(self._config), 0)",
        ),
    ),
    "a turn more than there is patience": (
        rules.test_so_many_looks_for_a_record_as_there_is_patience,
        (),
        r">= (\w+->patience)",
        r"> \1",
        Rewrite(HostDriver, "_turns", "range(self._patience)", "range(self._patience + 1)"),
    ),
    "a poll waits for ever": (
        rules.test_so_many_polls_as_there_is_patience,
        (),
        r"(WARPLOOM_BUSY\) return \w+;\s*\w+ = )wait_turn\(\w+, &(\w+)\)",
        r"\1(int)(0 * \2++)",
        Rewrite(HostDriver, "wait", "self._turns()", "iter(int, 1)"),
    ),
    "a full queue is told": (
        rules.test_a_full_queue_is_tried_again,
        (),
        r"while \(\w+ == \(int\)WARPLOOM_ERROR_QUEUE_FULL",
        "while (0",
        Rewrite(HostDriver, "launch_after", "outcome.code != ErrorCode.QUEUE_FULL", "True"),
    ),
    "a full completion queue is tried again": (
        rules.test_every_other_refusal_is_told_at_once,
        (rules.COMPLETION_FULL,),
        r"(while \()(\w+)( == \(int\)WARPLOOM_ERROR_)QUEUE_FULL",
        r"\1(\2\3QUEUE_FULL || \2\3COMPLETION_FULL)",
        Rewrite(
            HostDriver,
            "launch_after",
            "outcome.code != ErrorCode.QUEUE_FULL",
            "outcome.code not in (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)",
        ),
    ),
    "a busy section is written to": (
        rules.test_a_busy_section_is_left_alone,
        LAUNCH[:1],
        r"if \(\w+\) return WARPLOOM_BUSY;(\s*for)",
        r"\1",
        Rewrite(HostDriver, "_ring", "self._read(doorbell)", "self._read(doorbell) > 1"),
    ),
    "everything is acknowledged": (
        rules.test_what_was_read_is_acknowledged_and_nothing_else,
        (0b0010,),
        r"(IRQ_STATUS_ADDRESS), \*\w+",
        r"\1, 0xF",
        Rewrite(
            HostDriver,
            "acknowledge_irq",
            'self._write(self._register("IRQ_STATUS"), bits)',
            'self._write(self._register("IRQ_STATUS"), 0xF)',
        ),
    ),
    "barriers are not looked at": (
        rules.test_a_launch_s_field_holds_its_highest_value_and_refuses_the_next,
        ("barriers",),
        r"EXCESS\(\w+->barriers, \w+\)",
        "0",
        Rewrite(
            WordLayout,
            "pack",
            "0 <= value < 1 << field.bits",
            'field.name == "barriers" or 0 <= value < 1 << field.bits',
        ),
    ),
    "the clock's high half is looked at once": (
        rules.test_the_clock_is_read_again_while_its_high_half_changes,
        (),
        r"while \((\w+) != (\w+)\)",
        r"while (\1 < \2)",
        Rewrite(HostDriver, "clock", "high == before", "True"),
    ),
    "one pair's flag alone is set": (
        rules.test_a_launch_s_pairs_stand_behind_its_words,
        (),
        r"\(1u << (waits)\) - 1",
        r"1u << \1 >> 1",
        Rewrite(LaunchWords, "pack", "(1 << len(waits)) - 1", "1 << len(waits) >> 1"),
    ),
    "a pair too many is written": (
        rules.test_a_pair_too_many_or_of_no_stream_is_refused,
        ([(1, 1)] * 3,),
        r"waits > WARPLOOM_LAUNCH_WAITS",
        "0",
        Rewrite(LaunchWords, "pack", "len(waits) > self._config.launch_waits", "False"),
    ),
    "a PREEMPT's record has the first count as its cycles": (
        rules.test_a_preempt_s_record_says_what_became_of_the_launches_that_it_met,
        (),
        r"preempt \? 0 : (\w+\[2\])",
        r"\1",
        Change(HostDriver, "_record", '"cycles": 0', '"cycles": fields["cycles"]'),
    ),
    "a record is not popped": (
        rules.test_a_record_is_read_and_then_popped,
        (),
        r"RECORD_POP_ADDRESS, \w+\)",
        "RECORD_POP_ADDRESS, 0)",
        Rewrite(
            HostDriver,
            "take_record",
            'self.write_register("RECORD_POP", 1)',
            'self.write_register("RECORD_POP", 0)',
        ),
    ),
}


#: Rules whose text stands in `warploom_kept.c`.
IN_KEPT = ("a full queue is told", "a full completion queue is tried again")


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_of_the_c_driver_is_found(rule):
    finder, arguments, pattern, instead, _ = WRONG[rule]
    name = "warploom_kept.c" if rule in IN_KEPT else "warploom.c"
    text, count = re.subn(pattern, instead, (HOST / name).read_text())
    assert count == 1, f"{rule}: {pattern} stands there {count} times"
    with pytest.raises(AssertionError):
        finder(c_host(text, name=name), *arguments)


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_of_the_python_driver_is_found(rule, monkeypatch):
    finder, arguments, *_, change = WRONG[rule]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        finder(python_host, *arguments)
