"""IndexReadArbiter beside its model, and its page's cycles on both."""

import sys
from collections import deque

import pytest

from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from tb.support.record import Sender, record
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.sm_side import IndexReadArbiter
from warploom_dev.rewrite import Rewrite
from warploom_golden.sm_side import IndexReadArbiter as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, run
from warploom_spec import layouts, timing

THREE = "tiny,sms=3"
#: Cycles from a transfer at `read` to its data.
READ = 3


def make(config):
    return IndexReadArbiter(config_of(config)), Model(config_of(config))


def asked(address, warp=0, index_warps=1):
    """Return a request of an SM; one of these defaults is the same at `read`."""
    words = {"address": address, "warp": warp, "index_warps": index_warps}
    return layouts.index_read(config_of(THREE)).pack(words)


def by_row(request):
    """Return what `read` shows of a request (rule 3); the number of SMs does not matter to it."""
    wanted = layouts.index_read(config_of(THREE)).unpack(request)
    row = (wanted["address"] + wanted["warp"]) % 64
    return asked(row, index_warps=int(wanted["warp"] < wanted["index_warps"]))


class Memory:
    """The index memory: data come in order, three cycles after the transfer at the earliest.

    In no cycle have more than three transfers no data yet, as IndexMemory's page says.
    """

    def __init__(self):
        self._due = deque()
        self._cycle = 0

    def next(self, transfers, late=False):
        """Return whether data come, and whether one more transfer may happen, in the next cycle.

        Parameters
        ----------
        transfers : bool
            One happened in the last cycle.
        late : bool
            Data that may come do not.
        """
        self._cycle += 1
        if transfers:
            self._due.append(self._cycle - 1 + READ)
        answered = bool(self._due) and self._due[0] <= self._cycle and not late
        if answered:
            self._due.popleft()
        return int(answered), len(self._due) < READ


class Reads:
    """SMs that ask at their own paces, and an index memory that makes some requests wait."""

    def __init__(self, context):
        sms = config_of(context.params["config"]).sms
        self._ends = [context.driver(f"request__{n}") for n in range(sms)]
        self._read = context.sink("read")
        self._active = Pace(context.case.rng("soft reset"), (0.0, 0.0, 0.5, 1.0))
        self._late = Pace(context.case.rng("late"), (0.0, 0.0, 0.5))
        self._memory = Memory()
        self._ready = 0

    def next(self, outputs):
        if outputs is None:
            self._memory = Memory()
        inputs = {"soft_reset_active": int(self._active())}
        for end in self._ends:
            inputs |= end.next(outputs)
        moved = bool(outputs and outputs["read__valid"] and self._ready)
        inputs |= self._read.next(outputs)
        inputs["answered"], room = self._memory.next(moved, self._late())
        inputs["read__ready"] &= room
        self._ready = inputs["read__ready"]
        return inputs


