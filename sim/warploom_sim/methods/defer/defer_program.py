"""A program's loops on the screen and in files."""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from warploom_loops.elf_image import ELF_MAGIC
from warploom_loops.loop_finder import find_loops
from warploom_loops.marked_elf import marked_program
from warploom_loops.marks import Argument, ArgumentKind, Call, LoopMark, Marks
from warploom_loops.marks_file import argument_as_data, loop_as_data, marks_as_data
from warploom_sim.json_file import write_json, write_whole
from warploom_sim.screen import progress_bar, table_console


@dataclass(frozen=True)
class LoopOutputs:
    """Files to write, None for those that are not asked for.

    Attributes
    ----------
    figures : Path or None
        The loops, as `loop_figures` returns them.
    marks : Path or None
        The marks as JSON.
    patched : Path or None
        A copy of the program with the marks inside.
    """

    figures: Path | None = None
    marks: Path | None = None
    patched: Path | None = None


def is_program(file: Path) -> bool:
    """Return whether a file is an ELF file of any kind."""
    with file.open("rb") as opened:
        return opened.read(len(ELF_MAGIC)) == ELF_MAGIC


def report(file: Path, outputs: LoopOutputs) -> None:
    """Find a program's loops, print them, write the files that are asked for.

    Raises
    ------
    WarploomError
        If the program is refused; then nothing is written.
    """
    with progress_bar() as progress:
        task = progress.add_task("functions", total=None)
        marks = find_loops(
            file, lambda done, total: progress.update(task, completed=done, total=total)
        )
    patched = marked_program(file, marks) if outputs.patched else b""
    table_console().print(loop_table(file, marks))
    if outputs.figures:
        write_json(outputs.figures, loop_figures(file, marks))
    if outputs.marks:
        write_json(outputs.marks, marks_as_data(marks))
    if outputs.patched:
        write_whole(outputs.patched, patched)
        outputs.patched.chmod(stat.S_IMODE(file.stat().st_mode))


def loop_figures(file: Path, marks: Marks) -> dict[str, Any]:
    """Return what ``--json`` writes: of each loop its calls' names, and their arguments."""
    return {
        "program": file.name,
        "code_hash": marks.code_hash,
        "deferrable": len(marks.deferrable),
        "loops": [_figures(loop) for loop in marks.loops],
    }


def _figures(loop: LoopMark) -> dict[str, Any]:
    figures = loop_as_data(loop)
    figures["calls"] = [call.name for call in loop.calls]
    figures["sites"] = [list(call.site) for call in loop.calls]
    figures["arguments"] = [[argument_as_data(a) for a in call.arguments] for call in loop.calls]
    figures["configurations"] = [
        [argument_as_data(a) for a in call.configuration] for call in loop.calls
    ]
    return figures


def loop_table(file: Path, marks: Marks) -> Table:
    """Return the table of a program's loops."""
    table = Table(
        "function",
        "address",
        "class",
        "first",
        "step",
        "count",
        "calls",
        title=f"{file}: {len(marks.deferrable)} of {len(marks.loops)} loops can be deferred",
    )
    for loop in marks.loops:
        if loop.reason is not None:
            where = f" at {loop.reason_address:#x}" if loop.reason_address is not None else ""
            said = f"{loop.detail}{where}"
            row = (loop.reason.value, "", "", "", said)
        else:
            calls = "\n".join(_call_words(call) for call in loop.calls)
            first, step = loop.first_expression, loop.step_expression
            row = (str(loop.loop_class), first, step, loop.count_expression, calls)
        table.add_row(loop.function, f"{loop.header:#x}", *row)
    return table


def _call_words(call: Call) -> str:
    words = f"{call.name}({', '.join(_argument_words(a) for a in call.arguments)})"
    moving = [a for a in call.configuration if a.kind is not ArgumentKind.CONSTANT]
    if moving:
        words += f" launched with {', '.join(_argument_words(a) for a in moving)}"
    return words.replace("[", r"\[")


def _argument_words(argument: Argument) -> str:
    if argument.kind is ArgumentKind.BYTES:
        return f"{argument.size} bytes"
    if argument.parts:
        moving = [part for _, part in argument.parts if part.kind is argument.kind]
        return f"{argument.size} bytes with {', '.join(_argument_words(part) for part in moving)}"
    if argument.kind is ArgumentKind.INCREMENT and argument.increment is not None:
        first = argument.expression.rpartition(" + i*(")[0]
        return f"{first} {'+' if argument.increment > 0 else '-'} {abs(argument.increment)} i"
    if argument.kind is ArgumentKind.ALTERNATE:
        return f"by turns {argument.expression}"
    return argument.expression
