"""First values of memories' rows: in files beside the Verilog, where they are many."""

import itertools
import re
from pathlib import Path
from typing import Final

from warploom_sim.verilog.portable_verilog import FIRST_ROWS

#: A memory with more rows has their first values in a file. Yosys makes a cell of each row that the
#: Verilog itself gives a value, and takes hours over a hundred thousand of them.
MOST_ROWS: Final = 2048
_ROW: Final = re.compile(r" *(\S+ ?)\[(\d+)\] = \d+'([hd][0-9a-f]+);")


def move_rows(verilog: str, folder: Path, most: int = MOST_ROWS) -> str:
    """Return the Verilog with the rows of deep memories moved into files that it names.

    Parameters
    ----------
    verilog : str
        From Yosys, which gives a memory's rows their first values in a block of its own.
    folder : Path
        Takes the files, one a memory.
    most : int
        Rows of a memory that stays as it is, at most.
    """
    files = itertools.count()

    def moved(found: re.Match[str]) -> str:
        names, numbers, values = zip(*_ROW.findall(found[1]), strict=True)
        whole = [int(number) for number in numbers] == [*range(len(numbers))]
        if len(numbers) <= most or len(set(names)) > 1 or not whole:
            return found[0]
        file = f"rows{next(files)}.hex"
        (folder / file).write_text("".join(f"{_hexadecimal(value)}\n" for value in values))
        return f'  initial $readmemh("{file}", {names[0]});\n'

    return FIRST_ROWS.sub(moved, verilog)


def _hexadecimal(literal: str) -> str:
    """Return the digits of a value; Yosys writes 32 bits as a decimal number."""
    return literal[1:] if literal[0] == "h" else f"{int(literal[1:]):x}"
