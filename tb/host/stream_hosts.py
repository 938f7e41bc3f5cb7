"""The drivers of version 2 of the map, C and Python, under the names of `stream_tours`."""

import ctypes
import subprocess
from dataclasses import asdict
from pathlib import Path

from simt_host.c_calls import U32, Launch, Record, values
from tb.host.c_driver import FLAGS, HOST, CDriver
from tb.host.driver_tours import EMPTY, PythonDriver, descriptor
from warploom_host import StreamDriver, Streams
from warploom_sim.verilog.register_map import c_header
from warploom_spec import Config, preset

#: The C structures below are those of a header for this configuration.
TINY = preset("tiny")
SOURCES = ("warploom.c", "warploom_streams.c", "example_streams.c")


def build(folder: Path, config: Config = TINY, texts: dict[str, str] | None = None) -> Path:
    """Compile driver and example as a shared library; ``texts`` stand in for some sources."""
    (folder / "warploom_host.h").write_text(c_header(config, "bench", stream_queues=True))
    library, files = folder / "warploom.so", []
    for name in SOURCES:
        files.append(folder / name)
        files[-1].write_text((texts or {}).get(name) or (HOST / name).read_text())
    include = (f"-I{HOST}", f"-I{folder}")
    command = ["gcc", *FLAGS, "-shared", "-fPIC", *include, *map(str, files), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


class Event(ctypes.Structure):
    """``warploom_event``."""

    _fields_ = [(name, U32) for name in ("stream", "count", "epoch")]


class _Open(ctypes.Structure):
    _fields_ = [(name, U32) for name in ("ticket", "stream", "count")]


def state_of(config):
    """Return the class of ``warploom_streams`` for a configuration."""
    streams = 1 << config.stream_bits

    class State(ctypes.Structure):
        _fields_ = [
            ("kept", ctypes.POINTER(Record)),
            *((name, U32) for name in ("size", "used", "opened", "epoch")),
            ("count", U32 * streams),
            ("pairs", U32 * streams),
            ("pair", Event * max(1, config.launch_waits) * streams),
            ("open", _Open * config.records),
        ]

    return State


class CStreams(CDriver):
    """The C calls; each returns a code first."""

    #: Records that the program keeps room for.
    size = 4

    def __init__(self, library, *functions, config=TINY, **more):
        super().__init__(library, *functions, **more)
        self._kept = (Record * max(1, self.size))()
        self.state = state_of(config)(self._kept, self.size)
        self._streams = ctypes.byref(self.state)
        library.warploom_event_record.restype = Event

    def begin(self):
        return self.call("streams_begin", self._streams)

    def launch(self, section, inline=(), **fields):
        launch, ticket = Launch(**fields), U32(0)
        where = self._streams, section, ctypes.byref(launch), ctypes.byref(ticket)
        return self.call("streams_launch", *where), ticket.value

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

    def event_record(self, stream):
        return self._library.warploom_event_record(self._streams, stream)

    def stream_wait(self, stream, event):
        return self.call("stream_wait", self._streams, stream, ctypes.byref(event))

    def take_record(self):
        record = Record()
        code = self.call("streams_take_record", self._streams, ctypes.byref(record))
        return code, values(record)

    def wait_record(self):
        record = Record()
        code = self.call("streams_wait_record", self._streams, ctypes.byref(record))
        return code, values(record)

    def soft_reset(self):
        return self.call("streams_soft_reset", self._streams)

    def example(self, code):
        """Call the example."""
        return self.call_on_core(self._library.run_two_streams, ctypes.c_uint64(code))


class PythonStreams(PythonDriver):
    """The Python calls; each returns a code first."""

    def __init__(self, driver: StreamDriver, functions):
        super().__init__(driver, functions)
        self._waiting = StreamDriver(*functions[:2], driver._config, 1000, functions[2])
        self._orders: Streams | None = None

    def call(self, name, *arguments, **settings):
        # What `Streams` has goes through it.
        if self._orders is not None and hasattr(self._orders, name):
            driver, self._plain = self._plain, self._orders
            try:
                return super().call(name, *arguments, **settings)
            finally:
                self._plain = driver
        return super().call(name, *arguments, **settings)

    def begin(self):
        self._orders = Streams(self._plain)
        return 0

    def launch(self, section, inline=(), **fields):
        error, ticket = self.call("launch", section, descriptor(inline, fields))
        return error, 0 if error else ticket

    def preempt(self, section, streams):
        return self.call("preempt", section, streams)[0]

    def resume(self, section, streams):
        return self.call("resume", section, streams)[0]

    def abort_streams(self, section, streams):
        return self.call("abort_streams", section, streams)[0]

    def set_launch_timeout(self, cycles):
        return self.call("set_launch_timeout", cycles)[0]

    def set_irq_timeout(self, cycles):
        return self.call("set_irq_timeout", cycles)[0]

    def clock(self):
        return self.call("clock")

    def event_record(self, stream):
        return self.call("event_record", stream)[1]

    def stream_wait(self, stream, event):
        return self.call("stream_wait", stream, event)[0]

    def take_record(self):
        error, record = self.call("take_record")
        if not error and record is None:
            return EMPTY, {}
        return error, asdict(record) if record else {}
