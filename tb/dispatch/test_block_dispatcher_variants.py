"""BlockDispatcher with SMs that cannot kill, and without indices: beside its model, and by rule."""

from collections import Counter
from dataclasses import replace

import pytest

from tb.support.deep_values import thorough_but
from tb.support.dispatch_cases import dispatcher_case
from tb.support.dispatch_configs import config_of
from tb.support.dispatch_rules import (
    FAULT,
    KILLED,
    RTL_AND_MODEL,
    at,
    begun,
    drive,
    ends,
    errors,
    fates,
    in_cycles,
    launch,
    reporting,
    stop,
)
from tb.support.planted import Change, plant
from warploom.dispatch._resident_places import ResidentPlaces
from warploom_golden.dispatch.place import Place
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_sim.cosim.lockstep.events import require
from warploom_spec import ErrorCode, Fate, Stop, layouts

NO_KILL = "tiny,kill_timeout=16,sm_kill=False"
NO_INDICES = "tiny,kill_timeout=16,index_memory_warps=0"
NEITHER = f"{NO_INDICES},sm_kill=False"
#: `first_fit` and a short time-out, as the rules' other tests have them.
GENTLE = config_of(f"{NO_KILL},policy=first_fit")
FAULTED = (Fate.FAILED, ErrorCode.BLOCK_FAULT)
DRAINED = (Fate.DRAINED, ErrorCode.OK)


# Beside the model


def cases(config, seed, cycles):
    """Return a case for each kind of surroundings, slow ones among them."""
    found = [dispatcher_case(config, p, seed, cycles) for p in ("mixed", "sm_loss", "kill_bursts")]
    busy = {**found[0].options, "profile": "drains", "streams": 8}
    return [*found, replace(found[0], options=busy)]


#: What happens in a run of each of these, whatever the seed is.
HAPPENS = ("ledger: blocks ok", "ledger: blocks fault", "ledger: fate drained", "nothing open")


@pytest.mark.deep
@pytest.mark.parametrize(
    "config",
    [
        f"{NEITHER},policy=least_loaded,reclaim=in_order",
        f"{NO_KILL},policy=freed_first",
        f"{NO_INDICES},policy=least_loaded",
    ],
)
def test_equals_its_model_on_verilator(config, seed):
    total = Counter()
    for result in run(cases(config, seed, 4000), "verilator"):
        total.update(result.counts)
    require((f"ledger: {name.removeprefix('ledger: ')}" for name in HAPPENS), total)
    if "sm_kill" in config:
        assert not total["ledger: fate killed"] + total["ledger: blocks lost"] + total["a lost SM"]
        require(["killed although nobody asked"], total)


@pytest.mark.parametrize("config", thorough_but([NEITHER], [NO_KILL, NO_INDICES, NEITHER]))
def test_equals_its_model_on_amaranth(config, seed):
    run([dispatcher_case(config, "mixed", seed, 1000)], "amaranth")


@pytest.mark.deep
@pytest.mark.parametrize("mode", ["reclaim=in_order", "policy=freed_first", "policy=least_loaded"])
@pytest.mark.parametrize("config", [NO_KILL, NO_INDICES, NEITHER, f"{NEITHER},sms=3"])
def test_equals_its_model_for_long(config, mode, seed):
    run(cases(f"{config},{mode}", seed, 20_000), "verilator")


