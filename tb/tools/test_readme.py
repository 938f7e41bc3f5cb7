"""README's badges and table follow from their data."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tb.support.public_address import ADDRESS, set_address
from warploom_dev import cli
from warploom_dev.address import file_address, project_address
from warploom_dev.beside_streams import FIGURES as BESIDE
from warploom_dev.method_figures import FILE, MEASUREMENTS, measure
from warploom_dev.readme import FORMAL, LATENCY, MUTANTS, PAGE, SYNTH, WORKFLOW, badges, works

ROOT = Path(__file__).parents[2]
#: Measured in a second or two; the others take longer.
QUICK = ("steal", "defer")
COMMITTED = json.loads((ROOT / FILE).read_text())


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of README and of what it is made from."""
    made_from = (SYNTH, LATENCY, FORMAL, MUTANTS, BESIDE, WORKFLOW, FILE)
    for file in (PAGE, *made_from, Path("pyproject.toml")):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def readme(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.main, ["readme", *arguments])
    return done.exit_code, done.output


def test_the_readme_is_what_its_data_say(checkout: Path) -> None:
    assert readme() == (0, ""), "run: .venv/bin/python -m warploom_dev readme --update"


def test_badges_follow_the_address_and_nothing_else(checkout: Path) -> None:
    assert badges(ROOT, "") == ""
    assert ("![test]" in (checkout / PAGE).read_text()) == bool(project_address(ROOT))
    set_address(checkout)
    code, said = readme()
    assert code == 2 and "README.md differs from its data; run it with --update" in said
    assert readme("--update") == (0, "")
    text = (checkout / PAGE).read_text()
    workflow = f"{ADDRESS}/actions/workflows/{WORKFLOW.name}"
    assert f"]({workflow}/badge.svg?branch=main)]({workflow})" in text
    assert "![Python 3.11 to 3.13]" in text and "![Licence: Apache-2.0]" in text
    assert readme() == (0, "")


def test_an_address_leads_to_files_and_folders() -> None:
    assert file_address(ADDRESS, ROOT, "hdl") == f"{ADDRESS}/tree/main/hdl"
    assert file_address(ADDRESS, ROOT, "LICENSE") == f"{ADDRESS}/blob/main/LICENSE"


@pytest.mark.parametrize("latency", ["doorbell_to_first_block", "wait_to_first_offer"])
def test_the_table_has_nine_rows_and_the_committed_figures(checkout: Path, latency: str) -> None:
    table = works(ROOT)
    assert len(table.splitlines()) == 2 + 9
    for figure in ("launches", "commands"):
        assert f"{COMMITTED['defer'][figure]:,}" in table
    committed = json.loads((checkout / LATENCY).read_text())
    committed[latency] += 1
    (checkout / LATENCY).write_text(json.dumps(committed))
    code, said = readme()
    assert code == 2 and "differs from its data" in said


@pytest.mark.parametrize(
    ("file", "field", "other"),
    [(FORMAL, "proof_answer", "not proven"), (MUTANTS, "killed", 0), (MUTANTS, "stale", None)],
)
def test_the_numbers_of_proofs_and_mutants_are_the_committed_ones(
    checkout: Path, file: Path, field: str, other: object
) -> None:
    rows = json.loads((checkout / file).read_text())
    rows[0][field] = not rows[0][field] if other is None else other
    (checkout / file).write_text(json.dumps(rows))
    code, said = readme()
    assert code == 2 and "differs from its data" in said


def test_a_readme_without_its_marks_is_refused(checkout: Path) -> None:
    (checkout / PAGE).write_text("# Warploom\n")
    code, said = readme("--update")
    assert code == 2 and re.search(r"README\.md lacks a line: <!-- Written by", said)


@pytest.mark.parametrize("name", QUICK)
def test_a_methods_figures_are_those_of_its_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert measure(name) == COMMITTED[name]


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted({*MEASUREMENTS} - {*QUICK}))
def test_the_other_methods_figures_are_those_of_their_commands(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert measure(name) == COMMITTED[name]


def test_every_method_has_committed_figures() -> None:
    assert [*COMMITTED] == [*MEASUREMENTS]
