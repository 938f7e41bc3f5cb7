"""LaunchPath's rules with loops: a record's word more, and what travels beside LaunchCheck."""

from dataclasses import replace

import pytest

from tb.launch.path_script import TINY, Script
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec.queue import FinalFate
from warploom_spec.queue_packets import WAIT_AHEAD

KINDS = pytest.mark.parametrize("kind", [LaunchPath, Model], ids=["rtl", "model"])
# To elaborate the path takes seconds: in one process of a run.
pytestmark = [KINDS, pytest.mark.xdist_group("launch_path")]

LOOPS = replace(TINY, loop_templates=8)


@pytest.mark.rule("launch_path", 1, 11)
def test_a_launch_of_a_loop_from_its_transfer_to_its_popped_record(kind):
    """Example 1; from the record's last word on all comes a cycle later."""
    saw = Script(LOOPS).launch(40, 0, loop=2).report(90, 0).pop(140).run(kind, 170)
    assert saw.pulses("answer", "ticket", "code", "count") == {50: (1, 0, 1)}
    assert saw.offers() == {67: (0, 0, 0)}
    assert saw.pulses("timeline", "stream", "count") == {100: (0, 1)}
    assert saw.pulses("loop_end", "loop", "finished") == {100: (1, 1)}
    assert saw.first_words() == [101]
    named = ("ticket", "fate", "word2", "word3", "made")
    assert saw.records(*named) == {107: (1, FinalFate.FINISHED, 27, 1, 106)}
    assert saw.changes("records") == {0: 0, 109: 1, 142: 0}
    assert list(saw.changes("oldest")) == [0, 110, 111, 112, 113, 115, 116, 117, 141]
    assert saw.changes("idle") == {0: 0, 17: 1, 41: 0, 108: 1}


@pytest.mark.rule("launch_path", 1, 3, 11)
def test_each_launch_meets_its_own_loop_and_quiet_and_relative_pair(kind):
    """Launches at full pace, one a stream; the second and the fifth wait for one ahead."""
    said = [(1, 1, 0), (2, 0, 1), (0, 0, 1), (2, 1, 1), (0, 1, 0)]
    script = Script(LOOPS, length=3)
    for k, (loop, quiet, relative) in enumerate(said):
        ahead = 0x8000 if relative and k == 1 else int(k == 4)
        fields = {"loop": loop, "quiet": quiet, "wait0_relative": relative}
        script.launch(40 + k // 3 * 15, k, (k, ahead), **fields)
    saw = script.run(kind, 180)
    codes = [0, WAIT_AHEAD, 0, 0, WAIT_AHEAD]
    assert list(saw.pulses("answer", "code").values()) == codes
    assert [stream for _, stream, _ in saw.offers().values()] == [0, 2, 3]
    assert list(saw.records("stream").values()) == [2]
    assert list(saw.pulses("loop_end", "loop").values()) == [0, 1]
