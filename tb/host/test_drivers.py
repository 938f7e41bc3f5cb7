"""The C driver and the Python driver against the core's RTL, over AXI4-Lite."""

import functools
import subprocess

import pytest

from tb.host import c_driver
from tb.host.c_driver import HOST
from tb.support.deep_values import thorough_but
from tb.support.dispatch_configs import config_of
from warploom.host.front_end import FrontEnd
from warploom.lib.axil_pins import AxilPins
from warploom_sim.cosim.lockstep.build import built
from warploom_sim.cosim.lockstep.cocotb_runner import in_simulator
from warploom_sim.cosim.lockstep.recipe import Recipe
from warploom_sim.verilog.register_map import c_header
from warploom_spec import PRESETS, ErrorCode, preset
from warploom_spec.host_errors import HostError
from warploom_spec.host_registers import Interrupt, config_crc
from warploom_spec.queue import QueueCode

TINY = preset("tiny")
DRIVERS = ("c", "python")
#: Both make the same accesses, as their other tests show: on the core one does by default.
one_by_default = pytest.mark.parametrize("driver", thorough_but(["c"], DRIVERS))
ABORTED, FAILED, EMPTY = 1, 2, -8


@functools.cache
def core(config, simulator):
    """Return the folder with a core's simulation."""
    return built(Recipe.of(AxilPins, Recipe.of(FrontEnd, config_of(config))), simulator)


def run_tour(name, driver, folder, simulator="verilator", config="tiny", **plan):
    """Run `driver_bench` on a core, and return what the tour found."""
    simulation = core(config, simulator)
    module = "code_tours" if driver == "plain" else "driver_tours"
    plan = {"module": f"tb.host.{module}"} | plan
    plan |= {"tour": name, "driver": driver, "config": config}
    return in_simulator("driver", "tb.host.driver_bench", simulation, simulator, folder, plan)


def tour(name, driver, folder, simulator="verilator", header=None):
    """Let a driver take a tour, and return what it found."""
    library = c_driver.build(folder, header) if driver == "c" else None
    return run_tour(name, driver, folder, simulator, library=str(library))


