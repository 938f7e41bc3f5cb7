"""What the model of every placement policy has."""

from collections.abc import Mapping
from typing import NamedTuple

from warploom_golden.dispatch.pipe_times import PipeTimes
from warploom_golden.dispatch.verdicts import Verdict
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode

#: An error record's code and argument.
Error = tuple[ErrorCode, int]


class PolicyStep(NamedTuple):
    """What a policy is told of a cycle at its end.

    Attributes
    ----------
    picked : int or None
        The SM that was picked in it.
    landing : tuple of Verdict or None
        What landed, from placements and from returns.
    out : int
        SMs with a block on its way.
    freed : int or None
        The SM of the block that came back in it.
    quiet : bool
        Whether the machine was quiet.
    room, used : int
        SMs that had room, and that were in use.
    clears : bool
        Whether no SM has room in the next cycle.
    """

    picked: int | None
    landing: tuple[Verdict | None, Verdict | None]
    out: int
    freed: int | None
    quiet: bool
    room: int
    used: int
    clears: bool


class Policy:
    """A placement policy: the base of all.

    A policy is a class in a file of its name, with `choose` and, where they are needed, the other
    methods.

    Parameters
    ----------
    config : Config
        Number of SMs and slots.

    Attributes
    ----------
    first : int
        The SM at which the scan begins in this cycle (23).
    """

    #: Whether a verdict counts a cycle later (19).
    LATE_ROOM = False

    first = 0

    def __init__(self, config: Config):
        del config

    @property
    def settled(self) -> bool:
        """Whether nothing changes without a pick or a return."""
        return True

    def known_after(self, times: PipeTimes) -> int:
        """Return the cycles to the first one in which the round is known (24)."""
        return times.known + 1

    def choose(self, room: int, out: int, known: bool) -> int | None:
        """Return the SM of a pick, in a cycle in which the machine may go.

        Parameters
        ----------
        room, out : int
            A bit for each SM.
        known : bool
            Whether the scan's round is known.
        """
        raise NotImplementedError

    def tick(self, step: PolicyStep) -> None:
        """End a cycle, in which `choose` may have been called before."""

    # Of a policy with an order table:

    def outputs(self, *, booted: bool) -> dict[str, int | None]:
        """Return the policy's own ports."""
        del booted
        return {}

    def comes(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether something comes at the policy's own ports."""
        del inputs
        return False

    def swap(
        self, inputs: Mapping[str, int], *, booted: bool, quiet: bool, shows: bool
    ) -> Error | None:
        """End a cycle at the policy's own ports, after `tick`.

        Parameters
        ----------
        inputs : mapping
            The cycle's inputs.
        booted, quiet : bool
            Whether the boot is over, and whether the machine is quiet.
        shows : bool
            Whether an error of a report takes the next cycle's record.

        Returns
        -------
        tuple or None
            The error whose record appears in the next cycle.
        """
        del inputs, booted, quiet, shows
        return None
