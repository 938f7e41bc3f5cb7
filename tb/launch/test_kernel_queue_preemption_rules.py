"""Rules of KernelQueue's page: holds, PREEMPT, aborts, time-outs, resets."""

from dataclasses import replace

import pytest

from tb.launch.kernel_queue_script import RTL_AND_MODEL, TINY, Script
from warploom_spec import ErrorCode
from warploom_spec.errors import Fate
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import QueueOpcode

pytestmark = RTL_AND_MODEL

OK = ErrorCode.OK
ABORTED = (FinalFate.ABORTED, OK)
FINISHED = (FinalFate.FINISHED, OK)


@pytest.mark.rule("kernel_queue", 11, 14, 22, 24, 25)
def test_an_urgent_launch_stops_a_low_one_which_then_runs_again(block):
    """Taken in 60; the low one ends killed in 70, and starts again beside the urgent one."""
    script = Script().resident(30, 0, 50, 70, mode=Mode.RESET, idempotent=1)
    script.launch(60, 1, priority=3).end(70, 0, Fate.KILLED).end(100, 1, Fate.FINISHED)
    saw = script.level("begun", 0, 110, 130).end(130, 0, Fate.FINISHED).run(block, 150)
    assert saw.span("hold") == [(66, 105)]
    assert saw.span("stop") == [(66, 71)]
    assert saw.pulses("killed", "stream") == {74: 0}
    assert dict(saw.recording.transfers("release")).keys() == {74, 104, 134}
    assert saw.transfers("start", "stream", "entry") == {42: (0, 0), 73: (1, 12), 83: (0, 0)}
    assert saw.records("ticket", "fate", "kills") == {105: (2, 0, 0), 135: (1, 0, 1)}


#: By mode, idempotent, begun: `hold` and `stop` by priority, and by command.
MAKES_WAY = {
    (Mode.AUTO, 1, 1): ((1, 1), (1, 1)),
    (Mode.AUTO, 1, 0): ((1, 0), (1, 0)),
    (Mode.AUTO, 0, 1): ((1, 0), (1, 0)),
    (Mode.RESET, 1, 1): ((1, 1), (1, 1)),
    (Mode.RESET, 0, 1): ((1, 0), (1, 0)),
    (Mode.DRAIN, 1, 1): ((1, 0), (1, 0)),
    (Mode.WAIT, 1, 1): ((0, 0), (0, 0)),
    (Mode.WAIT, 1, 0): ((0, 0), (1, 0)),
    (Mode.YIELD, 1, 1): ((0, 0), (1, 0)),
    (Mode.YIELD, 1, 0): ((0, 0), (1, 0)),
}


@pytest.mark.rule("kernel_queue", 5, 24, 25)
@pytest.mark.parametrize(("mode", "idempotent", "begun"), MAKES_WAY)
def test_a_mode_makes_way_by_priority_and_by_command_as_it_says(block, mode, idempotent, begun):
    """An urgent launch is taken in 60, or a PREEMPT comes in 64: both show from 66 on."""

    def low(config=TINY):
        script = Script(config)
        script.launch(30, 0, mode=mode, idempotent=idempotent)
        return script.level("begun", 0, 50) if begun else script

    def shown(saw):
        bits = {name: [value & 1 for value in saw.port(name)] for name in ("hold", "stop")}
        assert not any(bits["hold"][:66]) and not any(bits["stop"][:66])
        return bits["hold"][66], bits["stop"][66]

    by_priority, by_command = MAKES_WAY[mode, idempotent, begun]
    assert shown(low().launch(60, 1, priority=3).run(block, 70)) == by_priority
    assert shown(low().preempt(64, 0).run(block, 70)) == by_command
    unkilled = replace(TINY, sm_kill=False)
    assert shown(low(unkilled).preempt(64, 0).run(block, 70)) == (by_command[0], 0)


@pytest.mark.rule("kernel_queue", 14, 24)
def test_a_launch_that_was_killed_four_times_is_only_held(block):
    """Its fifth run is resident from 193 on."""
    script = Script().launch(30, 0, idempotent=1).level("begun", 0, 50)
    for k in range(4):
        script.end(60 + 40 * k, 0, Fate.KILLED)
    saw = script.preempt(230, 0).resume(240, 0).end(250, 0, Fate.FINISHED).run(block, 270)
    assert list(saw.transfers("start", "stream")) == [42, 72, 112, 152, 192]
    assert saw.span("hold") == [(232, 241)]
    assert saw.cycles("stop") == []
    assert saw.records("kills", "fate")[255] == (4, FinalFate.FINISHED)


