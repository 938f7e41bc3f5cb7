"""The driver in ``host/c`` as a shared library, called from Python."""

import ctypes
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from simt_host.c_calls import U32, CCalls, Launch, Outcome, Record, Task, values
from warploom_sim.verilog.register_map import c_header
from warploom_spec import preset

HOST = Path(__file__).parents[2] / "host" / "c"
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding", "-O2")
CONFIG = preset("tiny")
#: What stands in a ticket before a call.
UNWRITTEN = 0xFFFFFFFF
SOURCES = (
    *(f"warploom{part}.c" for part in ("", "_kept", "_loops", "_shapes", "_streams")),
    "example_streams.c",
    "example_loops.c",
)


def build(
    folder: Path, header: str | None = None, texts: Mapping[str, str] = MappingProxyType({})
) -> Path:
    """Compile the driver, and the example with streams, as a shared library.

    ``header`` stands in for that of `CONFIG`, ``texts`` for those of some sources.
    """
    (folder / "warploom_host.h").write_text(header or c_header(CONFIG, "tiny"))
    library, files = folder / "warploom.so", []
    for name in SOURCES:
        files.append(folder / name)
        files[-1].write_text(texts.get(name) or (HOST / name).read_text())
    include = (f"-I{HOST}", f"-I{folder}")
    command = ["gcc", *FLAGS, "-shared", "-fPIC", *include, *map(str, files), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def launch_of(inline: Iterable[int], waits: Iterable[tuple[int, int]], fields: Any) -> Launch:
    """Return a launch with its inline words and its pairs (stream, count)."""
    launch = Launch(**fields)
    for n, value in enumerate(inline):
        launch.inline_args[n] = value
    for pair in waits:
        # A count of pairs that are too many has no pair: the driver must not read it.
        if launch.waits < len(launch.wait):
            launch.wait[launch.waits] = pair
        launch.waits += 1
    return launch


class CDriver(CCalls):
    """The C calls under the names that `driver_tours` uses; each returns a code first."""

    def identify(self):
        return self.call("identify")

    def launch(self, section, inline=(), waits=(), **fields):
        launch, ticket = launch_of(inline, waits, fields), U32(UNWRITTEN)
        error = self.call("launch_kernel", section, ctypes.byref(launch), ctypes.byref(ticket))
        return error, ticket.value

    def submit_launch(self, section, waits=(), **fields):
        return self.call("submit_launch", section, ctypes.byref(launch_of((), waits, fields)))

    def poll(self, section):
        outcome = Outcome()
        return self.call("poll", section, ctypes.byref(outcome)), values(outcome)

    def run(self, section, **fields):
        task, outcome = Task(**fields), Outcome()
        error = self.call("run", section, ctypes.byref(task), ctypes.byref(outcome))
        return error, values(outcome)

    def disconnect(self, section):
        outcome = Outcome()
        error = self.call("submit_disconnect", section)
        return error or self.call("wait", section, ctypes.byref(outcome))

    def results(self, section, count):
        words = (U32 * count)()
        return self.call("results", section, count, words), list(words)

    def abort(self, section, ticket):
        return self.call("abort", section, ticket)

    def preempt(self, section, streams):
        return self.call("preempt", section, streams)

    def resume(self, section, streams):
        return self.call("resume", section, streams)

    def abort_streams(self, section, streams):
        return self.call("abort_streams", section, streams)

    def set_launch_timeout(self, cycles):
        return self.call("set_launch_timeout", cycles)

    def set_irq_timeout(self, cycles):
        return self.call("set_irq_timeout", cycles)

    def clock(self):
        clock = ctypes.c_uint64(0)
        return self.call("clock", ctypes.byref(clock)), clock.value

    def take_record(self):
        record = Record()
        return self.call("take_record", ctypes.byref(record)), values(record)

    def wait_record(self):
        record = Record()
        return self.call("wait_record", ctypes.byref(record)), values(record)

    def enable_irq(self, bits, threshold):
        return self.call("enable_irq", bits, threshold)

    def acknowledge_irq(self):
        bits = U32(0)
        return self.call("acknowledge_irq", ctypes.byref(bits)), bits.value

    def clear_stream(self, stream):
        return self.call("clear_stream", stream)

    def reset_units(self, units):
        return self.call("reset_units", units)

    def enable_sms(self, sms, word=0):
        return self.call("enable_sms", word, sms)

    def soft_reset(self):
        return self.call("soft_reset")
