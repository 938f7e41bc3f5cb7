"""`last_fit`: the highest-numbered SM with room."""

from amaranth.hdl import Module, Signal, Value

from warploom.dispatch.room import Room
from warploom.lib.bits import first_of


class LastFit(Room):
    """Choose the highest-numbered SM with room."""

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the highest SM with room."""
        del out
        return first_of(m, "last", room[::-1])[::-1]
