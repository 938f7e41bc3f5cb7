"""IndexReadArbiter beside its model, and its page's cycles on both."""

import sys
from collections import deque

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from tb.support.record import Sender, record
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.sm_side import IndexReadArbiter
from warploom_dev.rewrite import Rewrite
from warploom_golden.sm_side import IndexReadArbiter as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, Pace, run
from warploom_spec import layouts

THREE = "tiny,sms=3"


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


class Reads:
    """SMs that ask at their own paces, and an index memory that makes some requests wait.

    The memory's data are there a cycle after a request transferred, as its page says.
    """

    def __init__(self, context):
        sms = config_of(context.params["config"]).sms
        self._ends = [context.driver(f"request__{n}") for n in range(sms)]
        self._ends.append(context.sink("read"))
        self._read = self._ends[-1]
        self._closing = Pace(context.case.rng("closing"), (0.0, 0.0, 0.5, 1.0))

    def next(self, outputs):
        inputs = {"closing": int(self._closing())}
        for end in self._ends:
            inputs |= end.next(outputs)
        return inputs | {"answered": int(self._read.taken is not None)}


class Order:
    """Holds that each SM gets its data in the order of its requests, and counts hard cases."""

    def __init__(self):
        self.counts_of = dict.fromkeys(
            (
                "three SMs have requests at once",
                "a warp a cycle for four cycles",
                "a request stands at read for three cycles",
                "closing while requests are here",
                "idle after closing",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._asked = {}
        self._sent = deque()
        self._streak = self._stands = self._closed = 0

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        sms = range(sum(name.endswith("__ready") for name in outputs))
        here = sum(bool(asked) for asked in self._asked.values())
        if outputs["data_valid"]:
            (sm,) = (n for n in sms if outputs["data_valid"] == 1 << n)
            assert by_row(self._asked[sm].popleft()) == self._sent.popleft()
        self._streak = self._streak + 1 if outputs["data_valid"] else 0
        moves = outputs["read__valid"] and inputs["read__ready"]
        self._stands = self._stands + 1 if outputs["read__valid"] and not moves else 0
        self._closed = self._closed + 1 if inputs["closing"] else 0
        happened = {
            "three SMs have requests at once": here == 3,
            "a warp a cycle for four cycles": self._streak == 4,
            "a request stands at read for three cycles": self._stands == 3,
            "closing while requests are here": inputs["closing"] and not outputs["idle"],
            "idle after closing": self._closed > 3 and outputs["idle"],
        }
        for name, it_did in happened.items():
            self.counts_of[name] += bool(it_did)
        assert outputs["idle"] == (not here), "idle while a request is here, or not without one"
        if moves:
            self._sent.append(outputs["read__payload"])
        for sm in sms:
            if inputs[f"request__{sm}__valid"] and outputs[f"request__{sm}__ready"]:
                assert not inputs["closing"]
                asked = self._asked.setdefault(sm, deque())
                asked.append(inputs[f"request__{sm}__payload"])


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


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny,sms=5", seed + k, 1500) for k in range(2)], simulator)


WRONG = {
    "the pointer stays": Change(
        IndexReadArbiter, "_turn", "onward.eq(Cat(C(0, 1), any_up_to(turn)[:-1]))", "onward.eq(0)"
    ),
    "requests are taken while closing": Change(
        IndexReadArbiter,
        "elaborate",
        "self.request[n].ready.eq(queue.i.ready & ~self.closing)",
        "self.request[n].ready.eq(queue.i.ready)",
    ),
    "idle while data are on their way": Change(
        IndexReadArbiter,
        "_answer",
        "~has.any() & ~chosen.valid & ~sent",
        "~has.any() & ~chosen.valid",
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


def play(arbiter, requests, cycles=14, **levels):
    """Send each SM's requests; the memory's data come a cycle after each transfer at `read`."""
    taken = []

    class Memory(Sender):
        def next(self, outputs):
            moved = outputs and outputs["read__valid"] and self.inputs["read__ready"]
            taken.append(moved)
            return super().next(outputs)

    def inputs(cycle):
        still = {"read__ready": 1, "closing": 0}
        still |= {name: int(cycle in cycles_of) for name, cycles_of in levels.items()}
        return still | {"answered": int(bool(taken[-1]))}

    streams = {f"request__{n}": list(requests.get(n, ())) for n in range(3)}
    return record(arbiter, Memory(streams, inputs), cycles)


@pytest.mark.rule("index_read_arbiter", 1, 2, 4, 5)
def test_a_request_has_its_data_three_cycles_later(arbiter):
    seen = play(arbiter, {1: [asked(7)]})
    assert seen.transfers("request__1") == [(0, asked(7))]
    assert seen.transfers("read") == [(2, asked(7))]
    assert seen.port("data_valid")[:5] == [0, 0, 0, 2, 0]
    assert seen.port("idle")[:6] == [1, 0, 0, 0, 1, 1]


@pytest.mark.rule("index_read_arbiter", 2, 3)
def test_one_sm_gets_a_warp_a_cycle(arbiter):
    seen = play(arbiter, {2: [asked(1 + k) for k in range(6)]})
    assert seen.transfers("read") == [(2 + k, asked(1 + k)) for k in range(6)]


@pytest.mark.rule("index_read_arbiter", 3)
def test_a_request_goes_on_by_its_row(arbiter):
    """THREE has 64 rows: 60 + 7 wraps to 3. A warp at or beyond `index_warps` has no indices."""
    requests = [asked(5, 3, 8), asked(60, 7, 8), asked(5, 8, 8), asked(5, 9, 8), asked(5, 0, 0)]
    seen = play(arbiter, {0: requests})
    rows = [asked(8), asked(3), asked(13, index_warps=0), asked(14, index_warps=0)]
    assert [word for _, word in seen.transfers("read")] == [*rows, asked(5, index_warps=0)]


@pytest.mark.rule("index_read_arbiter", 2, 4)
def test_sms_take_turns_from_the_pointer_on(arbiter):
    """0, 1 and 2 ask at once, twice each; then 1 alone: the pointer stands at the SM after it."""
    requests = {n: [asked(10 * (n + 1)), asked(10 * (n + 1) + 1)] for n in range(3)}
    seen = play(arbiter, requests)
    order = [asked(address) for address in (10, 20, 30, 11, 21, 31)]
    assert [word for _, word in seen.transfers("read")] == order
    assert seen.port("data_valid")[3:9] == [1, 2, 4, 1, 2, 4]


@pytest.mark.rule("index_read_arbiter", 2)
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


@pytest.mark.rule("index_read_arbiter", 1, 2, 3)
def test_two_of_an_sm_wait_and_the_third_is_refused(arbiter):
    """The memory takes nothing: two stand in the output queue, two in the SM's."""
    seen = play(arbiter, {0: range(1, 9)}, read__ready=())
    assert [cycle for cycle, _ in seen.transfers("request__0")] == [0, 1, 2, 3]


@pytest.mark.rule("index_read_arbiter", 1, 5)
def test_nothing_is_taken_while_closing_and_what_is_here_goes_on(arbiter):
    seen = play(arbiter, {0: [1, 2, 3]}, closing=range(2, 8))
    assert seen.transfers("request__0") == [(0, 1), (1, 2), (8, 3)]
    assert [cycle for cycle, _ in seen.transfers("read")] == [2, 3, 10]
    assert seen.cycles("idle") == [0, 5, 6, 7, 8, 12, 13]


STAYS = "self._pointer = (chosen + 1) % self._sms"


def test_a_pointer_that_stays_where_nobody_else_waits_is_found(monkeypatch):
    wrong = WrongRule(
        lambda block, *arguments: test_the_pointer_moves_on_from_an_sm_that_asks_alone(
            block(config_of(THREE)), *arguments
        ),
        (
            Rewrite(
                *(IndexReadArbiter, "_turn", "has.any() & entry.ready"),
                "has.any() & entry.ready & (has & (has - 1)).any()",
            ),
            Rewrite(
                *(Model, "tick", STAYS),
                f"if any(one for n, one in enumerate(self._requests) if n != chosen):\n    {STAYS}",
            ),
        ),
        (1, (2, 0, 1)),
    )
    demand_found(wrong, (IndexReadArbiter, Model), sys.modules[__name__], monkeypatch)
