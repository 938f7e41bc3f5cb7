"""How quickly blocks and launches follow each other, beside the committed figures."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tb.support.path_rules import SINGLE, path_run
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_sim import replay
from warploom_sim.commands.sim import default_traces
from warploom_spec import Config, preset

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "docs" / "figures" / "latency.json").read_text()
)
DEEP = pytest.mark.deep
#: The model's paces are measured in a second, the RTL's in a minute.
BLOCKS = pytest.mark.parametrize(
    "block", [Model, pytest.param(LaunchPath, marks=DEEP)], ids=["model", "rtl"]
)
#: Blocks a cycle, at least, by the preset that has as many SMs.
AT_LEAST = {"default": ("blocks_per_cycle_8_sms", 1.0), "tiny": ("blocks_per_cycle_2_sms", 0.667)}
#: Cycles a launch of one block, at most: launches of as many streams, and of one stream. A stream's
#: next launch is chosen when the one before it has begun, and is offered 15 cycles after that one.
AT_MOST = {"cycles_per_launch": (8, 7), "cycles_per_launch_in_stream_order": (1, 15)}
#: Cycles of the default traces' replays, at most: half a percent over those without the registers
#: between the blocks.
CYCLES_AT_MOST = {"resnet50_infer": 1_375_006 * 1.005, "stencil3d_shapes": 430_701 * 1.005}


def offered(config: Config, launches, cycles, block, length):
    """Return the cycles in which SMs are offered blocks, each reported ``length`` cycles later."""
    recording = path_run(launches, cycles, config, block, length=length)
    offers = (recording.transfers(f"offer__{sm}") for sm in range(config.sms))
    return sorted(cycle for found in offers for cycle, _ in found)


@pytest.mark.thorough
@BLOCKS
@pytest.mark.parametrize("name", AT_LEAST)
def test_blocks_a_cycle(name, block):
    """A long launch of small blocks; the count begins when its blocks end as they are placed."""
    config = preset(name)
    key, least = AT_LEAST[name]
    launch = replace(SINGLE, grid=(config.max_grid[0], 1, 1))
    offers = [cycle for cycle in offered(config, [launch], 400, block, length=5) if cycle >= 100]
    pace = round(len(offers) / 300, 3)
    assert least <= pace == COMMITTED[key]


@pytest.mark.thorough
@BLOCKS
@pytest.mark.parametrize("key", AT_MOST)
def test_cycles_a_launch_of_one_block(key, block):
    """As many launches as the queue has room for; each block ends in the cycle after its offer."""
    streams, most = AT_MOST[key]
    config = preset("default")
    one = replace(SINGLE, block=(config.warp_size, 1, 1))
    launches = [replace(one, stream=number % streams) for number in range(8)]
    offers = offered(config, launches, 200, block, length=1)
    assert len(offers) == len(launches)
    # The first one's indices are made, the others' are there. Launches go through two places in
    # turn: an even number of them.
    assert most >= round((offers[7] - offers[1]) / 6, 3) == COMMITTED[key]


@pytest.mark.thorough
@pytest.mark.parametrize("trace", default_traces(), ids=lambda trace: trace.name.split(".")[0])
def test_cycles_of_the_default_traces(trace):
    """On the event model, whose replays are compared with the RTL's event by event.

    Blocks last a 32nd of the recorded time: so the dispatcher's own cycles count.
    """
    name = trace.name.split(".")[0]
    run = replay(trace, config="default", contention="none", time_scale="1/32")
    assert CYCLES_AT_MOST[name] >= run.cycles == COMMITTED[f"{name}_cycles"]


def test_no_figure_is_there_that_is_not_measured():
    from tb.host.test_latency import AT_MOST as LATENCIES
    from tb.host.test_stream_latency import MEASURED as DOORBELLS
    from tb.launch.test_launch_latency import MEASURED

    paces = {*AT_MOST, *(key for key, _ in AT_LEAST.values())}
    assert {*COMMITTED} == {
        *LATENCIES,
        *DOORBELLS,
        *MEASURED,
        *paces,
        *(f"{name}_cycles" for name in CYCLES_AT_MOST),
    }
