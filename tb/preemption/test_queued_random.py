"""Random graphs of launches with waits on the event model: order kept, no deadlock, once in effect.

The ledger shares no code with the model. What it says of four queues by priority is not asked.
"""

import random
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from tb.preemption.ledger import Books, Machine, Ticket
from tb.preemption.queued_script import OPCODES, QueuedScript, run, slow
from tb.preemption.script import TINY
from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_spec import Config, capacities
from warploom_spec.config import RECLAIMS
from warploom_spec.queue import FinalFate, Mode, RecordKind
from warploom_spec.resources import block_amounts

CONFIG = replace(TINY, stream_bits=4)
SHAPES = [(8, 1, 1), (16, 2, 1), (64, 1, 1)]
#: Whatever was refused or came too late: in the end all streams go on.
LAST = 20_000
MODES = [*Mode]


def graph(rng, script, config, most, until=600):
    """Send launches of 2 to 16 streams in random cycles, with waits that point backwards."""
    streams = rng.randint(2, 16)
    urgency = [rng.randrange(4) for _ in range(streams)]
    sent = Counter()
    cycles = sorted(rng.sample(range(until), rng.randint(2, most)))
    for code, cycle in enumerate(cycles):
        stream = rng.randrange(streams)
        waits = []
        for _ in range(rng.randrange(3)):
            other = rng.randrange(streams)
            if sent[other] and rng.randrange(4):
                waits.append((other, rng.randint(1, sent[other])))
        script.launch(
            cycle,
            stream,
            *waits,
            code=code,
            blocks=rng.randint(1, 12),
            length=rng.randint(4, 60),
            priority=urgency[stream],
            idempotent=rng.randrange(2),
            mode=rng.choice(MODES),
            block=rng.choice(SHAPES),
            index_address=rng.choice((0, 0, 8)),
        )
        sent[stream] += 1
    return streams


def commands(rng, script, streams, until=600):
    for _ in range(rng.randrange(5)):
        mask = {rng.randrange(streams) for _ in range(rng.randint(1, 3))}
        at = [rng.randrange(until)]
        at.append(at[0] + rng.randint(1, 300))
        for name, cycle in zip(("preempt", "resume"), at, strict=True):
            if not any(given in ("preempt", "resume") for given, _ in script.planned(cycle)):
                script.at(cycle, name, mask)
    script.at(LAST, "resume", set(range(16)))


def answered(script, model):
    """(cycle, sent launch, answer) of each launch."""
    return [
        (cycle, sent, answer)
        for (cycle, sent), answer in zip(script.sent, model.log.answers, strict=True)
    ]


def books(script, model, config: Config):
    """Return the ledger's books of a run."""
    machine = Machine(config.sms, config.block_slots, tuple(capacities(config).values())[1:])
    tickets = []
    for cycle, sent, answer in answered(script, model):
        if answer.ticket:
            launch = sent.descriptor
            need = block_amounts(vars(launch), warps(launch.block, config.warp_size), config)[1:]
            x, y, z = launch.grid
            tickets.append(
                Ticket(
                    answer.ticket,
                    x * y * z,
                    launch.stream,
                    launch.priority,
                    bool(launch.idempotent),
                    launch.mode in (Mode.WAIT, Mode.YIELD),
                    need,
                    cycle,
                )
            )
    records = [each for each in model.log.records if each.kind is RecordKind.LAUNCH]
    return Books(
        machine,
        tickets,
        [tuple(row) for row in model.offers.T.tolist()],
        [tuple(row) for row in model.reports.T.tolist()],
        [(each.made, each.ticket, int(each.fate)) for each in records],
        lost=model.dispatcher.lost,
    )


def problems(script, model, config: Config):
    """Return what the ledger finds, and what is wrong with waits and PREEMPTs."""
    ledger = books(script, model, config)
    statuses = ledger._settle()
    ledger._check_room()
    ledger._check_records()
    by_ticket = defaultdict(list)
    for offer in ledger.offers:
        by_ticket[offer[3]].append(offer)
    fates = {ticket: fate for _, ticket, fate in ledger.records}
    for ticket in ledger.tickets:
        ledger._check_effect(ticket, by_ticket[ticket.ticket], statuses, fates.get(ticket.ticket))
    ledger._check_streams(by_ticket, statuses)
    return ledger.problems + early(script, model) + preempts(script, model)


