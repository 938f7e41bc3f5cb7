"""What Verilator counted: branches and edges of bits, and which of them were reached."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from warploom_sim.cosim.lockstep.compilation import TOP

Kind = Literal["branch", "toggle"]

#: The Verilog that is counted, in the folder of its build.
VERILOG: Final = f"{TOP}.v"
KINDS: Final[tuple[Kind, ...]] = ("branch", "toggle")
_ENCODED: Final = re.compile(r"__0([0-9A-Fa-f]{2})")
_SOURCE: Final = re.compile(r'src = "(?:[^"]*/)?(hdl/[^"|]*)')


@dataclass(frozen=True, order=True)
class Point:
    """One side of a branch, or one edge of one bit.

    Attributes
    ----------
    kind : str
        ``branch`` or ``toggle``.
    module : str
        Where, by the names of instances; the block itself has the empty name.
    name : str
        Of a toggle the bit and the edge, ``word[3]:0->1``. Of a branch its side, and line and
        column of the Verilog.
    line : int
        Of the Verilog.
    """

    kind: Kind
    module: str
    name: str
    line: int

    @property
    def text(self) -> str:
        """The point as reports name it."""
        return f"{self.module}.{self.name}" if self.module else self.name


def read_points(data: str, verilog: Sequence[str]) -> dict[Point, int]:
    """Return the points of a file that Verilator wrote, each with its count.

    Blocks of statements are no points: each runs in every cycle. Nor is the branch that Yosys puts
    at the head of each ``always @*``, only to have it run at time 0.

    Parameters
    ----------
    data : str
        The file.
    verilog : sequence of str
        Lines of the Verilog.
    """
    found: dict[Point, int] = {}
    for line in data.splitlines():
        if not line.startswith("C '"):
            continue
        text, _, count = line[3:].rpartition("' ")
        fields = dict(part.split("\x02", 1) for part in text.split("\x01") if part)
        if Path(fields["f"]).name != VERILOG:  # Verilator's own packages
            continue
        point = _point(fields)
        if point is not None and not _wakes(verilog[point.line - 1]):
            found[point] = found.get(point, 0) + int(count)
    return found


def _point(fields: dict[str, str]) -> Point | None:
    """Return the point that a line tells of; None if it does not count."""
    comment = _decoded(fields["o"])
    module = _decoded(fields["h"]).partition(".")[2]
    line = int(fields["l"])
    if fields["page"].startswith("v_toggle"):
        return Point("toggle", module, comment, line)
    if comment == "block":
        return None
    return Point("branch", module, f"{comment} {line}:{fields['n']}", line)


def _wakes(line: str) -> bool:
    """Tell a line that Yosys writes for simulators alone."""
    return "if (\\$auto$verilog_backend" in line


def _decoded(name: str) -> str:
    """Return a name as the Verilog has it: Verilator writes characters by their codes."""
    return _ENCODED.sub(lambda code: chr(int(code[1], 16)), name)


def merged(runs: Iterable[dict[Point, int]]) -> dict[Point, int]:
    """Return the points of several runs of one build, with the sums of their counts."""
    total: dict[Point, int] = {}
    for run in runs:
        for point, count in run.items():
            total[point] = total.get(point, 0) + count
    return total


def source_of(verilog: Sequence[str], line: int) -> str:
    """Return the source line, ``file:line``, that a line of the Verilog comes from, if it says."""
    for text in reversed(verilog[:line]):
        if source := _SOURCE.search(text):
            return source[1]
        if text.startswith("module"):
            break
    return ""
