"""Functions that Numba compiles to machine code.

Integers are 64 bits wide and wrap, and indices are not checked. With ``NUMBA_DISABLE_JIT=1`` all of
it stays plain Python, some hundred times slower, for a debugger.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result for the next process.

    What is kept is discarded when the function's own file changes, and that file alone: the
    `inlined` functions that it calls, and the constants that these use, must stand in it as well.
    """
    try:
        return cast(Function, numba.njit(cache=True)(function))
    except RuntimeError:
        # There is no folder to keep it in: neither beside the file nor in the user's home.
        return cast(Function, numba.njit(function))


def inlined(function: Function) -> Function:
    """Let a function become part of the `compiled` ones that call it."""
    return cast(Function, numba.njit(forceinline=True)(function))
