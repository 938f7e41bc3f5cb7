"""The effects of a call on the symbolic machine."""

from typing import Final

from warploom_loops import call_table
from warploom_loops.call_table import CallKind
from warploom_loops.events import CudaCall, EventKind, Piece
from warploom_loops.machine_state import bytes_of
from warploom_loops.registers import ARGUMENTS, GENERAL, KEPT, VECTOR
from warploom_loops.step import Step
from warploom_loops.values import (
    FRAME,
    Atom,
    Value,
    extract,
    low,
    of,
    offset_from,
    zero_extend,
)

#: The most bytes of the frame that are followed one by one when a copy reads them.
_MOST_BYTES: Final = 4096
_SUCCESS: Final = Value(64, 0)
#: Arguments of some calls: other registers may hold what is left of earlier work.
_ARGUMENT_COUNTS: Final = {
    "cudaDeviceSynchronize": 0,
    "cudaGetLastError": 0,
    "cudaPeekAtLastError": 0,
    "cudaDeviceReset": 0,
    "cudaStreamSynchronize": 1,
    "cudaEventSynchronize": 1,
    "malloc": 1,
    "free": 1,
    "atoi": 1,
    "atol": 1,
    "puts": 1,
    "strtol": 3,
}


def call(step: Step, name: str | None) -> None:
    """Apply the effects of a call whose code is not followed.

    Parameters
    ----------
    step : Step
        The machine at the call.
    name : str or None
        Name of the function that is called; None if it is called through an unknown pointer.
    """
    plain = call_table.plain_name(name or "")
    if plain == call_table.PUSH:
        _push(step)
    elif plain == call_table.POP:
        _pop(step)
    elif plain in call_table.LAUNCHES:
        _launch(step)
    elif plain in call_table.DEFERRABLE:
        _table_call(step, plain, call_table.DEFERRABLE[plain])
    elif plain in call_table.OUTPUTS:
        step.note(EventKind.CALL, detail=plain)
        _write_out(step, call_table.OUTPUTS[plain])
        _after(step, step.unknown(plain, 64))
    else:
        _unknown_call(step, plain)


def _argument(step: Step, index: int, size: int = 8) -> Value:
    if index < len(ARGUMENTS):
        return low(step.state.general[ARGUMENTS[index]], 8 * size)
    top = step.state.general["rsp"] + Value(64, 8 * (index - len(ARGUMENTS)))
    return low(step.load(top, 8), 8 * size)


def _after(step: Step, result: Value) -> None:
    """Clear what a callee may change, and leave its result."""
    for name in GENERAL:
        if name not in KEPT:
            step.state.general[name] = step.unknown(name, 64)
    for name in VECTOR:
        halves = [step.unknown(f"{name}.{half}", 64) for half in (0, 1)]
        step.state.vector[name] = [byte for half in halves for byte in bytes_of(half)]
    step.state.general["rax"] = of(Atom("left", 64, (result,)))
    step.state.flags = None
    place = offset_from(step.state.general["rsp"], FRAME)
    if place is not None:
        step.state.drop_below(place)


def _error(step: Step) -> Value:
    return zero_extend(of(Atom("error", 32, (step.site,))), 64)


def _push(step: Step) -> None:
    grid, block = _dimensions(step, 0), _dimensions(step, 2)
    step.state.pending = (*grid, *block, _argument(step, 4), _argument(step, 5))
    _after(step, _SUCCESS)


def _dimensions(step: Step, index: int) -> tuple[Value, Value, Value]:
    """Return a dim3 that came in two registers."""
    both = _argument(step, index)
    return extract(both, 0, 32), extract(both, 32, 32), _argument(step, index + 1, 4)


def _pop(step: Step) -> None:
    pending = step.state.pending
    if len(pending) != 8:
        _unknown_call(step, call_table.POP)
        return
    grid, block, shared, stream = (_argument(step, index) for index in range(4))
    for where, values in ((grid, pending[:3]), (block, pending[3:6])):
        for index, value in enumerate(values):
            step.store(where + Value(64, 4 * index), bytes_of(value))
    step.store(shared, bytes_of(pending[6]))
    step.store(stream, bytes_of(pending[7]))
    step.state.pending = ()
    _after(step, _SUCCESS)


def _launch(step: Step) -> None:
    kernel = _kernel(step, _argument(step, 0))
    shared, stream = _argument(step, 6), _argument(step, 7)
    configuration = (*_dimensions(step, 1), *_dimensions(step, 3), shared, stream)
    table = _argument(step, 5)
    if kernel is None:
        step.note(EventKind.CALL, detail="a launch of a kernel whose parameters are not known")
    else:
        arguments = []
        for index, size in enumerate(step.image.kernels[kernel]):
            pointer = step.load(table + Value(64, 8 * index), 8)
            arguments.append(_pieces(step, pointer, size))
        _record(step, CudaCall(kernel, step.site, tuple(arguments), configuration))
    _after(step, _error(step))


