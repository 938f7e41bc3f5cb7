"""What the page says of stops, kills and lost SMs, one by one, of RTL and model alike."""

import pytest

from tb.support.dispatch_rules import (
    RTL_AND_MODEL,
    TINY,
    Block,
    at,
    completing,
    completion,
    drive,
    ends,
    errors,
    launch,
    mask,
    stop,
)
from tb.support.record import Recording
from warploom_spec import ErrorCode, Fate, layouts, timing

pytestmark = RTL_AND_MODEL


def test_a_kill_names_running_slots_and_their_return_needs_the_acknowledgement(block):
    recording = drive(
        block,
        [launch(gx=9)],
        cycles=40,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(26, mask(0b1111)),
    )
    # Stop in 20, stop state in 22, kill in 24, acknowledged in 26, processed in 28, record in 31.
    assert recording.cycles("kill__0") == [24]
    assert recording.port("kill__0")[24] == mask(0b1111)
    ((cycle, end),) = ends(recording)
    assert (cycle, end["fate"], end["cycles"]) == (31, Fate.KILLED, 26 - 4)


@pytest.mark.parametrize(("answered", "refused"), [(22, [25]), (23, [26]), (24, [])])
def test_an_acknowledgement_from_before_the_pulse_does_not_answer_it(block, answered, refused):
    # The pulse is in 24; what stands at the port in 22 and 23 is processed in 24 and 25.
    recording = drive(
        block,
        [launch()],
        cycles=33,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(answered, mask(1)),
    )
    assert recording.cycles("kill__0") == [24]
    assert errors(recording) == [(cycle, ErrorCode.ACK_NOT_OUTSTANDING, 0) for cycle in refused]
    assert [end["fate"] for _, end in ends(recording)] == ([] if refused else [Fate.KILLED])


def test_a_completion_in_the_cycle_of_the_acknowledgement_counts_as_completed(block):
    recording = drive(
        block,
        [launch()],
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(26, mask(0)),
        **completing(0, (26, completion(0))),
    )
    ((_, end),) = ends(recording)
    assert end["fate"] == Fate.FINISHED
    assert errors(recording) == []


def test_a_completion_from_after_its_block_s_acknowledgement_is_none(block):
    # Acknowledged in 26, processed in 28; what is at the port in 27 is processed in 29.
    recording = drive(
        block,
        [launch()],
        cycles=40,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(26, mask(1)),
        **completing(0, (27, completion(0))),
    )
    assert errors(recording) == [(30, ErrorCode.COMPLETION_NOT_RUNNING, 0)]
    assert [(cycle, end["fate"]) for cycle, end in ends(recording)] == [(31, Fate.KILLED)]


def test_a_block_that_the_acknowledged_kill_did_not_name_completes_in_the_next_cycle(block):
    # The second block's offer stands when the kill starts, and is taken in 26. The acknowledgement
    # is processed in 30, the second block's completion in 31, in which a further kill names it.
    recording = drive(
        block,
        [launch(gx=2)],
        cycles=45,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        offer__0__ready=lambda cycle: int(cycle in (4, 26)),
        acknowledge__0=lambda cycle: {28: mask(1), 36: mask(0)}.get(cycle, 0),
        **completing(0, (29, completion(1))),
    )
    assert recording.cycles("kill__0") == [24, 32]
    assert [recording.port("kill__0")[cycle] for cycle in (24, 32)] == [mask(1), mask(2)]
    assert errors(recording) == []
    ((_, end),) = ends(recording)
    assert (end["fate"], end["cycles"]) == (Fate.KILLED, 29 - 4)


def test_a_kill_names_a_block_that_completes_in_its_own_cycle_and_holds_the_slot(block):
    # Stop state in 22; the completion is processed in 23, after which the kill is sent. The next
    # launch gets slot 1.
    recording = drive(
        block,
        [launch(1), launch(2)],
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(30, mask(0)),
        **completing(0, (21, completion(0))),
    )
    assert recording.port("kill__0")[24] == mask(1)
    ((cycle, end),) = ends(recording)
    assert (cycle, end["fate"]) == (26, Fate.FINISHED)
    offers = [layouts.block_offer(TINY).unpack(word) for _, word in recording.transfers("offer__0")]
    assert [(offer["place"], offer["slot"]) for offer in offers] == [(0, 0), (1, 1)]


def test_a_standing_offer_is_not_withdrawn_and_a_further_kill_names_it(block):
    recording = drive(
        block,
        [launch(gx=2)],
        enable=1,
        cycles=50,
        stop__valid=at(12),
        stop__payload=stop(1),
        offer__0__ready=lambda cycle: int(cycle == 4 or cycle >= 18),
        acknowledge__0=lambda cycle: mask(1) if cycle == 16 else mask(2) if cycle == 24 else 0,
    )
    assert [cycle for cycle, _ in recording.transfers("offer__0")] == [4, 18]
    kills = recording.port("kill__0")
    assert [(c, kills[c]) for c in recording.cycles("kill__0")] == [(16, mask(1)), (20, mask(2))]
    assert ends(recording)[0][1]["fate"] == Fate.KILLED


