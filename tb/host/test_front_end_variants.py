"""FrontEnd with SMs that cannot kill, without indices, with several units: beside its model."""

from dataclasses import replace

import pytest

from tb.host.test_front_end import PROFILES, TINY, Seen, case
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from warploom.host.front_end import FrontEnd
from warploom_golden.host import FrontEnd as Model
from warploom_sim.cosim.lockstep import run
from warploom_spec import PRESETS, WarploomError, layouts
from warploom_spec.host_registers import config_crc, registers

NO_KILL = f"{TINY},sm_kill=False"
SEVERAL_UNITS = f"{NO_KILL},units=3,sections=4"
NO_INDICES = f"{TINY},index_memory_warps=0"
NEITHER = f"{NO_INDICES},sm_kill=False"


@pytest.mark.deep
@pytest.mark.parametrize("config", [NEITHER, NO_KILL])
def test_equals_its_model_on_verilator(config, seed):
    def cases(n):
        profiles = enumerate(("mixed", "drains"))
        return [case(config, seed + 2 * n + k, 5000, profile) for k, profile in profiles]

    total = run_until(("a ticket", "a block", "a record"), cases, "verilator")
    assert not total["both kills"]


@pytest.mark.thorough
@pytest.mark.parametrize("config", [SEVERAL_UNITS, NEITHER])
def test_equals_its_model_on_amaranth(config, seed):
    run([case(config, seed, 600)], "amaranth")


@pytest.mark.deep
@pytest.mark.parametrize("config", [NO_KILL, NO_INDICES, NEITHER])
def test_equals_its_model_for_long(config, seed):
    wanted = set(Seen().counts())
    if "index_memory_warps" in config:
        wanted -= {"indices"}
    if "sm_kill" in config:
        wanted -= {"both kills", "a record of a launch that was killed"}

    def cases(n):
        return [case(config, seed + 4 * n + k, 40_000, p) for k, p in enumerate(PROFILES)]

    run_until(wanted, cases, "verilator")


def test_the_ports_without_indices_are_those_of_the_page():
    with_indices, without = (
        set(FrontEnd(config_of(text)).signature.members) for text in (TINY, NO_INDICES)
    )
    assert with_indices - without == {"read", "data", "data_valid"} and without < with_indices


def test_the_map_follows_the_configuration():
    names = [{word.name for word in registers(config_of(text))} for text in (TINY, NO_INDICES)]
    assert names[0] - names[1] == {"INDEX_ERRORS"} and names[1] < names[0]
    crcs = {config_crc(config_of(text)) for text in (TINY, NO_KILL, NO_INDICES, NEITHER)}
    assert len(crcs) == 4


@pytest.mark.parametrize("packet", ["index_config", "index_read", "packed_warp", "index_region"])
def test_blocks_for_indices_are_refused_without_an_index_memory(packet):
    config = replace(PRESETS["tiny"], index_memory_warps=0)
    with pytest.raises(WarploomError, match="index_memory_warps is 0; legal where there are"):
        getattr(layouts, packet)(config)


def test_presets_kill_and_make_indices():
    assert all(config.sm_kill and config.makes_indices for config in PRESETS.values())
    assert Model(config_of(NEITHER)) is not None
