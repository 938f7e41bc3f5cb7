"""Commands, refusals, records, time-outs, lost SMs and broken streams, with literal values."""

from dataclasses import replace

import pytest

from tb.preemption.script import TINY, Script, books, kernel, run
from warploom_golden.preemption import (
    NoEventLeft,
    PreemptionModel,
    QueueParameters,
    SmBehaviour,
)
from warploom_golden.preemption.records import FinalRecord
from warploom_spec import ErrorCode, WarploomError
from warploom_spec.queue import FinalFate, QueueCode, RecordKind

LONG = kernel(0, 2, 400, idempotent=1)
NEXT = kernel(1, 2, 20)
FINISHED, ABORTED, FAILED = FinalFate.FINISHED, FinalFate.ABORTED, FinalFate.FAILED


def fates(model):
    return {r.ticket: (r.fate, r.code) for r in model.queue.records}


def answers(script, name):
    return [answer for _, called, _, answer in script.answers if called == name]


def put_back(model):
    return [(each.ticket, each.fate.name, each.next_block) for each in model.queue.put_back]


# --- acceptance ----------------------------------------------------------------------------------
def test_tickets_count_up_from_the_first_and_skip_zero_at_the_wrap():
    parameters = QueueParameters(first_ticket=2**32 - 1)
    _, script = run(
        [(0, "launch", NEXT), (1, "preempt", 2), (2, "launch", NEXT)], parameters=parameters
    )
    assert answers(script, "launch") == [(2**32 - 1, 0), (2, 0)]
    assert answers(script, "preempt") == [(1, 0)]


def test_a_full_queue_refuses_and_the_others_do_not():
    parameters = QueueParameters(queue_depth=2, max_in_flight=2)
    commands = [(n, "launch", replace(LONG, stream=n)) for n in range(3)]
    _, script = run(
        [*commands, (3, "launch", kernel(9, 1, 10, priority=1, stream=5))], parameters=parameters
    )
    assert answers(script, "launch") == [(1, 0), (2, 0), (0, ErrorCode.QUEUE_FULL), (3, 0)]


def test_a_launch_that_is_wrong_in_itself_is_refused_with_its_code():
    wrong = replace(NEXT, grid=(0, 1, 1))
    _, script = run([(0, "launch", wrong), (1, "launch", replace(NEXT, shared=65))])
    assert answers(script, "launch") == [(0, ErrorCode.GRID_ZERO), (0, ErrorCode.BLOCK_SHARED)]


def test_a_stream_has_one_priority_as_long_as_it_has_unfinished_launches():
    other = replace(NEXT, priority=2)
    _, script = run([(0, "launch", NEXT), (1, "launch", other), (400, "launch", other)])
    assert answers(script, "launch") == [(1, 0), (0, ErrorCode.STREAM_PRIORITY), (2, 0)]


def test_a_record_that_nobody_takes_keeps_its_place():
    parameters = QueueParameters(queue_depth=1, max_in_flight=1)
    model = PreemptionModel(TINY, parameters=parameters)
    commands = [(100 * n, "launch", NEXT) for n in range(9)]
    script = Script([*commands, (900, "preempt", 0)], takes_records=False)
    model.run(script)
    assert [code for _, code in answers(script, "launch")] == [0] * 8 + [ErrorCode.COMPLETION_FULL]
    assert answers(script, "preempt") == [(0, ErrorCode.COMPLETION_FULL)]
    assert model.queue.take_record().ticket == 1


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("queue_depth", 3, "a power of two up to 1024"),
        ("max_in_flight", 17, "1 to 16"),
        ("max_kills", 8, "0 to 7"),
        ("first_ticket", 0, "1 to 4294967295"),
    ],
)
def test_a_size_out_of_range_is_refused_by_name(field, value, legal):
    with pytest.raises(WarploomError, match=f"{field} is {value}; legal: {legal}"):
        QueueParameters(**{field: value})


