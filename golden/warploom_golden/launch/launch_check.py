"""Cycle model of LaunchCheck: refuses what can be refused for its content."""

from collections.abc import Iterator, Mapping

from warploom_spec import layouts
from warploom_spec.config import BLOCK_LIMITS, Config
from warploom_spec.errors import ErrorCode
from warploom_spec.resources import SM_RESOURCES, block_amounts
from warploom_spec.timing import timing


def refusals(
    launch: Mapping[str, int], tables: int, config: Config
) -> Iterator[tuple[ErrorCode, int]]:
    """Yield everything that is wrong with a launch, in the order of the codes.

    What stands behind a wrong dimension speaks of a block that cannot be: only the first counts.

    Parameters
    ----------
    launch : mapping
        Fields of ``layouts.launch_descriptor``.
    tables : int
        Mask: bit h - 1 is set when mapping table h exists.
    config : Config
        Limits.

    Yields
    ------
    tuple
        Code and its argument.
    """
    grid = [launch[f"g{axis}"] for axis in "xyz"]
    block = [launch[f"d{axis}"] for axis in "xyz"]
    for dims, limits, zero, beyond in (
        (grid, config.max_grid, ErrorCode.GRID_ZERO, ErrorCode.GRID_RANGE),
        (block, BLOCK_LIMITS, ErrorCode.BLOCK_ZERO, ErrorCode.BLOCK_RANGE),
    ):
        yield from ((zero, axis) for axis in range(3) if dims[axis] == 0)
        yield from ((beyond, axis) for axis in range(3) if dims[axis] > limits[axis])
    bits = sum(index_widths(launch))
    warps = block_warps(launch, config)
    too_much = (
        (amount > resource.limit(config), resource.refusal(), 0)
        for resource, amount in zip(SM_RESOURCES, block_amounts(launch, warps, config), strict=True)
        if resource.code
    )
    others = (
        (block[0] * block[1] * block[2] > config.max_threads, ErrorCode.THREADS, 0),
        (config.makes_indices and bits > config.word_bits, ErrorCode.INDEX_BITS, bits),
        (
            config.makes_indices and launch["index_address"] + warps > config.index_memory_warps,
            ErrorCode.INDEX_REGION,
            0,
        ),
        (_table_unknown(launch["table"], tables, config), ErrorCode.TABLE_UNKNOWN, launch["table"]),
    )
    for holds, code, argument in sorted((*others, *too_much), key=lambda error: error[1]):
        if holds:
            yield code, argument


def _table_unknown(handle: int, tables: int, config: Config) -> bool:
    return handle > config.max_tables or bool(handle and not tables >> handle - 1 & 1)


def block_warps(launch: Mapping[str, int], config: Config) -> int:
    """Return the warps of one block, ceil(dx dy dz / W)."""
    return -(-launch["dx"] * launch["dy"] * launch["dz"] // config.warp_size)


def last_mask(threads: int, warp_size: int) -> int:
    """Return the lanes of a block's last warp that are threads: all, if none is left over."""
    return (1 << (threads % warp_size or warp_size)) - 1


def index_widths(launch: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the bits that x, y and z need in a packed index."""
    x, y, z = (max(0, launch[f"d{axis}"] - 1).bit_length() for axis in "xyz")
    return x, y, z


class LaunchCheck:
    """Cycle model of LaunchCheck.

    Ports and rules: ``docs/launch/launch_check.md``.

    Parameters
    ----------
    config : Config
        Limits and widths.
    """

    def __init__(self, config: Config):
        self._config = config
        self._depth = timing(config).launch_check
        self._input = layouts.launch_descriptor(config)
        self._output = layouts.checked_launch(config)
        self.reset()

    def reset(self) -> None:
        """Empty the pipeline."""
        self._pipe: list[int | None] = [None] * self._depth

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        leaving = self._pipe[-1]
        return {
            "i__ready": int(leaving is None or bool(inputs["o__ready"])),
            "o__valid": int(leaving is not None),
            "o__payload": leaving,
            "refused": None if leaving is None else int(self._output.unpack(leaving)["error"] > 0),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; the pipeline moves as a whole or not at all."""
        if self._pipe[-1] is not None and not inputs["o__ready"]:
            return
        entering = None
        if inputs["i__valid"]:
            entering = self.check(inputs["i__payload"], inputs["tables"])
        self._pipe = [entering, *self._pipe[:-1]]

    def check(self, word: int, tables: int) -> int:
        """Return the packed ``checked_launch`` for a packed ``launch_descriptor``."""
        launch = self._input.unpack(word)
        fields = dict.fromkeys((f.name for f in self._output.fields), 0)
        fields |= {name: launch[name] for name in ("stream", "priority")}
        refused = list(refusals(launch, tables, self._config))
        if refused:
            fields["error"], fields["argument"] = refused[0]
        # A block that has too many registers, and is fine otherwise, keeps its fields (5).
        if any(code != ErrorCode.BLOCK_REGISTERS for code, _ in refused):
            return self._output.pack(fields)
        warps = block_warps(launch, self._config)
        threads = launch["dx"] * launch["dy"] * launch["dz"]
        derived = {
            "threads": threads,
            "warps": warps,
            "last_mask": last_mask(threads, self._config.warp_size),
        }
        amounts = block_amounts(launch, warps, self._config)
        for resource, amount in zip(SM_RESOURCES, amounts, strict=True):
            if resource.field:
                derived[resource.name] = amount
        for axis, width in zip("xyz", index_widths(launch), strict=True):
            derived[f"width_{axis}"] = width
        fields |= launch | derived
        masks = {f.name: (1 << f.bits) - 1 for f in self._output.present}
        # All fit, but the registers of a block that is refused for them.
        return self._output.pack({name: fields[name] & mask for name, mask in masks.items()})
