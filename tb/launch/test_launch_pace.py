"""How quickly blocks and launches follow each other, beside the committed figures."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tb.launch.path_script import LAUNCH, Script
from warploom.launch import LaunchPath
from warploom_golden.launch import LaunchPath as Model
from warploom_sim import replay
from warploom_sim.commands.sim import default_traces
from warploom_spec import preset, timing

COMMITTED = json.loads(
    (Path(__file__).parents[2] / "docs" / "figures" / "latency.json").read_text()
)
DEEP = pytest.mark.deep
#: The model's paces are measured in a second, the RTL's in a minute.
KINDS = pytest.mark.parametrize(
    "kind", [Model, pytest.param(LaunchPath, marks=DEEP)], ids=["model", "rtl"]
)
#: Blocks a cycle, at least, by the preset that has as many SMs.
AT_LEAST = {"default": ("blocks_per_cycle_8_sms", 0.99), "tiny": ("blocks_per_cycle_2_sms", 0.4)}
#: Cycles a launch of one block, at most: streams, the block's cycles, and launches that are sent as
#: soon as there is room. Of eight streams so many that the last ones, behind which nothing comes,
#: count little.
AT_MOST = {
    "cycles_per_launch": (8, 1, 120, 8.2),
    "cycles_per_launch_in_stream_order": (1, 3, 40, 30),
}
#: Of the default traces: the cycles of a replay in which a slot is offered a block 6 cycles after a
#: report and launches of a stream follow in 15; their launches, and how often a slot is filled anew
#: (some 90 and 65 blocks are resident, of 451,229 and 237,063).
WITHOUT = {"resnet50_infer": (1_375_006, 232, 5_000), "stencil3d_shapes": (430_701, 42, 3_700)}
#: Cycles at most: half a percent over those, 15 cycles more for a launch, 4 for each new block.
CYCLES_AT_MOST = {
    name: cycles * 1.005 + 15 * launches + 4 * refills
    for name, (cycles, launches, refills) in WITHOUT.items()
}


@pytest.mark.thorough
@KINDS
@pytest.mark.parametrize("name", AT_LEAST)
def test_blocks_a_cycle(name, kind):
    """A long launch of small blocks, from its first offer on."""
    config = preset(name)
    key, least = AT_LEAST[name]
    begin = timing(config).resident_boot
    wide = replace(LAUNCH, grid=(config.max_grid[0], 1, 1))
    saw = Script(config, length=5).launch(begin, 0, descriptor=wide).run(kind, begin + 340)
    offers = sorted(saw.offers())
    pace = round(sum(cycle < offers[0] + 300 for cycle in offers) / 300, 3)
    assert least <= pace == COMMITTED[key]


@pytest.mark.thorough
@KINDS
@pytest.mark.parametrize("key", AT_MOST)
def test_cycles_a_launch_of_one_block(key, kind):
    """Each launch comes as soon as it can, streams in turn; all streams' indices are the same."""
    streams, length, launches, most = AT_MOST[key]
    config = preset("default")
    begin = timing(config).resident_boot
    script = Script(config, length=length)
    for number in range(launches):
        script.launch(begin, number % streams)
    for cycle in range(begin, begin + 1200):
        script.pop(cycle)
    saw = script.run(kind, begin + 1300)
    offers = sorted(saw.offers())
    assert len(offers) == launches
    # The first ones come while indices are made, and while nothing ends.
    steady = offers[8:]
    pace = round((steady[-1] - steady[0]) / (len(steady) - 1), 3)
    assert most >= pace == COMMITTED[key]


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
    from tb.host.test_loop_latency import MEASURED as LOOPS
    from tb.host.test_stream_latency import MEASURED as DOORBELLS
    from tb.launch.test_launch_latency import MEASURED

    paces = {*AT_MOST, *(key for key, _ in AT_LEAST.values())}
    assert {*COMMITTED} == {
        *LATENCIES,
        *DOORBELLS,
        *LOOPS,
        *MEASURED,
        *paces,
        *(f"{name}_cycles" for name in CYCLES_AT_MOST),
    }