# --- PREEMPT and RESUME --------------------------------------------------------------------------
def test_an_idle_queues_preempt_is_reported_in_the_next_cycle():
    model, _ = run([(5, "preempt", 1)])
    assert model.queue.records == [FinalRecord(cycle=6, ticket=1, kind=RecordKind.PREEMPT)]


def test_preempt_resume_and_their_refusals():
    commands = [
        (0, "launch", LONG),
        (1, "resume", 0),
        (100, "preempt", 0),
        (101, "preempt", 0),
        (200, "preempt", 0),
        (201, "resume", 0),
        (202, "resume", 0),
    ]
    model, script = run(commands)
    assert answers(script, "preempt") == [(2, 0), (0, QueueCode.PREEMPT_PENDING), (3, 0)]
    not_preempted = (0, QueueCode.NOT_PREEMPTED)
    assert answers(script, "resume") == [not_preempted, (0, 0), not_preempted]
    by_ticket = {r.ticket: r for r in model.queue.records}
    # One launch was killed; nothing was there any more for the second.
    assert by_ticket[2].words == (0, 1, 0)
    assert (by_ticket[3].cycle, by_ticket[3].words) == (201, (0, 0, 0))
    assert by_ticket[1].kills == 1
    assert not books(model, script).check()


def test_preempt_in_the_cycle_of_the_earlier_ones_record_comes_before_it():
    recorded = next(
        r.cycle
        for r in run([(0, "launch", LONG), (100, "preempt", 0), (999, "resume", 0)])[
            0
        ].queue.records
        if r.kind is RecordKind.PREEMPT
    )
    for cycle, code in ((recorded, QueueCode.PREEMPT_PENDING), (recorded + 1, 0)):
        _, script = run(
            [(0, "launch", LONG), (100, "preempt", 0), (cycle, "preempt", 0), (999, "resume", 0)]
        )
        assert answers(script, "preempt")[1][1] == code


def test_a_resume_before_the_record_waits_for_it():
    early = run(
        [(0, "launch", LONG), (100, "preempt", 0), (101, "resume", 0)],
        sm=SmBehaviour(report_time=20),
    )
    record = early[0].queue.records[0]
    late = run(
        [(0, "launch", LONG), (100, "preempt", 0), (record.cycle, "resume", 0)],
        sm=SmBehaviour(report_time=20),
    )
    assert record.kind is RecordKind.PREEMPT
    assert early[0].offers.tolist() == late[0].offers.tolist()


def test_what_became_of_the_launches_of_a_preempted_queue():
    """Started: one finishes, one is killed, or drained. Handed on: taken back. Else: nothing."""
    low = [
        kernel(0, 2, 40, mode=3),
        kernel(1, 4, 400, mode=1, idempotent=1, stream=1),
        kernel(2, 2, 20, stream=2),
        kernel(3, 2, 20, stream=3),
    ]
    commands = [(n, "launch", each) for n, each in enumerate(low)]
    model, script = run([*commands, (50, "preempt", 0), (600, "resume", 0)])
    record = next(r for r in model.queue.records if r.kind is RecordKind.PREEMPT)
    assert record.words == (1, 1, 2)
    assert record.pack() == (5, 2 << 11, 0, 1, 1, 2)
    assert put_back(model) == [(3, "SKIPPED", 0), (4, "SKIPPED", 0), (2, "KILLED", 0)]
    assert not books(model, script).check()


def test_a_drained_launch_goes_on_with_its_next_block():
    low = kernel(0, 20, 40, mode=2, idempotent=1)
    model, script = run([(0, "launch", low), (60, "preempt", 0), (400, "resume", 0)])
    (ticket, fate, next_block), *_ = put_back(model)
    assert (ticket, fate) == (1, "DRAINED")
    assert 8 <= next_block < 20
    assert model.offers[4].tolist() == list(range(20))
    assert not books(model, script).check()


def test_a_drained_launch_without_a_block_left_is_finished():
    low = kernel(0, 8, 60, mode=2)
    model, _ = run([(0, "launch", low), (60, "preempt", 0), (400, "resume", 0)])
    assert put_back(model) == []
    assert fates(model)[1] == (FINISHED, 0)
    assert model.queue.records[0].ticket == 1


