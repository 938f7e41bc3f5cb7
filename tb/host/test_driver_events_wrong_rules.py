"""Rules of the drivers' orders between streams that are wrong: each is found."""

import re

import pytest

from tb.host.c_driver import HOST
from tb.host.test_driver_events import (
    c_host,
    demand_a_reset_ends_pairs,
    demand_a_reset_that_goes_on_ends_pairs,
    demand_kept_pairs,
    demand_no_limit,
    demand_old_events_dropped,
    demand_order_past_16_bits,
    demand_order_past_32_bits,
    demand_pairs,
    demand_taken_records_noted,
    demand_the_ticket_0,
    demand_wait_for_the_oldest,
    python_host,
)
from tb.support.planted import Change, plant
from warploom_host import Streams

#: Rule -> what finds it; the C driver's text and what stands there instead; Python's change.
WRONG = {
    "the earlier count stays": (
        demand_pairs,
        r"pair->count < event->count",
        "0",
        Change(Streams, "stream_wait", "max(pair, event,", "min(pair, event,"),
    ),
    "a refused launch loses its pairs": (
        demand_kept_pairs,
        r"(if \(error\))( return error;\s*note_launch)",
        r"if (error) streams->pairs[launch->stream] = 0;\n\1\2",
        Change(
            Streams,
            "launch",
            "((one.stream, one.count) for one in self._pairs[stream])]",
            "((one.stream, one.count) for one in self._pairs[stream])]; self._pairs[stream] = []",
        ),
    ),
    "an event of an earlier epoch counts": (
        demand_old_events_dropped,
        r"event->epoch != streams->epoch",
        "0",
        Change(Streams, "_is_reached", "event.epoch != self._epoch", "False"),
    ),
    "a far event counts": (
        demand_old_events_dropped,
        r"#define FAR_BEHIND .*",
        "#define FAR_BEHIND UINT32_C(0x8001)",
        Change(Streams, "_is_reached", "behind >= FAR_BEHIND", "behind > FAR_BEHIND"),
    ),
    "nothing is waited for": (
        demand_wait_for_the_oldest,
        r"!is_open\(streams, stream, 0, event->count\)",
        "1",
        Change(Streams, "_wait_for", "elif not any(", "elif True or not any("),
    ),
    "a count has 16 bits": (
        demand_order_past_16_bits,
        r"(\*count) \+= [^;]*;",
        r"\1 = outcome->number;",
        Change(
            Streams,
            "launch",
            "+= (outcome.number - self._counts[stream]) % COUNTS",
            "= outcome.number",
        ),
    ),
    "pairs outlive a soft reset": (
        demand_a_reset_ends_pairs,
        r"(streams->looping\[stream\] = )streams->pairs\[stream\] = 0;",
        r"\g<1>0;",
        Change(
            Streams,
            "_forget",
            "[[] for _ in self._counts]",
            "getattr(self, '_pairs', [[] for _ in self._counts])",
        ),
    ),
    "pairs outlive a soft reset that goes on": (
        demand_a_reset_that_goes_on_ends_pairs,
        r"error && error != WARPLOOM_WAITED",
        "error",
        Change(
            Streams,
            "soft_reset",
            "except HostTimeout:\n        self._forget()",
            "except HostTimeout:\n        pass",
        ),
    ),
    "the epoch is that before a soft reset that goes on": (
        demand_a_reset_that_goes_on_ends_pairs,
        r"if \(state & WARPLOOM_STATE_RESETTING_MASK\) [^;]*;",
        "",
        Change(Streams, "_forget", "(state & 1)", "0"),
    ),
    "a record that was waited for is not noted": (
        demand_taken_records_noted,
        r"(= warploom_wait_record\(core, record\);\s*)if \(!error\) note_record[^;]*;",
        r"\1",
        Change(Streams, "wait_record", "self._noted(record)", "None"),
    ),
    "a record that was taken is not noted": (
        demand_taken_records_noted,
        r"(= warploom_take_record\(core, record\);\s*)if \(!error\) note_record[^;]*;",
        r"\1",
        Change(
            Streams,
            "take_record",
            "self._noted(self._driver.take_record())",
            "self._driver.take_record()",
        ),
    ),
    "later launches are waited for": (
        demand_wait_for_the_oldest,
        r" && open->count <= to",
        " && (open->count <= to || 1)",
        Change(Streams, "_wait_for", "any(n <= event.count for", "any(n or event.count for"),
    ),
}


#: Rules of the C driver alone: in Python a launch that is not accepted raises.
WRONG_IN_C = {
    "a refused launch hands on a ticket": (
        demand_the_ticket_0,
        r"(if \(!error\))(\s*error = warploom_launch_waiting[^;]*;)",
        r"\1 {\2 *ticket = outcome.ticket; }",
    ),
    "a launch that was not submitted leaves its ticket as it was": (
        demand_the_ticket_0,
        r"\*ticket = 0;",
        "",
    ),
    "a count has 32 bits": (
        demand_order_past_32_bits,
        r"(\*count) \+= ([^;]*);",
        r"\1 = (uint32_t)(\1 + (\2));",
    ),
    "patience 0 does not wait": (
        demand_no_limit,
        r"!core->patience \|\| --turns",
        "turns && --turns",
        "warploom_kept.c",
    ),
}


@pytest.mark.parametrize("rule", [*WRONG, *WRONG_IN_C])
def test_a_wrong_rule_of_the_c_driver_is_found(rule):
    demand, pattern, instead, *more = (WRONG | WRONG_IN_C)[rule]
    name = more[0] if rule in WRONG_IN_C and more else "warploom_streams.c"
    text, count = re.subn(pattern, instead, (HOST / name).read_text())
    assert count == 1, f"{rule}: {pattern} stands there {count} times"
    with pytest.raises(AssertionError):
        demand(c_host(text, name))


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_of_the_python_driver_is_found(rule, monkeypatch):
    demand, _, _, change = WRONG[rule]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        demand(python_host)
