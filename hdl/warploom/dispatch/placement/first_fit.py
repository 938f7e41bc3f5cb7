"""`first_fit`: the lowest-numbered eligible SM."""

from amaranth.hdl import Module, Value

from warploom.dispatch.placement.placement import PlacementPolicy
from warploom.lib.bits import first_of


class FirstFit(PlacementPolicy):
    """Choose the lowest-numbered eligible SM."""

    def choose(self, m: Module) -> Value:
        """Return the lowest eligible SM."""
        return first_of(m, "first", self.eligible)
