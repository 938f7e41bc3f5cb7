"""XSched's experiment (OSDI 2025) on this machine: eight equal commands at three levels.

A command is one kernel launch. Each level lets an urgent launch preempt in another way.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from warploom_sim.methods.preempt.measure import run, summary
from warploom_sim.methods.preempt.runs import Setting
from warploom_sim.methods.preempt.workload import LOW_PRIORITY, URGENT_PRIORITY, Workload
from warploom_sim.traces.trace_launches import CLOCK_MHZ
from warploom_spec import Config, LaunchDescriptor, capacities
from warploom_spec.queue import Mode
from warploom_spec.resources import block_amounts

#: Number of commands in flight, and of blocks in each command.
COMMANDS: Final = 8
BLOCKS: Final = 2000
#: Cycles of one command: half a millisecond, as in XSched's experiment.
COMMAND_CYCLES: Final = 500 * CLOCK_MHZ
#: Warps of a block, and register units of a warp.
_WARPS: Final = 8
_WARP_REGISTERS: Final = 4
#: The three levels, by the names that stand for XSched's levels here.
LEVELS: Final = ("same queue", "wait", "reset")


def commands(config: Config) -> Workload:
    """Return eight equal commands, and one short urgent command with a block for each SM."""
    last = (1 << config.stream_bits) - 1

    def command(
        number: int, blocks: int, cycles: int, urgent: bool, resident: int = 1
    ) -> LaunchDescriptor:
        return LaunchDescriptor(
            grid=(blocks, 1, 1),
            block=(_WARPS * config.warp_size, 1, 1),
            warp_registers=_WARP_REGISTERS,
            code=number,
            arguments=cycles,
            # With contention: as long as ``cycles`` say beside so many blocks of its own.
            address_space=resident * _WARPS,
            stream=last if urgent else 0,
            priority=URGENT_PRIORITY if urgent else LOW_PRIORITY,
        )

    takes = block_amounts(vars(command(0, 1, 1, False)), _WARPS, config)
    sizes = capacities(config).values()
    resident = min(size // one for size, one in zip(sizes, takes, strict=True) if one)
    waves = -(-BLOCKS // (config.sms * resident))
    length = COMMAND_CYCLES // waves
    low = tuple(command(n, BLOCKS, length, False, resident) for n in range(COMMANDS))
    urgent = command(COMMANDS, config.sms, COMMAND_CYCLES // 100, True)
    return Workload(low, (urgent,), ("command",) * COMMANDS)


def levels(setting: Setting, tell: Callable[[int], None]) -> dict[str, dict[str, Any]]:
    """Return the urgent launch's latency at each of `LEVELS`, in cycles and in commands.

    Parameters
    ----------
    setting : Setting
        The machine and the arrivals. ``distance`` should be several commands.
    tell : callable
        Called with the number of urgent launches of the level that are done.
    """
    workload = commands(setting.config)
    result = {}
    for level in LEVELS:
        mode = Mode.RESET if level == "reset" else Mode.WAIT
        chosen = workload.with_mode(mode, Fraction(1), setting.seed)
        if level == "same queue":
            chosen = chosen.in_one_queue()
        figures = summary(run(chosen, setting, ahead=COMMANDS, tell=tell).latencies)
        for name in ("median", "p99", "max"):
            figures[f"{name}_commands"] = round(figures[name] / COMMAND_CYCLES, 4)
        result[level] = figures
    return result
