"""Marks of random programs, compiled by nvcc, against what the programs really call."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tb.loops.loop_truth import BINARIES, LEVELS
from tb.loops.random_loops import Writer
from tb.loops.recorded_run import Follower, build_runtime, made_by, record
from warploom_loops.elf_image import read_image
from warploom_loops.loop_finder import find_loops
from warploom_loops.program import Program

FUNCTIONS = 60
#: The programs' arguments: none, some and many iterations, bounds on both sides.
ARGUMENTS = ((6, 3), (9, 2), (5, 5), (1, 0), (8, -1), (12, 7))
NVCC = shutil.which("nvcc")


@pytest.mark.deep
@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("level", LEVELS)
def test_every_mark_of_a_random_program_tells_its_calls(
    level: int, seed: int, tmp_path: Path
) -> None:
    runtime = build_runtime(tmp_path)
    assert runtime is not None
    source, program = tmp_path / "random.cu", tmp_path / "random"
    source.write_text(Writer(seed).program(FUNCTIONS))
    options = [f"-O{level}", "-w", "-arch=sm_75", "-cudart", "shared", f"-I{BINARIES}"]
    subprocess.run([NVCC, *options, "-o", program, source], check=True)
    marks = find_loops(program)
    reader = Program(read_image(program))
    assert len(marks.deferrable) > FUNCTIONS // 10
    for arguments in ARGUMENTS:
        calls = record(program, runtime, tmp_path, *map(str, arguments))
        for loop in (loop for loop in marks.deferrable if loop.depth == 1):
            follower = Follower(loop)
            made = made_by(loop, reader, calls)
            for number, call in made:
                assert follower.accepts(number, call), (loop.function, arguments, number, call)
            assert follower.whole, (loop.function, arguments)
            if made and loop.count is not None:
                assert follower.iterations == loop.count, (loop.function, arguments)
