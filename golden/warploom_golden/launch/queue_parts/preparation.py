"""The one head that is being prepared (22, 23, and the bits of 26)."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.launch.queue_parts.rows import Flags, Launch

#: Cycles from ``needs_release`` to the last one in which a decision counts.
LATE_DECISION = 2
#: A release or a finished generation clears ``tried`` up to so many cycles later (26).
TRIED_AGAIN = 6


@dataclass(frozen=True, slots=True)
class Started:
    """A launch that starts.

    Attributes
    ----------
    launch : Launch
        The launch.
    history : int
        The history entry that its decision named.
    """

    launch: Launch
    history: int


class Preparation:
    """The head in preparation.

    Parameters
    ----------
    makes_indices : bool
        Whether heads ask for indices.

    Attributes
    ----------
    launch : Launch or None
        The head.
    requests, starts, cancels : bool
        ``request.valid``, ``start.valid`` and ``cancel``.
    """

    def __init__(self, *, makes_indices: bool):
        self._makes_indices = makes_indices
        self._releases = 0
        self._clear()

    def _clear(self) -> None:
        self.launch: Launch | None = None
        self.requests = self.starts = self.cancels = False
        self._asked = False
        self._history = 0
        self._since_needed: int | None = None

    def starting(self, inputs: Mapping[str, int]) -> Started | None:
        """Return the launch that starts in this cycle."""
        if self.starts and inputs["start__ready"] and self.launch is not None:
            return Started(self.launch, self._history)
        return None

    def step(self, flags: Flags, inputs: Mapping[str, int], decided: int | None) -> None:
        """End a cycle.

        Parameters
        ----------
        flags : Flags
            The streams' flags.
        inputs : mapping
            The cycle's inputs.
        decided : int or None
            The history entry of a decision in it.
        """
        self.cancels = False
        started = self.starting(inputs)
        if started is not None:
            bit = 1 << started.launch.stream
            flags.resident |= bit
            flags.stuck &= ~bit
            self._clear()
        elif self.launch is not None and not self.starts:
            self._prepare(flags, inputs, decided)

    def enter(self, launch: Launch) -> None:
        """Let a head enter in this cycle, which `step` has ended."""
        self.launch, self.requests = launch, self._makes_indices

    def _prepare(self, flags: Flags, inputs: Mapping[str, int], decided: int | None) -> None:
        if not self._makes_indices:
            self.starts = True
            return
        asked = self._asked
        if self.requests and inputs["request__ready"]:
            self.requests, self._asked = False, True
        if self._since_needed is not None:
            self._since_needed += 1
        if decided is not None and asked:
            self.starts, self._history = True, decided
        elif self._since_needed == LATE_DECISION:
            bit = 1 << self._head().stream
            flags.ready |= bit
            flags.stuck |= bit
            flags.tried |= bit
            self._clear()
        elif self._since_needed is None and asked and inputs["needs_release"]:
            self.cancels, self._since_needed = True, 0

    def _head(self) -> Launch:
        assert self.launch is not None
        return self.launch

    def try_again(self, flags: Flags, *, released: bool) -> None:
        """End a cycle for ``tried`` (26); `step`, which may set a bit, comes after this.

        Parameters
        ----------
        flags : Flags
            The streams' flags.
        released : bool
            ``release.valid`` or ``made`` is 1.
        """
        self._releases = self._releases << 1 | released
        self._releases &= (1 << TRIED_AGAIN + 1) - 1
        if self._releases:
            flags.tried = 0
