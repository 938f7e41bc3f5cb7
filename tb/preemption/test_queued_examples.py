"""The worked examples of LaunchPath's page, cycle by cycle, on the event model."""

from dataclasses import replace

from tb.preemption.queued_script import QueuedScript, run, slow
from tb.preemption.script import TINY
from warploom_spec import ErrorCode, Fate, preset
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind

LOW, URGENT = 0, 3
LONG = 10_000
RESET = {"idempotent": 1, "mode": Mode.RESET, "priority": LOW}


def offers(model):
    """(cycle, SM, ticket) of each offer."""
    return [(cycle, sm, ticket) for cycle, sm, _, ticket, _ in model.offers.T.tolist()]


def test_one_launch():
    model = run(QueuedScript(pops=False).launch(10, 0, length=11).at(60, "pop"), even=True)
    log = model.log
    assert log.answers == [(16, 1, 0, 0, 1)]
    assert [each.cycle for each in log.decisions] == [22]
    assert model.offers.T.tolist() == [[29, 0, 0, 1, 0]]
    assert log.handed == [(23, 1, 0, 0)]
    assert log.timeline == [(48, 0, 1)]
    (record,) = log.records
    assert (record.cycle, record.word2, record.accepted) == (48, 11, 15)
    assert (record.first_offer, record.made, record.offered) == (29, 47, True)


def test_urgent_kill_and_on_again():
    script = QueuedScript().launch(10, 0, length=LONG, **RESET)
    script.launch(95, 1, length=16, priority=URGENT)
    model = run(script, even=True, sm=slow(2), until=400)
    log = model.log
    assert log.stops == [(102, 0, 2)]
    assert model.reports.T.tolist()[0] == [106, 0, 0, 2]
    assert log.put_back[0][:4] == (114, 1, Fate.KILLED, 0)
    assert offers(model) == [(29, 0, 1), (114, 1, 2), (151, 0, 1)]
    assert log.timeline == [(138, 1, 1)]
    # The low launch is decided again; its block has the next slot.
    assert [each.cycle for each in log.decisions][-1] == 144
    assert model.offers.T.tolist()[2][2] == 1


def test_urgent_kill_and_on_again_to_the_end():
    script = QueuedScript().launch(10, 0, length=9, **RESET)
    script.launch(24, 1, length=16, priority=URGENT)
    model = run(script, even=True, sm=slow(2))
    low = model.log.records[-1]
    assert (low.ticket, low.kills, low.word2, low.accepted) == (1, 1, 9, 15)
    assert low.first_offer > 60 and low.made == low.first_offer + 9 + 7


def test_a_wait():
    script = QueuedScript().launch(10, 0, length=11).launch(11, 1, (0, 1))
    model = run(script, even=True)
    assert model.log.timeline[0] == (48, 0, 1)
    assert [each.cycle for each in model.log.decisions] == [22, 54]
    assert offers(model) == [(29, 0, 1), (61, 1, 2)]


def records_run_out(*launches):
    script = QueuedScript(pops=False)
    for cycle in range(20, 100, 10):
        script.at(cycle, "preempt", [7])
    for cycle in (90, 91, 112, 113):
        script.at(cycle, "look")
    script.at(105, "preempt", [7]).at(110, "pop")
    for cycle in launches:
        script.launch(cycle, 0)
    return script, run(script, replace(TINY, queue_depth=1), even=True)


def test_records_run_out():
    script, model = records_run_out(95)
    log = model.log
    assert log.commands[:8] == [(cycle + 1, 0) for cycle in range(20, 100, 10)]
    kinds = [(each.cycle, each.kind) for each in log.records]
    assert kinds == [(cycle + 2, RecordKind.PREEMPT) for cycle in range(20, 100, 10)]
    assert log.answers == [(101, 0, ErrorCode.COMPLETION_FULL, 0, 0)]
    assert log.commands[8] == (106, ErrorCode.COMPLETION_FULL)
    assert script.rooms[90] == [True] * 4 and script.rooms[91] == [False] * 4
    assert script.rooms[112] == [False] * 4 and script.rooms[113] == [True] * 4


