"""Programs run on a stand-in for CUDA's run-time, which writes down every call."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom_loops.elf_image import read_image
from warploom_loops.marks import Argument, ArgumentKind, Call, LoopMark
from warploom_loops.program import Program

SOURCE = Path(__file__).with_name("recording_runtime.c")


@dataclass(frozen=True)
class Made:
    """A call that a program made.

    Attributes
    ----------
    name : str
        The function, or the kernel.
    values : tuple of int
        Its arguments; of a launch the configuration's first.
    result : int or None
        The pointer that it gave back.
    returns : tuple of int
        Where it returns to, innermost first, relative to the load address.
    """

    name: str
    values: tuple[int, ...]
    result: int | None
    returns: tuple[int, ...]


def build_runtime(folder: Path) -> Path | None:
    """Build the stand-in; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("g++")
    if compiler is None:
        return None
    versions = folder / "versions"
    versions.write_text("libcudart.so.13 { global: *; };\n")
    library = folder / "libcudart.so.13"
    command = [compiler, "-x", "c", "-shared", "-fPIC", "-O1", str(SOURCE), "-o", str(library)]
    subprocess.run(
        [*command, f"-Wl,--version-script={versions}", "-Wl,-soname,libcudart.so.13"], check=True
    )
    return folder


def record(program: Path, runtime: Path, folder: Path, *arguments: str) -> list[Made]:
    """Run a program on the stand-in; return its calls."""
    kernels = folder / "kernels"
    sizes = read_image(program).kernels.items()
    kernels.write_text("".join(f"{name} {' '.join(map(str, s))}\n" for name, s in sizes))
    written = folder / "record"
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(runtime),
        "RECORD": str(written),
        "KERNELS": str(kernels),
    }
    subprocess.run([program, *arguments], env=environment, timeout=60, check=False)
    return [_made(line) for line in written.read_text().splitlines()]


def _made(line: str) -> Made:
    call, _, returns = line.partition(" @")
    call, _, result = call.partition(" =")
    name, *values = call.split(" ")
    return Made(
        name,
        tuple(int(value, 16) for value in values),
        int(result, 16) if result else None,
        tuple(int(place, 16) for place in returns.split()),
    )


def returns_of(program: Program, site: Sequence[int]) -> tuple[int, ...]:
    """Return where the calls of a site return to, innermost first; a jump leaves no trace."""
    instructions = [program.instruction(address) for address in reversed(site)]
    return tuple(i.next for i in instructions if i is not None and i.name == "call")


def made_by(loop: LoopMark, program: Program, calls: list[Made]) -> list[tuple[int, Made]]:
    """Return the calls that a loop's sites made, each with its number in the iteration."""
    sites = [returns_of(program, call.site) for call in loop.calls]
    return [
        (number, made)
        for made in calls
        for number, site in enumerate(sites)
        if made.returns[: len(site)] == site
    ]


class Follower:
    """Compares one entry of a loop with its mark, call by call."""

    def __init__(self, loop: LoopMark):
        self._loop = loop
        self._seen: list[list[Made]] = [[]]

    @property
    def iterations(self) -> int:
        """Whole iterations so far."""
        return len(self._seen) - 1

    @property
    def whole(self) -> bool:
        """Whether the last iteration was not broken off."""
        return not self._seen[-1]

    def accepts(self, number: int, made: Made) -> bool:
        """Take a call; return whether it is the next one and keeps to its mark."""
        current = self._seen[-1]
        if number != len(current) or not self._keeps(self._loop.calls[number], number, made):
            return False
        current.append(made)
        if len(current) == len(self._loop.calls):
            self._seen.append([])
        return True

    def _keeps(self, call: Call, number: int, made: Made) -> bool:
        rules = (*call.configuration, *call.arguments)
        if made.name != call.name or len(made.values) != len(rules):
            return False
        before = [iteration[number].values for iteration in self._seen[:-1]]
        return all(
            self._argument(rule, [values[place] for values in before], value)
            for place, (rule, value) in enumerate(zip(rules, made.values, strict=True))
        )

    def _argument(self, rule: Argument, before: list[int], value: int) -> bool:
        if rule.parts:
            return all(
                self._argument(part, [_cut(b, at, part) for b in before], _cut(value, at, part))
                for at, part in rule.parts
            )
        if rule.kind is ArgumentKind.RESULT:
            result = self._seen[-1][rule.call].result
            return result is not None and value == result + rule.offset
        if not before:
            return rule.value is None or rule.value == value
        modulus = 1 << 8 * rule.size
        if rule.kind is ArgumentKind.INCREMENT:
            increment = rule.increment
            if increment is None:
                increment = before[1] - before[0] if len(before) > 1 else value - before[0]
            return value == (before[0] + len(before) * increment) % modulus
        if rule.kind is ArgumentKind.ALTERNATE:
            if len(before) == 1:
                return rule.other is None or rule.other == value
            return value == before[-2]
        return value == before[0]


def _cut(value: int, place: int, part: Argument) -> int:
    return value >> 8 * place & ((1 << 8 * part.size) - 1)
