"""Blocks that wait for each other, and heads that wait for nobody, on LaunchPath's model."""

from dataclasses import replace

import pytest

from tb.launch.path_script import LAUNCH, URGENT, Script
from tb.launch.test_launch_path_cases import BOOTED, ROOMY, finished, shape
from tb.support.deep_values import deep_but
from warploom_golden.launch import LaunchPath as Model
from warploom_spec.queue import Mode

#: As large as all SMs of `tiny`: a block takes one slot of eight.
WHOLE = replace(LAUNCH, grid=(8, 1, 1))
#: The first gang's transfer, and the cycles from its acceptance to its last block.
FROM = 40
AROUND = range(FROM + 3, FROM + 60)


class Gangs(Script):
    """Two launches, of streams 0 and 1; each one's blocks end when all eight are on the SMs.

    Parameters
    ----------
    mode : Mode
        The first one's.
    at : int
        The second one's transfer.
    **second : int
        Changes of the second one.
    """

    def __init__(self, mode, at, **second):
        super().__init__(length=5)
        self.endless = {0, 1}
        self.launch(FROM, 0, descriptor=WHOLE, mode=mode)
        self.launch(at, 1, descriptor=WHOLE, mode=Mode.WAIT, **second)

    def _see(self, outputs):
        super()._see(outputs)
        for stream in self.endless:
            gang = [one for running in self._running for one in running if one[0] == stream]
            if len(gang) == WHOLE.grid[0]:
                for one in gang:
                    one[2] = min(one[2], self._cycle + 5)


@pytest.mark.parametrize("at", deep_but(AROUND[::8], AROUND))
def test_two_gangs_finish_whenever_the_urgent_one_comes(at):
    saw = Gangs(Mode.WAIT, at, priority=URGENT).run(Model, 500)
    assert sorted(finished(saw)) == [1, 2]


def test_two_gangs_stand_for_ever_where_the_low_one_only_yields():
    """What `wait` is for: the urgent one has slots that the low one's last blocks need."""
    saw = Gangs(Mode.YIELD, FROM + 15, priority=URGENT).run(Model, 1500)
    assert set(saw.tickets().values()) == {1, 2}
    assert not finished(saw)


#: The SMs are switched on, and a PREEMPT comes around the first block.
ON = FROM + 80
COMMANDS = range(ON - 6, ON + 10)


@pytest.mark.parametrize("at", deep_but(COMMANDS[3:10:2], COMMANDS))
def test_a_preempt_around_the_first_block_of_a_gang_lets_both_finish(at):
    """Both wait, with one priority, and are resident; the first one is held, or goes on."""
    script = Gangs(Mode.WAIT, FROM + 3)
    for cycle in range(ON):
        script.at(cycle, enable=0)
    saw = script.preempt(at, 0).resume(at + 200, 0).run(Model, at + 500)
    assert sorted(finished(saw)) == [1, 2]


def test_of_heads_that_are_all_held_up_but_one_that_one_starts():
    """Eight endless launches hold all entries of the history; one head has a shape of theirs."""
    script = Script(ROOMY, length=5)
    script.endless = set(range(8))
    for stream in range(8):
        script.launch(BOOTED, stream, descriptor=shape(stream))
    for stream in range(8, 15):
        script.launch(BOOTED + 250, stream, descriptor=shape(stream))
    script.launch(BOOTED + 500, 15, descriptor=shape(3))
    assert finished(script.run(Model, BOOTED + 1000)) == [16]


@pytest.mark.parametrize("launches", deep_but([], [100, 1000], thorough=[100]))
def test_a_launch_that_never_ends_lets_all_of_each_other_stream_through(launches):
    """All its blocks are placed. Each end moves a timeline."""
    script = Script(ROOMY, length=3)
    script.endless = {0}
    script.launch(BOOTED, 0)
    for _ in range(launches):
        for stream in range(1, 16):
            script.launch(BOOTED + 100, stream)
    model, outputs, ended = Model(ROOMY), None, 0
    for _ in range(BOOTED + 200 + 15 * 9 * launches):
        inputs = script.next(outputs) | {"pop": 1}
        outputs = model.outputs(inputs)
        ended += bool(outputs["timeline"])
        model.tick(inputs)
    assert ended == 15 * launches
