"""LaunchPath's rules and cycles, as its page's worked examples have them."""

from dataclasses import replace

import pytest

from tb.launch.path_script import KILLED, LAUNCH, Script
from tb.launch.queue_script import LOW, URGENT
from tb.support.dispatch_configs import config_of
from warploom.launch.launch_path import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_spec import ErrorCode, Fate
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import WAIT_AHEAD

KINDS = pytest.mark.parametrize("kind", [LaunchPath, Model], ids=["rtl", "model"])
# To elaborate the path takes seconds: in one process of a run.
pytestmark = [KINDS, pytest.mark.xdist_group("launch_path")]

#: The first number of a launch's blocks, and the first cycle's clock: one path for both wraps.
NEAR_WRAPS = {"first_number": (1 << 32) - 1, "first_clock": (1 << 64) - 20}
FINISHED, ABORTED = (FinalFate.FINISHED, 0), (FinalFate.ABORTED, 0)


def word(oldest, k):
    return oldest >> 32 * k & 0xFFFFFFFF


@pytest.mark.rule("launch_path", 1, 2, 3, 6, 7, 8, 10, 11, 16, 18)
def test_one_launch_from_its_transfer_to_its_popped_record(kind):
    """Example 1."""
    saw = Script().launch(10, 0).report(40, 0).pop(60).run(kind, 70)
    assert saw.pulses("answer", "ticket", "code", "count") == {16: (1, 0, 1)}
    assert saw.cycles("decided_valid") == [22]
    assert saw.offers() == {29: (0, 0, 0)}
    fields = ("ticket", "fate", "code", "kind", "word2", "accepted", "first_offer", "made")
    assert saw.pulses("record", *fields) == {48: (1, *FINISHED, RecordKind.LAUNCH, 11, 15, 29, 47)}
    assert saw.pulses("timeline", "stream", "count") == {48: (0, 1)}
    assert saw.changes("records") == {0: 0, 50: 1, 62: 0}
    assert list(saw.changes("oldest")) == [0, 51, 62]
    oldest = saw.recording.port("oldest")[51]
    assert [word(oldest, k) for k in range(8)] == [1, 0x01000000, 11, 0, 0, 15, 29, 47]
    assert saw.recording.port("clock") == list(range(70))


def killed_and_on_again():
    script = Script().launch(10, 0, priority=LOW, **KILLED).launch(95, 1, priority=URGENT)
    return script.killed(106, 0).report(130, 1).report(160, 0, slot=1)


@pytest.mark.rule("launch_path", 1, 6, 7, 10, 16, 17, 18)
def test_an_urgent_launch_kills_and_the_low_one_goes_on(kind):
    """Example 2; the launch that goes on gets the slot that was freed last."""
    saw = killed_and_on_again().run(kind, 180)
    assert saw.changes("kill") == {0: 0, 104: 1, 112: 0}
    assert saw.pulses("put_back", "ticket", "fate", "next_x") == {114: (1, Fate.KILLED, 0)}
    assert saw.offers() == {29: (0, 0, 0), 114: (1, 1, 0), 151: (0, 0, 1)}
    assert saw.pulses("timeline", "stream", "count") == {138: (1, 1), 168: (0, 1)}
    assert saw.cycles("decided_valid") == [22, 107, 144]
    fields = ("ticket", "fate", "kills", "word2", "accepted", "first_offer", "made")
    assert saw.pulses("record", *fields) == {
        138: (2, FinalFate.FINISHED, 0, 16, 100, 114, 137),
        168: (1, FinalFate.FINISHED, 1, 9, 15, 151, 167),
    }


@pytest.mark.rule("launch_path", 1, 2, 3)
def test_a_wait_ends_and_the_launch_that_waited_is_offered(kind):
    """Example 3."""
    saw = Script().launch(10, 0).launch(11, 1, (0, 1)).report(40, 0).run(kind, 66)
    assert saw.pulses("timeline", "stream", "count") == {48: (0, 1)}
    assert saw.cycles("decided_valid") == [22, 54]
    assert {c: sm for c, (sm, _, _) in saw.offers().items()} == {29: 0, 61: 1}


