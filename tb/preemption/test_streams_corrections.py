"""CN115408135A's wrong rules with streams as queues: each fault shows with its rule alone."""

from dataclasses import replace

from tb.preemption.queued_script import QueuedScript, run
from tb.preemption.script import TINY
from tb.preemption.test_queued_random import problems
from warploom_golden.preemption.streams import (
    AllSubmitted,
    EventQueue,
    FlagCheckBlock,
    OneFlag,
    OnlyNotExecuted,
)
from warploom_spec import Fate
from warploom_spec.queue import Mode

#: The urgent launch's transfer, and its acceptance.
COMES = 75
ACCEPTED = COMES + 5


def preempted(low, queue=EventQueue):
    script = QueuedScript()
    for number, fields in enumerate(low):
        script.launch(1 + number, 0, code=number, **fields)
    script.launch(COMES, 7, code=9, blocks=2, length=8, priority=3)
    return script, run(script, queue=queue)


def found(script, model):
    return problems(script, model, TINY)


def test_a_flag_that_every_block_tests_tears_a_kernel_that_is_not_idempotent():
    low = [{"blocks": 30, "length": 20}]
    torn = found(*preempted(low, FlagCheckBlock))
    assert torn == ["ticket 1 is torn: not idempotent, and a block ran twice"]
    script, model = preempted(low)
    assert not found(script, model)
    assert [each.fate for each in model.log.put_back] == [Fate.DRAINED]


def test_what_was_submitted_and_does_not_run_does_not_decide():
    low = [{"blocks": 8, "length": 4000, "idempotent": 1}, {"blocks": 2, "length": 20}]

    def latency(queue=EventQueue):
        script, model = preempted(low, queue)
        assert not found(script, model)
        return next(each.cycle for each in model.log.begins if each.ticket == 3) - ACCEPTED

    assert latency() == 14
    assert latency(AllSubmitted) > 3000


def test_one_global_flag_makes_the_urgent_kernel_exit_itself():
    low = [{"blocks": 30, "length": 20, "idempotent": 1}]
    assert found(*preempted(low, OneFlag)) == ["ticket 2 finished with 0 of 2 blocks"]
    assert not found(*preempted(low))


def test_resubmitting_only_what_was_not_executed_loses_the_killed_kernel():
    low = [{"blocks": 30, "length": 20, "idempotent": 1}]
    assert found(*preempted(low, OnlyNotExecuted)) == ["ticket 1 has no final record"]
    assert not found(*preempted(low))


def test_a_window_keeps_the_urgent_launch_behind_the_first_eight():
    """In a window of the priority, what comes ninth waits for an end; without one it does not."""
    config = replace(TINY, queue_depth=16)

    def first_offer(window):
        script = QueuedScript()
        for number in range(9):
            # Eight launches of stream 0, whose head yields to nobody; then stream 1.
            stream = int(number == 8)
            script.launch(1 + number, stream, code=number, length=500, mode=Mode.YIELD)
        model = run(script, config, window=window)
        assert not problems(script, model, config)
        return next(each.cycle for each in model.log.begins if each.ticket == 9)

    assert first_offer(None) < 60
    assert first_offer(8) > 500
