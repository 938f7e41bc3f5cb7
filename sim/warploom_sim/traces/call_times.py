"""When the calls of a trace began, and how long they took."""

import math
from dataclasses import dataclass, field
from typing import Any, Final

from warploom_sim.traces.trace_file import Place

#: Part of the names of calls that launch kernels.
_LAUNCHES: Final = "Launch"
#: A trace whose times begin at 0 has a single call there, and others within this time.
_FROM_0: Final = 1e6


@dataclass
class CallTimes:
    """The runtime and driver calls of a trace with a correlation id, as they are read.

    Attributes
    ----------
    began : dict of int to float
        When the call with this correlation id began, in microseconds; of several the first.
    first, last : float
        When the first of all began, and when the last ended.
    launching : int
        Calls that launch kernels and say how long they took.
    quickest, slowest : float
        The shortest and the longest time of those, in microseconds.
    repeated : set of int
        Ids of several calls, one of which began after the first one had ended, when `settle` has
        been called.
    untimed : set of int
        Ids of calls without a time, when `settle` has been called.
    """

    began: dict[int, float] = field(default_factory=dict)
    first: float = math.inf
    last: float = 0.0
    launching: int = 0
    quickest: float = math.inf
    slowest: float = 0.0
    repeated: set[int] = field(default_factory=set)
    untimed: set[int] = field(default_factory=set)
    _ended: dict[int, float] = field(default_factory=dict)
    _latest: dict[int, float] = field(default_factory=dict)
    _at_0: set[int] = field(default_factory=set)
    _missing: set[int] = field(default_factory=set)

    def settle(self) -> None:
        """Decide, when all are read, which calls at 0 have no time: more than the first one."""
        if len(self._at_0) == 1 and not self._missing and not _FROM_0 < self.first < math.inf:
            self.began |= dict.fromkeys(self._at_0, 0.0)
            self.first = 0.0
        self.untimed = (self._at_0 | self._missing) - self.began.keys()
        late = self._latest.items()
        self.repeated = {call for call, latest in late if latest > self._ended[call]}

    @property
    def several(self) -> bool:
        """Whether they are more than one."""
        return len(self.began) > 1

    @property
    def span(self) -> float:
        """Microseconds from the begin of the first call to the end of the last."""
        return self.last - self.first

    def note(self, place: Place, name: str, event: Any) -> tuple[int | None, float]:
        """Note a call.

        Returns
        -------
        tuple of (int or None, float)
            The call's id, None without one, and when it began.

        Raises
        ------
        WarploomError
            If its id or its begin is missing or illegal.
        """
        arguments = event.get("args")
        if not isinstance(arguments, dict) or "correlation" not in arguments:
            return None, 0.0
        correlation = place.integer(arguments, "correlation")
        began = 0.0 if event.get("ts") is None else place.number(event, "ts")
        if not began:
            (self._missing if event.get("ts") is None else self._at_0).add(correlation)
            return correlation, 0.0
        took = event.get("dur")
        # Nothing is made of a call's duration but a warning: a wrong one is as good as none.
        took = took if isinstance(took, float | int) and 0 < took < math.inf else 0
        self._note_times(correlation, began, began + took)
        self.first, self.last = min(self.first, began), max(self.last, began + took)
        if took and _LAUNCHES in name:
            self.launching += 1
            self.quickest, self.slowest = min(self.quickest, took), max(self.slowest, took)
        return correlation, began

    def _note_times(self, correlation: int, began: float, ended: float) -> None:
        """Keep begin and end of the first call of an id, and when the latest one began."""
        known = self.began.get(correlation)
        if known is not None:
            # A launch of the runtime has the driver's within it, with the same id.
            latest = self._latest.get(correlation, known)
            self._latest[correlation] = max(latest, known, began)
        if known is None or began < known:
            self.began[correlation], self._ended[correlation] = began, ended
        elif began == known:
            self._ended[correlation] = max(ended, self._ended[correlation])