def test_reset_of_a_kernel_that_is_not_idempotent_is_a_drain_and_says_so():
    low = [kernel(n, 20, 40, mode=1, idempotent=n, stream=n) for n in (0, 1)]
    model, _ = run([(0, "launch", low[0]), (60, "preempt", 0), (300, "resume", 0)])
    by_ticket = {r.ticket: r for r in model.queue.records}
    assert put_back(model)[0][1] == "DRAINED"
    assert by_ticket[1].reset_as_drain and by_ticket[1].pack()[1] == 1 << 17
    model, _ = run([(0, "launch", low[1]), (60, "preempt", 0), (300, "resume", 0)])
    by_ticket = {r.ticket: r for r in model.queue.records}
    assert put_back(model)[0][1] == "KILLED"
    assert by_ticket[1].pack()[1] == 1 << 14


def test_a_launch_that_was_killed_four_times_is_drained_from_then_on():
    low = kernel(0, 20, 100, idempotent=1)
    commands = [(0, "launch", low)]
    for turn in range(6):
        commands += [(100 + 200 * turn, "preempt", 0), (290 + 200 * turn, "resume", 0)]
    model, script = run(commands)
    assert [fate for _, fate, _ in put_back(model)] == ["KILLED"] * 4 + ["DRAINED"] * 2
    assert fates(model)[1] == (FINISHED, 0)
    assert next(r for r in model.queue.records if r.ticket == 1).kills == 4
    assert not books(model, script).check()


def test_a_queue_preempted_by_command_counts_as_empty_for_those_below():
    urgent = kernel(0, 2, 100, priority=3, stream=3, idempotent=1)
    low = kernel(1, 2, 20)
    commands = [(0, "preempt", 3), (1, "launch", urgent), (2, "launch", low)]
    model, script = run([*commands, (500, "resume", 3)])
    order = [r.ticket for r in model.queue.records if r.kind is RecordKind.LAUNCH]
    assert order == [3, 2]
    assert not books(model, script).check()


def test_nothing_low_starts_between_two_urgent_kernels():
    urgent = [kernel(n, 1, 30, priority=3, stream=7) for n in range(4)]
    commands = [(100 + n, "launch", each) for n, each in enumerate(urgent)]
    low = [(n, "launch", kernel(8 + n, 4, 30, stream=n)) for n in range(6)]
    model, script = run([*low, *commands])
    assert not books(model, script).check()
    ends = {r.ticket: r.cycle for r in model.queue.records}
    starts = dict(model.queue.starts)
    assert not [t for t in range(1, 7) if 110 < starts[t] < ends[10]]


def test_a_queue_that_nobody_resumes_stands_still():
    with pytest.raises(NoEventLeft):
        run([(0, "preempt", 0), (1, "launch", NEXT)])


# --- ABORT and time-out --------------------------------------------------------------------------
def test_abort_of_what_waits_runs_is_suspended_or_is_not_there():
    commands = [
        (0, "launch", LONG),
        (1, "launch", NEXT),
        (2, "launch", NEXT),
        (50, "abort", 3),
        (150, "abort", 1),
        (300, "abort", 7),
        (400, "abort", 3),
    ]
    model, script = run(commands)
    assert fates(model) == {1: (ABORTED, 0), 2: (FINISHED, 0), 3: (ABORTED, 0)}
    codes = {(ticket, code): cycle for cycle, ticket, code in model.queue.searched}
    unknown = QueueCode.TICKET_UNKNOWN
    assert list(codes) == [(3, 0), (1, 0), (7, unknown), (3, unknown)]
    # A place a cycle: the third place, the first, and all 64.
    assert list(codes.values()) == [53, 151, 364, 464]
    assert put_back(model) == []
    assert not books(model, script).check()


