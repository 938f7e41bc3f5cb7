"""``host/c/warploom.c`` as a shared library, called from Python."""

import ctypes
import subprocess
from pathlib import Path

from warploom_sim.verilog.register_map import c_header
from warploom_spec import preset
from warploom_spec.resources import AMOUNT_FIELDS

HOST = Path(__file__).parents[2] / "host" / "c"
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding", "-O2")
CONFIG = preset("tiny")
_U32 = ctypes.c_uint32
_READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _U32, ctypes.POINTER(_U32))
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _U32, _U32)
_WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def build(folder: Path, header: str | None = None, source: str | None = None) -> Path:
    """Compile the driver as a shared library.

    ``header`` stands in for that of `CONFIG`, ``source`` for the text of ``warploom.c``.
    """
    (folder / "warploom_host.h").write_text(header or c_header(CONFIG, "tiny"))
    library, text = folder / "warploom.so", folder / "warploom.c"
    text.write_text(source or (HOST / "warploom.c").read_text())
    include = (f"-I{HOST}", f"-I{folder}")
    subprocess.run(
        ["gcc", *FLAGS, "-shared", "-fPIC", *include, str(text), "-o", str(library)], check=True
    )
    return library


def _fields(*names):
    return [(name, _U32) for name in names]


class Refused(Exception):
    """The core answered an access with SLVERR."""


class Core(ctypes.Structure):
    """``warploom_core``."""

    _fields_ = [
        ("read32", _READ),
        ("write32", _WRITE),
        ("barrier", _WAIT),
        ("wait_irq", _WAIT),
        ("context", ctypes.c_void_p),
        ("patience", _U32),
    ]


class Launch(ctypes.Structure):
    """``warploom_launch``."""

    _fields_ = [
        ("code", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        *_fields("address_space", "stream", "priority", "after_previous", "idempotent", "mode"),
        *_fields("gx", "gy", "gz", "dx", "dy", "dz", "index_address", "table"),
        *_fields(*AMOUNT_FIELDS),
        # As many as the largest configuration has: the driver reads its own.
        ("inline_args", ctypes.c_uint64 * 10),
    ]


class Task(ctypes.Structure):
    """``warploom_task``."""

    _fields_ = [
        ("code", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64),
        *_fields("first", "parts", "larger", "small", "skip_primary"),
    ]


class Outcome(ctypes.Structure):
    """``warploom_outcome``."""

    _fields_ = _fields("code", "core", "argument", "ticket", "succeeded", "parts", "task")


class Record(ctypes.Structure):
    """``warploom_record``."""

    _fields_ = _fields("ticket", "fate", "code", "kind", "kills", "drained", "cycles")


def _values(structure):
    return {name: getattr(structure, name) for name, _ in structure._fields_}


class CDriver:
    """The C calls under the names that `driver_tours` uses; each returns a code first.

    Parameters
    ----------
    library : ctypes.CDLL
        What `build` made.
    read32, write32, wait_irq, barrier : function
        Accesses; an access that is refused raises `Refused`. Without ``barrier`` C gets a null one.
    """

    def __init__(self, library, read32, write32, wait_irq, barrier=None):
        self._library = library
        self.interrupts = False
        self.patience = 1000
        self._failure = None

        def read(context, address, value):
            def access():
                value[0] = read32(address)

            return self._accessed(access)

        def write(context, address, value):
            return self._accessed(lambda: write32(address, value))

        def wait(context):
            return self._accessed(wait_irq)

        def settle(context):
            return self._accessed(barrier)

        self._read, self._write, self._wait = _READ(read), _WRITE(write), _WAIT(wait)
        self._barrier = _WAIT(settle) if barrier else _WAIT()

    def _accessed(self, access):
        """Return what C's functions return: 0, or 1 if the access was refused."""
        try:
            access()
        except Refused:
            return 1
        except BaseException as error:
            # Nothing is raised through C: ctypes would print it and go on. `_call` raises it.
            self._failure = error
            return 1
        return 0

    def _call(self, name, *arguments):
        wait = self._wait if self.interrupts else _WAIT()
        core = Core(self._read, self._write, self._barrier, wait, None, self.patience)
        code = getattr(self._library, f"warploom_{name}")(ctypes.byref(core), *arguments)
        if self._failure is not None:
            raise self._failure
        return code

    def identify(self):
        return self._call("identify")

    def launch(self, section, inline=(), **fields):
        launch, ticket = Launch(**fields), _U32(0)
        for n, value in enumerate(inline):
            launch.inline_args[n] = value
        error = self._call("launch_kernel", section, ctypes.byref(launch), ctypes.byref(ticket))
        return error, ticket.value

    def submit_launch(self, section, **fields):
        return self._call("submit_launch", section, ctypes.byref(Launch(**fields)))

    def poll(self, section):
        outcome = Outcome()
        return self._call("poll", section, ctypes.byref(outcome)), _values(outcome)

    def run(self, section, **fields):
        task, outcome = Task(**fields), Outcome()
        error = self._call("run", section, ctypes.byref(task), ctypes.byref(outcome))
        return error, _values(outcome)

    def disconnect(self, section):
        outcome = Outcome()
        error = self._call("submit_disconnect", section)
        return error or self._call("wait", section, ctypes.byref(outcome))

    def results(self, section, count):
        words = (_U32 * count)()
        return self._call("results", section, count, words), list(words)

    def abort(self, section, ticket):
        return self._call("abort", section, ticket)

    def take_record(self):
        record = Record()
        return self._call("take_record", ctypes.byref(record)), _values(record)

    def wait_record(self):
        record = Record()
        return self._call("wait_record", ctypes.byref(record)), _values(record)

    def enable_irq(self, bits, threshold):
        return self._call("enable_irq", bits, threshold)

    def acknowledge_irq(self):
        bits = _U32(0)
        return self._call("acknowledge_irq", ctypes.byref(bits)), bits.value

    def clear_stream(self, stream):
        return self._call("clear_stream", stream)

    def reset_units(self, units):
        return self._call("reset_units", units)

    def enable_sms(self, sms, word=0):
        return self._call("enable_sms", word, sms)

    def soft_reset(self):
        return self._call("soft_reset")
