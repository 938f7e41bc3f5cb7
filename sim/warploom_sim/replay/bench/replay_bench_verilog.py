"""Child process: writes the Verilog of a replay's hardware, and of its bench, into a folder."""

import gc
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from amaranth.hdl import Shape

from warploom_sim.replay.bench.observed import ObservedFrontEnd, ObservedPath
from warploom_sim.replay.bench.replay_bench import MODULES, bench_text
from warploom_sim.replay.model_run import config_of
from warploom_sim.verilog import shared_modules
from warploom_sim.verilog.header import ports
from warploom_sim.verilog.portable_verilog import run_at_start
from warploom_spec import Config, WarploomError

_MAKE: Final[dict[str, Callable[[Config], Any]]] = {
    "direct": ObservedPath,
    "axi": ObservedFrontEnd,
    "driver": ObservedFrontEnd,
}


def write(job: Mapping[str, Any], folder: Path) -> None:
    """Write the hardware, such as ``launch_path.v``, and ``bench.v``."""
    config, host = config_of(job["config"]), job["host"]
    component = _MAKE[host](config)
    named = [
        (name, direction, Shape.cast(shape).width) for name, direction, shape in ports(component)
    ]
    text = shared_modules.convert(component, MODULES[host])
    (folder / f"{MODULES[host]}.v").write_text(run_at_start(text))
    (folder / "bench.v").write_text(bench_text(named, config, host))


def main() -> int:
    """Write what the command line asks for; a refusal is one line."""
    try:
        write(json.loads(sys.argv[1]), Path(sys.argv[2]))
    except WarploomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    # Amaranth makes hundreds of thousands of small objects: collections took a fifth of the time.
    gc.set_threshold(100_000, 20, 100)
    sys.exit(main())