SHALLOW = config_of("tiny,queue_depth=1")


def eight_preempts():
    script = Script(SHALLOW)
    for cycle in range(20, 100, 10):
        script.preempt(cycle, 7)
    return script


@pytest.mark.rule("launch_path", 6, 10, 11)
def test_records_run_out_and_a_pop_makes_room(kind):
    """Example 4."""
    script = eight_preempts().launch(95, 0).preempt(105, 7).pop(110)
    saw = script.run(kind, 120)
    asked = range(20, 100, 10)
    full = ErrorCode.COMPLETION_FULL
    assert saw.pulses("command_answer", "code") == {**{c + 1: 0 for c in asked}, 106: full}
    kinds = saw.pulses("record", "kind", "ticket")
    assert kinds == {c + 2: (RecordKind.PREEMPT, 0) for c in asked}
    assert saw.changes("room") == {0: 15, 91: 0, 113: 15}
    assert saw.pulses("answer", "ticket", "code") == {101: (0, full)}


@pytest.mark.rule("launch_path", 6, 11)
@pytest.mark.parametrize(("comes", "code"), [(107, ErrorCode.COMPLETION_FULL), (108, 0)])
def test_a_launch_finds_the_record_that_a_pop_freed(kind, comes, code):
    """Example 4, the two other runs."""
    saw = eight_preempts().pop(110).launch(comes, 0).run(kind, 120)
    assert saw.pulses("answer", "code") == {comes + 6: code}


@pytest.mark.rule("launch_path", 3, 4)
@pytest.mark.parametrize("mode", range(5, 8))
def test_a_mode_that_does_not_exist_is_refused(kind, mode):
    """Example 5; no trace but the answer."""
    saw = Script().launch(10, 0, mode=mode).run(kind, 40)
    answer = (0, HostError.FIELD_RANGE, 10, 0)
    assert saw.pulses("answer", "ticket", "code", "argument", "count") == {16: answer}
    assert not saw.offers()


@pytest.mark.rule("launch_path", 4)
def test_launch_checks_error_comes_before_the_mode(kind):
    """Example 5, the other half."""
    saw = Script().launch(10, 0, gx=0, mode=7).run(kind, 20)
    assert saw.pulses("answer", "code", "argument") == {16: (ErrorCode.GRID_ZERO, 0)}


@pytest.mark.rule("launch_path", 4)
def test_a_mode_that_does_not_exist_comes_before_a_wait_ahead(kind):
    script = Script().launch(10, 0, (1, 1), mode=5).launch(11, 0, (1, 1), mode=4)
    saw = script.run(kind, 20)
    refused = {16: (HostError.FIELD_RANGE, 10), 17: (WAIT_AHEAD, 28)}
    assert saw.pulses("answer", "code", "argument") == refused


def a_soft_reset(*more):
    script = Script().launch(10, 0).killed(66, 0).soft_reset(60, 80)
    script.preempt(70, 3).launch(85, 0)
    for cycle in more:
        script.launch(cycle, 0)
    return script


@pytest.mark.rule("launch_path", 8, 12, 13, 14)
def test_a_soft_reset_ends_what_runs_and_the_next_launch_is_like_the_first(kind):
    """Example 6; slots begin anew."""
    saw = a_soft_reset().run(kind, 110)
    assert saw.changes("kill") == {0: 0, 64: 1, 72: 0}
    assert saw.pulses("record", "ticket", "fate", "code") == {74: (1, *ABORTED)}
    assert saw.changes("idle") == {0: 1, 11: 0, 75: 1, 86: 0}
    assert saw.pulses("command_answer", "code") == {71: HostError.RESET}
    assert saw.pulses("answer", "ticket", "code", "count") == {16: (1, 0, 1), 91: (2, 0, 1)}
    assert saw.offers() == {29: (0, 0, 0), 104: (0, 0, 0)}
    assert saw.changes("records") == {0: 0, 76: 1}
    assert saw.recording.port("clock") == list(range(110))
    assert saw.pulses("timeline", "stream", "count") == {74: (0, 1)}


