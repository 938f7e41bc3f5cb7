"""Cycle model of BusPort: AXI4-Lite's five channels as queues in front of the registers."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import host_packets, timing
from warploom_spec.config import Config
from warploom_spec.host_map import OKAY, SLVERR

COUNTER_MASK = (1 << 32) - 1


class BusPort:
    """Cycle model of BusPort.

    Ports and rules: ``docs/host/bus_port.md``. Every method names the rule that it follows.

    Parameters
    ----------
    config : Config
        For the packets' widths.
    """

    def __init__(self, config: Config):
        self._address = host_packets.bus_address(config)
        self._data = host_packets.bus_data(config)
        self._write = host_packets.bus_write(config)
        self._read = host_packets.bus_read(config)
        self._answer = host_packets.bus_answer(config)
        self._read_answer = host_packets.bus_read_answer(config)
        times = timing(config)
        self._entries = times.bus_requests
        #: Responses that may be taken in a cycle so that the next one may be issued.
        self._most_taken = {"b": times.bus_responses - 1, "r": times.bus_reads - 1}
        self._commit = times.bus_commit
        self._read_latency = times.bus_sample + times.bus_answer
        self.reset()

    def reset(self) -> None:
        """Empty all queues; nothing is issued, and ``refused`` is 0."""
        self._requests: dict[str, deque[int]] = {name: deque() for name in ("aw", "w", "ar")}
        self._responses: dict[str, deque[int]] = {"b": deque(), "r": deque()}
        #: Responses that are taken, and whether there was room in the cycle before.
        self._taken = {"b": 0, "r": 0}
        self._had_room = {"b": True, "r": True}
        #: Writes that were issued and have not committed; reads without an answer. Oldest first.
        self._writes = deque([False] * self._commit)
        self._reads = deque([False] * self._read_latency)
        #: The response of the write that committed in the cycle before.
        self._committed: int | None = None
        #: How many refusals of the cycle before are still to be counted.
        self._uncounted = 0
        self._refused = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on the state alone."""
        del inputs
        values: dict[str, int | None] = {
            f"axil__{name}__ready": int(len(queue) < self._entries)
            for name, queue in self._requests.items()
        }
        for name, responses in self._responses.items():
            values[f"axil__{name}__valid"] = int(bool(responses))
            values[f"axil__{name}__payload"] = responses[0] if responses else None
        values["write"] = self._write_pulse()
        values["read"] = self._read_pulse()
        values["refused"] = self._refused
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        issued = {"b": self._issues_write(), "r": self._issues_read()}
        fits = {name: len(queue) < self._entries for name, queue in self._requests.items()}
        self._note_room(issued, inputs)
        self._refused = (self._refused + self._uncounted) & COUNTER_MASK
        self._uncounted = 0
        self._enter_response()
        self._commit_write(bool(inputs["write_refused"]))
        self._enter_answer(inputs["answer"])
        self._writes.append(issued["b"])
        self._reads.append(issued["r"])
        for name in ("aw", "w") if issued["b"] else ():
            self._requests[name].popleft()
        if issued["r"]:
            self._requests["ar"].popleft()
        for name, queue in self._requests.items():
            if fits[name] and inputs[f"axil__{name}__valid"]:
                queue.append(inputs[f"axil__{name}__payload"])

    def _issues_write(self) -> bool:
        """Rule 2: both queues hold an entry, and B had room."""
        return bool(self._requests["aw"] and self._requests["w"]) and self._had_room["b"]

    def _issues_read(self) -> bool:
        """Rule 5: AR's queue holds an entry, and R had room."""
        return bool(self._requests["ar"]) and self._had_room["r"]

    def _write_pulse(self) -> int:
        if not self._issues_write():
            return 0
        data = self._data.unpack(self._requests["w"][0])
        return self._write.pack(
            {
                "valid": 1,
                "address": self._word_address("aw"),
                "data": data["data"],
                "strobes": data["strb"],
            }
        )

    def _read_pulse(self) -> int:
        if not self._issues_read():
            return 0
        return self._read.pack({"valid": 1, "address": self._word_address("ar")})

    def _word_address(self, channel: str) -> int:
        """Rule 10: ``prot`` and the two low address bits are ignored."""
        return self._address.unpack(self._requests[channel][0])["addr"] >> 2

    def _note_room(self, issued: Mapping[str, bool], inputs: Mapping[str, int]) -> None:
        """Rules 3, 4, 6 and 7: a response is taken from its access on until it transfers."""
        for name, responses in self._responses.items():
            transfers = bool(responses and inputs[f"axil__{name}__ready"])
            self._had_room[name] = self._taken[name] < self._most_taken[name]
            self._taken[name] += issued[name] - transfers
            if transfers:
                responses.popleft()

    def _commit_write(self, refused: bool) -> None:
        """Rule 4: a write that commits in this cycle is refused or not."""
        if self._writes.popleft():
            self._committed = SLVERR if refused else OKAY

    def _enter_response(self) -> None:
        """Rules 4 and 9: the response enters B's queue in the cycle after the commit."""
        if self._committed is not None:
            self._responses["b"].append(self._committed)
            self._uncounted += self._committed == SLVERR
        self._committed = None

    def _enter_answer(self, word: int) -> None:
        """Rules 7 and 9: what a read gives enters R's queue."""
        if not self._reads.popleft():
            return
        answer = self._answer.unpack(word)
        data, resp = (0, SLVERR) if answer["refused"] else (answer["data"], OKAY)
        self._responses["r"].append(self._read_answer.pack({"data": data, "resp": resp}))
        self._uncounted += answer["refused"]
