"""An opcode is added by CONTRIBUTING's steps alone; a forgotten step is named."""

from pathlib import Path

import pytest

from tb.support.deep_values import deep_but
from tb.toys.overlay import copied, python
from tb.toys.ping import EDITS

#: Files of the product that an opcode may change, at most.
MOST_FILES = 8
FILES = tuple(dict.fromkeys(edit.file for edit in EDITS))
#: Look for what an opcode lacks: in the drivers; in the mailbox and its model.
DRIVERS = ("tb/host/test_driver_fields.py",)
VERDICTS = ("tb/toys/check_ping.py", "-k", "verdict")


def test_so_few_files_change() -> None:
    assert len(FILES) <= MOST_FILES


@pytest.mark.thorough
def test_it_works_in_rtl_model_header_and_drivers(tmp_path: Path) -> None:
    done = python(copied(tmp_path, EDITS), "-m", "pytest", "-q", "-x", "tb/toys/check_ping.py")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.thorough
@pytest.mark.parametrize("file", deep_but(FILES[::3], FILES))
def test_a_forgotten_file_is_named(file: str, tmp_path: Path) -> None:
    # Of the specification the row is forgotten: without the number there is no opcode.
    edits = [edit for edit in EDITS if edit.file != file or edit is EDITS[0]]
    look = DRIVERS if file.startswith("host/") else VERDICTS
    done = python(copied(tmp_path, edits), "-m", "pytest", "-q", *look)
    said = [line for line in done.stdout.splitlines() if file in line]
    assert done.returncode and said, done.stdout[-4000:] + done.stderr[-2000:]
    assert "PING" in done.stdout


@pytest.mark.thorough
def test_types_name_a_mailbox_that_lacks_it(tmp_path: Path) -> None:
    """Mypy holds the judgements complete, before anything runs."""
    mailboxes = [file for file in FILES if file.endswith(("mailbox.py", "_verdict.py"))]
    folder = copied(tmp_path, [edit for edit in EDITS if edit.file not in mailboxes])
    done = python(folder, "-m", "mypy", *mailboxes)
    for file in mailboxes:
        wrong = [line for line in done.stdout.splitlines() if line.startswith(f"{file}:")]
        assert any("assert_never" in line and "PING" in line for line in wrong), done.stdout