def _kernel(step: Step, function: Value) -> str | None:
    """Return the mangled name of a kernel whose parameters are known."""
    atom = function.atom
    if atom is not None and atom.kind == "kernel":
        name: str = atom.key[0]
    else:
        place = step.image_place(function)
        symbol = step.image.functions.get(place) if place is not None else None
        if symbol is None:
            return None
        name = symbol.name
        if name not in step.image.kernels and name.startswith("_ZL"):
            name = "_Z" + name.removeprefix("_ZL")
    return name if name in step.image.kernels else None


def _pieces(step: Step, pointer: Value, size: int) -> tuple[Piece, ...]:
    """Return an argument's parts: in one where it can be, else in those that were written."""
    pieces = []
    place = 0
    while place < size:
        for part in (8, 4, 2, 1):
            if part > size - place or place % part:
                continue
            value = step.load(pointer + Value(64, place), part)
            if part == 1 or not any(atom.kind == "joined" for atom in value.terms):
                break
        pieces.append(Piece(place, value))
        place += part
    return tuple(pieces)


def _table_call(step: Step, name: str, kind: CallKind) -> None:
    values = [_argument(step, index, size) for index, size in enumerate(kind.sizes)]
    if kind.direction is not None and values[kind.direction].number not in (
        call_table.HOST_TO_DEVICE,
        call_table.DEVICE_TO_DEVICE,
    ):
        _copy_back(step, name, kind, values)
        return
    if kind.allocates:
        place = offset_from(values[0], FRAME)
        if place is None:
            step.note(EventKind.MEMORY, detail=f"the pointer that {name} writes")
        pointer = of(Atom("result", 64, (step.site,)))
        step.store(values[0], bytes_of(pointer))
    arguments = tuple((Piece(0, value),) for value in values)
    _record(
        step,
        CudaCall(
            name,
            step.site,
            arguments,
            host_bytes=_host_bytes(step, kind, values),
            frees=kind.frees,
            allocates=kind.allocates,
        ),
    )
    _after(step, _error(step))


def _host_bytes(step: Step, kind: CallKind, values: list[Value]) -> tuple[Value, ...] | None:
    """Return the bytes of the frame that a copy reads; none if it reads elsewhere."""
    if kind.source is None or kind.count is None or kind.direction is None:
        return ()
    source, count = values[kind.source], values[kind.count].number
    if FRAME not in source.terms:
        return ()
    place = offset_from(source, FRAME)
    if place is None or count is None or count > _MOST_BYTES:
        return None
    return tuple(
        step.state.load(place + begin, min(4, count - begin)) for begin in range(0, count, 4)
    )


def _copy_back(step: Step, name: str, kind: CallKind, values: list[Value]) -> None:
    """Make a copy that brings bytes back: into the frame, or anywhere."""
    place = offset_from(values[0], FRAME)
    if name == "cudaMemcpy" and place is not None and values[2].number is not None:
        step.note(EventKind.CALL, detail=f"{name} back to the host")
        count = min(values[2].number, _MOST_BYTES)
        for index in range(count):
            step.state.store(place + index, step.unknown(f"byte {index}", 8))
        _after(step, _error(step))
    else:
        _unknown_call(step, name, f"{name} back to the host")


def _write_out(step: Step, size: int) -> None:
    place = offset_from(_argument(step, 0), FRAME)
    if place is None:
        step.store(_argument(step, 0), bytes_of(step.unknown("output", 8 * size)))
    else:
        step.state.store(place, step.unknown("output", 8 * size))


def _unknown_call(step: Step, name: str, detail: str = "") -> None:
    """Make a call that may do anything with what it is given."""
    step.note(EventKind.CALL, detail=detail or name or "a call through a pointer")
    count = _ARGUMENT_COUNTS.get(name, len(ARGUMENTS))
    values = [step.state.general[register] for register in ARGUMENTS[:count]]
    for value in values:
        step.note(EventKind.USE, value, f"an argument of {name or 'an unknown call'}")
    top = offset_from(step.state.general["rsp"], FRAME)
    if top is not None and name not in step.image.imports.values():
        values += [step.state.load(top + 8 * index, 8) for index in range(8)]
    step.escape(values)
    if step.state.escaped:
        step.state.forget_frame(("unknown", step.site))
    _after(step, step.unknown((name or "call") + "()", 64))


def unfollowed(step: Step, name: str) -> None:
    """Make a call to a function of the program that cannot be followed."""
    _unknown_call(step, name)


def _record(step: Step, made: CudaCall) -> None:
    if step.state.trace is not None:
        step.state.trace = (*step.state.trace, made)
