"""Values of a parametrized test of which some run by default, the others in longer runs.

Those that are *thorough* run in ``make test-all``, those that are *deep* in ``make test-deep``.
"""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

#: Of a value that runs in the long run alone; `make coverage` counts its runs all the same.
MARKS = (pytest.mark.deep, pytest.mark.coverage)


def deep_but(
    kept: Collection[Any], values: Iterable[Any], *, thorough: Collection[Any] = ()
) -> list[Any]:
    """Return parameters for pytest: all values, marked as deep but for those kept or thorough.

    A tuple is the values of several arguments.

    Raises
    ------
    ValueError
        If a value that is to be kept, or thorough, is none of them: a run would miss it unseen.
    """
    found = list(values)
    if missing := [value for value in (*kept, *thorough) if value not in found]:
        raise ValueError(f"kept or thorough are {missing!r}; legal: {found!r}")

    def marked(value: Any) -> Any:
        rest = pytest.mark.thorough if value in thorough else MARKS
        arguments = value if isinstance(value, tuple) else (value,)
        return pytest.param(*arguments, marks=() if value in kept else rest)

    return [marked(value) for value in found]


def thorough_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return parameters for pytest: all values, marked as thorough but for those kept.

    A tuple is the values of several arguments.

    Raises
    ------
    ValueError
        As `deep_but`.
    """
    found = list(values)
    return deep_but(kept, found, thorough=[value for value in found if value not in kept])


#: A block's simulators beside Amaranth's. On Verilator it runs in the long run, and by default as a
#: part of FrontEnd, LaunchPath or IndexGenerator. On Icarus one block runs by default.
OTHER_SIMULATORS = deep_but([], ["icarus", "verilator"], thorough=["icarus"])
