"""From a binary to the core's commands: a LOOP launches what the program called, call by call."""

import pytest

from tb.deferral.expanded import Heap, launched
from tb.deferral.test_end_to_end import Run, doubled
from tb.loops.loop_truth import BINARIES, at_each_level
from tb.loops.recorded_run import build_runtime, record
from tb.loops.test_marks_against_runs import PROGRAMS
from tb.support.deep_values import thorough_but
from warploom_golden.deferral.commands import Commands, to_commands
from warploom_golden.deferral.kernel_store import CoreStream, Kernel, KernelStore
from warploom_golden.deferral.refusal import Reason
from warploom_loops.elf_image import read_image
from warploom_spec import preset

CONFIG = preset("default")
CODE = 0x4000
#: Why groups of the programs cannot become a LOOP, with all of a program's loops together.
REASONS = {
    "launches": {Reason.BYTES, Reason.FIXED_FIELD},
    "shapes": set(),
    "copies": {Reason.NOT_A_LAUNCH},
    "unseen": {Reason.BYTES, Reason.NOT_A_LAUNCH},
    "late": {Reason.BYTES, Reason.NOT_A_LAUNCH},
}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    built = build_runtime(tmp_path_factory.mktemp("runtime"))
    if built is None:
        pytest.fail("no C compiler for the stand-in of CUDA's run-time")
    return built


def store_of(file, calls):
    """Return a store with a program's kernels, and a stream for each handle that it uses."""
    sizes = read_image(file).kernels
    kernels = {
        name: Kernel(code=CODE + number, parameters=tuple(sizes[name]))
        for number, name in enumerate(sizes)
    }
    streams = {0: CoreStream(0)}
    for call in calls:
        if call.name in kernels:
            streams.setdefault(call.values[7], CoreStream(len(streams)))
    return KernelStore(kernels=kernels, streams=streams)


@at_each_level
@pytest.mark.parametrize("program", thorough_but(["launches", "copies"], PROGRAMS))
def test_a_loop_launches_what_the_program_called(program, level, runtime, tmp_path):
    file = BINARIES / "built" / f"{program}-O{level}"
    calls = doubled(record(file, runtime, tmp_path))
    store = store_of(file, calls)
    run = Run(file, calls)
    run.play()
    at, loops, reasons = 0, 0, set()
    for group in run.groups:
        made = run.log[at : at + group.count * len(group.calls)]
        at += len(made)
        if group.count == 1:
            continue
        heap = Heap()
        found = to_commands(group, store, CONFIG, heap)
        if not isinstance(found, Commands):
            reasons.add(found.reason)
            continue
        loops += 1
        wanted = [(name, values) for name, *values in made if name in store.kernels]
        got = [one.call(store) for one in launched(found, store, CONFIG)]
        assert got == wanted
    assert at == len(run.log)
    assert reasons == REASONS[program]
    assert loops >= 10
