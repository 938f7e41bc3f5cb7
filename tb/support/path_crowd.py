"""A host whose launches crowd in one stream, and whose stops meet them as they move."""

from collections import deque
from collections.abc import Iterator

from tb.support.dispatch_stimulus import Ports
from tb.support.launch_cases import LEAST, legal_launch
from tb.support.path_stimulus import PathHost
from tb.support.sm_behaviour import SmBehaviour
from warploom_sim.cosim.lockstep import Context

#: For so many cycles all launches are of one stream; then of the next one.
TURN = 500
#: The part of the launches that have another priority than their stream's usual one.
UNUSUAL = 0.3
#: The part of the launches that are sought as they enter, and of the moves to a place likewise.
AT_ENTRY, AT_HAND_OVER = 0.08, 0.25
#: From a report to the cycle in which the next launch can be handed over, less one.
REPORT_TO_STOP = 5


class CrowdHost(PathHost):
    """Launches of one small block, all of one stream for a while; the queue is mostly full.

    Some stops transfer in the cycle before their launch is handed over, or go on from before it is
    accepted until it is answered: they are looked at in the cycle in which it moves.
    """

    def __init__(self, context: Context):
        # Tickets in the queue, oldest first; cycles in which one of them may be about to leave.
        self._waiting: list[int] = []
        self._due: deque[int] = deque()
        self._next_ticket: int | None = None
        self._entering = False
        self._target = 0
        super().__init__(context)

    def launches(self) -> Iterator[int]:
        """Yield launches of one block of one warp."""
        while True:
            place = (4 * self.rng.randrange(3), (self.config.warp_size, 1, 1))
            fields = legal_launch(self.rng, self.config, 1, False, place, LEAST)
            stream = self._cycle // TURN % self.streams
            unusual = self.rng.randrange(1, 1 << self.config.priority_bits)
            priority = stream ^ unusual * (self.rng.random() < UNUSUAL)
            fields |= {"gx": 1, "gy": 1, "gz": 1, "stream": stream}
            fields["priority"] = priority % (1 << self.config.priority_bits)
            yield self._descriptor.pack(fields)

    def answered(self, ticket: int) -> None:
        """Note what became of the oldest launch that has no answer: its ticket, or 0."""
        super().answered(ticket)
        if ticket:
            self._waiting.append(ticket)
            self._next_ticket = ticket + 1
            self._entering = self.rng.random() < AT_ENTRY

    def stops(self, behaviour: SmBehaviour) -> dict[str, int]:
        """Return a stop of a launch that enters, or of one that may be handed over."""
        if self.outputs is None:
            self._waiting.clear()
            self._due.clear()
            self._entering = False
        else:
            words = [self._words.unpack(self.outputs[f"words__{p}"])["ticket"] for p in (0, 1)]
            self._waiting = [t for t in self._waiting if t in self.open and t not in words]
        if self.draining:
            return super().stops(behaviour)
        leaves = False
        while self._due and self._due[0] <= self._cycle:
            leaves = self._due.popleft() == self._cycle or leaves
        if leaves and self._waiting:
            self._target = self._waiting[0]
        elif self._entering and self._next_ticket is not None:
            self._target, leaves = self._next_ticket, True
        else:
            leaves = False
        self._stopping.probability = float(leaves)
        return self._stop.next(self.outputs)

    def _tickets(self) -> Iterator[int]:
        """Yield stops of the launch that is meant; at the end those of the ones that are open."""
        usual = super()._tickets()
        while True:
            if self.draining:
                yield next(usual)
            else:
                drain = self.rng.randrange(2)
                yield self._stop_packet.pack({"ticket": self._target, "drain": drain})

    def next(self, outputs: Ports | None) -> dict[str, int]:
        """Return the next cycle's inputs; a report lets a launch be handed over soon."""
        values = super().next(outputs)
        reports = any(values[f"report__{n}__valid"] for n in range(self.config.sms))
        if reports and self.rng.random() < AT_HAND_OVER:
            self._due.append(self._cycle + REPORT_TO_STOP)
        return values
