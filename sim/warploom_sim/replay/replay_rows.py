"""Rows of a replay's launches and blocks, as NumPy arrays."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from warploom_spec import RESOURCES, Fate
from warploom_spec.extras import need

Integers = NDArray[np.int64]
#: Times, and parts of a whole.
Shares = NDArray[np.float64]
#: In a column of cycles: what never happened, such as a refused launch's first offer.
NEVER: Final = -1
#: Fate of a launch that LaunchCheck refused; every other fate is one of `warploom_spec.Fate`.
REFUSED: Final = -1


class _Columns:
    """Columns of one length."""

    def __len__(self) -> int:
        first: Any = next(iter(vars(self).values()))
        return len(first)

    def rows(self, chosen: NDArray[Any]) -> Self:
        """Return some rows, chosen by a mask or by their numbers."""
        return type(self)(**{name: column[chosen] for name, column in vars(self).items()})

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return every column of one dimension by name; of wider ones a column for each part."""
        found: dict[str, NDArray[Any]] = {}
        # Each table of columns is a dataclass; this base, of which there is none, is not.
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            column = getattr(self, field.name)
            if column.ndim == 1:
                found[field.name] = column
            else:
                parts = field.metadata["parts"]
                found |= {f"{field.name}_{part}": column[:, k] for k, part in enumerate(parts)}
        return found

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame`` with a row each.

        Raises
        ------
        WarploomError
            If pandas is not installed.
        """
        return need("pandas", "compare", "a frame").DataFrame(self.columns())


def _parts(*names: str) -> Any:
    return dataclasses.field(metadata={"parts": names})


@dataclass(frozen=True, kw_only=True, eq=False)
class Launches(_Columns):
    """A row for each launch, in the order in which they were sent.

    Cycles count from 0, the first cycle after reset. `NEVER` (-1) stands for what did not happen:
    a refused launch has neither offers nor an end.

    Attributes
    ----------
    name : array of object
        The kernel's name.
    stream : array of int64
        Number of its stream in the replay.
    arrival : array of int64
        Cycle from which on it may be sent: that of its recorded call. Without ``arrivals`` it
        arrives when the launch path has room: ``transfer``.
    transfer : array of int64
        Cycle in which it transfers at LaunchPath's port ``launch``.
    resident : array of int64
        First cycle in which it is resident in the dispatcher, the last time if it was killed.
    first_offer, last_offer, last_report : array of int64
        Cycles of its first and of its last block's offer, and of its last block's report.
    held, held_after : array of int64
        For how long its blocks held their slots, summed: in all, and after its last offer.
    end : array of int64
        Cycle in which its final record is at `record`.
    left : array of int64
        First cycle in which it is no longer resident, as far as its record says.
    blocks : array of int64
        Blocks that were offered.
    hit : array of bool
        Whether its thread indices stood in the index memory already.
    fate : array of int64
        A `warploom_spec.Fate`, or `REFUSED`.
    code : array of int64
        `warploom_spec.ErrorCode` of a refusal, else 0.
    awaits : array of object
        Rows of the launches of other streams whose ends it waits for: a tuple.
    grid, block : array of int64, shape (launches, 3)
        Blocks of the grid, threads of a block.
    takes : array of int64, shape (launches, 5)
        What one block takes of an SM, in the order and the units of `warploom_spec.RESOURCES`.
    places : array of int64
        How many of its blocks run at once at most: all of them, or as many as fit on the SMs.
    length : array of int64
        Base length of its blocks in cycles, before the jitter.
    recorded_start, recorded_us : array of float64
        When it began, and how long it ran, on the recorded GPU, in microseconds; NaN if unknown.
    replayed_start, replayed_us : array of float64
        The same in the replay, from its first offer to its last report; NaN if it did not finish.
    """

    name: NDArray[np.object_]
    stream: Integers
    arrival: Integers
    transfer: Integers
    resident: Integers
    first_offer: Integers
    last_offer: Integers
    last_report: Integers
    held: Integers
    held_after: Integers
    end: Integers
    left: Integers
    blocks: Integers
    hit: NDArray[np.bool_]
    fate: Integers
    code: Integers
    awaits: NDArray[np.object_]
    grid: Integers = _parts("x", "y", "z")
    block: Integers = _parts("x", "y", "z")
    takes: Integers = _parts(*RESOURCES)
    places: Integers
    length: Integers
    recorded_start: Shares
    recorded_us: Shares
    replayed_start: Shares
    replayed_us: Shares

    @property
    def error(self) -> Shares:
        """How much longer it took than recorded, as a part of that; NaN if unknown."""
        known = np.where(self.recorded_us > 0, self.recorded_us, np.nan)
        error: Shares = self.replayed_us / known - 1
        return error

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Whether each launch ran to its end."""
        return np.equal(self.fate, Fate.FINISHED)

    @property
    def latency(self) -> Integers:
        """Cycles from a launch's arrival to its end; `NEVER` if it did not finish."""
        return np.where(self.finished, self.end - self.arrival, NEVER)

    @property
    def after_last_offer(self) -> Integers:
        """Cycles from the last offer to the last report; `NEVER` if it did not finish."""
        return np.where(self.finished, self.last_report - self.last_offer, NEVER)

    @property
    def lost(self) -> Integers:
        """For how long `places` stood empty after its last offer, summed."""
        return self.places * (self.last_report - self.last_offer) - self.held_after

    @property
    def sm_time_lost(self) -> Shares:
        """Part of its SM time lost after its last offer; NaN if it did not finish.

        Its SM time is `places` times `cycles`.
        """
        had = np.maximum(self.places * self.cycles, 1)
        return np.where(self.finished, self.lost / had, np.nan)

    @property
    def cycles(self) -> Integers:
        """Cycles from the first offer to the last report; `NEVER` if it did not finish."""
        return np.where(self.finished, self.last_report - self.first_offer, NEVER)


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks(_Columns):
    """A row for each block, in order of its offer.

    Attributes
    ----------
    launch : array of int64
        Row of its launch in `Launches`.
    place : array of int64, shape (blocks, 3)
        (bx, by, bz) in the grid.
    sm, slot : array of int64
        Where it ran.
    start, end : array of int64
        Cycles in which it was offered to its SM, and in which the SM reported it. Its SM's
        resources count as taken from ``start`` until before ``end``; `NEVER` without a report.
    """

    launch: Integers
    place: Integers = _parts("x", "y", "z")
    sm: Integers
    slot: Integers
    start: Integers
    end: Integers