@pytest.mark.rule("kernel_queue", 25)
def test_a_held_stream_makes_nobody_wait(block):
    """The urgent stream is held before its launch comes, until 80."""
    script = Script().resident(30, 0, 50).preempt(45, 1).launch(60, 1, priority=3)
    saw = script.resume(80, 1).run(block, 100)
    assert saw.span("hold", 0) == [(83, 99)]
    assert saw.span("hold", 1) == [(47, 81)]
    assert saw.cycles("request__valid") == [37, 85]


def preempted():
    """Return a script with residents in streams 0 to 3, and a PREEMPT of them in 200.

    Stream 0 is killed, stream 1 drains until 230, stream 2 has not begun, stream 3 ends.
    """
    script = Script()
    for stream, mode in enumerate((Mode.RESET, Mode.DRAIN, Mode.AUTO, Mode.AUTO)):
        script.launch(30 + 20 * stream, stream, mode=mode, idempotent=int(stream == 0))
        script.level("open", stream, 0)
        if stream != 2:
            script.level("begun", stream, 150)
    script.level("busy", 1, 150, 230).preempt(200, 0, 1, 2, 3)
    return script.end(210, 0, Fate.KILLED).level("busy", 3, 150, 220).end(220, 3, Fate.FINISHED)


@pytest.mark.rule("kernel_queue", 5, 8, 19, 27, 28, 29)
def test_a_preempt_counts_what_became_of_its_residents(block):
    """Stream 1 is visited in 241, and the record is due in 243."""
    saw = preempted().preempt(253, 5).preempt(254, 5).run(block, 260)
    names = ("kind", "ticket", "word2", "word3", "word4", "accepted", "made", "first_offer")
    found = {247: (RecordKind.PREEMPT, 0, 1, 1 | 1 << 16, 1, 200, 253, 0)}
    first = saw.records(*names)
    assert {c: r for c, r in first.items() if r[0] == RecordKind.PREEMPT} == found
    order = [word for c, word in saw.pulses("record", "word").items() if c >= 247]
    assert order == [1, 2, 0, 5, 6, 3, 4, 7]
    codes = {201: OK, 254: QueueCode.PREEMPT_PENDING, 255: OK}
    assert saw.pulses("command_answer", "code") == codes


@pytest.mark.rule("kernel_queue", 27, 28)
@pytest.mark.parametrize(("ended", "killed"), [(197, 0), (198, 0), (199, 1)])
def test_a_preempt_meets_a_run_whose_end_has_its_last_step_two_cycles_later(block, ended, killed):
    """The PREEMPT comes in 200."""
    script = Script().resident(30, 0, 50, ended, idempotent=1).preempt(200, 0)
    saw = script.end(ended, 0, Fate.KILLED).run(block, 240)
    assert list(saw.records("word3").values()) == [killed]


@pytest.mark.rule("kernel_queue", 5, 27, 29)
def test_a_resume_takes_its_streams_out_of_a_pending_preempt(block):
    """Nothing is watched from 231 on: due in 232, the record's first word in 236."""
    script = Script().resident(30, 0, 50, mode=Mode.DRAIN).level("busy", 0, 50).preempt(200, 0)
    saw = script.resume(230, 0).resume(235, 0).run(block, 250)
    assert saw.records("kind", "word2", "word3", "word4") == {236: (RecordKind.PREEMPT, 0, 0, 0)}
    assert saw.span("hold") == [(202, 231)]
    assert saw.pulses("command_answer", "code")[236] == QueueCode.NOT_PREEMPTED


@pytest.mark.rule("kernel_queue", 27, 29)
def test_a_resume_in_the_next_cycle_leaves_nothing_to_watch(block):
    """Due in 211, ten cycles behind the PREEMPT and one more."""
    script = Script().resident(30, 0, 50, mode=Mode.DRAIN).level("busy", 0, 50).preempt(200, 0)
    saw = script.resume(201, 0).run(block, 230)
    assert saw.records("kind", "word3", "word4") == {215: (RecordKind.PREEMPT, 0, 0)}


@pytest.mark.rule("kernel_queue", 5, 9, 10)
def test_commands_are_refused_while_closed_and_stand_while_a_walk_is_on(block):
    """Closed from 51 on. The purge is wanted from 52 on, and its COMMANDs are picked from 53 on.

    The second one is picked in 56. In its last step, in which no COMMAND is wanted, a LOOK is
    picked: a COMMAND comes every nine cycles, the last one in 182.
    """
    script = Script().during(50, 200, soft_reset_active=1)
    saw = script.preempt(51, 0).command(110, 3, 0).run(block, 200)
    assert saw.pulses("command_answer", "code") == {52: HostError.RESET, 186: HostError.RESET}
    assert [c for c in range(20, 200) if not saw.port("command__ready")[c]] == [*range(52, 185)]


