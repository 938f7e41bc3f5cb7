"""The pages that show committed rows, and with them their marks."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from warploom_dev import readme
from warploom_dev.coverage import coverage_figures, coverage_report
from warploom_dev.formal import formal_report
from warploom_dev.mutate import mutate_figures, mutate_report
from warploom_dev.synth import costs, families, synth_figures, synth_report
from warploom_dev.verification import plan

#: All of them, in the repository.
PAGES: Final = (
    synth_report.PAGE,
    *costs.PAGES,
    mutate_report.PAGE,
    coverage_report.PAGE,
    formal_report.PAGE,
    plan.PAGE,
    readme.PAGE,
)


def texts() -> dict[Path, str]:
    """Return the pages' texts with the committed rows and their marks.

    Raises
    ------
    WarploomError
        If a page lacks the lines between which they stand.
    """
    synth = list(synth_figures.read(synth_figures.FILE).values())
    mutants = mutate_figures.read(mutate_figures.FILE).values()
    coverage = coverage_figures.read(coverage_figures.FILE).values()
    written: dict[Path, Callable[[str], str]] = {
        synth_report.PAGE: lambda text: families.page_text(
            synth_report.page_text(text, synth), list(families.read().values())
        ),
        mutate_report.PAGE: lambda text: mutate_report.page_text(text, mutants),
        formal_report.PAGE: lambda text: formal_report.page_text(text, formal_report.read()),
        plan.PAGE: lambda text: plan.page_text(text, plan.Figures.committed()),
        readme.PAGE: lambda text: readme.page_text(Path(), text),
    }
    made = {page: write(page.read_text()) for page, write in written.items()}
    return (
        made | costs.page_texts(synth) | {coverage_report.PAGE: coverage_report.page_with(coverage)}
    )