def test_the_first_faulty_block_ends_its_launch(block):
    recording = drive(
        block,
        [launch(gx=9)],
        enable=1,
        cycles=40,
        acknowledge__0=at(30, mask(0b1110)),
        **completing(0, (20, completion(0, ErrorCode.BLOCK_FAULT))),
    )
    # Processed in 22: no slot was free before, and nothing is offered after it. Stop state in 23,
    # looked at in 24.
    assert recording.cycles("offer__0__valid") == [4, 5, 6, 7]
    assert recording.cycles("kill__0") == [25]
    assert recording.port("kill__0")[25] == mask(0b1110)
    ((_, end),) = ends(recording)
    assert (end["fate"], end["code"]) == (Fate.FAILED, ErrorCode.BLOCK_FAULT)


def test_a_drained_launch_names_the_block_it_had_come_to(block):
    recording = drive(
        block,
        [launch(gx=3, gy=2, barriers=4)],
        stop__valid=at(10),
        stop__payload=stop(1, drain=1),
        **completing(0, (20, completion(0))),
        **completing(1, (22, completion(0))),
    )
    ((_, end),) = ends(recording)
    assert (end["fate"], end["next_x"], end["next_y"]) == (Fate.DRAINED, 2, 0)


def test_a_drained_launch_without_blocks_left_is_finished(block):
    recording = drive(
        block,
        [launch()],
        stop__valid=at(10),
        stop__payload=stop(1, drain=1),
        **completing(0, (20, completion(0))),
    )
    assert ends(recording)[0][1]["fate"] == Fate.FINISHED


def test_a_launch_stopped_before_its_first_block_is_skipped(block):
    recording = drive(block, [launch()], stop__valid=at(2), stop__payload=stop(1), enable=0)
    assert ends(recording)[0][1]["fate"] == Fate.SKIPPED


@pytest.mark.parametrize(("cycle", "offered"), [(1, []), (2, [4])])
def test_a_stop_counts_two_cycles_later(block, cycle, offered):
    # The first block is the head in 3: a stop in 1 is seen there, one in 2 is not.
    assert timing(TINY).stop == 2
    recording = drive(block, [launch()], cycles=20, stop__valid=at(cycle), stop__payload=stop(1))
    assert recording.cycles("offer__0__valid") == offered
    # The head is flushed in 3, the launch gone in 4, its record loaded in 5.
    want = [] if offered else [(6, Fate.SKIPPED)]
    assert [(now, end["fate"]) for now, end in ends(recording)] == want


@pytest.mark.parametrize(("answered", "lost"), [(36, []), (37, [39])])
def test_an_sm_that_answers_one_cycle_too_late_is_lost(block, answered, lost):
    # Kill in 24: an acknowledgement at the port in 24 + 12 still counts; lost from 39 on.
    recording = drive(
        block,
        [launch()],
        enable=2,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__1=at(answered, mask(1)),
    )
    assert recording.cycles("lost")[:1] == lost
    ((_, end),) = ends(recording)
    want = (Fate.FAILED, ErrorCode.SM_LOST) if lost else (Fate.KILLED, ErrorCode.OK)
    assert (end["fate"], end["code"]) == want
    # Processed in 39.
    assert errors(recording) == [(40, ErrorCode.LOST_SM_SIGNAL, 1)] * len(lost)


def test_an_acknowledgement_that_names_more_than_its_kill_did_counts_and_is_an_error(block):
    recording = drive(
        block,
        [launch()],
        enable=2,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__1=at(26, mask(0b11)),
    )
    # Processed in 28.
    assert errors(recording) == [(29, ErrorCode.ACK_MASK, 1)]
    assert [(cycle, end["fate"]) for cycle, end in ends(recording)] == [(31, Fate.KILLED)]


def test_a_launch_with_blocks_left_when_every_sm_is_lost_fails_for_that(block):
    recording = drive(
        block,
        [launch(1, gx=2, barriers=4), launch(2, stream=1, barriers=4)],
        stop__valid=at(20),
        stop__payload=stop(1),
    )
    # Pulses in 24, never answered: both lost from 39 on. What is left is drained from 40 on, its
    # head flushed in 40, gone in 41.
    assert recording.port("lost")[38:40] == [0, 0b11]
    records = [(cycle, end["ticket"], end["fate"], end["code"]) for cycle, end in ends(recording)]
    assert records == [
        (41, 1, Fate.FAILED, ErrorCode.SM_LOST),
        (43, 2, Fate.FAILED, ErrorCode.NO_SM),
    ]


