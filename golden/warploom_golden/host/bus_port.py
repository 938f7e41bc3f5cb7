"""Cycle model of BusPort: AXI4-Lite's five channels as queues in front of the registers."""

from collections import deque
from collections.abc import Mapping

from warploom_spec import host_packets
from warploom_spec.config import Config
from warploom_spec.host_map import OKAY, SLVERR

#: Entries of the queues of AW, W and AR each.
REQUESTS = 4
#: Entries of B's queue.
RESPONSES = 2
#: Entries of R: answers that wait, and the one that is on its way.
READS = 4
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
        self.reset()

    def reset(self) -> None:
        """Empty all queues; ``refused`` is 0."""
        self._requests: dict[str, deque[int]] = {name: deque() for name in ("aw", "w", "ar")}
        self._b: deque[int] = deque()
        self._r: deque[int] = deque()
        self._sampled = False
        self._refused = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on the state alone."""
        del inputs
        values: dict[str, int | None] = {
            f"axil__{name}__ready": int(len(queue) < REQUESTS)
            for name, queue in self._requests.items()
        }
        for name, answers in (("b", self._b), ("r", self._r)):
            values[f"axil__{name}__valid"] = int(bool(answers))
            values[f"axil__{name}__payload"] = answers[0] if answers else None
        values["write"] = self._write_pulse()
        values["read"] = self._read_pulse()
        values["refused"] = self._refused
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        commits, samples = self._commits(), self._samples()
        fits = {name: len(queue) < REQUESTS for name, queue in self._requests.items()}
        self._take_answers(inputs)
        self._enter_answer(inputs["answer"])
        if commits:
            self._requests["aw"].popleft()
            self._requests["w"].popleft()
            self._b.append(SLVERR if inputs["write_refused"] else OKAY)
            self._count(inputs["write_refused"])
        if samples:
            self._requests["ar"].popleft()
        self._sampled = samples
        for name, queue in self._requests.items():
            if fits[name] and inputs[f"axil__{name}__valid"]:
                queue.append(inputs[f"axil__{name}__payload"])

    def _commits(self) -> bool:
        """Rule 2: both queues hold an entry, and a response entry is free."""
        ready = bool(self._requests["aw"]) and bool(self._requests["w"])
        return ready and len(self._b) < RESPONSES

    def _samples(self) -> bool:
        """Rule 4: AR's queue holds an entry, and an R entry is free."""
        taken = len(self._r) + int(self._sampled)
        return bool(self._requests["ar"]) and taken < READS

    def _write_pulse(self) -> int:
        if not self._commits():
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
        if not self._samples():
            return 0
        return self._read.pack({"valid": 1, "address": self._word_address("ar")})

    def _word_address(self, channel: str) -> int:
        """Rule 8: ``prot`` and the two low address bits are ignored."""
        return self._address.unpack(self._requests[channel][0])["addr"] >> 2

    def _take_answers(self, inputs: Mapping[str, int]) -> None:
        """Rules 3 and 5: the oldest answer leaves when it transfers."""
        for name, answers in (("b", self._b), ("r", self._r)):
            if answers and inputs[f"axil__{name}__ready"]:
                answers.popleft()

    def _enter_answer(self, word: int) -> None:
        """Rule 5: what the read of the cycle before gives enters R's queue."""
        if not self._sampled:
            return
        answer = self._answer.unpack(word)
        data, resp = (0, SLVERR) if answer["refused"] else (answer["data"], OKAY)
        self._r.append(self._read_answer.pack({"data": data, "resp": resp}))
        self._count(answer["refused"])

    def _count(self, refused: int) -> None:
        """Rule 7: ``refused`` wraps."""
        self._refused = (self._refused + int(bool(refused))) & COUNTER_MASK
