"""`first_fit`: the lowest SM with room."""

from amaranth.hdl import Module, Signal, Value

from warploom.dispatch.room import Room
from warploom.lib.bits import first_of


class FirstFit(Room):
    """Choose the lowest SM with room."""

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the lowest SM with room."""
        del out
        return first_of(m, "first", room)
