"""ResourceRanges beside its model; what a core and a dispatcher may rely on."""

import random
from collections import Counter

import pytest

from tb.support.deep_values import OTHER_SIMULATORS
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from tb.support.ranges_traffic import RangesHeld, RangesTraffic
from tb.support.record import record
from warploom.sm_side import ResourceRanges
from warploom_golden.sm_side import ResourceRanges as Model
from warploom_golden.sm_side.resource_ranges import NOTHING, Rows
from warploom_sim.cosim.lockstep import Case, LockstepError, run

#: Configurations of which each is odd in one respect.
ELEVEN = "tiny,block_slots=11,register_units=37,shared_units=100"
CONFIGS = ("tiny", ELEVEN, "tiny,block_slots=1", "tiny,register_units=3,shared_units=2")
#: Hard cases that one slot cannot have.
OF_TWO = {"held back", "ranges of two sizes", "a range from the last unit down"}


def make(config):
    return ResourceRanges(config_of(config)), Model(config_of(config))


class Traffic(RangesTraffic):
    """The same for a lockstep run."""

    def __init__(self, context):
        config = config_of(context.params["config"])
        super().__init__(config, context.rng, **context.options)


class TinyRanges(RangesHeld):
    """What holds of `tiny`'s ranges."""

    def __init__(self):
        super().__init__(config_of("tiny"))


def case(config, seed, cycles=1500, **options):
    """Return a run; of `tiny` the ranges are looked at."""
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        stimulus=Traffic,
        options=options,
        events={"ranges": TinyRanges} if config == "tiny" and not options else {},
    )


def hurried_case(config, seed, cycles=1500):
    """Return a run in which a stream's next launch comes while blocks of the last one are out."""
    return case(config, seed, cycles, hurries=True)


def test_equals_its_model_and_hard_cases_happen(seed):
    names = set(TinyRanges().counts())
    run_until(names, lambda n: [case("tiny", seed + n)], "amaranth")


def test_equals_its_model_at_other_sizes(seed):
    run([case(ELEVEN, seed, 1000), hurried_case(ELEVEN, seed, 1500)], "amaranth")


@pytest.mark.parametrize("simulator", OTHER_SIMULATORS)
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case("tiny", seed, 1500)], simulator)


def stream(text, seed, cycles=1500, **options):
    """Run the model in a random stream; return what the observer counted."""
    config = config_of(text)
    traffic = RangesTraffic(config, random.Random(seed), **options)
    seen, held = record(Model(config), traffic, cycles), RangesHeld(config)
    for cycle, (inputs, outputs) in enumerate(zip(seen.inputs, seen.outputs, strict=True)):
        held.see(cycle, inputs, outputs)
    return held.counts()


@pytest.mark.parametrize("config", CONFIGS)
def test_ranges_never_overlap_and_hard_cases_happen(config, seed):
    counts, never = Counter(), OF_TWO if "block_slots=1," in f"{config}," else set()
    for n in range(20):
        counts.update(stream(config, seed + n))
        missing = {case for case, times in counts.items() if not times}
        if missing == never:
            return
    raise AssertionError(f"never happened: {missing - never}; happened: {never - missing}")


@pytest.mark.parametrize("config", CONFIGS)
def test_no_block_is_held_back_with_one_launch_resident(config, seed):
    counts = stream(config, seed, 3000, resident=1)
    assert counts["blocks"] > 50
    assert counts["held back"] == 0


def grows_into_the_other_row(rows):
    row = rows._rows[rows._current]
    return all(
        reach + size <= units
        for reach, size, units in zip(row.reach, rows._size, rows._capacity, strict=True)
    )


def loses_what_is_freed(rows, freed):
    rows._rows[freed.row].live -= 1


def keeps_the_stack_of_the_other_row(rows, freed):
    rows._rows[freed.row].live -= 1
    rows._stack.append(freed.first)


def changes_a_row_with_blocks(rows, size):
    rows._rows[rows._current].reach = NOTHING
    rows._size, rows._stack = size, []


WRONG_MODEL = {
    "the other row is not looked at": ("_can_grow", grows_into_the_other_row),
    "a freed range is lost": ("free", loses_what_is_freed),
    "a range of the row before is pushed": ("free", keeps_the_stack_of_the_other_row),
    "a row with blocks begins anew": ("change", changes_a_row_with_blocks),
    "a row without blocks keeps its reach": ("forget_reach", lambda rows: None),
}


@pytest.mark.parametrize("name", WRONG_MODEL)
def test_the_observer_finds_a_wrong_rule(name, seed, monkeypatch):
    method, wrong = WRONG_MODEL[name]
    monkeypatch.setattr(Rows, method, wrong)
    with pytest.raises(AssertionError, match=r"overlaps|ends beyond|is held back"):
        for n in range(40):
            stream("tiny", seed + n)


#: Found only with blocks of three sizes on the SM.
THIRD = "a row with blocks begins anew"
WRONG = {
    "the other row is not looked at": Change(ResourceRanges, "_grow", "(alone | room)", "1"),
    "the row beside an empty one cannot grow": Change(
        ResourceRanges, "_grow", "(alone | room)", "room"
    ),
    "a freed range is lost": Change(
        ResourceRanges, "_place", "below_write.en.eq(push)", "push.eq(0)"
    ),
    "the stack stays after a change": Change(
        ResourceRanges, "_place", "m.d.sync += some.eq(0)", "pass"
    ),
    THIRD: Change(ResourceRanges, "_place", "stuck.eq(lives.all())", "stuck.eq(0)"),
    "a killed block gets a range": Change(
        ResourceRanges, "elaborate", "valid & ~killed, change", "valid, change"
    ),
    "the warps do not count": Change(
        ResourceRanges, "_measure", "if resource.field.of_warp", "if False"
    ),
    "no settling cycle": Change(
        ResourceRanges, "_place", "fits.eq(wants & same & ~settles", "fits.eq(wants & same"
    ),
    "held_back in a settling cycle": Change(
        ResourceRanges, "_place", "~some & ~room & ~settles", "~some & ~room"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    one = hurried_case if name == THIRD else case
    cases = [one("tiny", seed + k) for k in range(6)]
    with pytest.raises((LockstepError, AssertionError)):
        run(cases, "amaranth", waves=False)
