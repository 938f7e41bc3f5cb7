"""The plan's page: each block's stage, and each rule with its checks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from warploom_dev.coverage import coverage_figures
from warploom_dev.figure_rows import STALE, marked
from warploom_dev.formal import formal_report
from warploom_dev.mutate import mutate_figures
from warploom_dev.pages import markdown_table, section_replaced
from warploom_dev.verification.property_rules import PROPERTY_RULES
from warploom_dev.verification.rules import PAGE_OF, Named, Page, named_rules, page_of
from warploom_sim.verilog.blocks import BLOCKS

PAGE: Final = Path("docs/verification.md")
BEGIN: Final = "<!-- Written by `python -m warploom_dev plan --update`. -->"
_STAGES: Final = {1: "1 written", 2: "2 complete", 3: "3 signed off"}


@dataclass(frozen=True)
class Figures:
    """The committed figures that the plan shows: formal rows, mutants and coverage by block."""

    formal: Sequence[formal_report.Row]
    mutants: Mapping[str, mutate_figures.Row]
    coverage: Mapping[str, coverage_figures.Row]

    @classmethod
    def committed(cls) -> "Figures":
        """Read those of the repository."""
        return cls(
            formal_report.read(),
            mutate_figures.read(mutate_figures.FILE),
            coverage_figures.read(coverage_figures.FILE),
        )

    def properties(self, page: str) -> dict[str, formal_report.Row]:
        """Return the rows of a page's properties by their names, ``bench.check``."""
        rows = {f"{row['bench']}.{row['check']}": row for row in self.formal}
        return {name: rows[name] for name in PROPERTY_RULES.get(page, {}) if name in rows}


def plan_pages() -> list[Page]:
    """Return the pages of all blocks, also of those that are not handed out yet."""
    names = dict.fromkeys(PAGE_OF.get(block, block) for block in BLOCKS)
    return [page_of(name) for name in names]


def unchecked(pages: Sequence[Page], named: Sequence[Named]) -> list[str]:
    """Return a line for each rule that no test names, and for each name without a rule."""
    rules = {(page.name, number) for page in pages for number in page.rules}
    checked = {(name.page, name.number) for name in named}
    lacking = [f"{page} rule {number}: no test names it" for page, number in rules - checked]
    return sorted(lacking) + [
        f"{name.file}::{name.test} names {name.page} rule {name.number}, which is on no page"
        for name in named
        if (name.page, name.number) not in rules
    ]


def lacking(block: str, page: Page, named: Sequence[Named], figures: Figures) -> list[str]:
    """Return what keeps a block from being signed off; nothing if it is."""
    checked = {name.number for name in named if name.page == page.name}
    found = [f"rule {number}" for number in page.rules if number not in checked]
    mutants = figures.mutants.get(block)
    if mutants is None or mutate_figures.shortfalls(mutants, mutants.wanted):
        found.append("mutants")
    elif mutants.wanted < mutate_figures.MUTANTS:
        found.append("more mutants")
    elif mutants.stale:
        found.append("mutants measured anew")
    coverage = figures.coverage.get(block)
    if coverage is None or coverage_figures.shortfalls(coverage):
        found.append("coverage")
    elif coverage.stale:
        found.append("coverage measured anew")
    properties = figures.properties(block).values()
    if not all(_is_good(row) for row in properties):
        found.append("proofs")
    elif any(row["stale"] for row in properties):
        found.append("proofs asked anew")
    return found


def _is_good(row: Mapping[str, Any]) -> bool:
    return all(row.get(f"{kind}_good") for kind in ("proof", "cover", "bug"))


def stage(lacks: Sequence[str]) -> int:
    """Return a block's stage from what it lacks."""
    if any(one.startswith("rule ") for one in lacks):
        return 1
    return 2 if lacks else 3


def page_text(text: str, figures: Figures) -> str:
    """Return the page's text with its tables written anew."""
    pages, named = plan_pages(), named_rules()
    content = [_summary(pages, named, figures)]
    for page in pages:
        content += [f"## {page.name}", _rules_table(page, named, figures)]
    return section_replaced(PAGE, text, BEGIN, "\n\n".join(content))


_SUMMARY: Final = (
    "block",
    "rules",
    "tests",
    "properties",
    "mutants",
    "branches",
    "toggles",
    "stage",
    "lacks",
)


def _summary(pages: Sequence[Page], named: Sequence[Named], figures: Figures) -> str:
    by_name = {page.name: page for page in pages}
    rows = []
    for block in BLOCKS:
        page = by_name[PAGE_OF.get(block, block)]
        lacks = lacking(block, page, named, figures)
        rows.append(
            (
                f"[{block}]({page.path.relative_to('docs')})",
                str(len(page.rules)),
                str(len({(n.file, n.test) for n in named if n.page == page.name})),
                _proofs(figures.properties(block)),
                _mutants(figures.mutants.get(block)),
                *_coverage(figures.coverage.get(block)),
                _STAGES[stage(lacks)],
                ", ".join(lacks) or "-",
            )
        )
    return markdown_table(_SUMMARY, rows, ("block", "stage", "lacks"))


def _proofs(properties: Mapping[str, formal_report.Row]) -> str:
    proven = sum(row["proof_answer"] == "proven" for row in properties.values())
    if not properties:
        return "-"
    stale = any(row["stale"] for row in properties.values())
    return marked(f"{proven} proven, {len(properties) - proven} bounded", stale)


def _mutants(row: mutate_figures.Row | None) -> str:
    if row is None:
        return "-"
    sample = " (a sample)" if row.wanted < mutate_figures.MUTANTS else ""
    return marked(f"{row.killed} of {row.mutants}{sample}", row.stale)


def _coverage(row: coverage_figures.Row | None) -> tuple[str, str]:
    if row is None:
        return "-", "-"
    # Rounded down: no figure below the goal reads as the goal.
    branch, toggle = (f"{int(share.rate * 1000) / 10:.1f} %" for share in (row.branch, row.toggle))
    return marked(branch, row.stale), marked(toggle, row.stale)


def _rules_table(page: Page, named: Sequence[Named], figures: Figures) -> str:
    properties = figures.properties(page.name)
    rows = []
    for number, sentence in page.rules.items():
        stated = [
            f"`{name}` ({row['proof_answer']}{f', {STALE}' if row['stale'] else ''})"
            for name, row in properties.items()
            if number in PROPERTY_RULES[page.name][name]
        ]
        tests = list(_tests(number, page.name, named))
        rows.append((str(number), sentence, "; ".join(tests) or "-", ", ".join(stated) or "-"))
    return markdown_table(
        ("rule", "says", "tests", "properties"), rows, ("says", "tests", "properties")
    )


def _tests(number: int, page: str, named: Sequence[Named]) -> Iterator[str]:
    """Yield each file with the tests in it that name a rule."""
    files: dict[str, list[str]] = {}
    for name in named:
        if (name.page, name.number) == (page, number):
            files.setdefault(name.file, []).append(name.test.removeprefix("test_"))
    for file, tests in files.items():
        yield f"[{Path(file).stem}](../{file}): {', '.join(f'`{test}`' for test in tests)}"
