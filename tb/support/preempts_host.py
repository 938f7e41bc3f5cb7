"""What surrounds a dispatcher with `preempts` in a lockstep run: urgent launches, and skips."""

from collections.abc import Iterator

from tb.support.dispatch_stimulus import DispatcherHost, Ports
from tb.support.sm_behaviour import SmBehaviour
from warploom_sim.cosim.lockstep import Context
from warploom_spec import Stop
from warploom_spec.layouts import BLOCK_NUMBER_BITS
from warploom_spec.queue_packets import STOP_SKIP

NUMBERS = 1 << BLOCK_NUMBER_BITS
#: Cycles after a transfer in which skips of either place are sent now and then.
YOUNG = 14


class PreemptsHost(DispatcherHost):
    """The surroundings of BlockDispatcher with `preempts`.

    Most launches of a stream have one priority; most of the low ones may yield. Their numbers begin
    anywhere, and often wrap soon. Skips come at any time, and more often around the first decision
    of a launch.

    Options: those of `DispatcherHost`.
    """

    def __init__(self, context: Context):
        self._context_rng = context.case.rng("priorities")
        # By ticket: priority, whether the launch may yield, and the number of its first block.
        self._beside: dict[int, tuple[int, int, int]] = {}
        self._age = YOUNG
        self._skips = 0.0
        super().__init__(context)

    def launches(self) -> Iterator[int]:
        """Yield launches, and note what stands beside each."""
        rng = self._context_rng
        highest = (1 << self.config.priority_bits) - 1
        for launch in super().launches():
            fields = self._packet.unpack(launch)
            priority = fields["stream"] * 5 % (highest + 1)
            if rng.random() < 0.3:
                priority = rng.randint(0, highest)
            number = rng.choice(
                (0, NUMBERS - rng.randint(1, 4), rng.getrandbits(BLOCK_NUMBER_BITS))
            )
            self._beside[fields["ticket"]] = priority, int(rng.random() < 0.7), number
            yield launch

    def next(self, outputs: Ports | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        values = super().next(outputs)
        rng = self._context_rng
        names = "launch_priority", "launch_yields", "launch_number"
        beside = tuple(
            rng.getrandbits(bits) for bits in (self.config.priority_bits, 1, BLOCK_NUMBER_BITS)
        )
        if values["launch__valid"]:
            beside = self._beside[self._packet.unpack(values["launch__payload"])["ticket"]]
        return values | dict(zip(names, beside, strict=True))

    def settle(self) -> None:
        """Follow `launch` and `ended`."""
        super().settle()
        self._age = 0 if self.launch.taken is not None else min(self._age + 1, YOUNG)
        if not self._age:
            self._skips = self._context_rng.choice((0.0, 0.0, 0.05, 0.2))

    def stops(self, behaviour: SmBehaviour) -> dict[str, int]:
        """Return stops as without `preempts`, and skips."""
        values = super().stops(behaviour)
        rng = self._context_rng
        if self.draining or self._age >= YOUNG or rng.random() >= self._skips:
            return values
        fields = self._stop_packet.unpack(values["stop"])
        for place in rng.choice(((0,), (1,), (0, 1))):
            fields[f"place{place}"] = STOP_SKIP
        return {"stop": self._stop_packet.pack(fields)}

    def _how(self, behaviour: SmBehaviour) -> int:
        """Return drain, kill or skip; what goes on for ever is killed at last."""
        if self.draining:
            return int(Stop.KILL)
        rng = self._context_rng
        how = int(Stop.DRAIN) if rng.random() < behaviour.drain else int(Stop.KILL)
        return STOP_SKIP if rng.random() < 0.25 else how
