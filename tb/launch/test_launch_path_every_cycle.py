"""Commands, an urgent launch and a soft reset in every cycle of a scenario of LaunchPath."""

from dataclasses import replace
from random import Random

import pytest

from tb.launch.path_ledger import PathLedger
from tb.launch.path_script import LAUNCH, URGENT, Script, Seen
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode
from warploom_spec.queue_packets import QueueOpcode

CONFIG = config_of("tiny,queue_depth=8,stream_bits=3")
WIDE = replace(LAUNCH, grid=(3, 1, 1))
#: The first launch's transfer.
FROM = 26
#: The scenario: from two cycles after the first acceptance to the last block that is placed.
FIRST, UNTIL = 34, 154
#: Cycles that are tried by default.
SOME = range(FIRST, UNTIL, 29)
#: Streams of the scenario; the last one is urgent.
STREAMS = range(6)
#: Cycles from the restart to the launch behind it: the boot is over.
PAUSE = 40

RTL = pytest.param(LaunchPath, marks=pytest.mark.deep, id="rtl")
kinds = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])
every_cycle = pytest.mark.parametrize("at", deep_but(SOME, range(FIRST, UNTIL)))


class LiveScript(Script):
    """A script that may reset softly; the restart comes in the first idle cycle that may be.

    Parameters
    ----------
    reset_at : int or None
        First cycle of the soft reset.

    Attributes
    ----------
    restarted : int or None
        The first cycle after the soft reset.
    """

    def __init__(self, *, reset_at=None, **options):
        super().__init__(CONFIG, **options)
        self._reset_at, self._active, self.restarted = reset_at, False, None

    def next(self, outputs):
        """Return the next cycle's inputs."""
        before, now = self._inputs, self._cycle
        values = super().next(outputs)
        if before and before["restart"]:
            self._active, self.restarted = False, now
        elif now == self._reset_at:
            self._active = True
        calm = not (values["launch__valid"] or (before and before["launch__valid"]))
        restart = self._active and calm and outputs["idle"] and now > self._reset_at + 2
        self._inputs = values | {"soft_reset_active": int(self._active), "restart": int(restart)}
        return self._inputs


def scenario(urgent=60, **options):
    """Return launches of all five modes, two of a stream, and an urgent one; SMs are live."""
    script = LiveScript(length=8, **options)
    script.launch(FROM, 0, descriptor=WIDE, idempotent=1)
    script.launch(FROM, 0, mode=Mode.RESET)
    script.launch(FROM, 1, descriptor=WIDE, mode=Mode.RESET, idempotent=1)
    script.launch(FROM, 2, (0, 1), descriptor=WIDE, mode=Mode.DRAIN)
    script.launch(FROM, 3, descriptor=WIDE, mode=Mode.WAIT)
    script.launch(FROM, 4, mode=Mode.YIELD)
    return script.launch(urgent, 5, descriptor=WIDE, priority=URGENT)


def play(kind, script, cycles):
    """Return what is seen; the ledger looks at every cycle."""
    recording = record(made(kind, CONFIG), script, cycles)
    books = PathLedger(CONFIG)
    for inputs, outputs in zip(recording.inputs, recording.outputs, strict=True):
        books.see(inputs, outputs)
    assert recording.outputs[-1]["idle"], "it does not end"
    return Seen(recording, CONFIG)


def ends(saw):
    """Return the fates of all launches, by ticket."""
    records = saw.records("ticket", "fate", "code")
    return {ticket: (fate, code) for ticket, fate, code in records.values() if ticket}


ALL_FINISHED = dict.fromkeys(range(1, 8), (FinalFate.FINISHED, 0))


@kinds
def test_the_scenario_lasts_as_long_as_it_is_said_to(kind):
    saw = play(kind, scenario(), 400)
    assert ends(saw) == ALL_FINISHED
    assert max(saw.offers()) == UNTIL == FIRST + 120
    assert saw.pulses("killed", "stream"), "nobody was killed"


@kinds
@pytest.mark.parametrize("answer", deep_but([5], [1, 5, 20]))
@every_cycle
def test_preempted_by_command_and_resumed_later(kind, at, answer):
    """All streams but the urgent one, at once; everything finishes."""
    later = Random(at).randint(1, 60)
    script = scenario(answer=answer).preempt(at, *STREAMS[:-1])
    saw = play(kind, script.resume(at + later, *STREAMS[:-1]), 700)
    assert ends(saw) == ALL_FINISHED
    assert list(saw.pulses("command_answer", "code").values()) == [0, 0]


@kinds
@every_cycle
def test_one_more_urgent_launch(kind, at):
    """Each of the others makes way in its own mode, and finishes."""
    script = scenario().launch(at, 6, descriptor=WIDE, priority=2, idempotent=1)
    assert ends(play(kind, script, 700)) == {**ALL_FINISHED, 8: (FinalFate.FINISHED, 0)}


@kinds
@every_cycle
def test_aborted_streams_end_and_the_others_finish(kind, at):
    """Streams 0, 3 and 4; a launch of each that comes later finishes."""
    script = scenario().command(at, QueueOpcode.ABORT_STREAMS, 0, 3, 4)
    for stream in (0, 3, 4):
        script.launch(260 + stream, stream)
    found = ends(play(kind, script, 700))
    fates = {FinalFate.FINISHED, FinalFate.ABORTED}
    assert found.keys() == {*range(1, 11)} and {fate for fate, _ in found.values()} <= fates
    for ticket in (3, 4, 7, 8, 9, 10):
        assert found[ticket] == (FinalFate.FINISHED, 0)


def after(kind, at):
    """Return what a launch behind a soft reset does, in cycles from the restart on."""
    script = scenario(min(at, 60), reset_at=at)
    first = play(kind, script, 500)
    again = script.restarted
    assert again is not None, "the soft reset does not end"
    assert set(first.pulses("answer", "code").values()) <= {0, HostError.RESET}
    script = scenario(min(at, 60), reset_at=at).launch(again + PAUSE, 0)
    saw = play(kind, script, again + PAUSE + 110)
    assert script.restarted == again
    tickets = [ticket for ticket in saw.pulses("answer", "ticket").values() if ticket]
    assert sorted(ends(saw)) == tickets == list(range(1, len(tickets) + 1))
    return {
        "offers": {c - again - PAUSE: offer for c, offer in saw.offers().items() if c >= again},
        "records": [c - again - PAUSE for c in saw.records("ticket") if c > again + PAUSE],
        "count": [count for c, count in saw.pulses("answer", "count").items() if c > again],
    }


@pytest.mark.rule("launch_path", 12, 13, 14)
@kinds
@every_cycle
def test_the_next_launch_is_like_the_first_whenever_a_soft_reset_begins(kind, at):
    """It is offered 27 cycles after its transfer, reported 8 later; its record 17 behind."""
    assert after(kind, at) == {"offers": {27: (0, 0, 0)}, "records": [52], "count": [1]}
