"""Commands, an urgent launch and a soft reset in every cycle of a scenario of LaunchPath."""

from dataclasses import replace
from random import Random

import pytest

from tb.launch.path_ledger import PathLedger
from tb.launch.path_script import LAUNCH, LiveScript, Seen
from tb.launch.queue_script import URGENT
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode
from warploom_spec.queue_packets import QueueOpcode

#: Six launches of one priority wait.
CONFIG = config_of("tiny,queue_depth=8")
WIDE = replace(LAUNCH, grid=(3, 1, 1))
#: The scenario lasts so long if nothing happens; cycles that are tried by default, and all.
FROM, UNTIL = 12, 132
SOME = range(FROM + 6, UNTIL, 29)
#: Streams of the scenario; the last one is urgent.
STREAMS = range(6)
#: Cycles from the restart to the launch behind it, and how long it is watched.
PAUSE, WATCHED = 10, 40

RTL = pytest.param(LaunchPath, marks=pytest.mark.deep, id="rtl")
kinds = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])
every_cycle = pytest.mark.parametrize("at", deep_but(SOME, range(FROM, UNTIL)))


def scenario(urgent=60, **options):
    """Return launches of all five modes, two of a stream, and an urgent one."""
    script = LiveScript(config=CONFIG, **options)
    script.launch(10, 0, descriptor=WIDE, idempotent=1)
    script.launch(11, 0, descriptor=WIDE, mode=Mode.RESET, after_previous=0)
    script.launch(12, 1, descriptor=WIDE, mode=Mode.RESET, idempotent=1)
    script.launch(13, 2, (1, 1), descriptor=WIDE, mode=Mode.DRAIN)
    script.launch(14, 3, descriptor=WIDE, mode=Mode.WAIT)
    script.launch(15, 4, descriptor=WIDE, mode=Mode.YIELD)
    return script.launch(urgent, 5, descriptor=WIDE, priority=URGENT)


def play(kind, script, cycles):
    """Return what is seen; the ledger looks at every cycle."""
    recording = record(made(kind, CONFIG), script, cycles)
    books = PathLedger(CONFIG)
    for cycle, (inputs, outputs) in enumerate(
        zip(recording.inputs, recording.outputs, strict=True)
    ):
        books.see(cycle, inputs, outputs)
    saw = Seen(recording, CONFIG)
    assert recording.outputs[-1]["idle"], "it does not end"
    return saw


def ends(saw):
    """Return the fates of all launches, by ticket."""
    records = saw.pulses("record", "ticket", "fate", "code")
    return {ticket: (fate, code) for ticket, fate, code in records.values() if ticket}


ALL_FINISHED = dict.fromkeys(range(1, 8), (FinalFate.FINISHED, 0))


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


@pytest.mark.rule("launch_path", 16, 17)
@kinds
@every_cycle
def test_one_more_urgent_launch(kind, at):
    """Each of the others makes way in its own mode, and finishes."""
    script = scenario().launch(
        at + 4 * (at < 16) + (at == 60), 6, descriptor=WIDE, priority=2, idempotent=1
    )
    assert ends(play(kind, script, 700)) == {**ALL_FINISHED, 8: (FinalFate.FINISHED, 0)}


@kinds
@every_cycle
def test_aborted_streams_end_and_the_others_finish(kind, at):
    """Streams 0, 3 and 4; a launch of each that comes later finishes."""
    script = scenario().command(at, QueueOpcode.ABORT_STREAMS, 0, 3, 4)
    for stream in (0, 3, 4):
        script.launch(200 + stream, stream)
    found = ends(play(kind, script, 700))
    fates = {FinalFate.FINISHED, FinalFate.ABORTED}
    assert found.keys() == {*range(1, 11)} and {fate for fate, _ in found.values()} <= fates
    for ticket in (3, 4, 7, 8, 9, 10):
        assert found[ticket] == (FinalFate.FINISHED, 0)


def after(kind, at):
    """Return what a launch behind a soft reset does, in cycles from the restart on."""
    script = scenario(min(at, 60), reset_at=at)
    first = play(kind, script, 400)
    again = script.restarted
    assert again is not None, "the soft reset does not end"
    refused = set(first.pulses("answer", "code").values())
    assert refused <= {0, HostError.RESET}
    script = scenario(min(at, 60), reset_at=at).launch(again + PAUSE, 0)
    saw = play(kind, script, again + PAUSE + WATCHED + 60)
    assert script.restarted == again
    tickets = [ticket for ticket in saw.pulses("answer", "ticket").values() if ticket]
    assert sorted(ends(saw)) == tickets == list(range(1, len(tickets) + 1))
    return {
        "offers": {c - again: offer for c, offer in saw.offers().items() if c >= again},
        "records": [c - again for c in saw.pulses("record", "ticket") if c > again + PAUSE],
        "count": [count for c, count in saw.pulses("answer", "count").items() if c > again],
        "timeline": [
            (c - again, step)
            for c, step in saw.pulses("timeline", "stream", "count").items()
            if c > again + PAUSE
        ],
    }


@pytest.mark.rule("launch_path", 12, 13, 14)
@kinds
@every_cycle
def test_the_next_launch_is_like_the_first_whenever_a_soft_reset_begins(kind, at):
    """A launch in 10 is offered in 29, its block is reported 6 cycles later; record 8 behind."""
    assert after(kind, at) == {
        "offers": {29: (0, 0, 0)},
        "records": [43],
        "count": [1],
        "timeline": [(43, (0, 1))],
    }
