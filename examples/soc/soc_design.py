"""The system in LiteX: VexRiscv, memory, UART, and the GPU with its two ports on the bus.

Every register of the core is a register of the bus from `CORE_BASE` on, the GPU's memory lies from
`MEMORY_BASE` on, and the core's ``irq`` is an event of LiteX's, so an interrupt of the processor.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.gen import ClockDomain, Instance, LiteXModule, ResetSignal, Signal
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import axi, wishbone
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal

from soc.gpu_verilog import MEMORY_BITS, MODULE

CORE_BASE: Final = 0x9000_0000
CORE_BYTES: Final = 0x1_0000
MEMORY_BASE: Final = 0xA000_0000
ROM_BYTES: Final = 0x8000
#: What the simulated system takes its clock for: the bridge gives a broken command up after 100 ms.
CLOCK_HZ: Final = 400_000
#: Bits a second of the simulated UART: a bit is 4 clocks.
BAUD: Final = CLOCK_HZ // 4
#: Clocks after which the bus ends an access that nobody answers; the bridge must not give up first.
BUS_TIMEOUT: Final = 10_000
#: LiteX's own register whose bit 1 holds the processor in reset.
CPU_RESET: Final = 0xF000_0000
_CHANNELS: Final = {
    "aw": (("addr", 16), ("prot", 3)),
    "w": (("data", 32), ("strb", 4)),
    "ar": (("addr", 16), ("prot", 3)),
}


class Gpu(LiteXModule):
    """FrontEnd with two SimtCores, as `soc.gpu_verilog` wrote it, between LiteX's buses.

    Parameters
    ----------
    verilog : Path
        The module's file.
    wired : Signal or int
        0: the interrupt is cut, to see what the firmware makes of that.
    """

    def __init__(self, platform: Any, verilog: Path, wired: Any = 1) -> None:
        self.bus = axi.AXILiteInterface(data_width=32, address_width=32)
        self.memory = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.ev = EventManager()
        self.ev.core = EventSourceLevel()
        self.ev.finalize()
        irq, loaded = Signal(), Signal(32)
        pins: dict[str, Any] = {"i_clk": ClockSignal("sys"), "i_rst": self._stretched()}
        pins |= self._core_pins()
        # An access of the host's is taken at once, and what it loads comes in the next cycle.
        access = Signal()
        self.comb += access.eq(self.memory.cyc & self.memory.stb & ~self.memory.ack)
        self.sync += self.memory.ack.eq(access)
        self.comb += self.memory.dat_r.eq(loaded)
        request = Signal(1 + MEMORY_BITS - 2 + 4 + 32)
        address = self.memory.adr[: MEMORY_BITS - 2]
        fields = (self.memory.we, address, self.memory.sel, self.memory.dat_w)
        low = 0
        for value in fields:
            self.comb += request[low : low + len(value)].eq(value)
            low += len(value)
        pins |= {"i_host_valid": access, "i_host": request, "o_loaded": loaded, "o_irq": irq}
        self.comb += self.ev.core.trigger.eq(irq & wired)
        self.specials += Instance(MODULE, **pins)
        platform.add_source(str(verilog))

    def _stretched(self) -> Signal:
        """LiteX's reset may last one clock; the core's pages ask for two."""
        reset, before = Signal(), Signal(reset=1)
        self.sync += before.eq(0)
        self.comb += reset.eq(ResetSignal("sys") | before)
        return reset

    def _core_pins(self) -> dict[str, Any]:
        pins: dict[str, Any] = {}
        for name, fields in _CHANNELS.items():
            channel = getattr(self.bus, name)
            for field, width in fields:
                # AXI4-Lite in LiteX has no prot.
                value = getattr(channel, field)[:width] if field != "prot" else 0
                pins[f"i_s_axil_{name}{field}"] = value
            pins[f"i_s_axil_{name}valid"] = channel.valid
            pins[f"o_s_axil_{name}ready"] = channel.ready
        for name, names in (("b", ("resp",)), ("r", ("data", "resp"))):
            channel = getattr(self.bus, name)
            for field in names:
                pins[f"o_s_axil_{name}{field}"] = getattr(channel, field)
            pins[f"o_s_axil_{name}valid"] = channel.valid
            pins[f"i_s_axil_{name}ready"] = channel.ready
        return pins


def add_gpu(soc: Any, verilog: Path, wired: Any = 1) -> None:
    """Add the GPU to a system of LiteX's: two regions of its bus and an interrupt."""
    soc.gpu = Gpu(soc.platform, verilog, wired)
    soc.bus.add_slave("gpu", soc.gpu.bus, SoCRegion(CORE_BASE, CORE_BYTES, cached=False))
    memory = SoCRegion(MEMORY_BASE, 1 << MEMORY_BITS, cached=False)
    soc.bus.add_slave("gpu_memory", soc.gpu.memory, memory)
    if soc.irq.enabled:
        soc.irq.add("gpu", use_loc_if_exists=True)


class SimulatedPlatform(GenericPlatform):
    """Pins of a bench: a clock, a reset, a UART, and a switch in the interrupt's wire."""

    def __init__(self) -> None:
        serial = ("serial", 0, Subsignal("tx", Pins(1)), Subsignal("rx", Pins(1)))
        pins = [(name, 0, Pins(1)) for name in ("clk", "rst", "irq_wired")]
        super().__init__("SIM", [*pins, serial], name="top")

    def build(self, *_: Any, **__: Any) -> None:
        """Build nothing: the bench is compiled over the sources."""


class _Clock(LiteXModule):
    def __init__(self, platform: Any) -> None:
        self.cd_sys = ClockDomain()
        self.comb += self.cd_sys.clk.eq(platform.request("clk"))
        self.comb += self.cd_sys.rst.eq(platform.request("rst"))


class Soc(SoCCore):
    """The whole system.

    Parameters
    ----------
    platform : GenericPlatform
        A bench's, or a board's.
    clock : LiteXModule
        What makes the domain ``sys``.
    hz : int
        Its clocks a second.
    verilog : Path
        The GPU's file.
    bridge : bool
        The UART is a bridge to the bus, for a host; the firmware's text goes through it, too.
    rom : list of int
        The firmware's words. A simulation reads them from a file when it starts.
    wired : Signal or int
        0: the GPU's interrupt is cut.
    baud : int
        Bits a second of the UART.
    """

    def __init__(
        self,
        platform: Any,
        clock: Any,
        hz: int,
        verilog: Path,
        *,
        bridge: bool = False,
        rom: Sequence[int] = (0,),
        wired: Any = 1,
        baud: int = BAUD,
    ) -> None:
        super().__init__(
            platform,
            hz,
            cpu_type="vexriscv",
            integrated_rom_size=ROM_BYTES,
            integrated_rom_init=list(rom),
            integrated_sram_size=0x2000,
            bus_bursting=True,
            bus_timeout=BUS_TIMEOUT,
            uart_name="crossover" if bridge else "serial",
            with_uartbone=bridge,
            uart_baudrate=baud,
            ident="",
        )
        self.crg = clock
        add_gpu(self, verilog, wired)


def simulated(verilog: Path, bridge: bool = False) -> Soc:
    """Return the system, finalized, for a bench of its pins."""
    platform = SimulatedPlatform()
    wired = platform.request("irq_wired")
    system = Soc(platform, _Clock(platform), CLOCK_HZ, verilog, bridge=bridge, wired=wired)
    system.finalize()
    return system
