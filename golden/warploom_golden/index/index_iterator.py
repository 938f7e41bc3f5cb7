"""Cycle model of IndexIterator: a warp of thread indices a cycle."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from warploom_golden.index.lanes import Partial, join, spread
from warploom_golden.oracles.index_reference import Dims, Index, pack, step, widths
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.timing import timing


def first_index(dims: Dims) -> Index:
    """Return the index of thread 1: two comparisons, no division."""
    dx, dy, _ = dims
    x = int(dx > 1)
    y = int(dx == 1 and dy > 1)
    return x, y, int(not x and not y)


def first_warp(dims: Dims, lanes: int) -> tuple[Index, Index]:
    """Return the indices of threads 0 to ``lanes`` - 1, and the index of thread ``lanes``.

    Each level doubles the lanes: idx(n + 2^k) is idx(n) combined with idx(2^k) by `step`.

    Parameters
    ----------
    dims : tuple of int
        Threads of the block in x, y, z.
    lanes : int
        A power of two.
    """
    zero = np.zeros(1, dtype=np.int64)
    known: Index = (zero, zero, zero)
    power = first_index(dims)
    while len(known[0]) < lanes:
        upper = step(known, power, dims)
        x, y, z = (np.concatenate(pair) for pair in zip(known, upper, strict=True))
        known = x, y, z
        power = step(power, power, dims)
    return known, power


@dataclass
class Configuration:
    """A configuration, with the number and the lanes of its next warp."""

    dims: Dims
    address: int
    warps: int
    lanes: Index
    stride: Index
    warp: int = 0
    following: Index = field(init=False)

    def __post_init__(self) -> None:
        """Step to the warp after the first."""
        self.following = step(self.lanes, self.stride, self.dims)

    def advance(self) -> None:
        """Move to the next warp."""
        self.warp += 1
        self.lanes = self.following
        self.following = step(self.lanes, self.stride, self.dims)

    @property
    def at_last(self) -> bool:
        """Whether no warp follows: the next thread's z has reached dz, or all warps are out (6)."""
        return bool(self.following[2][0] >= self.dims[2]) or self.warp + 1 >= self.warps


class IndexIterator:
    """Cycle model of IndexIterator.

    Ports and rules: ``docs/index/index_iterator.md``. Lanes that are no threads are not defined.

    Parameters
    ----------
    config : Config
        Warp size, word bits, widths, and whether the step comes from the host.
    """

    def __init__(self, config: Config):
        self._config = config
        self._timing = timing(config)
        self._input = layouts.index_config(config)
        self._output = layouts.index_lanes(config)
        self.reset()

    def reset(self) -> None:
        """Empty both units and the pipe."""
        self._setup: Configuration | None = None
        self._age = 0
        self._generation: Configuration | None = None
        self._pipe: list[int | None] = [None] * self._timing.iterator_pipe

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle; they depend on registers alone."""
        return {
            "i__ready": int(self._setup is None),
            "o__payload": self._pipe[-1],
            "o__valid": int(self._pipe[-1] is not None),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; generation and pipe move in enabled cycles alone (2 to 5)."""
        enabled = self._pipe[-1] is None or inputs["o__ready"]
        accepts = self._setup is None
        is_set_up = self._age >= self._timing.iterator_setup
        self._age += 1
        if enabled:
            self._pipe = [self._emit(), *self._pipe[:-1]]
            if self._generation is None and is_set_up:
                self._generation, self._setup = self._setup, None
        if accepts and inputs["i__valid"]:
            self._setup = self._read(inputs["i__payload"])
            self._age = 1

    def _read(self, payload: int) -> Configuration:
        fields = self._input.unpack(payload)
        dims = fields["dx"], fields["dy"], fields["dz"]
        lanes, stride = first_warp(dims, self._config.warp_size)
        if self._config.step_from_host:
            stride = fields["step_x"], fields["step_y"], fields["step_z"]
        return Configuration(dims, fields["address"], fields["warps"], lanes, stride)

    def _emit(self) -> int | None:
        """Return the generation unit's next warp; free the unit after its last one (4, 6, 9)."""
        unit = self._generation
        if unit is None:
            return None
        if not unit.warps:
            self._generation = None
            return None
        emitted = self._warp(unit)
        if unit.at_last:
            self._generation = None
        else:
            unit.advance()
        return emitted

    def _warp(self, unit: Configuration) -> Partial:
        config = self._config
        bits = widths(unit.dims)
        mask = join(unit.lanes[2] < unit.dims[2], 1)
        defined = spread(mask, config.word_bits, config.warp_size)
        fields = {
            "address": (unit.address + unit.warp) % (1 << config.index_address_bits),
            "lanes": join(pack(unit.lanes, bits), config.word_bits),
            "mask": mask,
            "first": int(unit.warp == 0),
            "last": int(unit.at_last),
            "width_x": bits[0],
            "width_y": bits[1],
            "width_z": bits[2],
        }
        care = {f.name: (1 << f.bits) - 1 for f in self._output.present} | {"lanes": defined}
        return Partial(self._output.pack(fields), self._output.pack(care))