def test_abort_of_a_suspended_launch_and_of_one_that_is_drained():
    low = kernel(0, 20, 60, mode=2)
    suspended = [(0, "launch", low), (60, "preempt", 0), (300, "abort", 1), (400, "resume", 0)]
    assert fates(run(suspended)[0])[1] == (ABORTED, 0)
    drained = [(0, "launch", low), (60, "preempt", 0), (62, "abort", 1), (400, "resume", 0)]
    model, script = run(drained)
    assert fates(model)[1] == (ABORTED, 0)
    assert 2 in model.reports[3]
    assert not books(model, script).check()


def test_abort_that_comes_when_every_block_has_ended_finishes():
    low = kernel(0, 2, 60)
    end = run([(0, "launch", low)])[0].queue.records[0].cycle
    model, _ = run([(0, "launch", low), (end - 4, "abort", 1)])
    assert fates(model)[1] == (FINISHED, 0)


def test_a_launch_that_runs_too_long_is_killed_and_fails():
    parameters = QueueParameters(launch_timeout=100)
    model, script = run([(0, "launch", LONG), (1, "launch", NEXT)], parameters=parameters)
    assert fates(model) == {1: (FAILED, QueueCode.TIMEOUT), 2: (FINISHED, 0)}
    first_offer = dict(model.queue.starts)[1]
    killed = model.reports[:, model.reports[3] == 2]
    assert killed[0].tolist() == [first_offer + 100 + 2] * 2
    assert not books(model, script).check()


def test_each_residence_has_its_own_time():
    parameters = QueueParameters(launch_timeout=110)
    low = kernel(0, 16, 60, mode=2)
    commands = [(0, "launch", low), (60, "preempt", 0), (200, "resume", 0)]
    assert fates(run(commands, parameters=parameters)[0])[1] == (FINISHED, 0)
    assert fates(run(commands[:1], parameters=parameters)[0])[1] == (FAILED, QueueCode.TIMEOUT)


# --- faults, lost SMs, broken streams ------------------------------------------------------------
def test_a_fault_kills_its_launch_and_the_stream_goes_on():
    behaviour = SmBehaviour(faults={0: 1})
    low = kernel(0, 12, 100, idempotent=1)
    model, script = run([(0, "launch", low), (1, "launch", NEXT)], sm=behaviour)
    assert fates(model) == {1: (FAILED, ErrorCode.BLOCK_FAULT), 2: (FINISHED, 0)}
    assert not books(model, script).check()


SILENT = SmBehaviour(silent_from={0: 40})
SHORT_KILL_TIMEOUT = replace(TINY, kill_timeout=64)


def test_an_sm_that_does_not_report_a_killed_block_is_lost_with_its_launches():
    """Ticket 2 has a block on each SM; 3 has one on SM 1 alone, and goes on."""
    commands = [
        (0, "launch", kernel(0, 2, 100, idempotent=1)),
        (1, "launch", kernel(1, 2, 20)),
        (2, "launch", kernel(2, 1, 60, stream=1)),
        (60, "preempt", 0),
        (300, "resume", 0),
        (301, "launch", kernel(3, 2, 20)),
        (400, "clear_stream", 0),
        (401, "launch", kernel(4, 2, 20)),
    ]
    model, script = run(commands, SHORT_KILL_TIMEOUT, sm=SILENT)
    assert fates(model)[1] == (FAILED, ErrorCode.SM_LOST)
    assert fates(model)[2] == (FAILED, ErrorCode.STREAM_BROKEN)
    assert fates(model)[3] == (FINISHED, 0)
    codes = [code for _, code in answers(script, "launch")]
    assert codes == [0, 0, 0, ErrorCode.STREAM_BROKEN, 0]
    assert model.dispatcher.lost == [0]
    # The stand-in says no more, and the killed launch is not run again.
    assert [each.fate.name for each in model.queue.put_back if each.ticket == 1] == []
    after = model.offers[1, model.offers[0] > 300]
    assert set(after.tolist()) == {1}
    assert not books(model, script, SHORT_KILL_TIMEOUT).check()


