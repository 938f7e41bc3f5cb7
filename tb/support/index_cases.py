"""Configurations, shapes and stimulus of the index blocks' test benches."""

import itertools
import random
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tb.support.record import Levels, Sender
from warploom_golden.oracles.index_reference import Dims, indices, is_legal, shapes, warps
from warploom_sim.cosim.lockstep import Context, RandomStimulus
from warploom_spec import PRESETS, Config, layouts, timing
from warploom_spec.config import BLOCK_LIMITS

#: Few entries, whose counts are soon at their highest.
THREE: Final = {"history_entries": 3, "reference_bits": 2, "stream_bits": 1, "cores": 3}
#: Presets, and configurations that are odd in one respect each.
CONFIGS: Final[dict[str, Config]] = {
    "tiny": PRESETS["tiny"],
    "default": PRESETS["default"],
    "one_entry": replace(PRESETS["tiny"], history_entries=1, reference_bits=2, stream_bits=1),
    "three_entries": replace(PRESETS["tiny"], **THREE),
    # As many bits in a word as an index of a legal block has at most: each is both 0 and 1.
    "narrow": replace(PRESETS["tiny"], **THREE, word_bits=10),
    "warp_2": replace(PRESETS["tiny"], warp_size=2, index_memory_warps=256),
    "warp_4": replace(PRESETS["tiny"], warp_size=4, index_memory_warps=128),
    "warp_16": replace(PRESETS["tiny"], warp_size=16, cores=1),
    "warp_64": replace(PRESETS["default"], warp_size=64, history_entries=4, cores=16),
    "host_step": replace(PRESETS["tiny"], step_from_host=True),
    "many_threads": replace(
        PRESETS["default"], max_threads=65536, word_bits=18, index_memory_warps=4096
    ),
}

#: Shapes with something special about them; a configuration takes those that are legal in it.
SPECIAL: Final[tuple[Dims, ...]] = (
    (1, 1, 1),
    (2, 1, 1),
    (1, 2, 1),
    (1, 1, 2),
    (1, 1, 64),
    (1, 64, 1),
    (64, 1, 1),
    (1, 7, 1),
    (7, 1, 1),
    (8, 1, 1),
    (9, 1, 1),
    (33, 1, 1),
    (32, 1, 1),
    (128, 1, 1),
    (256, 1, 1),
    (3, 5, 7),
    (5, 7, 3),
    (7, 3, 5),
    (10, 10, 10),
    (5, 7, 9),
    (4, 4, 4),
    (100, 2, 2),
    (1024, 1, 1),
    (1, 1024, 1),
    (16, 16, 4),
    (33, 31, 1),
    (31, 33, 1),
    (2, 2, 64),
    (1, 3, 60),
    (17, 33, 33),
    (33, 33, 33),
    (1024, 64, 1),
    (1, 1024, 64),
    (32, 64, 1),
    (15, 17, 1),
    # 256 threads at most, and as many bits as those can have.
    (3, 5, 17),
    (5, 3, 17),
    (3, 17, 5),
    (5, 17, 3),
    (17, 3, 5),
    (17, 5, 3),
    (9, 3, 9),
    (3, 9, 9),
    (9, 9, 3),
    (5, 5, 10),
    (5, 10, 5),
    (10, 5, 5),
    (2, 3, 33),
    (33, 3, 2),
)


def special_shapes(config: Config) -> list[Dims]:
    """Return the special shapes that are legal in a configuration."""
    return [dims for dims in SPECIAL if is_legal(dims, config)]


def _size(rng: random.Random, most: int) -> int:
    """Return 1 to ``most``, each number of bits as likely as another half of the time."""
    if rng.random() < 0.5:
        return rng.randint(1, most)
    return min(most, rng.randint(1, 1 << rng.randint(0, most.bit_length())))


def _next_to_a_power(rng: random.Random, config: Config) -> Dims:
    """Return a legal shape with a dimension of two to some power, or one or two more."""
    while True:
        bits = rng.randrange(config.max_threads.bit_length())
        sizes = [(1 << bits) + rng.randint(0, 2), rng.randint(1, 8), 1]
        x, y, z = rng.sample(sizes, 3)
        if is_legal((x, y, z), config):
            return x, y, z


