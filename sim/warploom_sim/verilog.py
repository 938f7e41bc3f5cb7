"""Verilog of every block for any configuration, the same to the byte from run to run."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from amaranth.lib import wiring

from warploom_sim import shared_modules
from warploom_sim.blocks import block
from warploom_sim.failure import ProgramError
from warploom_sim.json_file import write_whole
from warploom_sim.portable_verilog import lint_off, run_at_start
from warploom_sim.variant import variant
from warploom_sim.verilog_header import WatchedConfig, header
from warploom_spec import WarploomError

#: Before every module's name, so that ours meet nobody else's in a larger design.
PREFIX = "warploom_"
#: How a child process says that it refuses, or that it cannot write.
REFUSED = 2
FAILED = 1


@dataclass(frozen=True)
class Generated:
    """One file written: its block, configuration and path, its lines and their SHA-256."""

    block: str
    config: str
    path: str
    lines: int
    sha256: str


def generate(
    blocks: Sequence[str],
    configs: Sequence[str],
    folder: Path,
    report: Callable[[Generated], None] = lambda _: None,
    settings: Sequence[str] = (),
) -> list[Generated]:
    """Write ``<folder>/<configuration>/<block>.v`` for each block and preset.

    Each file is generated in a process of its own whose hash seed is fixed: the order of some
    names in Amaranth's output follows Python's hashes. As many run at a time as there are cores.

    Parameters
    ----------
    blocks : sequence of str
        Names of `warploom_sim.blocks.BLOCKS`.
    configs : sequence of str
        Names of presets.
    folder : Path
        Created if it does not exist.
    report : callable
        Called after each file, from several threads.
    settings : sequence of str
        Fields to change in every preset, as `variant` reads them.

    Returns
    -------
    list of Generated
        By preset, then by block, in the order given.

    Raises
    ------
    WarploomError
        If a name is unknown, a setting is refused, or there is no Yosys.
    ProgramError
        If a file cannot be written.
    """
    for name in blocks:
        block(name)
    for name in configs:
        variant(name, settings)
    wanted = [(name, config) for config in configs for name in blocks]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # The last blocks of the last preset are the largest: they must not be left for the end.
        jobs = {
            job: pool.submit(_generate_one, *job, folder, report, settings)
            for job in reversed(wanted)
        }
        try:
            return [jobs[job].result() for job in wanted]
        except BaseException:  # Ctrl-C as well: what has not begun is not to begin
            pool.shutdown(cancel_futures=True)
            raise


def child_environment() -> dict[str, str]:
    """Return the environment of a child process that generates the same Verilog every time."""
    return {
        # The Yosys of the locked packages first: another version writes other Verilog.
        "AMARANTH_USE_YOSYS": "builtin,system",
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


def _generate_one(
    name: str,
    config: str,
    folder: Path,
    report: Callable[[Generated], None],
    settings: Sequence[str],
) -> Generated:
    made = variant(config, settings).name
    path = folder / made / f"{name}.v"
    command = [sys.executable, "-m", __name__, name, config, str(path), *settings]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True)
    if done.returncode == REFUSED:
        raise WarploomError(done.stderr.strip())
    if done.returncode:
        raise ProgramError(f"generating {path} failed:\n{done.stderr.strip()}")
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    file = Generated(name, made, str(path), content.count(b"\n"), digest)
    report(file)
    return file


def _write(name: str, config: str, target: str, *settings: str) -> None:
    """Write one file: whole, or not at all."""
    path = Path(target)
    text = module_text(name, config, settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def module_text(name: str, config: str, settings: Sequence[str] = ()) -> str:
    """Return one block's file: what `component_text` returns, documented and made portable.

    The order of names in it depends on Python's hash seed.
    """
    chosen = variant(config, settings)
    made = WatchedConfig(**vars(chosen.config))
    component = block(name)(made)
    text = component_text(component, name)
    clocked = "\n  input clk;\n" in text
    about = header(PREFIX + name, chosen.name, component, made, clocked)
    return about + lint_off() + run_at_start(text)


def component_text(component: wiring.Component, name: str) -> str:
    """Return a component's Verilog as Yosys writes it, under the name given."""
    return shared_modules.convert(component, PREFIX + name)


def _main(arguments: Sequence[str]) -> int:
    try:
        _write(*arguments)
    except WarploomError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except OSError as error:  # a folder that cannot be made, a full disk
        print(error, file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
