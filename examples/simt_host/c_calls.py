"""Calls of ``host/c/warploom.c`` through ctypes: its structures, and accesses that may fail."""

import ctypes
from collections.abc import Callable
from typing import Any, Final

from warploom_spec.host_commands import WAIT_WORDS
from warploom_spec.resources import AMOUNT_FIELDS

U32 = ctypes.c_uint32
_READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, U32, ctypes.POINTER(U32))
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, U32, U32)
_WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
#: Turns of waiting for an answer.
_PATIENCE: Final = 1000


class Refused(Exception):
    """The core answered an access with SLVERR."""


def _words(*names: str) -> list[tuple[str, Any]]:
    """Return fields of 32 bits."""
    return [(name, U32) for name in names]


class _Core(ctypes.Structure):
    _fields_ = [
        ("read32", _READ),
        ("write32", _WRITE),
        ("barrier", _WAIT),
        ("wait_irq", _WAIT),
        ("context", ctypes.c_void_p),
        ("patience", U32),
    ]


class Pair(ctypes.Structure):
    """``warploom_wait_pair``."""

    _fields_ = _words("stream", "count", "relative")


class Launch(ctypes.Structure):
    """``warploom_launch``."""

    _fields_ = [
        ("code", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        *_words("address_space", "stream", "priority", "idempotent", "mode", "quiet"),
        *_words("gx", "gy", "gz", "dx", "dy", "dz", "index_address", "table"),
        *_words(*AMOUNT_FIELDS, "waits"),
        ("wait", Pair * WAIT_WORDS),
        # As many as the largest configuration has: the driver reads its own.
        ("inline_args", ctypes.c_uint64 * 10),
    ]


class Shape(ctypes.Structure):
    """``warploom_shape``."""

    _fields_ = _words("dx", "dy", "dz", "first", "warps", "asked")


class Shapes(ctypes.Structure):
    """``warploom_shapes``."""

    _fields_ = [("shapes", ctypes.POINTER(Shape)), *_words("size", "asked")]


def shapes_of(size: int) -> Shapes:
    """Return ``warploom_shapes`` with no shape yet; ctypes keeps its entries alive."""
    return Shapes((Shape * size)(), size, 0)


class Task(ctypes.Structure):
    """``warploom_task``."""

    _fields_ = [
        ("code", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        *_words("first", "parts", "larger", "small", "skip_primary"),
    ]


class Outcome(ctypes.Structure):
    """``warploom_outcome``."""

    _fields_ = _words("code", "core", "argument", "ticket", "succeeded", "parts", "task", "number")


class Record(ctypes.Structure):
    """``warploom_record``."""

    _fields_ = [
        *_words("ticket", "fate", "code", "kind", "kills", "drained", "cycles"),
        *_words("stream", "offered", "number", "accepted", "first_offer", "made"),
        *_words("met_finished", "met_killed", "met_drained", "met_skipped"),
    ]


def values(structure: ctypes.Structure) -> dict[str, int]:
    """Return a structure's fields by name."""
    return {field[0]: int(getattr(structure, field[0])) for field in structure._fields_}


class CCalls:
    """The driver on a bus.

    Parameters
    ----------
    library : ctypes.CDLL
        The driver.
    read32, write32, wait_irq, barrier : callable
        Accesses; an access that is refused raises `Refused`. Without ``barrier`` C gets a null one.

    Attributes
    ----------
    interrupts : bool
        Whether the driver may wait for the interrupt.
    patience : int
        Turns of waiting for an answer.
    """

    def __init__(
        self,
        library: ctypes.CDLL,
        read32: Callable[[int], int],
        write32: Callable[[int, int], None],
        wait_irq: Callable[[], None],
        barrier: Callable[[], None] | None = None,
    ):
        self._library = library
        self.interrupts = False
        self.patience = _PATIENCE
        self._failure: BaseException | None = None

        def read(context: object, address: int, value: Any) -> int:
            def access() -> None:
                value[0] = read32(address)

            return self._accessed(access)

        def write(context: object, address: int, value: int) -> int:
            return self._accessed(lambda: write32(address, value))

        def wait(context: object) -> int:
            return self._accessed(wait_irq)

        def settle(context: object) -> int:
            assert barrier is not None
            return self._accessed(barrier)

        self._read, self._write, self._wait = _READ(read), _WRITE(write), _WAIT(wait)
        self._barrier = _WAIT(settle) if barrier else _WAIT()

    def _accessed(self, access: Callable[[], None]) -> int:
        """Return what C's functions return: 0, or 1 if the access was refused."""
        try:
            access()
        except Refused:
            return 1
        except BaseException as error:
            # Nothing is raised through C: ctypes would print it and go on. `call` raises it.
            self._failure = error
            return 1
        return 0

    def call(self, name: str, *arguments: Any) -> int:
        """Call ``warploom_<name>``; return its code. Raises as `call_on_core`."""
        return self.call_on_core(getattr(self._library, f"warploom_{name}"), *arguments)

    def call_on_core(self, function: Any, *arguments: Any) -> int:
        """Call a function of the library whose first argument is the core; return its code.

        Raises
        ------
        BaseException
            What an access raised, other than `Refused`.
        """
        wait = self._wait if self.interrupts else _WAIT()
        core = _Core(self._read, self._write, self._barrier, wait, None, self.patience)
        code = function(ctypes.byref(core), *arguments)
        if self._failure is not None:
            raise self._failure
        return int(code)
