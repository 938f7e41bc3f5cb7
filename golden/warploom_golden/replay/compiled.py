"""Functions that Numba compiles to machine code.

Integers are 64 bits wide and wrap, and indices are not checked. Other threads run meanwhile. With
``NUMBA_DISABLE_JIT=1`` all of it stays plain Python, some hundred times slower, for a debugger.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result for the next process.

    What is kept is discarded when the function's own file changes. The `inlined` functions that it
    calls, and the constants that these use, may stand in other files if `source_number` of those
    is the default value of a parameter, or a part of an argument's type: Numba keeps a result for
    each. Only one function of a process may have such a default. Numba takes the second one's for
    the first one's, finds no compiled function for it, and searches anew in each call:
    milliseconds.
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        # There is no folder to keep it in: neither beside the file nor in the user's home.
        return cast(Function, numba.njit(nogil=True)(function))


def inlined(function: Function) -> Function:
    """Let a function become part of the `compiled` ones that call it."""
    return cast(Function, numba.njit(forceinline=True)(function))


def part(function: Function) -> Function:
    """Let a function be compiled once for the `compiled` ones that call it, as often as they do.

    A large function that is called in several places makes these quicker to compile than an
    `inlined` one does.
    """
    return cast(Function, numba.njit(nogil=True)(function))


def source_number(*modules: ModuleType) -> int:
    """Return a number of 56 bits that differs when the source of one of the modules does."""
    total = hashlib.sha256()
    for module in modules:
        assert module.__file__
        total.update(Path(module.__file__).read_bytes())
    return int.from_bytes(total.digest()[:7], "little")
