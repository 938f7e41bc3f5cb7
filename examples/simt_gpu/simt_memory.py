"""The memory of all SMs, with a port for the host that fills it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory, MemoryData
from amaranth.lib.wiring import In, Out

from simt_core.packets import memory_request
from warploom.lib.bits import first_of, number_of


class SimtMemory(wiring.Component):
    """One access a cycle for all SMs in turn, and an instruction a cycle for each SM.

    The host's accesses come before all others.

    Parameters
    ----------
    sms : int
        SMs.
    memory_bits : int
        Width of a byte address.
    """

    def __init__(self, sms: int, memory_bits: int) -> None:
        self._sms = sms
        #: The words, for simulations in Python.
        self.words: MemoryData = MemoryData(shape=32, depth=1 << memory_bits - 2, init=[])
        request = memory_request(memory_bits).layout()
        super().__init__(
            {
                "request": In(stream.Signature(request)).array(sms),
                # What was loaded by the request that transferred in the cycle before.
                "loaded": Out(32),
                # The word of an instruction, and the instruction in the next cycle.
                "fetch_address": In(memory_bits - 2).array(sms),
                "fetched": Out(32).array(sms),
                # An access of the host's; taken in every cycle.
                "host_valid": In(1),
                "host": In(request),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        words: Memory = Memory(self.words)
        m.submodules.words = words
        for n in range(self._sms):
            port = words.read_port()
            m.d.comb += [port.addr.eq(self.fetch_address[n]), self.fetched[n].eq(port.data)]
        valid = Signal(self._sms)
        later = Signal(self._sms)
        last = Signal(self._sms)
        for n in range(self._sms):
            m.d.comb += valid[n].eq(self.request[n].valid)
            # SMs above the one that was served last come first.
            m.d.comb += later[n].eq(valid[n] & last[:n].any() if n else 0)
        chosen = first_of(m, "chosen", Mux(later.any(), later, valid))
        access = Signal.like(self.host)
        write = words.write_port(granularity=8)
        read = words.read_port()
        m.d.comb += access.eq(self.host)
        any_access = Signal()
        m.d.comb += any_access.eq(self.host_valid | valid.any())
        with m.If(~self.host_valid):
            with m.Switch(number_of(chosen)):
                for n in range(self._sms):
                    with m.Case(n):
                        m.d.comb += access.eq(self.request[n].payload)
            with m.If(valid.any()):
                m.d.sync += last.eq(chosen)
        for n in range(self._sms):
            m.d.comb += self.request[n].ready.eq(chosen[n] & ~self.host_valid)
        m.d.comb += [
            write.addr.eq(access.address),
            write.data.eq(access.data),
            write.en.eq(Mux(any_access & access.write, access.bytes, 0)),
            read.addr.eq(access.address),
            self.loaded.eq(read.data),
        ]
        return m
