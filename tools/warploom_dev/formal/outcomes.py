"""What is proved, what is reached, which seeded bugs are found: one check at a time."""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from warploom_dev.formal import properties
from warploom_dev.formal.aiger import bench_hash
from warploom_dev.formal.formal_bench import Assumption, Check, FormalBench
from warploom_dev.formal.prover import FOLDER, SEARCHED, Answer, Prover, replay
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

#: What can be asked of a check: its proof, its interesting case, its seeded bug.
KINDS: Final = ("proof", "cover", "bug")
#: How a good answer of each kind reads.
_GOOD: Final = {"proof": ("never", "bounded"), "cover": ("found",), "bug": ("found",)}


@dataclass(frozen=True)
class Outcome:
    """One question and its answer.

    Attributes
    ----------
    bench : str
        A name of `benches`.
    size : str
        How large the block is.
    bench_hash : str
        Of block and bench; see `aiger.bench_hash`.
    check : Check
        The check asked about.
    kind : str
        One of `KINDS`.
    answer : Answer
        What the prover said, confirmed by simulation where it found something.
    waveform : Path or None
        The run that was found.
    """

    bench: str
    size: str
    bench_hash: str
    check: Check
    kind: str
    answer: Answer
    waveform: Path | None

    @property
    def good(self) -> bool:
        """Whether it is as it must be: proved, reached, or found."""
        return self.answer.verdict in _GOOD[self.kind]

    @property
    def text(self) -> str:
        """The answer in words."""
        cycles = self.answer.cycles
        return {
            "never": "proven",
            "bounded": f"bounded, {cycles} cycles",
            "found": f"{'VIOLATED in' if self.kind == 'proof' else ''} cycle {cycles}".strip(),
            "open": "OPEN: out of time",
        }[self.answer.verdict]


def benches() -> tuple[str, ...]:
    """Return the names of all benches: one a block."""
    return tuple(module.name for module in pkgutil.iter_modules(properties.__path__))


def make(name: str, fault: str | None = None) -> FormalBench:
    """Return a bench, made anew; an unknown name is refused with the list of legal ones."""
    if name not in benches():
        raise WarploomError(f"block is {name!r}; legal: {', '.join(benches())}")
    module = importlib.import_module(f"{properties.__name__}.{name}")
    made = module.bench(fault)
    if not isinstance(made, FormalBench):
        raise TypeError(f"{module.__name__}.bench made no bench")
    return made


class Stated(NamedTuple):
    """What a bench states, as `FormalBench` has it: its hardware is gone."""

    size: str
    checks: dict[str, Check]
    assumptions: dict[str, Assumption]
    narrowed: dict[str, dict[str, tuple[int, int]]]


@functools.cache
def stated(name: str) -> Stated:
    """Return what a bench states."""
    made = make(name)
    return Stated(made.size, made.checks, made.assumptions, made.narrowed)


def chosen(name: str, quick: bool) -> list[Check]:
    """Return a bench's checks; with ``quick`` only those that take seconds."""
    return [check for check in stated(name).checks.values() if not (quick and check.slow)]


def outcomes(
    name: str,
    kinds: Sequence[str],
    *,
    quick: bool = False,
    limit: int = 600,
    folder: Path = FOLDER,
    step: Callable[[str], None] = lambda _: None,
) -> Iterator[Outcome]:
    """Ask about each check of a bench.

    Parameters
    ----------
    name : str
        One of `benches`.
    kinds : sequence of str
        Of `KINDS`.
    quick : bool
        Leave out the slow checks.
    limit : int
        Seconds for each answer.
    folder : Path
        Takes what the tools write, and a waveform of each run that is found.
    step : callable
        Called before each question with what is asked.

    Raises
    ------
    WarploomError
        If there is no such bench, or ABC is not installed.
    ProgramError
        If a run that the prover found is none in the simulation.
    """
    size, digest = stated(name).size, bench_hash(make(name))
    provers: dict[str | None, Prover] = {}
    for check in chosen(name, quick):
        for kind in kinds:
            step(f"{name}.{check.name}: {kind}")
            fault = check.fault if kind == "bug" else None
            if fault not in provers:
                provers[fault] = Prover(make(name, fault), folder / name / (fault or ""), limit)
            if kind == "cover":
                answer = provers[fault].cover(check.name)
            else:
                # A bug that shows after the bound says nothing of the property.
                bound = SEARCHED if kind == "bug" and check.bound is None else check.bound
                answer = provers[fault].violation(check.name, bound)
            waveform = None
            if answer.verdict == "found":
                waveform = folder / name / f"{kind}_{check.name}.vcd"
                _confirm(
                    make(name, check.fault if kind == "bug" else None),
                    check,
                    kind,
                    answer,
                    waveform,
                )
            yield Outcome(name, size, digest, check, kind, answer, waveform)


def _confirm(bench: FormalBench, check: Check, kind: str, answer: Answer, waveform: Path) -> None:
    number = list(bench.checks).index(check.name)
    violated, reached = replay(bench, answer.run, waveform)[-1]
    if not (reached if kind == "cover" else violated) >> number & 1:
        what = "reached" if kind == "cover" else "violated"
        raise ProgramError(f"{waveform} does not show what the prover found: {check.name} {what}")