@pytest.mark.rule("kernel_queue", 17, 18)
def test_an_abort_of_a_waiting_launch_makes_its_record_at_once(block):
    """Entry 1 is read in 64. The dead launch passes without a record when it is the head."""
    script = Script().resident(30, 0, 50, 100).launch(40, 0).abort(60, 2)
    saw = script.end(100, 0, Fate.FINISHED).run(block, 130)
    assert saw.cycles("abort__ready") == [70]
    assert saw.pulses("abort_answer", "code") == {71: OK}
    assert saw.records("ticket", "fate", "code", "offered", "kills") == {
        72: (2, *ABORTED, 0, 0),
        105: (1, *FINISHED, 1, 0),
    }
    assert saw.pulses("timeline", "stream", "count") == {104: (0, 1), 112: (0, 2)}
    assert saw.span("idle")[-1] == (113, 129)


@pytest.mark.rule("kernel_queue", 13, 17, 18)
def test_an_abort_of_a_resident_stops_it_for_good(block):
    """Entry 0 is read in 61; it is stopped in one cycle, also if it could run again."""
    script = Script().resident(30, 0, 50, 90, idempotent=1).abort(60, 1).end(90, 0, Fate.KILLED)
    saw = script.run(block, 110)
    assert saw.pulses("abort_answer", "code") == {68: OK}
    assert saw.span("stop") == [(76, 76)]
    assert saw.records("ticket", "fate", "code") == {95: (1, *ABORTED)}


@pytest.mark.rule("kernel_queue", 6, 17, 18)
def test_an_abort_in_preparation_stops_the_launch_when_it_is_resident(block):
    """Resident from 82 on; a LOOK that is picked in 77 finds it in preparation, one in 85 not."""
    saw = Script().undecided().launch(30, 0).abort(60, 1).decide(80).run(block, 100)
    assert saw.pulses("abort_answer", "code") == {68: OK}
    assert saw.transfers("start", "stream") == {81: 0}
    assert saw.span("stop") == [(92, 92)]


@pytest.mark.rule("kernel_queue", 18)
def test_an_abort_of_an_unknown_ticket_reads_all_entries(block):
    """3 N + 2 cycles."""
    saw = Script().launch(30, 0).abort(60, 7).run(block, 120)
    assert saw.pulses("abort_answer", "code") == {60 + 3 * 16 + 2: QueueCode.TICKET_UNKNOWN}


@pytest.mark.rule("kernel_queue", 4, 18)
def test_an_abort_of_the_last_entry_takes_longest(block):
    """3 N + 5 cycles; the fourth launch of the highest priority has entry 15."""
    script = Script()
    for k in range(4):
        script.launch(30 + 10 * k, 0, priority=3)
    saw = script.abort(100, 4).run(block, 160)
    assert saw.pulses("abort_answer", "code") == {100 + 3 * 16 + 5: OK}


@pytest.mark.rule("kernel_queue", 18)
@pytest.mark.parametrize(
    ("begins", "answers"), [(32, {82: QueueCode.TICKET_UNKNOWN}), (33, {41: OK})]
)
def test_an_abort_finds_a_launch_from_the_cycle_behind_its_accept_on(block, begins, answers):
    """The ACCEPT's last step is 33; entry 0 is read a cycle after the search begins."""
    saw = Script().launch(30, 0).abort(begins, 1).run(block, 90)
    assert saw.pulses("abort_answer", "code") == answers


@pytest.mark.rule("kernel_queue", 6, 8, 18)
@pytest.mark.parametrize(
    ("ended", "answered", "code"),
    [
        (59, 116, QueueCode.TICKET_UNKNOWN),
        (60, 66, QueueCode.TICKET_UNKNOWN),
        (61, 67, QueueCode.TICKET_UNKNOWN),
        (64, 70, QueueCode.TICKET_UNKNOWN),
        (65, 68, OK),
    ],
)
def test_an_abort_of_a_launch_that_ends_meanwhile_is_unknown(block, ended, answered, code):
    """Its entry is read in 61 and looked at again in 63; the ABORT is wanted from 64 on.

    In the first case the search goes on behind the writer, from 70 on.
    """
    script = Script().resident(30, 0, 50, ended).abort(60, 1).end(ended, 0, Fate.FINISHED)
    saw = script.run(block, 120)
    assert saw.pulses("abort_answer", "code") == {answered: code}
    first = max(ended + 5, 73 if ended == 65 else 0)
    assert saw.records("ticket", "fate", "code") == {first: (1, *FINISHED)}


