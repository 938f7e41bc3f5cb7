"""The same signal names, and so the same Verilog, on every Python.

Amaranth names a signal after the variable that it is assigned to, which it reads from the caller's
bytecode. From Python 3.13 on, one instruction may store or load two variables. Amaranth 0.5 does
not know these pairs, so that the second signal of ``first, second = Signal(), Signal()`` lost its
name. `install` adds the pairs to Amaranth's search; the names are those of Python 3.11 and 3.12.
"""

import dis
import functools
import sys
from types import CodeType, FrameType
from typing import Any, Final

from amaranth import tracer

#: The first Python with instructions for two variables.
PAIRS_SINCE: Final = (3, 13)
_CALLS: Final = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
#: What may stand between a call and the store of its result: the other values of the assignment.
_LOADS: Final = frozenset(
    ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_FAST", "LOAD_DEREF", "BUILD_LIST", "COPY")
)
_STORES: Final = frozenset({"STORE_NAME", "STORE_ATTR", "STORE_FAST", "STORE_DEREF"})
#: Store the topmost value in the first of their two variables.
_STORE_PAIRS: Final = frozenset({"STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"})
_LOAD_PAIR: Final = "LOAD_FAST_LOAD_FAST"


@functools.cache
def _names(code: CodeType) -> dict[int, str]:
    """Return the name for the result of each call, by offset, where a pair stands in between."""
    found = {}
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    for k, call in enumerate(instructions):
        if call.opname in _CALLS and (name := _name(instructions[k + 1 :])):
            found[call.offset] = name
    return found


def _name(following: list[dis.Instruction]) -> str | None:
    """Return the variable that takes a value, found past a pair; None where there is no pair."""
    paired = False
    for instruction in following:
        if instruction.opname == _LOAD_PAIR:
            paired = True
        elif instruction.opname in _STORE_PAIRS:
            return str(instruction.argval[0])
        elif instruction.opname in _STORES:
            return str(instruction.argval) if paired else None
        elif instruction.opname not in _LOADS:
            return None
    return None


def install() -> None:
    """Let Amaranth's search for names know the pairs; once, and only where there are any."""
    search = tracer.get_var_name
    if sys.version_info < PAIRS_SINCE or hasattr(search, "__wrapped__"):
        return

    @functools.wraps(search)
    def get_var_name(depth: int = 2, **default: Any) -> Any:
        frame: FrameType = sys._getframe(depth)
        name = _names(frame.f_code).get(frame.f_lasti)
        return search(depth + 1, **default) if name is None else name

    found: Any = get_var_name
    tracer.get_var_name = found
