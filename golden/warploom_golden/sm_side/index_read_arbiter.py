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
        #: Each SM's requests, by their rows.
        self._requests: list[deque[int]] = [deque() for _ in range(self._sms)]
        #: Requests on their way to the memory, each with its SM.
        self._output: deque[tuple[int, int]] = deque()
        self._pointer = 0
        self._turn: int | None = None
        #: SMs whose requests transferred and have no data yet, the first one first.
        self._asked: deque[int] = deque()
        self._closed = False

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        # IndexMemory gives no data that nobody asked for: what is shown then is not compared.
        data_valid = None if inputs["answered"] else 0
        if inputs["answered"] and self._asked:
            data_valid = 1 << self._asked[0]  # 6
        here = any(self._requests) or self._output or self._asked
        values: dict[str, int | None] = {
            "read__valid": int(bool(self._output)),  # 5
            "read__payload": self._output[0][1] if self._output else None,
            "data_valid": data_valid,
            "idle": int(self._closed and not here),  # 7
        }
        return values | {f"request__{n}__ready": int(self._takes(n)) for n in range(self._sms)}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; all but the next turn is judged by the state before it."""
        taken = [n for n in range(self._sms) if self._takes(n) and inputs[f"request__{n}__valid"]]
        used = self._turn is not None and len(self._output) < PLACES
        if inputs["answered"] and self._asked:
            self._asked.popleft()
        if self._output and inputs["read__ready"]:
            sm, _ = self._output.popleft()
            self._asked.append(sm)
        if self._turn is not None and used:  # 3
            self._output.append((self._turn, self._requests[self._turn].popleft()))
        for sm in taken:
            self._requests[sm].append(self._row(inputs[f"request__{sm}__payload"]))
        if self._turn is None or used:
            self._choose()
        self._closed = bool(inputs["soft_reset_active"])

    def _takes(self, sm: int) -> bool:
        """Tell whether an SM's request is taken (1)."""
        return len(self._requests[sm]) < PLACES and not self._closed

    def _row(self, request: int) -> int:
        """Return the request by its row (2)."""
        wanted = self._read.unpack(request)
        row = (wanted["address"] + wanted["warp"]) % self._rows
        present = int(wanted["warp"] < wanted["index_warps"])
        return self._read.pack({"address": row, "warp": 0, "index_warps": present})

    def _choose(self) -> None:
        """Choose whose turn it is in the next cycle, among those that have a request then (4)."""
        turns = ((self._pointer + step) % self._sms for step in range(self._sms))
        self._turn = next((sm for sm in turns if self._requests[sm]), None)
        if self._turn is not None:
            self._pointer = (self._turn + 1) % self._sms
