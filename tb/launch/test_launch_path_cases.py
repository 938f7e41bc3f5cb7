"""What LaunchPath must hold: residents of many streams, urgent launches, preparation that waits."""

from dataclasses import replace

import pytest

from tb.launch.path_ledger import PathLedger
from tb.launch.path_script import KILLED, LAUNCH, LOW, URGENT, Script, Seen
from tb.launch.test_launch_latency import accepted
from tb.support.deep_values import thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.record import made, record
from tb.support.resettable import resettable
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec.queue import FinalFate, Mode

RTL = pytest.param(LaunchPath, marks=pytest.mark.deep, id="rtl")
pytestmark = pytest.mark.parametrize("kind", [RTL, pytest.param(Model, id="model")])

#: SMs that hold all launches at once: sixteen streams, and as many shapes as the history has.
ROOMY = config_of(
    "tiny,block_slots=16,queue_depth=16,stream_bits=4,history_entries=8,reference_bits=5"
)
#: The end of the boot of `ROOMY`, about.
BOOTED = 90


def play(kind, script, cycles):
    """Return what is seen; the ledger looks at every cycle."""
    recording = record(made(kind, script.config), script, cycles)
    books = PathLedger(script.config)
    for inputs, outputs in zip(recording.inputs, recording.outputs, strict=True):
        books.see(inputs, outputs)
    return Seen(recording, script.config)


def finished(saw):
    """Return the tickets of the launches that finished, in their order."""
    records = saw.records("ticket", "fate")
    return [ticket for ticket, fate in records.values() if ticket and fate == FinalFate.FINISHED]


def shape(number, **changes):
    """Return a launch of one of eight shapes; their indices stand apart."""
    return replace(
        LAUNCH, block=(number + 1, 1, 1), index_address=2 * number, barriers=0, **changes
    )


@pytest.mark.parametrize("shapes", [1, 8])
def test_sixteen_streams_have_a_resident_launch_each(kind, shapes):
    """Every launch's two blocks are on the SMs before the first block ends."""
    script = Script(ROOMY, length=400)
    for stream in range(16):
        launch = shape(stream % shapes, grid=(2, 1, 1))
        script.launch(BOOTED, stream, descriptor=launch)
    saw = play(kind, script, BOOTED + 380)
    on_sms = [stream for _, stream, _ in saw.offers().values()]
    assert sorted(on_sms) == sorted([*range(16), *range(16)])
    assert not saw.records("ticket") and not saw.cycles("kill")


@pytest.mark.parametrize("idempotent", [0, 1])
def test_a_launch_that_never_ends_stops_no_other_stream_of_its_priority(kind, idempotent):
    """All its blocks are placed; thirty launches of each of two other streams run through."""
    script = Script(ROOMY, length=3)
    endless = replace(LAUNCH, grid=(2, 1, 1), code=1)
    script.launch(BOOTED, 0, descriptor=endless, idempotent=idempotent)
    script.endless = {0}
    for number in range(60):
        script.launch(BOOTED + 100, 1 + number % 2)
    for cycle in range(BOOTED, 2600):
        script.pop(cycle)
    saw = play(kind, script, 2600)
    assert len(finished(saw)) == 60 and not saw.cycles("kill")


def test_between_urgent_launches_of_one_stream_no_low_block_is_placed(kind):
    """Eight in a row; the low launch is killed once, and starts again when all have ended."""
    script = Script(ROOMY, length=10)
    low = replace(LAUNCH, grid=(2000, 1, 1))
    script.launch(BOOTED, 0, descriptor=low, priority=LOW, **KILLED)
    for _ in range(8):
        script.launch(BOOTED + 100, 1, priority=URGENT)
    saw = play(kind, script, BOOTED + 600)
    urgent = [cycle for cycle, (_, stream, _) in saw.offers().items() if stream == 1]
    low = [cycle for cycle, (_, stream, _) in saw.offers().items() if stream == 0]
    assert len(urgent) == 8
    assert not [cycle for cycle in low if urgent[0] <= cycle <= urgent[-1]]
    assert list(saw.pulses("killed", "stream").values()) == [0] and max(low) > urgent[-1]


#: The last low offer after an urgent launch's acceptance, at most: the page's window.
WINDOW = 10


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.RESET, Mode.DRAIN])
def test_low_blocks_are_placed_at_most_the_pages_window_after_an_acceptance(kind, mode):
    """In eleven phases of a low launch of which a block is placed in each second cycle."""
    latest = set()
    for phase in range(11):
        script = Script(ROOMY, length=40)
        low = replace(LAUNCH, grid=(2000, 1, 1), barriers=0)
        script.launch(BOOTED, 0, descriptor=low, priority=LOW, mode=mode)
        saw = script.launch(BOOTED + 150 + phase, 1, priority=URGENT).run(kind, BOOTED + 190)
        begins = accepted(saw, 2)
        low = [c for c, (_, s, _) in saw.offers().items() if s == 0]
        latest.add(max(low) - begins)
    assert max(latest) == WINDOW


def test_two_wait_launches_as_large_as_the_gpu_finish_beside_an_urgent_one(kind):
    """Blocks of a `wait` launch end only when all of it are placed: the begun one goes on."""
    script = Script(length=30)
    whole = replace(LAUNCH, grid=(8, 1, 1))
    for stream in (0, 1):
        script.launch(40, stream, descriptor=whole, priority=LOW, mode=Mode.WAIT)
    saw = play(kind, script.launch(70, 2, priority=URGENT), 500)
    assert sorted(finished(saw)) == [1, 2, 3]
    tickets = list(saw.tickets().values())
    assert tickets.index(3) in (8, 16), "the urgent block stands between those of a begun launch"


