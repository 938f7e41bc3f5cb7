"""`round_robin`: the first eligible SM behind the one that got the last block."""

from amaranth.hdl import Module, Value

from warploom.dispatch.placement._rotating import rotating
from warploom.dispatch.placement.placement import PlacementPolicy


class RoundRobin(PlacementPolicy):
    """Choose the first eligible SM from a pointer on, cyclically.

    A decision moves the pointer to one past the SM that got the block.

    Parameters
    ----------
    config : Config
        ``sms``.
    """

    def choose(self, m: Module) -> Value:
        """Return the first eligible SM from the pointer on."""
        return rotating(m, "sm", self.eligible, self.decided)
