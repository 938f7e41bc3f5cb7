"""Read a recording: which SM ran each block of a grid, and when.

Two lines of header, then a row a block, as ``silicon/record_blocks.cu`` writes them: the grid's
dimensions and the blocks that an SM holds, the columns' names, the blocks in order of their number.
With the columns of the SMs' clocks times are finer than the GPU's timer.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from warploom_golden.replay.recorded_grid import RecordedGrid
from warploom_sim.methods.silicon.clocks import by_clocks, clock_groups
from warploom_spec import WarploomError
from warploom_spec.config import Config

#: Columns that a recording has at least.
COLUMNS: Final = ("block", "bx", "by", "bz", "sm", "start_ns", "end_ns")
#: Columns that it may have, both or none.
CLOCKS: Final = ("start_clock", "end_clock")
_GRID: Final = re.compile(r"\bgrid=(\d{1,10}),(\d{1,10}),(\d{1,10})\b")
_GPU: Final = re.compile(r"\bgpu=(.+)")
_SLOTS: Final = re.compile(r"\bresident_blocks_per_sm=(\d{1,6})\b")
#: Largest number that a row may hold: an hour, in nanoseconds.
_MOST: Final = 3_600_000_000_000
#: The same for a clock: a year at 2 GHz.
_MOST_CYCLES: Final = 2**56


def load(path: Path) -> RecordedGrid:
    """Read one recording, plain or gzip.

    Raises
    ------
    WarploomError
        If the file is no recording; the message names the line, the column and the legal values.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise WarploomError(f"{path}: no recording: {error}") from error
    lines = text.splitlines()
    grid, slots = _header(path, lines[0] if lines else "")
    rows = _rows(path, lines[1:], grid)
    blocks = np.array(list(rows), np.int64)
    names: dict[int, int] = {}
    sms = [names.setdefault(sm, len(names)) for sm in blocks[:, 0].tolist()]
    _check_sms(path, len(names))
    sm, stamps = np.array(sms), blocks[:, 1:3].T.ravel()
    groups: tuple[int, ...] = ()
    if blocks.shape[1] > 3:
        clocked = np.tile(sm, 2), stamps, blocks[:, 3:].T.ravel()
        times, groups = by_clocks(*clocked), tuple(clock_groups(*clocked).tolist())
    else:
        times = (stamps - stamps.min()).astype(float)
    start, end = np.split(times, 2)
    gpu = _GPU.search(lines[0])
    named = gpu[1].strip() if gpu else ""
    return RecordedGrid(slots, sm, start, np.maximum(start, end), tuple(names), groups, named)


def _header(path: Path, line: str) -> tuple[tuple[int, int, int], int]:
    """Return the grid and the blocks that an SM holds."""
    grid, slots = _GRID.search(line), _SLOTS.search(line)
    if not line.startswith("#") or grid is None or slots is None:
        raise WarploomError(
            f"{path}, line 1: {line[:80]!r}; legal: '# grid=X,Y,Z resident_blocks_per_sm=N', and"
            " more words if you like"
        )
    x, y, z = (int(number) for number in grid.groups())
    if not x * y * z:
        raise WarploomError(f"{path}, line 1: grid is {x},{y},{z}; legal: 1 or more each")
    most = Config.__dataclass_fields__["block_slots"].metadata["high"]
    if not 1 <= int(slots[1]) <= most:
        raise WarploomError(
            f"{path}, line 1: resident_blocks_per_sm is {slots[1]}; legal: 1 to {most}"
        )
    return (x, y, z), int(slots[1])


def _rows(path: Path, lines: list[str], grid: tuple[int, int, int]) -> Iterator[tuple[int, ...]]:
    """Yield a block's SM, start and end, and its clocks; refuse what does not fit the grid."""
    count = grid[0] * grid[1] * grid[2]
    reader = csv.reader(lines)
    columns = next(reader, [])
    if missing := [name for name in COLUMNS if name not in columns]:
        raise WarploomError(f"{path}, line 2: no column {missing[0]}; legal: {', '.join(COLUMNS)}")
    clocks = CLOCKS if all(name in columns for name in CLOCKS) else ()
    at = {name: columns.index(name) for name in (*COLUMNS, *clocks)}
    seen = 0
    for row in reader:
        where = f"{path}, line {reader.line_num + 1}"
        if len(row) != len(columns):
            raise WarploomError(f"{where}: {len(row)} fields; legal: {len(columns)}, as in line 2")
        block, x, y, z, sm, start, end = (_number(where, name, row[at[name]]) for name in COLUMNS)
        cycles = [_number(where, name, row[at[name]], _MOST_CYCLES) for name in clocks]
        if seen == count:
            raise WarploomError(f"{where}: a row too many; legal: {count}, the blocks of the grid")
        place = (seen % grid[0], seen // grid[0] % grid[1], seen // grid[0] // grid[1])
        if (block, x, y, z) != (seen, *place):
            raise WarploomError(
                f"{where}: block {block} at {x},{y},{z}; legal: block {seen} at"
                f" {place[0]},{place[1]},{place[2]}"
            )
        if end < start:
            raise WarploomError(f"{where}: end_ns is {end}; legal: start_ns ({start}) or more")
        if cycles and cycles[1] < cycles[0]:
            raise WarploomError(
                f"{where}: end_clock is {cycles[1]}; legal: start_clock ({cycles[0]}) or more"
            )
        seen += 1
        yield sm, start, end, *cycles
    if seen != count:
        raise WarploomError(f"{path}: {seen} rows; legal: {count}, the blocks of the grid")


def _number(where: str, name: str, text: str, most: int = _MOST) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise WarploomError(f"{where}: {name} is {text!r}; legal: 0 to {most}")
    return int(text)


def _check_sms(path: Path, sms: int) -> None:
    field = Config.__dataclass_fields__["sms"].metadata
    if not field["low"] <= sms <= field["high"]:
        raise WarploomError(f"{path}: {sms} SMs; legal: {field['low']} to {field['high']}")
