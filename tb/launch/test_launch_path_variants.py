"""LaunchPath with SMs that cannot kill, and without indices: beside its model, and by rule."""

from collections import Counter
from dataclasses import replace

import pytest

from tb.launch import test_launch_path_soft_reset as soft_reset
from tb.launch.test_launch_path_restart import PAUSE, ResetAt
from tb.support.deep_values import deep_but
from tb.support.dispatch_cases import path_case
from tb.support.dispatch_configs import config_of
from tb.support.path_rules import (
    FINE,
    LAUNCH,
    RTL_AND_MODEL,
    SINGLE,
    SKIPPED,
    Bus,
    answered,
    answers,
    path_run,
    records,
)
from tb.support.planted import Change, plant
from tb.support.record import record
from warploom.launch import LaunchPath
from warploom.launch._launch_queue import LaunchQueue
from warploom_golden.launch import LaunchPath as Model
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_sim.cosim.lockstep.events import require
from warploom_spec import ErrorCode, Fate, layouts
from warploom_spec.host_errors import HostError

NO_KILL = "tiny,kill_timeout=16,sm_kill=False"
NO_INDICES = "tiny,kill_timeout=16,index_memory_warps=0"
NEITHER = f"{NO_INDICES},sm_kill=False"
PROFILES = ("mixed", "sm_loss", "kill_bursts")
DRAINED = (Fate.DRAINED, ErrorCode.OK)


# Beside the model


def cases(config, seed, cycles):
    """Return a case for each profile."""
    found = [path_case(config, profile, seed, cycles) for profile in PROFILES]
    options = {"varied": True, "sharp": 0.2, "busy": True}
    found[0] = replace(found[0], options={**found[0].options, **options})
    return found


def reset_case(config, seed, cycles):
    """Return a case with soft resets at any time."""
    return soft_reset.case(config, "mixed", seed, cycles, varied=True)


@pytest.mark.deep
@pytest.mark.parametrize(
    "config", [NEITHER, f"{NO_KILL},policy=freed_first", f"{NO_INDICES},reclaim=in_order"]
)
def test_equals_its_model_on_verilator(config, seed):
    total = Counter()
    for result in run(cases(config, seed, 3000), "verilator"):
        total.update(result.counts)
    require(("ledger: blocks ok", "ledger: fate finished", "ledger: fate skipped"), total)
    require(["ledger: fate failed"], total)
    if "sm_kill" in config:
        assert not total["ledger: fate killed"] + total["ledger: blocks lost"] + total["a lost SM"]
        require(["ledger: fate drained"], total)


@pytest.mark.parametrize("config", deep_but([NO_KILL, NO_INDICES], [NO_KILL, NO_INDICES, NEITHER]))
def test_equals_its_model_on_amaranth(config, seed):
    tries = [path_case(config, "mixed", seed, 1700), reset_case(config, seed, 1700)]
    for result in run(tries, "amaranth"):
        result.require("transfers of launch")


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["reclaim=in_order", "policy=freed_first", "policy=least_loaded"])
@pytest.mark.parametrize("config", [NO_KILL, NO_INDICES, NEITHER])
def test_equals_its_model_for_long(config, mode, seed):
    run(cases(f"{config},{mode}", seed, 20_000), "verilator")
    run([reset_case(f"{config},{mode}", seed, 20_000)], "verilator")[0].require("soft resets")


