"""The cycle model against list scheduling without time: order, placement, exactly once."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tb.support.deep_values import deep_but, thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.oracles import ListScheduler
from warploom_golden.oracles.list_scheduler import NEEDED, Job, Placement
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_spec import STALL_CAUSES, capacities, layouts
from warploom_spec.config import RECLAIMS
from warploom_spec.timing import timing

#: Cycles after which nothing moves by itself: retirement and the queue of freed slots are the
#: slowest, one entry a cycle. Also more than it takes to know what fits beside a launch's blocks
#: (rule 15b of the dispatcher's page): list scheduling without time knows that at once.
REST = 60


class Machine:
    """The cycle model with SMs that do what the test says; it rests between two changes.

    Parameters
    ----------
    config : Config
        The machine.
    """

    def __init__(self, config):
        self.config = config
        self._model = BlockDispatcher(config)
        self._launch = layouts.dispatch_launch(config)
        self._offer = layouts.block_offer(config)
        self._words = layouts.launch_words(config)
        self._report = layouts.block_report(config)
        self._where = {}
        self._inputs = {"launch__valid": 0, "launch__payload": 0, "ended__ready": 1}
        self._inputs |= {"stop": 0, "enable": 0}
        self._inputs |= {"order_table__valid": 0, "order_table__payload": 0}
        for n in range(config.sms):
            self._inputs |= {f"offer__{n}__ready": 1}
            self._inputs |= {f"report__{n}__valid": 0, f"report__{n}__payload": 0}
        self._waiting = []
        self._standing = 0
        self._cycles = 0
        #: What the stall counters show.
        self.stalls = dict.fromkeys(STALL_CAUSES, 0)
        self.placements = []
        self.ended = []

    def launch(self, job):
        """Send a launch as soon as a place is free."""
        fields = dict.fromkeys((f.name for f in self._launch.fields), 0)
        fields |= dict(zip(("gx", "gy", "gz"), job.grid, strict=True))
        fields |= dict(zip(NEEDED, job.need, strict=True))
        fields |= {"ticket": job.ticket, "stream": job.stream, "entries": 1}
        fields |= {"after_previous": int(job.after_previous)}
        self._waiting.append(self._launch.pack(fields))

    def complete(self, ticket, block):
        """Report a block while no SM may get new ones, and come to rest."""
        sm, slot = self._where.pop((ticket, block))
        name = f"report__{sm}"
        word = self._report.pack({"slot": slot, "status": 0})
        self._step(**{f"{name}__valid": 1, f"{name}__payload": word})
        self.rest(enable=0)

    def refuse(self, sms):
        """Let these SMs alone refuse their offers from now on."""
        for n in range(self.config.sms):
            self._inputs[f"offer__{n}__ready"] = int(n not in sms)

    def take(self):
        """Let every SM take its offer, while none may get a new one."""
        self._step(enable=0)
        self.refuse(())
        self.rest(enable=0)

    def counted(self, in_use, cycles=4):
        """Return how often each stall counter counts, at rest and with some SMs in use.

        What counts in a cycle is shown ``timing.stall`` cycles later, and an SM is in use a cycle
        after its bit in ``enable``.
        """
        enable = sum(1 << sm for sm in in_use)
        for _ in range(timing(self.config).stall + 1):
            assert not self._step(enable=enable)
        before = self.stalls
        for _ in range(cycles):
            assert not self._step(enable=enable)
        return {cause: self.stalls[cause] - before[cause] for cause in STALL_CAUSES}

    def rest(self, enable):
        """Run until nothing moves any more.

        SMs are in use every fourth cycle: by then each has taken its last block and is seen as it
        is. List scheduling without time sees that at once.
        """
        quiet = 0
        while quiet < REST:
            self._cycles += 1
            moved = self._step(enable=0 if self._cycles % 4 else enable)
            quiet = 0 if moved else quiet + 1

    def _step(self, **changes):
        inputs = self._inputs | changes
        if self._waiting:
            inputs |= {"launch__valid": 1, "launch__payload": self._waiting[0]}
        outputs = self._model.outputs(inputs)
        moved = False
        if self._waiting and outputs["launch__ready"]:
            self._waiting.pop(0)
            moved = True
        for n in range(self.config.sms):
            if not outputs[f"offer__{n}__valid"]:
                continue
            if not self._standing >> n & 1:
                self._place(n, self._offer.unpack(outputs[f"offer__{n}__payload"]), outputs)
                moved = True
                self._standing |= 1 << n
            if inputs[f"offer__{n}__ready"]:
                self._standing &= ~(1 << n)
        if outputs["ended__valid"]:
            end = layouts.dispatch_end(self.config).unpack(outputs["ended__payload"])
            self.ended.append(end["ticket"])
            moved = True
        self.stalls = {cause: outputs[f"stall_{cause}"] for cause in STALL_CAUSES}
        self._model.tick(inputs)
        return moved

    def _place(self, sm, offer, outputs):
        ticket = self._words.unpack(outputs[f"words__{offer['place']}"])["ticket"]
        block = offer["bx"], offer["by"], offer["bz"]
        assert (ticket, block) not in self._where
        self._where[ticket, block] = sm, offer["slot"]
        self.placements.append(Placement(ticket, block, sm))


def needs(config):
    """Draw what a block takes: all of it fits an SM."""
    sizes = capacities(config) | {"warps": min(config.max_warps, config.warp_slots)}
    parts = [
        st.one_of(st.just(least), st.integers(least, size), st.integers(least, max(1, size // 4)))
        for least, size in ((int(name == "warps"), sizes[name]) for name in NEEDED)
    ]
    return st.tuples(*parts)


def jobs(config):
    """Draw up to five launches of up to 18 blocks."""
    grid = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 1))
    one = st.tuples(st.integers(0, 1), st.booleans(), grid, needs(config))
    return st.lists(one, min_size=1, max_size=5).map(
        lambda drawn: [Job(k + 1, *fields) for k, fields in enumerate(drawn)]
    )


MODES = [f"policy={p},reclaim={r}" for p in PREDICTED_POLICIES for r in RECLAIMS]
SHAPES = ("tiny", "tiny,sms=3,block_slots=5", "tiny,sms=1")


@pytest.mark.parametrize("mode", thorough_but(MODES[::3], MODES))
@pytest.mark.parametrize("shape", deep_but(["tiny,sms=3,block_slots=5"], SHAPES))
@settings(max_examples=8)
@given(data=st.data())
def test_every_block_goes_where_list_scheduling_puts_it(mode, shape, data):
    schedule(config_of(f"{shape},{mode}"), data)


def schedule(config, data):
    """Hold placements, ends and what the stall counters count against list scheduling."""
    machine, scheduler = Machine(config), ListScheduler(config)
    drawn = data.draw(jobs(config))
    for job in drawn:
        machine.launch(job)
        scheduler.launch(job)
    wanted = []
    everything = (1 << config.sms) - 1
    some_sms = st.sets(st.integers(0, config.sms - 1))
    assert timing(config).fit_table + 3 * config.block_slots < REST
    machine.rest(enable=0)
    while len(scheduler.finished) < len(drawn):
        scheduler.refusing = data.draw(st.just(set()) | some_sms)
        machine.refuse(scheduler.refusing)
        machine.rest(enable=everything)
        wanted += scheduler.run()
        assert machine.placements == wanted
        in_use, cycles = data.draw(some_sms), 4
        held_back = scheduler.held_back(in_use)
        counts = {cause: cycles * (cause in held_back) for cause in STALL_CAUSES}
        assert machine.counted(in_use, cycles) == counts
        if scheduler.refusing:
            scheduler.take()
            machine.take()
        count = data.draw(st.integers(1, len(scheduler.outstanding)))
        for _ in range(count):
            ticket, block = data.draw(st.sampled_from(scheduler.outstanding))
            scheduler.complete(ticket, block)
            machine.complete(ticket, block)
    machine.rest(enable=everything)
    assert sorted(machine.ended) == [job.ticket for job in drawn]
    placed = [(placement.ticket, placement.block) for placement in machine.placements]
    assert placed == [(job.ticket, job.block(k)) for job in drawn for k in range(job.blocks)]


# The policies by hand


def of_warps(warps):
    """Return a need of warps alone."""
    return tuple(warps if name == "warps" else 0 for name in NEEDED)


def scheduled(mode, blocks, warps=4):
    """Return a scheduler of two SMs that take four blocks each, with one launch."""
    scheduler = ListScheduler(config_of(f"tiny,{mode}"))
    scheduler.launch(Job(1, 0, True, (blocks, 1, 1), of_warps(warps)))
    return scheduler


def sms(placements):
    return [placement.sm for placement in placements]


def test_first_fit_fills_the_lowest_sm_first():
    assert sms(scheduled("policy=first_fit", 8).run()) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_round_robin_moves_its_pointer_with_placements_alone():
    scheduler = scheduled("policy=round_robin", 10)
    assert sms(scheduler.run()) == [0, 1, 0, 1, 0, 1, 0, 1]
    scheduler.complete(1, (1, 0, 0))
    assert sms(scheduler.run()) == [1]
    scheduler.complete(1, (3, 0, 0))
    assert sms(scheduler.run()) == [1]


def test_least_loaded_takes_the_emptier_sm_and_of_equals_the_lowest():
    scheduler = scheduled("policy=least_loaded", 10)
    assert sms(scheduler.run()) == [0, 1, 0, 1, 0, 1, 0, 1]
    for block in (1, 3, 0):
        scheduler.complete(1, (block, 0, 0))
    assert sms(scheduler.run()) == [1, 0]


def test_freed_first_goes_to_the_slot_that_was_freed_first():
    scheduler = scheduled("policy=freed_first", 12)
    assert sms(scheduler.run()) == [0, 1, 0, 1, 0, 1, 0, 1]
    for block in (5, 1, 0, 2):
        scheduler.complete(1, (block, 0, 0))
    assert sms(scheduler.run()) == [1, 1, 0, 0]


def test_in_order_returns_nothing_before_the_first_block_ends_and_out_of_order_does():
    """Block 0 lasts long: on CN102708009A's GT200 all SMs wait for it, on an H200 they go on."""
    in_order, out_of_order = (
        scheduled(f"policy=first_fit,reclaim={reclaim}", 12) for reclaim in RECLAIMS
    )
    for scheduler in (in_order, out_of_order):
        scheduler.run()
        for block in range(1, 8):
            scheduler.complete(1, (block, 0, 0))
    assert in_order.run() == []
    assert len(out_of_order.run()) == 4
    in_order.complete(1, (0, 0, 0))
    assert len(in_order.run()) == 4


