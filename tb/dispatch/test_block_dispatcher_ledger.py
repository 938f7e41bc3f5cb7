"""Random traffic against BlockDispatcher's model, with the ledger; and the ledger itself."""

from collections import Counter
from dataclasses import replace

import pytest

from tb.support.block_dispatcher_ledger import DispatcherLedger
from tb.support.block_dispatcher_traffic import DispatcherTraffic, Mood
from tb.support.dispatch_configs import POLICIES_AND_RECLAIMS, config_of
from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.dispatch.amounts import Amounts
from warploom_golden.dispatch.books import Books
from warploom_golden.dispatch.grid_walker import Walk
from warploom_golden.dispatch.room import Room
from warploom_golden.dispatch.streams import Streams

#: Cycles with new work, and most cycles in which all of it comes to its end: four launches of
#: twenty blocks, one by one on the last SM that is left, after a late report.
WORK, REST = 1200, 6000
MOODS = {
    "usual": Mood(restart=0.004),
    "crowded": Mood(start=0.5, stop=0.002, hold=0.005, restart=0, longest=15, large=0.2),
    "mute": Mood(stop=0.02, mute=0.2, restart=0.004, large=0.2),
}
#: Most rounds of all moods, in which all of `HAPPENS` must have happened.
ROUNDS = 12
HAPPENS = (
    *("offers", "restarts", "lost SMs", "FINISHED", "KILLED", "FAILED"),
    *("report OK", "report FAULT", "report KILLED"),
)


def run(config, mood, seed, work=WORK):
    """Run the model under the ledger; return what happened how often."""
    model, ledger = BlockDispatcher(config), DispatcherLedger(config)
    traffic, outputs = DispatcherTraffic(config, mood, seed, work), None
    for cycle in range(work + REST):
        if cycle >= work and ledger.empty:
            return Counter(ledger.seen)
        inputs = traffic.next(outputs)
        outputs = model.outputs(inputs)
        ledger.see(inputs, outputs)
        model.tick(inputs)
    raise AssertionError("launches never ended")


@pytest.mark.parametrize("combination", POLICIES_AND_RECLAIMS)
def test_each_block_is_placed_once_in_order_and_no_sm_has_more_than_its_size(combination, seed):
    config = config_of(f"tiny,sms=4,stream_bits=2,kill_timeout=16,{combination}")
    seen = Counter()
    for n in range(ROUNDS):
        for mood in MOODS.values():
            seen += run(config, mood, seed + n)
        if all(seen[what] for what in HAPPENS):
            break
    for what in HAPPENS:
        assert seen[what], f"{what} never happened"


@pytest.mark.parametrize(
    "text",
    [
        "tiny,sms=1,block_slots=2,stream_bits=1,kill_timeout=12",
        "tiny,sms=3,block_slots=5,stream_bits=3,kill_timeout=18,policy=least_loaded",
        "tiny,sms=5,block_slots=1,stream_bits=2,kill_timeout=10,policy=freed_first",
        "tiny,sms=16,stream_bits=4",
        "tiny,stream_bits=2,sm_kill=False",
    ],
)
def test_machines_of_odd_shapes_keep_account_too(text, seed):
    seen = run(config_of(text), MOODS["usual"], seed, 1000)
    assert seen["offers"] and seen["FINISHED"]


@pytest.mark.parametrize("combination", POLICIES_AND_RECLAIMS)
def test_cycles_with_nothing_to_do_are_left_out_unnoticed(monkeypatch, combination, seed):
    config = config_of(f"tiny,stream_bits=2,kill_timeout=16,{combination}")
    mood = Mood(start=0.01, stop=0.005, hold=0.01, swap=0.005, large=0.2)
    one, other = BlockDispatcher(config), BlockDispatcher(config)
    monkeypatch.setattr(other, "_is_settled", lambda: False)
    stepped, step = [], one._step
    monkeypatch.setattr(one, "_step", lambda inputs: stepped.append(inputs) or step(inputs))
    traffic, outputs = DispatcherTraffic(config, mood, seed, 1000), None
    for cycle in range(1000):
        inputs = traffic.next(outputs)
        outputs = one.outputs(inputs)
        assert outputs == other.outputs(inputs), f"cycle {cycle}"
        one.tick(inputs)
        other.tick(inputs)
    assert len(stepped) < 1000


def _plant(monkeypatch, owner, name, broken):
    """Let a method do something wrong."""
    right = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda self, *a, **k: broken(right, self, *a, **k))


def _only_slots_count(right, self, free, needs):
    # The slots' amount stands lowest.
    return right(self, free, needs & 1)


def _given_twice(right, self, block):
    right(self, block)
    # All but the slot.
    self.given[block.sm] += block.launch.needs - 1


def _picked_stays(right, self, *arguments, **options):
    before = self.room
    right(self, *arguments, **options)
    self.room |= before & self.used


def _axes_swapped(right, self):
    following = right(self)
    if following is None or following.block[1] == self.block[1]:
        return following
    return Walk(self.grid, self.block[:1] + following.block[1:], following.number)


def _stays_busy(right, self, changes, hold):
    busy = self.busy
    right(self, changes, hold)
    self.busy |= busy & 1


def _stops_late(right, self, changes, hold):
    opened = self.open
    right(self, changes, hold)
    if changes.picked is None or not changes.picked.last:
        self.open |= opened & ~self.all_placed & self.resident


@pytest.mark.parametrize(
    ("owner", "name", "broken", "notice"),
    [
        (Amounts, "fits", _only_slots_count, "SM . has"),
        (Books, "give", _given_twice, "SM . has"),
        (Room, "tick", _picked_stays, "SM . has"),
        (Walk, "following", _axes_swapped, "out of order"),
        (Streams, "tick", _stays_busy, "never ended"),
        (Streams, "tick", _stops_late, "after a stop|never ended"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_ledger_notices(monkeypatch, owner, name, broken, notice):
    config = config_of("tiny,stream_bits=2,kill_timeout=16,policy=first_fit")
    _plant(monkeypatch, owner, name, broken)
    with pytest.raises(AssertionError, match=notice):
        # Without restarts: these would forgive what was wrong.
        run(config, replace(MOODS["usual"], restart=0), seed=3)
