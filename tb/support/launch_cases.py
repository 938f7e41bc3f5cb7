"""Random launches, such as LaunchCheck lets through and such as it refuses."""

import random
from collections.abc import Iterator
from math import prod

from warploom_spec import RESOURCES, SM_RESOURCES, Config, layouts
from warploom_spec.config import BLOCK_FIELD_BITS, BLOCK_LIMITS, GRID_FIELD_BITS
from warploom_spec.resources import AMOUNT_FIELDS, BLOCK_AMOUNTS

#: The resource that a launch's blocks run out of first.
THEMES = (*RESOURCES, "mixed")
#: What a block takes at least: one warp.
LEAST = dict.fromkeys(RESOURCES[1:], 0) | {"warps": 1}
#: Blocks of a launch that comes to its end by itself in a short run, at most.
FEW_BLOCKS = 64


def random_fields(rng: random.Random, names: Iterator[tuple[str, int]]) -> dict[str, int]:
    """Return a random value for each (name, bits)."""
    return {name: rng.getrandbits(bits) for name, bits in names if bits}


def _most_of_block(config: Config) -> dict[str, int]:
    """Return the most that one block takes of each resource."""
    most = {r.name: r.limit(config) for r in SM_RESOURCES if r.name != "slots"}
    return most | {"warps": min(most["warps"], config.max_warps)}


def _above(limit: int, bits: int) -> int:
    """Return a value above a limit, if a field of so many bits holds one."""
    return min(limit + 1, (1 << bits) - 1)


