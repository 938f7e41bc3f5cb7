"""A host that has a launch path make the indices of every shape of block, beside long launches."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from tb.support.dispatch_stimulus import Ports
from tb.support.index_cases import shuffled_shapes
from tb.support.launch_cases import LEAST, legal_launch
from tb.support.path_stimulus import PathHost
from tb.support.sm_behaviour import BehaviourSource, SmBehaviour
from warploom_golden.oracles.index_reference import Dims, warps
from warploom_sim.cosim.lockstep import Context, Pace
from warploom_spec.layouts import PLACES, TICKET_BITS

#: Lowest bit of a ticket that tickets of a run differ in from those that it stops.
STRAY_BIT = 14
#: So many cycles before the end of the first long launch the second one is sent.
LEAD = 500


class SteadyBehaviour(BehaviourSource):
    """Blocks end at once, but for those that are taken while ``lasts`` is not 0.

    A stop comes whenever one is taken.
    """

    lasts = 0

    def next(self) -> SmBehaviour:
        """Move on by a cycle."""
        super().next()
        usual = SmBehaviour(stop=1.0)
        self.now = replace(usual, length=(self.lasts, self.lasts)) if self.lasts else usual
        return self.now


class ShapesHost(PathHost):
    """Launch a block of each shape that there can be, once, in random order, and read its indices.

    Option: ``lasts`` (cycles). One launch in each place lasts so long, the second one until after
    the first. They share a region, and the other launches keep out of it. Every stop names a ticket
    that no launch has: one bit of it differs.
    """

    def __init__(self, context: Context):
        self._lasts: int = context.options["lasts"]
        # Of the launches that are not answered yet, in order: whether they last long.
        self._asked_long: deque[bool] = deque()
        self._long: set[int] = set()
        self._last_ticket = 1
        self._sends = False
        super().__init__(context)
        self._sent = deque(maxlen=12)
        self.behaviours = SteadyBehaviour(context.case.rng("behaviour"), self.profile)
        if self.config.makes_indices:
            always = Pace(context.rng, (1.0,))
            self._parts[1:] = [
                context.driver("read", self._reads(), always),
                context.sink("data", always),
            ]

    def may_launch(self) -> bool:
        """Tell whether a launch is sent: whenever one surely finds an entry."""
        # What stood at `room` in the last cycle holds still if nothing was sent in it.
        room = self.outputs is None or bool(self.outputs["room"])
        self._sends = room and not self._sends and self.launching()
        return self._sends

    def launches(self) -> Iterator[int]:
        """Yield a long launch, blocks of all shapes, and a second long one shortly before its end.

        The regions of one shape and the next do not overlap, so that none waits for the other.
        """
        config = self.config
        half = config.index_memory_warps // 2
        low = False
        second = False
        yield self._one_block((0, (1, 1, 1)), long=True)
        for dims in shuffled_shapes(self.rng, config):
            if not second and self._cycle > self._lasts - LEAD:
                second = True
                yield self._one_block((0, (1, 1, 1)), long=True)
            count = warps(dims, config.warp_size)
            low = not low and count < half
            first, room = (1, half) if low else (half, config.index_memory_warps)
            yield self._one_block((self.rng.randint(first, room - count), dims), long=False)

    def _one_block(self, place: tuple[int, Dims], long: bool) -> int:
        """Return a launch of one block, which takes nothing but warps."""
        fields = legal_launch(self.rng, self.config, self.streams - 1, False, place, LEAST)
        fields |= {"gx": 1, "gy": 1, "gz": 1}
        if long:
            fields["stream"] = self.streams - 1
            fields["after_previous"] = 0
        fields["priority"] = fields["stream"] % (1 << self.config.priority_bits)
        self._asked_long.append(long)
        return self._descriptor.pack(fields)

    def answered(self, ticket: int) -> None:
        """Note what became of the oldest launch that has no answer: its ticket, or 0."""
        super().answered(ticket)
        self._last_ticket = ticket or self._last_ticket
        if self._asked_long.popleft():
            self._long.add(ticket)

    def _tickets(self) -> Iterator[int]:
        """Yield stops of launches that never were; at the end those of the ones that are open."""
        usual = super()._tickets()
        while True:
            if self.draining:
                yield next(usual)
                continue
            ticket = self.rng.choice(sorted(self.open) or [self._last_ticket])
            ticket ^= 1 << self.rng.randrange(STRAY_BIT, TICKET_BITS)
            yield self._stop_packet.pack({"ticket": ticket, "drain": self.rng.randrange(2)})

    def next(self, outputs: Ports | None) -> dict[str, int]:
        """Return the next cycle's inputs; a long launch's block is taken for long."""
        self.behaviours.lasts = self._lasts if self._offers_long(outputs) else 0
        return super().next(outputs)

    def _offers_long(self, outputs: Ports | None) -> bool:
        if outputs is None:
            return False
        tickets = [self._words.unpack(outputs[f"words__{p}"])["ticket"] for p in range(PLACES)]
        return any(
            tickets[self._offer.unpack(outputs[f"offer__{n}__payload"])["place"]] in self._long
            for n in range(self.config.sms)
            if outputs[f"offer__{n}__valid"]
        )
