"""The law of preemption: when an urgent launch's first block is offered, at most."""

import random
from collections import defaultdict

import pytest

from tb.preemption.script import TINY, kernel, run
from warploom_golden.preemption import QueueLatency, SmBehaviour
from warploom_spec import PRESETS, timing

RESET, DRAIN, WAIT = 1, 2, 3


@pytest.mark.parametrize("name", PRESETS)
def test_the_laws_numbers(name):
    latency = QueueLatency(PRESETS[name])
    assert (latency.kill, latency.idle_launch) == (3, 13)
    assert (latency.report_to_offer, latency.next_launch) == (6, 12)
    assert latency.idle_place == 15
    # What the page allows.
    assert latency.kill <= 4
    assert latency.idle_launch <= 14
    assert latency.report_to_offer <= 6
    assert latency.next_launch <= 12
    # A place's kill level falls before its next launch's first offer.
    assert timing(PRESETS[name]).first_offer >= timing(PRESETS[name]).kill_gap == 4


def test_an_idle_machine_takes_thirteen_cycles():
    warm = kernel(0, 1, 10)
    model, script = run([(0, "launch", warm), (100, "launch", kernel(1, 1, 10))])
    assert model.offers[0, 1] == 100 + 13


def test_the_kill_comes_three_cycles_after_the_urgent_launch():
    low = kernel(0, 2, 1000, idempotent=1, mode=RESET)
    model, _ = run([(0, "launch", low), (200, "launch", kernel(1, 1, 10, priority=3, stream=1))])
    killed = model.reports[:, model.reports[3] == 2]
    assert killed[0].tolist() == [203, 203]
    assert killed[1].tolist() == [0, 1]


def test_a_launch_whose_first_block_was_decided_before_has_started():
    low = kernel(0, 1, 100, idempotent=1)
    urgent = kernel(1, 1, 10, priority=3, stream=1)
    (first,) = run([(0, "launch", low)])[0].offers[0]
    decided = first - timing(TINY).offer
    for cycle, fates in ((decided - 3, ["SKIPPED"]), (decided - 2, ["KILLED"])):
        model, _ = run([(0, "launch", low), (cycle, "launch", urgent)])
        assert [each.fate.name for each in model.queue.put_back] == fates


def reports_by_block(model):
    """Return (offer cycle, SM, ticket, report cycle) of each block."""
    open_, blocks = {}, []
    events = [(c, 1, sm, slot, ticket) for c, sm, slot, ticket, _ in model.offers.T.tolist()]
    events += [(c, 2, sm, slot, None) for c, sm, slot, _ in model.reports.T.tolist()]
    for cycle, kind, sm, slot, ticket in sorted(events, key=lambda event: event[:4]):
        if kind == 1:
            open_[sm, slot] = cycle, sm, ticket
        else:
            blocks.append((*open_.pop((sm, slot)), cycle))
    return blocks


def bound(model, accepted, urgent, grids):
    """Return the law's terms from the ports: idle, room, place, and that of an idle place."""
    blocks = [b for b in reports_by_block(model) if b[2] != urgent]
    # Started before the flag is seen, and still in a place when the urgent launch came. Of those
    # that started, a block that is decided in the first cycle of the stop is offered in A + 5.
    first = defaultdict(lambda: 1 << 60)
    last = defaultdict(int)
    for offer, _, ticket, report in blocks:
        if offer <= accepted + 5:
            first[ticket] = min(first[ticket], offer)
            last[ticket] = max(last[ticket], report)
    stopped = {t for t in first if first[t] <= accepted + 4 and last[t] + 6 >= accepted}
    rid = []
    for sm in range(TINY.sms):
        on = [b[3] for b in blocks if b[1] == sm and b[2] in stopped and b[0] <= accepted + 5]
        rid.append(max(on, default=-100))
    both = len(stopped) == 2
    gone = min(last[t] for t in stopped) if both else -100
    # Of the one that is gone first all blocks were reported when its stop was seen; it has more.
    idle = [t for t in stopped if last[t] == gone and last[t] < accepted + 3]
    early = any(sum(b[2] == t and b[0] <= accepted + 5 for b in blocks) < grids[t] for t in idle)
    return accepted + 13, min(rid) + 6, gone + 12, accepted + 15 if early else -100


@pytest.mark.parametrize("mode", [RESET, DRAIN])
def test_the_law_holds_and_each_of_its_terms_is_reached(mode, seed):
    rng = random.Random(f"{seed} {mode}")
    reached = set()
    for _ in range(400):
        low = [
            kernel(
                n,
                rng.randint(1, 10),
                rng.choice((6, 20, 60)),
                idempotent=1,
                mode=mode,
                stream=rng.randrange(2),
            )
            for n in range(rng.randint(1, 3))
        ]
        commands = [(n, "launch", each) for n, each in enumerate(low)]
        accepted = rng.randint(30, 120)
        commands.append((accepted, "launch", kernel(9, 1, 10, priority=3, stream=7)))
        model, script = run(commands, sm=SmBehaviour(report_time=rng.choice((0, 1, 5, 20))))
        urgent = script.tickets("launch")[-1]
        offered = dict(model.queue.starts)[urgent]
        grids = dict(zip(script.tickets("launch"), (one.grid[0] for one in low), strict=False))
        terms = bound(model, accepted, urgent, grids)
        assert offered <= max(terms), f"seed {seed}: accepted {accepted}, terms {terms}"
        reached |= {n for n, term in enumerate(terms) if term == offered == max(terms)}
    # The last one is rare: a launch of short blocks, stopped while it waits for room.
    assert reached >= {0, 1, 2}


def test_a_stopped_launch_that_waits_for_room_leaves_its_place_three_cycles_later():
    """One block ended in 50, three wait; stopped in 52, gone from 55 on, place free in 58."""
    low = [
        kernel(n, blocks, cycles, idempotent=1, mode=RESET, stream=1 - n)
        for n, (blocks, cycles) in enumerate([(7, 60), (4, 6)])
    ]
    urgent = kernel(9, 1, 10, priority=3, stream=7)
    commands = [(0, "launch", low[0]), (1, "launch", low[1]), (49, "launch", urgent)]
    model, _ = run(commands, sm=SmBehaviour(report_time=1))
    assert (44, 50) in [(b[0], b[3]) for b in reports_by_block(model) if b[2] == 2]
    assert [(p.cycle, p.ticket) for p in model.queue.put_back] == [(58, 2), (62, 1)]
    assert dict(model.queue.starts)[3] == 49 + 15


def test_waiting_ends_four_cycles_after_the_first_room():
    fit_known = timing(TINY).fit_table + 8
    for blocks in (9, 12, 15):
        low = kernel(0, blocks, 100, mode=WAIT)
        model, script = run(
            [(0, "launch", low), (30, "launch", kernel(1, 1, 10, priority=3, stream=1))]
        )
        low_ticket, urgent = script.tickets("launch")
        offered = dict(model.queue.starts)[urgent]
        last_offer = max(o[0] for o in model.offers.T.tolist() if o[3] == low_ticket)
        # Eight slots are taken all the time until then: a later report makes the first room.
        room = min(b[3] for b in reports_by_block(model) if b[3] + 3 >= last_offer)
        assert last_offer > 30 + fit_known
        assert last_offer < offered <= max(room + 4, last_offer + 4)
