"""Each mark against what the program really calls, on a stand-in for CUDA's run-time."""

import stat
from pathlib import Path

import pytest

from tb.loops.loop_truth import BINARIES, at_each_level
from tb.loops.recorded_run import Follower, build_runtime, made_by, record
from tb.support.deep_values import thorough_but
from warploom_loops.elf_image import read_image
from warploom_loops.loop_finder import find_loops
from warploom_loops.marked_elf import marked_program
from warploom_loops.marks import LoopMark
from warploom_loops.program import Program

PROGRAMS = ("launches", "shapes", "copies", "unseen", "late")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build_runtime(tmp_path_factory.mktemp("runtime"))
    if built is None:
        pytest.fail("no C compiler for the stand-in of CUDA's run-time")
    return built


def entries(loop: LoopMark, calls: list) -> list[Follower]:
    """Cut a loop's calls into its entries: a new one begins where the mark does not hold on."""
    found = [Follower(loop)]
    for number, made in calls:
        if not found[-1].accepts(number, made):
            assert found[-1].whole, (loop.function, number, made)
            found.append(Follower(loop))
            assert found[-1].accepts(number, made), (loop.function, number, made)
    return found


@at_each_level
@pytest.mark.parametrize("program", thorough_but(["launches", "copies"], PROGRAMS))
def test_every_mark_tells_the_calls_that_the_program_makes(
    program: str, level: int, runtime: Path, tmp_path: Path
) -> None:
    file = BINARIES / "built" / f"{program}-O{level}"
    calls = record(file, runtime, tmp_path)
    reader = Program(read_image(file))
    marks = find_loops(file)
    ran = 0
    for loop in marks.deferrable:
        made = made_by(loop, reader, calls)
        found = entries(loop, made)
        assert all(entry.whole for entry in found), loop.function
        # Only a loop inside another one is entered twice by these programs.
        assert len(found) == 1 or loop.depth > 1, loop.function
        if made and loop.count is not None:
            assert {entry.iterations for entry in found} == {loop.count}, loop.function
        ran += bool(made)
    assert ran > 15


@at_each_level
def test_a_marked_program_behaves_as_before(level: int, runtime: Path, tmp_path: Path) -> None:
    file = BINARIES / "built" / f"launches-O{level}"
    marked = tmp_path / "marked"
    marked.write_bytes(marked_program(file, find_loops(file)))
    marked.chmod(stat.S_IRWXU)
    before = record(file, runtime, tmp_path)
    after = record(marked, runtime, tmp_path)
    assert len(before) > 100

    def places(calls: list) -> list:
        # Libraries lie elsewhere in each run.
        return [(made.name, [r for r in made.returns if r < 1 << 32]) for made in calls]

    assert places(before) == places(after)
