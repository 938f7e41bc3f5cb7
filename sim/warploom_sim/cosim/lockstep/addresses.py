"""The addresses of the host's words that a component's ports show, for a failure's report."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from warploom_sim.cosim.lockstep.packet_fields import PacketField
from warploom_sim.cosim.lockstep.ports import Ports, Stream
from warploom_spec.host_registers import AddressedWord

#: Of each port that shows a word in a cycle: the word's address there.
Addresses = Mapping[str, int]
_NONE: Addresses = {}


@dataclass
class _Pulse:
    """A port that shows the word that was asked for ``after`` cycles before."""

    port: str
    valid: PacketField
    address: PacketField
    after: int
    asked: deque[int | None] = field(default_factory=deque)

    def now(self) -> int | None:
        return self.asked.popleft() if len(self.asked) == self.after else None

    def see(self, values: Mapping[str, int]) -> None:
        asked = max(values[self.port], 0)
        self.asked.append(self.address.of(asked) if self.valid.of(asked) else None)

    def reset(self) -> None:
        self.asked.clear()


@dataclass
class _Queue:
    """A stream whose packets answer those of another stream in their order."""

    asks: Stream
    answers: Stream
    address: PacketField
    waiting: deque[int] = field(default_factory=deque)

    def now(self) -> int | None:
        return self.waiting[0] if self.waiting else None

    def see(self, values: Mapping[str, int]) -> None:
        if _transfers(self.answers, values) and self.waiting:
            self.waiting.popleft()
        if _transfers(self.asks, values):
            self.waiting.append(self.address.of(values[self.asks.payload]))

    def reset(self) -> None:
        self.waiting.clear()


def _transfers(stream: Stream, values: Mapping[str, int]) -> bool:
    ends = (stream.valid, stream.ready)
    return all(end is None or values[end] == 1 for end in ends)


class AddressWatch:
    """Keeps for each port that shows a host's word the address that the word was asked by.

    Which ports these are, their packets' fields say (``AddressedWord``).

    Parameters
    ----------
    ports : Ports
        Of the component.
    """

    def __init__(self, ports: Ports):
        self._watched: dict[str, _Pulse | _Queue] = {}
        for port, fields in ports.fields.items():
            for one in fields:
                if one.word is not None and one.word.port:
                    watch = _watch(ports, port, one.word)
                    if watch is not None:
                        self._watched[port] = watch

    def see(self, inputs: Mapping[str, int], outputs: Mapping[str, int], rst: int) -> Addresses:
        """Take in a cycle; return the address of the word that each port shows in it, if known."""
        if not self._watched:
            return _NONE
        values = {**inputs, **outputs}
        found = {port: watch.now() for port, watch in self._watched.items()}
        for watch in self._watched.values():
            if rst:
                watch.reset()
            else:
                watch.see(values)
        return {port: address for port, address in found.items() if address is not None}


def _watch(ports: Ports, port: str, word: AddressedWord) -> _Pulse | _Queue | None:
    """Return what keeps a port's addresses; None if the component has no port that says them."""
    answers = port.removesuffix("__payload")
    side = answers.rpartition("__")[0]
    asks = f"{side}__{word.port}" if side else word.port
    if asks in ports.streams and answers in ports.streams:
        stream = ports.streams[asks]
        own = {one.name: one for one in ports.fields[stream.payload]}
        return _Queue(stream, ports.streams[answers], own[word.field])
    if asks in ports.fields:
        own = {one.name: one for one in ports.fields[asks]}
        return _Pulse(asks, own["valid"], own[word.field], word.after)
    return None
