"""Signals and memory ports without a name of their own in the netlist.

Amaranth names a signal after the variable that the signal is assigned to. Some signals have no name
in the netlists that the committed figures were measured with: Yosys numbers them. They stay so
until their block changes anyway. New signals need none of this.
"""

from typing import Any, Final

from amaranth.lib.memory import Memory

#: The names that Amaranth gives a signal, and one like another, where it finds no variable.
UNNAMED: Final = "$signal"
UNNAMED_LIKE: Final = "$like"


def unnamed_write_port(memory: Memory) -> Any:
    """Return a new write port. It is assigned to nothing here, so its signals have no prefix."""
    return memory.write_port()


def unnamed_read_port(memory: Memory) -> Any:
    """Return a new read port without a clock, as `unnamed_write_port` does."""
    return memory.read_port(domain="comb")
