"""Cycle model of IndexReadArbiter: one port of the index memory for all SMs."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import layouts
from warploom_spec.config import Config

#: Places of each queue.
PLACES = 2


class IndexReadArbiter:
    """Cycle model of IndexReadArbiter.

    Ports and rules: ``docs/sm_side/index_read_arbiter.md``. Numbers in comments are the page's.

    Parameters
    ----------
    config : Config
        Number of SMs.
    """

    def __init__(self, config: Config):
        self._sms = config.sms
        self._rows = 1 << config.index_address_bits
        self._read = layouts.index_read(config)
        self.reset()

    def reset(self) -> None:
        """Forget all requests."""
        self._requests: list[deque[int]] = [deque() for _ in range(self._sms)]
        #: Requests on their way to the memory, each with its SM.
        self._output: deque[tuple[int, int]] = deque()
        self._pointer = 0
        #: The SM whose request transferred last, and whether it did in the cycle before.
        self._asked_by = 0
        self._on_its_way = False

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        values: dict[str, int | None] = {
            "read__valid": int(bool(self._output)),  # 3
            "read__payload": self._output[0][1] if self._output else None,
            "data_valid": 1 << self._asked_by if inputs["answered"] else 0,  # 4
            "idle": int(not (any(self._requests) or self._output or self._on_its_way)),  # 5
        }
        for sm, requests in enumerate(self._requests):  # 1
            room = len(requests) < PLACES and not inputs["closing"]
            values[f"request__{sm}__ready"] = int(room)
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        room = [len(requests) < PLACES and not inputs["closing"] for requests in self._requests]
        chosen = self._choose()
        self._on_its_way = bool(self._output and inputs["read__ready"])
        if self._on_its_way:
            self._asked_by, _ = self._output.popleft()
        if chosen is not None:
            self._output.append((chosen, self._row(self._requests[chosen].popleft())))
            self._pointer = (chosen + 1) % self._sms
        for sm, requests in enumerate(self._requests):
            if room[sm] and inputs[f"request__{sm}__valid"]:
                requests.append(inputs[f"request__{sm}__payload"])

    def _row(self, request: int) -> int:
        """Return the request by its row (3)."""
        wanted = self._read.unpack(request)
        row = (wanted["address"] + wanted["warp"]) % self._rows
        present = int(wanted["warp"] < wanted["index_warps"])
        return self._read.pack({"address": row, "warp": 0, "index_warps": present})

    def _choose(self) -> int | None:
        """Return the SM whose request goes on (2)."""
        if len(self._output) == PLACES:
            return None
        turns = ((self._pointer + step) % self._sms for step in range(self._sms))
        return next((sm for sm in turns if self._requests[sm]), None)