def test_an_sm_that_does_not_take_a_killed_launch_s_offer_is_lost(block):
    # Stop in 20, state from 22 on: refused in or before 34, lost from 35 on.
    recording = drive(
        block, [launch()], enable=1, stop__valid=at(20), stop__payload=stop(1), offer__0__ready=0
    )
    assert recording.cycles("lost")[0] == 22 + 12 + 1
    assert recording.port("offer__0__valid")[-1] == 1


def test_a_block_decided_in_the_cycle_of_the_loss_is_lost_too(block):
    # SM 0 is lost at the end of 38; ticket 2's block is decided for it in that very cycle.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(
        block,
        sent,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        launch__hold=lambda cycle: int(0 < cycle < 38 - timing(TINY).fit_table),
    )
    assert recording.cycles("offer__0__valid")[-1] == 39
    # Both have nothing out from 39 on; the older one's record is first.
    assert [(cycle, end["ticket"]) for cycle, end in ends(recording)] == [(41, 1), (42, 2)]
    fates = {(end["fate"], end["code"]) for _, end in ends(recording)}
    assert fates == {(Fate.FAILED, ErrorCode.SM_LOST)}


def test_a_launch_that_loses_the_block_decided_last_may_place_one_more(block):
    # SM 0 is lost at the end of 38, in which ticket 2's first block is decided for it. That launch
    # is drained at the end of 39, in which its second one is decided for SM 1, in use from 39 on.
    sent = [launch(1), launch(2, gx=3, stream=1)]
    recording = drive(
        block,
        sent,
        enable=lambda cycle: 3 if cycle >= 38 else 1,
        stop__valid=at(20),
        stop__payload=stop(1),
        launch__hold=lambda cycle: int(0 < cycle < 38 - timing(TINY).fit_table),
        **completing(1, (45, completion(0))),
    )
    assert recording.cycles("lost")[0] == 39
    assert recording.cycles("offer__0__valid") == [4, 39]
    assert recording.cycles("offer__1__valid") == [40]
    # Completed in 45, processed in 47, gone in 48.
    assert [(cycle, end["ticket"]) for cycle, end in ends(recording)] == [(41, 1), (50, 2)]
    ended = ends(recording)[1][1]
    assert (ended["fate"], ended["code"]) == (Fate.FAILED, ErrorCode.SM_LOST)


def test_decisions_in_the_cycle_of_a_stop_and_in_the_next_one_stand(block):
    # Stop in 4, state from 6 on: decided in 3, 4 and 5.
    recording = drive(block, [launch(gx=9)], enable=1, stop__valid=at(4), stop__payload=stop(1))
    assert recording.cycles("offer__0__valid") == [4, 5, 6]
    # Taken in 4, 5 and 6: running are in 7, in which the kill is settled, all three.
    assert recording.cycles("kill__0") == [8]
    assert recording.port("kill__0")[8] == mask(0b111)


@pytest.mark.parametrize(("cycle", "unknown"), [(0, [2]), (15, []), (24, []), (25, [27])])
def test_whom_a_stop_means_is_judged_in_its_own_cycle(block, cycle, unknown):
    # Transferred in 0; completed in 20, gone in 23, loaded in 24. The second launch is transferred
    # in 25 to the same place, and a stop of the first, which acts at the end of 25, is not its own.
    sent = [launch(1), launch(2)]
    recording = drive(
        block,
        sent,
        enable=1,
        stop__valid=at(cycle),
        stop__payload=stop(1, drain=1),
        launch__hold=lambda now: int(0 < now < 25),
        **completing(0, (20, completion(0))),
    )
    assert errors(recording) == [(shown, ErrorCode.STOP_UNKNOWN, 0) for shown in unknown]
    assert recording.cycles("offer__0__valid") == [4, 29]
    offers = [layouts.block_offer(TINY).unpack(word) for _, word in recording.transfers("offer__0")]
    assert [offer["place"] for offer in offers] == [0, 0]


@pytest.mark.parametrize(("taken", "killed"), [(20, 24), (21, 24), (22, 24), (23, 25), (24, 26)])
def test_a_kill_names_what_runs_a_cycle_after_the_stop_is_seen(block, taken, killed):
    # Stop in 20, state from 22 on; what is taken in 22 runs in 23.
    recording = drive(
        block,
        [launch()],
        cycles=30,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        offer__0__ready=at(taken),
    )
    assert recording.cycles("kill__0") == [killed]
    assert recording.port("kill__0")[killed] == mask(1)


@pytest.mark.parametrize(("sent", "refused"), [(3, [6]), (4, []), (5, [])])
def test_a_completion_from_before_its_offer_was_taken_is_none(block, sent, refused):
    # Taken in 4, running from 5 on: what is at the port in 3 is processed in 5.
    recording = drive(
        block, [launch()], cycles=20, enable=1, **completing(0, (sent, completion(0)))
    )
    assert recording.cycles("offer__0__valid") == [4]
    want = [(cycle, ErrorCode.COMPLETION_NOT_RUNNING, 0) for cycle in refused]
    assert errors(recording) == want
    assert [cycle for cycle, _ in ends(recording)] == ([] if refused else [sent + 5])


