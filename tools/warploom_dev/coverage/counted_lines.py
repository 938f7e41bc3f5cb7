"""Which lines of a block's Verilog count: the block's own, and signals that its source names."""

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from amaranth.hdl import Fragment
from amaranth.lib import wiring

from warploom_sim.cosim.lockstep.compilation import TOP
from warploom_sim.verilog.blocks import BLOCKS

_MODULE: Final = re.compile(r"^module \\?([^\s(]+)")
_INSTANCE: Final = re.compile(r"^  \\?(\S+) +\\?\S+ \($")
_CONNECTION: Final = re.compile(r"^    \.\\?\S+ ?\(\\?(\S+?) ?\),?$")
_ALIAS: Final = re.compile(r"^  assign \\?(\S+) += \\?(\S+?) ?;$")
_PORT: Final = re.compile(r"^  (?:input|output) (?:\[[^]]*\] )?\\?([^\s;]+)")
_SIGNAL: Final = re.compile(r"^  (?:wire|reg|input|output) (?:\[[^]]*\] )?\\?([^\s;]+)")


def with_counts_off(text: str, left_out: Collection[str]) -> str:
    """Return Verilog in which Verilator counts nothing on lines that do not count.

    These are modules that are blocks themselves and the wires at their ports, wires that only Yosys
    names (``$12``), and the names of a packet's fields: their bits are those of the packet. No line
    moves.

    Parameters
    ----------
    text : str
        The Verilog.
    left_out : collection of str
        Modules that are left out, each with all below it.
    """
    lines = text.splitlines()
    for first, last in _ranges(_uncounted(lines, left_out)):
        lines[first] = f"/*verilator coverage_off*/ {lines[first]}"
        lines[last] = f"{lines[last]} /*verilator coverage_on*/"
    return "\n".join([*lines, ""])


def _uncounted(lines: Sequence[str], left_out: Collection[str]) -> Iterator[int]:
    """Yield the numbers of lines on which nothing counts."""
    outside, elsewhere = False, set[str]()
    for number, line in enumerate(lines):
        if module := _MODULE.match(line):
            outside = any(f"{module[1]}.".startswith(f"{one}.") for one in left_out)
            elsewhere = _counted_elsewhere(lines[number + 1 :], left_out)
        signal = _SIGNAL.match(line)
        if outside or (signal and not _counts(signal[1], elsewhere)):
            yield number


def _counts(signal: str, elsewhere: Collection[str]) -> bool:
    """Tell whether a module's signal counts."""
    return not (signal.startswith("$") or "." in signal or signal in elsewhere)


def _counted_elsewhere(lines: Sequence[str], left_out: Collection[str]) -> set[str]:
    """Return a module's wires at the ports of blocks below it, by all their names.

    The module's own ports are not among them.

    Parameters
    ----------
    lines : sequence of str
        From the module's first line on.
    left_out : collection of str
        Modules that are blocks themselves.
    """
    wires, ports = set[str](), set[str]()
    aliases: list[set[str]] = []
    at_block = False
    for line in itertools.takewhile(lambda one: one != "endmodule", lines):
        if instance := _INSTANCE.match(line):
            at_block = instance[1] in left_out
        elif port := _PORT.match(line):
            ports.add(port[1])
        elif at_block and (connection := _CONNECTION.match(line)):
            wires.add(connection[1])
        elif alias := _ALIAS.match(line):
            aliases.append({alias[1], alias[2]})
    # A wire between two blocks has a name of its own at either end.
    wires |= {name for alias in aliases if alias & wires for name in alias}
    return wires - ports


def _ranges(numbers: Iterator[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each row of numbers without a gap."""
    first = last = None
    for number in numbers:
        if last is None or first is None:
            first = number
        elif number != last + 1:
            yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


def blocks_below(component: wiring.Component) -> list[str]:
    """Return the modules of a component's Verilog that are blocks with a row of their own."""
    kinds = {name.title().replace("_", "") for name in BLOCKS}
    found: list[str] = []

    def walk(fragment: Any, path: str) -> None:
        for number, (part, name, _) in enumerate(fragment.subfragments):
            inner = f"{path}.{name or f'U${number}'}"
            if any(type(origin).__name__ in kinds for origin in part.origins or ()):
                found.append(inner)
            else:
                walk(part, inner)

    walk(Fragment.get(component, None), TOP)
    return found