#: Wrong rules in the RTL.
WRONG = {
    "a launch that is taken back is handed over all the same": (
        *(LaunchQueue, "_show_oldest"),
        *(
            "ready = waiting.occupied & (known | events.decides) & ~taken_back",
            "ready = waiting.occupied & (known | events.decides)",
        ),
    ),
    "a launch is handed over a cycle late": (
        *(LaunchQueue, "_show_oldest"),
        *("can_go = can_go | events.enters", "pass"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [Change(*WRONG[name])])
    tries = [path_case(NO_INDICES, "kill_bursts", seed + n, 2000) for n in range(3)]
    with pytest.raises(LockstepError):
        run(tries, "amaranth", waves=False)


# Without indices (20, 21)


@pytest.mark.rule("launch_path", 20, 21)
@RTL_AND_MODEL
def test_the_worked_example_without_indices(block):
    recording = path_run([SINGLE], config=config_of(NO_INDICES), block=block)
    assert [cycle for cycle, _ in answered(recording)] == [6]
    assert recording.cycles("offer__0__valid") == [12]
    # Reported in 16; the dispatcher's record is valid in 22.
    assert [cycle for cycle, _ in recording.transfers("ended")] == [23]
    absent = ("read__ready", "data__valid", "written", "decided", "done_valid", "index_error")
    assert not set(absent) & recording.outputs[0].keys()


@pytest.mark.rule("launch_path", 21)
@RTL_AND_MODEL
def test_launches_follow_each_other_without_indices(block):
    """One a cycle is handed over: no decision is awaited between two."""
    launches = [replace(SINGLE, stream=n) for n in range(2)]
    recording = path_run(launches, config=config_of(NO_INDICES), block=block, length=40)
    # Given to the walker in 8, decided in 10 (`change`). In 11 no place is walked: the next one is
    # given then, and decided in 13. An offer follows its decision by `offer` = 2.
    assert recording.cycles("offer__0__valid") == [12]
    assert recording.cycles("offer__1__valid") == [15]
    assert records(recording) == [(1, *FINE), (2, *FINE)]


@RTL_AND_MODEL
def test_no_launch_is_refused_for_its_indices(block):
    # 7 + 5 + 5 bits of an index in a word of 16, and more warps than some index memories have.
    wide = replace(SINGLE, block=(65, 17, 17))
    recording = path_run([wide], config=config_of(NO_INDICES), block=block)
    assert answers(recording) == [(0, ErrorCode.THREADS)]
    narrow = config_of(f"{NO_INDICES},word_bits=8")
    recording = path_run([replace(SINGLE, block=(17, 3, 3))], config=narrow, block=block)
    # 5 + 2 + 2 bits in a word of 8.
    assert answers(recording) == [(0, ErrorCode.BLOCK_WARPS)]
    recording = path_run([replace(SINGLE, block=(9, 3, 3))], config=narrow, block=block)
    assert answers(recording) == [(1, 0)]


@pytest.mark.rule("launch_path", 13, 21)
@RTL_AND_MODEL
def test_a_waiting_launch_is_taken_back_without_indices(block):
    stops = {60: {"ticket": 3}, 62: {"ticket": 2}}
    recording = path_run(
        [LAUNCH] * 3, config=config_of(NO_INDICES), block=block, length=0, stops=stops
    )
    assert records(recording) == [(3, *SKIPPED), (2, *SKIPPED)]


# SMs that cannot kill


@RTL_AND_MODEL
def test_a_killed_launch_is_drained(block):
    """A stop without ``drain`` does what one with it does."""
    long = replace(LAUNCH, grid=(3, 2, 1), barriers=4)
    runs = []
    for drain in (0, 1):
        stops = {30: {"ticket": 1, "drain": drain}}
        recording = path_run([long], config=config_of(NO_KILL), block=block, length=60, stops=stops)
        assert not any(recording.port("kill"))
        runs.append(recording)
    killed, drained = (recording.outputs for recording in runs)
    assert killed == drained
    end = layouts.end_record(config_of(NO_KILL)).unpack(runs[0].transfers("ended")[0][1])
    # Blocks on SM 0 and SM 1 are offered in 17 and 18, and reported 60 cycles later.
    assert (end["fate"], end["cycles"], end["next_x"], end["next_y"]) == (Fate.DRAINED, 61, 2, 0)


@RTL_AND_MODEL
@pytest.mark.parametrize("config", [NO_KILL, NEITHER])
def test_a_soft_reset_waits_for_the_blocks(block, config):
    """The blocks' reports come long after ``kill_timeout``; no SM is lost, every ticket ends."""
    chosen = config_of(config)
    stimulus = ResetAt(20, config=chosen, length=200)
    seen = record(block(chosen, soft_reset=True), stimulus, 520)
    taken = [c for n in range(2) for c, _ in seen.transfers(f"offer__{n}") if c < 200]
    assert len(taken) == 2 and stimulus.again > max(taken) + 200
    # The record 6 cycles after the last report, idle in the next cycle, then the restart.
    (start,) = [c for c, on in enumerate(seen.port("restart")) if on]
    assert stimulus.again == start + 1 == max(taken) + 200 + 9
    assert not any(seen.port("kill")) and not any(seen.port("lost"))
    tickets = [ticket for ticket, _ in answers(seen) if ticket]
    assert {code for _, code in answers(seen)} <= {0, HostError.RESET}
    found = {ticket: fate for ticket, fate, _ in records(seen)}
    assert sorted(found) == tickets
    # Both blocks of the first launch were placed, so it is finished; the others never started.
    assert found == {1: Fate.FINISHED, 2: Fate.SKIPPED, 3: Fate.SKIPPED, 4: Fate.FINISHED}
    assert PAUSE < min(c for c, _ in seen.transfers("offer__0") if c > start) - start < 60


@RTL_AND_MODEL
def test_a_soft_reset_that_does_not_wait_is_found(block, monkeypatch):
    rtl = Change(LaunchPath, "_build", "(ahead == 0) & ~resident.any()", "ahead == 0")
    model = Change(Model, "_is_idle", "or resident)", ")")
    plant(monkeypatch, [rtl, model])
    with pytest.raises(AssertionError):
        test_a_soft_reset_waits_for_the_blocks(block, NO_KILL)


def test_a_bus_of_a_variant_has_its_ports_alone():
    """What the benches drive is what there is."""
    inputs = Bus(config_of(NO_INDICES), []).next(None)
    assert not {"read__valid", "data__ready"} & inputs.keys()
    assert "decided" not in Model(config_of(NO_INDICES)).outputs(inputs)
    assert "decided" not in LaunchPath(config_of(NO_INDICES)).signature.members