#: Wrong rules in the RTL, each with the configuration in which it shows.
WRONG = {
    "a kill is told to SMs that cannot kill": (
        NO_KILL,
        Change(ResidentPlaces, "_stop", "if not self._config.sm_kill:", "if False:"),
    ),
    "a kill does not stop a launch that cannot be killed": (
        NO_KILL,
        Change(ResidentPlaces, "_stop", "stopped | named", "stopped | named & ~to_kill"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    config, change = WRONG[name]
    plant(monkeypatch, [change])
    tries = [dispatcher_case(config, "kill_bursts", seed + n, 1500) for n in range(4)]
    with pytest.raises(LockstepError):
        run(tries, "amaranth", waves=False)


# SMs that cannot kill (46, 47)


@pytest.mark.rule("block_dispatcher", 46)
@RTL_AND_MODEL
@pytest.mark.parametrize("how", [Stop.DRAIN, Stop.KILL, 3])
def test_every_stop_is_a_drain(block, how):
    # Decided in 4 and 7; a stop in 5 stops from 7 on. Reported in 60, long after kill_timeout.
    sent = {"stop": at(5, stop(0, how)), **reporting(0, (60, 0), (62, 1))}
    recording = drive(block, [launch(gx=9)], 90, GENTLE, enable=1, **sent)
    assert begun(recording) == [6, 9]
    assert not any(recording.port("kill")) and not any(recording.port("lost"))
    ((cycle, end),) = ends(recording)
    assert (cycle, end["fate"], end["code"], end["cycles"]) == (68, *DRAINED, 62 - 6)
    assert (end["next_x"], end["next_y"], end["next_z"]) == (2, 0, 0)


@pytest.mark.rule("block_dispatcher", 46)
@RTL_AND_MODEL
def test_a_killed_launch_without_blocks_left_is_finished(block):
    sent = {"stop": at(10, stop()), **reporting(0, (50, 0))}
    recording = drive(block, [launch()], 70, GENTLE, **sent)
    assert fates(recording) == [(56, 1, Fate.FINISHED, ErrorCode.OK, 50 - 6)]
    assert not any(recording.port("kill"))


@pytest.mark.rule("block_dispatcher", 46)
@RTL_AND_MODEL
def test_a_launch_killed_before_its_first_block_is_the_head_is_skipped(block):
    # Stopped from 3 on, forgotten at the end of 5, gone in 6.
    recording = drive(block, [launch()], 40, GENTLE, stop=at(1, stop()))
    assert fates(recording) == [(9, 1, Fate.SKIPPED, ErrorCode.OK, 0)]


@pytest.mark.rule("block_dispatcher", 46)
@RTL_AND_MODEL
def test_a_fault_lets_the_other_blocks_end_by_themselves(block):
    # The fault in 12 stops the launch from 16 on; the block of SM 1 is reported in 50.
    sent = reporting(0, (12, 0, FAULT), (30, 1)) | reporting(1, (50, 0))
    recording = drive(block, [launch(gx=9, barriers=4)], 80, GENTLE, **sent)
    # What the faulted block held is free in 16, too: a decision in the stop's first cycle stands.
    assert begun(recording, 0) == [6, 18] and begun(recording, 1) == [7]
    assert not any(recording.port("kill"))
    assert fates(recording) == [(56, 1, *FAULTED, 50 - 6)]
    assert errors(recording) == []


@pytest.mark.rule("block_dispatcher", 47)
@RTL_AND_MODEL
@pytest.mark.parametrize("stops", [{}, {8: stop()}], ids=["unstopped", "stopped by a kill"])
def test_a_block_reported_killed_is_an_error_and_a_fault(block, stops):
    sent = {"stop": in_cycles(stops), **reporting(0, (20, 0, KILLED))}
    recording = drive(block, [launch()], 60, GENTLE, enable=1, **sent)
    assert errors(recording) == [(24, ErrorCode.KILL_NOT_ASKED, 0)]
    assert fates(recording) == [(26, 1, *FAULTED, 20 - 6)]


@pytest.mark.rule("block_dispatcher", 47)
@RTL_AND_MODEL
def test_a_silent_sm_is_waited_for(block):
    """No SM is lost, however long a block of a killed launch takes; the place is kept so long."""
    sent = {"stop": at(10, stop()), **reporting(0, (290, 0))}
    recording = drive(block, [launch(gx=9, barriers=4)], 320, GENTLE, enable=1, **sent)
    assert not any(recording.port("lost")) and errors(recording) == []
    ((cycle, end),) = ends(recording)
    assert (cycle, end["fate"], end["cycles"], end["next_x"]) == (296, Fate.DRAINED, 290 - 6, 1)


#: A kill that is a kill all the same, in RTL and model alike.
KILLS = (
    Change(ResidentPlaces, "_stop", "if not self._config.sm_kill:", "if False:"),
    Change(Place, "stop_from", "if stop is Stop.KILL and not self.may_kill:", "if False:"),
)


@RTL_AND_MODEL
def test_a_wrong_rule_of_both_is_found_by_its_own_test(block, monkeypatch):
    plant(monkeypatch, KILLS)
    for finder, arguments in (
        (test_every_stop_is_a_drain, (Stop.KILL,)),
        (test_a_killed_launch_without_blocks_left_is_finished, ()),
        (test_a_fault_lets_the_other_blocks_end_by_themselves, ()),
        (test_a_silent_sm_is_waited_for, ()),
    ):
        with pytest.raises(AssertionError):
            finder(block, *arguments)


# Without indices (48)


@pytest.mark.rule("block_dispatcher", 48)
def test_without_indices_no_packet_speaks_of_them():
    config = config_of(NO_INDICES)
    names = [field.name for field in layouts.block_offer(config).present]
    assert names == ["place", "slot", "bx", "by", "bz", "block_number", "task"]
    absent = {"index_address", "index_warps", "width_x", "width_y", "width_z", "entries"}
    for packet in (layouts.launch_words, layouts.dispatch_launch, layouts.dispatch_end):
        assert not absent & {field.name for field in packet(config).present}
    # Three widths of 11 bits together; 2 entries, 6 bits of address.
    for packet, bits in ((layouts.launch_words, 11), (layouts.dispatch_launch, 11 + 2 + 6)):
        assert packet(config_of("tiny")).bits - packet(config).bits == bits


@pytest.mark.rule("block_dispatcher", 48)
@RTL_AND_MODEL
def test_least_loaded_counts_warps_without_indices(block):
    config = config_of(f"{NO_INDICES},policy=least_loaded")
    first, second = launch(1, config, warps=3), launch(2, config, stream=1)
    # The second launch's block is decided once it is known that it fits beside the first one's.
    recording = drive(block, [first, second], 70, config, enable=lambda c: 3 * (c < 5 or c > 50))
    assert begun(recording, 0) == [6] and begun(recording, 1) == [54]
