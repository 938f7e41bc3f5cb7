"""OfferQueue beside its model; each block leaves once, in order, or is dropped."""

import random

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.offer_traffic import KILLED, OK, OfferTraffic
from tb.support.planted import Change, plant
from tb.support.record import Sender, made, record
from tb.support.sm_side_tables import packed
from warploom.sm_side import OfferQueue
from warploom_golden.sm_side import OfferQueue as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_spec import PRESETS, layouts, timing
from warploom_spec.resident_packets import resident_block

TINY = PRESETS["tiny"]
RTL_AND_MODEL = pytest.mark.parametrize("block", [OfferQueue, Model], ids=["rtl", "model"])


def played(block, offers, cycles, *, takes=(), killed=(), kill=2, refused=(), asked=(0, 1, 2)):
    """Run with offers (slot, stream) by cycle; `kill` has its level in the cycles `killed`."""
    packet = resident_block(TINY)

    def inputs(cycle):
        slot, stream = offers.get(cycle, (0, 0))
        return {
            "offer": int(cycle in offers),
            "block": packed(packet, slot=slot, stream=stream, bx=cycle),
            "words": packed(layouts.launch_words(TINY), code=cycle),
            "kill": kill * (cycle in killed),
            **{f"asked__{k}": asked[k] for k in range(3)},
            "take": int(cycle in takes),
            "dropped__ready": int(cycle not in refused),
        }

    return record(made(block, TINY), Sender({}, inputs), cycles)


def shown(seen):
    """Return the slot in front in each cycle, None without one."""
    unpack = resident_block(TINY).unpack
    pairs = zip(seen.port("first_valid"), seen.port("first"), strict=True)
    return [unpack(word)["slot"] if valid else None for valid, word in pairs]


@RTL_AND_MODEL
@pytest.mark.rule("offer_queue", 1, 2)
def test_offers_in_every_cycle_leave_in_their_order(block):
    assert timing(TINY).offer_queue == 2
    seen = played(block, {n: (3 - n, n) for n in range(4)}, 9, takes=[2, 3, 6, 7])
    assert shown(seen) == [None, None, 3, 2, 1, 1, 1, 0, None]


@RTL_AND_MODEL
@pytest.mark.rule("offer_queue", 4)
def test_a_killed_streams_blocks_are_dropped_while_others_wait_in_front(block):
    offers = {0: (0, 0), 1: (1, 1), 2: (2, 0), 3: (3, 1)}
    seen = played(block, offers, 22, killed=range(6, 22), refused=[9], takes=[18])
    dropped = [slot for _, slot in seen.transfers("dropped")]
    assert sorted(dropped) == [1, 3]
    # The hole that slot 1 left takes a cycle.
    assert shown(seen)[6:22] == [0] * 13 + [None, 2, 2]


@RTL_AND_MODEL
@pytest.mark.rule("offer_queue", 3)
def test_a_block_in_a_dropped_ones_slot_stands_at_its_place(block):
    offers = {0: (0, 0), 1: (1, 1), 2: (2, 0), 12: (1, 2)}
    seen = played(block, offers, 20, killed=range(4, 10), takes=[14, 15, 16])
    assert [slot for _, slot in seen.transfers("dropped")] == [1]
    assert shown(seen)[14:18] == [0, 1, 2, None]


@RTL_AND_MODEL
@pytest.mark.rule("offer_queue", 4)
def test_a_block_in_front_is_dropped_rather_than_taken(block):
    """Slot 2 is looked at in 6: it is dropped in that cycle, and is not to be taken."""
    for killed, dropped in ((6, [(6, 2)]), (7, [])):
        seen = played(block, {4: (2, 1)}, 12, killed=range(killed, 12), takes=[6])
        assert seen.transfers("dropped") == dropped
        assert shown(seen)[6] == (None if dropped else 2)
        assert shown(seen)[7:] == [None] * 5