@pytest.mark.rule("launch_path", 4, 13, 14)
def test_a_launch_in_a_soft_reset_is_refused(kind):
    """Example 6, the other half: refused, and idle as soon as before."""
    saw = a_soft_reset(62).run(kind, 110)
    assert saw.pulses("answer", "ticket", "code") == {
        16: (1, 0),
        68: (0, HostError.RESET),
        91: (2, 0),
    }
    assert saw.changes("idle") == {0: 1, 11: 0, 75: 1, 86: 0}


@pytest.mark.rule("launch_path", 13)
def test_the_first_cycle_of_a_soft_reset_still_judges(kind):
    """A launch that leaves LaunchCheck in it, and one of the next cycle."""
    script = Script().launch(55, 0).launch(56, 1).soft_reset(60, 100)
    saw = script.run(kind, 110)
    answers = {61: (1, 0), 62: (0, HostError.RESET)}
    assert saw.pulses("answer", "ticket", "code") == answers
    assert list(saw.pulses("record", "ticket", "fate", "code").values()) == [(1, *ABORTED)]
    assert not saw.offers()


def both_places_held():
    script = Script().launch(10, 0, **KILLED).launch(40, 1, **KILLED)
    return script.launch(95, 2, priority=URGENT).killed(120, 0).killed(140, 1)


@pytest.mark.rule("launch_path", 7, 16, 18)
def test_an_urgent_launch_gets_the_place_that_is_free_first(kind):
    """Example 7."""
    saw = both_places_held().run(kind, 160)
    assert saw.changes("kill") == {0: 0, 104: 3, 126: 2, 146: 0}
    offers = {c: (sm, place) for c, (sm, place, _) in saw.offers().items()}
    assert offers == {29: (0, 0), 59: (1, 1), 132: (0, 0)}
    assert saw.pulses("put_back", "ticket", "fate") == {
        128: (1, Fate.KILLED),
        148: (2, Fate.KILLED),
    }


@pytest.mark.rule("launch_path", 16, 17)
def test_who_goes_on_is_not_held_by_a_later_launch_of_its_stream(kind):
    """Example 8."""
    script = Script().launch(10, 0, **KILLED)
    script.launch(40, 0, after_previous=0, mode=Mode.WAIT).launch(95, 1, priority=URGENT)
    saw = script.killed(106, 0).report(130, 0, slot=1).run(kind, 160)
    assert saw.changes("kill") == {0: 0, 104: 1, 112: 0}
    offers = {c: (sm, place) for c, (sm, place, _) in saw.offers().items()}
    assert offers == {29: (0, 0), 59: (1, 1), 118: (0, 0), 151: (0, 0)}


# Numbers


def wide(*grid):
    """Return a launch of which one block at a time fits on an SM."""
    return replace(LAUNCH, grid=grid, barriers=4)


def drained(*grid):
    """Return example 9's script for a low launch of a grid: it goes on in 161 and 162."""
    script = Script().launch(10, 0, descriptor=wide(*grid), mode=Mode.DRAIN)
    return script.launch(95, 1, priority=URGENT).report(120, 0).report(121, 1).report(140, 0, 1)


@pytest.mark.rule("launch_path", 1, 16, 17)
def test_a_drained_launch_keeps_its_numbers(kind):
    """Example 9; then the SMs report a block in every tenth cycle, in turn."""
    script = drained(9, 1, 1).report(170, 1, 1).report(180, 0, 2).report(190, 1, 2)
    script.report(200, 0, 3).report(210, 1, 3).report(220, 0, 0).report(230, 1, 0)
    saw = script.run(kind, 245)
    put_back = saw.pulses("put_back", "ticket", "fate", "next_x", "next_y", "next_z")
    assert put_back == {129: (1, Fate.DRAINED, 2, 0, 0)}
    urgent = {126: (0, 0, 0, 0)}
    before = {29: (0, 0, 0, 0), 30: (1, 0, 0, 1)}
    behind = {161: (2, 0, 0, 2), 162: (3, 0, 0, 3), 176: (4, 0, 0, 4), 186: (5, 0, 0, 5)}
    behind |= {196: (6, 0, 0, 6), 206: (7, 0, 0, 7), 216: (8, 0, 0, 8)}
    assert saw.blocks() == before | urgent | behind
    assert saw.pulses("record", "ticket", "fate")[238] == (1, FinalFate.FINISHED)


