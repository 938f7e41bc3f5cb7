"""ABORTs of launches that KernelQueue drains, or has aborted already, cycle by cycle."""

from functools import partial

import pytest

from tb.launch.queue_script import DEFAULT, Seen, low_in_place
from tb.support.planted import plant
from warploom.launch._queue_places import QueuePlaces
from warploom.launch.kernel_queue import KernelQueue
from warploom_dev.planted import Change
from warploom_golden.launch import KernelQueue as Model
from warploom_spec import Fate, Stop
from warploom_spec.queue import FinalFate, Mode, RecordKind

KINDS = pytest.mark.parametrize("kind", [KernelQueue, Model], ids=["rtl", "model"])
# With the queue of `test_kernel_queue_rules.py`.
pytestmark = pytest.mark.xdist_group("kernel_queue")

DRAIN, KILL = (int(Stop.DRAIN), 0), (int(Stop.KILL), 0)
ABORTED = RecordKind.LAUNCH, 1, FinalFate.ABORTED
PREEMPTED = RecordKind.PREEMPT, 0, 0


def seen(script, kind, cycles):
    return Seen(script.run(kind, cycles), DEFAULT)


def drained(end, fate):
    """Return a script: a drain stands in 62, an ABORT acts from 72 on, the launch ends."""
    script = low_in_place(Mode.DRAIN, ended=end - 1).preempt(60, 0)
    return script.abort(70, 1).end(end, 0, 1, fate, next_x=3).resume(100, 0)


@KINDS
@pytest.mark.rule("kernel_queue", 43, 48, 62)
@pytest.mark.parametrize(
    ("end", "fate", "stops", "back", "made"),
    [
        # It has a place in 72: killed, and its end is an aborted one, whatever its fate.
        (90, Fate.KILLED, {62: DRAIN, 74: KILL}, {}, 91),
        (90, Fate.DRAINED, {62: DRAIN, 74: KILL}, {}, 91),
        # The kill meets the end.
        (73, Fate.DRAINED, {62: DRAIN}, {}, 74),
        # It is at `ended` in 72: aborted in the end register.
        (72, Fate.DRAINED, {62: DRAIN}, {}, 73),
        # It is in the end register in 72, and put back; the ABORT waits for it up to 74.
        (71, Fate.DRAINED, {62: DRAIN}, {73: (1, Fate.DRAINED, 3)}, 74),
    ],
)
def test_an_abort_ends_a_launch_that_is_drained(kind, end, fate, stops, back, made):
    saw = seen(drained(end, fate), kind, 130)
    assert saw.pulses("abort_answer", "code") == {73: 0}
    assert saw.stops() == stops
    assert saw.pulses("put_back", "ticket", "fate", "next_x") == back
    records = saw.pulses("record", "kind", "ticket", "fate")
    assert records.pop(made + 1) == ABORTED
    assert list(records.values()) == [PREEMPTED]
    # The PREEMPT counts a drain only if the launch was put back.
    counts = saw.pulses("record", "word2", "word3", "word4")
    assert counts[min(records)] == (0, len(back) << 16, 0)
    assert saw.launched() == {28: 1}


@KINDS
@pytest.mark.rule("kernel_queue", 43, 48, 62)
@pytest.mark.parametrize("second", [53, 60, 78])
def test_a_second_abort_of_a_launch_is_answered_and_changes_nothing(kind, second):
    """The first one acts in 52, its kill stands in 54; the launch is at `ended` in 80."""
    script = low_in_place(ended=79).abort(50, 1).abort(second, 1).end(80, 0, 1, Fate.KILLED)
    saw = seen(script, kind, 100)
    assert saw.pulses("abort_answer", "code") == {53: 0, second + 3: 0}
    assert saw.stops() == {54: KILL}
    assert saw.pulses("record", "kind", "ticket", "fate") == {82: ABORTED}
    assert saw.pulses("timeline", "stream", "count") == {82: (0, 1)}
    assert not saw.pulses("put_back", "ticket")


KILLS = "active & ~launch.killing & (ends | over)"
#: A fault each of the RTL, and the test that finds it.
PLANTED = {
    "a launch that is drained is not killed": (
        Change(QueuePlaces, "_stop", KILLS, KILLS.replace("~launch.killing", "~stopped")),
        partial(
            test_an_abort_ends_a_launch_that_is_drained,
            end=90,
            fate=Fate.KILLED,
            stops={62: DRAIN, 74: KILL},
            back={},
            made=91,
        ),
    ),
    "a second ABORT kills a second time": (
        Change(QueuePlaces, "_stop", KILLS, f"({KILLS}) | self.aborts[p]"),
        partial(test_a_second_abort_of_a_launch_is_answered_and_changes_nothing, second=60),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_of_the_rtl_is_found(monkeypatch, fault):
    change, finds = PLANTED[fault]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        finds(KernelQueue)