def random_need(rng: random.Random, config: Config) -> dict[str, int]:
    """Return what one block takes: a lot of one resource and little else, or a bit of all."""
    theme = rng.choice(THEMES)
    sizes = _most_of_block(config)
    need = dict(LEAST)
    for name, size in sizes.items():
        if theme == name:
            need[name] = rng.randint(max(1, size // 4), size)
        elif theme == "mixed":
            need[name] = rng.randint(need[name], max(1, size // 2))
    return need


def random_grid(rng: random.Random, config: Config, huge: bool) -> tuple[list[int], list[int]]:
    """Return a grid and the block to begin with.

    Parameters
    ----------
    rng : random.Random
        For all choices.
    config : Config
        The limits.
    huge : bool
        Whether the grid may have more blocks than ever run.
    """
    limits = config.max_grid
    kind = rng.random()
    if kind < 0.1:
        # The last blocks of a grid that is as large as can be, with a carry into one axis.
        axis = rng.randrange(3)
        grid = [min(2, limit) for limit in limits[:axis]] + [limits[axis]]
        grid += [rng.randint(1, limit) for limit in limits[axis + 1 :]]
        start = [0] * axis + [max(0, limits[axis] - 3)] + [g - 1 for g in grid[axis + 1 :]]
        return grid, start
    if huge and kind < 0.2:
        return [rng.randint(1, limit) for limit in limits], [0, 0, 0]
    if kind < 0.4:
        grid, axis = [1, 1, 1], rng.choice((0, 0, 1, 2))
        grid[axis] = min(limits[axis], rng.randint(1, 40))
        return grid, [0, 0, 0]
    grid = [min(limit, rng.randint(1, 4)) for limit in limits]
    start = [rng.randrange(size) for size in grid] if rng.random() < 0.3 else [0, 0, 0]
    return grid, start


def edge_grid(rng: random.Random, config: Config) -> tuple[list[int], list[int]]:
    """Return a grid and a block of it whose successor on one axis is its end, or all but is.

    The sizes have any number of trailing zeros, so that carries of any length are made; or size and
    successor differ in one bit. The other axes are at their last place.
    """
    axis = rng.randrange(3)
    bits = config.grid_bits[axis]
    grid = [rng.randint(1, limit) for limit in config.max_grid]
    start = [size - 1 for size in grid]
    low, high = _almost_following(rng, bits) if rng.random() < 0.5 else (0, 0)
    if not low < high:
        zeros = rng.randrange(bits)
        high = rng.randint(1, (1 << bits - zeros) - 1) << zeros
        low = max(0, high - rng.randint(1, 3))
    grid[axis], start[axis] = high, low
    return grid, start


def _almost_following(rng: random.Random, bits: int) -> tuple[int, int]:
    """Return a number and its successor but for one bit, carries from there on included."""
    low, wrong = rng.getrandbits(bits) | ((1 << rng.randrange(bits)) - 1), rng.randrange(bits)
    high, carry = 0, 1
    for bit in range(bits):
        own = low >> bit & 1
        new = own ^ carry ^ (bit == wrong)
        high |= new << bit
        carry = own & ~new
    return low, high


#: Shapes that come again and again: of 1 to 4 warps under every preset.
SHAPES = ((8, 1, 1), (4, 4, 1), (3, 3, 3), (32, 1, 1), (5, 2, 3), (1, 1, 17))


def random_shape(rng: random.Random, config: Config) -> tuple[int, int, int]:
    """Return a block that a configuration takes, mostly a common one."""
    limit = min(config.max_threads, config.warp_slots * config.warp_size)
    if rng.random() < 0.8:
        return rng.choice(SHAPES)
    x = rng.randint(1, min(limit, BLOCK_LIMITS[0]))
    y = rng.randint(1, max(1, min(limit // x, 8)))
    return x, y, 1


def legal_launch(
    rng: random.Random,
    config: Config,
    streams: int,
    huge: bool,
    place: tuple[int, tuple[int, int, int]] | None = None,
    need: dict[str, int] | None = None,
) -> dict[str, int]:
    """Return the fields of a ``layouts.launch_descriptor`` that LaunchCheck lets through.

    Parameters
    ----------
    rng : random.Random
        For all choices.
    config : Config
        Limits and widths.
    streams : int
        How many streams there are.
    huge : bool
        See `random_grid`.
    place : (int, (int, int, int)), optional
        The indices' address and the block's shape.
    need : dict, optional
        What one block takes; its warps are the shape's all the same.
    """
    packet = layouts.launch_descriptor(config)
    fields = random_fields(rng, ((f.name, f.bits) for f in packet.fields))
    grid, _ = random_grid(rng, config, huge)
    if prod(grid) > FEW_BLOCKS and not huge:
        grid = [7, 1, 2]
    shape = place[1] if place else random_shape(rng, config)
    for axis, blocks, threads in zip("xyz", grid, shape, strict=True):
        fields |= {f"g{axis}": blocks, f"d{axis}": threads}
    warps = -(-shape[0] * shape[1] * shape[2] // config.warp_size)
    need = need or random_need(rng, config)
    top = config.index_memory_warps - warps if config.makes_indices else 0
    address = place[0] if place else rng.choice((0, 4, 8, top, rng.randint(0, top)))
    fields |= {
        "index_address": address if config.makes_indices else 0,
        "warp_registers": need["registers"] // warps,
        **{resource.name: need[resource.name] for resource in BLOCK_AMOUNTS},
        "stream": rng.randrange(streams),
        "table": 0,
    }
    # One priority a stream, but for a launch now and then.
    regular = fields["stream"] % (1 << config.priority_bits)
    fields["priority"] = regular if rng.random() < 0.95 else fields["priority"]
    return fields


def _limits(config: Config) -> list[tuple[str, int]]:
    """Return what LaunchCheck judges, with its limits."""
    return [
        *((f"g{axis}", limit) for axis, limit in zip("xyz", config.max_grid, strict=True)),
        *((f"d{axis}", limit) for axis, limit in zip("xyz", BLOCK_LIMITS, strict=True)),
        *((f"d{axis}", config.max_threads) for axis in "xyz"),
        ("dx", config.warp_size * config.warp_slots),
        ("index_address", config.index_memory_warps - 1),
        ("warp_registers", config.register_units),
        *((resource.name, resource.limit(config)) for resource in BLOCK_AMOUNTS),
        ("table", 0),
    ]


def sharp_launch(rng: random.Random, config: Config, fields: dict[str, int]) -> dict[str, int]:
    """Return a launch with one to three fields a power of two, or beyond a limit by one.

    So a single bit tells; mostly the others are as small as can be, and nothing else is wrong.
    """
    bits = {field.name: field.bits for field in layouts.launch_descriptor(config).fields}
    result = dict(fields)
    if rng.random() < 0.7:
        result |= {f"{kind}{axis}": 1 for kind in "gd" for axis in "xyz"}
        result |= dict.fromkeys(("index_address", *AMOUNT_FIELDS), 0)
    for name, limit in rng.sample(_limits(config), rng.choice((1, 1, 2, 3))):
        sharp = (1 << rng.randint(0, bits[name])) + rng.choice((0, 0, -1, limit, limit, limit))
        result[name] = min(sharp, (1 << bits[name]) - 1)
    return result | _sharp_together(rng, config, result, bits)


def long_launch(rng: random.Random, config: Config, fields: dict[str, int]) -> dict[str, int]:
    """Return a launch whose blocks lie along one axis, just beyond a power of two.

    One bit of the size less one tells how wide an index along it is.
    """
    small = {f"d{axis}": 1 for axis in "xyz"} | dict.fromkeys(("index_address", *AMOUNT_FIELDS), 0)
    axis = rng.randrange(3)
    most = min(BLOCK_LIMITS[axis], config.max_threads, config.warp_size * config.warp_slots)
    bits = max(1, (most - 1).bit_length())
    return fields | small | {f"d{'xyz'[axis]}": (1 << rng.randrange(bits)) + 1}


def _sharp_together(
    rng: random.Random, config: Config, fields: dict[str, int], bits: dict[str, int]
) -> dict[str, int]:
    """Return fields that tell together: what a product or a sum of them is judged by."""
    kind = rng.random()
    if kind < 0.1:
        # Just beyond powers of two: few threads, whose indices need many bits.
        return {f"d{axis}": (1 << rng.randint(0, 3)) + 1 for axis in "xyz"}
    if kind < 0.2:
        # The last region of the memory, or one that is past its end by a warp.
        warps = -(-fields["dx"] * fields["dy"] * fields["dz"] // config.warp_size)
        last = config.index_memory_warps - warps + rng.choice((0, 1))
        return {"index_address": max(0, min(last, config.index_memory_warps - 1))}
    if kind < 0.5:
        # Powers of two, whose products are one bit: threads, registers, or no dimension of 0.
        names = rng.choice((("dx", "dy", "dz"), ("dx", "warp_registers"), ("gx", "gy", "gz")))
        return {name: 1 << rng.randrange(bits[name]) for name in names}
    return {}


def spoiled_launch(rng: random.Random, config: Config, fields: dict[str, int]) -> dict[str, int]:
    """Return a launch with one to three fields changed so that most of them are refused."""
    axis = rng.choice((0, 1, 2))
    name = "xyz"[axis]
    beyond = min(BLOCK_LIMITS[axis] + 1, (1 << BLOCK_FIELD_BITS[axis]) - 1)
    changes = (
        {f"g{name}": 0},
        {f"g{name}": (1 << GRID_FIELD_BITS[axis]) - 1},
        {f"g{name}": min(config.max_grid[axis] + 1, (1 << GRID_FIELD_BITS[axis]) - 1)},
        {f"d{name}": 0},
        {f"d{name}": beyond},
        {"dx": 1024, "dy": 1024, "dz": 64},
        {"dx": 1024, "dy": 1, "dz": 1},
        {"dx": 33, "dy": 17, "dz": 1},
        # Without an index memory the field has no bits: a host's launch is refused for a 1.
        {"index_address": config.index_memory_warps - 1 if config.makes_indices else 1},
        {"warp_registers": config.register_units},
        *({r.name: _above(r.limit(config), r.field.bits)} for r in BLOCK_AMOUNTS),
        {"table": rng.randrange(1 << config.table_bits)},
    )
    result = dict(fields)
    for change in rng.sample(changes, rng.choice((1, 1, 2, 3))):
        result |= change
    return result
