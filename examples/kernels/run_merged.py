"""Run the tasks of a file as one kernel, ``merged.c``, on SimtCores behind FrontEnd.

The file is one of ``warploom merge``, with up to three tasks. The first adds two vectors, the
second is a stencil, the third sums each block; a task that needs others reads what the first of
them wrote. Of each task grid, block and needs count; how long its blocks are, follows from the
kernel.

The exit code is 0 if the launch finished and its results equal NumPy's, 1 if not, 2 if the input
was refused, 3 if a program failed.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1]
if str(EXAMPLES) not in sys.path:
    sys.path.insert(0, str(EXAMPLES))

from rich.table import Table  # noqa: E402

from simt_host.kernel_sources import current_kernel  # noqa: E402
from simt_host.merged_case import merged_case  # noqa: E402
from simt_host.merged_run import MergedOutcome, planning, run_merged_kernels  # noqa: E402
from warploom_golden.merging import MappingTable, MergePlanner  # noqa: E402
from warploom_golden.merging.merge_planner import ORDERS  # noqa: E402
from warploom_host.outcomes import code_name  # noqa: E402
from warploom_sim.failure import ProgramError  # noqa: E402
from warploom_sim.json_file import write_json  # noqa: E402
from warploom_sim.methods.merge.task_file import load_tasks  # noqa: E402
from warploom_sim.screen import table_console  # noqa: E402
from warploom_sim.variant import variant  # noqa: E402
from warploom_spec import Config, WarploomError  # noqa: E402

DIFFERS, REFUSED, FAILED = 1, 2, 3


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
    with tempfile.TemporaryDirectory() as work:
        kernel = current_kernel("merged", Path(work))
    tables = tables_of(given, config)
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


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, and run it."""
    parser = argparse.ArgumentParser(prog="run_merged.py", description=__doc__)
    parser.add_argument("file", type=Path, metavar="TASKS.toml")
    parser.add_argument("--order", choices=ORDERS, default="topological", help="the planner's")
    parser.add_argument("--config", default="tiny", help="preset (tiny)")
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], help="FIELD=VALUE of the preset"
    )
    parser.add_argument("--sms", type=int, help="how many SMs get blocks (all)")
    parser.add_argument("--rounds", type=int, default=1, help="how often a block does its work (1)")
    parser.add_argument("--seed", type=int, default=1, help="of the data (1)")
    parser.add_argument("--timeout", type=int, default=200_000, help="LAUNCH_TIMEOUT (200000)")
    parser.add_argument(
        "--unchecked",
        action="store_true",
        help="run the file's table though it may be illegal, and a legal one after it",
    )
    parser.add_argument("--sim", default="verilator", help="verilator or icarus")
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    try:
        return run(parser.parse_args(arguments))
    except WarploomError as error:
        print(f"run_merged: {error}", file=sys.stderr)
        return REFUSED
    except (ProgramError, OSError) as error:
        print(f"run_merged: {error}", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
