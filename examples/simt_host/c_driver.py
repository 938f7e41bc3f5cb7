"""``host/c/warploom.c`` as a shared library, with the calls that run a kernel."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from warploom_sim.build_cache import cached
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.register_map import c_header
from warploom_spec import Config
from warploom_spec.resources import AMOUNT_FIELDS

HOST: Final = Path(__file__).parents[2] / "host" / "c"
#: Turns of waiting for the host's mailbox; each is some ten cycles.
PATIENCE: Final = 10_000
#: Turns of waiting for a record: the caller counts cycles between them.
_RECORD_PATIENCE: Final = 2
#: The driver's code when nothing came in these turns.
NOTHING_YET: Final = -6
_U32 = ctypes.c_uint32
_READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _U32, ctypes.POINTER(_U32))
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _U32, _U32)
_WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def built_driver(config: Config) -> Path:
    """Return the library for a configuration, compiled now or before.

    Raises
    ------
    ProgramError
        If there is no C compiler, or it fails.
    """
    header = c_header(config, "gpu")
    sources = [(HOST / name).read_text() for name in ("warploom.h", "warploom.c")]
    return cached("c-driver", [header, sources], lambda folder: _build(folder, header)) / "lib.so"


def _build(folder: Path, header: str) -> None:
    (folder / "warploom_host.h").write_text(header)
    flags = ["-std=c99", "-O2", "-shared", "-fPIC", f"-I{HOST}", f"-I{folder}"]
    command = ["cc", *flags, str(HOST / "warploom.c"), "-o", str(folder / "lib.so")]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise ProgramError("cc is not installed; run: sudo apt-get install gcc") from error
    except subprocess.CalledProcessError as error:
        raise ProgramError(f"cc failed: {error.stderr}") from error


class _Core(ctypes.Structure):
    _fields_ = [
        ("read32", _READ),
        ("write32", _WRITE),
        ("barrier", _WAIT),
        ("wait_irq", _WAIT),
        ("context", ctypes.c_void_p),
        ("patience", _U32),
    ]


def _words(*names: str) -> list[tuple[str, Any]]:
    return [(name, _U32) for name in names]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        *_words("address_space", "stream", "priority", "after_previous", "idempotent", "mode"),
        *_words("gx", "gy", "gz", "dx", "dy", "dz", "index_address", "table"),
        *_words(*AMOUNT_FIELDS),
        ("inline_args", ctypes.c_uint64 * 10),
    ]


class _Record(ctypes.Structure):
    _fields_ = _words("ticket", "fate", "code", "kind", "kills", "drained", "cycles")


class CDriver:
    """The C driver's calls; each returns its code.

    Parameters
    ----------
    library : Path
        What `built_driver` returned.
    read32, write32, wait_irq : callable
        Accesses of the bus, and a wait for the interrupt.
    """

    def __init__(
        self,
        library: Path,
        read32: Callable[[int], int],
        write32: Callable[[int, int], None],
        wait_irq: Callable[[], None],
    ):
        self._library = ctypes.CDLL(str(library))

        def read(context: object, address: int, value: Any) -> int:
            value[0] = read32(address)
            return 0

        def write(context: object, address: int, value: int) -> int:
            write32(address, value)
            return 0

        def wait(context: object) -> int:
            wait_irq()
            return 0

        functions = _READ(read), _WRITE(write), _WAIT(), _WAIT(wait)
        self._core = _Core(*functions, None, PATIENCE)

    def call(self, name: str, *arguments: Any) -> int:
        """Call ``warploom_<name>``; return its code."""
        function = getattr(self._library, f"warploom_{name}")
        return int(function(ctypes.byref(self._core), *arguments))

    def launch(self, fields: dict[str, int]) -> tuple[int, int]:
        """Launch a kernel through section 0; return the code and the ticket."""
        ticket = _U32(0)
        code = self.call("launch_kernel", 0, ctypes.byref(_Launch(**fields)), ctypes.byref(ticket))
        return code, ticket.value

    def wait_record(self) -> tuple[int, dict[str, int]]:
        """Wait a while for the oldest final record; return the code and the record."""
        record = _Record()
        self._core.patience = _RECORD_PATIENCE
        code = self.call("wait_record", ctypes.byref(record))
        self._core.patience = PATIENCE
        return code, {name: int(getattr(record, name)) for name, _ in record._fields_}
