"""What the books of KernelQueue and of LaunchPath have in common."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from warploom_spec.layouts import TICKET_BITS
from warploom_spec.queue_packets import COUNT_BITS

#: Counts as a launch carries them; half of them lie ahead.
COUNTS, HALF = 1 << 16, 1 << 15


class Booked(Protocol):
    """A launch in the books."""

    @property
    def record(self) -> Any:
        """Its final record; None as long as it has none."""


def next_ticket(ticket: int) -> int:
    """Return the ticket that comes after one: 0 is none."""
    return ticket % ((1 << TICKET_BITS) - 1) + 1


class Firsts:
    """With what tickets and counts begin; a subclass has others.

    Attributes
    ----------
    first_ticket, first_count : int
        The block's parameters.
    """

    first_ticket = 1
    first_count = 0

    def follow(self, ticket: int | None) -> int:
        """Return the ticket that comes after one, or the first one."""
        return self.first_ticket if ticket is None else next_ticket(ticket)


def waits_of(
    fields: Mapping[str, int],
    pairs: int,
    streams: Mapping[int, Sequence[Any]],
    ticket: int,
    first_count: int,
) -> list[tuple[int, int]]:
    """Return an accepted launch's pairs: stream, and which of its launches is waited for.

    The stream's first launch is 1 here.
    """
    waits = []
    for k in range(pairs):
        if fields[f"wait{k}_valid"]:
            awaited = fields[f"wait{k}_stream"]
            accepted = len(streams.get(awaited, []))
            behind = (first_count + accepted - fields[f"wait{k}_count"]) % COUNTS
            assert behind < HALF, f"{ticket} waits for what was not accepted"
            waits.append((awaited, accepted - behind))
    return waits


def step_timeline(
    step: Mapping[str, int],
    streams: Mapping[int, Sequence[Booked]],
    timelines: dict[int, int],
    first_count: int,
) -> None:
    """Move a stream's timeline, past launches that have their records alone."""
    stream, count = step["stream"], (step["count"] - first_count) % (1 << COUNT_BITS)
    launches, before = streams[stream], timelines.get(stream, 0)
    assert before < count <= len(launches), f"timeline of {stream}: {before} to {count}"
    ended = all(launch.record is not None for launch in launches[before:count])
    assert ended, f"the timeline of {stream} passes a launch without a record"
    timelines[stream] = count


def play_model(model: Any, around: Any, books: Any, cycles: int) -> Counter[str]:
    """Run a model alone in its surroundings; the books look at every cycle, and count."""
    outputs = None
    for cycle in range(cycles):
        inputs = around.next(outputs)
        outputs = model.outputs(inputs)
        books.see(cycle, inputs, outputs)
        model.tick(inputs)
    return Counter(books.counts())
