"""``warploom map``: the host's registers for C, SystemRDL and IP-XACT, and the driver in C."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from warploom_sim.commands.parameters import PRESET, OutputFolder, json_option, several_option
from warploom_sim.json_file import write_json, write_together
from warploom_sim.screen import table_console
from warploom_spec import PRESETS, Config, WarploomError

if TYPE_CHECKING:
    from warploom_sim.variant import Variant

#: Where the registers go without --out, and the preset of a driver without --config.
FOLDER = Path("build/map")
DRIVER_PRESET = "default"


@click.command("map")
@several_option(
    "--config",
    "configs",
    type=PRESET,
    help="Preset to write for; may be given more than once.  [default: all; of a driver: default]",
)
@several_option(
    "--set",
    "settings",
    metavar="FIELD=VALUE",
    help="Change a field of the preset, such as sections=4; may be given more than once.",
)
@click.option(
    "--out",
    type=OutputFolder(),
    help="Folder for <preset>/warploom_host.h and .rdl; fields that differ follow the name."
    f"  [default: {FOLDER}]",
)
@click.option("--ip-xact", is_flag=True, help="Also write warploom_host.xml; needs PeakRDL.")
@click.option(
    "--driver",
    metavar="DIR",
    type=OutputFolder(),
    help="Write the driver in C into DIR instead: warploom*.h, warploom*.c, warploom_host.h.",
)
@json_option(help="Also write paths and CONFIG_CRC to FILE.")
def register_map(
    configs: tuple[str, ...],
    settings: tuple[str, ...],
    out: Path | None,
    ip_xact: bool,
    driver: Path | None,
    json_file: Path | None,
) -> None:
    """Write the registers that a host sees, as a C header and as SystemRDL.

    The header needs a C99 compiler and stdint.h. CONFIG_CRC in it guards against hardware that was
    generated for another configuration. --driver writes the header for one preset, beside the
    driver's files.

    The exit code is 0, 2 if something was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom map
      warploom map --config default --set sections=16 --out firmware
      warploom map --config tiny --out build/verilog --ip-xact
      warploom map --config tiny --driver firmware
    """
    from warploom_sim.variant import variant
    from warploom_spec.host_registers import config_crc

    if driver and (out or ip_xact or len(configs) > 1):
        given = "--out" if out else "--ip-xact" if ip_xact else "--config more than once"
        raise click.UsageError(f"--driver and {given} are given; legal: one of them.")
    names = configs or ((DRIVER_PRESET,) if driver else tuple(PRESETS))
    table = Table("file", "CONFIG_CRC")
    figures = []
    for made in [variant(name, settings) for name in names]:
        # All texts are made before the first is written: a refusal writes nothing.
        texts = _driver(made, driver) if driver else _registers(made, out or FOLDER, ip_xact)
        next(iter(texts)).parent.mkdir(parents=True, exist_ok=True)
        write_together(texts)
        crc = f"0x{config_crc(made.config):08X}"
        for path in texts:
            table.add_row(escape(str(path)), crc)
            figures.append({"config": made.name, "path": str(path), "config_crc": crc})
    table_console().print(table)
    if json_file:
        write_json(json_file, {"files": figures})


def _registers(made: "Variant", out: Path, ip_xact: bool) -> dict[Path, str]:
    """Return the files of one configuration's registers."""
    from warploom_sim.verilog import register_map as made_by

    writers: dict[str, Callable[[Config, str], str]] = {
        "h": made_by.c_header,
        "rdl": made_by.system_rdl,
    }
    if ip_xact:
        writers["xml"] = made_by.ip_xact
    folder = out / made.name
    return {
        folder / f"warploom_host.{suffix}": write(made.config, made.name)
        for suffix, write in writers.items()
    }


def _driver(made: "Variant", folder: Path) -> dict[Path, str]:
    """Return the files of the driver in C, for one configuration."""
    from warploom_host.c_driver import c_driver
    from warploom_sim.verilog.register_map import c_header

    texts = {**c_driver(), "warploom_host.h": c_header(made.config, made.name)}
    for name in texts:
        if (folder / name).is_dir():
            raise WarploomError(f"{folder / name} is a folder; legal: a file, or nothing")
    return {folder / name: text for name, text in texts.items()}
