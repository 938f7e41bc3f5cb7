"""The cycle numbers and conflicts on BlockDispatcher's page, one by one, on the model.

The lockstep tests show that the RTL equals the model in every cycle.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tb.dispatch_configs import config_of
from tb.record import Recording, Sender, record
from warploom_golden.block_dispatcher import BlockDispatcher
from warploom_spec import Config, ErrorCode, Fate, layouts, timing

TINY = config_of("tiny,policy=first_fit,kill_timeout=12")
IN_ORDER = config_of("tiny,policy=first_fit,reclaim=in_order")
#: The page's worked example.
SMALLEST = config_of("tiny,sms=1,block_slots=1")
ERROR = layouts.error_record(TINY)


def launch(ticket: int = 1, config: Config = TINY, **changes: int) -> int:
    """Return a launch of one block of one warp, but for the changes."""
    fields = dict.fromkeys((f.name for f in layouts.dispatch_launch(config).fields), 0)
    fields |= {"gx": 1, "gy": 1, "gz": 1, "warps": 1, "entries": 1, "after_previous": 1}
    return layouts.dispatch_launch(config).pack(fields | {"ticket": ticket} | changes)


def completion(slot: int, code: int = 0) -> int:
    return layouts.block_completion(TINY).pack({"slot": slot, "code": code})


def mask(slots: int) -> int:
    return layouts.slot_mask(TINY).pack({"valid": 1, "mask": slots})


def stop(ticket: int, drain: int = 0) -> int:
    return layouts.launch_stop(TINY).pack({"ticket": ticket, "drain": drain})


def at(cycle: int, value: int = 1) -> Callable[[int], int]:
    """Return a level that has the value in one cycle."""
    return lambda now: value if now == cycle else 0


def drive(launches: list[int], cycles: int = 60, config: Config = TINY, **levels: Any) -> Recording:
    """Run the model: all SMs in use, offers and ends taken, nothing sent, but for the levels."""
    usual: dict[str, Any] = {"enable": (1 << config.sms) - 1, "ended__ready": 1}
    usual |= {"stop__valid": 0, "stop__payload": 0}
    usual |= {"order_table__valid": 0, "order_table__payload": 0}
    for n in range(config.sms):
        usual |= {f"offer__{n}__ready": 1, f"acknowledge__{n}": 0}
        usual |= {f"completion__{n}__valid": 0, f"completion__{n}__payload": 0}

    def inputs(cycle: int) -> dict[str, int]:
        merged = usual | levels
        return {name: v(cycle) if callable(v) else v for name, v in merged.items()}

    return record(BlockDispatcher(config), Sender({"launch": launches}, inputs), cycles)


def ends(recording: Recording) -> list[tuple[int, dict[str, int]]]:
    packet = layouts.dispatch_end(TINY)
    return [(cycle, packet.unpack(word)) for cycle, word in recording.transfers("ended")]


def errors(recording: Recording) -> list[tuple[int, int, int]]:
    found = ((c, ERROR.unpack(w or 0)) for c, w in enumerate(recording.port("error")) if w)
    return [(cycle, e["code"], e["argument"]) for cycle, e in found]


def completing(sm: int, *when: tuple[int, int]) -> dict[str, Any]:
    """Return the levels of an SM's completions, each (cycle, payload)."""
    words = dict(when)
    return {
        f"completion__{sm}__valid": lambda cycle: int(cycle in words),
        f"completion__{sm}__payload": lambda cycle: words.get(cycle, 0),
    }


def test_first_offer_is_valid_four_cycles_after_the_launch():
    # Transfer 0, walker from 0 + stage on, head 3, decision 3, offer 4.
    assert timing(TINY).stage == 2 and timing(TINY).offer == 1
    assert drive([launch()]).cycles("offer__0__valid") == [4]


