"""What the low launches wait for, which a run repeats without end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from warploom_sim.traces.event_waits import EventWaits
from warploom_sim.traces.kept_waits import keep_waits
from warploom_spec import LaunchDescriptor

#: (stream, count) of an awaited launch: how many launches of the stream are sent up to it.
Counts = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RepeatedWaits:
    """The event waits of launches that are sent again and again, in one order.

    Attributes
    ----------
    pairs, held : mapping of int to tuple of (int, int)
        By launch, of those that wait, in the first repetition: its pairs; and what its host waits
        for itself. The count of an awaited launch is its number in its stream.
    by_stream : mapping of int to int
        How many launches of each stream a repetition has.
    """

    pairs: Mapping[int, Counts] = field(default_factory=dict)
    held: Mapping[int, Counts] = field(default_factory=dict)
    by_stream: Mapping[int, int] = field(default_factory=dict)

    def pairs_of(self, number: int, repetition: int) -> Counts:
        """Return the pairs of a launch in a repetition, the first one's number is 0."""
        return self._in(self.pairs.get(number, ()), repetition)

    def held_of(self, number: int, repetition: int) -> Counts:
        """Return what a launch is held for in a repetition."""
        return self._in(self.held.get(number, ()), repetition)

    def _in(self, counts: Counts, repetition: int) -> Counts:
        """Return counts in a repetition: the launches of those before it count, too."""
        return tuple(
            (stream, count + repetition * self.by_stream[stream]) for stream, count in counts
        )


def repeated_waits(
    waits: EventWaits, launches: Sequence[LaunchDescriptor], launch_waits: int
) -> RepeatedWaits:
    """Return the waits of launches, none of which is refused.

    Parameters
    ----------
    waits : EventWaits
        What the recording says.
    launches : sequence of LaunchDescriptor
        A repetition, in the order in which it is sent.
    launch_waits : int
        Pairs of a launch, at most.
    """
    kept = keep_waits(waits, launches, launch_waits)
    held = (
        tuple((launches[other].stream, kept.numbers[other]) for other in others)
        for others in kept.held
    )
    return RepeatedWaits(
        {number: pairs for number, pairs in enumerate(kept.pairs) if pairs},
        {number: counts for number, counts in enumerate(held) if counts},
        Counter(launch.stream for launch in launches),
    )
