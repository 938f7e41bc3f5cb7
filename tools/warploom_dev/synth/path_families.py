"""Families of paths longer than a period: from which block to which, and how many end there."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from warploom_dev.synth import flow
from warploom_dev.synth.delays import Path, Pin, longest_paths, read_sdf
from warploom_dev.synth.measure import Job
from warploom_sim.failure import ProgramError

#: Blocks that are none: the registers around the block that is measured, and its own ones.
WRAPPER: Final = "(wrapper)"
TOP: Final = "(top)"
_HEADING: Final = (
    "   worst ns   logic    wire  levels  ends  from -> to: worst path; pins where they end"
)


@dataclass
class Family:
    """The ends whose longest path begins in one block and ends in another.

    Attributes
    ----------
    start, end : str
        The blocks, by their instances: ``launch_path.dispatcher.sm_*``.
    worst : Path
        The longest one.
    worst_end : Pin
        Where it ends.
    pins : Counter of str
        How many end at each kind of pin: DI and M are data of a register, CE its enable, LSR its
        set or reset.
    """

    start: str
    end: str
    worst: Path
    worst_end: Pin
    pins: Counter[str] = field(default_factory=Counter)


def families(
    ends: Iterable[tuple[Pin, Path]], blocks: Sequence[str], period_ns: float
) -> list[Family]:
    """Return the families of the ends that take more than a period, the longest first."""
    found: dict[tuple[str, str], Family] = {}
    for pin, path in ends:
        if path.ps <= 1000 * period_ns:
            continue
        key = block_of(path.start, blocks), block_of(pin, blocks)
        family = found.setdefault(key, Family(*key, path, pin))
        family.pins[pin.rpartition("/")[2]] += 1
        if path > family.worst:
            family.worst, family.worst_end = path, pin
    return sorted(found.values(), key=lambda family: family.worst, reverse=True)


def block_of(name: str, blocks: Sequence[str]) -> str:
    """Return the block that a cell of the wrapped netlist is in: the longest of ``blocks``."""
    own = name.removeprefix(f"{flow.INSTANCE}.")
    if own == name:
        return WRAPPER
    own = _without_numbers(own)
    return max((b for b in blocks if own.startswith(f"{b}.")), key=len, default=TOP)


def block_names(verilog: str) -> list[str]:
    """Return the instances of all blocks below the top, from the names of their modules.

    Instances that only a number tells apart are one, as ``sm_*``: equal ones share a module.
    """
    names = re.findall(r"^module \\\w+\.([^\s(]+)", verilog, re.MULTILINE)
    return sorted({_without_numbers(name) for name in names})


def _without_numbers(name: str) -> str:
    return re.sub(r"_\d+(?=\.|$)", "_*", re.sub(r"\$\d+", "", name))


def families_text(job: Job, seed: int, period_ns: float) -> str:
    """Return the families of one seed's placed netlist as lines of text.

    Raises
    ------
    ProgramError
        If the longest path is not the one that nextpnr's clock rate is of.
    """
    files = job.folder, seed, job.placer
    with gzip.open(flow.delays_file(*files), "rt") as lines:
        ends = list(longest_paths(read_sdf(lines)))
    rate = flow.rate(json.loads(flow.report_file(*files).read_text()))
    longest = max(path.ps for _, path in ends) / 1000
    if abs(1000 / longest - rate) > 0.2:
        raise ProgramError(
            f"the longest path of {job.target.name} takes {longest:.2f} ns, which is"
            f" {1000 / longest:.1f} MHz; nextpnr's clock rate is {rate}"
        )
    found = families(ends, block_names(job.source.text), period_ns)
    over = sum(sum(family.pins.values()) for family in found)
    return "\n".join(
        [
            f"{job.target.name}, seed {seed}, {rate} MHz: {over} of {len(ends)} ends take more than"
            f" {period_ns:g} ns, in {len(found)} families",
            *([_HEADING] if found else []),
            *map(_line, found),
        ]
    )


def _line(family: Family) -> str:
    path = family.worst
    total, wire = path.ps / 1000, path.wire_ps / 1000
    pins = ", ".join(f"{pin} {count}" for pin, count in family.pins.most_common())
    ends = sum(family.pins.values())
    figures = f"{total:11.2f} {total - wire:7.2f} {wire:7.2f} {path.levels:7} {ends:5}"
    worst = f"{_register(path.start)} -> {_register(family.worst_end)}"
    return f"{figures}  {family.start} -> {family.end}: {worst}; {pins}"


def _register(name: str) -> str:
    """Return a register's name without the block's instance and what synthesis put behind it."""
    own = name.removeprefix(f"{flow.INSTANCE}.")
    cell, _, pin = own.rpartition("/")
    return re.sub(r"_TRELLIS_FF_Q\w*$", "", cell or pin)
