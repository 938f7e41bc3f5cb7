"""Cycle model of IndexMemory: packed indices, one write and one read a cycle."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.timing import timing


@dataclass
class Region:
    """The unwritten part of a region: warps ``next`` to ``end`` - 1 (2)."""

    next: int
    end: int


class IndexMemory:
    """Cycle model of IndexMemory.

    Ports and rules: ``docs/index/index_memory.md``; numbers in brackets are its rules. A read of
    the warp that is written in the same cycle gets the new data. Warps never written are not
    compared; a reset leaves the memory as it is.

    Parameters
    ----------
    config : Config
        Warps of the memory, warp size, word bits.
    """

    def __init__(self, config: Config):
        assert timing(config).index_read == 1, "this model answers in the next cycle"
        self._config = config
        self._accepted = layouts.index_region(config)
        self._write = layouts.packed_warp(config)
        self._read = layouts.index_read(config)
        self._data = layouts.index_data(config)
        self._warps: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        """Forget pending regions and the data register."""
        self._pending: deque[Region] = deque()
        self._valid = False
        self._payload: int | None = None

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        return {
            "write__ready": 1,
            "read__ready": int(self._read_ready(inputs)),
            "data__payload": self._payload if self._valid else None,
            "data__valid": int(self._valid),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        granted = inputs["read__valid"] and self._read_ready(inputs)
        if inputs["write__valid"]:
            self._store(self._write.unpack(inputs["write__payload"]))
        region = self._accepted.unpack(inputs["accepted"])
        if region["valid"] and region["warps"]:
            self._pending.append(Region(region["address"], region["address"] + region["warps"]))
        if inputs["data__ready"]:
            self._valid = False
        if granted:
            self._valid = True
            self._payload = self._fetch(self._read.unpack(inputs["read__payload"]))

    def _read_ready(self, inputs: Mapping[str, int]) -> bool:
        room = not self._valid or bool(inputs["data__ready"])
        return room and not self._stalled(inputs)

    def _stalled(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether the request is for a warp that is not written yet (5)."""
        request = self._read.unpack(inputs["read__payload"])
        if request["warp"] >= request["index_warps"]:
            return False
        place = self._place(request)
        written_now = (
            inputs["write__valid"]
            and self._write.unpack(inputs["write__payload"])["address"] == place
        )
        return not written_now and any(r.next <= place < r.end for r in self._pending)

    def _place(self, request: Mapping[str, int]) -> int:
        return (request["address"] + request["warp"]) % (1 << self._config.index_address_bits)

    def _store(self, warp: Mapping[str, int]) -> None:
        """Store a packed warp and shorten the oldest region by one warp (1, 4)."""
        self._warps[warp["address"]] = self._data.pack(
            {"words": warp["words"], "mask": warp["mask"]}
        )
        if self._pending:
            oldest = self._pending[0]
            oldest.next += 1
            if warp["last"] or oldest.next == oldest.end:
                self._pending.popleft()

    def _fetch(self, request: Mapping[str, int]) -> int | None:
        """Return the data of a granted request; None if the warp was never written (7, 8)."""
        if request["warp"] >= request["index_warps"]:
            return 0
        return self._warps.get(self._place(request))
