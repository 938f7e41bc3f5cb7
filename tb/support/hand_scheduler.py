"""List scheduling by hand: when the last block of some launches ends, if nothing takes a cycle.

Written from ``docs/replay/gains.md`` and ``docs/replay/contention.md``, beside the event model. It
knows blocks, SMs and launches alone: no pipeline, no port. Where blocks are long, the event model's
run takes hardly longer. `HandSchedule` has launches in one line, `HandStreams` a queue and a
resident for each stream, by ``docs/launch/kernel_queue.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, prod

from tb.support.replay_reference import block_length
from warploom_spec import Config, LaunchDescriptor, capacities


@dataclass(eq=False)
class HandLaunch:
    """A launch: what a block takes, the lengths of those not placed, those that run."""

    stream: int
    waits: bool
    need: list[int]
    lengths: list[float]
    recorded: int
    arrival: int
    since: float = 0.0
    #: With a queue for each stream: its event waits; what became of it.
    pairs: Sequence[tuple[int, int]] = ()
    started: bool = False
    ended: bool = False


@dataclass(eq=False)
class HandBlock:
    """A block that runs or, under in-order reclaim, keeps what it took."""

    launch: HandLaunch
    sm: int
    left: float
    over: bool = False


@dataclass(eq=False)
class HandSm:
    """What an SM has free, and the warps that run."""

    free: list[int]
    load: int = 0


@dataclass
class HandSchedule:
    """One run; `run` returns the time of the last end.

    Attributes
    ----------
    launches, config, seed, knee, arrivals
        As in the event model; the placement policy is ``round_robin``.
    sizes : dict of str to int
        What an SM has more, by resource.
    places, ordered, at_once
        The bounds.
    """

    launches: Sequence[LaunchDescriptor]
    config: Config
    seed: int
    knee: int | None = None
    arrivals: Sequence[int] | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    places: float = 2
    ordered: bool = True
    at_once: bool = False

    def __post_init__(self) -> None:
        sizes = {**capacities(self.config), **self.sizes}
        self.sms = [HandSm(list(sizes.values())) for _ in range(self.config.sms)]
        arrivals = self.arrivals or [0] * len(self.launches)
        self.queue = [self._launch(*pair) for pair in zip(self.launches, arrivals, strict=True)]
        self.resident: list[HandLaunch] = []
        self.head: HandLaunch | None = None
        self.held: list[HandBlock] = []
        self.pointer = 0
        self.now = 0.0

    def _launch(self, launch: LaunchDescriptor, arrival: int) -> HandLaunch:
        warps = -(-prod(launch.block) // self.config.warp_size)
        gx, gy, gz = launch.grid
        places = [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]
        lengths = [
            float(block_length(self.seed, launch.code, launch.arguments, place)) for place in places
        ]
        need = [1, warps, warps * launch.warp_registers, launch.shared, launch.barriers]
        stream, waits = launch.stream, self.ordered
        return HandLaunch(stream, waits, need, lengths, launch.address_space, arrival)

    def rate(self, warps: int) -> float:
        """Return how far a block comes in a cycle beside so many warps."""
        return 1 if self.knee is None or warps <= self.knee else self.knee / warps

    def run(self) -> float:
        """Return when the last block ends."""
        while True:
            while self._step():
                pass
            running = [block for block in self.held if not block.over]
            ends = [block.left / self.rate(self.sms[block.sm].load) for block in running]
            arrival = self.queue[0].arrival - self.now if self.queue else inf
            passed = min([*ends, arrival if arrival > 0 else inf])
            if passed == inf:
                assert not self.queue and not self.resident
                return self.now
            self._pass(running, passed)

    def _pass(self, running: Sequence[HandBlock], passed: float) -> None:
        """Let time pass, up to the next end or arrival."""
        self.now += passed
        rates = [self.rate(self.sms[block.sm].load) for block in running]
        for block, rate in zip(running, rates, strict=True):
            block.left -= passed * rate
            if block.left <= 1e-6:
                block.over = True
                self.sms[block.sm].load -= block.launch.need[1]

    def _step(self) -> bool:
        """Do one thing that takes no time; return whether there was one."""
        return self._reclaim() or self._leave() or self._enter() or self._walk() or self._place()

    def _reclaim(self) -> bool:
        in_order = self.config.reclaim == "in_order" and not self.at_once
        for block in self.held:
            if block.over:
                self.held.remove(block)
                self._charge(block, -1)
                return True
            if in_order:
                return False
        return False

    def _charge(self, block: HandBlock, sign: int) -> None:
        sm = self.sms[block.sm]
        sm.free = [f - sign * n for f, n in zip(sm.free, block.launch.need, strict=True)]

    def _leave(self) -> bool:
        # A launch ends with its last block, whenever what that took comes back.
        held = [block.launch for block in self.held if not block.over]
        over = [one for one in self.resident if not one.lengths and one not in held]
        self.resident = [one for one in self.resident if one not in over]
        for one in over:
            one.ended = True
        return bool(over)

    def _enter(self) -> bool:
        enters = self.queue and self.queue[0].arrival <= self.now
        if not enters or len(self.resident) >= self.places:
            return False
        self._take_place(self.queue.pop(0))
        return True

    def _take_place(self, launch: HandLaunch) -> None:
        launch.since = self.now
        self.resident.append(launch)

    def _walk(self) -> bool:
        """Make the oldest launch the head that has blocks left and is not held back by order."""
        if self.head and self.head.lengths:
            return False
        self.head = None
        for number, launch in enumerate(self.resident):
            ahead = [one for one in self.resident[:number] if one.stream == launch.stream]
            if launch.lengths and not (launch.waits and ahead):
                self.head = launch
                return True
        return False

    def _place(self) -> bool:
        if not self.head:
            return False
        order = [*range(self.pointer, len(self.sms)), *range(self.pointer)]
        fits = [number for number in order if self._fits(self.head, self.sms[number])]
        if not fits:
            return False
        number = fits[0]
        self.pointer = (number + 1) % len(self.sms)
        block = HandBlock(
            self.head, number, self.head.lengths.pop(0) * self.rate(self.head.recorded)
        )
        self.head.started = True
        self.held.append(block)
        self._charge(block, 1)
        self.sms[number].load += self.head.need[1]
        return True

    def _fits(self, launch: HandLaunch, sm: HandSm) -> bool:
        return all(free >= one for free, one in zip(sm.free, launch.need, strict=True))


@dataclass
class HandStreams(HandSchedule):
    """A run with a queue and a resident for each stream, all of one priority.

    Attributes
    ----------
    waits : sequence of sequence of (int, int)
        By launch: pairs (stream, how many of its first launches have ended).
    """

    waits: Sequence[Sequence[tuple[int, int]]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sent: list[HandLaunch] = []
        self.last = -1
        for launch, pairs in zip(self.queue, self.waits, strict=False):
            launch.pairs = pairs

    def _enter(self) -> bool:
        return self._send() or self._start()

    def _send(self) -> bool:
        left = sum(not one.ended for one in self.sent)
        if not self.queue or self.queue[0].arrival > self.now or left == self.config.queue_depth:
            return False
        self.sent.append(self.queue.pop(0))
        return True

    def _start(self) -> bool:
        """Let the next ready head become resident."""
        heads: dict[int, HandLaunch] = {}
        for number, launch in enumerate(self.sent):
            if not launch.ended:
                heads.setdefault(launch.stream if self.ordered else -1 - number, launch)
        ready = [
            one
            for one in heads.values()
            if one not in self.resident and all(self._reached(*pair) for pair in one.pairs)
        ]
        if not ready:
            return False
        chosen = min(ready, key=lambda one: (one.stream <= self.last, one.stream))
        self.last = chosen.stream
        self._take_place(chosen)
        return True

    def _reached(self, stream: int, count: int) -> bool:
        return all(one.ended for one in [one for one in self.sent if one.stream == stream][:count])
