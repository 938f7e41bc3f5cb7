"""Values of a parametrized test of which some run by default, the others in ``make test-deep``."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

#: Of a value that runs in the long run alone; `make coverage` counts its runs all the same.
MARKS = (pytest.mark.deep, pytest.mark.coverage)


def deep_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return parameters for pytest: all values, marked as deep but for those kept.

    A tuple is the values of several arguments.

    Raises
    ------
    ValueError
        If a value that is to be kept is none of them: the default run would miss it unseen.
    """
    found = list(values)
    if missing := [value for value in kept if value not in found]:
        raise ValueError(f"kept are {missing!r}; legal: {found!r}")
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if value in kept else MARKS,
        )
        for value in found
    ]


#: A block's simulators beside Amaranth's. On Verilator it runs in the long run, and by default as a
#: part of FrontEnd, LaunchPath or IndexGenerator.
OTHER_SIMULATORS = deep_but(["icarus"], ["icarus", "verilator"])
