"""``warploom map``: the host's registers for C, SystemRDL and IP-XACT."""

from collections.abc import Callable
from pathlib import Path

import click
from rich.table import Table

from warploom_sim.commands.parameters import PRESET, OutputFolder, json_option, several_option
from warploom_sim.json_file import write_json, write_whole
from warploom_sim.screen import table_console
from warploom_spec import PRESETS, Config


@click.command("map")
@several_option(
    "--config",
    "configs",
    type=PRESET,
    help="Preset to write for; may be given more than once.  [default: all]",
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
    default=Path("build/map"),
    show_default=True,
    help="Folder for <preset>/warploom_host.h and .rdl; fields that differ follow the name.",
)
@click.option("--ip-xact", is_flag=True, help="Also write warploom_host.xml; needs PeakRDL.")
@json_option(help="Also write paths and CONFIG_CRC to FILE.")
def register_map(
    configs: tuple[str, ...],
    settings: tuple[str, ...],
    out: Path,
    ip_xact: bool,
    json_file: Path | None,
) -> None:
    """Write the registers that a host sees, as a C header and as SystemRDL.

    The header needs a C99 compiler and stdint.h. CONFIG_CRC in it guards against hardware that was
    generated for another configuration.

    The exit code is 0, 2 if something was refused, 3 if a file could not be written.

    \b
    Examples:
      warploom map
      warploom map --config default --set sections=16 --out firmware
      warploom map --config tiny --out build/verilog --ip-xact
    """
    from warploom_sim.variant import variant
    from warploom_sim.verilog import register_map as made_by
    from warploom_spec.host_registers import config_crc

    chosen = [variant(name, settings) for name in configs or tuple(PRESETS)]
    writers: dict[str, Callable[[Config, str], str | bytes]] = {
        "h": made_by.c_header,
        "rdl": made_by.system_rdl,
    }
    if ip_xact:
        writers["xml"] = made_by.ip_xact
    table = Table("file", "CONFIG_CRC")
    figures = []
    for made in chosen:
        crc = f"0x{config_crc(made.config):08X}"
        # All texts are made before the first is written: a refusal writes nothing.
        texts = {suffix: write(made.config, made.name) for suffix, write in writers.items()}
        for suffix, text in texts.items():
            path = out / made.name / f"warploom_host.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
            table.add_row(str(path), crc)
            figures.append({"config": made.name, "path": str(path), "config_crc": crc})
    table_console().print(table)
    if json_file:
        write_json(json_file, {"files": figures})
