"""Preemption with contention: by hand, and beside SMs that walk through every cycle.

Blocks of other launches on an SM come and go by a preemption. The blocks that stay run at another
speed from then on; a killed block's report time stays as it is.
"""

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from tb.preemption.queued_script import LOG, QueuedScript, run, slow
from tb.preemption.test_queued_random import CONFIG, commands, graph
from tb.support.deep_values import deep_but
from tb.support.replay_reference import SmCore, block_length
from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption.streams import QueuedModel
from warploom_golden.replay.event_constants import NEVER, PREDICTED_POLICIES
from warploom_spec import BlockStatus, LaunchDescriptor, Stop, timing
from warploom_spec.config import RECLAIMS
from warploom_spec.queue import Mode

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


class Watched(QueuedModel):
    """Notes what the kernel queue tells the dispatcher: transfers and kills."""

    residences: list[Residence]

    def watch(self) -> None:
        self.residences = []
        places: dict[int, Residence] = {}
        hand_over, stop = self.dispatcher.hand_over, self.dispatcher.stop

        def note_launch(cycle, number, launch, ticket, *more, **options):
            places[number] = Residence(cycle, ticket, launch)
            self.residences.append(places[number])
            hand_over(cycle, number, launch, ticket, *more, **options)

        def note_stop(cycle, number, how):
            if how is Stop.KILL:
                acts = cycle + timing(CONFIG).stop
                places[number].kill_at = min(places[number].kill_at, acts)
            stop(cycle, number, how)

        self.dispatcher.hand_over, self.dispatcher.stop = note_launch, note_stop


def walked(model: Watched, seed: int, knee: int | None, report_time: int, last: int) -> Reports:
    """Return what SMs report that take the model's offers and kills, each SM in every cycle."""
    taken: dict[tuple[int, int], tuple[int, int, int]] = {}
    for cycle, sm, *rest in model.offers.T.tolist():
        taken[cycle, sm] = tuple(rest)
    sms = [SmCore(knee, report_time) for _ in range(CONFIG.sms)]
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
                count = warps(launch.block, CONFIG.warp_size)
                sm.take(slot, held, length, count, launch.address_space)
            sm.kill(level)
            sent = sm.send(slot)[0]
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
        config = replace(CONFIG, policy=policy, reclaim=reclaim)
        script, again = (crowded(random.Random(f"{seed} {reclaim} {k} script")) for _ in range(2))
        model = Watched(config, log=LOG, sm=slow(time), seed=k, knee=knee)
        model.watch()
        model.run(script)
        reports = [tuple(row) for row in model.reports.T.tolist()]
        assert reports == walked(model, k, knee, time, reports[-1][0]), f"seed {seed}, run {k}"
        free = run(again, config, sm=slow(time), seed=k)
        seen["killed"] += any(row[3] == KILLED for row in reports)
        seen["slowed"] += free.reports.tolist() != model.reports.tolist()
    assert seen == {"killed": 8, "slowed": 8 if knee else 0}


def crowded(rng):
    """Draw launches of any recorded load, and commands.

    The first launch runs alone until an urgent one kills it: its blocks fill both SMs, and last 150
    cycles at least.
    """
    drawn, script = QueuedScript(), QueuedScript()
    script.launch(1, 14, code=90, blocks=12, length=200, mode=Mode.RESET, idempotent=1)
    script.launch(66, 15, code=91, blocks=3, length=8, priority=3)
    streams = graph(rng, drawn, CONFIG, 14, until=300)
    commands(rng, drawn, min(streams, 14), until=300)
    for cycle, given in drawn._given.items():
        for name, argument in given:
            if name == "launch":
                launch = replace(argument.descriptor, address_space=rng.randrange(20))
                stream = launch.stream % 14
                argument = replace(argument, descriptor=replace(launch, stream=stream), waits=())
            script.at(cycle + 70, name, argument)
    return script


# --- by hand -------------------------------------------------------------------------------------
#: Four warps in a block, and an SM was recorded with four.
FOUR = {"block": (32, 1, 1), "address_space": 4}


def one_sm(goes_on: int, report_time: int, knee: int | None) -> tuple[list[int], Reports]:
    """Run a block that goes on, one that is killed, and an urgent one on an SM; return its ports.

    The urgent launch is accepted in 105, so the kill acts in 109. The jitter makes the three blocks
    190 (or 95), 788 and 36 cycles long.
    """
    script = QueuedScript().launch(0, 0, code=0, length=goes_on, mode=Mode.WAIT, **FOUR)
    script.launch(1, 1, code=1, length=900, mode=Mode.RESET, idempotent=1, **FOUR)
    script.launch(100, 2, code=2, length=40, priority=3, **FOUR)
    model = run(script, replace(CONFIG, sms=1), sm=slow(report_time), knee=knee)
    return model.offers[0].tolist(), [(c, slot, status) for c, _, slot, status in model.reports.T]


@pytest.mark.parametrize(
    ("report_time", "killed", "urgent", "urgent_ends", "again"),
    [(0, 109, 138, 209, 247), (6, 115, 144, 215, 253), (40, 149, 178, 249, 287)],
)
def test_blocks_run_at_the_speed_of_what_their_sm_holds(
    report_time, killed, urgent, urgent_ends, again
):
    """Knee 4: a block of four warps runs at full speed alone, at half beside another one.

    The urgent block has 1 cycle at full speed, then 35 of its 36 at half: 71 cycles. The block that
    goes on has 190, taken in 19. It comes on by 35 alone up to 54; by half of the cycles up to the
    killed block's report; by 30 alone; by 35 beside the urgent block; by 39 alone until the killed
    launch is back. In those three cases that is 27.5, 30.5 and 47.5 in the second part, 166.5,
    169.5 and 186.5 in all. 23.5, 20.5 and 3.5 are left, at half the speed: up to 295 each time.
    """
    offers, reports = one_sm(200, report_time, 4)
    assert offers == [19, 53, urgent, again]
    assert reports[:3] == [(killed, 1, KILLED), (urgent_ends, 2, 0), (295, 0, 0)]
    # The killed launch's second run has 788. It has 1 cycle at full speed, then half of those up to
    # 295, an odd number; what is left is alone from 295 on, and its last half takes a cycle.
    halves = 295 - again - 1
    assert reports[3] == (295 + 788 - 1 - halves // 2, 3, 0)
    # Without contention all run at full speed.
    free = one_sm(200, report_time, None)[1]
    assert sorted(free)[:3] == sorted([(killed, 1, KILLED), (urgent + 36, 2, 0), (19 + 190, 0, 0)])


def test_a_report_time_counts_cycles_while_the_sm_empties():
    """The block that goes on has 95: 35 alone, and the other 60 at half the speed up to 174.

    It ends within the report time, so the SM runs at full speed from then on. The killed block is
    reported 100 cycles after the kill, in 209 all the same.
    """
    assert one_sm(100, 100, 4)[1][:2] == [(174, 0, 0), (209, 1, KILLED)]
