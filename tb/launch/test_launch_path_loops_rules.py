"""LaunchPath's rules and cycles where there are loops."""

import pytest

from tb.launch.path_script import Script
from tb.support.dispatch_configs import config_of
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import BlockStatus, ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate
from warploom_spec.queue_packets import WAIT_AHEAD

RTL = pytest.param(LaunchPath, marks=pytest.mark.thorough, id="rtl")
KINDS = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])
pytestmark = [KINDS, pytest.mark.xdist_group("launch_path")]

LOOPS = config_of("tiny")
LOOP_END = "loop", "finished"


@pytest.mark.rule("launch_path", 1, 3, 11)
def test_a_record_has_the_launchs_number_and_its_last_word_a_cycle_later(kind):
    """The page's first worked example, with loops."""
    saw = Script(LOOPS).launch(40, 0).report(90, 0).pop(140).run(kind, 170)
    assert saw.pulses("answer", "ticket", "code", "count") == {50: (1, 0, 1)}
    assert saw.offers() == {67: (0, 0, 0)}
    assert saw.first_words() == [101]
    assert saw.records("ticket", "fate", "word3", "made") == {107: (1, FinalFate.FINISHED, 1, 106)}
    assert saw.changes("records") == {0: 0, 109: 1, 142: 0}
    # Words 0, 1, 2, 3, 5, 6, 7.
    assert list(saw.changes("oldest")) == [0, 110, 111, 112, 113, 115, 116, 117, 141]
    assert saw.changes("idle") == {0: 0, 17: 1, 41: 0, 108: 1}
    assert saw.cycles("loop_end") == []


@pytest.mark.rule("launch_path", 1, 3, 14)
def test_a_quiet_launch_that_finishes_leaves_nothing_behind(kind):
    """Its `loop_end` comes where its timeline moves, 10 cycles after the last report."""
    saw = Script(LOOPS).launch(40, 0, quiet=1, loop=2).report(90, 0).run(kind, 130)
    assert saw.pulses("loop_end", *LOOP_END) == {100: (1, 1)}
    assert saw.pulses("timeline", "stream", "count") == {100: (0, 1)}
    assert saw.cycles("record") == [] and saw.cycles("records") == []
    assert saw.changes("idle") == {0: 0, 17: 1, 41: 0, 101: 1}


@pytest.mark.rule("launch_path", 1, 3)
def test_a_quiet_launch_that_fails_has_its_record(kind):
    """A block faults."""
    script = Script(LOOPS).launch(40, 0, quiet=1, loop=1).report(90, 0, 0, BlockStatus.FAULT)
    saw = script.run(kind, 130)
    assert saw.pulses("loop_end", *LOOP_END) == {100: (0, 0)}
    failed = (1, FinalFate.FAILED, ErrorCode.BLOCK_FAULT, 1)
    assert saw.records("ticket", "fate", "code", "word3") == {107: failed}


@pytest.mark.rule("launch_path", 3)
def test_each_launch_meets_its_own_loop_and_pairs(kind):
    """Launches at full pace: LaunchCheck stands and moves on, and gaps stand in it.

    Stream 7 has no launch. A pair that counts back from there is reached, one with a count of its
    own above 0 is ahead, and so is a relative one that counts too far back.
    """
    script = Script(LOOPS, length=3)
    for k in range(8):
        flags = {"wait0_relative": k % 2, "wait1_relative": int(k in (2, 5))}
        fields = {"loop": k % 3, "quiet": k % 2, "priority": k % 4, **flags}
        second = (7, {5: 0x9000, 6: 1, 7: 1}.get(k, 0))
        script.launch(40 + k // 3 * 15, min(k, 6), (7, k % 2), second, **fields)
    saw = script.run(kind, 250)
    answers = [(0, 0)] * 5 + [(WAIT_AHEAD, 29)] * 3
    assert list(saw.pulses("answer", "code", "argument").values()) == answers
    passed = saw.pulses("timeline", "stream")
    loops = {passed[cycle]: loop for cycle, loop in saw.pulses("loop_end", "loop").items()}
    assert loops == {1: 0, 2: 1, 4: 0} and sorted(passed.values()) == [0, 1, 2, 3, 4]
    assert sorted(saw.records("stream").values()) == [0, 2, 4]


@pytest.mark.rule("launch_path", 13)
def test_a_loops_launches_end_in_a_soft_reset_and_a_refused_one_is_not_told_of(kind):
    """One is resident, one waits behind it; the third comes in the soft reset."""
    script = Script(LOOPS).launch(40, 0, loop=1, quiet=1).launch(43, 0, loop=2, quiet=1)
    script.launch(92, 0, loop=1, quiet=1).killed(120, 0).soft_reset(90, 290)
    saw = script.run(kind, 300)
    assert list(saw.pulses("answer", "code").values()) == [0, 0, HostError.RESET]
    assert list(saw.pulses("loop_end", *LOOP_END).values()) == [(0, 0), (1, 0)]
    aborted = FinalFate.ABORTED
    assert list(saw.records("ticket", "fate").values()) == [(1, aborted), (2, aborted)]
