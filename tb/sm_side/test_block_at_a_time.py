"""BlockAtATime beside its model, and its page's cycles on both."""

import functools

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from tb.support.record import Sender, made, record
from tb.support.sm_side_tables import NONE, drawn, named, packed, rows_of
from warploom.sm_side import BlockAtATime
from warploom_golden.sm_side import BlockAtATime as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_spec import PRESETS, BlockStatus, layouts, timing

TINY = PRESETS["tiny"]
START, END = timing(TINY).block_start, timing(TINY).block_end
OK, FAULT, KILLED = BlockStatus
#: Threads of both launches.
THREADS = (20, 33)


def block(slot, place=0, **fields):
    return packed(layouts.block_offer(TINY), slot=slot, place=place, **fields)


def words(threads):
    return packed(layouts.launch_words(TINY), threads=threads)


def played(
    block_of, offers, cycles, *, done=(), fault=(), killed=(), hold=(), threads=lambda _: THREADS
):
    """Run the model; `killed` are cycles in which place 0 is killed."""

    def inputs(cycle):
        one, other = threads(cycle)
        return {
            "words__0": words(one),
            "words__1": words(other),
            "kill": int(cycle in killed),
            "offer__hold": int(cycle in hold),
            "report__ready": 1,
            "done": int(cycle in done),
            "fault": int(cycle in fault),
        }

    return record(made(block_of, TINY), Sender({"offer": offers}, inputs), cycles)


def reports_of(seen):
    """Return cycle, slot and status of each report."""
    unpack = layouts.block_report(TINY).unpack
    found = [(cycle, unpack(word)) for cycle, word in seen.transfers("report")]
    return [(cycle, report["slot"], report["status"]) for cycle, report in found]


@pytest.fixture(params=[BlockAtATime, Model], ids=["rtl", "model"])
def play(request):
    """Return `played` of the RTL and of the model."""
    return functools.partial(played, request.param)


PAGE = """
    offer         A   B   B   B   .   .   C   .   .   .
    offer.ready   1   0   0   1   0   0   1   1   1   1
    start         0   1   1   0   1   1   0   0   0   0
    core_reset    1   0   0   1   0   0   1   1   1   1
    block         .   A   A   .   B   B   .   .   .   .
    done          0   0   1   0   0   0   0   0   0   0
    kill[place]   0   0   0   0   0   1   1   1   1   1
    report        .   .   .   A   .   .   B   C   .   .
"""
SLOTS = {"A": 1, "B": 2, "C": 3}


@pytest.mark.rule("block_at_a_time", 1, 2, 3, 4)
def test_the_page_s_cycles(play):
    table = rows_of(PAGE)
    seen = play(
        [block(slot) for slot in SLOTS.values()],
        10,
        done=[cycle for cycle, level in enumerate(table["done"]) if level == "1"],
        killed=[cycle for cycle, level in enumerate(table["kill[place]"]) if level == "1"],
        hold=[4, 5],
    )
    names = {block(slot): name for name, slot in SLOTS.items()}
    assert named(seen.port("offer__payload"), seen.port("offer__valid"), names) == table["offer"]
    for row, port in {
        "offer.ready": "offer__ready",
        "start": "start",
        "core_reset": "core_reset",
    }.items():
        assert [str(level) for level in seen.port(port)] == table[row], row
    assert named(seen.port("block"), seen.port("start"), names) == table["block"]
    assert reports_of(seen) == [(3, 1, OK), (6, 2, KILLED), (7, 3, KILLED)]
    letters = {cycle: list(SLOTS)[slot - 1] for cycle, slot, _ in reports_of(seen)}
    assert [letters.get(cycle, NONE) for cycle in range(10)] == table["report"]


@pytest.mark.rule("block_at_a_time", 2)
def test_the_block_and_its_threads_stay_until_it_has_ended(play):
    """`thread_count` is that of the block's place in the cycle of the offer's transfer."""
    word = block(3, place=1, bx=7, task=2, index_address=5)
    seen = play([word], 8, done=[5], threads=lambda cycle: (20, 33 if cycle == 0 else 99))
    assert seen.cycles("start") == list(range(1, 6))
    assert seen.port("block")[1:6] == [word] * 5
    assert seen.port("thread_count")[1:6] == [33] * 5


@pytest.mark.parametrize(
    ("fault", "killed", "status"),
    [((), (), OK), ([4], (), FAULT), ((), [4], OK), ([4], [4], FAULT), ([3, 5], (), OK)],
)
@pytest.mark.rule("block_at_a_time", 3)
def test_done_says_how_a_block_ends_and_wins_over_a_kill(play, fault, killed, status):
    seen = play([block(1)], 8, done=[4], fault=fault, killed=killed)
    assert reports_of(seen) == [(4 + END, 1, status)]
    assert seen.cycles("start") == [1, 2, 3, 4]


def test_fault_without_done_ends_nothing(play):
    seen = play([block(1)], 8, fault=range(8))
    assert seen.cycles("start") == list(range(START, 8))
    assert reports_of(seen) == []