def random_shape(rng: random.Random, config: Config, threads: int | None = None) -> Dims:
    """Return a legal shape, special or random, of at most ``threads`` threads."""
    most = config.max_threads if threads is None else threads
    while True:
        if rng.random() < 0.4:
            dims = rng.choice(SPECIAL)
        else:
            dx = _size(rng, min(1024, most))
            dy = _size(rng, min(1024, most // dx))
            dz = _size(rng, min(64, most // (dx * dy)))
            x, y, z = rng.sample((dx, dy, dz), 3)
            dims = x, y, z
        if is_legal(dims, config) and dims[0] * dims[1] * dims[2] <= most:
            return dims


def shuffled_shapes(rng: random.Random, config: Config) -> list[Dims]:
    """Return every legal shape, in random order."""
    legal = [dims for dims in shapes(config.max_threads) if is_legal(dims, config)]
    return rng.sample(legal, len(legal))


def large_shape(rng: random.Random, config: Config) -> Dims:
    """Return a legal shape of half the most threads or more, with one dimension near its most."""
    while True:
        sizes = [1, 1, 1]
        axis, other = rng.sample(range(3), 2)
        most = min(BLOCK_LIMITS[axis], config.max_threads)
        sizes[axis] = rng.choice((most, rng.randint(most // 2 + 1, most)))
        sizes[other] = min(BLOCK_LIMITS[other], config.max_threads // sizes[axis])
        x, y, z = sizes
        if is_legal((x, y, z), config):
            return x, y, z


def twin_shape(rng: random.Random, config: Config, dims: Dims) -> Dims:
    """Return a legal shape of as many warps that differs in one bit, or ``dims`` if none comes."""
    for _ in range(8):
        x, y, z = (size ^ 1 << rng.randrange(size.bit_length()) for size in dims)
        twin = rng.choice(((x, dims[1], dims[2]), (dims[0], y, dims[2]), (*dims[:2], z)))
        if is_legal(twin, config) and warps(twin, config.warp_size) == warps(
            dims, config.warp_size
        ):
            return twin
    return dims


def index_config(config: Config, address: int, dims: Dims, count: int | None = None) -> int:
    """Return an index configuration's word; ``count`` warps instead of those of the shape."""
    fields = {
        "address": address,
        "dx": dims[0],
        "dy": dims[1],
        "dz": dims[2],
        "warps": warps(dims, config.warp_size) if count is None else count,
    }
    if config.step_from_host:
        fields |= dict(
            zip(("step_x", "step_y", "step_z"), indices(config.warp_size, dims), strict=True)
        )
    return layouts.index_config(config).pack(fields)


def built(block: Any, model: Any, config: str, **params: Any) -> tuple[Any, Any]:
    """Return component and model."""
    return block(CONFIGS[config], **params), model(CONFIGS[config], **params)


def config_of(context: Context) -> Config:
    """Return the configuration of a case."""
    return CONFIGS[context.params["config"]]


def any_configurations(context: Context) -> Iterator[int]:
    """Yield legal shapes with any address, now and then with another count of warps."""
    config, rng = config_of(context), context.rng
    while True:
        dims = random_shape(rng, config, rng.choice((64, 256, config.max_threads)))
        if rng.random() < 0.2:
            dims = _next_to_a_power(rng, config)
        count = warps(dims, config.warp_size)
        if rng.random() < 0.2:
            count = rng.randint(0, config.max_warps)
        address = rng.randrange(config.index_memory_warps)
        yield index_config(config, address, dims, count)


def few_configurations(context: Context) -> Iterator[int]:
    """Yield index configurations at `few_places`."""
    config = config_of(context)
    for address, dims in few_places(context.rng, config):
        yield index_config(config, address, dims)


def few_places(rng: random.Random, config: Config) -> Iterator[tuple[int, Dims]]:
    """Yield few shapes at few addresses, so that hits, waits, drops and evictions are common.

    A place, which is an address and a shape, may come up to three times in a row.

    Every 15 places the choice changes: addresses of their own, one shared by all, or
    regions that overlap in part, now and then at the memory's end, or two that differ in one bit,
    or one shape as large as may be and small ones beside and in its region.
    """
    size = config.index_memory_warps
    while True:
        most = config.max_threads
        if rng.random() < 0.9:
            most = min(most, 12 * config.warp_size)
        shapes = [random_shape(rng, config, most) for _ in range(rng.randint(1, 4))]
        room = size - max(warps(dims, config.warp_size) for dims in shapes)
        kind = rng.choice(("own", "shared", "near", "twins", "large"))
        start = room if rng.random() < 0.2 else rng.randint(0, room)
        twin = start ^ 1 << rng.randrange(config.index_address_bits)
        addresses = {
            "own": [place * 12 % (room + 1) for place in range(config.history_entries + 2)],
            "shared": [start],
            "near": [min(start + offset, room) for offset in range(4)],
            "twins": [start, min(twin, room)],
            "large": [],
        }[kind]
        if kind == "twins":
            shapes = [shapes[0], twin_shape(rng, config, shapes[0])]
        places = [(address, dims) for address in addresses for dims in shapes]
        if kind == "large":
            places = _large_and_small(rng, config)
        for _ in range(15):
            place = rng.choice(places)
            yield from [place] * rng.choice((1, 1, 2, 3))


def _large_and_small(rng: random.Random, config: Config) -> list[tuple[int, Dims]]:
    """Return a large shape at the memory's begin or end, and small ones beside it and inside."""
    size = config.index_memory_warps
    large = large_shape(rng, config)
    count = warps(large, config.warp_size)
    start = rng.choice((0, size - count))
    inside = range(start, start + count)
    beside = range(count, size) if start == 0 else range(start)
    places = [(start, large)] * 2
    for addresses in (beside, beside, beside, inside):
        places.append((rng.choice(addresses), random_shape(rng, config, config.warp_size)))
    return places


def longest_configurations(context: Context) -> Iterator[int]:
    """Yield shapes of the most threads along one axis, each a few times in a row.

    So every entry is hit by configurations whose sizes have their highest bit.
    """
    rng, config = context.rng, config_of(context)
    while True:
        axis = rng.randrange(3)
        x, y, z = (
            min(config.max_threads, limit) if k == axis else 1
            for k, limit in enumerate(BLOCK_LIMITS)
        )
        room = config.index_memory_warps - warps((x, y, z), config.warp_size)
        word = index_config(config, rng.choice((0, room)), (x, y, z))
        yield from [word] * rng.randint(1, 3)


def reads_of(rng: random.Random, config: Config, sent: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield reads of a region's warps, now and then beyond them.

    Parameters
    ----------
    rng : random.Random
        For all choices.
    config : Config
        Widths.
    sent : sequence of (int, int)
        Regions to choose from, which may change meanwhile: address and warps.
    """
    while True:
        if not sent:
            yield 0
            continue
        address, count = rng.choice(sent)
        warp = rng.randrange(count) if rng.random() < 0.9 else 0
        yield layouts.index_read(config).pack(
            {
                "address": address,
                "warp": warp,
                "index_warps": rng.choice((count, count, warp)),
            }
        )


def rarely(context: Context) -> Iterator[int]:
    """Yield 1 in one cycle of 20, or never, in turns of 300 cycles."""
    while True:
        for rate in (0.05, 0.0):
            for _ in range(300):
                yield int(context.rng.random() < rate)


def never(context: Context) -> Iterator[int]:
    """Yield 0 in every cycle."""
    del context
    return itertools.repeat(0)


class TimelyReleases(RandomStimulus):
    """Random, with releases in the cycle in which a configuration may first be accepted.

    Mostly of the entry decided on last, which the same word hits again.
    """

    def __init__(self, context: Context):
        super().__init__(context)
        self._config, self._rng = config_of(context), context.rng
        delay = timing(self._config).filter_lookup
        self._loaded = deque([False] * delay, maxlen=delay)
        self._entry = 0

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        inputs = super().next(outputs)
        decided = self.streams["decision"].taken
        if decided is not None:
            self._entry = layouts.index_decision(self._config).unpack(decided)["entry"]
        self._loaded.append(self.streams["i"].taken is not None)
        if self._loaded[0] and self._rng.random() < 0.4:
            inputs["release__valid"] = 1
            inputs["release__payload"] = self._entry
        return inputs


class OneAtATime(Sender):
    """Launch one configuration after the other, and release each when it is done.

    Parameters
    ----------
    config : Config
        Of the block.
    words : sequence of int
        Index configurations.
    levels : callable
        All inputs but the streams ``i`` and ``release``; decisions and answers must be taken.
    resident : collection of int
        Launches, by number, that are not released; the next one follows at once.
    """

    def __init__(
        self, config: Config, words: Sequence[int], levels: Levels, resident: Collection[int] = ()
    ):
        super().__init__({"i": words[:1], "release": ()}, levels)
        self._decision = layouts.index_decision(config)
        self._words = list(words)
        self._resident = resident
        self._done = 0

    def see(self, outputs: Mapping[str, int | None]) -> None:
        """Release what is done and launch the next."""
        super().see(outputs)
        if outputs["done__valid"] and self.inputs["done__ready"]:
            if self._done not in self._resident:
                answer = self._decision.unpack(outputs["done__payload"] or 0)
                self.waiting["release"].append(answer["entry"])
            self._done += 1
            self.waiting["i"].extend(self._words[self._done : self._done + 1])
