"""A trace's event waits as a kernel queue keeps them: pairs of a launch, and what its source holds.

The rule stands in ``docs/sim/traces.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from warploom_sim.traces.event_waits import EventWaits
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_spec import Config, LaunchDescriptor, WarploomError

#: More bits than the hardware's streams have are not offered.
_MOST_STREAM_BITS: Final = 5


@dataclass(frozen=True)
class KeptWaits:
    """The event waits of a replay.

    Attributes
    ----------
    kept : int
        Waits of the recording that are kept: all whose stream the recording says.
    pairs : tuple of tuple of (int, int)
        By launch: its pairs (stream, count), those of earlier launches first.
    held : tuple of tuple of int
        By launch: launches whose records its source awaits before it sends it.
    numbers : tuple of int
        By launch: how many of its stream are accepted up to it, itself included.
    """

    kept: int
    pairs: tuple[tuple[tuple[int, int], ...], ...]
    held: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]


def keep_waits(
    waits: EventWaits,
    launches: Sequence[LaunchDescriptor],
    launch_waits: int,
    refused: Sequence[int] = (),
) -> KeptWaits:
    """Return the waits of launches as pairs, and what does not fit into ``launch_waits`` of them.

    Parameters
    ----------
    waits : EventWaits
        What the recording says.
    launches : sequence of LaunchDescriptor
        The first launches of the recording, in its order, in the order in which they are sent.
    launch_waits : int
        Pairs of a launch, at most.
    refused : sequence of int
        Launches that are refused for their content: they have no number in their stream.
    """
    numbers = _numbers(launches, frozenset(refused))
    awaited: list[list[int]] = [[] for _ in launches]
    for launch, other in waits.pairs:
        if launch < len(launches) and numbers[other]:
            awaited[launch].append(other)
    pairs, held = [], []
    for others in awaited:
        fit = len(others) - launch_waits
        ordered = sorted(others)
        held.append(tuple(ordered[: max(fit, 0)]))
        newest = ordered[max(fit, 0) :]
        pairs.append(tuple((launches[other].stream, numbers[other]) for other in newest))
    return KeptWaits(waits.count - waits.unknown, tuple(pairs), tuple(held), tuple(numbers))


def _numbers(launches: Sequence[LaunchDescriptor], refused: frozenset[int]) -> list[int]:
    """Return for each launch how many of its stream were accepted up to it, itself included."""
    counts: dict[int, int] = {}
    result = []
    for number, launch in enumerate(launches):
        counts[launch.stream] = counts.get(launch.stream, 0) + (number not in refused)
        result.append(counts[launch.stream])
    return result


def check_streams(path: object, launches: Sequence[KernelLaunch], config: Config) -> None:
    """Demand that each stream of a trace has a stream of the hardware.

    Raises
    ------
    WarploomError
        If there are more: says how many, and how many bits are enough.
    """
    count = len({(launch.device, launch.stream) for launch in launches})
    if count <= 1 << config.stream_bits:
        return
    bits = (count - 1).bit_length()
    cure = f"choose --set stream_bits={bits}" if bits <= _MOST_STREAM_BITS else "choose --device"
    raise WarploomError(f"{path}: {count} streams; legal: up to {1 << config.stream_bits} ({cure})")
