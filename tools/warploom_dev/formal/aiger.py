"""A bench as an and-inverter graph, and a run that a prover found as values of its inputs."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import amaranth.back.rtlil as rtlil

from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.yosys import run_yosys
from warploom_sim.failure import ProgramError

# What has no first value, such as a memory's rows, begins with 0, as in the simulator; a reset in
# the middle of a run keeps such rows, so that they begin with any value as well. The first values
# are set before the first optimization: Yosys fails where a bit of a register is found constant.
_SCRIPT: Final = """
read_rtlil bench.il
hierarchy -top bench
proc
flatten
opt_clean
setundef -zero -init
opt -full
wreduce
memory_map
setundef -zero -init
techmap
opt -fast
dffunmap
simplemap
aigmap
opt_clean
write_aiger -zinit -map bench.aim bench.aig
"""
#: A bench's inputs bit by bit, in the graph's order: name and number of the bit.
Inputs = tuple[tuple[str, int], ...]
#: For each cycle the values of the bench's inputs by name, ``rst`` among them.
Run = list[dict[str, int]]

#: The literal of an output that is 0 in every cycle; b"1" is one that is 1 in every cycle.
NEVER: Final = b"0"


@dataclass(frozen=True)
class Graph:
    """One bench's graph: its header, its outputs' literals, and the rest of its bytes."""

    header: tuple[int, ...]
    latches: bytes
    outputs: tuple[bytes, ...]
    gates: bytes
    inputs: Inputs

    def single(self, output: int) -> bytes:
        """Return the graph as a file with one output alone."""
        most, inputs, latches, _, gates = self.header
        head = f"aig {most} {inputs} {latches} 1 {gates}\n".encode()
        return head + self.latches + self.outputs[output] + b"\n" + self.gates


def bench_hash(bench: FormalBench) -> str:
    """Return the SHA-256 of block, assumptions and properties: of their RTLIL without sources."""
    return hashlib.sha256(_rtlil(bench, sources=False).encode()).hexdigest()


def _rtlil(bench: FormalBench, *, sources: bool) -> str:
    wires = [bench.clock, bench.reset, *bench.inputs.values(), bench.violations, bench.reached]
    text: str = rtlil.convert(bench.m, name="bench", ports=wires, emit_src=sources)
    return text


def convert(bench: FormalBench, folder: Path) -> Graph:
    """Map a bench, `FormalBench.close` done, to a graph: its violations, then what is reached.

    Raises
    ------
    ProgramError
        If a bit of it is driven by nothing and no free input: it would be any value.
    """
    (folder / "bench.il").write_text(_rtlil(bench, sources=True))
    run_yosys("bench", _SCRIPT, folder)
    names = {signal.name: name for name, signal in bench.inputs.items()}
    names |= {bench.reset.name: "rst", bench.clock.name: "clk"}
    found: dict[int, tuple[str, int]] = {}
    for line in (folder / "bench.aim").read_text().splitlines():
        kind, index, bit, name = line.split()
        if kind == "input":
            found[int(index)] = names[name], int(bit)
    graph = _read((folder / "bench.aig").read_bytes(), found)
    if graph.header[1] != len(found):
        raise ProgramError(
            f"{folder / 'bench.aig'}: {graph.header[1] - len(found)} bits of {bench.block} are"
            " driven by nothing and are no free input"
        )
    return graph


def _read(data: bytes, inputs: dict[int, tuple[str, int]]) -> Graph:
    head, _, rest = data.partition(b"\n")
    header = tuple(int(number) for number in head.split()[1:])
    _, _, latches, outputs, _ = header
    lines = rest.split(b"\n", latches + outputs)
    return Graph(
        header,
        b"".join(line + b"\n" for line in lines[:latches]),
        tuple(lines[latches : latches + outputs]),
        lines[latches + outputs],
        tuple(inputs[k] for k in sorted(inputs)),
    )


def output_literal(path: Path) -> bytes:
    """Return the literal of the one output of a graph in a file."""
    head, _, rest = path.read_bytes().partition(b"\n")
    latches = int(head.split()[3])
    return rest.split(b"\n", latches + 1)[latches]


def read_run(path: Path, inputs: Inputs) -> Run:
    """Read what ``write_cex -a`` wrote: the registers' first values, then a line a cycle."""
    lines = path.read_text().splitlines()[1:]
    run = []
    for line in (line for line in lines if not line.startswith("#")):
        values = dict.fromkeys((name for name, _ in inputs), 0)
        for (name, bit), value in zip(inputs, line, strict=True):
            values[name] |= (value == "1") << bit
        values.pop("clk", None)
        run.append(values)
    return run
