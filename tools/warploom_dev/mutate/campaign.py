"""Mutate a block, run its bench against each mutant, and count what the bench does not notice."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from warploom_dev.mutate.equivalence import EQUIVALENT, UNKNOWN, Proof, prove
from warploom_dev.mutate.mutate_figures import Row, Survivor
from warploom_dev.mutate.netlist import (
    NETLIST,
    Mutation,
    list_mutations,
    pack,
    rtl_hash,
    select_bits,
)
from warploom_dev.mutate.runner import CONTROL_LIMIT_S, Run, compile_mutants, limit, run_mutants
from warploom_sim.build_cache import build_root
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.names import resolve
from warploom_sim.cosim.lockstep.ports import Ports
from warploom_spec import WarploomError

#: The benches by block, in the repository: each a function of a seed that returns its cases.
BENCHES: Final = "tb.benches.mutation_benches:BENCHES"
#: Mutants that one process of the simulator runs.
CHUNK: Final = 50
#: So many mutants are made for each one wanted, since some are equivalent to the original.
SPARE: Final = 1.5

MutationBench = Callable[[int], list[Case]]
#: Told what is done: mutants counted so far, and what comes next.
Step = Callable[[int, str], None]


@dataclass(frozen=True, kw_only=True)
class Found:
    """One mutant and what became of it: killed if ``run`` has a complaint, else what is proven."""

    mutation: Mutation
    run: Run
    proof: Proof | None

    @property
    def counts(self) -> bool:
        """Whether it is not known to be equivalent."""
        return self.proof is None or self.proof.verdict != EQUIVALENT


def benches() -> dict[str, MutationBench]:
    """Return the blocks' benches by name.

    Raises
    ------
    WarploomError
        If they are not there: this is not the repository.
    """
    # An installed command has its own folder on the path, not the current one.
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: dict[str, MutationBench] = resolve(BENCHES)
    except ValueError as error:
        raise WarploomError(f"run this in the repository, where tb/ is: {error}") from error
    return found


def campaign(
    name: str, bench: MutationBench, wanted: int, seed: int, step: Step, jobs: int = 1
) -> Row:
    """Run a bench against mutants until ``wanted`` of them are not equivalent to the block.

    Parameters
    ----------
    name : str
        Of the block.
    bench : callable
        Seed -> cases with equal ``make`` and ``params``: what is mutated is their component.
    wanted : int
        Mutants to count. A small block may have fewer, which the row's figures show.
    seed : int
        Of the choice of mutants and of the bench.
    step : callable
        For a progress bar.
    jobs : int
        How many mutants run, or are proven, at a time.

    Raises
    ------
    WarploomError
        If the bench fails with the block as it is.
    """
    cases = bench(seed)
    folder = build_root() / "mutants" / name
    folder.mkdir(parents=True, exist_ok=True)
    step(0, "netlist")
    component, _ = cases[0].build()
    ports = Ports.of(component)
    mutations = list_mutations(component, round(SPARE * wanted), seed, folder)
    step(0, "build")
    simulation = compile_mutants(name, pack(mutations, folder), ports)
    step(0, "original")
    bits = select_bits(mutations)
    control = run_mutants(simulation, cases, [0], bits, CONTROL_LIMIT_S)[0]
    if control.complaint is not None:
        raise WarploomError(
            f"{name}: its bench fails without a mutation, seed {control.seed}: {control.complaint}"
        )

    found: list[Found] = []
    counted = 0
    while counted < wanted and len(found) < len(mutations):
        step(counted, "mutants")
        chunk = mutations[len(found) : len(found) + min(CHUNK, wanted - counted)]
        numbers = [mutation.number for mutation in chunk]
        runs = run_mutants(simulation, cases, numbers, bits, limit(control), jobs)
        silent = [m for m, run in zip(chunk, runs, strict=True) if run.complaint is None]
        step(counted, f"{len(silent)} proofs")
        proofs = dict(zip(silent, prove(silent, folder, jobs), strict=True))
        found += [
            Found(mutation=m, run=run, proof=proofs.get(m))
            for m, run in zip(chunk, runs, strict=True)
        ]
        counted = sum(one.counts for one in found)
    step(counted, "done")
    return _row(name, cases, seed, wanted, control, found, folder)


def _row(
    name: str,
    cases: Sequence[Case],
    seed: int,
    wanted: int,
    control: Run,
    found: list[Found],
    folder: Path,
) -> Row:
    killed = [one.run.cycles for one in found if one.proof is None]
    survivors = [
        Survivor(
            mutation=one.mutation.text,
            source=one.mutation.source,
            shown_after=one.proof.cycle,
            proven=one.proof.verdict != UNKNOWN,
        )
        for one in found
        if one.proof is not None and one.counts
    ]
    return Row(
        block=name,
        params=dict(cases[0].params),
        seed=seed,
        cycles=control.cycles,
        wanted=wanted,
        mutants=len(killed) + len(survivors),
        killed=len(killed),
        equivalent=len(found) - len(killed) - len(survivors),
        median_cycle=sorted(killed)[len(killed) // 2] if killed else None,
        survivors=survivors,
        netlist_hash=hashlib.sha256((folder / NETLIST).read_bytes()).hexdigest(),
        rtl_hash=rtl_hash(cases[0].build()[0]),
    )
