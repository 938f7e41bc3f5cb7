"""ABORTs of launches that LaunchPath drains, or has aborted already, cycle by cycle."""

from dataclasses import replace

import pytest

from tb.launch.path_script import LAUNCH, Script
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import Fate
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind

pytestmark = [
    pytest.mark.parametrize("kind", [LaunchPath, Model], ids=["rtl", "model"]),
    # With the path of `test_launch_path_rules.py`.
    pytest.mark.xdist_group("launch_path"),
]

#: Nine blocks, of which one at a time fits on an SM.
WIDE = replace(LAUNCH, grid=(9, 1, 1), barriers=4)
FATES = "kind", "ticket", "fate", "word2"


def drained():
    """Return a script: two blocks are out from 31 on, and the launch is drained from 52 on."""
    script = Script().launch(10, 0, descriptor=WIDE, mode=Mode.DRAIN)
    return script.preempt(50, 0).resume(120, 0)


@pytest.mark.rule("launch_path", 1, 16)
def test_without_an_abort_a_drained_launch_goes_on(kind):
    """The run that the next tests change: it is put back eight cycles after its last report."""
    saw = drained().report(70, 0).report(71, 1).run(kind, 150)
    assert saw.changes("kill") == {0: 0}
    put_back = saw.pulses("put_back", "ticket", "fate", "next_x")
    assert put_back == {79: (1, Fate.DRAINED, 2)}
    assert [block[3] for block in saw.blocks().values()] == [0, 1, 2, 3]


@pytest.mark.rule("launch_path", 1, 6, 10, 16)
@pytest.mark.parametrize("one_is_back", [False, True])
def test_an_abort_kills_a_launch_that_is_drained(kind, one_is_back):
    """ABORT in 60: answered in 63, `kill` in 66; no drain counts in the PREEMPT's record."""
    script = drained().abort(60, 1).killed(71, 1)
    (script.report(55, 0) if one_is_back else script.killed(70, 0))
    saw = script.run(kind, 150)
    assert saw.pulses("abort_answer", "code") == {63: 0}
    assert saw.changes("kill") == {0: 0, 66: 1, 77: 0}
    # From the first offer in 29 to the last report in 71.
    aborted = RecordKind.LAUNCH, 1, FinalFate.ABORTED, 42
    assert saw.pulses("record", *FATES) == {79: aborted, 80: (RecordKind.PREEMPT, 0, 0, 0)}
    assert saw.pulses("record", "word3", "word4")[80] == (0, 0)
    assert not saw.pulses("put_back", "ticket")
    assert list(saw.blocks()) == [29, 30]


UNKNOWN = QueueCode.TICKET_UNKNOWN


@pytest.mark.rule("launch_path", 1, 6, 10, 16)
@pytest.mark.parametrize(
    ("second", "answered", "code"), [(53, 56, 0), (60, 63, 0), (75, 78, 0), (76, 95, UNKNOWN)]
)
def test_a_second_abort_finds_the_launch_up_to_its_record(kind, second, answered, code):
    """ABORT in 50: `kill` in 56. Reported in 70: at `ended` in 76, its record is made in 77."""
    script = Script().launch(10, 0).abort(50, 1).abort(second, 1).killed(70, 0)
    saw = script.run(kind, 110)
    assert saw.pulses("abort_answer", "code") == {53: 0, answered: code}
    assert saw.changes("kill") == {0: 0, 56: 1, 76: 0}
    assert saw.pulses("record", *FATES) == {78: (RecordKind.LAUNCH, 1, FinalFate.ABORTED, 41)}
    assert not saw.pulses("put_back", "ticket")
    assert saw.pulses("timeline", "stream", "count") == {78: (0, 1)}
