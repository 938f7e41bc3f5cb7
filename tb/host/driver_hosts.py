"""The C driver and the Python driver on any bus, under one set of names (`driver_tours`)."""

import ctypes
import functools
import tempfile
from pathlib import Path

from simt_host.c_calls import Refused
from tb.host import c_driver
from tb.host.c_driver import CDriver
from tb.host.driver_tours import PythonDriver
from warploom_host import HostDriver
from warploom_sim.verilog.register_map import c_header
from warploom_spec import WarploomError, preset

TINY = preset("tiny")
#: Codes of the driver in C for the register that reads something else.
_OTHER = {"ID": -2, "VERSION": -3, "CONFIG_CRC": -4}


@functools.cache
def c_host(source=None, config=TINY, header=None, name="warploom.c"):
    """Return what makes the C driver on a bus.

    ``source`` stands in for the file ``name``, ``header`` for the configuration's.
    """
    texts = {name: source} if source else {}
    with tempfile.TemporaryDirectory() as folder:
        header = header or c_header(config, "bench")
        library = ctypes.CDLL(str(c_driver.build(Path(folder), header, texts)))

    def make(bus, patience):
        wait = getattr(bus, "wait_irq", lambda: None)
        barrier = getattr(bus, "barrier", None)
        driver = CDriver(library, bus.read32, bus.write32, wait, barrier)
        driver.patience = patience
        return driver

    return make


class _Python(PythonDriver):
    def identify(self):
        try:
            self._plain.identify()
        except WarploomError as error:
            return _OTHER[str(error).split()[0]]
        except Refused:
            return -1
        return 0


def python_host(bus, patience, config=TINY):
    """Return the Python driver on a bus."""
    functions = (bus.read32, bus.write32, getattr(bus, "wait_irq", lambda: None))
    barrier = getattr(bus, "barrier", None)
    driver = HostDriver(*functions[:2], config, patience, barrier=barrier)
    host = _Python(driver, functions)
    host._waiting = HostDriver(*functions[:2], config, patience, functions[2], barrier)
    return host
