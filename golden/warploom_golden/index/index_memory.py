"""Cycle model of IndexMemory: packed indices, one write and one read a cycle."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts
from warploom_spec.config import Config


@dataclass
class Region:
    """The unwritten part of a region: warps ``next`` to ``end`` - 1 (2)."""

    next: int
    end: int


@dataclass(frozen=True)
class Request:
    """A request in the row register (6).

    Attributes
    ----------
    row : int
        Row of the memory.
    absent : bool
        It has no indices: it never waits, and reads 0.
    """

    row: int
    absent: bool


@dataclass(frozen=True)
class Row:
    """A row that was read: None if its words are unknown (8)."""

    payload: int | None


class IndexMemory:
    """Cycle model of IndexMemory.

    Ports and rules: ``docs/index/index_memory.md``; numbers in brackets are its rules. Warps never
    written are not compared; a reset leaves the memory as it is.

    Parameters
    ----------
    config : Config
        Warps of the memory, warp size, word bits.
    """

    def __init__(self, config: Config):
        self._rows = 1 << config.index_address_bits
        self._accepted = layouts.index_region(config)
        self._write = layouts.packed_warp(config)
        self._read = layouts.index_read(config)
        self._data = layouts.index_data(config)
        self._warps: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        """Forget pending regions and all requests."""
        self._pending: deque[Region] = deque()
        #: Accepted in the cycle before (3).
        self._new: Region | None = None
        self._request: Request | None = None
        self._waits = False
        self._reading: Row | None = None
        self._shown: Row | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        return {
            "write__ready": 1,
            "read__ready": int(self._takes(inputs)),
            "data__payload": None if self._shown is None else self._shown.payload,
            "data__valid": int(self._shown is not None),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        takes, moves = self._takes(inputs), self._moves(inputs)
        written = self._write.unpack(inputs["write__payload"]) if inputs["write__valid"] else None
        if moves:
            self._shown = self._reading
            self._reading = None
            if self._request is not None and not self._waits:
                self._reading = self._fetch(self._request, written)
        if takes:
            self._request = None
            if inputs["read__valid"]:
                self._request = self._by_row(self._read.unpack(inputs["read__payload"]))
        # Judged on the regions as they are in this cycle, for the next one.
        self._waits = self._request is not None and self._is_unwritten(self._request)
        if written is not None:
            self._store(written)
        self._enter(self._accepted.unpack(inputs["accepted"]))

    def _moves(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the pipeline moves (5)."""
        return self._shown is None or bool(inputs["data__ready"])

    def _takes(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether a request may enter the row register (5)."""
        return self._moves(inputs) and (self._request is None or not self._waits)

    def _by_row(self, request: Mapping[str, int]) -> Request:
        row = (request["address"] + request["warp"]) % self._rows
        return Request(row, absent=request["warp"] >= request["index_warps"])

    def _is_unwritten(self, request: Request) -> bool:
        """Tell whether a request is for a row that is not written yet (6)."""
        return not request.absent and any(r.next <= request.row < r.end for r in self._pending)

    def _fetch(self, request: Request, written: Mapping[str, int] | None) -> Row:
        """Read a row (7, 8); one that is written in this very cycle is unknown."""
        if request.absent:
            return Row(0)
        if written is not None and written["address"] == request.row:
            return Row(None)
        return Row(self._warps.get(request.row))

    def _store(self, warp: Mapping[str, int]) -> None:
        """Store a packed warp and shorten the oldest region by one warp (1, 4)."""
        self._warps[warp["address"]] = self._data.pack(
            {"words": warp["words"], "mask": warp["mask"]}
        )
        if self._pending:
            self._pending[0].next += 1
            if warp["last"]:
                self._pending.popleft()

    def _enter(self, accepted: Mapping[str, int]) -> None:
        """Let the region of the cycle before enter the queue, and note this cycle's (3)."""
        if self._new is not None:
            self._pending.append(self._new)
        self._new = None
        if accepted["valid"] and accepted["warps"]:
            self._new = Region(accepted["address"], accepted["address"] + accepted["warps"])