@pytest.mark.rule("launch_path", 1, 16, 17)
def test_a_launch_that_is_drained_twice_keeps_its_numbers(kind):
    """3 x 2 x 2 blocks: 4 ran in two residences, and the third one goes on with (1, 1, 0)."""
    script = drained(3, 2, 2).launch(165, 2, priority=URGENT)
    script.report(190, 1, 1).report(191, 0, 2).report(210, 1, 2)
    script.report(250, 1, 3).report(260, 0, 3)
    saw = script.run(kind, 280)
    put_back = saw.pulses("put_back", "ticket", "fate", "next_x", "next_y", "next_z")
    assert put_back == {129: (1, Fate.DRAINED, 2, 0, 0), 199: (1, Fate.DRAINED, 1, 1, 0)}
    blocks = saw.blocks()
    low = [found for cycle, found in blocks.items() if cycle not in (126, 196)]
    assert [blocks[cycle] for cycle in (126, 196)] == [(0, 0, 0, 0)] * 2
    assert low[:4] == [(0, 0, 0, 0), (1, 0, 0, 1), (2, 0, 0, 2), (0, 1, 0, 3)]
    assert low[4:] == [(1, 1, 0, 4), (2, 1, 0, 5), (0, 0, 1, 6), (1, 0, 1, 7)]


@pytest.mark.rule("launch_path", 16)
def test_a_drained_launchs_numbers_wrap(kind):
    """The blocks of both launches are numbered from 2^32 - 1 on; the third one is the urgent."""
    last = NEAR_WRAPS["first_number"]
    found = drained(9, 1, 1).run(kind, 170, **NEAR_WRAPS).blocks()
    assert [block[3] for block in found.values()] == [last, 0, last, 1, 2]


@pytest.mark.rule("launch_path", 16)
def test_a_launch_that_is_killed_begins_with_number_0_again(kind):
    """The launch of `drained`, but killed: two of its blocks ran in vain."""
    script = Script().launch(10, 0, descriptor=wide(9, 1, 1), **KILLED)
    script.launch(95, 1, priority=URGENT).killed(120, 0).killed(121, 1).report(140, 0, 1)
    found = script.run(kind, 180).blocks()
    again = {c: block for c, block in found.items() if c > 126}
    assert list(again.values()) == [(0, 0, 0, 0), (1, 0, 0, 1)]


# Skip and yield


def unstarted_and_urgent(urgent):
    """Return a script: a launch of mode `wait` is handed over in 23; its block may come in 27."""
    return Script().launch(10, 0, mode=Mode.WAIT).launch(urgent, 1, priority=URGENT)


@pytest.mark.rule("launch_path", 16)
def test_a_skip_in_the_cycle_before_the_first_decision_takes_the_launch_back(kind):
    """Accepted in 24: skip in 26. Drained from 28 on, forgotten in 30; record in 34.

    The urgent launch's indices are those that are made for the first one: decided in 36.
    """
    saw = unstarted_and_urgent(19).run(kind, 60)
    assert saw.pulses("put_back", "ticket", "fate", "next_x") == {36: (1, Fate.SKIPPED, 0)}
    offers = {c: place for c, (_, place, _) in saw.offers().items()}
    assert offers == {43: 0}


@pytest.mark.rule("launch_path", 16)
def test_a_skip_in_the_cycle_of_the_first_decision_changes_nothing(kind):
    """Accepted in 25: skip in 27, and the block is decided in 27."""
    saw = unstarted_and_urgent(20).run(kind, 60)
    assert not saw.pulses("put_back", "ticket")
    offers = {c: place for c, (_, place, _) in saw.offers().items()}
    assert offers == {29: 0, 43: 1}