def early(script, model):
    """Launches that began before what they wait for had ended, as sentences."""
    ends = {each.ticket: each.made for each in model.log.records}
    first = {}
    for cycle, _, _, ticket, _ in model.offers.T.tolist():
        first.setdefault(ticket, cycle)
    tickets = defaultdict(list)
    found = []
    for _, sent, answer in answered(script, model):
        if not answer.ticket:
            continue
        for stream, count in sent.waits:
            for awaited in tickets[stream][:count]:
                if first.get(answer.ticket, 1 << 60) <= ends[awaited]:
                    found.append(f"ticket {answer.ticket} does not wait for {awaited}")
        tickets[sent.descriptor.stream].append(answer.ticket)
    return found


def preempts(script, model):
    given = [each for each in script.commands if each[1] in ("preempt", "resume", "abort_streams")]
    answers = zip(given, model.log.commands, strict=True)
    accepted = sum(name == "preempt" and not code for (_, name, _), (_, code) in answers)
    made = sum(each.kind is RecordKind.PREEMPT for each in model.log.records)
    return [] if made == accepted else [f"{accepted} PREEMPTs have {made} records"]


@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("policy", PREDICTED_POLICIES)
def test_order_is_kept_nothing_hangs_and_each_runs_once(policy, reclaim, seed):
    rng = random.Random(f"{seed} {policy} {reclaim}")
    config = replace(CONFIG, policy=policy, reclaim=reclaim)
    for _ in range(5):
        script = QueuedScript()
        commands(rng, script, graph(rng, script, config, 24))
        model = run(script, config, sm=slow(rng.choice((0, 1, 5, 20))), seed=seed)
        assert not problems(script, model, config)
        assert all(each.fate is FinalFate.FINISHED for each in model.log.records)


def all_events(model):
    return model.log, model.offers.tolist(), model.reports.tolist()


def wild(rng, config):
    """A script with everything: waits, commands, ABORTs, time-outs, pops; and how SMs behave."""
    script = QueuedScript(pops=bool(rng.randrange(3)))
    streams = graph(rng, script, config, 24)
    commands(rng, script, streams)
    for _ in range(rng.randrange(4)):
        script.at(rng.randrange(700), "abort", rng.randint(1, 26))
    for _ in range(rng.randrange(3)):
        cycle = rng.randrange(700)
        if not any(name in OPCODES for name, _ in script.planned(cycle)):
            script.at(cycle, "abort_streams", {rng.randrange(streams)})
    # The port takes one stream in a cycle.
    for cycle in rng.sample(range(900), rng.randrange(3)):
        script.at(cycle, "clear_stream", rng.randrange(streams))
    # A silent SM's blocks are missed only when their launch is killed.
    script.at(0, "timeout", rng.choice((30, 100, 300, 1000)))
    for _ in range(rng.randrange(30)):
        script.at(rng.randrange(900), "pop")
    behaviour = slow(
        rng.choice((0, 5, 20, 80)),
        silent_from={sm: rng.randint(20, 400) for sm in range(2) if not rng.randrange(6)},
        faults={rng.randrange(14): rng.randrange(4) for _ in range(rng.randrange(3))},
    )
    return script, behaviour


#: Runs at least, and runs after which a fate that did not come is said to come never.
LEAST, MOST = 6, 40
FATES = {*FinalFate}


@pytest.mark.thorough
@pytest.mark.parametrize("reclaim", RECLAIMS)
def test_every_cycle_stepped_gives_the_same_events(reclaim, seed):
    config = replace(CONFIG, reclaim=reclaim, kill_timeout=64)
    seen = set()
    for number in range(MOST):
        if number >= LEAST and seen == FATES:
            break
        runs = []
        for dense in (False, True):
            rng = random.Random(f"{seed} {reclaim} {number}")
            script, behaviour = wild(rng, config)
            model = run(script, config, sm=behaviour, seed=seed, dense=dense, until=LAST + 500)
            runs.append(all_events(model))
            seen |= {each.fate for each in model.log.records}
        assert runs[0] == runs[1], number
    assert seen == FATES


def test_whatever_is_aborted_or_lost_the_ledger_agrees(seed):
    config = replace(CONFIG, kill_timeout=64)
    rng = random.Random(f"{seed} wild")
    for _ in range(15):
        script, behaviour = wild(rng, config)
        model = run(script, config, sm=behaviour, seed=seed)
        assert not problems(script, model, config)