def event_tour(name, driver, folder):
    """Let a driver with events take a tour, and return what it found."""
    library = c_driver.build(folder) if driver == "c" else None
    plan = {"events": True, "module": "tb.host.stream_tours", "library": str(library)}
    found = run_tour(name, driver, folder, **plan)
    assert "failure" not in found, found
    return found


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_host_launches_waits_and_runs_tasks(driver, tmp_path):
    found = tour("work", driver, tmp_path)
    assert "failure" not in found, found
    assert found["identify"] == 0
    assert found["launch"] == [0, 1]
    error, record = found["record"]
    assert error == 0
    assert (record["ticket"], record["fate"], record["code"], record["kind"]) == (1, 0, 0, 0)
    assert 20 <= record["cycles"] <= 60
    assert found["none"] == -8
    assert found["irq"] == 0
    assert found["two"] == found["records"] == [2, 3]
    # Commands have completed; the records are taken.
    assert found["status"] == [0, 1 << Interrupt.COMMAND_DONE]
    error, outcome = found["task"]
    assert error == 0
    assert (outcome["succeeded"], outcome["parts"], outcome["task"]) == (0b111, 0b111, 1)
    assert found["parts"] == [[5, 0, 100, 5], [5, 1, 105, 4], [5, 2, 109, 4]]
    error, outcome = found["fails"]
    assert error == HostError.CORE_FAILED
    assert (outcome["core"], outcome["argument"], outcome["succeeded"]) == (0, 77, 0)
    assert [block[:2] for block in found["blocks"]] == [
        [1, 0],
        [1, 1],
        [1, 2],
        [2, 0],
        [2, 1],
        [3, 0],
        [3, 1],
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_host_gets_over_refusals_aborts_and_resets(driver, tmp_path):
    found = tour("troubles", driver, tmp_path)
    assert "failure" not in found, found
    assert found["refused"] == [ErrorCode.GRID_ZERO, 0]
    assert found["field"] == [ErrorCode.GRID_RANGE, 0]
    assert found["no section"] == -7
    assert found["range"] == -7
    assert found["no unit"] == HostError.NO_UNIT
    assert found["split"] == HostError.BAD_SPLIT
    assert found["unknown"] == QueueCode.TICKET_UNKNOWN
    assert found["aborts"] == [0, 0]
    assert found["aborted"] == [[0, 2, 1, 0], [0, 1, 1, 0]] or found["aborted"] == [
        [0, 1, 1, 0],
        [0, 2, 1, 0],
    ]
    assert found["disconnect"] == [0, HostError.DISCONNECTED]
    assert found["connected"] == [0, 0]
    assert found["sms"] == [0, 0]
    assert found["used"] == [1]
    assert found["stream"] == [0, -1, -7]
    assert found["reset"] == 0
    assert found["tickets"] == [4, 5]
    assert found["ended"] == [[0, 4, 1, 0], [0, 5, 1, 0]]
    assert found["after"] == [0, 6]
    assert found["last"] == [0, 6, 0, 0]


@one_by_default
def test_a_host_hears_that_the_sms_are_lost(driver, tmp_path):
    found = tour("lost_sms", driver, tmp_path)
    assert "failure" not in found, found
    assert found["abort"] == 0
    assert found["record"] == [0, 1, 2, ErrorCode.SM_LOST]
    assert found["after"][0] in (ErrorCode.STREAM_BROKEN, ErrorCode.NO_SM)
    assert found["reset"] == 0
    assert found["still"] == [ErrorCode.NO_SM, 0]


@one_by_default
def test_a_host_orders_streams_and_preempts(driver, tmp_path):
    found = event_tour("orders", driver, tmp_path)
    assert [found[name] for name in ("identify", "begin", "wait", "preempt", "resume")] == [0] * 5
    first, second, urgent = found["tickets"]
    # The urgent one first; the low one was stopped once; the one that waited for it comes last.
    assert found["first"] == [[urgent, 0, 0], [first, 1, 0], [second, 0, 0]]
    assert found["clock"] == [0, 0, True]
    assert found["preempted"] == [0, 0, 2, 1, 0]
    assert found["passes"] == [True, EMPTY]
    assert found["resumed"] == [0]
    assert found["times"] == [True, 2, 1, 0]


@pytest.mark.thorough
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_driver_waits_itself_for_what_is_too_much_for_a_launch(driver, tmp_path):
    found = event_tour("many_pairs", driver, tmp_path)
    assert found["waits"] == [0, 0, 0]
    assert found["none yet"] == EMPTY
    assert found["third"] == 0
    assert found["records"] == found["tickets"]
    assert found["empty"] == EMPTY
    assert TINY.launch_waits == 2


@pytest.mark.thorough
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_host_aborts_streams_and_limits_launches(driver, tmp_path):
    found = event_tour("aborts_and_resets", driver, tmp_path)
    assert found["abort_streams"] == [0, ABORTED]
    assert found["timeout"][0] == 0
    assert found["timed out"] == [1, FAILED, QueueCode.TIMEOUT]
    assert (found["none"], found["reset"], found["ended"], found["earlier"]) == (0, 0, ABORTED, 0)
    assert found["after"] == [0, 0]


@pytest.mark.thorough
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_lone_record_interrupts(driver, tmp_path):
    found = event_tour("interrupts", driver, tmp_path)
    assert found == {"begin": 0, "irq": 0, "timeout": 0, "record": 0}


@pytest.mark.thorough
def test_the_example_runs_in_order(tmp_path):
    found = event_tour("example", "c", tmp_path)
    # 64 blocks twice, one urgent one, and those of the low launch that were stopped.
    assert found["code"] == 0
    assert found["blocks"] > 2 * 64 + 1
    # One stream was held and resumed; it hung, and was cleared alone.
    assert found["second"] == 0


@pytest.mark.thorough
def test_a_driver_made_for_another_configuration_stops(tmp_path):
    crc = config_crc(TINY)
    own, other = (f"WARPLOOM_CONFIG_CRC UINT32_C(0x{n:08X})" for n in (crc, crc ^ 1))
    header = c_header(TINY, "tiny")
    assert own in header
    header = header.replace(own, other)
    found = tour("work", "c", tmp_path, header=header)
    assert found["identify"] == -4


@pytest.mark.parametrize("name", PRESETS)
def test_driver_and_example_compile_for_every_preset(name, tmp_path):
    (tmp_path / "warploom_host.h").write_text(c_header(preset(name), name))
    for source in (*c_driver.SOURCES, "example.c"):
        subprocess.run(
            ["gcc", *c_driver.FLAGS, f"-I{HOST}", f"-I{tmp_path}", "-c", str(HOST / source)],
            check=True,
            cwd=tmp_path,
        )