@RTL_AND_MODEL
@pytest.mark.rule("offer_queue", 5)
def test_words_are_kept_by_stream(block):
    seen = played(block, {0: (0, 0), 1: (1, 5), 2: (2, 0)}, 7, asked=(0, 5, 0))
    code = layouts.launch_words(TINY).unpack
    told = [[code(word)["code"] for word in seen.port(f"told__{k}")[3:]] for k in range(3)]
    assert told == [[2] * 4, [1] * 4, [2] * 4]
    assert code(seen.port("told__0")[1])["code"] == code(seen.port("told__2")[2])["code"] == 0


class Traffic(OfferTraffic):
    """A core that takes at random; holds the order of what is not dropped."""

    def __init__(self, config, rng):
        super().__init__(config, rng)
        self._order = []

    def reset(self):
        super().reset()
        self._inputs = {}
        self._running = []
        self._takes = 0.5

    def next(self, outputs=None):
        if outputs is None:
            self.reset()
        else:
            self._see(outputs)
        rng = self._rng
        if self._cycle % 50 == 0:
            self._takes = rng.choice((0.0, 0.3, 1.0))
        self._inputs = super().next()
        self._inputs |= {f"asked__{k}": rng.choice(self._streams) for k in range(3)}
        self._inputs |= {"take": int(rng.random() < self._takes)}
        self._inputs |= {"dropped__ready": int(rng.random() < 0.7)}
        return dict(self._inputs)

    def _see(self, outputs):
        given = self._inputs
        asked = given["asked__1"]
        if self.launches.get(asked) and self.launches[asked].out:
            # The first offer in this cycle is not there yet.
            new = given["offer"] and self.launches[asked].out == 1
            assert new or outputs["told__1"] == self.words_of(asked)
        if outputs["first_valid"] and given["take"]:
            fields = self._block.unpack(outputs["first"])
            assert fields == {**dict.fromkeys(fields, 0), **self.blocks[fields["slot"]]}
            self._running.append(fields["slot"])
            self.counts["taken"] += 1
        if outputs["dropped__valid"] and given["dropped__ready"]:
            slot = outputs["dropped__payload"]
            assert slot not in self._running
            self.reported(self._report.pack({"slot": slot, "status": KILLED}))
            self.counts["dropped"] += 1
        elif self._running and self._rng.random() < 0.4:
            slot = self._running.pop(self._rng.randrange(len(self._running)))
            self.reported(self._report.pack({"slot": slot, "status": OK}))


class Lockstep(Traffic):
    """The same for a lockstep run."""

    def __init__(self, context):
        super().__init__(config_of(context.params["config"]), context.rng)


def make(config):
    return OfferQueue(config_of(config)), Model(config_of(config))


def case(config, seed, cycles=1000):
    return Case(make=make, params={"config": config}, seed=seed, cycles=cycles, stimulus=Lockstep)


def test_no_block_waits_for_ever_and_none_is_lost(seed):
    """On the model: the lockstep runs send the same traffic into the RTL."""
    traffic = Traffic(config_of("tiny"), random.Random(seed))
    record(Model(config_of("tiny")), traffic, 4000)
    assert min(traffic.counts[name] for name in ("taken", "dropped", "in a row")) > 50
    assert traffic.counts["taken"] + traffic.counts["dropped"] > 300


def test_equals_its_model(seed):
    run([case("tiny", seed), case("tiny,block_slots=3,sm_kill=False", seed, 300)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny,block_slots=5", seed)], simulator)


WRONG = {
    "a dropped slot stands twice in the line": Change(
        OfferQueue, "elaborate", "self.offer & ~queued.bit_select(self.block.slot, 1)", "self.offer"
    ),
    "a block that is dropped is taken, too": Change(
        OfferQueue, "elaborate", " & ~(self.dropped.valid & (look == front))", ""
    ),
    "a hole goes as a block comes into it": Change(
        OfferQueue, "elaborate", " & ~offered.bit_select(front, 1)", ""
    ),
    "another stream's kill": Change(
        OfferQueue, "_drop", "self.kill.bit_select(streams.now(look), 1)", "self.kill.any()"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises((LockstepError, AssertionError)):
        run([case("tiny", seed + k) for k in range(2)], "amaranth", waves=False)
