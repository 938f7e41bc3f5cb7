"""LoopFinder: finds the loops of a CUDA program whose calls can be sent in one message."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from warploom_loops import call_table, loop_parts
from warploom_loops.classify import classify
from warploom_loops.elf_image import ElfImage, Function, read_image
from warploom_loops.flow_graph import FlowGraph, Loop
from warploom_loops.marks import LoopMark, Marks, Reason
from warploom_loops.program import Program
from warploom_loops.symbolic_run import SymbolicRun, TooLargeError
from warploom_spec import WarploomError

#: Prefixes of the calls that the compiler adds to register and unregister kernels.
_REGISTRATION: Final = ("__cudaRegister", "__cudaUnregister", "__cudaInitModule", "__cudaGetKernel")


def find_loops(path: Path, progress: Callable[[int, int], None] | None = None) -> Marks:
    """Find the loops of a program that make CUDA calls, and how each call's arguments change.

    Parameters
    ----------
    path : Path
        An x86-64 ELF program made by nvcc, with its symbol table.
    progress : callable, optional
        Called after each function with the number of functions that are done, and of all.

    Raises
    ------
    WarploomError
        If the file is no such program, or if the program makes no CUDA calls.
    """
    image = read_image(path)
    program = Program(image)
    if not _makes_calls(image):
        raise WarploomError(f"{path} makes no CUDA calls; legal: a program made by nvcc")
    functions = [f for f in image.functions.values() if not program.is_runtime(f.name)]
    loops: list[LoopMark] = []
    for number, function in enumerate(sorted(functions, key=lambda f: f.address), 1):
        loops += function_loops(program, function)
        if progress is not None:
            progress(number, len(functions))
    return Marks(image.code_hash, tuple(loops))


def _makes_calls(image: ElfImage) -> bool:
    names: Iterable[str] = [*image.imports.values(), *(f.name for f in image.functions.values())]
    return any(
        call_table.is_cuda(name) and not name.startswith(_REGISTRATION)
        for name in map(call_table.plain_name, names)
        if call_table.is_runtime_entry(name) or name in image.imports.values()
    )


def function_loops(program: Program, function: Function) -> list[LoopMark]:
    """Return the marks of a function's loops that make CUDA calls."""
    graph = program.graph(function.address)
    holding = [loop for loop in graph.loops.values() if _holds_calls(program, graph, loop)]
    if not holding:
        return []
    holding.sort(key=lambda loop: loop.header)
    if graph.trouble is not None:
        words = "the function's branches cannot all be followed"
        return [
            _refused(function, loop, Reason.UNDECIDED, graph.trouble, words) for loop in holding
        ]
    run = SymbolicRun(program, function)
    try:
        run.run()
    except (TooLargeError, RecursionError):
        words = "the function is too large"
        return [_refused(function, loop, Reason.UNDECIDED, loop.header, words) for loop in holding]
    marks = []
    for loop in holding:
        inner = [i for i in holding if i is not loop and i.header in loop.blocks]
        if inner:
            words = "a loop inside it makes CUDA calls"
            marks.append(_refused(function, loop, Reason.INNER_LOOP, inner[0].header, words))
        elif loop.header not in run.loops:
            words = "it is reached only after a call failed"
            marks.append(_refused(function, loop, Reason.UNDECIDED, loop.header, words))
        else:
            marks.append(classify(function.name, run.loops[loop.header], run.loops, run.events))
    return loop_parts.agree(marks, run.loops)


def _holds_calls(program: Program, graph: FlowGraph, loop: Loop) -> bool:
    return any(
        program.makes_cuda_calls(instruction)
        for block in loop.blocks
        for instruction in graph.blocks[block].instructions
    )


def _refused(function: Function, loop: Loop, reason: Reason, address: int, detail: str) -> LoopMark:
    return LoopMark(
        function.name,
        loop.header,
        loop.depth,
        reason=reason,
        reason_address=address,
        detail=detail,
    )
