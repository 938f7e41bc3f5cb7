"""Build the system with a soft core, run it on Verilator, and look at what it says.

Examples::

    python -m soc
    python -m soc --main mine.c --kernel mine.elf
    python -m soc --no-irq

The exit code is 0 if every line is right, 1 if one is not, 2 if something was refused.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

#: The lines that the program prints, in order.
EXPECTED: Final = (
    r"warploom: a soft core launches kernels",
    r"vector add ok: 256 elements, \d+ clocks, kernel \d+",
    r"urgent: accepted \d+, first block \d+, ended \d+, killed 0",
    r"low: accepted \d+, first block \d+, ended \d+, killed 1",
    r"next: accepted \d+, first block \d+, ended \d+, killed 0",
    r"streams ok",
    r"100 launches one by one: \d+ clocks, \d+ a launch",
    r"loop ok: 100 launches, \d+ clocks of the soft core, \d+ to the end",
    r"exit 0",
)


def wrong_line(text: str, expected: Sequence[str] = EXPECTED) -> str | None:
    """Return what is wrong about the program's text; None if every line is right."""
    lines = text.splitlines()
    for number, pattern in enumerate(expected):
        if number >= len(lines):
            return f"line {number + 1} is missing; expected: {pattern}"
        if not re.fullmatch(pattern, lines[number]):
            return f"line {number + 1} is {lines[number]!r}; expected: {pattern}"
    if len(lines) > len(expected):
        return f"line {len(expected) + 1} is {lines[len(expected)]!r}; expected: none"
    return None


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m soc",
        description=(__doc__ or "").partition("Examples")[0],
        epilog=(__doc__ or "").partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--main", type=Path, metavar="FILE.c", help="your own program")
    parser.add_argument("--kernel", type=Path, metavar="FILE.elf", help="your own kernel")
    parser.add_argument("--keep", type=Path, metavar="FILE.bin", help="write the program, too")
    parser.add_argument("--no-irq", action="store_true", help="leave the interrupt unwired")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Build, run, and return the exit code."""
    arguments = _arguments(given)
    try:
        from soc import firmware, simulation
    except ImportError as error:
        print(f"soc: {error.name} is not installed; make soc installs it", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            bench = simulation.bench()
            image = firmware.image(bench.headers, folder, arguments.main, arguments.kernel)
        except (WarploomError, ProgramError) as error:
            print(f"soc: {error}", file=sys.stderr)
            return 2
        if arguments.keep:
            arguments.keep.write_bytes(image)
        options = (simulation.LIMIT, 0 if arguments.no_irq else 1)
        text, ended = _shown(simulation.start(bench, folder, image, *options))
    if arguments.main:
        return 0 if ended and text.rstrip().endswith("exit 0") else 1
    wrong = wrong_line(text) if ended else "the program did not end"
    if wrong:
        print(f"soc: {wrong}", file=sys.stderr)
    return 1 if wrong else 0


def _shown(bench: subprocess.Popen[str]) -> tuple[str, bool]:
    """Show a bench's text as it comes; return the text, and whether the program ended."""
    text = []
    with bench:
        for line in bench.stdout or ():
            print(line, end="", flush=True)
            text.append(line)
    return "".join(text), bench.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
