"""LaunchPath's rules on machines that are small, near their wraps, lossy, or without indices."""

import pytest

from tb.launch.path_script import KILLED, Script
from tb.support.dispatch_configs import config_of
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import ErrorCode
from warploom_spec.queue import FinalFate, RecordKind

# To elaborate another path takes seconds.
RTL = pytest.param(LaunchPath, marks=pytest.mark.thorough, id="rtl")
pytestmark = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])

#: The first number of a launch's blocks, and the first cycle's clock: one path for all wraps.
NEAR_WRAPS = {
    "first_number": (1 << 32) - 1,
    "first_clock": (1 << 64) - 50,
    "first_ticket": (1 << 32) - 1,
    "first_count": (1 << 32) - 1,
}
SHALLOW = config_of("tiny,queue_depth=1")


@pytest.mark.rule("launch_path", 1, 11)
def test_records_run_out_and_a_pop_makes_room(kind):
    """Example 4."""
    script = Script(SHALLOW).pop(300)
    asked = range(30, 310, 40)
    for cycle in asked:
        script.preempt(cycle, 7)
    saw = script.preempt(295, 7).run(kind, 330)
    full = ErrorCode.COMPLETION_FULL
    assert saw.pulses("command_answer", "code") == {**{c + 1: 0 for c in asked}, 296: full}
    assert saw.records("kind", "ticket") == {c + 22: (RecordKind.PREEMPT, 0) for c in asked}
    assert saw.changes("records_left") == {0: 0, 1: 1, 272: 0, 303: 1}
    assert saw.changes("records")[294] == 7 and saw.changes("records")[302] == 6


@pytest.mark.rule("launch_path", 1, 9)
def test_tickets_counts_numbers_and_the_clock_wrap(kind):
    """The clock begins 50 cycles before its wrap; ticket 0 and no count is left out."""
    script = Script().launch(40, 0).launch(43, 1, (0, 0)).report(90, 0).report(150, 1)
    saw = script.run(kind, 180, **NEAR_WRAPS)
    top = (1 << 32) - 1
    assert saw.recording.port("clock")[48:52] == [(1 << 64) - 2, (1 << 64) - 1, 0, 1]
    assert list(saw.pulses("answer", "ticket", "count").values()) == [(top, 0), (1, 0)]
    assert list(saw.blocks(0).values()) == list(saw.blocks(1).values()) == [(0, top)]
    assert saw.pulses("timeline", "count").keys() == {100, 160}
    times = list(saw.records("ticket", "accepted", "first_offer", "made").values())
    assert times == [(top, (1 << 32) - 4, 17, 56), (1, 1, 75, 116)]


# Lost SMs

LOSSY = config_of("tiny,kill_timeout=16,stream_bits=2")


@pytest.mark.rule("launch_path", 1, 12)
def test_lost_sms_stay_lost_over_a_soft_reset_and_launches_are_refused(kind):
    """Both SMs hold a block each, and say nothing when killed."""
    script = Script(LOSSY).launch(40, 0, **KILLED).launch(43, 1, **KILLED)
    script.preempt(100, 0, 1).launch(400, 2).soft_reset(440, 560).launch(600, 0)
    saw = script.run(kind, 640)
    assert saw.recording.port("lost")[-1] == 3 and saw.recording.port("no_sm")[-1] == 1
    records = saw.records("kind", "ticket", "fate", "code").values()
    launches = {entry[1:] for entry in records if entry[0] == RecordKind.LAUNCH}
    assert launches == {(t, FinalFate.FAILED, ErrorCode.SM_LOST) for t in (1, 2)}
    codes = list(saw.pulses("answer", "code").values())
    assert codes == [0, 0, ErrorCode.NO_SM, ErrorCode.NO_SM]


@pytest.mark.rule("launch_path", 12)
def test_a_restart_forgets_holds_breaks_and_counts(kind):
    """Stream 3 is held, stream 0 is broken by a loss; after the restart both take launches."""
    script = Script(LOSSY).launch(40, 0, **KILLED).preempt(100, 0, 3).launch(400, 0)
    script.soft_reset(440, 560).launch(600, 0).launch(603, 3)
    saw = script.run(kind, 700)
    assert saw.recording.port("lost")[-1] == 1
    answers = list(saw.pulses("answer", "ticket", "code", "count").values())
    assert answers == [(1, 0, 1), (0, ErrorCode.STREAM_BROKEN, 0), (2, 0, 1), (3, 0, 1)]
    assert [sm for c, (sm, _, _) in saw.offers().items() if c > 600] == [1, 1]


# Without indices


@pytest.mark.rule("launch_path", 16)
def test_without_indices_the_first_offer_comes_twenty_three_cycles_after_the_transfer(kind):
    config = config_of("tiny,index_memory_warps=0")
    saw = Script(config).launch(40, 0).report(90, 0).run(kind, 120)
    assert saw.offers() == {63: (0, 0, 0)}
    assert "decided_valid" not in saw.recording.outputs[0]
    assert saw.records("ticket", "word2") == {107: (1, 31)}
