"""IncrementalScheduler: warp w, instruction k, core j, one warp behind the generator."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.deep_values import deep_but, thorough_but
from tb.support.index_cases import CONFIGS, built, config_of, index_config
from tb.support.planted import plant
from tb.support.record import Recording, Sender, record
from tb.support.seeded_faults import INCREMENTAL_SCHEDULER
from warploom.sm_side import IncrementalScheduler
from warploom_golden.index import IndexGenerator
from warploom_golden.index.lanes import join
from warploom_golden.oracles.index_reference import packed_warps
from warploom_golden.sm_side import IncrementalScheduler as Model
from warploom_sim.cosim.lockstep import Case, LockstepError, RandomStimulus, run
from warploom_spec import layouts

TINY = CONFIGS["tiny"]
#: The index patent's example: as many warps, instructions and cores.
FOUR = 4


def make(config, **params):
    return built(IncrementalScheduler, Model, config, **params)


def request(config, warps, instructions, address=0):
    return layouts.schedule_request(config).pack(
        {"address": address, "warps": warps, "instructions": instructions}
    )


def programs(context):
    """Yield small programs: fewer and more warps than cores, one pass and several, empty ones.

    Now and then a larger one.
    """
    config, rng = config_of(context), context.rng
    most = min(config.max_warps, 2 * config.cores + 2)
    while True:
        warps = rng.choice((0, 1, 2, config.cores, config.cores + 1, rng.randint(1, most)))
        instructions = rng.choice((0, 1, config.cores, config.cores + 1, rng.randint(1, 20)))
        if rng.random() < 0.05:
            warps = rng.randint(1, config.max_warps)
        elif rng.random() < 0.05:
            instructions = rng.randint(1, 300)
        yield request(
            config,
            min(warps, config.max_warps),
            instructions,
            rng.randrange(config.index_memory_warps),
        )


class Memory(RandomStimulus):
    """Random, with data one cycle after each granted read."""

    def next(self, outputs):
        read = outputs is not None and outputs["read__valid"] and self._inputs["read__ready"]
        self._inputs = super().next(outputs)
        self._inputs["data__valid"] = int(bool(read))
        return self._inputs


def longest_program(context):
    """Yield a program of as many instructions as there can be, then others."""
    config = config_of(context)
    yield request(config, 2, (1 << 16) - 1)
    yield from programs(context)


class NeverWaits(Memory):
    """No stall, and each read is granted at once."""

    def next(self, outputs):
        inputs = super().next(outputs)
        inputs |= {"stall": 0, "read__ready": 1}
        return inputs


def finished(inputs, outputs):
    return outputs["finished"] == 1


def case(config, seed, **params):
    return Case(
        make=make,
        params={"config": config, **params},
        seed=seed,
        cycles=3000,
        stimulus=Memory,
        sources={"i": programs},
        events={"finished": finished},
        withdrawable={"read": "a stall takes a refused read back while it lasts"},
    )


def longest_case(config, seed):
    return replace(
        case(config, seed),
        cycles=66_000,
        resets=0,
        stimulus=NeverWaits,
        sources={"i": longest_program},
    )


@pytest.mark.parametrize(
    "config",
    thorough_but(["tiny"], ["tiny", "default", "three_entries", "warp_16", "warp_64"]),
)
def test_equals_its_model(config, seed):
    """With 4, 4, 3, 1 and 16 cores."""
    results = run([case(config, seed + k) for k in range(3)], "amaranth")
    assert sum(result.counts["finished"] for result in results) > 20


@pytest.mark.parametrize("more", deep_but([0], range(3)))
@pytest.mark.parametrize(
    ("simulator", "config"),
    deep_but(
        [],
        [("icarus", "three_entries"), ("verilator", "default")],
        thorough=[("icarus", "three_entries")],
    ),
)
def test_equals_its_model_on_other_simulators(simulator, config, more, seed):
    run([case(config, seed + more)], simulator)


@pytest.mark.coverage
@pytest.mark.deep
def test_the_longest_program_equals_its_model(seed):
    run([longest_case("three_entries", seed)], "verilator")[0].require("finished")


@pytest.mark.parametrize("fault", INCREMENTAL_SCHEDULER)
def test_lockstep_finds_a_fault(fault, seed, monkeypatch):
    plant(monkeypatch, [INCREMENTAL_SCHEDULER[fault]])
    with pytest.raises(LockstepError):
        run([case("tiny", seed + k) for k in range(24)], "amaranth")


# Cycles, of RTL and model alike


@pytest.fixture(params=[IncrementalScheduler, Model], ids=["rtl", "model"])
def block(request):
    return request.param


class Reader(Sender):
    """Sends programs, grants the reads in their order, and answers each one cycle later.

    Parameters
    ----------
    requests : sequence of int
        Programs.
    stalled : collection of int
        Cycles with ``stall``.
    written : sequence of int
        The cycle from which each read may be granted; at once where none is given.
    """

    def __init__(self, requests, stalled, written):
        super().__init__({"i": requests}, lambda cycle: {"stall": int(cycle in stalled)})
        self._written = dict(enumerate(written))
        self._granted = 0

    def next(self, outputs):
        answered = outputs is not None and outputs["read__valid"] and self.inputs["read__ready"]
        self._granted += bool(answered)
        now, values = self.cycle, super().next(outputs)
        values |= {
            "read__ready": int(now >= self._written.get(self._granted, 0)),
            "data__valid": int(bool(answered)),
            "data__payload": self._granted,
        }
        return values


def play(scheduler, requests, stalled=(), written=(), cycles=60):
    """Run programs; one that is sent in cycle 0 is there from cycle 1 on."""
    return record(scheduler, Reader(requests, stalled, written), cycles)


def issued(recording, config=TINY):
    """Return {(warp, instruction): (cycle, core)} of the first program, and check uniqueness."""
    packet = layouts.warp_issue(config)
    found = {}
    for core in range(config.cores):
        for cycle, word in enumerate(recording.port(f"issue__{core}")):
            if word & 1:
                fields = packet.unpack(word)
                key = fields["warp"], fields["instruction"]
                found.setdefault(key, []).append((cycle, core))
    return found


def formula(warps, instructions, cores, start):
    """Warp w, instruction k = p C + j on core j in 1 + p max(w_count, C) + w + j."""
    return {
        (w, k): [(start + 1 + k // cores * max(warps, cores) + w + k % cores, k % cores)]
        for w in range(warps)
        for k in range(instructions)
    }


@pytest.mark.rule("incremental_scheduler", 2, 3, 4, 6, 7)
@pytest.mark.parametrize("warps", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("instructions", [1, 4, 5, 11])
def test_every_instruction_runs_in_the_cycle_of_the_formula(block, warps, instructions):
    """Sent in cycle 0, held from 1 on: cycle 0 of the formula is 1."""
    seen = play(block(TINY), [request(TINY, warps, instructions)])
    assert issued(seen) == formula(warps, instructions, TINY.cores, start=1)
    last = max(cycle for ((cycle, _),) in formula(warps, instructions, TINY.cores, 1).values())
    assert seen.cycles("finished") == [last]


@pytest.mark.rule("incremental_scheduler", 3)
def test_the_only_added_delay_is_one_cycle(block):
    """The generator makes warp t in cycle t; core 0 runs it in t + 1."""
    seen = play(block(TINY), [request(TINY, FOUR, FOUR)], written=[5, 6, 7, 8])
    assert issued(seen) == formula(FOUR, FOUR, TINY.cores, start=5)


@pytest.mark.rule("incremental_scheduler", 3, 7)
def test_a_warp_is_not_read_before_it_was_written_and_all_that_is_not_issued_waits(block):
    """Warp 2 is written three cycles late: whatever runs after cycle 7 moves by three."""
    seen = play(block(TINY), [request(TINY, FOUR, FOUR)], written=[5, 6, 10, 10])
    expected = {
        key: [(cycle + 3 * (cycle > 7), core)]
        for key, [(cycle, core)] in formula(FOUR, FOUR, TINY.cores, start=5).items()
    }
    assert issued(seen) == expected


@pytest.mark.rule("incremental_scheduler", 5, 7)
def test_a_stall_freezes_the_whole_schedule(block):
    seen = play(block(TINY), [request(TINY, 5, 7)], stalled=(4, 5, 9))
    moved = {}
    for key, [(cycle, core)] in formula(5, 7, TINY.cores, start=1).items():
        # What runs in a cycle was decided in the one before; frozen cycles count no step.
        steps = [c for c in range(1, 60) if c not in (4, 5, 9)]
        moved[key] = [(steps[cycle - 2] + 1, core)]
    assert issued(seen) == moved


@pytest.mark.rule("incremental_scheduler", 5)
def test_no_read_while_stalled(block):
    seen = play(block(TINY), [request(TINY, 5, 7)], stalled=range(3, 9))
    assert not set(seen.cycles("read__valid")) & set(range(3, 9))


@pytest.mark.rule("incremental_scheduler", 1, 2)
def test_the_next_kernel_starts_on_core_0_without_a_gap(block):
    """At 1 + P max(w_count, C): 6 warps, 2 passes; then one of 2 warps, which takes 4 cycles."""
    requests = [request(TINY, 6, 5), request(TINY, 2, 1), request(TINY, 3, 1)]
    seen = play(block(TINY), requests)
    busy = seen.cycles("issue__0")
    assert busy == [*range(2, 14), 14, 15, 18, 19, 20]


@pytest.mark.rule("incremental_scheduler", 9)
def test_a_program_without_warps_or_instructions_ends_at_once(block):
    for warps, instructions in ((0, 5), (5, 0), (0, 0)):
        seen = play(block(TINY), [request(TINY, warps, instructions)], cycles=20)
        assert seen.cycles("finished") == [1]
        assert not seen.cycles("read__valid") and not issued(seen)


@pytest.mark.rule("incremental_scheduler", 3, 8)
def test_only_core_0_reads_and_its_word_is_the_memory_s(block):
    seen = play(block(TINY), [request(TINY, 3, 9, address=7)])
    packet = layouts.index_read(TINY)
    reads = [packet.unpack(word) for _, word in seen.transfers("read")]
    assert reads == [{"address": 7, "warp": w, "index_warps": 3} for w in (0, 1, 2)] * 3
    words = [seen.port("word")[cycle] for cycle in seen.cycles("issue__0")]
    assert words == list(range(1, 10))


@given(
    st.integers(1, 12),
    st.integers(1, 20),
    st.sampled_from(["tiny", "three_entries", "warp_16"]),
    st.integers(0, 2**32),
)
def test_no_conflict_and_no_early_read(warps, instructions, name, seed):
    """Random stalls and writes: each instruction runs once, in order, after its warp's write."""
    config, rng = CONFIGS[name], random.Random(seed)
    warps = min(warps, config.max_warps)
    written, cycle = [], 1
    for _ in range(warps):
        cycle += rng.choice((1, 1, 1, 4))
        written.append(cycle)
    stalls = frozenset(c for c in range(400) if rng.random() < 0.1)
    passes = -(-instructions // config.cores)
    seen = play(
        Model(config), [request(config, warps, instructions)], stalls, written * passes, cycles=500
    )
    found = issued(seen, config)
    assert found.keys() == formula(warps, instructions, config.cores, 0).keys()
    assert all(len(places) == 1 for places in found.values())
    for (warp, instruction), [(when, core)] in found.items():
        assert core == instruction % config.cores and when > written[warp]
        if instruction:
            assert found[warp, instruction - 1][0][0] < when


class OwnMemory:
    """The index memory that the scheduler relies on, at the generator's write port.

    A read is granted from the cycle of its warp's write on, and has its data in the next cycle.
    """

    def __init__(self, config):
        self._read, self._warp = layouts.index_read(config), layouts.packed_warp(config)
        self._data = layouts.index_data(config)
        self._rows = {}
        self._due = None

    def write(self, made):
        """Take the warp that is written in this cycle, if one is."""
        if made["write__valid"]:
            warp = self._warp.unpack(made["write__payload"])
            self._rows[warp["address"]] = self._data.pack(
                {"words": warp["words"], "mask": warp["mask"]}
            )

    def answer(self, asked):
        """Return what the scheduler gets in this cycle, and note what it gets in the next."""
        data = {"data__valid": int(self._due is not None), "data__payload": self._due or 0}
        self._due = None
        if asked["read__valid"]:
            read = self._read.unpack(asked["read__payload"])
            self._due = self._rows.get(read["address"] + read["warp"])
        return data | {"read__ready": int(self._due is not None)}


def test_runs_one_cycle_behind_the_generator():
    """Beside IndexGenerator's model: the program follows the decision, in cycle 3."""
    config, dims = CONFIGS["default"], (10, 10, 10)
    generator, scheduler = IndexGenerator(config, memory=False), Model(config)
    memory = OwnMemory(config)
    word, program = index_config(config, 0, dims), request(config, 32, 9)
    still = {
        "cancel": 0,
        "decision__ready": 1,
        "done__ready": 1,
        "release__valid": 0,
        "release__payload": 0,
        "i__payload": word,
        "write__ready": 1,
    }
    seen = Recording()
    for cycle in range(140):
        # A read has no effect on what the scheduler offers; a grant is known once it is asked for.
        offer = {
            "i__valid": int(cycle == 3),
            "i__payload": program,
            "stall": 0,
            "read__ready": 0,
            "data__valid": 0,
            "data__payload": 0,
        }
        asked = scheduler.outputs(offer)
        inputs = still | {"i__valid": int(cycle == 0)}
        made = generator.outputs(inputs)
        memory.write(made)
        offer |= memory.answer(asked)
        seen.note(offer, scheduler.outputs(offer) | {"written": made["write__valid"]})
        generator.tick(inputs)
        scheduler.tick(offer)
    first = seen.cycles("written")[0]
    assert issued(seen, config) == formula(32, 9, config.cores, start=first)
    words, mask = packed_warps(dims, config)
    packet = layouts.index_data(config)
    for cycle, warp in zip(seen.cycles("issue__0"), [*range(32)] * 3, strict=True):
        assert packet.unpack(seen.port("word")[cycle]) == {
            "words": join(words[warp], config.word_bits),
            "mask": join(mask[warp], 1),
        }


class EveryPassAtOnce(Model):
    """Without the maximum: the next pass starts after w_count steps, however many cores."""

    def _take_item(self):
        item = super()._take_item()
        self._gap = min(self._gap, 1)
        return item


@pytest.mark.rule("incremental_scheduler", 2)
def test_without_the_maximum_an_instruction_runs_before_its_predecessor():
    """One warp, four cores: instruction 4 runs on core 0 while instruction 1 runs on core 1."""
    requests = [request(TINY, 1, 8)]
    for model, right in ((Model, True), (EveryPassAtOnce, False)):
        found = issued(play(model(TINY), requests))
        ordered = all(found[0, k][0][0] < found[0, k + 1][0][0] for k in range(7))
        assert ordered == right
