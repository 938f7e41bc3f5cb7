"""``warploom verilog``: generate the blocks' Verilog."""

import dataclasses
import itertools
from pathlib import Path

import click
from rich.table import Table

from warploom_sim.commands.parameters import (
    POLICY,
    PRESET,
    RECLAIM,
    OutputFolder,
    as_settings,
    blocks_argument,
    json_option,
    set_option,
    several_option,
)
from warploom_sim.json_file import write_json
from warploom_sim.screen import progress_bar, table_console
from warploom_sim.verilog.blocks import BLOCKS, absence, blocks_of
from warploom_spec import PRESETS, WarploomError


@click.command()
@blocks_argument(type=click.Choice(list(BLOCKS)))
@several_option(
    "--config",
    "configs",
    type=PRESET,
    help="Preset to generate for; may be given more than once.  [default: all]",
)
@click.option("--policy", type=POLICY, help="Placement policy instead of the preset's.")
@click.option("--reclaim", type=RECLAIM, help="Reclaim policy instead of the preset's.")
@set_option
@click.option(
    "--out",
    type=OutputFolder(),
    default=Path("build/verilog"),
    show_default=True,
    help="Folder for <preset>/<block>.v; fields that differ follow the preset's name.",
)
@click.option(
    "--no-init",
    is_flag=True,
    help="Hide memories' first values from synthesis where the start does not matter.",
)
@json_option(help="Also write names, sizes and SHA-256 of the files to FILE.")
def verilog(
    blocks: tuple[str, ...],
    configs: tuple[str, ...],
    policy: str | None,
    reclaim: str | None,
    settings: tuple[str, ...],
    out: Path,
    no_init: bool,
    json_file: Path | None,
) -> None:
    """Generate Verilog of every BLOCK (default: all) for every preset.

    Beside them stands warploom_pkg.sv, a SystemVerilog package: packets as structs, codes as enums,
    the configuration as localparams. warploom_sm.h and warploom_sm.json have the bits of the SM's
    port for C and other programs. front_end_packed.v is the front end with one vector for the same
    port of all SMs, and with AXI's own names. front_end_bench.v runs a launch on it; warploom.core
    and Bender.yml describe it for FuseSoC and Bender.

    The files are the same to the byte from run to run, and each says at its head what its bits
    mean: parameters, latencies, ports, packet fields, codes.

    The exit code is 0, 2 if something was refused, 3 if a program that is needed failed or a file
    could not be written.

    \b
    Examples:
      warploom verilog
      warploom verilog grid_walker block_dispatcher --config default --out rtl
      warploom verilog launch_path --config default --policy first_fit --set sms=4
      warploom verilog front_end --config tiny --no-init --out build/no_init
    """
    # Amaranth takes half a second to import: --help and wrong names do without.
    from warploom_sim.variant import variant
    from warploom_sim.verilog.generate import count_of_files, generate

    configs = configs or tuple(PRESETS)
    settings += as_settings(policy=policy, reclaim=reclaim)
    # A refusal is one line: nothing has been announced before it.
    made = [variant(name, settings).config for name in configs]
    there = [name for name in BLOCKS if all(name in blocks_of(config) for config in made)]
    blocks = blocks or tuple(there)
    for name, config in itertools.product(blocks, made):
        if absence(name, config):
            raise WarploomError(absence(name, config) + ", ".join(there))
    count = count_of_files(blocks, configs)
    what = f"generating Verilog: {count} files"
    if "large" in configs:
        what += ", minutes for those of large"
    with progress_bar(what) as progress:
        task = progress.add_task(what, total=count)
        files = generate(
            blocks, configs, out, lambda _: progress.advance(task), settings, no_init=no_init
        )
    table = Table("file", "lines", "SHA-256 (first 16)")
    table.columns[1].justify = "right"
    for file in files:
        table.add_row(file.path, f"{file.lines:,}", file.sha256[:16])
    table_console().print(table)
    if json_file:
        write_json(json_file, {"files": [dataclasses.asdict(file) for file in files]})
