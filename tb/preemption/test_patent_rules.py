"""CN115408135A's wrong rules: each fault shows with its rule alone, by the ledger at the ports."""

from dataclasses import replace

import pytest

from tb.preemption.rtl_runs import TINY, model_events, setting, workload
from warploom_golden.preemption.patent_rules import (
    AllSubmitted,
    FlagCheckBlock,
    OneFlag,
    OnlyNotExecuted,
)
from warploom_golden.replay.residents.ports import SleepingQueue
from warploom_sim.methods.preempt.port_figures import Blocks, port_run
from warploom_sim.methods.preempt.rtl_measurement import launches_sent
from warploom_sim.methods.preempt.run_ledger import RunLedger

#: Blocks, warps and length of launches.
MANY = ((30, 1, 40),)


def found(load, queue=SleepingQueue, config=TINY):
    """Return what is wrong with a run in which four urgent launches come, and its results."""
    sets = setting(4, 1, config=config)
    events = model_events(load, sets, queue)
    blocks = Blocks(events)
    ledger = RunLedger(events, blocks, launches_sent(events["sent"], load), config)
    wrong = ledger.check(load)
    return wrong, None if wrong else port_run(events, blocks)


@pytest.mark.parametrize("kills", [True, False])
def test_a_flag_that_every_block_tests_tears_a_kernel_that_is_not_idempotent(kills):
    load, config = workload("reset", MANY, share=0), replace(TINY, sm_kill=kills)
    torn, _ = found(load, FlagCheckBlock, config)
    assert any("is torn: not idempotent" in each for each in torn)
    wrong, run = found(load, config=config)
    assert (wrong, run.killed) == ([], ())
    assert run.went_on


def test_what_was_submitted_and_does_not_run_does_not_decide():
    """A long kernel that may be killed; behind it, in its stream, one that may not."""
    load = workload("reset", ((8, 2, 4000), (2, 1, 20)))
    low = tuple(replace(each, idempotent=int(each.code == 0)) for each in load.low)
    load = replace(load, low=low)
    (wrong, run), (wrong_too, slow) = found(load), found(load, AllSubmitted)
    assert not wrong and not wrong_too
    assert max(run.latencies) < 60 < 2000 < max(slow.latencies)


def test_one_global_flag_makes_the_urgent_kernel_exit_itself():
    wrong, _ = found(workload("reset", MANY), OneFlag)
    assert any("has no block" in each for each in wrong)
    assert found(workload("reset", MANY))[0] == []


def test_resubmitting_only_what_was_not_executed_loses_the_killed_kernel():
    wrong, _ = found(workload("reset", MANY), OnlyNotExecuted)
    assert wrong and all("has 0 final records" in each for each in wrong)