@pytest.mark.rule("kernel_queue", 9, 15, 16, 17)
def test_abort_streams_ends_what_was_accepted_before_it_and_nothing_else(block):
    """The walk is on from 61 to 78; the launch that is taken in 70 is accepted in 81."""
    script = Script().resident(30, 0, 50, 80).launch(40, 0)
    script.command(60, QueueOpcode.ABORT_STREAMS, 0).launch(70, 0).end(80, 0, Fate.KILLED)
    saw = script.run(block, 120)
    assert saw.pulses("command_answer", "code") == {79: OK}
    assert saw.span("stop") == [(72, 72)]
    assert saw.pulses("answer", "ticket", "count")[82] == (3, 3)
    assert saw.records("ticket", "fate", "code") == {86: (1, *ABORTED), 94: (2, *ABORTED)}
    assert saw.cycles("request__valid") == [37, 96]


@pytest.mark.rule("kernel_queue", 8, 17, 29)
def test_a_head_passes_only_when_its_record_can_be_written(block):
    """The PREEMPT's event ends in 213, a LOOK at a doomed head in 220, and another one in 228."""
    script = Script().resident(30, 0, 50).launch(60, 1, (0, 1)).preempt(200, 5)
    saw = script.command(206, QueueOpcode.ABORT_STREAMS, 1).run(block, 240)
    assert saw.records("kind", "ticket", "fate") == {
        215: (RecordKind.PREEMPT, 0, 0),
        230: (RecordKind.LAUNCH, 2, FinalFate.ABORTED),
    }


@pytest.mark.rule("kernel_queue", 19)
def test_a_run_that_takes_too_long_is_stopped_and_says_so(block):
    """A limit of 160 is a rest of 10; visits are 16 cycles apart, the first in 48 to set it.

    It is -1 behind the visit in 224, which that in 240 finds; each later one finds it again.
    """
    script = Script().resident(30, 0, 50, 286, idempotent=1).during(0, 330, launch_timeout=160)
    saw = script.end(286, 0, Fate.KILLED).run(block, 330)
    assert saw.span("stop") == [(254, 254), (270, 270), (286, 286)]
    assert saw.records("ticket", "fate", "code") == {291: (1, FinalFate.FAILED, QueueCode.TIMEOUT)}


def late(begun=50):
    """Return a script of a run that is late in 240: its LATE is wanted from 242 on."""
    return Script().resident(30, 0, begun, 242).during(0, 330, launch_timeout=160)


@pytest.mark.rule("kernel_queue", 19)
def test_the_first_visit_since_the_start_sets_the_rest(block):
    """It is in 48, and the launch has begun by then."""
    assert late(begun=44).run(block, 270).cycles("stop")[0] == 254


@pytest.mark.rule("kernel_queue", 6, 19)
@pytest.mark.parametrize(("ended", "stopped"), [(236, 254), (237, 270), (238, 270), (239, 255)])
def test_a_late_is_not_wanted_while_an_end_has_its_last_step(block, ended, stopped):
    """The END of another stream; the next visit is sixteen cycles later."""
    script = Script().resident(30, 0, 50).resident(60, 1, 80).during(0, 330, launch_timeout=160)
    saw = script.end(ended, 1, Fate.FINISHED).run(block, 290)
    assert saw.cycles("stop")[0] == stopped


@pytest.mark.rule("kernel_queue", 6, 19)
def test_an_accept_is_picked_in_the_last_step_of_a_late(block):
    """The launch is in the inbox from 245 on."""
    saw = late().launch(244, 1).run(block, 260)
    assert saw.pulses("answer", "ticket") == {34: 1, 248: 2}


@pytest.mark.rule("kernel_queue", 6, 19)
def test_an_end_takes_the_late_of_its_stream_back(block):
    """Both are wanted in 242. The LOOK at the one that waits is picked in 247, in LATE's place."""
    saw = late().launch(60, 2, (0, 1)).end(242, 0, Fate.FINISHED).run(block, 270)
    assert saw.cycles("request__valid") == [37, 257]


