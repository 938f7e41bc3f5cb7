"""BlockAtATime beside its model, and its page's cycles on both."""

import functools

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.offer_traffic import FAULT, KILLED, OK, OfferTraffic
from tb.support.planted import Change, plant
from tb.support.record import Sender, made, record
from tb.support.sm_side_tables import NONE, named, packed, rows_of
from warploom.sm_side import BlockAtATime
from warploom_golden.sm_side import BlockAtATime as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_spec import PRESETS, layouts, timing
from warploom_spec.resident_packets import resident_block

TINY = PRESETS["tiny"]
START, END = timing(TINY).block_start, timing(TINY).block_end


def block(slot, stream=0, **fields):
    return packed(resident_block(TINY), slot=slot, stream=stream, **fields)


def words(threads):
    return packed(layouts.launch_words(TINY), threads=threads)


def played(
    block_of, offers, cycles, *, done=(), fault=(), killed=(), kill=1, refused=(), threads=20
):
    """Run the model with blocks by cycle; `kill` has its level in the cycles `killed`."""

    def inputs(cycle):
        return {
            "offer": int(cycle in offers),
            "block": offers.get(cycle, 0),
            "words": words(threads + cycle),
            "kill": kill * (cycle in killed),
            "report__ready": int(cycle not in refused),
            "done": int(cycle in done),
            "fault": int(cycle in fault),
        }

    return record(made(block_of, TINY), Sender({}, inputs), cycles)


def reports_of(seen):
    """Return cycle, slot and status of each report that is taken."""
    unpack = layouts.block_report(TINY).unpack
    found = [(cycle, unpack(word)) for cycle, word in seen.transfers("report")]
    return [(cycle, report["slot"], report["status"]) for cycle, report in found]


@pytest.fixture(params=[BlockAtATime, Model], ids=["rtl", "model"])
def play(request):
    """Return `played` of the RTL and of the model."""
    return functools.partial(played, request.param)


PAGE = """
    offer         A   B   C   .   .   .   .   .   .   .   .   .   .   .   .
    kill[1]       0   0   0   0   1   1   1   1   1   1   1   1   1   1   1
    start         0   0   0   1   1   1   1   1   1   0   1   1   1   1   0
    core_reset    1   1   1   0   0   0   0   0   0   1   0   0   0   0   1
    running       .   .   .   A   A   A   A   A   A   .   C   C   C   C   .
    done          0   0   0   0   0   0   0   0   1   0   0   0   0   1   0
    report        .   .   .   .   .   .   .   B   .   A   .   .   .   .   C
"""
SLOTS = {"A": 1, "B": 2, "C": 3}
STREAMS = {"A": 0, "B": 1, "C": 0}


@pytest.mark.rule("block_at_a_time", 1, 2, 3, 4)
def test_the_page_s_cycles(play):
    table = rows_of(PAGE)
    given = {name: block(SLOTS[name], STREAMS[name]) for name in SLOTS}
    ones = {row: [c for c, cell in enumerate(cells) if cell == "1"] for row, cells in table.items()}
    offers = {c: given[cell] for c, cell in enumerate(table["offer"]) if cell != NONE}
    seen = play(offers, len(table["offer"]), done=ones["done"], killed=ones["kill[1]"], kill=2)
    names = {word: name for name, word in given.items()}
    for row in ("start", "core_reset"):
        assert [str(level) for level in seen.port(row)] == table[row], row
    assert named(seen.port("running"), seen.port("start"), names) == table["running"]
    letters = {cycle: list(SLOTS)[slot - 1] for cycle, slot, _ in reports_of(seen)}
    assert [letters.get(cycle, NONE) for cycle in range(len(table["report"]))] == table["report"]


@pytest.mark.rule("block_at_a_time", 2)
def test_the_block_and_its_words_stay_until_it_has_ended(play):
    """The words are those of its offer's cycle, whatever the bus says later."""
    word = block(3, stream=5, bx=7, index_address=5)
    seen = play({1: word}, 12, done=[8])
    assert seen.cycles("start") == list(range(1 + START, 9))
    assert seen.port("running")[1 + START : 9] == [word] * (8 - START)
    assert seen.port("running_words")[1 + START : 9] == [words(21)] * (8 - START)


@pytest.mark.parametrize(
    ("fault", "killed", "status"),
    [((), (), OK), ([6], (), FAULT), ((), [6], OK), ([6], [6], FAULT), ([5, 7], (), OK)],
)
@pytest.mark.rule("block_at_a_time", 3)
def test_done_says_how_a_block_ends_and_wins_over_a_kill(play, fault, killed, status):
    seen = play({0: block(1)}, 12, done=[6], fault=fault, killed=killed)
    assert reports_of(seen) == [(6 + END, 1, status)]
    assert seen.cycles("start") == [3, 4, 5, 6]


def test_fault_without_done_ends_nothing(play):
    seen = play({0: block(1)}, 8, fault=range(8))
    assert seen.cycles("start") == list(range(START, 8))
    assert reports_of(seen) == []


def test_done_is_not_read_while_no_block_runs(play):
    seen = play({0: block(1)}, 12, done=[0, 1, 2, 8], fault=[2])
    assert reports_of(seen) == [(8 + END, 1, OK)]


