"""Preemption with contention: by hand, and beside SMs that walk through every cycle.

Blocks of other launches on an SM come and go by a preemption. The blocks that stay run at another
speed from then on; a killed block's report time stays as it is.
"""

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from tb.preemption.script import LOG, Script, kernel, run
from tb.preemption.test_random import launches, preemptions
from tb.support.deep_values import deep_but
from tb.support.replay_reference import SmCore, block_length
from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption import PreemptionModel, SmBehaviour
from warploom_golden.replay.event_constants import NEVER, PREDICTED_POLICIES
from warploom_spec import BlockStatus, LaunchDescriptor, Stop, preset, timing
from warploom_spec.config import RECLAIMS

TINY = preset("tiny")
RESET, WAIT = 1, 3
KILLED = int(BlockStatus.KILLED)
#: (cycle, SM, slot, status) of each report.
Reports = list[tuple[int, int, int, int]]


@dataclass
class Residence:
    """A launch in a place, from its transfer on, and the first cycle of the place's kill level."""

    since: int
    ticket: int
    launch: LaunchDescriptor
    kill_at: int = NEVER


class Watched(PreemptionModel):
    """Notes what the kernel queue tells the dispatcher: transfers and kills."""

    residences: list[Residence]

    def watch(self) -> None:
        self.residences = []
        places: dict[int, Residence] = {}
        hand_over, stop = self.dispatcher.hand_over, self.dispatcher.stop

        def note_launch(cycle, number, launch, ticket, first=0):
            places[number] = Residence(cycle, ticket, launch)
            self.residences.append(places[number])
            hand_over(cycle, number, launch, ticket, first)

        def note_stop(cycle, number, how, take_back=False):
            if how is Stop.KILL:
                acts = cycle + timing(TINY).stop
                places[number].kill_at = min(places[number].kill_at, acts)
            stop(cycle, number, how, take_back)

        self.dispatcher.hand_over, self.dispatcher.stop = note_launch, note_stop


def walked(model: Watched, seed: int, knee: int | None, report_time: int, last: int) -> Reports:
    """Return what SMs report that take the model's offers and kills, each SM in every cycle."""
    taken: dict[tuple[int, int], tuple[int, int, int]] = {}
    for cycle, sm, *rest in model.offers.T.tolist():
        taken[cycle, sm] = tuple(rest)
    sms = [SmCore(knee, report_time) for _ in range(TINY.sms)]
    found = []
    for cycle in range(last + 1):
        level = sum((one.kill_at <= cycle) << n for n, one in enumerate(model.residences))
        for number, sm in enumerate(sms):
            sm.begin(cycle)
            slot = None
            if (cycle, number) in taken:
                slot, ticket, block = taken[cycle, number]
                # The last residence that had begun: a launch may come back several times.
                held = max(
                    n
                    for n, one in enumerate(model.residences)
                    if one.ticket == ticket and one.since < cycle
                )
                launch = model.residences[held].launch
                gx, gy, _ = launch.grid
                at = block % gx, block // gx % gy, block // (gx * gy)
                length = block_length(seed, launch.code, launch.arguments, at)
                count = warps(launch.block, TINY.warp_size)
                sm.take(slot, held, length, count, launch.address_space)
            sm.kill(level)
            sent = sm.send(slot)
            if sent is not None:
                found.append((cycle, number, sent[0], int(sent[2])))
    return found


@pytest.mark.parametrize("knee", deep_but([3], [None, 3]))
@pytest.mark.parametrize("reclaim", RECLAIMS)
def test_reports_are_those_of_sms_that_walk_every_cycle(reclaim, knee, seed):
    seen: Counter[str] = Counter()
    for k in range(8):
        rng = random.Random(f"{seed} {reclaim} {k}")
        policy, time = rng.choice(PREDICTED_POLICIES), (0, 1, 5, 20)[k % 4]
        config = replace(TINY, policy=policy, reclaim=reclaim)
        commands = list(crowded(rng))
        model = Watched(config, log=LOG, sm=SmBehaviour(report_time=time), seed=k, knee=knee)
        model.watch()
        model.run(Script(commands))
        reports = [tuple(row) for row in model.reports.T.tolist()]
        assert reports == walked(model, k, knee, time, reports[-1][0]), f"seed {seed}, run {k}"
        free = run(commands, config, sm=SmBehaviour(report_time=time), seed=k)[0]
        seen["killed"] += any(row[3] == KILLED for row in reports)
        seen["slowed"] += free.reports.tolist() != model.reports.tolist()
    assert seen == {"killed": 8, "slowed": 8 if knee else 0}


