"""What every placement policy beside a recording has."""

from collections.abc import Sequence
from typing import Protocol

from warploom_spec.config import Config


class Load(Protocol):
    """What a policy reads of an SM."""

    occupied_warps: int


class Policy:
    """A placement policy: the base of all.

    A policy is a class in a file of its name, with `choose` and, where they are needed, the other
    methods.

    Parameters
    ----------
    config : Config
        Number of SMs and slots.
    """

    def __init__(self, config: Config):
        del config

    def choose(self, eligible: Sequence[bool], sms: Sequence[Load]) -> int:
        """Return the SM of a decision; at least one is eligible."""
        raise NotImplementedError

    def tick(self, resident: bool, freed: Sequence[int]) -> None:
        """End a cycle, in which `choose` may have been called before.

        Parameters
        ----------
        resident : bool
            Whether a launch was resident in this cycle's state.
        freed : sequence of int
            SMs of which a slot counts as free at the end of this cycle.
        """


def first_from(wanted: Sequence[bool], start: int) -> int | None:
    """Return the first wanted position from ``start`` on, cyclically."""
    positions = (*range(start, len(wanted)), *range(start))
    return next((position for position in positions if wanted[position]), None)