@pytest.mark.rule("kernel_queue", 19)
@pytest.mark.parametrize("stands", ["hold", "yields"])
def test_the_time_of_a_run_stands_still_while_it_is_held_or_yields(block, stands):
    """Two of its visits fall into 100 to 131."""
    script = Script().resident(30, 0, 50, mode=Mode.DRAIN).during(0, 330, launch_timeout=160)
    if stands == "hold":
        script.preempt(98, 0).resume(130, 0)
    else:
        script.level("yields", 0, 100, 131)
    assert script.run(block, 330).cycles("stop")[0] == 254 + 32


@pytest.mark.rule("kernel_queue", 19)
@pytest.mark.parametrize(("first", "stop"), [(100, 318), (111, 318), (112, 334)])
def test_a_limit_that_comes_in_a_run_counts_from_then_on(block, first, stop):
    """Visits in 112 and 128: the first that is two cycles behind the last 0 sets the rest."""
    script = Script().resident(30, 0, 50).during(first, 400, launch_timeout=160)
    assert script.run(block, 340).cycles("stop")[0] == stop


@pytest.mark.rule("kernel_queue", 19)
def test_a_cycle_without_a_limit_lets_a_run_count_anew(block):
    """The visit in 160 sets the rest, as that in 48 would have without it."""
    script = Script().resident(30, 0, 50).during(0, 400, launch_timeout=160)
    script.at(150, launch_timeout=0)
    assert script.run(block, 380).cycles("stop")[0] == 254 + 112


@pytest.mark.rule("kernel_queue", 19)
def test_without_a_limit_no_run_is_late(block):
    """However long it takes."""
    assert Script().resident(30, 0, 50).run(block, 600).cycles("stop") == []


@pytest.mark.rule("kernel_queue", 1, 5, 9, 16, 17, 31)
def test_a_soft_reset_ends_everything_and_a_restart_keeps_tickets_and_places(block):
    """One launch runs, one waits in its stream, one for an event, one is held."""
    script = Script().resident(30, 0, 50, 120).launch(40, 0).launch(50, 1, (0, 2))
    script.preempt(55, 2).launch(60, 2, priority=1).during(100, 400, soft_reset_active=1)
    script.end(120, 0, Fate.KILLED).at(400, restart=1).launch(440, 0)
    saw = script.run(block, 460)
    records = saw.records("ticket", "kind", "fate", "code")
    launches = {ticket: said for ticket, kind, *said in records.values() if not kind}
    assert launches == {ticket: list(ABORTED) for ticket in (1, 2, 3, 4)}
    assert max(records) < saw.span("idle")[-2][0]
    assert saw.span("idle")[-1] == (418, 435)
    assert saw.pulses("answer", "ticket", "count")[444] == (5, 1)
    assert saw.port("room")[401] == saw.port("pace")[401] == 0
    assert saw.span("pace")[-2:] == [(421, 435), (438, 459)]


@pytest.mark.rule("kernel_queue", 9, 13, 17)
def test_without_an_sm_all_launches_fail(block):
    """One runs, one waits behind it, one for an event."""
    script = Script().resident(30, 0, 50, 120).launch(40, 0).launch(50, 1, (0, 2))
    saw = script.during(100, 300, no_sm=1).end(120, 0, Fate.KILLED).run(block, 300)
    failed = FinalFate.FAILED, ErrorCode.NO_SM
    assert sorted(saw.records("ticket", "fate", "code").values()) == [
        (ticket, *failed) for ticket in (1, 2, 3)
    ]
    assert saw.cycles("stop"), "the resident is stopped"
    assert saw.port("idle")[-1] == 1


@pytest.mark.rule("kernel_queue", 10, 11, 12, 16, 17)
def test_tickets_and_counts_wrap(block):
    """Stream 0's launches are numbers 2^32 - 1 and 0; stream 1 waits for both."""
    last = (1 << 32) - 1
    script = Script().resident(30, 0, 50, 100).launch(40, 0).launch(50, 1, (0, 0xFFFF), (0, 0))
    script.end(100, 0, Fate.FINISHED).level("begun", 0, 120, 130).end(130, 0, Fate.FINISHED)
    saw = script.launch(60, 2, (0, 1)).run(block, 160, first_ticket=last, first_count=last - 1)
    answers = saw.pulses("answer", "ticket", "count", "code", "argument")
    assert list(answers.values()) == [
        (last, 0xFFFF, OK, 0),
        (1, 0, OK, 0),
        (2, 0xFFFF, OK, 0),
        (0, 0, QueueCode.WAIT_AHEAD, 28),
    ]
    assert saw.pulses("timeline", "stream", "count") == {104: (0, last), 134: (0, 0)}
    assert saw.cycles("request__valid") == [37, 107, 145]
