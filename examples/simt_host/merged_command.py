"""What ``examples/kernels/run_merged.py`` does: the tasks of a file as one kernel on SimtCores."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from rich.table import Table

from simt_host.kernel_sources import current_kernel
from simt_host.merged_case import merged_case
from simt_host.merged_run import MergedOutcome, planning, run_merged_kernels
from warploom_golden.merging import MappingTable, MergePlanner
from warploom_golden.merging.merge_planner import ORDERS
from warploom_host.outcomes import code_name
from warploom_sim.cosim.simulators import SIMULATORS
from warploom_sim.failure import ProgramError
from warploom_sim.json_file import write_json
from warploom_sim.methods.merge.task_file import load_tasks
from warploom_sim.screen import table_console
from warploom_sim.variant import variant
from warploom_spec import Config, WarploomError

DIFFERS, REFUSED, FAILED, INTERRUPTED = 1, 2, 3, 130
_WORD: Final = 2**32 - 1
_ABOUT: Final = """\
Run the tasks of a file as one kernel, merged.c, on SimtCores behind FrontEnd.

The file is one of `warploom merge`, with up to three tasks. The first adds two vectors, the second
is a stencil, the third sums each block; a task that needs others reads what the first of them
wrote. Of each task grid, block and needs count. How long its blocks are, follows from the kernel.
"""
_MORE: Final = """\
examples:
  run_merged.py tasks.toml
  run_merged.py tasks.toml --order interleaved --sms 1 --rounds 4
  run_merged.py tasks.toml --config tiny --set sms=4 --json merged.json
  run_merged.py illegal.toml --unchecked --timeout 30000

The exit code is 0 if all launches finished and their results are NumPy's, 1 if not, 2 if the input
was refused, 3 if a program failed or a file could not be written.
"""


class _Parser(argparse.ArgumentParser):
    """Refuses a command line in one line."""

    def error(self, message: str) -> NoReturn:
        raise WarploomError(message)


def _number(first: int, last: int) -> Callable[[str], int]:
    """Return what reads a number of a range."""

    def read(text: str) -> int:
        if text.isascii() and text.isdecimal() and first <= int(text) <= last:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r}; legal: {first} to {last}")

    return read


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="run_merged.py",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", type=Path, metavar="TASKS.toml")
    add("--order", choices=ORDERS, default="topological", help="the planner's (topological)")
    add("--config", default="tiny", metavar="PRESET", help="preset (tiny)")
    add(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="a field of the preset; may be given more than once",
    )
    add("--sms", type=_number(1, _WORD), metavar="N", help="how many SMs get blocks (all)")
    add(
        "--rounds",
        type=_number(1, _WORD),
        default=1,
        metavar="N",
        help="how often a block does its work (1)",
    )
    add("--seed", type=_number(0, _WORD), default=1, metavar="N", help="of the data (1)")
    add(
        "--timeout",
        type=_number(0, _WORD),
        default=200_000,
        metavar="CYCLES",
        help="LAUNCH_TIMEOUT (200000); 0: none",
    )
    add(
        "--unchecked",
        action="store_true",
        help="run the file's table though it may be illegal, and a legal one after it",
    )
    add("--sim", choices=SIMULATORS, default=SIMULATORS[0], help=f"simulator ({SIMULATORS[0]})")
    add("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    return parser.parse_args(given)


def tables_of(given: argparse.Namespace, config: Config) -> list[MappingTable]:
    """Return the tables that are run one after the other."""
    machine = planning(config)
    planner = MergePlanner(machine)
    file = load_tasks(given.file, machine)
    if file.table is None:
        return [planner.plan(file.tasks, given.order)]
    if not given.unchecked:
        try:
            planner.check(file.table)
        except WarploomError as error:
            raise WarploomError(f"{given.file}: {error}; --unchecked runs it") from error
        return [file.table]
    return [file.table, planner.plan(file.tasks, given.order)]


def figures(table: MappingTable, outcome: MergedOutcome) -> dict[str, Any]:
    """Return the figures of one launch."""
    (fate, code), *_ = outcome.fates
    numbers, _ = table.expanded()
    tasks = []
    for number, task in enumerate(table.tasks):
        waited = [o["waited"] for o in outcome.offers if numbers[o["block"]] == number]
        tasks.append(
            {
                "task": task.name,
                "blocks": task.blocks,
                "offered": len(waited),
                "blocks_that_waited": sum(cycles > 0 for cycles in waited),
                "cycles_waited": sum(waited),
                "longest_wait": max(waited, default=0),
            }
        )
    return {
        "fate": fate.name.lower(),
        "code": code_name(code) if code else "",
        "cycles": outcome.cycles[0],
        "blocks": len(numbers),
        "order": outcome.ordered,
        "equal": outcome.equal,
        "tasks": tasks,
    }


def show(made: dict[str, Any]) -> None:
    """Print the figures of one launch."""
    ended = f"{made['fate']} {made['code']}".strip()
    verdict = "equal to NumPy" if made["equal"] else "not equal to NumPy"
    print(f"{ended}: {made['cycles']} cycles, {made['blocks']} blocks, {verdict}")
    table = Table(*(name.replace("_", " ") for name in made["tasks"][0]))
    for task in made["tasks"]:
        table.add_row(*map(str, task.values()))
    table_console().print(table)


def run(given: argparse.Namespace) -> int:
    """Run the file's tasks, and return the exit code."""
    config = variant(given.config, given.settings).config
    if given.sms is not None and given.sms > config.sms:
        raise WarploomError(f"--sms is {given.sms}; legal: 1 to {config.sms}, as the preset has")
    if given.json and given.json.resolve() == given.file.resolve():
        raise WarploomError(f"--json is {given.json}, the task file; legal: another file")
    tables = tables_of(given, config)
    with tempfile.TemporaryDirectory() as work:
        kernel = current_kernel("merged", Path(work))
    cases = [merged_case(table, given.seed, rounds=given.rounds, kernel=kernel) for table in tables]
    outcomes = run_merged_kernels(
        cases, config, given.sim, sms=given.sms, launch_timeout=given.timeout
    )
    made = [figures(*pair) for pair in zip(tables, outcomes, strict=True)]
    for one in made:
        show(one)
    if given.json:
        write_json(given.json, made)
    return 0 if all(one["equal"] for one in made) else DIFFERS


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, run it, and return the exit code."""
    try:
        return run(_arguments(arguments))
    except WarploomError as error:
        print(f"run_merged: {' '.join(str(error).split())}", file=sys.stderr)
        return REFUSED
    except (ProgramError, OSError) as error:
        print(f"run_merged: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("run_merged: interrupted", file=sys.stderr)
        return INTERRUPTED
