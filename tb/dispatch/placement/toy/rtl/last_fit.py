"""`last_fit`: the highest-numbered eligible SM."""

from amaranth.hdl import Module, Value

from warploom.dispatch.placement import PlacementPolicy
from warploom.lib.bits import first_of


class LastFit(PlacementPolicy):
    """Choose the highest-numbered eligible SM."""

    def choose(self, m: Module) -> Value:
        """Return the highest eligible SM."""
        return first_of(m, "last", self.eligible[::-1])[::-1]
