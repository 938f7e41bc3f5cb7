"""Which mutants behave as the original does: there is nothing for a bench to find."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_dev.abc import run_abc
from warploom_dev.formal.aiger import NEVER, output_literal
from warploom_dev.mutate.netlist import NETLIST, Mutation
from warploom_dev.mutate.shared_state import Pair, netlist_of
from warploom_dev.yosys import run_yosys
from warploom_sim.cosim.lockstep.compilation import TOP

#: Seconds that a proof may take.
LIMIT_S: Final = 20
#: Registers in a row that a change may go through until it is lost, where all others are shared.
REGISTERS: Final = 2
#: Cycles in which a difference is looked for before a proof is tried.
DEPTH: Final = 40

EQUIVALENT: Final = "equivalent"
DIFFERS: Final = "differs"
UNKNOWN: Final = "unknown"

_ORIGINAL: Final = f"""
read_rtlil {NETLIST}
memory_map
setundef -init -zero
opt_clean
rename {TOP} gold
design -stash gold
"""
# Both from their initial state with the same inputs, reset included: can an output differ? What a
# memory's port reads before its first enabled cycle is 0 in both, as it is in the simulation.
_MITER: Final = f"""
design -reset
read_rtlil {NETLIST}
{{command}}
memory_map
setundef -init -zero
opt_clean
rename {TOP} gate
design -stash gate
design -copy-from gold -as gold gold
design -copy-from gate -as gate gate
miter -equiv -flatten -make_assert gold gate miter
hierarchy -top miter
delete gold gate
delete -output
opt_clean
formalff -setundef -clk2ff -ff2anyinit
setundef -undriven -anyseq
techmap
simplemap
dffunmap
aigmap
write_aiger -I -B -zinit -no-startoffset m{{number}}.aig
"""


@dataclass(frozen=True)
class Proof:
    """What is known of a mutant beside its original.

    Attributes
    ----------
    verdict : str
        `EQUIVALENT`, `DIFFERS` or `UNKNOWN` (not settled within the time limit).
    cycle : int or None
        Of a mutant that differs: the cycle from power-up in which some inputs show it.
    """

    verdict: str
    cycle: int | None = None


def prove(mutations: Sequence[Mutation], folder: Path, jobs: int = 1) -> list[Proof]:
    """Compare each mutant with its original by sequential equivalence from the initial state.

    Inputs are arbitrary, those that no neighbour of the block sends included. What a miter of two
    copies leaves open is tried again by `shared_state`.

    Parameters
    ----------
    mutations : sequence of Mutation
        Of the netlist in ``folder``.
    folder : Path
        Where `netlist.list_mutations` worked.
    jobs : int
        How many proofs run at a time.
    """
    if not mutations:
        return []
    miters = (_MITER.format(command=m.command, number=m.number) for m in mutations)
    run_yosys("miters", "".join([_ORIGINAL, *miters]), folder)
    with ThreadPoolExecutor(jobs) as pool:
        proofs = list(pool.map(lambda m: _prove(f"m{m.number}.aig", folder), mutations))
    left = [k for k, proof in enumerate(proofs) if proof.verdict == UNKNOWN]
    again = prove_shared([mutations[k] for k in left], folder, jobs)
    for k, proof in zip(left, again, strict=True):
        proofs[k] = proof
    return proofs


def prove_shared(mutations: Sequence[Mutation], folder: Path, jobs: int = 1) -> list[Proof]:
    """Say of mutants that they are equivalent, or nothing; parameters as for `prove`.

    A difference that comes to what a mutant shares with its original may be lost later.
    """
    if not mutations:
        return []
    netlist = netlist_of(mutations, folder)
    pairs = [Pair(netlist, number) for number in range(1, len(mutations) + 1)]
    files = [f"shared{mutation.number}.aig" for mutation in mutations]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda pair, file: _prove_pair(pair, file, folder), pairs, files))


def _prove(circuit: str, folder: Path) -> Proof:
    # Most of a mutant is as the original is: registers and gates that must be equal are merged
    # first. Then a search finds the common difference sooner than PDR does.
    reduced = f"reduced_{circuit}"
    merge = f"read_aiger {circuit}; fold; strash; lcorr; &get -n; &scorr; &put"
    run_abc(f"{merge}; write_aiger {reduced}", folder)
    # No engine says of the constant 0 that it is proved. The number of gates left does not tell it
    # from the constant 1, or from one input.
    if output_literal(folder / reduced) == NEVER:
        return Proof(EQUIVALENT)
    proof = Proof(UNKNOWN)
    for engine in (f"bmc3 -F {DEPTH} -T {LIMIT_S // 4}", f"pdr -T {LIMIT_S}"):
        if proof.verdict == UNKNOWN:
            proof = read(run_abc(f"read_aiger {reduced}; {engine}", folder))
    return proof


def _prove_pair(pair: Pair, circuit: str, folder: Path) -> Proof:
    for _ in range(REGISTERS):
        asked = pair.deeper()
        if asked is None:
            return Proof(EQUIVALENT)
        (folder / circuit).write_bytes(asked)
        proof = read(run_abc(f"read_aiger {circuit}; fold; strash; dc2; pdr -T {LIMIT_S}", folder))
        if proof.verdict == EQUIVALENT:
            return proof
    return Proof(UNKNOWN)


def read(log: str) -> Proof:
    """Read the log of one of abc's engines."""
    if asserted := re.search(r"was asserted in frame (\d+)", log):
        return Proof(DIFFERS, int(asserted[1]))
    if "Property proved" in log:
        return Proof(EQUIVALENT)
    return Proof(UNKNOWN)
