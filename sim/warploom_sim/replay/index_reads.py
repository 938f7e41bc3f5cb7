"""The thread indices that a replay's SMs read, against those that division gives."""

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.index_reference import Dims, packed_warps
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay.bench.records import UNASKED, WORD_BITS
from warploom_sim.replay.expected import refusal_codes
from warploom_spec import Config, LaunchDescriptor

#: One block in so many is read.
SHARE: Final = 16
#: Blocks of which some are read for certain: the chance of none is below 10^-28.
_MANY: Final = 1024


class IndexReads:
    """Compares index reads as they come.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        All launches, in order: those that the configuration refuses have no ticket.
    config : Config
        The configuration.

    Attributes
    ----------
    compared : int
        Warps that were read and compared.
    wrong : int
        Warps with another word or mask than division gives, and warps that did not come.
    first : str
        The first wrong one in words; "" if there is none.
    """

    def __init__(self, launches: Sequence[LaunchDescriptor], config: Config):
        codes = refusal_codes(launches, config)
        self._config = config
        # By ticket, which counts from 1.
        self._shapes = [
            launch.block for launch, code in zip(launches, codes, strict=True) if not code
        ]
        self._reference = functools.lru_cache(maxsize=None)(self._packed)
        self.compared, self.wrong, self.first = 0, 0, ""

    def add(self, table: Table) -> None:
        """Take the next reads."""
        self.compared += int((table["wrong"] == 0).sum())
        bad = np.zeros(len(table["cycle"]), bool)
        for ticket in np.unique(table["ticket"]):
            rows = np.flatnonzero(table["ticket"] == ticket)
            bad[rows] = self._unequal(int(ticket), {k: v[rows] for k, v in table.items()})
        self.wrong += int(bad.sum())
        if bad.any() and not self.first:
            self.first = self._said(table, int(bad.argmax()))

    def problems(self, blocks: int) -> list[str]:
        """Return in words what was wrong, or that nothing was read of so many blocks."""
        if self.wrong:
            return [f"{self.wrong:,} wrong index reads; the first: {self.first}"]
        if not self.compared and blocks >= _MANY:
            return [f"not one index read of {blocks:,} blocks was answered"]
        return []

    def _unequal(self, ticket: int, table: Table) -> NDArray[np.bool_]:
        """Tell which reads of a launch are wrong."""
        wrong = table["wrong"] != 0
        if not 1 <= ticket <= len(self._shapes):
            return np.ones_like(wrong)
        words, masks = self._reference(self._shapes[ticket - 1])
        inside = table["warp"] < len(words)
        warps = np.where(inside, table["warp"], 0).astype(int)
        same = (_rows(table["words"]) == words[warps]).all(axis=1)
        same &= (_rows(table["mask"]) == masks[warps]).all(axis=1)
        return np.asarray(wrong | ~inside | ~same)

    def _packed(self, shape: Dims) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the words and the mask of each warp of a block, in words of the event file."""
        config = self._config
        words, mask = packed_warps(shape, config)
        return _pack(words, config.word_bits), _pack(mask.astype(np.uint32), 1)

    def _said(self, table: Table, row: int) -> str:
        ticket, warp = int(table["ticket"][row]), int(table["warp"][row])
        at = f"SM {int(table['sm'][row])}, cycle {int(table['cycle'][row]):,}"
        where = f"ticket {ticket}, warp {warp}, {at}"
        if table["wrong"][row] == UNASKED:
            return f"{at}: data that nobody had asked for"
        if table["wrong"][row]:
            return f"{where}: the block was reported, and this warp had not come"
        if not 1 <= ticket <= len(self._shapes):
            return f"{where}: there is no such ticket"
        shape = self._shapes[ticket - 1]
        words, masks = self._reference(shape)
        if warp >= len(words):
            return f"{where}: a block of {shape} has {len(words)} warps"
        got = _number(_rows(table["words"])[row]), _number(_rows(table["mask"])[row])
        want = _number(words[warp]), _number(masks[warp])
        if got[1] != want[1]:
            return f"{where}: mask {got[1]:x} instead of {want[1]:x}"
        bits = self._config.word_bits
        differing, cut = got[0] ^ want[0], (1 << bits) - 1
        lane = next(k for k in range(self._config.warp_size) if differing >> k * bits & cut)
        return (
            f"{where}, lane {lane}: {got[0] >> lane * bits & cut:x} instead of"
            f" {want[0] >> lane * bits & cut:x} (hexadecimal, a block of {shape})"
        )


def _rows(column: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a column as rows of words, also where a word holds it."""
    return column.reshape(len(column), -1)


def _number(words: NDArray[np.uint64]) -> int:
    return sum(int(word) << WORD_BITS * k for k, word in enumerate(words))


def _pack(values: NDArray[np.uint32], bits: int) -> NDArray[np.uint64]:
    """Pack each row's values of so many bits, the first lowest, into words of 64 bits."""
    count = -(-values.shape[1] * bits // WORD_BITS)
    rows = [sum(int(value) << bits * k for k, value in enumerate(row)) for row in values]
    whole = [[row >> WORD_BITS * k & (1 << WORD_BITS) - 1 for k in range(count)] for row in rows]
    return np.array(whole, np.uint64)
