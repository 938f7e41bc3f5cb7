"""Latencies of preemption from the doorbell, measured at the core's ports."""

import json
from pathlib import Path

import pytest

from tb.host.test_front_end_streams import KINDS, LOW, TINY, URGENT, Sms, launch, rings
from tb.support.front_end_script import play
from warploom_spec.host_commands import Opcode

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "docs" / "figures" / "latency.json").read_text()
)
#: Cycle in which BusPort's queues hold the urgent doorbell's write; it commits one later.
RUNG = 110
#: The command behind the doorbell, and the cycles at most to ``kill``.
MEASURED = {
    "doorbell_to_kill": (launch(stream=2, priority=URGENT), 17),
    "preempt_doorbell_to_kill": ([Opcode.PREEMPT, 0b10], 10),
}


@pytest.mark.thorough
@KINDS
@pytest.mark.parametrize("key", MEASURED)
def test_a_latency_is_the_committed_one_and_within_its_limit(key, kind):
    words, most = MEASURED[key]
    low = launch(stream=1, priority=LOW, idempotent=1, mode=1, gx=4)
    seen, _ = play(kind, TINY, [*rings(60, 0, low), *rings(RUNG + 1, 1, words)], 150, host=Sms)
    assert most >= seen.cycles("kill")[0] - RUNG == COMMITTED[key]
