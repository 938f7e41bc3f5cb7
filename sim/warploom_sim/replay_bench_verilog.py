"""Child process: writes the Verilog of LaunchPath and of the bench around it into a folder."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amaranth.hdl import Shape

from warploom.launch import LaunchPath
from warploom_sim import shared_modules
from warploom_sim.model_run import config_of
from warploom_sim.portable_verilog import run_at_start
from warploom_sim.replay_bench import DUT, bench_text
from warploom_sim.verilog_header import ports
from warploom_spec import WarploomError


def write(job: Mapping[str, Any], folder: Path) -> None:
    """Write ``launch_path.v`` and ``bench.v``."""
    config = config_of(job["config"])
    component = LaunchPath(config, fault=job["fault"])
    named = [
        (name, direction, Shape.cast(shape).width) for name, direction, shape in ports(component)
    ]
    text = shared_modules.convert(component, DUT)
    (folder / f"{DUT}.v").write_text(run_at_start(text))
    (folder / "bench.v").write_text(bench_text(named, config))


def main() -> int:
    """Write what the command line asks for; a refusal is one line."""
    try:
        write(json.loads(sys.argv[1]), Path(sys.argv[2]))
    except WarploomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
