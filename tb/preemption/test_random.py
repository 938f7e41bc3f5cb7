"""Random launches and commands of all kinds: whatever happens, the ledger agrees."""

import random
from dataclasses import replace

import pytest

from tb.preemption.script import books, kernel, run
from warploom_golden.preemption import QueueParameters, SmBehaviour
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_spec import preset
from warploom_spec.config import RECLAIMS
from warploom_spec.queue import RecordKind

BLOCKS = [(8, 1, 1), (16, 2, 1), (64, 1, 1)]


def launches(rng, most):
    for number in range(rng.randint(2, most)):
        stream = rng.randrange(6)
        launch = kernel(
            number,
            rng.randint(1, 12),
            rng.randint(4, 60),
            stream=stream,
            priority=stream % 4,
            after_previous=rng.randrange(2),
            idempotent=rng.randrange(2),
            mode=rng.randrange(4),
            block=rng.choice(BLOCKS),
        )
        yield rng.randrange(300), "launch", launch


def preemptions(rng):
    for priority in range(4):
        for _ in range(rng.randrange(3)):
            cycle = rng.randrange(250)
            yield cycle, "preempt", priority
            yield cycle + rng.randint(1, 200), "resume", priority
        # Whatever was refused or came too late, in the end all queues go on.
        yield 3000, "resume", priority


@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("policy", PREDICTED_POLICIES)
def test_launches_of_all_priorities_and_preemptions(policy, reclaim, seed):
    rng = random.Random(f"{seed} {policy} {reclaim}")
    config = replace(preset("tiny"), policy=policy, reclaim=reclaim)
    for _ in range(40):
        behaviour = SmBehaviour(report_time=rng.choice((0, 1, 5, 20)))
        commands = [*launches(rng, 14), *preemptions(rng)]
        model, script = run(commands, config, sm=behaviour, seed=seed)
        assert not books(model, script, config).check()
        kinds = [r for r in model.queue.records if r.kind is RecordKind.LAUNCH]
        assert all(record.fate == 0 for record in kinds)


@pytest.mark.parametrize("reclaim", RECLAIMS)
def test_aborts_time_outs_faults_and_lost_sms(reclaim, seed):
    rng = random.Random(f"{seed} {reclaim}")
    config = replace(preset("tiny"), reclaim=reclaim, kill_timeout=64)
    seen = set()
    for _ in range(120):
        behaviour = SmBehaviour(
            report_time=rng.choice((0, 5, 20, 80)),
            silent_from={sm: rng.randint(20, 400) for sm in range(2) if not rng.randrange(4)},
            faults={rng.randrange(14): rng.randrange(4) for _ in range(rng.randrange(3))},
        )
        parameters = QueueParameters(launch_timeout=rng.choice((0, 30, 100, 300)) or 1000)
        commands = [*launches(rng, 14), *preemptions(rng)]
        commands += [(rng.randrange(300), "abort", rng.randint(1, 16)) for _ in range(3)]
        commands += [(rng.randrange(600), "clear_stream", rng.randrange(6)) for _ in range(2)]
        model, script = run(commands, config, sm=behaviour, parameters=parameters, seed=seed)
        assert not books(model, script, config).check()
        seen |= {(record.fate.name, record.code) for record in model.queue.records}
    # Each fate and code came up: finished, aborted, and all failures.
    codes = {code for fate, code in seen if fate == "FAILED"}
    assert {fate for fate, _ in seen} == {"FINISHED", "ABORTED", "FAILED"}
    assert codes == {14, 15, 17, 18, 27}
