"""A check of a copy of the product: the report's charts can be imported."""

from warploom_sim.replay.analysis.limits import LIMITS
from warploom_sim.views.html_report.charts import STYLES


def test_every_limit_has_a_colour() -> None:
    assert set(STYLES) == set(LIMITS)
