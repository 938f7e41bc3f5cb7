"""LaunchPath's rules and cycles, as its page's worked examples have them."""

from dataclasses import replace

import pytest

from tb.launch.path_script import KILLED, LAUNCH, LOW, URGENT, Script
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import WAIT_AHEAD

KINDS = pytest.mark.parametrize("kind", [LaunchPath, Model], ids=["rtl", "model"])
# To elaborate the path takes seconds: in one process of a run.
pytestmark = [KINDS, pytest.mark.xdist_group("launch_path")]

FINISHED, ABORTED = (FinalFate.FINISHED, 0), (FinalFate.ABORTED, 0)
TIMES = "ticket", "fate", "kills", "word2", "accepted", "first_offer", "made"


def word(oldest, k):
    return oldest >> 32 * k & 0xFFFFFFFF


@pytest.mark.rule("launch_path", 1, 2, 5, 8, 9, 10, 11, 14)
def test_one_launch_from_its_transfer_to_its_popped_record(kind):
    """Example 1."""
    saw = Script().launch(40, 0).report(90, 0).pop(140).run(kind, 170)
    assert saw.transfers("launch") == [40]
    assert saw.pulses("answer", "ticket", "code", "count") == {50: (1, 0, 1)}
    assert saw.cycles("decided_valid") == [57]
    assert saw.offers() == {67: (0, 0, 0)} and saw.tickets() == {67: 1}
    assert saw.first_words() == [101]
    assert saw.records(*TIMES) == {107: (1, FinalFate.FINISHED, 0, 27, 46, 67, 106)}
    assert saw.pulses("timeline", "stream", "count") == {100: (0, 1)}
    assert saw.changes("records") == {0: 0, 109: 1, 142: 0}
    assert list(saw.changes("oldest")) == [0, *range(110, 114), *range(115, 118), 141]
    oldest = saw.recording.port("oldest")[117]
    assert [word(oldest, k) for k in range(8)] == [1, 0x01000000, 27, 1, 0, 46, 67, 106]
    assert saw.changes("idle") == {0: 0, 17: 1, 41: 0, 108: 1}
    assert saw.recording.port("clock") == list(range(170))


@pytest.mark.rule("launch_path", 2)
def test_ready_is_the_pace_alone(kind):
    """0 in the boot, in two cycles after each launch, and while one stands at the queue."""
    saw = Script().launch(0, 0).launch(40, 1).launch(40, 2).run(kind, 70)
    assert saw.transfers("launch") == [20, 40, 43]
    ready = saw.changes("launch__ready")
    assert list(ready) == [0, 20, 21, 23, 25, 26, 41, 43, 44, 46, 49, 51]
    assert saw.pulses("answer", "ticket") == {30: 1, 50: 2, 55: 3}


@pytest.mark.rule("launch_path", 1, 7, 10, 11)
def test_an_urgent_launch_kills_and_the_low_one_goes_on(kind):
    """Example 2; the launch that goes on gets the slot that has been free longest."""
    script = Script().launch(40, 0, priority=LOW, **KILLED).launch(120, 1, priority=URGENT)
    saw = script.killed(135, 0).report(170, 1).report(230, 0, slot=1).run(kind, 260)
    assert saw.changes("kill") == {0: 0, 133: 1, 142: 0}
    assert saw.pulses("killed", "stream") == {145: 0}
    assert saw.offers() == {67: (0, 0, 0), 148: (1, 1, 0), 191: (0, 0, 1)}
    assert saw.tickets() == {67: 1, 148: 2, 191: 1}
    assert saw.pulses("timeline", "stream", "count") == {180: (1, 1), 240: (0, 1)}
    assert saw.cycles("decided_valid") == [57, 138, 153]
    assert saw.records(*TIMES) == {
        187: (2, FinalFate.FINISHED, 0, 26, 126, 148, 186),
        247: (1, FinalFate.FINISHED, 1, 43, 46, 191, 246),
    }


@pytest.mark.rule("launch_path", 1, 3)
def test_a_wait_ends_and_the_launch_that_waited_is_offered(kind):
    """Example 3."""
    saw = Script().launch(40, 0).launch(43, 1, (0, 1)).report(90, 0).run(kind, 150)
    assert saw.pulses("answer", "ticket") == {50: 1, 58: 2}
    assert saw.first_words() == [101]
    assert saw.cycles("decided_valid") == [57, 115]
    assert {c: sm for c, (sm, _, _) in saw.offers().items()} == {67: 0, 125: 1}


@pytest.mark.rule("launch_path", 1)
def test_launches_of_one_stream_run_one_after_the_other(kind):
    """The second one is accepted in 52; it is offered 27 cycles after the first one's report."""
    saw = Script(length=3).launch(40, 0).launch(43, 0).run(kind, 130)
    (first, second), tickets = saw.offers(), saw.tickets()
    assert tickets == {first: 1, second: 2}
    assert (first, second) == (67, 97)


