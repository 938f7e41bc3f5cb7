"""Child process: writes the Verilog of the hardware under `warploom preempt --rtl`, and its bench.

It takes a configuration, in JSON, and a folder.
"""

import gc
import json
import sys
from pathlib import Path

from amaranth.hdl import Shape

from warploom_sim.methods.preempt.bench.observed_path import ObservedLevels
from warploom_sim.methods.preempt.bench.preempt_bench import DUT, bench_text
from warploom_sim.replay.model_run import config_of
from warploom_sim.verilog import shared_modules
from warploom_sim.verilog.header import ports
from warploom_sim.verilog.portable_verilog import run_at_start
from warploom_spec import Config, WarploomError


def write(config: Config, folder: Path) -> None:
    """Write the hardware, and ``bench.v``."""
    component = ObservedLevels(config)
    named = [
        (name, direction, Shape.cast(shape).width) for name, direction, shape in ports(component)
    ]
    text = shared_modules.convert(component, DUT)
    (folder / f"{DUT}.v").write_text(run_at_start(text))
    (folder / "bench.v").write_text(bench_text(named, config))


def main() -> int:
    """Write what the command line asks for; a refusal is one line."""
    try:
        write(config_of(json.loads(sys.argv[1])), Path(sys.argv[2]))
    except WarploomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    # Amaranth makes hundreds of thousands of small objects: collections took a fifth of the time.
    gc.set_threshold(100_000, 20, 100)
    sys.exit(main())
