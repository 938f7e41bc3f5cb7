"""Makes the two sides of a preemption from traces: the low launches and the urgent ones."""

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from warploom_golden.oracles.index_reference import warps
from warploom_sim.methods.preempt.repeated_waits import RepeatedWaits, repeated_waits
from warploom_sim.traces.kept_waits import check_streams
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_launches import index_addresses, make_launches
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, ErrorCode, LaunchDescriptor, WarploomError
from warploom_spec.queue import PRIORITIES, Mode
from warploom_spec.resources import SM_RESOURCES, block_amounts

LOW_PRIORITY = 0
URGENT_PRIORITY = PRIORITIES - 1
#: How low launches may make way, by the names of ``--mode``, in the order of the tables.
MODES: Final[Mapping[str, int]] = {
    "reset": Mode.RESET,
    "drain": Mode.DRAIN,
    "yield": Mode.YIELD,
    "wait": Mode.WAIT,
    "auto": Mode.AUTO,
}


@dataclass(frozen=True)
class Workload:
    """Low and urgent launches; a run repeats both without end.

    Attributes
    ----------
    low, urgent : tuple of LaunchDescriptor
        The launches of each side, in the order of their launch calls. The urgent launches have a
        stream of their own.
    low_kernels : tuple of str
        The kernel's name of each low launch.
    low_waits : RepeatedWaits
        What the low launches wait for. Urgent launches are in one stream, whose order keeps what
        they wait for.
    """

    low: tuple[LaunchDescriptor, ...]
    urgent: tuple[LaunchDescriptor, ...]
    low_kernels: tuple[str, ...]
    low_waits: RepeatedWaits = field(default_factory=RepeatedWaits)

    def with_mode(self, mode: int, share: Fraction, seed: int) -> "Workload":
        """Return the workload with the low launches in a mode, and with idempotent kernels drawn.

        Parameters
        ----------
        mode : int
            How a low launch makes way for an urgent one: a `Mode`, or ``Mode.YIELD``.
        share : Fraction
            Share of the kernels that are idempotent. Each kernel's draw depends only on its name
            and the seed.
        seed : int
            Seed of the draws.
        """
        kernels = {name: _draw(seed, name) < share for name in self.low_kernels}
        low = (
            dataclasses.replace(launch, mode=mode, idempotent=int(kernels[name]))
            for launch, name in zip(self.low, self.low_kernels, strict=True)
        )
        return dataclasses.replace(self, low=tuple(low))

    def in_one_queue(self) -> "Workload":
        """Return the workload with all launches in one stream, without priorities.

        The order of the stream keeps what low launches wait for.
        """
        low = (dataclasses.replace(each, stream=0) for each in self.low)
        urgent = (
            dataclasses.replace(each, stream=0, priority=LOW_PRIORITY) for each in self.urgent
        )
        return dataclasses.replace(
            self, low=tuple(low), urgent=tuple(urgent), low_waits=RepeatedWaits()
        )


def _draw(seed: int, name: str) -> float:
    return random.Random(f"{seed} {name}").random()


def select(trace: Trace, stream: int, urgent: bool) -> Trace:
    """Return the urgent launches of a trace, or all others, with what they wait for among them.

    Parameters
    ----------
    trace : Trace
        The recorded trace.
    stream : int
        Number of the urgent stream.
    urgent : bool
        Whether to return the launches of that stream, or those of all other streams.

    Raises
    ------
    WarploomError
        If no launch is in the stream, or if all launches are.
    """
    streams = sorted({launch.stream for launch in trace.launches})
    if stream not in streams:
        known = ", ".join(map(str, streams))
        raise WarploomError(f"{trace.path}: --urgent is {stream}; streams of the trace: {known}")
    if len(streams) == 1:
        raise WarploomError(
            f"{trace.path}: --urgent is {stream}, the trace's only stream: nothing is left to"
            " preempt (name two traces instead)"
        )
    launches = trace.launches
    chosen = [n for n, launch in enumerate(launches) if (launch.stream == stream) == urgent]
    return dataclasses.replace(
        trace,
        launches=tuple(launches[n] for n in chosen),
        waits=trace.waits.among(chosen, launches),
    )


def dropped_waits(trace: Trace, stream: int) -> int:
    """Return how many event waits are between launches of the urgent stream and others."""
    urgent = {n for n, launch in enumerate(trace.launches) if launch.stream == stream}
    return trace.waits.across(urgent)


def make_workload(
    low: Trace, urgent: Trace, config: Config, time_scale: Fraction, *, keeps_waits: bool = True
) -> Workload:
    """Make the launches of both sides, numbered and addressed together.

    ``keeps_waits`` says whether launches wait for the events of their trace.

    Raises
    ------
    WarploomError
        If a launch is refused: it does not fit the descriptor, the recorded GPU, or the machine; or
        if the low trace has more streams than there are beside the urgent launches' one.
    """
    from warploom_golden.replay.refusal import judge

    check_streams(low.path, low.launches, config, taken=1)
    kernels: list[KernelLaunch] = [*low.launches, *urgent.launches]
    addresses = index_addresses(kernels, config)
    made = [*make_launches(low, config, time_scale), *make_launches(urgent, config, time_scale)]
    # Urgent launches use the last stream, low launches those before it.
    last = (1 << config.stream_bits) - 1
    launches = []
    for number, (launch, kernel) in enumerate(zip(made, kernels, strict=True)):
        is_low = number < len(low.launches)
        placed = dataclasses.replace(
            launch,
            code=number,
            index_address=addresses[number],
            stream=launch.stream if is_low else last,
            priority=LOW_PRIORITY if is_low else URGENT_PRIORITY,
            idempotent=1,
        )
        code, argument = judge(placed, config)
        if code:
            trace = low if is_low else urgent
            raise trace.place(kernel).refuse(
                f"the configuration refuses the launch: {ErrorCode(code).name} "
                f"({_amount(placed, code, config) or f'argument {argument}'}); grid {kernel.grid},"
                f" block {kernel.block}"
            )
        launches.append(placed)
    count = len(low.launches)
    names = tuple(launch.name for launch in low.launches)
    waits = RepeatedWaits()
    if keeps_waits:
        waits = repeated_waits(low.waits, launches[:count], config.launch_waits)
    return Workload(tuple(launches[:count]), tuple(launches[count:]), names, waits)


def _amount(launch: LaunchDescriptor, code: int, config: Config) -> str:
    """Return of which resource a block takes how much too much; empty: that is not the reason."""
    takes = block_amounts(vars(launch), warps(launch.block, config.warp_size), config)
    for resource, amount in zip(SM_RESOURCES, takes, strict=True):
        if resource.code and resource.refusal() == code:
            limit = resource.limit(config)
            return f"a block takes {amount} {resource.unit}; legal: 0 to {limit}"
    return ""
