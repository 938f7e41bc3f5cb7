"""What is wrong with CN115408135A's rules: each fault shows with its rule, and not without."""

import pytest

from tb.preemption.patent_rules import AllSubmitted, FlagCheckBlock, OneFlag, OnlyNotExecuted
from tb.preemption.script import books, kernel, run
from warploom_golden.preemption import KernelQueue, is_idempotent

URGENT = kernel(9, 2, 8, priority=3, stream=7)


def preempted(low, queue=KernelQueue):
    commands = [(n, "launch", each) for n, each in enumerate(low)]
    return run([*commands, (60, "launch", URGENT)], queue=queue)


def test_a_flag_that_every_block_tests_tears_a_kernel_that_is_not_idempotent():
    low = [kernel(0, 24, 20, idempotent=0)]
    torn = books(*preempted(low, FlagCheckBlock)).check()
    assert torn == ["ticket 1 is torn: not idempotent, and a block ran twice"]
    model, script = preempted(low)
    assert not books(model, script).check()
    assert [each.fate.name for each in model.queue.put_back] == ["DRAINED"]


def test_what_was_submitted_and_does_not_run_does_not_decide():
    low = [kernel(0, 2, 4000, idempotent=1), kernel(1, 2, 20, idempotent=0)]

    def latency(queue=KernelQueue):
        model, script = preempted(low, queue)
        assert not books(model, script).check()
        return dict(model.queue.starts)[3] - 60, model.queue.records

    killed, _ = latency()
    assert killed == 13
    # Two long blocks leave room beside them, but for the two places: fill the machine.
    full = [kernel(0, 8, 4000, idempotent=1), kernel(1, 2, 20, idempotent=0)]
    low[:] = full
    assert latency()[0] <= 14
    assert latency(AllSubmitted)[0] > 3000


def test_one_global_flag_makes_the_urgent_kernel_exit_itself():
    low = [kernel(0, 24, 20, idempotent=1)]
    model, script = preempted(low, OneFlag)
    assert books(model, script).check() == ["ticket 2 finished with 0 of 2 blocks"]
    assert not books(*preempted(low)).check()


def test_resubmitting_only_what_was_not_executed_loses_the_killed_kernel():
    low = [kernel(0, 24, 20, idempotent=1)]
    model, script = preempted(low, OnlyNotExecuted)
    assert books(model, script).check() == ["ticket 1 has no final record"]
    assert not books(*preempted(low)).check()


def test_a_block_of_the_other_place_goes_on_when_one_is_killed():
    """CN115408135A resets the whole GPU."""
    killed = kernel(0, 4, 300, idempotent=1, mode=1)
    waits = kernel(1, 2, 300, mode=3, stream=1)
    model, script = preempted([killed, waits])
    assert not books(model, script).check()
    assert [r.kills for r in sorted(model.queue.records, key=lambda r: r.ticket)] == [1, 0, 0]
    assert sum(model.offers[3] == 2) == 2


@pytest.mark.parametrize(
    ("reads", "writes", "idempotent"),
    [
        ([(0, 64)], [(64, 128)], True),
        ([(0, 65)], [(64, 128)], False),
        ([(0, 64), (200, 201)], [(64, 128), (128, 200)], True),
        ([(100, 110)], [(0, 300)], False),
        ([(0, 0)], [(0, 10)], True),
        ([], [], True),
        (None, [], False),
        ([], None, False),
    ],
)
def test_idempotent_is_what_reads_nothing_that_it_writes(reads, writes, idempotent):
    assert is_idempotent(reads, writes) is idempotent


def test_a_range_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match=r"range is \(4, 2\); legal: an end from 4 up"):
        is_idempotent([(4, 2)], [])
