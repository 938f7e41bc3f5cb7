"""All delays of a placed netlist, from nextpnr's SDF, and the longest path to each end."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from warploom_sim.failure import ProgramError

#: ``cell/port``.
Pin = str

_DELAY: Final = r"\([^:()]+:[^:()]+:([^:()]+)\)"
_WIRE: Final = re.compile(rf"\(INTERCONNECT (\S+) (\S+) {_DELAY} {_DELAY}\)")
_INSTANCE: Final = re.compile(r"\(INSTANCE (\S+)\)")
_ARC: Final = re.compile(rf"\(IOPATH (\S+) (\S+) {_DELAY} {_DELAY}\)")
_SETUP: Final = re.compile(rf"\(SETUPHOLD \(\w+ (\S+)\) \(\w+ (\S+)\) {_DELAY} ")


class Path(NamedTuple):
    """The longest path that ends at a pin; ordered by what it takes.

    Attributes
    ----------
    ps : float
        What it takes: clock to output, logic, wires and, at an end, setup.
    wire_ps : float
        The wires' part.
    levels : int
        Cells between, of which a carry chain or a wide multiplexer in one slice counts as one: what
        is entered over a wire without delay is no new level.
    start : str
        The register or memory that it starts from.
    """

    ps: float
    wire_ps: float
    levels: int
    start: str


@dataclass
class Delays:
    """What one SDF file says, in ps.

    Attributes
    ----------
    wires : dict of Pin to tuple[Pin, float]
        By the pin that a wire ends at: its driver, and its delay.
    arcs : dict of Pin to list of tuple[Pin, float]
        By an output: the cell's inputs that it depends on, and the delay from each.
    setups : dict of Pin to float
        By a pin that a clock samples: its setup.
    clocks : set of Pin
        Pins that are a register's or a memory's clock.
    """

    wires: dict[Pin, tuple[Pin, float]]
    arcs: dict[Pin, list[tuple[Pin, float]]]
    setups: dict[Pin, float]
    clocks: set[Pin]


def read_sdf(lines: Iterable[str]) -> Delays:
    """Read an SDF file of nextpnr's; it has one item on a line.

    Raises
    ------
    ProgramError
        If it has no wire or no register.
    """
    found = Delays({}, defaultdict(list), {}, set())
    cell = ""
    for line in lines:
        if match := _WIRE.search(line):
            source, sink, *delays = match.groups()
            found.wires[_plain(sink)] = _plain(source), max(map(float, delays))
        elif match := _ARC.search(line):
            enters, leaves, *delays = match.groups()
            arc = f"{cell}/{_plain(enters)}", max(map(float, delays))
            found.arcs[f"{cell}/{_plain(leaves)}"].append(arc)
        elif match := _SETUP.search(line):
            pin, clock, setup = match.groups()
            found.setups[f"{cell}/{_plain(pin)}"] = float(setup)
            found.clocks.add(f"{cell}/{_plain(clock)}")
        elif match := _INSTANCE.search(line):
            cell = _plain(match[1])
    if not (found.wires and found.setups):
        raise ProgramError("nextpnr's SDF file has no wire or no register: nothing was checked")
    return found


def longest_paths(delays: Delays) -> Iterator[tuple[Pin, Path]]:
    """Yield each end, a pin that a clock samples, with the longest path to it.

    An end that no register reaches, only a pad or a constant, is left out.

    Raises
    ------
    ProgramError
        If the logic has a loop.
    """
    arrivals: dict[Pin, Path | None] = {}
    for end, setup in delays.setups.items():
        wire = delays.wires.get(end)
        if wire is None:
            continue
        _arrive(delays, wire[0], arrivals)
        path = _over(wire[1], arrivals[wire[0]])
        if path is not None:
            yield end, path._replace(ps=path.ps + setup)


def _arrive(delays: Delays, output: Pin, arrivals: dict[Pin, Path | None]) -> None:
    """Note the longest path to an output, and to all outputs that it depends on.

    Without recursion: a carry chain is longer than Python's stack is deep.
    """
    waiting, open_outputs = [output], set[Pin]()
    while waiting:
        pin = waiting[-1]
        before = () if pin in arrivals else tuple(_drivers(delays, pin))
        unknown = [driver for driver in before if driver not in arrivals]
        if not unknown:
            waiting.pop()
            open_outputs.discard(pin)
            if pin not in arrivals:
                arrivals[pin] = _latest(delays, pin, arrivals)
            continue
        if pin in open_outputs:
            raise ProgramError(f"the logic has a loop through {pin}")
        open_outputs.add(pin)
        waiting += unknown


def _drivers(delays: Delays, output: Pin) -> Iterator[Pin]:
    """Yield the outputs that an output depends on, without a clock between."""
    for enters, _ in delays.arcs.get(output, ()):
        if enters not in delays.clocks and enters in delays.wires:
            yield delays.wires[enters][0]


def _latest(delays: Delays, output: Pin, arrivals: dict[Pin, Path | None]) -> Path | None:
    cell = output.rpartition("/")[0]
    paths: list[Path] = []
    for enters, delay in delays.arcs.get(output, ()):
        if enters in delays.clocks:
            paths.append(Path(delay, 0.0, 0, cell))
        elif enters in delays.wires:
            driver, wire = delays.wires[enters]
            path = _over(wire, arrivals[driver])
            if path is not None:
                levels = path.levels + (wire > 0)
                paths.append(path._replace(ps=path.ps + delay, levels=levels))
    return max(paths, default=None)


def _over(wire: float, path: Path | None) -> Path | None:
    """Return a path that goes on over a wire."""
    return path and path._replace(ps=path.ps + wire, wire_ps=path.wire_ps + wire)


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)
