"""A trace's event waits as a kernel queue keeps them: pairs of a launch, and what its source holds.

The rule stands in ``docs/sim/traces.md``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from warploom_sim.traces.event_waits import EventWaits
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_spec import Config, LaunchDescriptor, WarploomError
from warploom_spec.queue_packets import WAIT_BITS

#: So many launches behind the last one of its stream a launch has long ended, and its count is
#: refused: the port has only the low bits.
_FAR_BEHIND: Final = 1 << (WAIT_BITS - 1)
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
    awaited : tuple of tuple of int
        By launch: those of other streams that it waits for, the latest of each stream.
    """

    kept: int
    pairs: tuple[tuple[tuple[int, int], ...], ...]
    held: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]
    awaited: tuple[tuple[int, ...], ...]


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
    gone = frozenset(refused)
    numbers = _numbers(launches, gone)
    pairs, held = [], []
    awaited = _awaited(waits, launches, gone)
    sent: Counter[int] = Counter()
    for launch, number, asked in zip(launches, numbers, awaited, strict=True):
        sent[launch.stream] = number
        others = [
            other for other in asked if sent[launches[other].stream] - numbers[other] < _FAR_BEHIND
        ]
        fit = max(len(others) - launch_waits, 0)
        held.append(tuple(others[:fit]))
        pairs.append(tuple((launches[other].stream, numbers[other]) for other in others[fit:]))
    return KeptWaits(
        waits.count - waits.unknown,
        tuple(pairs),
        tuple(held),
        tuple(numbers),
        tuple(map(tuple, awaited)),
    )


def no_waits(launches: Sequence[LaunchDescriptor]) -> KeptWaits:
    """Return the waits of launches of which none waits."""
    return keep_waits(EventWaits(), launches, 0)


def _awaited(
    waits: EventWaits, launches: Sequence[LaunchDescriptor], refused: frozenset[int]
) -> list[list[int]]:
    """Return the launches that each one waits for, the earliest first, one of each stream.

    What a refused launch waits for, those wait for that wait for it, and the next one of its
    stream.
    """
    own: list[list[int]] = [[] for _ in launches]
    for waiting, other in waits.pairs:
        if waiting < len(launches):
            own[waiting].append(other)
    found: list[dict[int, int]] = []
    before: dict[int, int] = {}
    # Of each launch itself, or in its place the last one of its stream that was not refused.
    stands: list[int | None] = []
    accepted: dict[int, int] = {}
    for number, launch in enumerate(launches):
        asked = list(own[number])
        passed_on = [other for other in asked if other in refused]
        if before.get(launch.stream) in refused:
            passed_on.append(before[launch.stream])
        for other in passed_on:
            asked += found[other].values()
        latest: dict[int, int] = {}
        for stood in (stands[other] for other in asked):
            if stood is not None and launches[stood].stream != launch.stream:
                stream = launches[stood].stream
                latest[stream] = max(stood, latest.get(stream, stood))
        found.append(latest)
        before[launch.stream] = number
        if number not in refused:
            accepted[launch.stream] = number
        stands.append(accepted.get(launch.stream))
    return [sorted(latest.values()) for latest in found]


def _numbers(launches: Sequence[LaunchDescriptor], refused: frozenset[int]) -> list[int]:
    """Return for each launch how many of its stream were accepted up to it, itself included."""
    counts: dict[int, int] = {}
    result = []
    for number, launch in enumerate(launches):
        counts[launch.stream] = counts.get(launch.stream, 0) + (number not in refused)
        result.append(counts[launch.stream])
    return result


def check_streams(
    path: object, launches: Sequence[KernelLaunch], config: Config, *, taken: int = 0
) -> None:
    """Demand that each stream of a trace has a stream of the hardware, beside those ``taken``.

    Raises
    ------
    WarploomError
        If there are more: says how many, and how many bits are enough, if any are.
    """
    count = len({(launch.device, launch.stream) for launch in launches})
    most = (1 << config.stream_bits) - taken
    if count <= most:
        return
    bits = (count + taken - 1).bit_length()
    if bits <= _MOST_STREAM_BITS:
        cure = f"choose --set stream_bits={bits}"
    elif len({launch.device for launch in launches}) > 1:
        cure = "choose --device"
    else:
        cure = f"no configuration has more than {(1 << _MOST_STREAM_BITS) - taken}"
    raise WarploomError(f"{path}: {count} streams; legal: up to {most} ({cure})")