def test_done_is_not_read_while_no_block_runs(play):
    """`done` is 1 in the cycle of the offer's transfer and in those of the reset."""
    seen = play([block(1), block(2)], 12, done=[0, 1, 2, 3, 9], fault=[2, 3], hold=[2])
    assert reports_of(seen) == [(1 + END, 1, OK), (9 + END, 2, OK)]
    assert seen.cycles("start") == [1, 4, 5, 6, 7, 8, 9]


def test_done_in_the_cycle_of_the_transfer_does_not_save_a_killed_block(play):
    seen = play([block(1)], 4, done=[0], killed=[0])
    assert reports_of(seen) == [(0 + END, 1, KILLED)]
    assert seen.cycles("start") == []


@pytest.mark.rule("block_at_a_time", 1, 4)
def test_a_killed_place_s_blocks_are_reported_in_every_cycle(play):
    """They never run: the core stays in reset, and the next block is taken at once."""
    seen = play([block(n) for n in range(4)], 8, killed=range(8))
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 1, 2, 3]
    assert reports_of(seen) == [(n + END, n, KILLED) for n in range(4)]
    assert seen.cycles("core_reset") == list(range(8))


def test_the_other_place_s_kill_changes_nothing(play):
    seen = play([block(1, place=1)], 8, killed=range(8), done=[5])
    assert reports_of(seen) == [(5 + END, 1, OK)]


@pytest.mark.rule("block_at_a_time", 1, 3)
def test_the_core_runs_a_block_every_second_cycle_at_most(play):
    """A block that transfers in the cycle of the report before runs in the next cycle."""
    seen = play([block(n) for n in range(3)], 8, done=range(8))
    assert seen.cycles("start") == [1, 3, 5]
    assert reports_of(seen) == [(2, 0, OK), (4, 1, OK), (6, 2, OK)]


class Core:
    """Offers, kills and ends at random; holds that each block that is taken is reported once."""

    def __init__(self, rng, config=TINY):
        self._rng, self._packet = rng, layouts.block_offer(config)
        self._launch = layouts.launch_words(config)
        self._inputs = {}
        self._taken = self._offer = None
        self._wanted = 0
        self.reports = 0

    def next(self, outputs):
        rng = self._rng
        if outputs is None:
            self._taken = self._offer = None
        else:
            self._see(outputs)
        if self._offer is None and rng.randrange(2):
            self._offer = packed(self._packet, **drawn(self._packet, rng))
        given = [drawn(self._launch, rng) for _ in range(2)]
        self._threads = [fields["threads"] for fields in given]
        self._inputs = {
            "words__0": packed(self._launch, **given[0]),
            "words__1": packed(self._launch, **given[1]),
            "kill": rng.choice((0, 0, 0, 1, 2, 3)),
            "offer__valid": int(self._offer is not None),
            "offer__payload": self._offer or 0,
            "report__ready": 1,
            "done": int(rng.random() < 0.2),
            "fault": rng.randrange(2),
        }
        return dict(self._inputs)

    def _see(self, outputs):
        assert outputs["core_reset"] == 1 - outputs["start"]
        if outputs["report__valid"]:
            report = layouts.block_report(TINY).unpack(outputs["report__payload"])
            assert report["slot"] == self._taken["slot"]
            assert not outputs["start"]
            self._taken = None
            self.reports += 1
        if outputs["start"]:
            assert outputs["thread_count"] == self._wanted
        if self._inputs["offer__valid"] and outputs["offer__ready"]:
            assert self._taken is None
            self._taken = self._packet.unpack(self._inputs["offer__payload"])
            self._wanted = self._threads[self._taken["place"]]
            self._offer = None
        elif not outputs["start"]:
            assert self._taken is None, "a block that was taken does not run and is not reported"


class Traffic(Core):
    """The same for a lockstep run."""

    def __init__(self, context):
        super().__init__(context.rng, config_of(context.params["config"]))


def make(config):
    return BlockAtATime(config_of(config)), Model(config_of(config))


def case(config, seed, cycles=600):
    return Case(make=make, params={"config": config}, seed=seed, cycles=cycles, stimulus=Traffic)


def test_equals_its_model(seed):
    run([case("tiny", seed), case("tiny,index_memory_warps=0", seed)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny", seed)], simulator)


WRONG = {
    "a kill wins over done": Change(
        BlockAtATime, "elaborate", "Mux(self.done, status, ", "Mux(self.done & ~killed, status, "
    ),
    "a killed offer is not reported": Change(
        BlockAtATime, "elaborate", "report.valid.eq(killed)", "report.valid.eq(0)"
    ),
    "a killed offer runs": Change(
        BlockAtATime, "elaborate", "self.start.eq(~killed)", "self.start.eq(1)"
    ),
    "the other place's threads": Change(
        BlockAtATime,
        "elaborate",
        "Mux(offer.place, self.words[1]",
        "Mux(~offer.place, self.words[1]",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises((LockstepError, AssertionError)):
        run([case("tiny", seed)], "amaranth", waves=False)
