"""A host's accesses, reconstructed from AXI4-Lite ports: each write and read with its response."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import host_packets
from warploom_spec.config import Config
from warploom_spec.host_map import OKAY


@dataclass(frozen=True)
class Access:
    """An access that was answered.

    Attributes
    ----------
    is_write : bool
        True for a write, False for a read.
    address : int
        Byte address of the word, a multiple of 4.
    data, strobes : int
        The 32-bit word that was written or read, and the 4-bit write strobes, 0 for a read.
    okay : bool
        Whether the response is OKAY.
    age : int
        How many addresses the access's channel had taken before this one.
    """

    is_write: bool
    address: int
    data: int
    strobes: int
    okay: bool
    age: int


class AxilBus:
    """Follows the five channels of a port ``axil``.

    Parameters
    ----------
    config : Config
        Sets the widths of the bus's packets.

    Attributes
    ----------
    asked : dict of str to list of int
        By channel, ``aw`` and ``ar``: the byte addresses of the words that were taken in the last
        cycle.
    taken : dict of str to int
        By channel: how many addresses were taken so far.
    """

    def __init__(self, config: Config):
        self._address = host_packets.bus_address(config)
        self._data = host_packets.bus_data(config)
        self._answer = host_packets.bus_read_answer(config)
        self.reset()

    def reset(self) -> None:
        """Forget all accesses without a response, and count addresses from 0."""
        self._addresses: dict[str, deque[tuple[int, int]]] = {"aw": deque(), "ar": deque()}
        self._words: deque[dict[str, int]] = deque()
        self.taken = {"aw": 0, "ar": 0}
        self.asked: dict[str, list[int]] = {"aw": [], "ar": []}

    @property
    def unanswered(self) -> list[int]:
        """Byte addresses of the words of writes that were taken and have no response yet."""
        return [address for address, _ in self._addresses["aw"]]

    def see(self, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> list[Access]:
        """Take in a cycle's ports; return the accesses answered in this cycle, the write first."""
        ports = {**inputs, **outputs}

        def moves(name: str) -> bool:
            return bool(ports[f"axil__{name}__valid"] and ports[f"axil__{name}__ready"])

        found = []
        if moves("b"):
            (address, age), data = self._addresses["aw"].popleft(), self._words.popleft()
            okay = ports["axil__b__payload"] == OKAY
            found.append(Access(True, address, data["data"], data["strb"], okay, age))
        if moves("r"):
            address, age = self._addresses["ar"].popleft()
            answer = self._answer.unpack(ports["axil__r__payload"])
            okay = answer["resp"] == OKAY
            found.append(Access(False, address, answer["data"], 0, okay, age))
        for name, queue in self._addresses.items():
            self.asked[name] = []
            if moves(name):
                address = self._address.unpack(ports[f"axil__{name}__payload"])["addr"] & ~3
                queue.append((address, self.taken[name]))
                self.taken[name] += 1
                self.asked[name] = [address]
        if moves("w"):
            self._words.append(self._data.unpack(ports["axil__w__payload"]))
        return found
