"""What surrounds a launch path in a lockstep run: the host that launches, stops and reads."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from tb.support.dispatch_configs import config_of
from tb.support.dispatch_stimulus import PATH_DRAIN, Chance, Host, Ports
from tb.support.index_cases import few_places, random_shape, reads_of, widest_shapes
from tb.support.launch_cases import (
    FEW_BLOCKS,
    LEAST,
    legal_launch,
    limit_launches,
    outlasts,
    sharp_launch,
    spoiled_launch,
    tight_needs,
)
from tb.support.sm_behaviour import SmBehaviour
from warploom_golden.oracles.index_reference import Dims, is_legal, warps
from warploom_sim.cosim.lockstep import Context
from warploom_spec import layouts, preset
from warploom_spec.layouts import PLACES, TICKET_BITS


class PathHost(Host):
    """The surroundings of LaunchPath: also index reads, streams to mend, launches to refuse.

    Options: ``varied`` (launches of few blocks, with indices at `few_places`); ``shapes``
    (another shape for each launch, now and then one whose indices have the most bits);
    ``broad`` (blocks of as many threads as there can be, in few shapes: decisions wait for
    indices that are made); ``sharp`` (the part of the launches that have fields just within or
    beyond a limit); ``limits`` (instead, one field of each launch is at or beyond a limit, all
    in turn); ``endless`` (after the first launches, grids of as many columns as there can be,
    which a stop ends); ``slim`` (blocks of one warp, which take nothing else, in grids of 1 to
    this many); ``deep`` (likewise, but the grid goes along any one axis); ``astray`` (the part
    of the stops whose ticket differs in one bit); ``rude`` (the chance of a launch in a cycle
    without room).
    """

    drain = PATH_DRAIN

    def __init__(self, context: Context):
        self._descriptor = layouts.launch_descriptor(config_of(context.params["config"]))
        self._varied: bool = context.options.get("varied", False)
        self._sharp: float = context.options.get("sharp", 0.0)
        self._shapes: bool = context.options.get("shapes", False)
        self._endless: bool = context.options.get("endless", False)
        self._deep: int = context.options.get("deep", 0)
        self._slim: int = context.options.get("slim", 0) or self._deep
        self._limits: bool = context.options.get("limits", False)
        self._broad: bool = context.options.get("broad", False)
        # The payload of cycles without a launch: None, or that of a launch.
        self._idle: int | None = None
        # Regions of launches that were sent last: address and warps.
        self._sent: deque[tuple[int, int]] = deque(maxlen=3)
        self._rude: float = context.options.get("rude", 0.02)
        super().__init__(context)
        self._answer = layouts.launch_answer(self.config)
        self._ends = layouts.end_record(self.config)
        self._stop_packet = layouts.launch_stop(self.config)
        self._words = layouts.launch_words(self.config)
        self._offer = layouts.block_offer(self.config)
        self._astray: float = context.options.get("astray", 0.0)
        self._recent: deque[int] = deque(maxlen=8)
        self._last_stops: deque[int] = deque()
        self._stopped: set[int] = set()
        self._burst: list[int] = []
        self._stopping = Chance(self.rng, 0.0)
        self._stop = context.driver("stop", self._tickets(), self._stopping)
        self._parts = [context.driver("clear_stream", pace=self.other)]
        if self.config.makes_indices:
            self._parts += [
                context.driver("read", self._reads()),
                context.sink("data", self.taking),
            ]
        self._tables = 0

    def may_launch(self) -> bool:
        """Tell whether a launch is sent in this cycle: mostly while there is room."""
        wants = super().may_launch()
        # A stimulus sees the outputs of the cycle before: two launches may meet the last place.
        room = self.outputs is None or bool(self.outputs["room"])
        rude = self.rng.random() < self._rude
        return wants and (room or rude)

    def launches(self) -> Iterator[int]:
        """Yield launches, one in eight spoiled."""
        huge = self.profile != "no_stops"
        limits = limit_launches(self.rng, self.config)
        for place, need in self._wishes():
            fields = legal_launch(self.rng, self.config, self.streams, huge, place, need)
            if self._endless:
                fields |= {"gx": self.config.max_grid[0] if self._recent else 1, "gy": 1, "gz": 1}
            if self._varied:
                fields |= {f"g{axis}": self.rng.choice((1, 1, 2)) for axis in "xyz"}
            if self._slim:
                fields |= {"gx": self.rng.randint(1, self._slim), "gy": 1, "gz": 1}
            if self._deep:
                fields |= self._along_an_axis()
            changed = self._changed(fields)
            if self._limits:
                fields |= {"gx": 1, "gy": 1, "gz": 1}
                changed = fields | next(limits)
            # A run without stops never stops an endless launch; a varied one does so late.
            if (huge and not (self._varied or self._limits)) or not outlasts(self.config, changed):
                fields = changed
            launch = self._descriptor.pack(fields)
            self._idle = launch if self.rng.random() < 0.5 else None
            yield launch

    def blocks(self, launch: int) -> int:
        """Return how many blocks there are, or will be if the launch is not refused."""
        fields = self._descriptor.unpack(launch)
        return min(FEW_BLOCKS, prod(fields[f"g{axis}"] for axis in "xyz"))

    def _along_an_axis(self) -> dict[str, int]:
        """Return a grid of one axis."""
        axis = self.rng.randrange(3)
        most = min(self._deep, self.config.max_grid[axis])
        return {"gx": 1, "gy": 1, "gz": 1, f"g{'xyz'[axis]}": self.rng.randint(1, most)}

    def _changed(self, fields: dict[str, int]) -> dict[str, int]:
        """Return a launch as it is, or spoiled, or with fields at or beyond their limits."""
        kind = self.rng.random()
        if kind < 0.125:
            return spoiled_launch(self.rng, self.config, fields)
        if kind < 0.125 + self._sharp:
            return sharp_launch(self.rng, self.config, fields)
        return fields

    def _wishes(self) -> Iterator[tuple[tuple[int, Dims] | None, dict[str, int] | None]]:
        """Yield where a launch's indices are to be, and what its blocks take; None: as it comes."""
        config = self.config
        if self.tight:
            for need in tight_needs(self.rng, config):
                dims = (need["warps"] * config.warp_size, 1, 1)
                yield (4 * self.rng.randrange(3), dims), need
        most = min(config.max_threads, config.warp_slots * config.warp_size)
        # Without an index memory addresses have no bits: any are as good as others.
        memory = config.index_memory_warps or preset("tiny").index_memory_warps
        fitting = replace(config, max_threads=most, index_memory_warps=memory)
        while self._slim:
            yield (4 * self.rng.randrange(3), (config.warp_size, 1, 1)), LEAST
        while self._broad:
            dims = self.rng.choice(((most, 1, 1), (most // 2, 2, 1)))
            yield (self.rng.choice((0, config.index_memory_warps // 2)), dims), LEAST
        while self._shapes:
            dims = random_shape(self.rng, fitting)
            if self.rng.random() < 0.1:
                dims = self.rng.choice(widest_shapes(fitting))
            yield (4 * self.rng.randrange(3), dims), None
        if self._varied:
            for place in few_places(self.rng, fitting):
                yield place, None
        while True:
            yield None, None

    def _reads(self) -> Iterator[int]:
        """Yield reads, mostly of what was launched."""
        asked = reads_of(self.rng, self.config, self._sent)
        bits = layouts.index_read(self.config).bits
        while True:
            yield next(asked) if self.rng.random() < 0.8 else self.rng.getrandbits(bits)

    def settle(self) -> None:
        """Follow `answer` and `ended`; guess the next ticket now and then."""
        if self.launch.taken is not None:
            self._note(self._descriptor.unpack(self.launch.taken))
        answer = self._answer.unpack(self.outputs["answer"] if self.outputs else 0)
        if answer["valid"]:
            self.answered(answer["ticket"])
        if answer["valid"] and answer["ticket"]:
            self._recent.extend((answer["ticket"], (answer["ticket"] + 1) % (1 << TICKET_BITS)))
        if self.ended.taken is not None:
            self.over(self._ends.unpack(self.ended.taken)["ticket"])

    def stops(self, behaviour: SmBehaviour) -> dict[str, int]:
        """Return a stop now and then; what goes on for ever ends at last."""
        if self.outputs is None:
            for known in (self._recent, self._last_stops, self._stopped, self._burst):
                known.clear()
        self._stopping.probability = 1.0 if self._burst else behaviour.stop
        if self.draining:
            if self.profile != "no_stops":
                self._last_stops.extend(sorted(self.open - self._stopped))
                self._stopped |= self.open
            self._stopping.probability = float(bool(self._last_stops))
        return self._stop.next(self.outputs)

    def _tickets(self) -> Iterator[int]:
        """Yield stops of launches that are or were there, now and then of one that never was."""
        while True:
            ticket = self.rng.getrandbits(32)
            behaviour = self.behaviours.now
            drain = int(self.rng.random() < behaviour.drain)
            if self._last_stops:
                ticket, drain = self._last_stops.popleft(), 0
            elif self._burst:
                ticket = self._burst.pop()
            elif self._astray and self._recent and self.rng.random() < self._astray:
                ticket = self.rng.choice(self._recent) ^ 1 << self.rng.randrange(32)
            elif behaviour.resident and self.rng.random() < behaviour.resident:
                ticket = self._resident(behaviour.pair)
            elif self._recent and self.rng.random() < 0.95:
                ticket = self.rng.choice(self._recent)
                if behaviour.burst and self.rng.random() < behaviour.burst:
                    self._burst = sorted(self.open - {ticket})
            yield self._stop_packet.pack({"ticket": ticket, "drain": drain})

    def _resident(self, pair: float) -> int:
        """Return the ticket of a launch in a place; perhaps let the other one's follow.

        Mostly of one with a block that an SM has not taken yet.
        """
        outputs = self.outputs
        if outputs is None:
            return 0
        standing = [
            self._offer.unpack(outputs[f"offer__{n}__payload"])["place"]
            for n in range(self.config.sms)
            if outputs[f"offer__{n}__valid"]
        ]
        tickets = [self._words.unpack(outputs[f"words__{p}"])["ticket"] for p in range(PLACES)]
        place = self.rng.choice(standing or range(PLACES))
        if self.rng.random() < pair:
            self._burst = [tickets[1 - place]]
        return tickets[place]

    def _note(self, launch: Mapping[str, int]) -> None:
        """Note the region of a launch that is likely to be accepted."""
        dims = (launch["dx"], launch["dy"], launch["dz"])
        if is_legal(dims, self.config):
            count = warps(dims, self.config.warp_size)
            self._sent.appendleft((launch["index_address"], count))

    def next(self, outputs: Ports | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        values: dict[str, int] = {}
        for part in self._parts:
            values |= part.next(outputs)
        if self.rng.random() < 0.01:
            self._tables = self.rng.getrandbits(self.config.max_tables)
        values |= super().next(outputs) | {"tables": self._tables}
        if not values["launch__valid"] and self._idle is not None:
            values["launch__payload"] = self._idle
        return values