@pytest.mark.rule("launch_path", 16)
def test_a_launch_yields_until_the_last_urgent_block_is_decided(kind):
    """The low launch has 20 blocks; 8 of them fill both SMs.

    The urgent launch is accepted in 100 and handed over in 108. A slot of SM 0 is free in 104: the
    low launch's. One of SM 0 is free in 112, one of SM 1 in 124: from 110 on the low launch yields.
    The urgent launch's fit is known from 108 + 9 + 2 x 4 + 4 = 129 on. Its block is decided then,
    the low launch is given in 130, and its head stands in 132. In this first cycle only an empty
    SM takes it; it is decided in 133.
    """
    wide = replace(LAUNCH, grid=(20, 1, 1))
    script = Script().launch(10, 0, descriptor=wide, mode=Mode.YIELD)
    script.launch(95, 1, priority=URGENT)
    saw = script.report(100, 0, 0).report(108, 0, 1).report(120, 1, 0).run(kind, 150)
    offers = saw.offers()
    assert len([c for c in offers if c < 100]) == 8
    assert {c: offers[c] for c in offers if c > 100} == {
        106: (0, 0, 0),
        131: (1, 1, 0),
        135: (0, 0, 1),
    }
    assert saw.changes("kill") == {0: 0} and not saw.pulses("put_back", "ticket")


# Timing


@pytest.mark.rule("launch_path", 16)
def test_commands_reach_kill_in_the_cycles_of_the_table(kind):
    """PREEMPT in 50: `kill` in 54; an ABORT in 50 of a launch with a place: in 56."""
    low = {"priority": LOW, **KILLED}
    for command, rises in ((Script().preempt(50, 0), 54), (Script().abort(50, 1), 56)):
        saw = command.launch(10, 0, **low).run(kind, 60)
        assert saw.changes("kill") == {0: 0, rises: 1}


@pytest.mark.rule("launch_path", 16)
def test_a_time_out_is_killed_in_the_cycle_of_the_table(kind):
    """The first offer stands in 29; the limit is 12: `kill` in 29 + 12 + 2."""
    script = Script().launch(10, 0).killed(60, 0)
    for cycle in range(80):
        script.at(cycle, launch_timeout=12)
    saw = script.run(kind, 80)
    assert saw.changes("kill") == {0: 0, 43: 1, 66: 0}
    fields = ("ticket", "fate", "code")
    assert saw.pulses("record", *fields) == {68: (1, FinalFate.FAILED, QueueCode.TIMEOUT)}


@pytest.mark.rule("launch_path", 16)
def test_a_prepared_launch_takes_the_place_that_is_gone_first(kind):
    """`next_launch`: both places held, last report in 80, first offer of the third in 92."""
    script = Script().launch(10, 0).launch(11, 1).launch(12, 2)
    saw = script.report(80, 0).run(kind, 100)
    offers = {c: (sm, place) for c, (sm, place, _) in saw.offers().items()}
    assert [offers[c] for c in sorted(offers)] == [(0, 0), (1, 1), (0, 0)]
    assert max(offers) == 92


@pytest.mark.rule("launch_path", 6)
def test_an_abort_of_a_waiting_launch_and_of_an_unknown_ticket(kind):
    """Launch 2 waits for launch 1; its entry 1 is compared in 53, and the ABORT acts in 54."""
    script = Script().launch(10, 0).launch(11, 1, (0, 1)).abort(50, 2).abort(80, 9)
    saw = script.run(kind, 110)
    # 16 entries: an unknown ticket in 80 is answered in 80 + 3 + 16.
    codes = {55: 0, 99: QueueCode.TICKET_UNKNOWN}
    assert saw.pulses("abort_answer", "code") == codes
    fields = ("ticket", "fate", "code", "offered", "made")
    assert saw.pulses("record", *fields) == {55: (2, *ABORTED, 0, 54)}


# Clock and lost SMs

LOSSY = config_of("tiny,kill_timeout=16")


@pytest.mark.rule("launch_path", 8)
def test_the_clock_wraps_and_a_record_has_its_low_half(kind):
    """It begins 20 cycles before its wrap; the launch is accepted in 15 and offered in 29."""
    script = Script().launch(10, 0).report(40, 0)
    saw = script.run(kind, 60, **NEAR_WRAPS)
    assert saw.recording.port("clock")[:22] == [*range((1 << 64) - 20, 1 << 64), 0, 1]
    times = saw.pulses("record", "accepted", "first_offer", "made")
    assert times == {48: ((1 << 32) - 5, 9, 27)}