def test_a_completion_sent_twice_counts_once(block):
    twice = completing(0, (20, completion(0)), (21, completion(0)))
    recording = drive(block, [launch()], enable=1, **twice)
    assert errors(recording) == [(24, ErrorCode.COMPLETION_NOT_RUNNING, 0)]
    assert [(cycle, end["fate"]) for cycle, end in ends(recording)] == [(25, Fate.FINISHED)]


def beside_a_kill(block: Block, acknowledged: int, *completions: tuple[int, int]) -> Recording:
    """Run two launches on SM 0, of which the first one is stopped in 30.

    The first has slot 0. The second one's blocks are decided in 21, 22 and 23, in which the slots
    are full; three more wait. Stop state in 32, kill in 34.
    """
    recording = drive(
        block,
        [launch(1), launch(2, gx=6, stream=1)],
        enable=1,
        stop__valid=at(30),
        stop__payload=stop(1),
        acknowledge__0=at(acknowledged, mask(1)),
        **completing(0, *completions),
    )
    assert recording.cycles("kill__0") == [34]
    assert recording.cycles("offer__0__valid")[:4] == [4, 22, 23, 24]
    return recording


def test_without_a_kill_a_free_slot_is_seen_at_once(block):
    # Processed in 30 and 31, seen by the decisions of 31 and 32.
    recording = beside_a_kill(block, 46, (28, completion(1)), (29, completion(2)))
    assert recording.cycles("offer__0__valid")[4:6] == [32, 33]
    # Stalled from 24 to 30.
    assert recording.port("stall_slots")[34] == 7


def test_from_a_stop_on_a_free_slot_is_seen_a_cycle_later(block):
    # Processed in 32, free in 33, in the cycle before which the launch was stopped already.
    recording = beside_a_kill(block, 46, (30, completion(1)))
    assert recording.cycles("offer__0__valid")[4] == 35
    # Stalled from 24 to 33.
    assert recording.port("stall_slots")[36] == 10


def test_while_a_kill_is_outstanding_a_second_free_slot_is_seen_only_after_a_look(block):
    # Processed in 42 and 43, free in 43 and 44. Decided in 44; what is left is looked at in 45.
    recording = beside_a_kill(block, 46, (40, completion(1)), (41, completion(2)))
    assert recording.cycles("offer__0__valid")[4:6] == [45, 47]
    # Stalled from 24 to 43, and in 45.
    assert recording.port("stall_slots")[45:48] == [20, 20, 21]


def test_an_outstanding_kill_alone_lets_free_slots_be_seen_late(block):
    # The named block completes in 32, is processed in 34, and its launch leaves at the end of 36.
    # Slot 1 is free in 43, seen in 44; slot 0, acknowledged in 46, is free in 49, seen in 50.
    recording = beside_a_kill(block, 46, (32, completion(0)), (40, completion(1)))
    assert [(c, end["fate"]) for c, end in ends(recording)] == [(37, Fate.FINISHED)]
    assert recording.cycles("offer__0__valid")[4:] == [45, 51]


@pytest.mark.parametrize(("completed", "offered"), [(38, 43), (39, 43)])
def test_when_the_killed_launch_has_left_a_free_slot_is_seen_at_once(block, completed, offered):
    # Acknowledged in 36, processed in 38: slot 0 is free in 39, seen in 40. The launch is gone in
    # 39 and leaves at the end of 40. A slot free in 41 is not seen in it, one free in 42 is.
    recording = beside_a_kill(block, 36, (completed, completion(1)))
    assert recording.cycles("offer__0__valid")[4:6] == [41, offered]


@pytest.mark.parametrize(
    ("full", "slots", "offered"),
    [({"gx": 2, "barriers": 4}, 0b1, 28), ({"gx": 8}, 0b1111, 29)],
    ids=["room", "slots"],
)
def test_a_killed_launch_s_room_is_offered_again_from_eight_cycles_after_the_stop(
    block, full, slots, offered
):
    # Stop in 20, pulses in 24, acknowledged there and then, decided in 27: with returns a cycle
    # later it would be nine. A slot that a kill has freed is seen a cycle later.
    recording = drive(
        block,
        [launch(1, **full), launch(2, stream=1, barriers=4)],
        stop__valid=at(20),
        stop__payload=stop(1),
        **{f"acknowledge__{n}": at(24, mask(slots)) for n in range(2)},
    )
    assert errors(recording) == []
    assert [c for c in recording.cycles("offer__0__valid") if c > 20] == [offered]
