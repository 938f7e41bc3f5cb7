"""The verification plan: every rule has a test, and the page is up to date."""

import dataclasses
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom_dev import cli
from warploom_dev.figure_rows import STALE
from warploom_dev.formal import outcomes
from warploom_dev.verification import plan
from warploom_dev.verification.property_rules import PROPERTY_RULES
from warploom_dev.verification.rules import Named, Page, named_rules, page_of
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[2]

PAGE = """# Toy
1. A step that is no rule, before the heading.

## The exact machine
1. It counts from t + 1 on. A second sentence.
2. Of [two](x.md), the
   first wins.

## Timing
1. No rule.
"""


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_every_rule_has_a_test_that_names_it():
    assert plan.unchecked(plan.plan_pages(), named_rules()) == []


def test_the_page_is_up_to_date():
    written = plan.page_text(plan.PAGE.read_text(), plan.Figures.committed())
    assert plan.PAGE.read_text() == written, "run: make figures"


def test_each_property_states_rules_of_its_page():
    names = {
        f"{name}.{check}" for name in outcomes.benches() for check in outcomes.stated(name).checks
    }
    assert {name for stated in PROPERTY_RULES.values() for name in stated} == names
    for page, stated in PROPERTY_RULES.items():
        rules = page_of(page).rules
        for name, numbers in stated.items():
            assert numbers and set(numbers) <= rules.keys(), name


def toy(tmp_path: Path, text: str) -> Page:
    """Write a page and return what is read of it."""
    folder = tmp_path / "docs" / "toys"
    folder.mkdir(parents=True)
    (folder / "toy.md").write_text(text)
    return page_of("toy")


def test_rules_are_read_with_their_first_sentences(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = toy(tmp_path, PAGE.replace("1. A step that is no rule, before the heading.", ""))
    assert page.path == Path("docs/toys/toy.md")
    assert page.rules == {1: "It counts from t + 1 on.", 2: "Of two, the first wins."}


@pytest.mark.parametrize(("text", "numbers"), [(PAGE, "[1, 1, 2]"), ("# Toy", "[]")])
def test_numbers_that_are_not_in_a_row_are_refused(tmp_path, monkeypatch, text, numbers):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WarploomError, match="legal: 1, 2, 3") as caught:
        toy(tmp_path, text)
    assert f"has the rules {numbers};" in str(caught.value)


def test_names_are_read_from_markers(tmp_path):
    folder = tmp_path / "tb"
    folder.mkdir()
    (folder / "test_toy.py").write_text(
        'import pytest\n\n\n@pytest.mark.rule("toy", 1, 3)\n@pytest.mark.deep\n'
        "def test_it(): ...\n\n\n@pytest.mark.deep\ndef test_more(): ...\n"
    )
    assert named_rules(folder) == [
        Named("toy", number, "tb/test_toy.py", "test_it") for number in (1, 3)
    ]


def test_a_rule_without_a_test_and_a_test_without_its_rule_are_told(monkeypatch):
    page = Page("toy", Path("docs/toys/toy.md"), {1: "One.", 2: "Two."})
    named = [Named("toy", number, "tb/test_toy.py", "test_it") for number in (1, 3)]
    wrong = [
        "toy rule 2: no test names it",
        "tb/test_toy.py::test_it names toy rule 3, which is on no page",
    ]
    assert plan.unchecked([page], named) == wrong
    monkeypatch.setattr("warploom_dev.verification.plan.plan_pages", lambda: [page])
    monkeypatch.setattr("warploom_dev.commands.plan.named_rules", lambda: named)
    result = CliRunner().invoke(cli.main, ["plan"])
    assert result.exit_code == 2
    assert all(line in " ".join(result.stderr.split()) for line in wrong)


def test_stages_follow_from_what_a_block_lacks():
    figures = plan.Figures.committed()
    page = page_of("grid_walker")
    named = [name for name in named_rules() if name.page == "grid_walker"]
    lacks = plan.lacking("grid_walker", page, named, figures)
    assert plan.stage(lacks) >= 2
    without = [name for name in named if name.number != 4]
    assert plan.lacking("grid_walker", page, without, figures) == ["rule 4", *lacks]
    assert plan.stage(["rule 4", *lacks]) == 1
    bad = [{**row, "bug_good": False} for row in figures.formal]
    spoiled = plan.Figures(bad, {}, figures.coverage)
    assert {"mutants", "proofs"} <= set(plan.lacking("grid_walker", page, named, spoiled))
    assert (plan.stage(["mutants"]), plan.stage([])) == (2, 3)


def unmarked(block: str) -> plan.Figures:
    """Return the committed figures, a block's rows without marks."""
    figures = plan.Figures.committed()
    formal = [{**row, "stale": False} for row in figures.formal]
    of_block = (figures.mutants[block], figures.coverage[block])
    mutants, coverage = (dataclasses.replace(row, stale=False) for row in of_block)
    return plan.Figures(formal, {block: mutants}, {block: coverage})


def test_a_figure_of_other_hardware_is_marked_and_signs_no_block_off():
    figures, block = unmarked("index_packer"), "index_packer"
    named = [name for name in named_rules() if name.page == block]
    coverage = dataclasses.replace(figures.coverage[block], stale=True)
    formal = [{**row, "stale": row["bench"] == block} for row in figures.formal]
    figures = dataclasses.replace(figures, formal=formal, coverage={block: coverage})
    lacks = ["coverage measured anew", "proofs asked anew"]
    assert plan.lacking(block, page_of(block), named, figures) == lacks
    text = plan.page_text(plan.PAGE.read_text(), figures)
    (row,) = (line for line in text.splitlines() if line.startswith(f"| [{block}]"))
    assert row.count(f" ({STALE}) |") == 3
    assert f"(proven, {STALE})" in text


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        ({}, []),
        ({"wanted": 48, "mutants": 48, "killed": 47}, ["more mutants"]),
        ({"wanted": 48, "mutants": 48, "killed": 45}, ["mutants"]),
        ({"mutants": 48, "killed": 48}, ["mutants"]),
        ({"stale": True}, ["mutants measured anew"]),
    ],
)
def test_neither_a_sample_nor_mutants_of_other_hardware_sign_a_block_off(changes, lacks):
    figures = unmarked("index_packer")
    row = dataclasses.replace(figures.mutants["index_packer"], **changes)
    figures = dataclasses.replace(figures, mutants={"index_packer": row})
    named = [name for name in named_rules() if name.page == "index_packer"]
    assert plan.lacking("index_packer", page_of("index_packer"), named, figures) == lacks