# To elaborate a path for eight cycles takes four seconds.
@pytest.mark.thorough
@pytest.mark.rule("launch_path", 8)
def test_the_clocks_halves_carry(kind):
    saw = Script().run(kind, 8, first_clock=0xABCD_FFFF_FFFC)
    assert saw.recording.port("clock") == list(range(0xABCD_FFFF_FFFC, 0xABCE_0000_0004))


def all_lost():
    """Return a script: both SMs hold a block of a stream each, and say nothing when killed.

    Both PREEMPTs are of 40; their kills are 1 from 44 on. With `kill_timeout` = 16 the SMs are
    lost at the end of L = 44 + 16 + 4 - 1 = 63.
    """
    script = Script(LOSSY).launch(10, 0, **KILLED).launch(20, 1, **KILLED)
    return script.preempt(40, 0, 1)


@pytest.mark.rule("launch_path", 9)
@pytest.mark.parametrize(("comes", "code"), [(59, 0), (60, ErrorCode.NO_SM)])
def test_a_launch_is_refused_two_cycles_after_the_last_sm_is_lost(kind, comes, code):
    """`lost` is 3 from 64 on, `no_sm` is 1 from 65 on; a launch in t is judged in t + 5."""
    saw = all_lost().launch(comes, 2).run(kind, 100)
    assert saw.changes("lost") == {0: 0, 64: 3}
    assert saw.pulses("answer", "code")[comes + 6] == code
    records = saw.pulses("record", "ticket", "fate", "code")
    lost = {(t, FinalFate.FAILED, ErrorCode.SM_LOST) for t in (1, 2)}
    waiting = {(3, FinalFate.FAILED, ErrorCode.NO_SM)} if not code else set()
    launches = {entry for entry in records.values() if entry[0]}
    assert launches == lost | waiting


@pytest.mark.rule("launch_path", 9, 12)
def test_a_restart_leaves_lost_sms_lost_and_no_sm_is_zero_for_one_cycle(kind):
    """`restart` in 120: a launch that is judged in 126 is refused, as is each later one."""
    saw = all_lost().soft_reset(100, 120).launch(121, 0).run(kind, 140)
    assert saw.changes("lost") == {0: 0, 64: 3}
    assert saw.pulses("answer", "code")[127] == ErrorCode.NO_SM


@pytest.mark.rule("launch_path", 12)
def test_a_restart_and_a_pop(kind):
    """The pop of the restart's cycle counts: its record's place is free as after any pop."""
    script = eight_preempts().soft_reset(100, 112).pop(112)
    saw = script.run(kind, 130)
    assert saw.changes("records")[114] == 7
    assert saw.changes("room") == {0: 15, 91: 0, 115: 15}


@pytest.mark.rule("launch_path", 1, 12)
def test_a_restart_forgets_holds_breaks_and_counts(kind):
    """Stream 7 is held, stream 0 is broken by a loss; after the restart both take launches."""
    script = Script(LOSSY).launch(10, 0, **KILLED).preempt(40, 0, 7)
    script.launch(80, 0).soft_reset(100, 120).launch(130, 0).launch(131, 7)
    saw = script.run(kind, 200)
    assert saw.changes("lost") == {0: 0, 64: 1}
    answers = saw.pulses("answer", "ticket", "code", "count")
    broken = (0, ErrorCode.STREAM_BROKEN, 0)
    assert answers == {16: (1, 0, 1), 86: broken, 136: (2, 0, 1), 137: (3, 0, 1)}
    assert [sm for c, (sm, _, _) in saw.offers().items() if c > 130] == [1, 1]


# Without indices


@pytest.mark.rule("launch_path", 19)
def test_without_indices_the_first_offer_comes_fourteen_cycles_after_the_transfer(kind):
    config = config_of("tiny,index_memory_warps=0")
    saw = Script(config).launch(10, 0).report(40, 0).run(kind, 60)
    assert saw.offers() == {24: (0, 0, 0)}
    assert "decided_valid" not in saw.recording.outputs[0]
    assert saw.pulses("record", "ticket", "word2") == {48: (1, 16)}
