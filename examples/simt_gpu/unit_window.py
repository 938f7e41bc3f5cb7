"""Registers in which warps find their parts of an execution unit's task."""

from typing import Any, Final

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from simt_core.packets import memory_request
from warploom.host.execution_unit import cores_signature
from warploom_spec import Config

#: The first byte of the registers; core c's are the 16 words from 64 c on.
WINDOW: Final = 0x800
#: Words of a core's registers: what it can load, what it stores, and the first result word.
STATE, FIRST, COUNT, CODE, ARGUMENTS, ARRIVE, RESULT = 0, 1, 2, 3, 4, 5, 8
NUMBER_BITS: Final = 8
_FAILURE_BITS: Final = 16


class UnitWindow(wiring.Component):
    """Make an SM's warps the cores of an execution unit (``docs/examples/persistent_kernel.md``).

    The registers stand between the SM and the memory. An access of the window is taken in its
    first cycle, and never reaches the memory.

    Parameters
    ----------
    config : Config
        The front end's.
    memory_bits : int
        Width of a byte address.
    """

    def __init__(self, config: Config, memory_bits: int) -> None:
        self._config = config
        request = stream.Signature(memory_request(memory_bits).layout())
        super().__init__(
            {
                # The unit's port to its cores.
                "cores": In(cores_signature(config)),
                # The SM's accesses; what was loaded comes in the cycle after the transfer.
                "request": In(request),
                "loaded": Out(32),
                # Those for the memory.
                "memory": Out(request),
                "memory_loaded": In(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        access = self.request.payload
        inside = Signal()
        core, register = access.address[4:9], access.address[:4]
        m.d.comb += [
            inside.eq(access.address[9:] == WINDOW >> 11),
            self.memory.valid.eq(self.request.valid & ~inside),
            self.memory.payload.eq(access),
            self.request.ready.eq(inside | self.memory.ready),
            self.cores.start.ready.eq(1),
        ]
        here = self.request.valid & inside
        stores = here & access.write
        m.d.comb += [
            self.cores.result.valid.eq(stores & (register >= RESULT)),
            self.cores.result.payload.word.eq(register),
            self.cores.result.payload.data.eq(access.data),
        ]
        arrives = stores & (register == ARRIVE)
        states = self._cores(m, core, arrives, access.data)
        self._loads(m, here, core, register, states)
        return m

    def _cores(self, m: Module, core: Any, arrives: Any, stored: Any) -> list[Signal]:
        """Count the lanes that arrive at each core's barrier; return each core's state."""
        cores, lanes = self.cores, self._config.warp_size
        states: list[Signal] = []
        for n in reversed(range(self._config.cores_per_unit)):
            number = Signal(NUMBER_BITS, name=f"number_{n}")
            left = Signal(range(lanes + 1), name=f"left_{n}")
            failure = Signal(_FAILURE_BITS, name=f"failure_{n}")
            state = Signal(NUMBER_BITS + 1, name=f"state_{n}")
            waits = Signal(name=f"waits_{n}")
            m.d.comb += [
                state.eq(number | left.any() << NUMBER_BITS),
                cores.arrived[n].eq(waits),
                cores.failed[n].eq(waits & failure.any()),
            ]
            # The lowest core that failed comes last, and wins.
            with m.If(cores.failed[n]):
                m.d.comb += cores.failure.eq(failure)
            # A lane that still works at a part of a task that was cancelled has another number.
            mine = stored[_FAILURE_BITS:][:NUMBER_BITS] == number
            arrival = arrives & (core == n) & mine & left.any()
            with m.If(cores.barrier_open):
                m.d.sync += waits.eq(0)
            with m.If(cores.start.valid & (cores.start.payload.core == n)):
                m.d.sync += [number.eq(number + 1), left.eq(lanes), failure.eq(0)]
            with m.Elif(arrival):
                m.d.sync += [left.eq(left - 1), waits.eq(left == 1)]
                with m.If(stored[:_FAILURE_BITS].any()):
                    m.d.sync += failure.eq(stored)
            with m.If(cores.cancel):
                m.d.sync += [left.eq(0), waits.eq(0)]
            states.insert(0, state)
        return states

    def _loads(self, m: Module, here: Any, core: Any, register: Any, states: list[Signal]) -> None:
        """Keep each core's part; answer loads."""
        cores = self.cores
        layout = data.StructLayout({"first": 32, "count": 32, "code": 32, "arguments": 32})
        parts: Memory = Memory(shape=layout, depth=len(states), init=[])
        m.submodules.parts = parts
        write = parts.write_port()
        read = parts.read_port()
        # `code` and `arguments` are the task's while a start is valid.
        m.d.comb += [
            write.en.eq(cores.start.valid),
            write.addr.eq(cores.start.payload.core),
            write.data.first.eq(cores.start.payload.first),
            write.data.count.eq(cores.start.payload.count),
            write.data.code.eq(cores.code),
            write.data.arguments.eq(cores.arguments),
            read.addr.eq(core),
        ]
        asked = Signal()
        asked_register = Signal.like(register)
        state = Signal.like(states[0])
        m.d.sync += [asked.eq(here), asked_register.eq(register), state.eq(Array(states)[core])]
        part = read.data
        values = Array([state, part.first, part.count, part.code, part.arguments])
        m.d.comb += self.loaded.eq(Mux(asked, values[asked_register], self.memory_loaded))
