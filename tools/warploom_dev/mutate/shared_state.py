"""A mutant beside its original where both share all registers but those that the change reaches.

A miter of two whole copies asks a prover to find out that nearly all of their registers are equal
in every cycle. Here that is how the graph is built: the mutant has a register of its own only where
the change goes in, and it is asked whether any other register or any output ever gets another
value. If none does, the two are equal: look at the first cycle in which they would not be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from warploom_dev.mutate.netlist import NETLIST, SELECT, Mutation
from warploom_dev.yosys import run_yosys

_SCRIPT: Final = f"""
read_rtlil {NETLIST}
{{commands}}
memory_map
setundef -init -zero
opt_clean
formalff -setundef -clk2ff -ff2anyinit
setundef -undriven -anyseq
techmap
simplemap
dffunmap
aigmap
write_aiger -ascii -zinit -map shared.aim shared.aag
"""


@dataclass
class _Graph:
    """And-inverter graph without gates that are there twice: gate n has the literal 2 n."""

    inputs: int
    gates: list[tuple[int, int]] = field(default_factory=list)
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    def both(self, a: int, b: int) -> int:
        """Return the literal of a AND b."""
        low, high = sorted((a, b))
        if low == 0 or low ^ high == 1:
            return 0
        if low in (1, high):
            return high
        if (low, high) not in self.known:
            self.gates.append((high, low))
            self.known[low, high] = 2 * (self.inputs + len(self.gates))
        return self.known[low, high]

    def differ(self, a: int, b: int) -> int:
        """Return the literal of a XOR b."""
        return self.both(self.both(a, b) ^ 1, self.both(a ^ 1, b ^ 1) ^ 1)

    def binary(self, following: list[int], output: int) -> bytes:
        """Return a binary AIGER file; the last inputs are registers with these next values."""
        top, registers = self.inputs + len(self.gates), len(following)
        head = f"aig {top} {self.inputs - registers} {registers} 1 {len(self.gates)}\n"
        head += "".join(f"{literal}\n" for literal in [*following, output])
        body = bytearray()
        for number, (high, low) in enumerate(self.gates, start=self.inputs + 1):
            for delta in (2 * number - high, high - low):
                while delta > 0x7F:
                    body.append(delta & 0x7F | 0x80)
                    delta >>= 7
                body.append(delta)
        return head.encode() + bytes(body)


@dataclass(frozen=True)
class Netlist:
    """A netlist with mutations that `SELECT` chooses, as literals of ASCII AIGER.

    Attributes
    ----------
    inputs : list of int
    select : list of int
        Which of the inputs are `SELECT`, lowest bit first.
    latches : list of (int, int)
        Literal and next value.
    outputs : list of int
    gates : list of (int, int, int)
        Literal, and the two that it is the AND of.
    """

    inputs: list[int]
    select: list[int]
    latches: list[tuple[int, int]]
    outputs: list[int]
    gates: list[tuple[int, int, int]]


class Pair:
    """An original and a mutant that has some registers of its own.

    Parameters
    ----------
    netlist : Netlist
        With the mutation.
    number : int
        Of the mutant.
    """

    def __init__(self, netlist: Netlist, number: int) -> None:
        self._netlist = netlist
        self._number = number
        self._own: list[int] = []

    def deeper(self) -> bytes | None:
        """Give the mutant the registers that the change reaches next, and ask about the others.

        Returns a binary AIGER file, whose output is 1 when any other register or an output gets
        another value; None if the change reaches none.
        """
        latches, outputs = self._netlist.latches, self._netlist.outputs
        _, original, mutant = self._both()
        reached = {k for k, (_, v) in enumerate(latches) if original(v) != mutant(v)}
        self._own = sorted(reached.union(self._own))
        graph, original, mutant = self._both()
        shared = [v for k, (_, v) in enumerate(latches) if k not in self._own]
        equal = 1
        for literal in [*shared, *outputs]:
            equal = graph.both(equal, graph.differ(original(literal), mutant(literal)) ^ 1)
        following = [original(v) for _, v in latches] + [mutant(latches[k][1]) for k in self._own]
        return None if equal == 1 else graph.binary(following, equal ^ 1)

    def _both(self) -> "tuple[_Graph, _Values, _Values]":
        """Return a graph, and in it the values of the original and of the mutant."""
        netlist = self._netlist
        free = [literal for literal in netlist.inputs if literal not in netlist.select]
        first = [literal for literal, _ in netlist.latches]
        second = [first[k] for k in self._own]
        graph = _Graph(len(free) + len(first) + len(second))
        literals = range(2, 2 * graph.inputs + 1, 2)
        shared = dict(zip([*free, *first], literals, strict=False))
        own = dict(zip(second, literals[len(shared) :], strict=True))
        original = self._values(graph, shared, 0)
        return graph, original, self._values(graph, shared | own, self._number)

    def _values(self, graph: _Graph, known: dict[int, int], number: int) -> "_Values":
        """Return the values with mutant ``number`` chosen."""
        chosen = {s: number >> bit & 1 for bit, s in enumerate(self._netlist.select)}
        values = _Values({0: 0, **known, **chosen})
        for gate, a, b in self._netlist.gates:
            values.of[gate] = graph.both(values(a), values(b))
        return values


@dataclass(frozen=True)
class _Values:
    """What the literals of a netlist are in a graph."""

    of: dict[int, int]

    def __call__(self, literal: int) -> int:
        return self.of[literal & ~1] ^ (literal & 1)


def read(text: str, names: str) -> Netlist:
    """Read what Yosys writes: ASCII AIGER, and its inputs' names."""
    lines = iter(text.splitlines())
    _, inputs, latches, outputs, gates = (int(word) for word in next(lines).split()[1:6])
    given = [int(next(lines)) for _ in range(inputs)]
    held = [next(lines).split() for _ in range(latches)]
    seen = [int(next(lines)) for _ in range(outputs)]
    made = [next(lines).split() for _ in range(gates)]
    select = {}
    for line in names.splitlines():
        kind, index, bit, name = line.split(maxsplit=3)
        if kind == "input" and name == SELECT:
            select[int(bit)] = given[int(index)]
    return Netlist(
        given,
        [select[bit] for bit in sorted(select)],
        [(int(line[0]), int(line[1])) for line in held],
        seen,
        [(int(gate), int(a), int(b)) for gate, a, b in made],
    )


def netlist_of(mutations: Sequence[Mutation], folder: Path) -> Netlist:
    """Return the netlist in ``folder`` with mutations, chosen by their place in the list from 1."""
    width = len(mutations).bit_length()
    commands = (
        f"{m.command} -ctrl {SELECT} {width} {number}"
        for number, m in enumerate(mutations, start=1)
    )
    run_yosys("shared", _SCRIPT.format(commands="\n".join(commands)), folder)
    return read((folder / "shared.aag").read_text(), (folder / "shared.aim").read_text())
