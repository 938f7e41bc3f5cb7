"""Run the tests of blocks with counting builds, and add up what they reached."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from warploom_dev.coverage.collector import BLOCKS, raw_folder
from warploom_dev.coverage.counted_builds import builds
from warploom_dev.coverage.coverage_figures import NAMED, Row, Share
from warploom_dev.coverage.points import KINDS, VERILOG, Point, merged, read_points, source_of
from warploom_dev.coverage.simulation import counting_build, hash_of
from warploom_dev.coverage.waivers import waived, waived_case
from warploom_sim.cosim.lockstep.checker import Outcome
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

#: A block's tests stand in files of the block's name; the unpacker's beside the packer's.
_FILES_OF: Final = {"index_unpacker": "index_packer"}
#: What `make test-all` runs, and the deep tests whose marker says that they count.
COUNTED: Final = "coverage or not (deep or fpga)"
#: Exit codes of pytest: all passed, some failed.
_PASSED, _FAILED = 0, 1


def test_files(block: str) -> list[str]:
    """Return the files with a block's tests, without those that change its source.

    Raises
    ------
    WarploomError
        If there is none: pytest would run every test there is.
    """
    name = _FILES_OF.get(block, block)
    pattern = f"tb/*/test_{name}*.py"
    paths = sorted(path for path in Path().glob(pattern) if "wrong_rules" not in path.name)
    if not paths:
        raise WarploomError(f"block {block} has no tests: {pattern} names no file")
    return [str(path) for path in paths]


def run_tests(blocks: Sequence[str], seed: int, jobs: int) -> None:
    """Run the tests of some blocks; each run of a counted build leaves its counts.

    Raises
    ------
    ProgramError
        If a test fails, or pytest does.
    """
    files = sorted({file for block in blocks for file in test_files(block)})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "warploom_dev.coverage.collector"]
    command += ["-m", COUNTED, "-n", str(jobs), "--seed", str(seed), *files]
    done = subprocess.run(command, env={**os.environ, BLOCKS: ",".join(blocks)}, check=False)
    if done.returncode != _PASSED:
        what = "a test failed" if done.returncode == _FAILED else "pytest did not run"
        raise ProgramError(f"{what} with counting builds (pytest's exit code {done.returncode})")


def row_of(block: str, seed: int) -> Row:
    """Return a block's figures from the counts that runs have left.

    Raises
    ------
    ProgramError
        If no test ran one of its builds: its points would be missing on both sides.
    """
    shares: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    branches: list[str] = []
    signals: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    cycles, hashes = 0, {}
    for build in builds()[block]:
        component = build.component()
        hashes[build.text] = hash_of(component)
        raw = raw_folder(block, hashes[build.text])
        runs = list(_outcomes(raw))
        if not sum(outcome.cycles for outcome in runs):
            raise ProgramError(f"{block}: no test ran a cycle of its build {build.text}")
        verilog = (counting_build(component) / VERILOG).read_text().splitlines()
        points = merged(read_points(path.read_text(), verilog) for path in raw.glob("*.dat"))
        left_out = waived(block, points)
        for point, count in points.items():
            if point in left_out:
                shares[point.kind]["waived"] += 1
                continue
            shares[point.kind]["total"] += 1
            shares[point.kind]["reached"] += count > 0
            if not count and point.kind == "branch":
                branches.append(place(point, verilog))
            elif not count:
                signals[re.sub(r"\[\d+\]:.*|:.*", "", point.text)] += 1
        for outcome in runs:
            cycles += outcome.cycles
            # A case that never happened counts as well: an update of a Counter keeps its 0.
            cases.update(outcome.counts)
    lacking = [f"{name} ({count} edges)" for name, count in signals.most_common(NAMED)]
    return Row(
        block=block,
        builds=hashes,
        seed=seed,
        cycles=cycles,
        branch=_share(shares["branch"]),
        toggle=_share(shares["toggle"]),
        lacking=sorted(branches) + lacking,
        cases={
            name: count for name, count in sorted(cases.items()) if not waived_case(block, name)
        },
    )


def _share(counts: Counter[str]) -> Share:
    return Share(**{name: counts[name] for name in ("reached", "total", "waived")})


def place(point: Point, verilog: Sequence[str]) -> str:
    """Return a branch as a report names it: module, side, source line, its text."""
    side = point.name.partition(" ")[0]
    where = ".".join(filter(None, (point.module, side)))
    # An attribute in the line has the source's place on this machine.
    text = re.sub(r"\(\* .*? \*\) ?", "", verilog[point.line - 1]).strip()
    return f"{where} at {source_of(verilog, point.line)}: {text}"


def _outcomes(raw: Path) -> Iterator[Outcome]:
    """Yield the outcomes of all runs of a build."""
    for path in sorted(raw.glob("*.json")):
        for one in json.loads(path.read_text()):
            yield Outcome.from_json(one)
