"""``host/c/warploom.c`` as a shared library, called from Python."""

import ctypes
import subprocess
from pathlib import Path

from simt_host.c_calls import U32, CCalls, Launch, Outcome, Record, Task, values
from warploom_sim.verilog.register_map import c_header
from warploom_spec import preset

HOST = Path(__file__).parents[2] / "host" / "c"
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding", "-O2")
CONFIG = preset("tiny")


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


class CDriver(CCalls):
    """The C calls under the names that `driver_tours` uses; each returns a code first."""

    def identify(self):
        return self.call("identify")

    def launch(self, section, inline=(), **fields):
        launch, ticket = Launch(**fields), U32(0)
        for n, value in enumerate(inline):
            launch.inline_args[n] = value
        error = self.call("launch_kernel", section, ctypes.byref(launch), ctypes.byref(ticket))
        return error, ticket.value

    def submit_launch(self, section, **fields):
        return self.call("submit_launch", section, ctypes.byref(Launch(**fields)))

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
