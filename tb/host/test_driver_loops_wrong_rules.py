"""Rules of loops that are wrong in a driver: each is found by a test of its rules."""

import re
from functools import partial

import pytest

from tb.host import test_driver_loops as loops
from tb.host import test_driver_quiet as quiet
from tb.host.c_driver import HOST
from tb.host.loop_hosts import c_loops, python_loops
from tb.support.planted import Change, plant
from warploom_dev.rewrite import Rewrite
from warploom_host import KeptSection, Streams, Templates
from warploom_host import loops as python

#: Rule -> the test that finds it; the C driver's file, its text (a local's name is ``\w+``) and
#: what stands there instead; the Python driver's change.
WRONG = {
    "words that are known are written again": (
        loops.demand_words_that_differ,
        ("loops", r"\(\*(\w+) & (\w+)\) && (\w+)\[n\] == words\[n\]", r"(*\1 & \2) && 0"),
        Rewrite(Templates, "_write", "there.get(number) != word", "True"),
    ),
    "a bus error leaves the copies": (
        partial(loops.demand_that_all_is_forgotten, number=20),
        ("loops", r"(if \(error\))\s+forget_templates\(templates\);", r"\1 {}"),
        Rewrite(
            Templates,
            "_write",
            "self._known, self._written = {}, {}",
            "self._known, self._written = known, written",
        ),
    ),
    "templates are not made quiet": (
        loops.demand_a_thousand_iterations,
        ("loops", r"\w+\[\w+\] \|= PUT\(1u, WARPLOOM_LAUNCH_QUIET\);", ""),
        Change(Templates, "write_template", "quiet=True", "quiet=False"),
    ),
    "slots of a loop that runs are written": (
        loops.demand_that_slots_in_use_are_left_alone,
        ("loops", r"(\w+)->runs && \((\w+)", r"0 && \1->runs && (\2"),
        Rewrite(Templates, "_demand_unused", "set(loop.slots) & set(slots)", "set()"),
    ),
    "a stream of a loop that runs has events": (
        loops.demand_that_who_depends_waits,
        ("streams", r"(if \()(\w+->looping\[stream\]\) return)", r"\g<1>0 && \2"),
        Rewrite(Streams, "_demand_no_loop", "stream in streams", "False"),
    ),
    "a loop's launches are not counted": (
        loops.demand_that_who_depends_waits,
        ("loops", r"whole = loop->iterations", "whole = 0"),
        Change(python, "_launches", "loop.iterations, 0", "0, 0"),
    ),
    "the last iteration's first launches are not counted": (
        partial(loops.demand_counts, end="fails", code=loops.LAUNCH_FAILED),
        ("loops", r"\+ \((\w+) < (\w+)\)", r"+ 0 * (\1 < \2)"),
        Change(python, "_launches", "whole + (k < rest)", "whole"),
    ),
    "the record of an earlier launch is enough": (
        quiet.demand_no_wait_for_quiet,
        ("streams", r"event->quiet > \w+->ended\[stream\]", "0"),
        Rewrite(Streams, "_wait_for", "event.quiet > self._ended[event.stream]", "False"),
    ),
    "a launch that never began shows the end of others": (
        quiet.demand_that_it_began,
        ("streams", r"if \((\w+)->offered && ", r"if ((\1->offered || 1) && "),
        Rewrite(Streams, "_noted", "record.offered", "True"),
    ),
    "relative pairs of a launch are dropped": (
        quiet.demand_own_pairs_first,
        ("streams", r"if \(!(\w+)->wait\[k\]\.relative\)", r"if (1 || \1->wait[k].relative)"),
        Change(Streams, "launch", "[*waits, *", "[*waits[:0], *"),
    ),
    "a refusal leaves kept words": (
        quiet.demand_kept_words,
        ("kept", r"if \(error && kept\)", "if (0)"),
        Rewrite(
            KeptSection,
            "launch",
            "raise CommandFailed(self._section, outcome)",
            "self.known = known; raise CommandFailed(self._section, outcome)",
        ),
    ),
    "a LOOP leaves kept words": (
        quiet.demand_streams_keep_words,
        ("loops", r"warploom_forget_words\(&\w+->streams->words\[section\]\)", "(void)0"),
        Change(Streams, "forget_words", "self._words[section].forget()", "pass"),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_of_the_c_driver_is_found(rule):
    finder, (part, pattern, instead), _ = WRONG[rule]
    name = f"warploom_{part}.c"
    text, count = re.subn(pattern, instead, (HOST / name).read_text())
    assert count == 1, f"{rule}: {pattern} stands there {count} times"
    with pytest.raises(AssertionError):
        finder(partial(c_loops, texts=((name, text),)))


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_of_the_python_driver_is_found(rule, monkeypatch):
    finder, _, change = WRONG[rule]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        finder(python_loops)
