"""AXI4-Lite in front of the registers: one write and one read in a cycle."""

from typing import Any, Final

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib._shift_queue import ShiftQueue
from warploom.lib.unnamed import UNNAMED
from warploom_spec import Config, host_packets
from warploom_spec.host_map import OKAY, SLVERR

#: Entries of the queues of addresses and data, of write responses, and of read data.
DEPTH: Final = 4
RESPONSES: Final = 2
READS: Final = 4


def axil_signature(config: Config) -> wiring.Signature:
    """Return AXI4-Lite's five channels as streams, seen from the host."""

    def channel(packet: Any) -> stream.Signature:
        return stream.Signature(packet(config).layout())

    return wiring.Signature(
        {
            "aw": Out(channel(host_packets.bus_address)),
            "w": Out(channel(host_packets.bus_data)),
            "b": In(stream.Signature(2)),
            "ar": Out(channel(host_packets.bus_address)),
            "r": In(channel(host_packets.bus_read_answer)),
        }
    )


class BusPort(wiring.Component):
    """Queue a host's accesses and hand them on in order, writes and reads apart.

    Parameters
    ----------
    config : Config
        Unused: every configuration has the same bus.
    """

    axil: Any
    write: "data.View[data.StructLayout]"
    write_refused: Signal
    read: "data.View[data.StructLayout]"
    answer: "data.View[data.StructLayout]"
    refused: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # The host. Each `ready` is the state of a register.
                "axil": In(axil_signature(config)),
                # Pulse: this write commits now. One a cycle, from one cycle after the later of
                # address and data.
                "write": Out(host_packets.bus_write(config).layout()),
                # Combinational answer to `write`: the response is SLVERR.
                "write_refused": In(1),
                # Pulse: this read is sampled now.
                "read": Out(host_packets.bus_read(config).layout()),
                # The result of the read of the cycle before; R is valid one cycle later.
                "answer": In(host_packets.bus_answer(config).layout()),
                # Refused accesses; wraps. A refused write counts one cycle later, a refused read
                # two.
                "refused": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        refused_write = self._write(m)
        refused_read = self._read(m)
        m.d.sync += self.refused.eq(self.refused + refused_write + refused_read)
        return m

    def _queue(self, m: Module, name: str, depth: int) -> ShiftQueue:
        """Add the queue of one channel."""
        queue = ShiftQueue(getattr(self.axil, name).payload.shape(), depth)
        m.submodules[name] = queue
        return queue

    def _write(self, m: Module) -> Signal:
        """Pair addresses with data; return whether a write is refused in this cycle."""
        addresses, words = self._queue(m, "aw", DEPTH), self._queue(m, "w", DEPTH)
        responses = self._queue(m, "b", RESPONSES)
        wiring.connect(m, wiring.flipped(self.axil.aw), addresses.i)
        wiring.connect(m, wiring.flipped(self.axil.w), words.i)
        wiring.connect(m, responses.o, wiring.flipped(self.axil.b))
        commits = Signal(name=UNNAMED)
        refused = Signal()
        m.d.comb += [
            refused.eq(commits & self.write_refused),
            addresses.o.ready.eq(commits),
            words.o.ready.eq(commits),
            responses.i.valid.eq(commits),
            responses.i.payload.eq(Mux(self.write_refused, SLVERR, OKAY)),
        ]
        following = Signal()
        m.d.comb += [
            following.eq(addresses.valid_next & words.valid_next & responses.ready_next),
            commits.eq(self.write.valid),
        ]
        # Registers: every path of a write begins here. A pulse is 0 while it is not valid.
        m.d.sync += self.write.eq(0)
        with m.If(following):
            m.d.sync += [
                self.write.valid.eq(1),
                self.write.address.eq(addresses.payload_next.addr[2:]),
                self.write.data.eq(words.payload_next.data),
                self.write.strobes.eq(words.payload_next.strb),
            ]
        return refused

    def _read(self, m: Module) -> Signal:
        """Sample reads while R has a free entry; return whether a read's answer is a refusal."""
        addresses, answers = self._queue(m, "ar", DEPTH), self._queue(m, "r", READS)
        wiring.connect(m, wiring.flipped(self.axil.ar), addresses.i)
        wiring.connect(m, answers.o, wiring.flipped(self.axil.r))
        taken = Signal(range(READS + 1))
        samples = Signal(name=UNNAMED)
        sampled = Signal(name=UNNAMED)
        leaves = Signal()
        following = Signal.like(taken)
        m.d.comb += [
            leaves.eq(answers.o.valid & answers.o.ready),
            following.eq(taken + samples - leaves),
            addresses.o.ready.eq(samples),
        ]
        m.d.comb += samples.eq(self.read.valid)
        m.d.sync += [taken.eq(following), sampled.eq(samples), self.read.eq(0)]
        with m.If(addresses.valid_next & (following != READS)):
            m.d.sync += [
                self.read.valid.eq(1),
                self.read.address.eq(addresses.payload_next.addr[2:]),
            ]
        refused = Signal()
        m.d.comb += [
            refused.eq(sampled & self.answer.refused),
            answers.i.valid.eq(sampled),
            answers.i.payload.resp.eq(Mux(self.answer.refused, SLVERR, OKAY)),
            answers.i.payload.data.eq(Mux(self.answer.refused, 0, self.answer.data)),
        ]
        return refused