@pytest.mark.rule("launch_path", 4)
def test_a_mode_that_does_not_exist_is_refused(kind):
    """Example 5; LaunchCheck's error comes before the mode, the mode before a wait ahead."""
    script = Script().launch(40, 0, mode=5).launch(43, 0, gx=0, mode=7)
    saw = script.launch(46, 0, (1, 1), mode=6).launch(49, 0, (1, 1), mode=4).run(kind, 80)
    mode = (0, HostError.FIELD_RANGE, 10, 0)
    answers = saw.pulses("answer", "ticket", "code", "argument", "count")
    assert list(answers.values()) == [
        mode,
        (0, ErrorCode.GRID_ZERO, 0, 0),
        mode,
        (0, WAIT_AHEAD, 28, 0),
    ]
    assert not saw.offers() and not saw.records("ticket")


@pytest.mark.rule("launch_path", 3)
def test_each_launch_meets_its_own_waits_and_mode(kind):
    """Launches at full pace: LaunchCheck stands and moves on, and gaps stand in it."""
    script = Script()
    modes = [0, 6, 1, 5, 2, 7, 3, 4]
    for k, mode in enumerate(modes):
        script.launch(40 + k // 3 * 15, k, (k, int(k == 4)), mode=mode, priority=k % 4)
    saw = script.run(kind, 160)
    codes = [HostError.FIELD_RANGE if mode > 4 else 0 for mode in modes]
    codes[4] = WAIT_AHEAD
    assert list(saw.pulses("answer", "code").values()) == codes


@pytest.mark.rule("launch_path", 9, 12, 13, 14)
def test_a_soft_reset_ends_what_runs_and_the_next_launch_is_like_the_first(kind):
    """Example 6; slots and counts begin anew, tickets and records do not."""
    script = Script().launch(40, 0).killed(120, 0).launch(92, 0).soft_reset(90, 290)
    saw = script.preempt(275, 3).launch(315, 0).report(360, 0).run(kind, 390)
    assert saw.changes("kill") == {0: 0, 106: 1, 133: 0}
    answers = saw.pulses("answer", "ticket", "code", "count")
    assert answers == {50: (1, 0, 1), 166: (0, HostError.RESET, 0), 325: (2, 0, 1)}
    assert saw.pulses("command_answer", "code") == {276: HostError.RESET}
    assert saw.changes("idle") == {0: 0, 17: 1, 41: 0, 167: 1, 291: 0, 308: 1, 316: 0, 378: 1}
    assert saw.offers() == {67: (0, 0, 0), 342: (0, 0, 0)}
    assert saw.records("ticket", "fate", "code") == {143: (1, *ABORTED), 377: (2, *FINISHED)}
    assert saw.changes("records") == {0: 0, 145: 1, 379: 2}
    assert saw.recording.port("clock") == list(range(390))


@pytest.mark.rule("launch_path", 12)
def test_a_pop_in_the_cycle_of_the_restart_counts(kind):
    script = Script().launch(40, 0).report(80, 0).soft_reset(120, 290).pop(290)
    saw = script.run(kind, 320)
    assert saw.changes("records") == {0: 0, 99: 1, 292: 0}


@pytest.mark.rule("launch_path", 1, 10)
def test_a_drained_launch_keeps_its_numbers(kind):
    """Example 7."""
    wide = replace(LAUNCH, grid=(9, 1, 1), barriers=4)
    script = Script().launch(40, 0, descriptor=wide, mode=Mode.DRAIN)
    script.launch(120, 1, priority=URGENT).report(140, 0).report(141, 1).report(170, 0, 1)
    saw = script.run(kind, 200)
    assert saw.changes("kill") == {0: 0}
    assert saw.blocks(0) == {67: (0, 0), 68: (1, 1), 191: (2, 2), 192: (3, 3)}
    assert saw.blocks(1) == {150: (0, 0)}


@pytest.mark.rule("launch_path", 1)
def test_preempt_kills_and_resume_goes_on_from_the_first_block(kind):
    """Example 8."""
    long = replace(LAUNCH, grid=(400, 1, 1))
    script = Script(length=10).launch(40, 0, descriptor=long, **KILLED)
    saw = script.preempt(100, 0).resume(140, 0).run(kind, 165)
    assert saw.pulses("command_answer", "code") == {101: 0, 141: 0}
    assert saw.changes("kill") == {0: 0, 103: 1, 116: 0}
    assert saw.pulses("killed", "stream") == {119: 0}
    assert saw.records("kind", "word3", "accepted") == {131: (RecordKind.PREEMPT, 1, 100)}
    blocks = saw.blocks(0)
    assert max(c for c in blocks if c < 140) <= 104
    assert {c: blocks[c] for c in blocks if 104 < c < 160} == {158: (0, 0), 159: (1, 1)}


@pytest.mark.rule("launch_path", 1)
def test_an_abort_of_a_queued_launch_of_a_resident_one_and_of_nobody(kind):
    """Example 9."""
    script = Script().launch(40, 0).launch(43, 0).abort(80, 2).abort(110, 1).abort(220, 9)
    saw = script.killed(150, 0).run(kind, 290)
    codes = list(saw.pulses("abort_answer", "code").values())
    assert codes == [0, 0, QueueCode.TICKET_UNKNOWN]
    ends = saw.records("ticket", "fate", "code", "offered")
    assert list(ends.values()) == [(2, *ABORTED, 0), (1, *ABORTED, 1)]
    assert saw.pulses("timeline", "stream", "count").keys() == {160, 168}
    assert len(saw.offers()) == 1
