"""From a binary to the SMs of the RTL: the recorded calls come out, argument for argument."""

from collections import Counter
from math import prod

import pytest

from tb.deferral.driver_steps import DriverSteps
from tb.deferral.expanded import read_launch
from tb.deferral.test_commands_of_programs import REASONS, store_of
from tb.deferral.test_end_to_end import Run, doubled
from tb.host import c_driver
from tb.host.test_drivers import run_tour
from tb.loops.loop_truth import BINARIES, LEVELS
from tb.loops.recorded_run import build_runtime, record
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from warploom_sim.verilog.register_map import c_header
from warploom_spec.launch import SHARED_UNIT_BYTES

#: Parameters stand in memory; up to three of them travel in inline words.
MEMORY, INLINE = "tiny", "tiny,inline_args=3"
#: Which fields step, by the configuration.
STEPPED = {MEMORY: {"arguments"}, INLINE: {"arguments", "inline"}}
#: The programs whose loops hold launches only.
PROGRAMS = ("launches", "shapes")
TIME_NS = 4_000_000
#: Place of a launch's shared memory among its arguments.
SHARED = 6


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    built = build_runtime(tmp_path_factory.mktemp("runtime"))
    if built is None:
        pytest.fail("no C compiler for the stand-in of CUDA's run-time")
    return built


def steps_of(file, config, runtime, folder):
    """Record a program's run, and send it through front end and back end; return its steps.

    Also the calls of kernels, in their order, each with its values cut to their bits.
    """
    calls = doubled(record(file, runtime, folder))
    store = store_of(file, calls)
    run = Run(file, calls)
    run.play()
    host, at, wanted = DriverSteps(store, config_of(config)), 0, []
    for group in run.groups:
        made = run.log[at : at + group.count * len(group.calls)]
        at += len(made)
        if any(name in store.kernels for name, *_ in made):
            host.add(group, made)
            wanted += (in_units(*host.call(call)) for call in made)
    assert at == len(run.log)
    return host, wanted


def in_units(name, *values):
    """Return a call whose shared memory is in whole units, which is what an SM is told."""
    shared = -(-values[SHARED] // SHARED_UNIT_BYTES) * SHARED_UNIT_BYTES
    return name, *values[:SHARED], shared, *values[SHARED + 1 :]


def launches_of(seen, host, config):
    """Return the calls that the SMs saw, in the order of their tickets.

    All blocks of a launch are there, and each sees the same words.
    """
    words, blocks = {}, Counter()
    for block in seen:
        words.setdefault(block["ticket"], block)
        assert words[block["ticket"]] == block
        blocks[block["ticket"]] += 1
    found = []
    for ticket, fields in sorted(words.items()):
        launch = read_launch(fields, host.memory, host.store, config_of(config))
        assert blocks[ticket] == prod(fields[name] for name in ("gx", "gy", "gz"))
        name, values = launch.call(host.store)
        found.append((name, *values))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("config", "level"),
    deep_but([(MEMORY, 2)], [(MEMORY, 2), *((INLINE, level) for level in LEVELS)]),
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_sms_see_the_programs_calls(program, config, level, runtime, tmp_path):
    file = BINARIES / "built" / f"{program}-O{level}"
    host, wanted = steps_of(file, config, runtime, tmp_path)
    assert host.reasons == REASONS[program]
    loops = [step for step in host.steps if "templates" in step]
    assert len(loops) >= 40 and len(wanted) > 400
    stepped = {name for step in loops for one in step["templates"] for name in one["steps"]}
    assert stepped >= STEPPED[config]
    library = c_driver.build(tmp_path, c_header(config_of(config), "bench"))
    plan = {"module": "tb.deferral.program_tour", "library": str(library), "loops": True}
    plan |= {"given": host.steps, "time": TIME_NS}
    seen = run_tour("groups", "c", tmp_path, config=config, **plan)
    assert "failure" not in seen, seen
    assert launches_of(seen, host, config) == wanted
