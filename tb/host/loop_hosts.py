"""The drivers with loops, C and Python, on any bus, under one set of names."""

import ctypes
import functools
import tempfile
from dataclasses import asdict
from pathlib import Path

from simt_host.c_calls import U32, Launch, Outcome, values
from tb.host import c_driver
from tb.host.c_driver import UNWRITTEN, launch_of
from tb.host.driver_tours import BUSY, FULL, RANGE, descriptor
from tb.host.stream_hosts import CStreams, Kept, PythonStreams
from warploom_host import HostDriver, KeptSection, Steps, Streams, Templates
from warploom_host.launch_words import Relative
from warploom_sim.verilog.register_map import c_header
from warploom_spec import preset

U64 = ctypes.c_uint64
LOOPING = preset("tiny")


class CSteps(ctypes.Structure):
    """``warploom_steps``; as many inline words as the largest configuration has."""

    _fields_ = [
        *((name, U32) for name in ("steps", "alternates", "gx", "gy", "gz")),
        ("arguments", U64),
        ("inline_args", U64 * 10),
    ]


class _Loop(ctypes.Structure):
    _fields_ = [(name, U32) for name in ("runs", "first", "size", "iterations", "epoch")]


class LoopResult(ctypes.Structure):
    """``warploom_loop_result``."""

    _fields_ = [(name, U32) for name in ("code", "argument", "accepted", "finished")]


def templates_of(config):
    """Return the class of ``warploom_templates`` for a configuration."""
    slots = config.loop_templates

    class CTemplates(ctypes.Structure):
        _fields_ = [
            ("streams", ctypes.c_void_p),
            ("group", U32 * slots),
            ("written", U32 * slots),
            ("known", U32 * 2 * slots),
            ("words", U32 * 32 * 2 * slots),
            ("loops", _Loop * config.loop_sections),
        ]

    return CTemplates


def changes_of(steps, alternates):
    """Return both kinds of changes as C has them: each a dict of gx, grid_yz, arguments, inline."""
    made = CSteps()
    for kind, given in (("steps", steps), ("alternates", alternates)):
        mask = 0
        for name, value in given.items():
            if name == "inline":
                for number, word in value.items():
                    mask |= 8 << number
                    made.inline_args[number] = word
                continue
            mask |= {"gx": 1, "grid_yz": 2, "arguments": 4}[name]
            if name == "grid_yz":
                made.gy, made.gz = value
            else:
                setattr(made, name, value)
        setattr(made, kind, mask)
    return made


class CLoops(CStreams):
    """The C calls; each returns a code first."""

    size = 32

    def __init__(self, library, *functions, config=LOOPING, keep_words=False, **more):
        super().__init__(library, *functions, config=config, **more)
        self._words = (Kept * config.sections)()
        if keep_words:
            self.state.words = self._words
        self._templates = templates_of(config)()
        self._owner = ctypes.byref(self._templates)

    def begin(self):
        code = super().begin()
        self._library.warploom_templates_begin(self._owner, self._streams)
        return code

    def launch(self, section, waits=(), **fields):
        launch, ticket = launch_of((), (), fields), U32(UNWRITTEN)
        put_waits(launch, waits)
        where = self._streams, section, ctypes.byref(launch), ctypes.byref(ticket)
        return self.call("streams_launch", *where), ticket.value

    def launch_kept(self, section, **fields):
        """Launch with the words that this section's last launch left."""
        outcome = Outcome()
        where = section, ctypes.byref(Launch(**fields)), ctypes.byref(self._words[section])
        code = self.call("launch_kept", *where, ctypes.byref(outcome))
        return code, 0 if code else outcome.number

    def forget_words(self, section):
        self._library.warploom_forget_words(ctypes.byref(self._words[section]))

    def take_slots(self, count):
        first = U32()
        code = self._library.warploom_take_slots(self._owner, count, ctypes.byref(first))
        return code, 0 if code else first.value

    def free_slots(self, first):
        return self._library.warploom_free_slots(self._owner, first)

    def write_template(self, slot, steps=None, alternates=None, waits=(), inline=(), **fields):
        launch = launch_of(inline, (), fields)
        put_waits(launch, waits)
        changes = ctypes.byref(changes_of(steps or {}, alternates or {}))
        if steps is None and alternates is None:
            changes = None
        return self.call("write_template", self._owner, slot, ctypes.byref(launch), changes)

    def submit_loop(self, section, first, count, iterations, in_flight=0):
        return self.call("submit_loop", self._owner, section, first, count, iterations, in_flight)

    def loop_done(self, section):
        return self.call("loop_done", section)

    def loop_outcome(self, section):
        result = LoopResult()
        code = self.call("loop_outcome", self._owner, section, ctypes.byref(result))
        return code, {} if code < 0 else values(result)

    def loop_stop(self, section):
        return self.call("loop_stop", section)


