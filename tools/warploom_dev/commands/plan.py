"""``python -m warploom_dev plan``: the page of the verification plan."""

import click

from warploom_dev.pages import require
from warploom_dev.verification import plan as verification_plan
from warploom_dev.verification.rules import named_rules
from warploom_sim.json_file import write_whole
from warploom_spec import WarploomError


@click.command()
@click.option("--update", is_flag=True, help="Write the page's tables anew.")
def plan(update: bool) -> None:
    """Compare the verification plan with pages, tests and figures, or write its tables anew.

    The exit code is 0, 2 if the page differs or a rule has no test, 3 if it could not be written.

    \b
    Examples:
      python -m warploom_dev plan
      python -m warploom_dev plan --update
    """
    page = verification_plan.PAGE
    require(page)
    wrong = verification_plan.unchecked(verification_plan.plan_pages(), named_rules())
    if wrong:
        raise WarploomError("\n".join(wrong))
    there = page.read_text()
    made = verification_plan.page_text(there, verification_plan.Figures.committed())
    if update:
        write_whole(page, made)
    elif made != there:
        raise WarploomError(f"{page} differs from pages, tests and figures; run it with --update")
