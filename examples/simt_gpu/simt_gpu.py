"""FrontEnd with an SM of SimtCore at each of its ports."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from simt_core import SimtCore
from simt_core.packets import memory_request, retired_turn
from simt_gpu.simt_memory import SimtMemory
from simt_gpu.unit_window import UnitWindow
from warploom.host import FrontEnd
from warploom.sm_side import BlockToWarps, OfferQueue, ResourceRanges
from warploom_spec import Config
from warploom_spec.resident_packets import resident_block


class SimtGpu(wiring.Component):
    """A GPU that runs kernels: the host reaches it over AXI4-Lite, and its memory beside that.

    The warps of SM k are the cores of execution unit k. A unit without an SM has no cores: its
    tasks end by their time-out.

    Parameters
    ----------
    config : Config
        FrontEnd's.
    memory_bits : int
        Width of a byte address.
    """

    def __init__(self, config: Config, memory_bits: int) -> None:
        self._config = config
        self._memory_bits = memory_bits
        self._front_end = FrontEnd(config)
        members = self._front_end.signature.members
        super().__init__(
            {
                **{name: members[name] for name in ("axil", "irq")},
                # The host's accesses to the memory; what it loads comes in the next cycle.
                "host_valid": In(1),
                "host": In(memory_request(memory_bits).layout()),
                "loaded": Out(32),
                # A block is offered to these SMs in this cycle, and which block it is.
                "offered": Out(config.sms),
                "offered_block": Out(resident_block(config).layout()),
                # A pulse for each turn of each SM.
                "retired": Out(retired_turn(config).layout()).array(config.sms),
                "retired_valid": Out(config.sms),
                # Turns and index reads of all SMs since the reset.
                "turns": Out(32),
                "reads": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        m.submodules.front_end = front = self._front_end
        m.submodules.memory = memory = SimtMemory(config.sms, self._memory_bits)
        wiring.connect(m, wiring.flipped(self.axil), front.axil)
        m.d.comb += [
            self.irq.eq(front.irq),
            memory.host_valid.eq(self.host_valid),
            memory.host.eq(self.host),
            self.loaded.eq(memory.loaded),
            self.offered.eq(front.offer),
            self.offered_block.eq(front.block),
        ]
        reads = Signal(config.sms)
        for n in range(config.sms):
            m.submodules[f"queue_{n}"] = queue = OfferQueue(config, readers=2)
            m.submodules[f"ranges_{n}"] = ranges = ResourceRanges(config)
            m.submodules[f"warps_{n}"] = warps = BlockToWarps(config)
            m.submodules[f"core_{n}"] = core = SimtCore(config, self._memory_bits)
            wiring.connect(m, queue.dropped, warps.dropped)
            wiring.connect(m, ranges.o, warps.offer)
            wiring.connect(m, warps.warp, core.warp)
            wiring.connect(m, warps.report, front.report[n])
            wiring.connect(m, core.read, front.read[n])
            loaded = self._connect_memory(m, n, core, memory)
            parts: tuple[Any, ...] = (queue, ranges, warps, core)
            inside = Signal(name=f"inside_{n}")
            with m.If(ranges.offer.valid & ranges.offer.ready):
                m.d.sync += inside.eq(1)
            with m.Elif(ranges.o.valid & ranges.o.ready):
                m.d.sync += inside.eq(0)
            m.d.comb += [
                *(part.kill.eq(front.kill) for part in parts),
                queue.offer.eq(front.offer[n]),
                queue.block.eq(front.block),
                queue.words.eq(front.words),
                # A block at a time: OfferQueue drops those that are killed behind it.
                queue.take.eq(ranges.offer.ready & ~inside),
                ranges.offer.valid.eq(queue.first_valid & ~inside),
                ranges.offer.payload.eq(queue.first),
                queue.asked[0].eq(queue.first.stream),
                ranges.words.eq(queue.told[0]),
                queue.asked[1].eq(ranges.o.payload.stream),
                warps.words.eq(queue.told[1]),
                ranges.report.eq(warps.over),
                ranges.report_valid.eq(warps.over_valid),
                core.block.eq(ranges.o.payload),
                core.words.eq(queue.told[1]),
                core.block_valid.eq(ranges.o.valid & ranges.o.ready),
                warps.ended.eq(core.ended),
                warps.ended_valid.eq(core.ended_valid),
                core.data.eq(front.data),
                core.data_valid.eq(front.data_valid[n]),
                memory.fetch_address[n].eq(core.fetch_address),
                core.fetched.eq(memory.fetched[n]),
                core.loaded.eq(loaded),
                self.retired[n].eq(core.retired),
                self.retired_valid[n].eq(core.retired_valid),
                reads[n].eq(core.read.valid & core.read.ready),
            ]
        m.d.sync += [
            self.turns.eq(self.turns + sum(self.retired_valid[n] for n in range(config.sms))),
            self.reads.eq(self.reads + sum(reads[n] for n in range(config.sms))),
        ]
        return m

    def _connect_memory(self, m: Module, n: int, core: SimtCore, memory: SimtMemory) -> Any:
        """Connect an SM with the memory, behind its unit's registers; return what it loads."""
        if n >= self._config.units:
            wiring.connect(m, core.request, memory.request[n])
            return memory.loaded
        m.submodules[f"window_{n}"] = window = UnitWindow(self._config, self._memory_bits)
        wiring.connect(m, self._front_end.cores[n], window.cores)
        wiring.connect(m, core.request, window.request)
        wiring.connect(m, window.memory, memory.request[n])
        m.d.comb += window.memory_loaded.eq(memory.loaded)
        return window.loaded