def test_the_next_block_is_never_skipped():
    """A small launch that would fit waits behind a block that does not."""
    scheduler = scheduled("policy=first_fit", 3, warps=12)
    scheduler.launch(Job(2, 1, True, (1, 1, 1), of_warps(1)))
    assert [placement.ticket for placement in scheduler.run()] == [1, 1]


# The stall counters: a model with another rule is found

#: Rules that are wrong at rest, when nothing is placed, as well.
WRONG_STALLS = {
    "SMs out of use": ("for sm in self._sms if sm.in_use]", "for sm in self._sms]"),
    "where every SM lacks something": ("not all(room) and", "not any(room) and"),
    "every resource": ("limiting if limits}", "limiting}"),
    "no slots": ("limiting if limits}", 'limiting if limits and resource != "slots"}'),
    "offers without room": ("if any(room):", "if room:"),
    "no offers": ("if any(room):", "if False:"),
    "no order": ('{"order"} if candidate[1] else set()', "set()"),
}


@pytest.mark.parametrize("wrong", WRONG_STALLS)
def test_another_rule_of_the_stall_counters_is_found(wrong, monkeypatch):
    plant(monkeypatch, [Change(BlockDispatcher, "_causes", *WRONG_STALLS[wrong])])

    @settings(max_examples=200, phases=[Phase.generate], database=None, derandomize=True)
    @given(data=st.data())
    def run(data):
        schedule(config_of("tiny,sms=3,block_slots=5,policy=first_fit"), data)

    with pytest.raises(AssertionError):
        run()