def test_the_worked_example():
    sent = [launch(config=SMALLEST, gx=2)]
    recording = drive(sent, cycles=12, config=SMALLEST, **completing(0, (7, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 11]


def test_a_completion_is_seen_by_decisions_three_cycles_later():
    # A block that needs the whole SM; only SM 0 is in use.
    assert timing(TINY).returns == 3
    recording = drive([launch(gx=2, barriers=4)], enable=1, **completing(0, (20, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 20 + 3 + 1]


def test_in_order_a_block_is_retired_when_done_and_seen_three_cycles_later():
    sent = [launch(config=IN_ORDER, gx=2, barriers=4)]
    levels = completing(0, (20, completion(0)))
    recording = drive(sent, config=IN_ORDER, enable=1, **levels)
    # Processed in 22, done in 23 and retired in it, seen by the decision of 26.
    assert recording.cycles("offer__0__valid") == [4, 23 + 3 + 1]


def test_in_order_the_first_block_holds_the_second_back():
    sent = [launch(config=IN_ORDER, gx=3, barriers=2)]
    levels = completing(0, (20, completion(1)), (30, completion(0)))
    recording = drive(sent, config=IN_ORDER, enable=1, **levels)
    assert recording.cycles("offer__0__valid") == [4, 5, 33 + 3 + 1]


def test_a_placement_counts_in_the_next_decision():
    # Two blocks that fill an SM: the second one goes to the next SM at once.
    recording = drive([launch(gx=2, barriers=4)])
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([4], [5])


def test_an_sm_with_an_offer_not_taken_has_no_room_and_the_others_go_on():
    recording = drive([launch(gx=4)], offer__0__ready=0)
    assert [cycle for cycle, _ in recording.transfers("offer__1")] == [5, 6, 7]
    assert recording.cycles("offer__0__valid") == list(range(4, 60))


def test_enable_counts_one_cycle_later_and_for_new_blocks_only():
    recording = drive([launch(gx=3)], enable=lambda cycle: 1 if cycle == 9 else 0)
    # In use in 10: a decision in 10, an offer in 11; the next ones wait.
    assert recording.cycles("offer__0__valid") == [11]


def test_a_place_is_free_five_cycles_after_its_last_completion_and_the_record_shows():
    assert timing(TINY).end == 2
    recording = drive([launch()], **completing(0, (20, completion(0))))
    ((cycle, end),) = ends(recording)
    assert cycle == 25
    assert (end["fate"], end["cycles"]) == (Fate.FINISHED, 20 - 4)


def test_the_next_launch_of_a_stream_offers_seven_cycles_after_the_last_completion():
    recording = drive([launch(1), launch(2)], **completing(0, (20, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 27]
    assert recording.port("stall_order")[-1] > 0


def test_without_after_previous_it_does_not_wait():
    recording = drive([launch(1), launch(2, after_previous=0)])
    assert (recording.cycles("offer__0__valid"), recording.cycles("offer__1__valid")) == ([4], [5])


def test_a_later_launch_meets_the_earlier_one_s_blocks_from_the_fit_table_on():
    # Only SM 0 is in use. The second launch is transferred in 1; nothing lacks meanwhile.
    assert timing(TINY).fit_table == 20
    recording = drive([launch(1), launch(2, stream=1)], enable=1)
    assert recording.cycles("offer__0__valid") == [4, 1 + 20 + 1]
    assert [recording.port(f"stall_{r}")[-1] for r in ("slots", "warps", "offer")] == [0, 0, 0]


def test_before_the_fit_table_it_goes_where_none_of_them_is():
    # From when the first launch's block has returned, three cycles after its completion, too.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(sent, enable=1, **completing(0, (10, completion(0))))
    assert recording.cycles("offer__0__valid") == [4, 10 + 3 + 1]


def test_an_sm_that_has_just_got_the_earlier_one_s_last_block_is_known_a_cycle_later():
    # The first launch fills what is left of SM 0 one block at a time; its last one goes out in c.
    early = [launch(1, gx=2, barriers=3), launch(2, gx=2, stream=1)]
    recording = drive(early, enable=1, **completing(0, (40, completion(0))))
    # Completed in 40, decided in 43; the second launch, known since long, is decided in 45 and 46.
    assert recording.cycles("offer__0__valid") == [4, 44, 46, 47]


def test_a_slot_that_is_missing_counts_although_the_fit_is_not_known():
    recording = drive([launch(1, gx=4), launch(2, stream=1)], enable=1)
    assert recording.cycles("offer__0__valid") == [4, 5, 6, 7]
    assert recording.port("stall_slots")[-1] == 60 - 7 - timing(TINY).stall


def test_the_later_launch_gets_only_what_the_earlier_leaves():
    # The first launch fills both SMs' barriers and has blocks left: the second one waits.
    recording = drive([launch(1, gx=3, barriers=4), launch(2, stream=1)])
    assert len(recording.cycles("offer__0__valid") + recording.cycles("offer__1__valid")) == 2


#: A little more than half of what an SM has.
HALF = {"warps": 9, "registers": 17, "shared": 33, "barriers": 3}


@pytest.mark.parametrize("cause", HALF)
def test_each_resource_alone_holds_a_block_back_and_is_counted(cause):
    recording = drive([launch(gx=3, **{cause: HALF[cause]})])
    # Two SMs, one block each: decided in 3 and 4, stalled from 5 on, shown from 5 + stall on.
    assert timing(TINY).stall == 2
    assert recording.port(f"stall_{cause}")[:9] == [0] * 7 + [1, 2]
    others = {"slots", "warps", "registers", "shared", "barriers", "offer"} - {cause}
    assert not any(recording.port(f"stall_{name}")[-1] for name in others)


def test_a_kill_names_running_slots_and_their_return_needs_the_acknowledgement():
    recording = drive(
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
def test_an_acknowledgement_from_before_the_pulse_does_not_answer_it(answered, refused):
    # The pulse is in 24; what stands at the port in 22 and 23 is processed in 24 and 25.
    recording = drive(
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


def test_a_completion_in_the_cycle_of_the_acknowledgement_counts_as_completed():
    recording = drive(
        [launch()],
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(26, mask(0)),
        **completing(0, (26, completion(0))),
    )
    ((_, end),) = ends(recording)
    assert end["fate"] == Fate.FINISHED
    assert errors(recording) == []


def test_a_kill_names_a_block_that_completes_in_its_own_cycle_and_holds_the_slot():
    # Stop state in 22; the completion is processed in 23, after which the kill is sent. The next
    # launch gets slot 1.
    recording = drive(
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


def test_a_standing_offer_is_not_withdrawn_and_a_further_kill_names_it():
    recording = drive(
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


def test_the_first_faulty_block_ends_its_launch():
    recording = drive(
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


def test_a_drained_launch_names_the_block_it_had_come_to():
    recording = drive(
        [launch(gx=3, gy=2, barriers=4)],
        stop__valid=at(10),
        stop__payload=stop(1, drain=1),
        **completing(0, (20, completion(0))),
        **completing(1, (22, completion(0))),
    )
    ((_, end),) = ends(recording)
    assert (end["fate"], end["next_x"], end["next_y"]) == (Fate.DRAINED, 2, 0)


def test_a_drained_launch_without_blocks_left_is_finished():
    recording = drive(
        [launch()],
        stop__valid=at(10),
        stop__payload=stop(1, drain=1),
        **completing(0, (20, completion(0))),
    )
    assert ends(recording)[0][1]["fate"] == Fate.FINISHED


def test_a_launch_stopped_before_its_first_block_is_skipped():
    recording = drive([launch()], stop__valid=at(2), stop__payload=stop(1), enable=0)
    assert ends(recording)[0][1]["fate"] == Fate.SKIPPED


@pytest.mark.parametrize(("cycle", "offered"), [(1, []), (2, [4])])
def test_a_stop_counts_two_cycles_later(cycle, offered):
    # The first block is the head in 3: a stop in 1 is seen there, one in 2 is not.
    assert timing(TINY).stop == 2
    recording = drive([launch()], cycles=20, stop__valid=at(cycle), stop__payload=stop(1))
    assert recording.cycles("offer__0__valid") == offered
    # The head is flushed in 3, the launch gone in 4, its record loaded in 5.
    want = [] if offered else [(6, Fate.SKIPPED)]
    assert [(now, end["fate"]) for now, end in ends(recording)] == want


@pytest.mark.parametrize(("answered", "lost"), [(36, []), (37, [39])])
def test_an_sm_that_answers_one_cycle_too_late_is_lost(answered, lost):
    # Kill in 24: an acknowledgement at the port in 24 + 12 still counts; lost from 39 on.
    recording = drive(
        [launch()],
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        acknowledge__0=at(answered, mask(1)),
    )
    assert recording.cycles("lost")[:1] == lost
    ((_, end),) = ends(recording)
    want = (Fate.FAILED, ErrorCode.SM_LOST) if lost else (Fate.KILLED, ErrorCode.OK)
    assert (end["fate"], end["code"]) == want
    assert [code for _, code, _ in errors(recording)] == [ErrorCode.LOST_SM_SIGNAL] * len(lost)


def test_an_sm_that_does_not_take_a_killed_launch_s_offer_is_lost():
    # Stop in 20, state from 22 on: refused in or before 34, lost from 35 on.
    recording = drive(
        [launch()], enable=1, stop__valid=at(20), stop__payload=stop(1), offer__0__ready=0
    )
    assert recording.cycles("lost")[0] == 22 + 12 + 1
    assert recording.port("offer__0__valid")[-1] == 1


def test_a_block_decided_in_the_cycle_of_the_loss_is_lost_too():
    # SM 0 is lost at the end of 38; ticket 2's block is decided for it in that very cycle.
    sent = [launch(1), launch(2, stream=1)]
    recording = drive(
        sent,
        enable=1,
        stop__valid=at(20),
        stop__payload=stop(1),
        launch__hold=lambda cycle: int(0 < cycle < 38 - timing(TINY).fit_table),
    )
    assert recording.cycles("offer__0__valid")[-1] == 39
    # Both have nothing out from 39 on; the older one's record is first.
    assert [cycle for cycle, _ in ends(recording)] == [41, 42]
    fates = {end["ticket"]: (end["fate"], end["code"]) for _, end in ends(recording)}
    assert fates == {1: (Fate.FAILED, ErrorCode.SM_LOST), 2: (Fate.FAILED, ErrorCode.SM_LOST)}


def test_a_launch_that_loses_the_block_decided_last_may_place_one_more():
    # SM 0 is lost at the end of 38, in which ticket 2's first block is decided for it. That launch
    # is drained at the end of 39, in which its second one is decided for SM 1, in use from 39 on.
    sent = [launch(1), launch(2, gx=3, stream=1)]
    recording = drive(
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


def test_decisions_in_the_cycle_of_a_stop_and_in_the_next_one_stand():
    # Stop in 4, state from 6 on: decided in 3, 4 and 5.
    recording = drive([launch(gx=9)], enable=1, stop__valid=at(4), stop__payload=stop(1))
    assert recording.cycles("offer__0__valid") == [4, 5, 6]
    # Taken in 4, 5 and 6: running are in 7, in which the kill is settled, all three.
    assert recording.cycles("kill__0") == [8]
    assert recording.port("kill__0")[8] == mask(0b111)


@pytest.mark.parametrize(("cycle", "unknown"), [(0, [2]), (15, []), (24, []), (25, [27])])
def test_whom_a_stop_means_is_judged_in_its_own_cycle(cycle, unknown):
    # Transferred in 0; completed in 20, gone in 23, loaded in 24. The second launch is transferred
    # in 25 to the same place, and a stop of the first, which acts at the end of 25, is not its own.
    sent = [launch(1), launch(2)]
    recording = drive(
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
def test_a_kill_names_what_runs_a_cycle_after_the_stop_is_seen(taken, killed):
    # Stop in 20, state from 22 on; what is taken in 22 runs in 23.
    recording = drive(
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
def test_a_completion_from_before_its_offer_was_taken_is_none(sent, refused):
    # Taken in 4, running from 5 on: what is at the port in 3 is processed in 5.
    recording = drive([launch()], cycles=20, enable=1, **completing(0, (sent, completion(0))))
    assert recording.cycles("offer__0__valid") == [4]
    want = [(cycle, ErrorCode.COMPLETION_NOT_RUNNING, 0) for cycle in refused]
    assert errors(recording) == want
    assert [cycle for cycle, _ in ends(recording)] == ([] if refused else [sent + 5])


def test_a_completion_sent_twice_counts_once():
    twice = completing(0, (20, completion(0)), (21, completion(0)))
    recording = drive([launch()], enable=1, **twice)
    assert errors(recording) == [(24, ErrorCode.COMPLETION_NOT_RUNNING, 0)]
    assert [(cycle, end["fate"]) for cycle, end in ends(recording)] == [(25, Fate.FINISHED)]


def beside_a_kill(acknowledged: int, *completions: tuple[int, int]) -> Recording:
    """Run two launches on SM 0, of which the first one is stopped in 30.

    The first has slot 0. The second one's blocks are decided in 21, 22 and 23, in which the slots
    are full; three more wait. Stop state in 32, kill in 34.
    """
    recording = drive(
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


def test_without_a_kill_a_free_slot_is_seen_at_once():
    # Processed in 30 and 31, seen by the decisions of 31 and 32.
    recording = beside_a_kill(46, (28, completion(1)), (29, completion(2)))
    assert recording.cycles("offer__0__valid")[4:6] == [32, 33]
    # Stalled from 24 to 30.
    assert recording.port("stall_slots")[34] == 7


def test_from_a_stop_on_a_free_slot_is_seen_a_cycle_later():
    # Processed in 32, free in 33, in the cycle before which the launch was stopped already.
    recording = beside_a_kill(46, (30, completion(1)))
    assert recording.cycles("offer__0__valid")[4] == 35
    # Stalled from 24 to 33.
    assert recording.port("stall_slots")[36] == 10


def test_while_a_kill_is_outstanding_a_second_free_slot_is_seen_only_after_a_look():
    # Processed in 42 and 43, free in 43 and 44. Decided in 44; what is left is looked at in 45.
    recording = beside_a_kill(46, (40, completion(1)), (41, completion(2)))
    assert recording.cycles("offer__0__valid")[4:6] == [45, 47]
    # Stalled from 24 to 43, and in 45.
    assert recording.port("stall_slots")[45:48] == [20, 20, 21]


def test_an_outstanding_kill_alone_lets_free_slots_be_seen_late():
    # The named block completes in 32, is processed in 34, and its launch leaves at the end of 36.
    # Slot 1 is free in 43, seen in 44; slot 0, acknowledged in 46, is free in 49, seen in 50.
    recording = beside_a_kill(46, (32, completion(0)), (40, completion(1)))
    assert [(c, end["fate"]) for c, end in ends(recording)] == [(37, Fate.FINISHED)]
    assert recording.cycles("offer__0__valid")[4:] == [45, 51]


@pytest.mark.parametrize(("completed", "offered"), [(38, 43), (39, 43)])
def test_when_the_killed_launch_has_left_a_free_slot_is_seen_at_once(completed, offered):
    # Acknowledged in 36, processed in 38: slot 0 is free in 39, seen in 40. The launch is gone in
    # 39 and leaves at the end of 40. A slot free in 41 is not seen in it, one free in 42 is.
    recording = beside_a_kill(36, (completed, completion(1)))
    assert recording.cycles("offer__0__valid")[4:6] == [41, offered]


def test_signals_that_nothing_asked_for_are_recorded_and_change_nothing():
    recording = drive(
        [launch()],
        stop__valid=at(30),
        stop__payload=stop(77),
        acknowledge__1=at(12, mask(1)),
        **completing(0, (10, completion(3))),
    )
    assert errors(recording) == [
        (13, ErrorCode.COMPLETION_NOT_RUNNING, 0),
        (15, ErrorCode.ACK_NOT_OUTSTANDING, 1),
        (32, ErrorCode.STOP_UNKNOWN, 0),
    ]
    assert recording.port("error_count")[-1] == 3
    assert ends(recording) == []


FREED = config_of("tiny,sms=3,policy=freed_first")


def swap(first: int, second: int) -> int:
    return layouts.order_swap(FREED).pack({"first": first, "second": second})


def test_the_order_table_is_swapped_while_nothing_is_resident_and_refused_otherwise():
    swaps = {1: swap(0, 2), 2: swap(3, 0), 30: swap(0, 1)}
    recording = drive(
        [launch(config=FREED, gx=2)],
        config=FREED,
        order_table__valid=lambda cycle: int(cycle in swaps),
        order_table__payload=lambda cycle: swaps.get(cycle, 0),
    )
    # Swapped: SM 2, then SM 1.
    assert (recording.cycles("offer__2__valid"), recording.cycles("offer__1__valid")) == ([4], [5])
    assert errors(recording) == [(3, ErrorCode.ORDER_RANGE, 3), (31, ErrorCode.ORDER_BUSY, 0)]