def test_a_report_in_the_last_cycle_saves_the_sm():
    """One cycle later the SM is lost; the report counts until it is, ``timing.loss`` cycles on."""
    low = kernel(0, 1, 500, idempotent=1)
    for time, lost, ignored in ((64, [], 0), (65, [0], 0), (66, [0], 0), (67, [0], 1)):
        model, _ = run(
            [(0, "launch", low), (100, "preempt", 0), (600, "resume", 0)],
            SHORT_KILL_TIMEOUT,
            sm=SmBehaviour(report_time=time),
        )
        assert model.dispatcher.lost == lost
        assert model.dispatcher.ignored == ignored
        # A launch whose block was reported in time has not failed: it runs again, on the other SM.
        assert fates(model)[1] == ((FAILED, ErrorCode.SM_LOST) if ignored else (FINISHED, 0))


def test_with_no_sm_left_everything_fails_and_nothing_is_accepted():
    silent = SmBehaviour(silent_from={0: 30, 1: 30})
    commands = [
        (0, "launch", kernel(0, 20, 100, idempotent=1)),
        (1, "launch", kernel(1, 2, 20, stream=1, after_previous=0)),
        (60, "preempt", 0),
        (300, "resume", 0),
        (301, "launch", kernel(2, 2, 20, stream=2)),
    ]
    model, script = run(commands, SHORT_KILL_TIMEOUT, sm=silent)
    assert fates(model)[1] == (FAILED, ErrorCode.SM_LOST)
    assert fates(model)[2] == (FAILED, ErrorCode.NO_SM)
    assert answers(script, "launch")[-1] == (0, ErrorCode.NO_SM)
    assert not books(model, script, SHORT_KILL_TIMEOUT).check()


def test_a_records_words():
    record = FinalRecord(
        cycle=9, ticket=7, fate=FAILED, code=27, kills=3, reset_as_drain=True, cycles=1000
    )
    assert record.pack() == (7, 0b1_011_000_010_00011011, 1000, 0, 0, 0)


# --- indices -------------------------------------------------------------------------------------
class Counting(Script):
    """Count the cycles in which anything is looked at."""

    looked = 0

    def step(self, cycle, queue):
        self.looked += 1
        super().step(cycle, queue)


def test_a_launch_waits_for_an_index_region_that_another_shape_holds():
    """And time jumps over the wait."""
    other = kernel(1, 2, 20, block=(4, 2, 1))
    model = PreemptionModel(TINY, log=100)
    script = Counting([(0, "launch", replace(LONG, arguments=40_000)), (1, "launch", other)])
    model.run(script)
    first, second = (r.cycle for r in model.queue.records)
    assert dict(model.queue.starts)[2] > first > 35_000
    assert second < first + 100
    assert [hit for _, hit in model.queue.path.decided] == [False, False]
    assert script.looked < 300


def test_what_is_being_taken_back_keeps_its_turn():
    """The flag falls before the second launch's place is free: the third must not overtake it."""
    urgent = kernel(3, 1, 10, priority=3, stream=7)
    low = [kernel(0, 8, 60), kernel(1, 8, 20, mode=3, stream=1), kernel(2, 2, 20, stream=1)]
    commands = [(n, "launch", each) for n, each in enumerate(low)]
    for cycle in range(20, 60):
        # The urgent queue is preempted itself: the flag below stands for a cycle.
        flag = [(cycle, "launch", urgent), (cycle + 1, "preempt", 3), (cycle + 400, "resume", 3)]
        model, script = run([*commands, *flag])
        starts = dict(model.queue.starts)
        assert starts[2] < starts[3]
        assert not books(model, script).check()


def test_reports_that_are_overdue_when_an_sm_falls_silent_are_never_sent():
    """Four blocks of each SM end at once, two are reported; time jumps over what never comes."""
    low = kernel(0, 8, 400, idempotent=1)
    commands = [(0, "launch", low), (57, "preempt", 0)]
    model, script = run(commands, sm=SmBehaviour(silent_from={0: 62, 1: 62}))
    assert model.reports[0].tolist() == [60, 60, 61, 61]
    assert fates(model)[1] == (FAILED, ErrorCode.SM_LOST)
    assert model.dispatcher.lost == [0, 1]
    assert not books(model, script).check()
