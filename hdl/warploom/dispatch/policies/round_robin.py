"""`round_robin`: the first SM with room behind the one that got the last block."""

from amaranth.hdl import Module, Signal, Value

from warploom.dispatch.policies._rotating import rotating
from warploom.dispatch.room import Room


class RoundRobin(Room):
    """Choose the first SM with room from a pointer on, cyclically.

    A pick moves the pointer to one past the picked SM.
    """

    ROTATES = True

    def choose(self, m: Module, room: Signal, out: Signal) -> Value:
        """Return the first SM with room from the pointer on."""
        del out
        return room if len(room) == 1 else rotating(m, "sm", room, self.picks)
