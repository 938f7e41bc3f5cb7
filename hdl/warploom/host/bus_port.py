"""AXI4-Lite in front of the registers: one write and one read in a cycle."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib._shift_queue import ShiftQueue
from warploom_spec import Config, host_packets, timing
from warploom_spec.host_map import OKAY, SLVERR


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
        Every configuration has the same bus.
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
                # Pulse: this write commits in the next cycle. One a cycle, from one cycle after the
                # later of address and data. Fields mean nothing while it is not valid.
                "write": Out(host_packets.bus_write(config).layout()),
                # The write that commits in this cycle gets the response SLVERR.
                "write_refused": In(1),
                # Pulse: this read is sampled in the next cycle.
                "read": Out(host_packets.bus_read(config).layout()),
                # The result of the read that was sampled two cycles before; R is valid one cycle
                # later.
                "answer": In(host_packets.bus_answer(config).layout()),
                # Refused accesses; wraps. A refused write counts three cycles after its commit, a
                # refused read four after its sampling.
                "refused": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        # A register: the sum is long.
        counted = Signal(2, name="refused_before")
        m.d.sync += [
            counted.eq(self._write(m) + self._read(m)),
            self.refused.eq(self.refused + counted),
        ]
        return m

    def _queue(self, m: Module, name: str, depth: int) -> ShiftQueue:
        """Add the queue of one channel."""
        queue = ShiftQueue(getattr(self.axil, name).payload.shape(), depth)
        m.submodules[name] = queue
        return queue

    def _room(self, m: Module, name: str, most: int, issued: Value, answers: ShiftQueue) -> Signal:
        """Return whether an access that is issued in the next cycle finds an entry for its answer.

        A register, a cycle late: one entry is kept for the access that is issued meanwhile.
        """
        taken = Signal(range(most + 1), name=f"{name}_taken")
        following = Signal.like(taken, name=f"{name}_taken_next")
        room = Signal(init=1, name=f"{name}_room")
        m.d.comb += following.eq(taken + issued - (answers.o.valid & answers.o.ready))
        m.d.sync += [taken.eq(following), room.eq(following < most - 1)]
        return room

    def _write(self, m: Module) -> Signal:
        """Pair addresses with data; return whether a write was refused in the cycle before."""
        limits = timing(self._config)
        addresses = self._queue(m, "aw", limits.bus_requests)
        words = self._queue(m, "w", limits.bus_requests)
        responses = self._queue(m, "b", limits.bus_responses)
        wiring.connect(m, wiring.flipped(self.axil.aw), addresses.i)
        wiring.connect(m, wiring.flipped(self.axil.w), words.i)
        wiring.connect(m, responses.o, wiring.flipped(self.axil.b))
        room = self._room(m, "b", limits.bus_responses, self.write.valid, responses)
        commits = Signal()
        committed = Signal()
        refused = Signal(name="write_was_refused")
        m.d.comb += [
            addresses.o.ready.eq(self.write.valid),
            words.o.ready.eq(self.write.valid),
            responses.i.valid.eq(committed),
            responses.i.payload.eq(Mux(refused, SLVERR, OKAY)),
        ]
        # Registers: every path of a write begins here.
        issued: Any = Signal(self.write.shape(), name="issued_write", reset_less=True)
        valid = Signal(name="write_valid")
        m.d.comb += [self.write.eq(issued), self.write.valid.eq(valid)]
        m.d.sync += [
            valid.eq(addresses.valid_next & words.valid_next & room),
            issued.address.eq(addresses.payload_next.addr[2:]),
            issued.data.eq(words.payload_next.data),
            issued.strobes.eq(words.payload_next.strb),
            commits.eq(self.write.valid),
            committed.eq(commits),
            refused.eq(commits & self.write_refused),
        ]
        return refused

    def _read(self, m: Module) -> Signal:
        """Issue reads while R has a free entry; return whether a read's answer is a refusal."""
        limits = timing(self._config)
        addresses = self._queue(m, "ar", limits.bus_requests)
        answers = self._queue(m, "r", limits.bus_reads)
        wiring.connect(m, wiring.flipped(self.axil.ar), addresses.i)
        wiring.connect(m, answers.o, wiring.flipped(self.axil.r))
        room = self._room(m, "r", limits.bus_reads, self.read.valid, answers)
        # The cycles from `read` to `answer`, one bit each.
        under_way = Signal(limits.bus_sample + limits.bus_answer)
        answered = Signal()
        refused = Signal(name="read_is_refused")
        valid = Signal(name="read_valid")
        address = Signal.like(self.read.address, name="read_address", reset_less=True)
        m.d.comb += [self.read.valid.eq(valid), self.read.address.eq(address)]
        m.d.sync += [
            valid.eq(addresses.valid_next & room),
            address.eq(addresses.payload_next.addr[2:]),
            under_way.eq(Cat(self.read.valid, under_way)),
        ]
        m.d.comb += [
            addresses.o.ready.eq(self.read.valid),
            answered.eq(under_way[-1]),
            refused.eq(answered & self.answer.refused),
            answers.i.valid.eq(answered),
            answers.i.payload.resp.eq(Mux(self.answer.refused, SLVERR, OKAY)),
            answers.i.payload.data.eq(Mux(self.answer.refused, 0, self.answer.data)),
        ]
        return refused