@pytest.mark.parametrize("at", thorough_but(range(60, 78, 4), range(60, 78)))
def test_a_hold_in_any_cycle_around_the_first_pick_stops_no_begun_wait_launch(kind, at):
    """PREEMPT of both streams; both need the whole GPU. Both finish after RESUME at the latest."""
    script = Script(length=30)
    whole = replace(LAUNCH, grid=(8, 1, 1))
    for stream in (0, 1):
        script.launch(40, stream, descriptor=whole, mode=Mode.WAIT)
    saw = play(kind, script.preempt(at, 0, 1).resume(300, 0, 1), 500)
    assert sorted(finished(saw)) == [1, 2]
    begun = {ticket for cycle, ticket in saw.tickets().items() if cycle < 300}
    for ticket in begun:
        blocks = [cycle for cycle, each in saw.tickets().items() if each == ticket]
        assert len(blocks) == 8 and max(blocks) < 300


def test_urgent_launches_of_a_ninth_shape_do_not_wait_for_endless_ones(kind):
    """Eight endless launches hold all entries of the history. The urgent ninth is held up.

    A launch of a shape that is there goes on meanwhile; when one of the eight ends, the ninth
    starts.
    """
    script = Script(ROOMY, length=5)
    script.endless = set(range(8))
    for stream in range(8):
        script.launch(BOOTED, stream, descriptor=shape(stream), priority=LOW, mode=Mode.WAIT)
    script.launch(BOOTED + 300, 8, descriptor=shape(8), priority=URGENT)
    script.launch(BOOTED + 400, 9, descriptor=shape(3), priority=LOW)
    script.abort(BOOTED + 600, 5)
    saw = play(kind, script, BOOTED + 800)
    ninth, there = (next(c for c, t in saw.tickets().items() if t == n) for n in (9, 10))
    assert there < BOOTED + 500 and BOOTED + 600 < ninth < BOOTED + 700


def test_a_region_that_overlaps_that_of_a_resident_launch_waits_alone(kind):
    """The second launch is held up, others go on; it starts when the first one has ended."""
    script = Script(ROOMY)
    script.launch(BOOTED, 0, descriptor=replace(shape(0), block=(17, 1, 1)))
    script.launch(BOOTED + 60, 1, descriptor=replace(shape(0), block=(9, 1, 1)))
    script.launch(BOOTED + 120, 2, descriptor=shape(5))
    saw = play(kind, script.report(BOOTED + 300, 0), BOOTED + 400)
    first = {t: min(c for c, each in saw.tickets().items() if each == t) for t in (1, 2, 3)}
    assert first[3] < BOOTED + 180 and BOOTED + 300 < first[2] < BOOTED + 350


@pytest.mark.parametrize("at", [20, 24, 28, 32])
def test_a_launch_stopped_after_its_last_block_was_placed_is_finished(kind, at):
    """ABORT, and both blocks are reported `OK` all the same."""
    script = Script().launch(40, 0, descriptor=replace(LAUNCH, grid=(2, 1, 1)))
    saw = play(kind, script.abort(40 + at, 1).report(120, 0).report(121, 1), 170)
    assert list(saw.records("ticket", "fate", "code").values()) == [(1, FinalFate.FINISHED, 0)]


def test_a_soft_reset_with_all_slots_full_ends_and_work_goes_on(kind):
    """Both SMs are full, and eight launches wait; then a launch of each stream finishes."""
    script = Script(ROOMY, length=400)
    for stream in range(8):
        script.launch(BOOTED, stream, descriptor=replace(LAUNCH, grid=(20, 1, 1), barriers=0))
    script.soft_reset(BOOTED + 150, BOOTED + 600)
    for stream in range(8):
        script.launch(BOOTED + 700, stream, descriptor=replace(LAUNCH, barriers=0))
    saw = play(kind, script, BOOTED + 1400)
    fates = [fate for _, fate in saw.records("ticket", "fate").values()]
    assert fates == [FinalFate.ABORTED] * 8 + [FinalFate.FINISHED] * 8
    assert not saw.recording.port("lost")[-1]


class Resets(Script):
    """A script whose block and SMs are reset in one cycle, at the port ``reset_now``."""

    def __init__(self, reset_in, **options):
        super().__init__(**options)
        self._reset_in = reset_in

    def next(self, outputs):
        """Return the next cycle's inputs."""
        since = self._cycle - self._reset_in
        self._inputs = super().next(outputs) | {"reset_now": int(not since)}
        # What is offered in the reset's own cycle is forgotten, too.
        if since in (0, 1):
            self._running = [[] for _ in self._running]
            for name, waiting in self._sent.items():
                if name.startswith("report"):
                    waiting.clear()
        return self._inputs


@pytest.mark.rule("launch_path", 15)
@pytest.mark.parametrize("reset_in", [68, 70, 75, 84, 93, 99])
def test_a_full_reset_in_the_middle_of_work_and_then_work(kind, reset_in):
    """Blocks of three streams are out; the same streams are used behind it, from ticket 1 on."""
    script = Resets(reset_in, length=30)
    for stream in range(3):
        script.launch(40, stream, descriptor=replace(LAUNCH, grid=(4, 1, 1)))
    for stream in range(3):
        script.launch(reset_in + 40, stream, descriptor=replace(LAUNCH, grid=(4, 1, 1)))
    saw = Seen(record(resettable(kind(script.config)), script, reset_in + 220), script.config)
    assert [cycle for cycle in saw.offers() if cycle < reset_in]
    behind = saw.records("ticket", "fate")
    assert [each for cycle, each in behind.items() if cycle > reset_in + 40] == [
        (ticket, FinalFate.FINISHED) for ticket in (1, 2, 3)
    ]
    assert not saw.pulses("dispatch_error", "code")