def crowded(rng):
    """Draw launches of any recorded load, and preemptions.

    The first launch runs alone until an urgent one kills it: its blocks fill both SMs, and last 150
    cycles at least.
    """
    yield 0, "launch", kernel(90, 12, 200, mode=RESET, idempotent=1, stream=8)
    yield 60, "launch", kernel(91, 3, 8, priority=3, stream=9)
    for cycle, name, launch in launches(rng, 14):
        yield cycle + 64, name, replace(launch, address_space=rng.randrange(20))
    for cycle, name, priority in preemptions(rng):
        yield cycle + 64, name, priority


# --- by hand -------------------------------------------------------------------------------------
#: Four warps in a block, and an SM was recorded with four.
FOUR = {"block": (32, 1, 1), "address_space": 4}


def one_sm(goes_on: int, report_time: int, knee: int | None) -> tuple[list[int], Reports]:
    """Run a block that goes on, one that is killed, and an urgent one on an SM; return its ports.

    The urgent launch is accepted in 100, so the kill acts in 103. The jitter makes the three blocks
    190 (or 95), 788 and 36 cycles long.
    """
    commands = [
        (0, "launch", kernel(0, 1, goes_on, mode=WAIT, **FOUR)),
        (1, "launch", kernel(1, 1, 900, mode=RESET, idempotent=1, stream=1, **FOUR)),
        (100, "launch", kernel(2, 1, 40, priority=3, stream=2, **FOUR)),
    ]
    sm = SmBehaviour(report_time=report_time)
    model, _ = run(commands, replace(TINY, sms=1), sm=sm, knee=knee)
    return model.offers[0].tolist(), [(c, slot, status) for c, _, slot, status in model.reports.T]


@pytest.mark.parametrize(
    ("report_time", "killed", "urgent", "urgent_ends", "again"),
    [(0, 103, 132, 203, 239), (6, 109, 138, 209, 245), (40, 143, 172, 243, 279)],
)
def test_blocks_run_at_the_speed_of_what_their_sm_holds(
    report_time, killed, urgent, urgent_ends, again
):
    """Knee 4: a block of four warps runs at full speed alone, at half beside another one.

    The urgent block has 1 cycle at full speed, then 35 of its 36 at half: 71 cycles. The block that
    goes on has 190, taken in 13. It comes on by 35 alone up to 48; by half of the cycles up to the
    killed block's report; by 30 alone; by 35 beside the urgent block; by 37 alone until the killed
    launch is back. In those three cases that is 27.5, 30.5 and 47.5 in the second part, 164.5,
    167.5 and 184.5 in all. 25.5, 22.5 and 5.5 are left, at half the speed: up to 291 each time.
    """
    offers, reports = one_sm(200, report_time, 4)
    assert offers == [13, 47, urgent, again]
    assert reports[:3] == [(killed, 1, KILLED), (urgent_ends, 2, 0), (291, 0, 0)]
    # The killed launch's second run has 788. It has 1 cycle at full speed, then half of those up to
    # 291, an odd number; what is left is alone from 291 on, and its last half takes a cycle.
    halves = 291 - again - 1
    assert reports[3] == (291 + 788 - 1 - halves // 2, 3, 0)
    # Without contention all run at full speed.
    free = one_sm(200, report_time, None)[1]
    assert sorted(free)[:3] == sorted([(killed, 1, KILLED), (urgent + 36, 2, 0), (13 + 190, 0, 0)])


def test_a_report_time_counts_cycles_while_the_sm_empties():
    """The block that goes on has 95: 35 alone, and the other 60 at half the speed up to 168.

    It ends within the report time, so the SM runs at full speed from then on. The killed block is
    reported 100 cycles after the kill, in 203 all the same.
    """
    assert one_sm(100, 100, 4)[1][:2] == [(168, 0, 0), (203, 1, KILLED)]