def test_a_record_that_is_popped_counts_three_cycles_later():
    assert records_run_out(107)[1].log.answers[0] == (113, 0, ErrorCode.COMPLETION_FULL, 0, 0)
    assert records_run_out(108)[1].log.answers[0][:3] == (114, 1, 0)


def test_a_mode_that_does_not_exist():
    script = QueuedScript().launch(10, 0, mode=5).launch(20, 0, mode=7, grid=(0, 1, 1))
    assert run(script).log.answers == [
        (16, 0, HostError.FIELD_RANGE, 10, 0),
        (26, 0, ErrorCode.GRID_ZERO, 0, 0),
    ]


def test_both_places_are_held():
    script = QueuedScript().launch(10, 0, length=LONG, **RESET).launch(40, 1, length=LONG, **RESET)
    script.launch(95, 2, priority=URGENT)
    model = run(script, even=True, sm=slow(16), until=200)
    assert log_stops(model) == [(102, 0, 2), (102, 1, 2)]
    assert offers(model)[2] == (132, 0, 3)


def log_stops(model):
    return [tuple(each) for each in model.log.stops]


def test_abort_in_the_last_row():
    config = preset("default")
    script = QueuedScript().at(5, "preempt", [5])
    for cycle in range(16):
        script.launch(10 + cycle, 5, code=cycle, priority=URGENT)
    script.at(100, "abort", 16)
    model = run(script, config, until=300)
    assert [each.ticket for each in model.log.answers] == list(range(1, 17))
    assert model.log.aborts == [(167, 0)]
    record = model.log.records[-1]
    assert (record.cycle, record.ticket, record.fate) == (167, 16, FinalFate.ABORTED)
    # The entry is free when the head passes it: the stream is held.
    assert not model.queue.room(URGENT)


def test_abort_of_an_unknown_ticket():
    model = run(QueuedScript().at(100, "abort", 7).at(110, "abort", 8), preset("default"))
    # The second one transfers in 167.
    unknown = QueueCode.TICKET_UNKNOWN
    assert model.log.aborts == [(167, unknown), (234, unknown)]


def test_preempt_beside_a_launch():
    script = QueuedScript().launch(45, 2).at(50, "preempt", [2]).at(60, "resume", [2])
    model = run(script)
    assert model.log.answers[0].cycle == 51
    assert model.log.commands == [(51, 0), (61, 0)]
    record = model.log.records[0]
    assert (record.cycle, record.kind, record.accepted) == (52, RecordKind.PREEMPT, 50)
    assert (record.word2, record.word3, record.word4) == (0, 0, 0)
    # Chosen in 62, presented in 64.
    assert model.log.decisions == [(68, False, 0)]


def test_resume_before_the_record():
    script = QueuedScript().launch(10, 0, blocks=9, length=200, mode=Mode.DRAIN, block=(64, 1, 1))
    script.at(60, "preempt", [0]).at(65, "resume", [0])
    model = run(script, even=True)
    assert log_stops(model) == [(62, 0, 1)]
    drained = model.log.put_back[0]
    assert drained.fate is Fate.DRAINED
    record = model.log.records[0]
    # Its count of drained launches.
    assert (record.cycle, record.word3) == (drained.cycle + 1, 1 << 16)
    # RESUME acts in the cycle of the record: chosen in the next one, presented two later.
    assert model.log.decisions[1].cycle == drained.cycle + 8
    assert model.log.records[1].fate is FinalFate.FINISHED


def test_a_launch_that_is_out_counts_as_on_the_way_for_one_cycle():
    """Two are on the way, of which one is displaced: the choice comes a cycle after that."""
    script = QueuedScript().launch(10, 0, blocks=2, length=250, shared=TINY.shared_units)
    # It has a place, and no SM has room for it.
    script.launch(20, 1, length=30, code=1, shared=TINY.shared_units)
    # Ahead in the line, until another stream is ready, one cycle after its acceptance.
    script.launch(30, 0, code=2).launch(95, 3, code=3)
    model = run(script, even=True)
    displaced = model.log.put_back[0]
    assert (displaced.cycle, displaced.ticket, displaced.fate) == (102, 3, Fate.SKIPPED)
    # Chosen in 102, not in 101; in the line in 104, decided four cycles later.
    assert [each.cycle for each in model.log.decisions[:4]] == [22, 36, 44, 108]