class Order:
    """Holds that each SM gets its data in the order of its requests, and counts hard cases."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "three SMs have requests at once",
                "a warp a cycle for four cycles",
                "a request stands at read for three cycles",
                "three requests have no data yet",
                "a soft reset while requests are here",
                "idle after a soft reset began",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._asked = {}
        self._sent = deque()
        self._streak = self._stands = self._active = 0

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        sms = range(sum(name.endswith("__ready") for name in outputs))
        closed = self._active > 0
        here = sum(bool(asked) for asked in self._asked.values())
        happened = {
            "three SMs have requests at once": here == 3,
            "three requests have no data yet": len(self._sent) == 3,
            "a soft reset while requests are here": closed and here,
            "idle after a soft reset began": outputs["idle"],
        }
        assert outputs["idle"] == (closed and not here), "idle while a request may come, or is here"
        if outputs["data_valid"]:
            (sm,) = (n for n in sms if outputs["data_valid"] == 1 << n)
            assert by_row(self._asked[sm].popleft()) == self._sent.popleft()
        self._streak = self._streak + 1 if outputs["data_valid"] else 0
        moves = outputs["read__valid"] and inputs["read__ready"]
        self._stands = self._stands + 1 if outputs["read__valid"] and not moves else 0
        happened |= {
            "a warp a cycle for four cycles": self._streak == 4,
            "a request stands at read for three cycles": self._stands == 3,
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        if moves:
            self._sent.append(outputs["read__payload"])
        for sm in sms:
            if inputs[f"request__{sm}__valid"] and outputs[f"request__{sm}__ready"]:
                assert not closed
                asked = self._asked.setdefault(sm, deque())
                asked.append(inputs[f"request__{sm}__payload"])
        self._active = self._active + 1 if inputs["soft_reset_active"] else 0


def case(config, seed, cycles=3000):
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Reads,
        events={"order": Order},
    )


@pytest.mark.parametrize("config", [THREE, "tiny,sms=1"])
def test_equals_its_model_and_hard_cases_happen(config, seed):
    names = set(Order().counts())
    if config != THREE:
        names -= {"three SMs have requests at once"}
    run_until(names, lambda n: [case(config, seed + n)], "amaranth")


# The one block that is compared on Icarus by default.
@pytest.mark.parametrize("simulator", deep_but(["icarus"], ["icarus", "verilator"]))
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny,sms=5", seed + k, 1500) for k in range(2)], simulator)


WRONG = {
    "the pointer stays": Change(
        IndexReadArbiter, "_turn", "m.d.sync += onward.eq(after)", "m.d.sync += onward.eq(0)"
    ),
    "a turn that is not used is chosen anew": Change(
        IndexReadArbiter, "_turn", "m.If(~turns | room)", "m.If(C(1, 1))"
    ),
    "requests are taken during a soft reset": Change(
        IndexReadArbiter,
        "elaborate",
        "self.request[n].ready.eq(queue.i.ready & ~closed)",
        "self.request[n].ready.eq(queue.i.ready)",
    ),
    "idle while data are on their way": Change(
        IndexReadArbiter, "_answer", "~chosen.valid & ~asked.o.valid", "~chosen.valid"
    ),
    "idle before a request can be no more": Change(
        IndexReadArbiter, "_answer", "closed & ~waits", "~waits"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(THREE, seed + k) for k in range(24)], "amaranth", waves=False)


# Cycles, of RTL and model alike


@pytest.fixture(params=[IndexReadArbiter, Model], ids=["rtl", "model"])
def arbiter(request):
    return request.param(config_of(THREE))


def play(arbiter, requests, cycles=20, **levels):
    """Send each SM's requests; the memory's data come three cycles after each transfer."""
    memory, answered = Memory(), []

    class Reader(Sender):
        def next(self, outputs):
            moved = bool(outputs and outputs["read__valid"] and self.inputs["read__ready"])
            answered.append(memory.next(moved)[0])
            return super().next(outputs)

    def inputs(cycle):
        still = {"read__ready": 1, "soft_reset_active": 0}
        still |= {name: int(cycle in cycles_of) for name, cycles_of in levels.items()}
        return still | {"answered": answered[-1]}

    streams = {f"request__{n}": list(requests.get(n, ())) for n in range(3)}
    return record(arbiter, Reader(streams, inputs), cycles)


def test_the_memory_of_these_tests_is_the_product_s():
    assert timing(config_of(THREE)).index_read == READ


@pytest.mark.rule("index_read_arbiter", 1, 3, 4, 5, 6)
def test_a_request_has_its_data_five_cycles_later(arbiter):
    """In its queue in 1, and the turn is its SM's; at `read` in 2, and three cycles on its way."""
    seen = play(arbiter, {1: [asked(7)]})
    assert seen.transfers("request__1") == [(0, asked(7))]
    assert seen.transfers("read") == [(2, asked(7))]
    assert seen.port("data_valid")[:7] == [0, 0, 0, 0, 0, 2, 0]


@pytest.mark.rule("index_read_arbiter", 1, 3, 4)
def test_one_sm_gets_a_warp_a_cycle(arbiter):
    seen = play(arbiter, {2: [asked(1 + k) for k in range(6)]})
    assert seen.transfers("read") == [(2 + k, asked(1 + k)) for k in range(6)]


@pytest.mark.rule("index_read_arbiter", 2)
def test_a_request_goes_on_by_its_row(arbiter):
    """THREE has 64 rows: 60 + 7 wraps to 3. A warp at or beyond `index_warps` has no indices."""
    requests = [asked(5, 3, 8), asked(60, 7, 8), asked(5, 8, 8), asked(5, 9, 8), asked(5, 0, 0)]
    seen = play(arbiter, {0: requests})
    rows = [asked(8), asked(3), asked(13, index_warps=0), asked(14, index_warps=0)]
    assert [word for _, word in seen.transfers("read")] == [*rows, asked(5, index_warps=0)]


