"""Verilog of every block for any configuration, the same to the byte from run to run."""

import gc
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from amaranth.lib import wiring

from warploom_sim.failure import ProgramError
from warploom_sim.json_file import write_whole
from warploom_sim.variant import variant
from warploom_sim.verilog import (
    front_end_bench,
    packed_wrapper,
    shared_modules,
    sm_header,
    sv_package,
)
from warploom_sim.verilog.blocks import block
from warploom_sim.verilog.header import header
from warploom_sim.verilog.manifests import manifests
from warploom_sim.verilog.portable_verilog import (
    about_hidden_rows,
    hide_first_rows,
    lint_off,
    run_at_start,
)
from warploom_spec import WarploomError

#: Before every module's name, so that ours meet nobody else's in a larger design.
PREFIX = "warploom_"
#: How a child process says that it refuses, or that it cannot write.
REFUSED = 2
FAILED = 1
#: The option of a child process that hides memories' first values from synthesis.
NO_INIT = "--no-init"


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
    *,
    no_init: bool = False,
) -> list[Generated]:
    """Write ``<folder>/<configuration>/<block>.v`` for each block and preset.

    Beside them ``warploom_pkg.sv``, ``warploom_sm.h`` and ``warploom_sm.json``; beside FrontEnd its
    wrapper, its bench, and what FuseSoC and Bender read.

    Each file is generated in a process of its own whose hash seed is fixed: the order of some
    names in Amaranth's output follows Python's hashes. As many run at a time as there are cores.

    Parameters
    ----------
    blocks : sequence of str
        Names of `warploom_sim.verilog.blocks.BLOCKS`.
    configs : sequence of str
        Names of presets.
    folder : Path
        Created if it does not exist.
    report : callable
        Called after each file, from several threads.
    settings : sequence of str
        Fields to change in every preset, as `variant` reads them.
    no_init : bool
        Hide memories' first values from synthesis, as `hide_first_rows` does.

    Returns
    -------
    list of Generated
        By preset, then by block, in the order given; what stands beside a preset's blocks last.

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
            job: pool.submit(_generate_one, *job, folder, report, settings, no_init)
            for job in reversed(wanted)
        }
        try:
            done = {job: jobs[job].result() for job in wanted}
        except BaseException:  # Ctrl-C as well: what has not begun is not to begin
            pool.shutdown(cancel_futures=True)
            raise
    files = []
    for config in configs:
        files += [file for name in blocks for file in done[name, config]]
        for file in _write_beside(blocks, config, folder, settings):
            files.append(file)
            report(file)
    return files


def count_of_files(blocks: Sequence[str], configs: Sequence[str]) -> int:
    """Return how many files `generate` writes."""
    beside = 3 + len(manifests("", "")) * (packed_wrapper.BLOCK in blocks)
    return len(configs) * (sum(len(_file_stems(name)) for name in blocks) + beside)


def _file_stems(name: str) -> list[str]:
    """Return the names of the files of a block, without their endings."""
    if name != packed_wrapper.BLOCK:
        return [name]
    return [name, name + packed_wrapper.SUFFIX, name + front_end_bench.SUFFIX]


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
    no_init: bool,
) -> list[Generated]:
    made = variant(config, settings).name
    path = folder / made / f"{name}.v"
    options = [NO_INIT] if no_init else []
    command = [sys.executable, "-m", __name__, *options, name, config, str(path), *settings]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True)
    if done.returncode == REFUSED:
        raise WarploomError(done.stderr.strip())
    if done.returncode:
        raise ProgramError(f"generating {path} failed:\n{done.stderr.strip()}")
    files = [_generated(stem, made, path.with_name(f"{stem}.v")) for stem in _file_stems(name)]
    for file in files:
        report(file)
    return files


def _generated(name: str, config: str, path: Path) -> Generated:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return Generated(name, config, str(path), content.count(b"\n"), digest)


def _write_beside(
    blocks: Sequence[str], config: str, folder: Path, settings: Sequence[str]
) -> Iterator[Generated]:
    """Write the package, the SM's header and data, and beside FrontEnd the manifests."""
    chosen = variant(config, settings)
    made = (chosen.config, chosen.name)
    texts = {
        f"{sv_package.PACKAGE}.sv": sv_package.package(*made),
        f"{sm_header.STEM}.h": sm_header.sm_header(*made),
        f"{sm_header.STEM}.json": json.dumps(sm_header.sm_data(*made), indent=2) + "\n",
    }
    if packed_wrapper.BLOCK in blocks:
        texts |= manifests(chosen.name, PREFIX + packed_wrapper.BLOCK)
    for name, text in texts.items():
        path = folder / chosen.name / name
        try:
            write_whole(path, text)
        except OSError as error:
            raise ProgramError(f"writing {path} failed:\n{error}") from error
        yield _generated(path.stem, chosen.name, path)


def _write(no_init: bool, name: str, config: str, target: str, *settings: str) -> None:
    """Write a block's files: each whole, or not at all."""
    path = Path(target)
    texts = module_texts(name, config, settings, no_init)
    path.parent.mkdir(parents=True, exist_ok=True)
    for stem, text in texts.items():
        write_whole(path.with_name(f"{stem}.v"), text)


def module_text(name: str, config: str, settings: Sequence[str] = ()) -> str:
    """Return one block's file: what `component_text` returns, documented and made portable.

    The order of names in it depends on Python's hash seed.
    """
    return module_texts(name, config, settings)[name]


def module_texts(
    name: str, config: str, settings: Sequence[str] = (), no_init: bool = False
) -> dict[str, str]:
    """Return what `module_text` returns, and FrontEnd's wrapper and bench, by their names."""
    chosen = variant(config, settings)
    component = block(name)(chosen.config)
    text = component_text(component, name)
    clocked = "\n  input clk;\n" in text
    about = header(PREFIX, name, chosen, component, clocked)
    if no_init:
        hidden = hide_first_rows(text, type(component).__module__.split(".")[1])
        about += about_hidden_rows() if hidden != text else ""
        text = hidden
    texts = {name: about + lint_off() + run_at_start(text)}
    if name == packed_wrapper.BLOCK:
        core = (component, chosen.config, PREFIX + name, chosen.name)
        texts[name + packed_wrapper.SUFFIX] = packed_wrapper.wrapper(*core)
        texts[name + front_end_bench.SUFFIX] = front_end_bench.bench(*core)
    return texts


def component_text(component: wiring.Component, name: str) -> str:
    """Return a component's Verilog as Yosys writes it, under the name given."""
    return shared_modules.convert(component, PREFIX + name)


def _main(arguments: Sequence[str]) -> int:
    given = [each for each in arguments if each != NO_INIT]
    try:
        _write(NO_INIT in arguments, *given)
    except WarploomError as error:
        print(error, file=sys.stderr)
        return REFUSED
    except OSError as error:  # a folder that cannot be made, a full disk
        print(error, file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    # Amaranth makes hundreds of thousands of small objects: collections took a fifth of the time.
    gc.set_threshold(100_000, 20, 100)
    sys.exit(_main(sys.argv[1:]))
