"""tiny-gpu's cores, from the user's own checkout, behind FrontEnd and BlockAtATime."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.generate import generate
from warploom_spec import WarploomError

#: Threads of one core and of one block, and the threads that the vectors are added with.
BLOCK: Final = 4
THREADS: Final = (4, 8, 64, 80)
#: Words of either memory.
WORDS: Final = 256
CONFIG: Final = "tiny"
BENCH: Final = Path(__file__).with_name("tiny_gpu.sv")
#: The module ``core`` of a checkout, and the modules below it.
SOURCES: Final = ("core", "alu", "decoder", "fetcher", "lsu", "pc", "registers", "scheduler")
#: Numbers of the read-only registers, as the checkout's README has them.
_BLOCK_INDEX, _BLOCK_DIMENSION, _THREAD_INDEX = 13, 14, 15
_ADD, _MULTIPLY, _LOAD, _STORE, _CONSTANT, _RETURN = 3, 5, 7, 8, 9, 15
_SEED: Final = 1


@dataclass(frozen=True)
class Outcome:
    """What came of a run: its records as the bench prints them, and addresses that differ."""

    records: tuple[str, ...]
    differing: tuple[int, ...]

    @property
    def equal(self) -> bool:
        """Whether a launch ended, and the memory holds what NumPy computes and nothing else."""
        return bool(self.records) and not self.differing


def repaired(text: str) -> str:
    """Return a source that Verilator takes; what it means stays.

    A comma before the end of a list goes. A variable with an initial value in a procedure is
    automatic: the standard calls it static then, and the value would be given once.
    """
    text = re.sub(r",(\s*\))", r"\1", text)
    return re.sub(r"(\bbegin\s*(?://[^\n]*\n\s*)*)reg(\s+\w+\s*=)", r"\1automatic reg\2", text)


def bench_files(checkout: Path, work: Path) -> list[Path]:
    """Write what the simulation of a checkout's cores behind FrontEnd is made of.

    Parameters
    ----------
    checkout : Path
        The user's checkout; nothing in it is changed.
    work : Path
        Where Verilog and repaired copies go; created if need be.

    Returns
    -------
    list of Path
        Files for Verilator; warnings about the checkout are off.

    Raises
    ------
    WarploomError
        If the folder is no checkout.
    """
    paths = [checkout / "src" / f"{name}.sv" for name in SOURCES]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise WarploomError(
            f"TINY_GPU is {str(checkout)!r}, which has no {missing[0].relative_to(checkout)};"
            " legal: a checkout of tiny-gpu"
        )
    rtl, copies = work / CONFIG, work / "src"
    generate(["front_end", "block_at_a_time"], [CONFIG], work)
    copies.mkdir(parents=True, exist_ok=True)
    for path in paths:
        (copies / path.name).write_text(repaired(path.read_text()))
    # Warnings are errors, but not those about the checkout.
    waiver = work / "foreign.vlt"
    waiver.write_text(f'`verilator_config\nlint_off -file "{copies.resolve()}/*"\n')
    ours = ("warploom_pkg.sv", "front_end.v", "front_end_packed.v", "block_at_a_time.v")
    return [waiver, *(rtl / name for name in ours), BENCH, *(copies / p.name for p in paths)]


def verilate(files: list[Path], *options: str) -> None:
    """Have Verilator read the simulation's files, and do what the options say.

    Raises
    ------
    WarploomError
        If Verilator is not installed.
    ProgramError
        If it does not take the sources.
    """
    surroundings = {**os.environ, **simulators.environment("verilator")}
    command = ["verilator", "--timing", "--timescale", "1ns/1ns", "--top-module", "tiny_gpu_bench"]
    command += [*options, *(str(file.resolve()) for file in files)]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True)
    if done.returncode:
        raise ProgramError(f"Verilator does not take the cores:\n{done.stderr.strip()}")


def built_bench(files: list[Path], work: Path) -> Path:
    """Return the simulation that `bench_files` are for; it comes into ``work``.

    Raises
    ------
    WarploomError
        If Verilator is not installed.
    ProgramError
        If it does not take the sources.
    """
    made = (work / "verilated").resolve()
    options = ["--binary", "--output-split", "0", "-CFLAGS", "-std=c++20"]
    options += ["--Mdir", str(made), "-o", "bench"]
    # A run takes milliseconds: the compiler's optimizations would take longer than they save.
    options += ["-MAKEFLAGS", " ".join(f"OPT_{kind}=-O0" for kind in ("FAST", "SLOW", "GLOBAL"))]
    verilate(files, *options)
    return made / "bench"


def add_vectors(
    bench: Path, threads: int, work: Path, abort_after: int | None = None, seed: int = _SEED
) -> Outcome:
    """Add two vectors of bytes, an element a thread.

    Parameters
    ----------
    bench : Path
        The simulation.
    threads : int
        A multiple of `BLOCK`, with three vectors in the memory: 4 to 84.
    work : Path
        Where the memories' files go.
    abort_after : int or None
        Cycles after which the launch is aborted, and then launched again.
    seed : int
        Of the memory before.

    Raises
    ------
    ProgramError
        If the simulation fails: a launch was refused, or its record does not come.
    """
    before = np.random.default_rng(seed).integers(0, 256, WORDS).astype(np.uint8)
    files = {name: work / f"{name}.hex" for name in ("program", "image", "memory")}
    _write_hex(files["program"], np.array(_program(threads)), 4)
    _write_hex(files["image"], before, 2)
    given = [f"+{name}={path.resolve()}" for name, path in files.items()]
    given.append(f"+blocks={threads // BLOCK}")
    if abort_after is not None:
        given.append(f"+abort={abort_after}")
    # The memory of an earlier run is none of this one.
    files["memory"].unlink(missing_ok=True)
    done = subprocess.run([bench, *given], capture_output=True, text=True)
    if done.returncode:
        raise ProgramError(f"the run of {threads} threads failed:\n{done.stdout.strip()}")
    after = _read_hex(files["memory"])
    expected = before.copy()
    expected[2 * threads : 3 * threads] = before[:threads] + before[threads : 2 * threads]
    records = [line for line in done.stdout.splitlines() if line.startswith("ticket")]
    return Outcome(tuple(records), tuple(map(int, np.flatnonzero(after != expected))))


def _program(threads: int) -> list[int]:
    """Return the words of the kernel: vectors at 0 and at ``threads``, the sum at 2 ``threads``."""
    index, first, second = 0, 1, 2
    kernel = [
        _word(_MULTIPLY, index, _BLOCK_INDEX, _BLOCK_DIMENSION),
        _word(_ADD, index, index, _THREAD_INDEX),
        _word(_LOAD, first, index),
        _constant(second, threads),
        _word(_ADD, second, second, index),
        _word(_LOAD, second, second),
        _word(_ADD, first, first, second),
        _constant(second, 2 * threads),
        _word(_ADD, second, second, index),
        _word(_STORE, 0, second, first),
        _word(_RETURN, 0),
    ]
    return kernel + [_word(_RETURN, 0)] * (WORDS - len(kernel))


def _word(opcode: int, to: int, left: int = 0, right: int = 0) -> int:
    return opcode << 12 | to << 8 | left << 4 | right


def _constant(to: int, value: int) -> int:
    return _CONSTANT << 12 | to << 8 | value


def _write_hex(path: Path, values: NDArray[np.integer], digits: int) -> None:
    path.write_text("".join(f"{int(value):0{digits}x}\n" for value in values))


def _read_hex(path: Path) -> NDArray[np.uint8]:
    words = re.sub(r"//.*", "", path.read_text()).split()
    return np.array([int(word, 16) for word in words], np.uint8)
