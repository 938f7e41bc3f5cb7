"""Records of the event model: NumPy's, which compiled functions change.

A class says by its annotations what the fields of a record are.
"""

from typing import (
    Annotated,
    Any,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from warploom_spec import RESOURCES

Integers = NDArray[np.int64]
#: One amount of each resource.
Amounts = Annotated[Integers, len(RESOURCES)]

Row = TypeVar("Row", covariant=True)


class Rows(Protocol[Row]):
    """An array of records."""

    def __getitem__(self, index: int) -> Row:
        """Return one record, by reference."""


class Grid(Protocol[Row]):
    """An array of records in two dimensions."""

    def __getitem__(self, index: tuple[int, int]) -> Row:
        """Return one record, by reference."""


def record(kind: type) -> np.dtype[np.void]:
    """Return the layout of the records that a class describes."""
    hints = get_type_hints(kind, include_extras=True)
    return np.dtype([(name, *_field(hint)) for name, hint in hints.items()], align=True)


def _field(hint: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the type and the shape of a field with such a type hint."""
    if get_origin(hint) is not Annotated:
        return {bool: np.bool_, int: np.int64}.get(hint) or record(hint), ()
    array, *shape = get_args(hint)
    rows = get_origin(array) in (Rows, Grid)
    return record(get_args(array)[0]) if rows else np.int64, tuple(shape)
