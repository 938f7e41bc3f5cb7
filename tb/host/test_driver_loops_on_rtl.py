"""The C driver's loops against the core's RTL, over AXI4-Lite."""

import pytest

from tb.host import c_driver
from tb.host.loop_hosts import LOOPING
from tb.host.test_driver_loops_on_core import demand_early_ends, demand_three_templates
from tb.host.test_drivers import run_tour
from warploom_sim.verilog.register_map import c_header

pytestmark = pytest.mark.thorough


def tour(name, folder):
    """Let the C driver take a tour, and return what it found."""
    library = c_driver.build(folder, c_header(LOOPING, "bench"))
    plan = {"loops": True, "module": "tb.host.loop_tours", "library": str(library)}
    plan["time"] = 4_000_000
    found = run_tour(name, "c", folder, config="tiny", **plan)
    assert "failure" not in found, found
    return found


def test_a_loop_over_three_templates_and_two_streams(tmp_path):
    demand_three_templates(tour("few", tmp_path), 6)


def test_a_thousand_iterations_over_three_templates(tmp_path):
    demand_three_templates(tour("thousand", tmp_path), 1000)


def test_after_a_loop_that_ended_early_the_next_is_like_the_first(tmp_path):
    demand_early_ends(tour("early_ends", tmp_path))
