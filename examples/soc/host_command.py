"""Launch a kernel of the system from a host, over a serial port and LiteX's bridge to its bus.

Examples::

    python examples/soc/host.py --port sim
    python examples/soc/host.py --port /dev/ttyUSB0

The exit code is 0 if the result equals NumPy's, 1 if not, 2 if something was refused.
"""

import argparse
import sys
from collections.abc import Sequence

from warploom_host import CommandFailed, HostTimeout
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError


def main(given: Sequence[str] | None = None) -> int:
    """Run on a port, and return the exit code."""
    parser = argparse.ArgumentParser(prog="host.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", required=True, help="sim, or a serial port's name")
    parser.add_argument("--baud", type=int, default=115200, help="bits a second (115200)")
    arguments = parser.parse_args(given)
    try:
        from soc import bridge, host_run
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        print(f"host: {package} is not installed; make soc installs it", file=sys.stderr)
        return 2
    try:
        with (
            host_run.serial_port(arguments.port) as name,
            bridge.Bus(name, arguments.baud) as bus,
        ):
            wrong = host_run.run(bus)
    except (WarploomError, ProgramError, HostTimeout, CommandFailed) as error:
        print(f"host: {arguments.port}: {error}", file=sys.stderr)
        return 2
    if wrong:
        print(f"host: {wrong}", file=sys.stderr)
    return 1 if wrong else 0
