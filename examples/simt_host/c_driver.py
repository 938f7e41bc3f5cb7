"""``host/c/warploom.c`` as a shared library, with the calls that run a kernel."""

import ctypes
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from simt_host.c_calls import U32, CCalls, Launch, Outcome, Pair, Record, Task, shapes_of, values
from warploom_sim.build_cache import cached
from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError
from warploom_sim.verilog.register_map import c_header
from warploom_spec import Config
from warploom_spec.host_commands import WAIT_WORDS
from warploom_spec.host_map import RESULT_WORDS

HOST: Final = Path(__file__).parents[2] / "host" / "c"
_HEADERS: Final = ("warploom.h", "warploom_kept.h", "warploom_fields.h", "warploom_shapes.h")
_SOURCES: Final = ("warploom.c", "warploom_kept.c", "warploom_shapes.c")
#: Turns of waiting for the host's mailbox; each is some ten cycles.
PATIENCE: Final = 10_000
#: Turns of waiting for a record: the caller counts cycles between them.
_RECORD_PATIENCE: Final = 2
#: Block shapes that have rows of the index memory, at most.
_SHAPES: Final = 16
#: The driver's code when nothing came in these turns.
NOTHING_YET: Final = -6


def built_driver(config: Config) -> Path:
    """Return the library for a configuration, compiled now or before.

    Raises
    ------
    ProgramError
        If there is no C compiler, or it fails.
    """
    header = c_header(config, "gpu")
    sources = [(HOST / name).read_text() for name in (*_HEADERS, *_SOURCES)]
    parts = [header, sources, Path(__file__).read_text(), _compiler()]
    return cached("c-driver", parts, lambda folder: _build(folder, header)) / "lib.so"


def _compiler() -> str:
    try:
        return simulators.compiler("cc")
    except FileNotFoundError as error:
        raise ProgramError("cc is not installed; run: sudo apt-get install gcc") from error


def _build(folder: Path, header: str) -> None:
    (folder / "warploom_host.h").write_text(header)
    flags = ["-std=c99", "-O2", "-shared", "-fPIC", f"-I{HOST}", f"-I{folder}"]
    files = [str(HOST / name) for name in _SOURCES]
    command = ["cc", *flags, *files, "-o", str(folder / "lib.so")]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise ProgramError(f"cc failed: {error.stderr}") from error


class CDriver(CCalls):
    """The C driver's calls that run a kernel; each returns its code.

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
        super().__init__(ctypes.CDLL(str(library)), read32, write32, wait_irq)
        self.interrupts = True
        self.patience = PATIENCE
        self._shapes = shapes_of(_SHAPES)
        self._counts: Counter[int] = Counter()

    def launch(
        self, fields: dict[str, int], after: Sequence[tuple[int, int]] = ()
    ) -> tuple[int, int]:
        """Launch a kernel through section 0; return the code and the ticket.

        It begins after some `event`. Without ``index_address`` its block shape gets rows of its
        own.
        """
        pairs = (Pair * WAIT_WORDS)(*(Pair(*event) for event in after))
        launch, ticket = Launch(**fields, waits=len(after), wait=pairs), U32(0)
        if "index_address" not in fields:
            code = self._library.warploom_place_indices(
                ctypes.byref(self._shapes), ctypes.byref(launch)
            )
            if code:
                return code, 0
        code = self.call("launch_kernel", 0, ctypes.byref(launch), ctypes.byref(ticket))
        self._counts[launch.stream] += not code
        return code, ticket.value

    def event(self, stream: int) -> tuple[int, int]:
        """Return a stream and how many launches it has so far: `launch` waits for their ends."""
        return stream, self._counts[stream]

    def run(self, fields: dict[str, int]) -> dict[str, Any]:
        """Run a task on section 0's unit; return its outcome, ``error`` and its result words."""
        outcome, results = Outcome(), (U32 * RESULT_WORDS)()
        error = self.call("run", 0, ctypes.byref(Task(**fields)), ctypes.byref(outcome))
        error = self.call("results", 0, RESULT_WORDS, results) or error
        return values(outcome) | {"error": error, "results": list(results)}

    def wait_record(self) -> tuple[int, dict[str, int]]:
        """Wait a while for the oldest final record; return the code and the record."""
        record = Record()
        self.patience = _RECORD_PATIENCE
        code = self.call("wait_record", ctypes.byref(record))
        self.patience = PATIENCE
        return code, values(record)
