"""From a trace to the launches of a replay: descriptors, streams, addresses, block lengths."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from warploom_golden.index import IndexMemoryAllocator
from warploom_golden.index.index_memory_allocator import SHARED_ADDRESS
from warploom_golden.oracles.index_reference import warps
from warploom_sim.traces.devices import Device
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, LaunchDescriptor, WarploomError
from warploom_spec.launch import REGISTER_UNIT, SHARED_UNIT_BYTES

#: Cycles of a microsecond: the recorded GPU's clock of 1.98 GHz.
CLOCK_MHZ: Final = 1980
SHORTEST_LENGTH: Final = 4
#: Longest base length whose jitter is exact in the 32-bit arithmetic of the stand-in.
LONGEST_LENGTH: Final = 2**26 - 1
#: Latest arrival: an SM's progress up to then fits the event model's numbers.
LATEST_ARRIVAL: Final = 2**36 - 1
#: Most warps of a recorded SM: what the descriptor's field holds.
MOST_LOAD: Final = 2**16 - 1


def make_launches(
    trace: Trace,
    config: Config,
    time_scale: Fraction,
    count: int | None = None,
    allocator: str = "frequent",
) -> list[LaunchDescriptor]:
    """Return the first ``count`` launches of a trace (None: all) as they are sent.

    ``allocator`` is the policy by which IndexMemoryAllocator gives addresses in the index memory.
    ``code`` is the launch's number from 0, ``arguments`` its blocks' base length in cycles,
    ``address_space`` the warps that an SM of the recorded GPU held of it.

    Raises
    ------
    WarploomError
        If a launch does not fit the descriptor, did not fit the recorded GPU, or its blocks are
        too long for this time scale; names file, event, field and value.
    """
    chosen = trace.launches[:count]
    streams = _stream_numbers(chosen, config)
    addresses = index_addresses(chosen, config, allocator)
    result = []
    for number, launch in enumerate(chosen):
        device = trace.devices[launch.device]
        try:
            made = LaunchDescriptor.from_cuda(
                launch.grid,
                launch.block,
                launch.registers,
                launch.shared_bytes,
                config,
                reserved_bytes=device.reserved_bytes,
            )
        except WarploomError as error:
            said = f"{error}; it is a launch of {_described(launch)}"
            raise trace.place(launch).refuse(said) from error
        result.append(
            replace(
                made,
                barriers=device.block_barriers(warps(launch.block, device.warp_size)),
                code=number,
                arguments=base_length(trace, launch, time_scale),
                address_space=recorded_load(trace, launch, config),
                stream=streams[number],
                index_address=addresses[number],
            )
        )
    return result


def arrival_cycles(trace: Trace, time_scale: Fraction, count: int | None = None) -> list[int]:
    """Return when the first ``count`` launches of a trace (None: all) arrive, in cycles.

    The first one's call began in cycle 0.

    Raises
    ------
    WarploomError
        If an arrival is above `LATEST_ARRIVAL`; names file, event, value.
    """
    first = Fraction(trace.calls[0])
    cycles_each = CLOCK_MHZ * time_scale
    arrivals = [round((Fraction(call) - first) * cycles_each) for call in trace.calls[:count]]
    if arrivals[-1] > LATEST_ARRIVAL:
        late = next(k for k, arrival in enumerate(arrivals) if arrival > LATEST_ARRIVAL)
        raise trace.place(trace.launches[late]).refuse(
            f"its launch call's 'ts' is {trace.calls[late] - trace.calls[0]} microseconds after the"
            f" first one's, cycle {arrivals[late]} at time scale {time_scale}; legal: up to"
            f" {LATEST_ARRIVAL} (choose a smaller time scale, or fewer launches)"
        )
    return arrivals


def _described(launch: KernelLaunch) -> str:
    """Return what decides about a launch, as the trace says it."""
    return (
        f"grid {launch.grid}, block {launch.block}, {launch.registers} registers a thread,"
        f" {launch.shared_bytes} bytes of shared memory"
    )


def _stream_numbers(launches: Sequence[KernelLaunch], config: Config) -> list[int]:
    """Number the trace's streams 0, 1, ... in order of first launch, modulo what there are."""
    seen: dict[tuple[int, int], int] = {}
    return [
        seen.setdefault((launch.device, launch.stream), len(seen)) % (1 << config.stream_bits)
        for launch in launches
    ]


def index_addresses(
    launches: Sequence[KernelLaunch], config: Config, policy: str = "frequent"
) -> list[int]:
    """Let the allocator place each launch's indices; a block that is refused anyway gets any."""
    allocator = IndexMemoryAllocator(config, policy)
    return [
        allocator.address(launch.block, warps(launch.block, config.warp_size))
        if 1 <= warps(launch.block, config.warp_size) <= config.max_warps
        else SHARED_ADDRESS
        for launch in launches
    ]


def base_length(trace: Trace, launch: KernelLaunch, time_scale: Fraction) -> int:
    """Return a launch's base length: its recorded time, shared among its waves, in cycles.

    Raises
    ------
    WarploomError
        If not one block fits the recorded GPU, or the length is above `LONGEST_LENGTH`.
    """
    device = trace.devices[launch.device]
    resident = resident_blocks(launch, device)
    if resident == 0:
        raise trace.place(launch).refuse(
            f"not one block fits an SM of the recorded {device.name}: {_described(launch)}"
        )
    waves = max(1, -(-launch.blocks // (device.sms * resident)))
    length = round(Fraction(launch.duration) * CLOCK_MHZ / waves * time_scale)
    if length > LONGEST_LENGTH:
        raise trace.place(launch).refuse(
            f"'dur' is {launch.duration}, {length} cycles a block at time scale {time_scale};"
            f" legal: up to {LONGEST_LENGTH} (choose a smaller time scale)"
        )
    return max(SHORTEST_LENGTH, length)


def recorded_load(trace: Trace, launch: KernelLaunch, config: Config) -> int:
    """Return how many warps of a launch an SM of the recorded GPU held, in the replay's warps.

    Raises
    ------
    WarploomError
        If they are more than `MOST_LOAD`.
    """
    device = trace.devices[launch.device]
    blocks = min(resident_blocks(launch, device), -(-launch.blocks // device.sms))
    load = warps(launch.block, config.warp_size) * blocks
    if load > MOST_LOAD:
        raise trace.place(launch).refuse(
            f"{load} warps on an SM of the recorded {device.name}; legal: up to {MOST_LOAD}"
        )
    return load


def resident_blocks(launch: KernelLaunch, device: Device) -> int:
    """Return how many blocks of a launch an SM of the recorded GPU holds at once."""
    block_warps = max(1, warps(launch.block, device.warp_size))
    warp_registers = -(-launch.registers * device.warp_size // REGISTER_UNIT) * REGISTER_UNIT
    shared = -(-(launch.shared_bytes + device.reserved_bytes) // SHARED_UNIT_BYTES)
    limits = [device.block_slots, device.warp_slots // block_warps]
    if shared:
        limits.append(device.shared_bytes // (shared * SHARED_UNIT_BYTES))
    if warp_registers:
        limits.append(device.registers // (warp_registers * block_warps))
    if barriers := device.block_barriers(block_warps):
        limits.append(device.barriers // barriers)
    return min(limits)
