"""Event calls between a group's launches become pairs that the launches wait for.

A relative pair (stream, d) waits for the launch that was accepted d before the latest one of that
stream. The launches between an event's record and the launch that waits are the same ones in each
iteration, so the pair needs no step.
"""

from dataclasses import dataclass, field
from typing import Final

from warploom_golden.deferral.calls import Argument
from warploom_golden.deferral.loop_rules import constant_of
from warploom_golden.deferral.refusal import Reason, RefusedGroupError

EVENT_RECORD: Final = "cudaEventRecord"
STREAM_WAIT: Final = "cudaStreamWaitEvent"
#: Arguments that each event call has, at least; behind them flags alone.
EVENT_CALLS: Final = {EVENT_RECORD: 2, STREAM_WAIT: 2}

#: By awaited stream: how many launches before its latest accepted one.
Pairs = dict[int, int]


@dataclass
class StreamOrder:
    """Follows an iteration's launches and event calls.

    Attributes
    ----------
    count : int
        Iterations of the group.
    pairs : list of dict
        By launch, in order: what it waits for.
    """

    count: int
    pairs: list[Pairs] = field(default_factory=list)
    _sent: dict[int, int] = field(default_factory=dict)
    # By event: its stream, and how many launches of this iteration the stream had at the record.
    _events: dict[int, tuple[int, int]] = field(default_factory=dict)
    # By waiting stream: the same of each event that its next launch waits for.
    _pending: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    # By stream: number of its first launch, and what each stream had sent before it.
    _firsts: dict[int, tuple[int, dict[int, int]]] = field(default_factory=dict)

    def record(self, event: int, stream: int) -> None:
        """Note that an event was recorded behind the launches of a stream so far."""
        self._events[event] = stream, self._sent.get(stream, 0)

    def wait(self, stream: int, event: int, call: int) -> None:
        """Let a stream's next launch wait for an event.

        Raises
        ------
        RefusedGroupError
            If no earlier call of the iteration recorded the event: in iteration 0 it belongs to a
            launch before the group, which no pair of a template can name.
        """
        if event not in self._events:
            raise RefusedGroupError(Reason.NOT_A_LAUNCH, call)
        self._pending.setdefault(stream, []).append(self._events[event])

    def launch(self, stream: int) -> None:
        """Note a launch; it waits for what its stream has pending."""
        self._firsts.setdefault(stream, (len(self.pairs), dict(self._sent)))
        pairs: Pairs = {}
        self._take(pairs, stream, self._sent)
        self.pairs.append(pairs)
        self._sent[stream] = self._sent.get(stream, 0) + 1

    def close(self) -> None:
        """Let what is still pending stand at the next iteration's first launch of its stream.

        Behind the last iteration nothing is left to wait: who depends on a LOOP awaits its end.
        """
        if self.count < 2:
            return
        for stream, (launch, before) in self._firsts.items():
            sent = {s: n + before.get(s, 0) for s, n in self._sent.items()}
            self._take(self.pairs[launch], stream, sent)

    def _take(self, pairs: Pairs, stream: int, sent: dict[int, int]) -> None:
        """Add a stream's pending waits to a launch's pairs; of each stream the latest counts."""
        for awaited, position in self._pending.pop(stream, ()):
            if awaited != stream:
                back = sent.get(awaited, 0) - position
                pairs[awaited] = min(back, pairs.get(awaited, back))


def handles(
    name: str, arguments: tuple[Argument, ...], count: int, call: int
) -> tuple[int, int] | None:
    """Return an event call's event and CUDA stream; None if the call is none, or is malformed.

    Raises
    ------
    RefusedGroupError
        If a handle changes from iteration to iteration, or is a result or bytes.
    """
    if name not in EVENT_CALLS or len(arguments) < EVENT_CALLS[name]:
        return None
    first, second = (constant_of(argument, 8, count, call) for argument in arguments[:2])
    return (first, second) if name == EVENT_RECORD else (second, first)