@pytest.mark.rule("index_read_arbiter", 4, 6)
def test_sms_take_turns_from_the_pointer_on(arbiter):
    """0, 1 and 2 ask at once, twice each; then 1 alone: the pointer stands at the SM after it."""
    requests = {n: [asked(10 * (n + 1)), asked(10 * (n + 1) + 1)] for n in range(3)}
    seen = play(arbiter, requests)
    order = [asked(address) for address in (10, 20, 30, 11, 21, 31)]
    assert [word for _, word in seen.transfers("read")] == order
    assert seen.port("data_valid")[5:11] == [1, 2, 4, 1, 2, 4]


@pytest.mark.rule("index_read_arbiter", 4)
@pytest.mark.parametrize(
    ("alone", "order"), [(0, (1, 2, 0)), (1, (2, 0, 1)), (2, (0, 1, 2))], ids=["0", "1", "2"]
)
def test_the_pointer_moves_on_from_an_sm_that_asks_alone(arbiter, alone, order):
    """One SM asks in 0 while nobody else waits; all three ask in 5."""
    requests = {n: [asked(n + 1)] for n in range(3)}
    requests[alone] = [asked(9), asked(alone + 1)]
    hold = {n: range(5) for n in range(3)} | {alone: range(1, 5)}
    seen = play(arbiter, requests, **{f"request__{n}__hold": hold[n] for n in range(3)})
    assert seen.transfers("read") == [
        (2, asked(9)),
        *((7 + k, asked(n + 1)) for k, n in enumerate(order)),
    ]


@pytest.mark.rule("index_read_arbiter", 1, 3, 5)
def test_two_of_an_sm_wait_and_the_third_is_refused(arbiter):
    """The memory takes nothing: two stand in the output queue, two in the SM's."""
    seen = play(arbiter, {0: range(1, 9)}, read__ready=())
    assert [cycle for cycle, _ in seen.transfers("request__0")] == [0, 1, 2, 3]


@pytest.mark.rule("index_read_arbiter", 3, 4)
def test_a_turn_that_is_not_used_stands(arbiter):
    """The output queue is full from 3 on, and the turn is SM 0's, chosen in 2; the pointer is at 1.

    SM 1 asks in 5: it is served after SM 0 all the same.
    """
    holds = {"request__1__hold": range(5)}
    requests = {0: [asked(1), asked(2), asked(3)], 1: [asked(9)]}
    seen = play(arbiter, requests, read__ready=range(10, 20), **holds)
    words = (asked(1), asked(2), asked(3), asked(9))
    assert seen.transfers("read") == [(10 + k, word) for k, word in enumerate(words)]


@pytest.mark.rule("index_read_arbiter", 1, 7)
def test_nothing_is_taken_during_a_soft_reset_and_what_is_here_goes_on(arbiter):
    """Active from 2 to 11: the request in 2 is taken, none from 3 to 12.

    The data of the third request come in 7: idle from 8 on.
    """
    seen = play(arbiter, {0: [1, 2, 3, 4]}, soft_reset_active=range(2, 12))
    assert seen.transfers("request__0") == [(0, 1), (1, 2), (2, 3), (13, 4)]
    assert [cycle for cycle, _ in seen.transfers("read")] == [2, 3, 4, 15]
    assert seen.cycles("data_valid") == [5, 6, 7, 18]
    assert seen.cycles("idle") == [*range(8, 13)]


@pytest.mark.parametrize("sm", range(3))
@pytest.mark.rule("index_read_arbiter", 7)
def test_a_request_that_waits_alone_is_not_idle(arbiter, sm):
    """Active from 2 on: the request in 2 is in its SM's queue in 3, and nothing else is here."""
    holds = {f"request__{sm}__hold": range(2)}
    seen = play(arbiter, {sm: [1]}, soft_reset_active=range(2, 12), **holds)
    assert seen.transfers(f"request__{sm}") == [(2, 1)]
    assert seen.cycles("idle") == [*range(8, 13)]


STAYS = "self._pointer = (self._turn + 1) % self._sms"


def test_a_pointer_that_stays_where_nobody_else_waits_is_found(monkeypatch):
    wrong = WrongRule(
        lambda block, *arguments: test_the_pointer_moves_on_from_an_sm_that_asks_alone(
            block(config_of(THREE)), *arguments
        ),
        (
            Rewrite(
                IndexReadArbiter,
                "_turn",
                "m.If(has.any())",
                "m.If((has & (has - 1)).any())",
            ),
            Rewrite(
                Model,
                "_choose",
                STAYS,
                "if any(one for n, one in enumerate(self._requests) if n != self._turn):\n"
                f"    {STAYS}",
            ),
        ),
        (1, (2, 0, 1)),
    )
    demand_found(wrong, (IndexReadArbiter, Model), sys.modules[__name__], monkeypatch)