def put_waits(launch, waits):
    """Give a launch its pairs: (stream, count), or relative ones."""
    for pair in waits:
        launch.wait[launch.waits] = (*pair, int(isinstance(pair, Relative)))
        launch.waits += 1


class PythonLoops(PythonStreams):
    """The Python calls; each returns a code first."""

    def __init__(self, driver, functions, keep_words=False):
        super().__init__(driver, functions)
        self._keeps = keep_words
        self._templates = None
        self._kept = {}

    def begin(self):
        self._orders = Streams(self._plain, keep_words=self._keeps)
        self._templates = Templates(self._plain, self._orders)
        return 0

    def _of(self, owner, name, *arguments, **settings):
        """Call what another object of the driver has."""
        found = self._plain, self._waiting, self._orders
        self._plain = self._waiting = owner
        self._orders = None
        try:
            return super().call(name, *arguments, **settings)
        finally:
            self._plain, self._waiting, self._orders = found

    def launch(self, section, waits=(), quiet=0, **fields):
        launch = descriptor((), fields)
        error, ticket = self.call("launch", section, launch, quiet=bool(quiet), waits=waits)
        return error, 0 if error else ticket

    def launch_kept(self, section, quiet=0, **fields):
        kept = self._kept.setdefault(section, KeptSection(self._plain, section))
        launch = descriptor((), fields)
        error, outcome = self._of(kept, "launch", launch, quiet=bool(quiet))
        return error, 0 if error else outcome.number

    def forget_words(self, section):
        self._kept[section].forget()

    def take_slots(self, count):
        error, first = self._of(self._templates, "take_slots", count)
        # A list that has no room, or a number that is out of range.
        error = FULL if error == RANGE and 1 <= count <= 8 else error
        return error, 0 if error else first

    def free_slots(self, first):
        return self._of(self._templates, "free_slots", first)[0]

    def write_template(self, slot, steps=None, alternates=None, waits=(), inline=(), **fields):
        made = (None if one is None else Steps(**one) for one in (steps, alternates))
        launch = descriptor(inline, fields)
        return self._of(self._templates, "write_template", slot, launch, *made, waits)[0]

    def submit_loop(self, section, first, count, iterations, in_flight=0):
        where = section, first, count, iterations, in_flight
        return self._of(self._templates, "submit_loop", *where)[0]

    def loop_done(self, section):
        driver = self._templates._driver
        self._templates._driver = self._waiting if self.interrupts else driver
        try:
            return self._of(self._templates, "loop_done", section)[0]
        finally:
            self._templates._driver = driver

    def loop_outcome(self, section):
        error, outcome = self._of(self._templates, "loop_outcome", section)
        if error:
            return error, {}
        return (BUSY, {}) if outcome is None else (outcome.code, asdict(outcome))

    def loop_stop(self, section):
        return self._of(self._templates, "loop_stop", section)[0]


@functools.cache
def _library(config, changes):
    with tempfile.TemporaryDirectory() as folder:
        header = c_header(config, "bench")
        return ctypes.CDLL(str(c_driver.build(Path(folder), header, dict(changes))))


def c_loops(bus, config=LOOPING, keep_words=False, patience=1000, texts=()):
    """Return the C driver on a bus; ``texts`` stand in for some sources, pairs of name and text."""
    functions = bus.read32, bus.write32, getattr(bus, "wait_irq", lambda: None)
    library = _library(config, tuple(texts))
    barrier = getattr(bus, "barrier", None)
    driver = CLoops(library, *functions, config=config, keep_words=keep_words, barrier=barrier)
    driver.patience = patience
    return driver


def python_loops(bus, config=LOOPING, keep_words=False, patience=1000):
    """Return the Python driver on a bus."""
    functions = bus.read32, bus.write32, getattr(bus, "wait_irq", lambda: None)
    barrier = getattr(bus, "barrier", None)
    driver = HostDriver(*functions[:2], config, patience, barrier=barrier)
    made = PythonLoops(driver, functions, keep_words)
    made._waiting = HostDriver(*functions[:2], config, patience, functions[2], barrier)
    return made
