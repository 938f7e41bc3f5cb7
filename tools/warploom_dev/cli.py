"""The commands that measure the project itself: ``python -m warploom_dev``."""

import click

from warploom_dev.commands.allocator import allocator
from warploom_dev.commands.benchmarks import bench
from warploom_dev.commands.contention import contention
from warploom_dev.commands.coverage import coverage
from warploom_dev.commands.families import families
from warploom_dev.commands.figures import figures
from warploom_dev.commands.formal import formal
from warploom_dev.commands.map import register_map
from warploom_dev.commands.mutate import mutate
from warploom_dev.commands.plan import plan
from warploom_dev.commands.readme import readme
from warploom_dev.commands.record import record
from warploom_dev.commands.synth import synth
from warploom_sim.cli import CommandGroup


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure Warploom itself: proofs, mutants, coverage, area and clock rate, speed, a rule's fit.

    These commands work in the repository alone; `make formal`, `make mutate`, `make coverage`,
    `make synth` and `make bench` set up what they need and run them.

    \b
    Examples:
      python -m warploom_dev formal grid_walker --quick
      python -m warploom_dev mutate grid_walker --mutants 50
      python -m warploom_dev coverage mailbox
      python -m warploom_dev figures --check
      python -m warploom_dev map --update
      python -m warploom_dev plan --update
      python -m warploom_dev readme --update
      python -m warploom_dev record
      python -m warploom_dev synth --block GridWalker
      python -m warploom_dev bench --sim verilator
    """


main.add_command(allocator)
main.add_command(bench)
main.add_command(contention)
main.add_command(coverage)
main.add_command(families)
main.add_command(figures)
main.add_command(formal)
main.add_command(register_map)
main.add_command(mutate)
main.add_command(plan)
main.add_command(readme)
main.add_command(record)
main.add_command(synth)
