"""A sixth resource is added by CONTRIBUTING's steps alone; a forgotten step is named."""

from pathlib import Path

import pytest

from tb.support.deep_values import deep_but
from tb.toys.overlay import copied, python
from tb.toys.tensor import EDITS

#: Files of the product that a resource may change, at most.
MOST_FILES = 10
FILES = tuple(dict.fromkeys(edit.file for edit in EDITS))
#: Looks for what a resource lacks: in the specification, in the report, in the C driver.
LOOK = ("-m", "pytest", "-q", "-x", "tb/host/test_driver_fields.py", "tb/toys/check_report.py")


def test_so_few_files_change() -> None:
    assert len(FILES) <= MOST_FILES


@pytest.mark.thorough
def test_it_works_in_rtl_models_header_drivers_and_tool(tmp_path: Path) -> None:
    done = python(copied(tmp_path, EDITS), "-m", "pytest", "-q", "-x", "tb/toys/check_tensor.py")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.deep
def test_a_replay_compares_it(tmp_path: Path) -> None:
    options = ("-q", "-m", "deep", "tb/toys/check_tensor.py")
    done = python(copied(tmp_path, EDITS), "-m", "pytest", *options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.thorough
@pytest.mark.parametrize("file", deep_but(FILES[1::3], FILES[1:]))
def test_a_forgotten_file_is_named(file: str, tmp_path: Path) -> None:
    folder = copied(tmp_path, [edit for edit in EDITS if edit.file != file])
    done = python(folder, *LOOK)
    said = [line for line in done.stdout.splitlines() if f"({file})" in line]
    assert done.returncode and said, done.stdout[-4000:] + done.stderr[-2000:]
    assert any("tensor" in line.lower() for line in said)
