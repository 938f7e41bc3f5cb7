"""Rules of one driver that are wrong: each is found on a bus without a core."""

import re

import pytest

from tb.host import test_driver_accesses as accesses
from tb.host import test_driver_bus_rules as rules
from tb.host import test_driver_sizes as sizes
from tb.host.c_driver import HOST
from tb.host.driver_hosts import c_host, python_host
from tb.support.planted import Change, plant
from warploom_dev.rewrite import Rewrite
from warploom_host import HostDriver
from warploom_host.launch_words import LaunchWords

#: A refusal while the section shows an earlier launch's ticket; a section that is busy.
REFUSED = accesses.rings() + accesses.complete(15, ticket=77), 15
BUSY = [("read", accesses.DOORBELL, 1)], accesses.BUSY


def with_header(text):
    """Return what makes the C driver with a header."""
    return lambda header: c_host(text, header=header)


#: Rule -> what makes the driver, the test that finds it, what the test gets; the driver's text (a
#: local's name is ``\w+``) and what stands there instead.
IN_C = {
    "SM_ENABLE1 stands a byte behind SM_ENABLE0": (
        sizes.in_c,
        sizes.demand_masks_in_c,
        (),
        r"SM_ENABLE0_ADDRESS \+ 4 \* (\w+)",
        r"SM_ENABLE0_ADDRESS + \1",
    ),
    "the last word of SMs has more bits than SMs": (
        sizes.in_c,
        sizes.demand_masks_in_c,
        (),
        r"WARPLOOM_SMS - 32 \* (\w+)",
        r"WARPLOOM_SMS - 31 * \1",
    ),
    "every high word is the first argument's": (
        sizes.in_c,
        sizes.demand_inline_words,
        (),
        r"2 \* n, (launch->inline_args)\[n\]\)",
        r"2 * n, LOW(\1[n]) | (\1[0] >> 32 << 32))",
    ),
    "reset_units does not wait for its response": (
        c_host,
        rules.demand_a_barrier,
        ("reset_units",),
        r"write_last\((\w+), WARPLOOM_UNIT_RESET",
        r"write_word(\1, WARPLOOM_UNIT_RESET",
    ),
    "a refused read of RESULT1 is not told": (
        c_host,
        rules.demand_a_bus_error,
        ("poll",),
        r"(RESULT1_OFFSET, &\w+\);\s*)if \(\w+\) return \w+;",
        r"\1",
    ),
    "a refused launch hands on a ticket": (
        c_host,
        accesses.test_a_launch_that_is_not_accepted_has_the_ticket_0,
        REFUSED,
        r"if \(!\w+\) (\*\w+ = \w+\.ticket;)",
        r"\1",
    ),
    "a launch that was not submitted leaves its ticket as it was": (
        c_host,
        accesses.test_a_launch_that_is_not_accepted_has_the_ticket_0,
        BUSY,
        r"\*ticket = 0;",
        "",
    ),
    "a pair's count spills": (
        with_header,
        accesses.demand_a_count_s_field,
        (),
        r"CUT\((\w+\[\w+\]\.count), \w+\)",
        r"\1",
    ),
    "a command has as many words as the program says": (
        c_host,
        accesses.demand_32_words,
        (),
        r"if \(count > TASK_WORDS\)",
        "if (0)",
    ),
    "patience 0 does not wait": (
        c_host,
        accesses.demand_no_limit,
        (),
        r"\w+->patience != 0 && ",
        "",
    ),
    "nobody waits for the interrupt": (
        c_host,
        rules.demand_waits,
        (),
        r"if \((\w+)->wait_irq && [^;]*;",
        r"(void)\1;",
    ),
}
#: Rule -> the driver, the test that finds it, what the test gets; the driver's change.
IN_PYTHON = {
    "SM_ENABLE1 has SMs 31 to 62": (
        sizes.in_python,
        sizes.demand_masks_in_python,
        (),
        Rewrite(HostDriver, "enable_sms", "mask >> 32 * word", "mask >> 31 * word"),
    ),
    "SM_ENABLE has a word for each 64 SMs": (
        sizes.in_python,
        sizes.demand_masks_in_python,
        (),
        Rewrite(HostDriver, "enable_sms", "-self._config.sms // 32", "-self._config.sms // 64"),
    ),
    "the last inline argument stands first": (
        sizes.in_python,
        sizes.demand_inline_words,
        (),
        Rewrite(
            LaunchWords,
            "pack",
            "enumerate(launch.inline)",
            "enumerate(launch.inline[::-1])",
        ),
    ),
    "registers do not wait for their responses": (
        python_host,
        rules.demand_a_barrier,
        ("reset_units",),
        Rewrite(HostDriver, "write_register", "self._settle()", "None"),
    ),
    "nobody waits for the interrupt": (
        python_host,
        rules.demand_waits,
        (),
        Rewrite(HostDriver, "wait_record", "self._wait_irq()", "None"),
    ),
    "patience 0 does not wait": (
        python_host,
        accesses.demand_no_limit,
        (),
        Change(HostDriver, "_turns", " if self._patience else itertools.count()", ""),
    ),
    "a bit of IRQ_STATUS that is not known is refused": (
        python_host,
        accesses.demand_acknowledged,
        (0x80000001,),
        Change(
            HostDriver,
            "acknowledge_irq",
            'self._write(self._register("IRQ_STATUS"), bits)',
            'self.write_register("IRQ_STATUS", bits)',
        ),
    ),
    "a count of results below 0 gives none": (
        python_host,
        rules.demand_a_count,
        (-1,),
        Rewrite(HostDriver, "results", "0 <= count <= RESULT_WORDS", "count <= RESULT_WORDS"),
    ),
}


@pytest.mark.parametrize("rule", IN_C)
def test_a_wrong_rule_of_the_c_driver_is_found(rule):
    make, finder, arguments, pattern, instead = IN_C[rule]
    text, count = re.subn(pattern, instead, (HOST / "warploom.c").read_text())
    assert count == 1, f"{rule}: {pattern} stands there {count} times"
    with pytest.raises(AssertionError):
        finder(make(text), *arguments)


@pytest.mark.parametrize("rule", IN_PYTHON)
def test_a_wrong_rule_of_the_python_driver_is_found(rule, monkeypatch):
    host, finder, arguments, change = IN_PYTHON[rule]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        finder(host, *arguments)
