"""``warploom run``: a compiled kernel on SimtCores behind the front end."""

import importlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from warploom_sim.commands.parameters import (
    PRESET,
    SIMULATOR,
    OutputFile,
    OutputFolder,
    json_option,
    number_option,
    refuse_same,
    set_option,
    several_option,
)
from warploom_sim.cosim.simulators import SIMULATORS
from warploom_sim.json_file import write_json
from warploom_sim.screen import table_console
from warploom_spec import WarploomError

#: Beside the package's folder, in the repository alone.
EXAMPLES = Path(__file__).parents[3] / "examples"


class Dimensions(click.ParamType[tuple[int, int, int]]):
    """Three numbers, x, y and z."""

    name = "X,Y,Z"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the three numbers."""
        parts = value.split(",")
        if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
            self.fail(f"{value!r} is no size; legal: X,Y,Z, such as 4,1,1.", param, ctx)
        return tuple(map(int, parts))


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option("--grid", type=Dimensions(), required=True, help="Blocks of the grid.")
@click.option("--block", type=Dimensions(), required=True, help="Threads of a block.")
@several_option(
    "--buffer",
    "buffers",
    metavar="NAME=SOURCE",
    help="A buffer: NAME=FILE.npy, or NAME=zeros:N for N words; may be given more than once.",
)
@several_option(
    "--arg",
    "arguments",
    metavar="NAME|NUMBER",
    help="The next argument: a buffer's address, or a number; may be given more than once.",
)
@click.option("--config", type=PRESET, default="tiny", show_default=True, help="Preset.")
@set_option
@click.option(
    "--sim",
    "simulator",
    type=SIMULATOR,
    default=SIMULATORS[0],
    show_default=True,
    help="Simulator.",
)
@number_option("--limit", 1, 2**31, default=2_000_000, help="Cycles after which it is aborted.")
@click.option(
    "--out",
    type=OutputFolder(),
    default=Path("build/run"),
    show_default=True,
    help="Folder for the buffers afterwards, <NAME>.npy.",
)
@json_option(help="Also write the figures to FILE.")
@click.option("--wave", metavar="FILE", type=OutputFile(), help="Also write a waveform to FILE.")
def run(
    kernel: Path,
    config: str,
    settings: tuple[str, ...],
    json_file: Path | None,
    wave: Path | None,
    **given: Any,
) -> None:
    """Run a kernel that gcc compiled for RISC-V.

    FrontEnd gets the launch over AXI4-Lite from the C driver. SMs of SimtCore, an example in the
    repository, run its blocks. The buffers are written when the final record has come.

    The exit code is 0 if the launch finished, 1 if it failed or was aborted, 2 if the input was
    refused, 3 if a program that is needed failed or a file could not be written.

    \b
    Examples:
      warploom run examples/kernels/vector_add.elf --grid 4,1,1 --block 96,1,1
        --buffer a=a.npy --buffer b=b.npy --buffer out=zeros:384
        --arg a --arg b --arg out --arg 384 --out results
      warploom run mine.elf --grid 8,1,1 --block 256,1,1 --config default --set sms=1
        --buffer out=zeros:2048 --arg out
    """
    refuse_same(json=json_file, wave=wave)
    if not (EXAMPLES / "simt_host").is_dir():
        raise WarploomError(
            "run needs the folder examples/ of Warploom's repository, which is not in the package;"
            " legal: run from a checkout"
        )
    from warploom_sim.variant import variant
    from warploom_spec.errors import ErrorCode

    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    command = importlib.import_module("simt_host.command")
    given |= {"path": kernel, "config": variant(config, settings).config, "wave": wave}
    figures = asdict(command.run_one(**given))
    table = Table("figure", "value")
    for name, value in figures.items():
        shown = ErrorCode(value).name if name == "code" and value in list(ErrorCode) else value
        table.add_row(name, str(shown))
    table_console().print(table)
    if json_file:
        write_json(json_file, figures)
    if figures["fate"] != "finished":
        sys.exit(1)
