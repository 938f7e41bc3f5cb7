"""CompletionQueue beside its model, and its page's cycles and words on both."""

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from tb.support.record import Sender, made, record
from warploom.host.completion_queue import CompletionQueue
from warploom_golden.host import CompletionQueue as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, run
from warploom_spec import ErrorCode, Fate, layouts
from warploom_spec.host_commands import record_words
from warploom_spec.queue import FinalFate

TINY = config_of("tiny")
SMALL = "tiny,queue_depth=1"
ENDED, WORDS = layouts.end_record(TINY), record_words(TINY)


def make(config):
    return CompletionQueue(config_of(config)), Model(config_of(config))


class Happenings:
    """Counts what the page speaks of, from ports alone."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "full",
                "full, and the oldest record leaves",
                "a record enters and one is popped",
                "popped while none is shown",
                "a record counts and none is shown",
                "back to back pops",
                *(f"fate {fate.name}" for fate in FinalFate),
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._popped = False

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        full, shown = not outputs["ended__ready"], bool(outputs["oldest"])
        popped = inputs["pop"] and shown
        happened = {
            "full": full,
            "full, and the oldest record leaves": full and popped,
            "a record enters and one is popped": inputs["ended__valid"] and not full and popped,
            "popped while none is shown": inputs["pop"] and not shown,
            "a record counts and none is shown": outputs["records"] and not shown,
            "back to back pops": popped and self._popped,
        }
        fields = fields_of(outputs["oldest"])
        if popped and fields["fate"] < len(FinalFate):
            self.counts_of[f"fate {FinalFate(fields['fate']).name}"] += 1
        self._popped = popped
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)


def fields_of(oldest):
    return WORDS.unpack([oldest >> 32 * k & 0xFFFFFFFF for k in range(6)])


def pops(context):
    """Yield pulses: some phases with many, some with none, so that the queue fills up."""
    pace = Pace(context.rng, (0.0, 0.05, 0.5, 1.0))
    while True:
        yield int(pace())


def case(config, seed, cycles=3000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        sources={"pop": pops},
        events={"happenings": Happenings},
    )


@pytest.mark.parametrize("config", [SMALL, "tiny"])
def test_equals_its_model_and_hard_cases_happen(config, seed):
    names = ("transfers of ended", *Happenings().counts())
    run_until(names, lambda n: [case(config, seed + n)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("default", seed + k, 1500) for k in range(2)], simulator)


WRONG = {
    "a killed launch has failed": Change(
        CompletionQueue, "elaborate", "m.Case(*_STOPPED)", "m.Case(*_STOPPED[1:])"
    ),
    "a place too few": Change(
        CompletionQueue, "elaborate", "depth=self._config.records", "depth=self._config.records - 1"
    ),
    "a record is shown when there is none": Change(
        CompletionQueue, "elaborate", "shown & is_shown.replicate(width)", "shown"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(SMALL, seed + k) for k in range(24)], "amaranth", waves=False)


# Rules and cycles, of RTL and model alike


@pytest.fixture(params=[CompletionQueue, Model], ids=["rtl", "model"])
def queue(request):
    return made(request.param, TINY)


def ended(ticket, fate=Fate.FINISHED, code=0, cycles=0):
    zeros = dict.fromkeys((f.name for f in ENDED.fields), 0)
    said = {"ticket": ticket, "fate": fate, "code": code, "cycles": cycles, "next_x": 5}
    return ENDED.pack(zeros | said)


def play(queue, records, pop=(), cycles=24, hold=lambda cycle: 0):
    def levels(cycle):
        return {"pop": int(cycle in pop), "ended__hold": hold(cycle)}

    return record(queue, Sender({"ended": records}, levels), cycles)


def tickets(seen):
    return [oldest and oldest & 0xFFFFFFFF for oldest in seen.port("oldest")]


@pytest.mark.rule("completion_queue", 2, 4, 5)
def test_a_record_counts_two_cycles_after_it_came_and_is_at_oldest_after_three(queue):
    """It is in the memory in 1 and shown in 2; `records` and `oldest` say so a cycle later."""
    seen = play(queue, [ended(7)], cycles=6)
    assert seen.port("records") == [0, 0, 1, 1, 1, 1]
    assert tickets(seen) == [0, 0, 0, 7, 7, 7]


@pytest.mark.rule("completion_queue", 3, 4, 5)
def test_a_pop_shows_the_next_record_in_the_next_cycle(queue):
    """Records come in 0, 1 and 2; pops in 4, 5 and 6, and one too many in 7.

    The next record is shown in 5, 6 and 7, and at `oldest` a cycle later.
    """
    seen = play(queue, [ended(1), ended(2), ended(3)], pop=(4, 5, 6, 7), cycles=10)
    assert tickets(seen) == [0, 0, 0, 1, 1, 1, 2, 3, 0, 0]
    assert seen.port("records") == [0, 0, 1, 2, 3, 3, 2, 1, 0, 0]


@pytest.mark.rule("completion_queue", 4, 5)
@pytest.mark.parametrize(("comes", "shown"), [(4, [1, 1, 2, 2]), (5, [1, 1, 0, 2])])
def test_whether_the_next_record_came_in_time(queue, comes, shown):
    """Popped in 5: one that came in 4 is at `oldest` in 7, one that comes in 5 in 8."""
    seen = play(
        queue,
        [ended(1), ended(2)],
        pop=(5,),
        cycles=9,
        hold=lambda cycle: int(0 < cycle < comes),
    )
    assert tickets(seen)[5:] == shown


@pytest.mark.rule("completion_queue", 3)
def test_a_pop_before_the_record_is_shown_does_nothing(queue):
    """It is shown in 2: the pops of 0 and 1 come too early, and it stays."""
    assert tickets(play(queue, [ended(9)], pop=(0, 1), cycles=6)) == [0, 0, 0, 9, 9, 9]


@pytest.mark.rule("completion_queue", 3, 5)
def test_a_pop_removes_a_record_that_is_shown_and_not_at_oldest_yet(queue):
    """Shown in 2, popped there: `oldest` has it in 3 alone."""
    assert tickets(play(queue, [ended(9)], pop=(2,), cycles=6)) == [0, 0, 0, 9, 0, 0]


@pytest.mark.rule("completion_queue", 1, 2)
def test_twenty_records_have_a_place_and_the_next_one_waits(queue):
    """`tiny` plans for queues of 4: 20 records. One is popped in 30: the next enters in 31."""
    seen = play(queue, [ended(k + 1) for k in range(22)], pop=(30,), cycles=36)
    assert [cycle for cycle, _ in seen.transfers("ended")] == [*range(20), 31]
    assert max(seen.port("records")) == 20


FATES = {
    Fate.FINISHED: 0,
    Fate.KILLED: 1,
    Fate.DRAINED: 1,
    Fate.SKIPPED: 1,
    Fate.FAILED: 2,
    Fate.ABORTED: 1,
}


@pytest.mark.rule("completion_queue", 5)
@pytest.mark.parametrize("fate", Fate)
def test_the_words_of_a_record(queue, fate):
    code = ErrorCode.SM_LOST if fate == Fate.FAILED else 0
    seen = play(queue, [ended(0xFEDC0001, fate, code, 0x89ABCDEF)], cycles=4)
    assert seen.port("oldest")[3] == (
        0x89ABCDEF << 64 | (FATES[fate] << 8 | code) << 32 | 0xFEDC0001
    )
