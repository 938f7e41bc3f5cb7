"""Read a recording: which SM ran each block of a grid, and when.

Two lines of header, then a row a block, as ``silicon/record_blocks.cu`` writes them: the grid's
dimensions and the blocks that an SM holds, the columns' names, the blocks in order of their number.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from warploom_golden.replay.recorded_dispatch import RecordedGrid
from warploom_spec import WarploomError
from warploom_spec.config import Config

#: Columns that a recording has at least.
COLUMNS: Final = ("block", "bx", "by", "bz", "sm", "start_ns", "end_ns")
_GRID: Final = re.compile(r"\bgrid=(\d{1,10}),(\d{1,10}),(\d{1,10})\b")
_SLOTS: Final = re.compile(r"\bresident_blocks_per_sm=(\d{1,6})\b")
#: Largest number that a row may hold: an hour, in nanoseconds.
_MOST: Final = 3_600_000_000_000


def load(path: Path) -> RecordedGrid:
    """Read one recording, plain or gzip.

    Raises
    ------
    WarploomError
        If the file is no recording; the message names the line, the column and the legal values.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise WarploomError(f"{path}: no recording: {error}") from error
    lines = text.splitlines()
    grid, slots = _header(path, lines[0] if lines else "")
    rows = _rows(path, lines[1:], grid)
    blocks = np.array(list(rows), np.int64)
    names: dict[int, int] = {}
    sms = [names.setdefault(sm, len(names)) for sm in blocks[:, 0].tolist()]
    _check_sms(path, len(names))
    first = int(blocks[:, 1].min())
    start, end = (blocks[:, column] - first for column in (1, 2))
    return RecordedGrid(slots, np.array(sms), start.astype(float), end.astype(float))


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
    """Yield SM, start and end of each block; refuse what does not belong to the grid."""
    count = grid[0] * grid[1] * grid[2]
    reader = csv.reader(lines)
    columns = next(reader, [])
    if missing := [name for name in COLUMNS if name not in columns]:
        raise WarploomError(f"{path}, line 2: no column {missing[0]}; legal: {', '.join(COLUMNS)}")
    at = {name: columns.index(name) for name in COLUMNS}
    seen = 0
    for row in reader:
        where = f"{path}, line {reader.line_num + 1}"
        if len(row) != len(columns):
            raise WarploomError(f"{where}: {len(row)} fields; legal: {len(columns)}, as in line 2")
        block, x, y, z, sm, start, end = (_number(where, name, row[at[name]]) for name in COLUMNS)
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
        seen += 1
        yield sm, start, end
    if seen != count:
        raise WarploomError(f"{path}: {seen} rows; legal: {count}, the blocks of the grid")


def _number(where: str, name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and int(text) <= _MOST):
        raise WarploomError(f"{where}: {name} is {text!r}; legal: 0 to {_MOST}")
    return int(text)


def _check_sms(path: Path, sms: int) -> None:
    field = Config.__dataclass_fields__["sms"].metadata
    if not field["low"] <= sms <= field["high"]:
        raise WarploomError(f"{path}: {sms} SMs; legal: {field['low']} to {field['high']}")
