"""The drivers with events, C and Python, under the names of `stream_tours`."""

import ctypes

from simt_host.c_calls import U32, Launch, Record, values
from tb.host.c_driver import UNWRITTEN, CDriver
from tb.host.driver_tours import PythonDriver, descriptor
from warploom_host import HostDriver, Streams
from warploom_spec import preset

U64 = ctypes.c_uint64
#: The C structures below are those of a header for this configuration.
TINY = preset("tiny")


class Event(ctypes.Structure):
    """``warploom_event``."""

    _fields_ = [("stream", U32), ("epoch", U32), ("count", U64), ("quiet", U64)]


class _Open(ctypes.Structure):
    _fields_ = [("ticket", U32), ("stream", U32), ("count", U64)]


class Kept(ctypes.Structure):
    """``warploom_kept``."""

    _fields_ = [("known", U32), ("words", U32 * 32)]


def state_of(config):
    """Return the class of ``warploom_streams`` for a configuration."""
    streams = 1 << config.stream_bits

    class State(ctypes.Structure):
        _fields_ = [
            ("kept", ctypes.POINTER(Record)),
            ("size", U32),
            ("words", ctypes.POINTER(Kept)),
            *((name, U32) for name in ("used", "opened", "epoch")),
            *((name, U64 * streams) for name in ("count", "quiet", "ended")),
            ("looping", U32 * streams),
            ("loops", U32),
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

    def begin(self):
        return self.call("streams_begin", self._streams)

    def launch(self, section, inline=(), **fields):
        launch, ticket = Launch(**fields), U32(UNWRITTEN)
        where = self._streams, section, ctypes.byref(launch), ctypes.byref(ticket)
        return self.call("streams_launch", *where), ticket.value

    def event_record(self, stream):
        event = Event()
        code = self._library.warploom_event_record(self._streams, stream, ctypes.byref(event))
        return code or event

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
        """Call the example's first program."""
        return self.call_on_core(self._library.run_two_streams, ctypes.c_uint64(code))

    def second_example(self, code, endless):
        """Call the example's second program."""
        codes = ctypes.c_uint64(code), ctypes.c_uint64(endless)
        return self.call_on_core(self._library.run_held_and_hung, *codes)


class PythonStreams(PythonDriver):
    """The Python calls; each returns a code first."""

    def __init__(self, driver: HostDriver, functions):
        super().__init__(driver, functions)
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

    def event_record(self, stream):
        code, event = self.call("event_record", stream)
        return code or event

    def stream_wait(self, stream, event):
        return self.call("stream_wait", stream, event)[0]