@pytest.mark.rule("block_at_a_time", 3)
def test_a_kill_ends_the_block_that_runs_in_the_next_cycle(play):
    seen = play({0: block(1, 5)}, 12, killed=range(7, 12), kill=1 << 5)
    assert seen.cycles("start") == [3, 4, 5, 6, 7]
    assert reports_of(seen) == [(7 + END, 1, KILLED)]


@pytest.mark.rule("block_at_a_time", 1)
def test_a_killed_stream_s_blocks_never_run_and_are_reported_behind_a_block_that_goes_on(play):
    offers = {0: block(0, 1), 1: block(1, 2), 2: block(2, 2), 12: block(3, 2)}
    seen = play(offers, 30, killed=range(5, 30), kill=1 << 2)
    assert seen.cycles("start") == list(range(3, 30))
    assert sorted((slot, status) for _, slot, status in reports_of(seen)) == [
        (slot, KILLED) for slot in (1, 2, 3)
    ]


@pytest.mark.rule("block_at_a_time", 4)
def test_reports_wait_while_the_dispatcher_takes_none(play):
    """Blocks go on meanwhile; each is reported once, in the order of their ends."""
    offers = {n: block(n) for n in range(4)}
    seen = play(offers, 24, done=range(24), refused=range(16))
    assert seen.cycles("start") == [3, 5, 7, 9]
    assert reports_of(seen) == [(16 + n, n, OK) for n in range(4)]


@pytest.mark.rule("block_at_a_time", 1, 3)
def test_the_core_runs_a_block_every_second_cycle_at_most(play):
    """Offers come in every cycle, up to the number of slots."""
    seen = play({n: block(n) for n in range(4)}, 14, done=range(14))
    assert seen.cycles("start") == [3, 5, 7, 9]
    assert reports_of(seen) == [(4 + 2 * n, n, OK) for n in range(4)]


class Core(OfferTraffic):
    """A core that ends at random; holds that each block runs once, or is killed, and is reported.

    A block that runs has its launch's words.
    """

    def reset(self):
        super().reset()
        self._inputs = {}
        #: The slot of the block that ran in the last cycle; how blocks have ended, by slot.
        self._ran = None
        self._ended = {}

    def next(self, outputs):
        rng = self._rng
        if outputs is None:
            self.reset()
        else:
            self._see(outputs)
        port = super().next()
        self._inputs = port | {
            "report__ready": int(rng.random() < 0.5),
            "done": int(rng.random() < (0.5 if port["kill"] else 0.2)),
            "fault": rng.randrange(2),
        }
        return dict(self._inputs)

    def _see(self, outputs):
        given = self._inputs
        assert outputs["core_reset"] == 1 - outputs["start"]
        ran = self._ran
        self._ran = None
        if outputs["start"]:
            fields = self._block.unpack(outputs["running"])
            slot = self._ran = fields["slot"]
            assert fields == {**dict.fromkeys(fields, 0), **self.blocks[slot]}
            assert outputs["running_words"] == self.words_of(fields["stream"])
            assert ran in (None, slot), "another block without a reset between"
            killed = given["kill"] >> fields["stream"] & 1
            if given["done"] or killed:
                assert slot not in self._ended, "a block runs twice"
                self._ended[slot] = (FAULT if given["fault"] else OK) if given["done"] else KILLED
        else:
            assert ran is None or ran in self._ended or ran not in self.blocks
        if outputs["report__valid"] and given["report__ready"]:
            slot, status = self.reported(outputs["report__payload"])
            assert status == self._ended.pop(slot, KILLED)
            self.counts["dropped"] += slot != ran


class Traffic(Core):
    """The same for a lockstep run."""

    def __init__(self, context):
        super().__init__(config_of(context.params["config"]), context.rng)


def make(config):
    return BlockAtATime(config_of(config)), Model(config_of(config))


def case(config, seed, cycles=1000):
    return Case(make=make, params={"config": config}, seed=seed, cycles=cycles, stimulus=Traffic)


def test_equals_its_model(seed):
    run([case("tiny", seed), case("tiny,index_memory_warps=0,block_slots=1", seed)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny", seed)], simulator)


WRONG = {
    "a kill wins over done": Change(
        BlockAtATime,
        "elaborate",
        "Mux(self.done, status, BlockStatus.KILLED)",
        "Mux(self.kill.bit_select(running.stream, 1), BlockStatus.KILLED, status)",
    ),
    "a killed offer runs": Change(
        BlockAtATime,
        "elaborate",
        "~self.start & ~self.kill.bit_select(queue.first.stream, 1)",
        "~self.start",
    ),
    "no kill reaches the core": Change(
        BlockAtATime,
        "elaborate",
        "self.done | self.kill.bit_select(running.stream, 1)",
        "self.done",
    ),
    "another stream's words": Change(
        BlockAtATime, "elaborate", "asked[0].eq(self.running.stream)", "asked[0].eq(0)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises((LockstepError, AssertionError)):
        run([case("tiny", seed, 2000)], "amaranth", waves=False)
