"""From a host's doorbell to a block at an SM: the whole core."""

from functools import reduce
from operator import and_
from typing import Any, Final

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Module,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.block_dispatcher import STALLS
from warploom.host.bus_port import BusPort, axil_signature
from warploom.host.execution_unit import ExecutionUnit, cores_signature
from warploom.host.host_registers import HostRegisters
from warploom.host.loop_expander import LoopExpander
from warploom.host.mailbox import Mailbox
from warploom.host.task_units import connect_unit
from warploom.launch.launch_path import LaunchPath
from warploom.sm_side import IndexReadArbiter
from warploom_spec import Config, layouts

#: Clock domains, all with the clock of `sync`: BusPort's, reset by `rst`; HostRegisters', reset by
#: a register of `rst`; that of all other registers, reset by a register of `rst` and of a soft
#: reset that is forced.
_BUS: Final = "bus"
_REGISTERS: Final = "registers"
_CORE: Final = "core"
#: What all SMs see of LaunchPath.
_TO_SMS: Final = ("block", "words", "offer", "kill")


class FrontEnd(wiring.Component):
    """Doorbells, launch path, execution units and records behind one AXI4-Lite port.

    Wires and rules: ``docs/host/front_end.md``. There is no register between two blocks, but for
    the resets'.

    Parameters
    ----------
    config : Config
        As for the parts.
    first_ticket, first_clock : int, optional
        The first launch's ticket and the clock's first value, for tests of their wraps.
    """

    axil: Any
    irq: Signal
    cores: Any
    words: Any
    block: Any
    offer: Signal
    report: Any
    kill: Signal
    read: Any
    data: Any
    data_valid: Signal

    def __init__(
        self,
        config: Config,
        *,
        first_ticket: int = 1,
        first_clock: int = 0,
    ) -> None:
        self._config = config
        self._path = path = LaunchPath(
            config,
            first_ticket=first_ticket,
            first_clock=first_clock,
        )
        members = path.signature.members
        reads = (
            {
                # Index reads.
                "read": In(stream.Signature(layouts.index_read(config).layout())).array(config.sms),
                # Packed indices, common to all SMs.
                "data": Out(layouts.index_data(config).layout()),
                # `data` is for this SM in this cycle, and must be taken. These three are absent
                # where nothing makes indices.
                "data_valid": Out(config.sms),
            }
            if config.makes_indices
            else {}
        )
        super().__init__(
            {
                # The host.
                "axil": In(axil_signature(config)),
                # The interrupt; a level.
                "irq": Out(1),
                # Each unit's port to its cores.
                "cores": Out(cores_signature(config)).array(config.units),
                # LaunchPath's: a block with its launch's words, common to all SMs; to whom it is
                # offered; ends of blocks; a kill bit for each stream.
                **{name: members[name] for name in (*_TO_SMS, "report")},
                **reads,
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the core."""
        del platform
        m = Module()
        config, path = self._config, self._path
        port, registers = BusPort(config), HostRegisters(config)
        mailbox = Mailbox(config)
        self._add(m, "bus_port", port, _BUS)
        self._add(m, "registers", registers, _REGISTERS)
        self._add(m, "mailbox", mailbox)
        self._add(m, "launch_path", path)
        arbiter = IndexReadArbiter(config) if config.makes_indices else None
        if arbiter is not None:
            self._add(m, "read_arbiter", arbiter)
        self._reset(m, registers)
        wiring.connect(m, wiring.flipped(self.axil), port.axil)
        loops: Any = LoopExpander(config) if config.has_loops else None
        if loops is not None:
            self._add(m, "loops", loops)
            self._loops(m, registers, mailbox, loops)
        self._bus(m, port, registers, [mailbox] if loops is None else [mailbox, loops])
        self._control(m, registers, mailbox, arbiter)
        self._launches(m, registers, mailbox)
        self._units(m, registers, mailbox)
        self._sms(m, path)
        if arbiter is not None:
            self._reads(m, path, arbiter)
        return m

    def _add(self, m: Module, name: str, block: wiring.Component, domain: str = _CORE) -> None:
        """Add a block whose registers are in a domain."""
        m.submodules[name] = DomainRenamer(domain)(block)

    def _reset(self, m: Module, registers: HostRegisters) -> None:
        """Make the clock domains.

        `sync` itself has no register: a simulator sees the clocks of all domains at once.
        """
        late = {
            _REGISTERS: ResetSignal(),
            _CORE: ResetSignal() | registers.forced_next,
        }
        resets: dict[str, Value] = {_BUS: ResetSignal()}
        for name, reset in late.items():
            # 1 at first: after power-up the core is reset in its first cycle, as after `rst`.
            resets[name] = Signal(name=f"{name}_reset", reset_less=True, init=1)
            m.d[_BUS] += resets[name].eq(reset)
        for name, reset in resets.items():
            m.domains += ClockDomain(name, local=True)
            m.d.comb += [ClockSignal(name).eq(ClockSignal()), ResetSignal(name).eq(reset)]

    def _bus(self, m: Module, port: BusPort, registers: HostRegisters, others: list[Any]) -> None:
        """Let all blocks see every access; each refuses what is not its own.

        A soft reset that is forced forgets accesses of the others that are under way.
        """
        forgotten = self._forgotten(m, registers)
        for block in (registers, *others):
            m.d.comb += [block.write.eq(port.write), block.read.eq(port.read)]
        refused, answer = registers.write_refused, registers.answer
        not_read, data = answer.refused, answer.data
        for block in others:
            refused = refused & (block.write_refused | forgotten)
            not_read = not_read & (block.answer.refused | forgotten)
            data = data | (block.answer.data & ~forgotten.replicate(32))
        m.d.comb += [
            port.write_refused.eq(refused),
            port.answer.refused.eq(not_read),
            port.answer.data.eq(data),
            registers.refused.eq(port.refused),
            self.irq.eq(registers.irq),
        ]

    def _forgotten(self, m: Module, registers: HostRegisters) -> Signal:
        """Return 1 in the three cycles after the last one of a soft reset that is forced."""
        since = Signal(3, name="since_forced")
        forgotten = Signal()
        m.d[_REGISTERS] += [
            since.eq(Cat(registers.forced_next, since)),
            forgotten.eq(since.any()),
        ]
        return forgotten

    def _control(
        self,
        m: Module,
        registers: HostRegisters,
        mailbox: Mailbox,
        arbiter: IndexReadArbiter | None,
    ) -> None:
        """Connect soft reset, records, SMs and counters."""
        path: Any = self._path
        idle = [path.idle, ~mailbox.waiting]
        index_errors = []
        if arbiter is not None:
            idle.append(arbiter.idle)
            index_errors = ["index_error", "index_error_count"]
            m.d.comb += arbiter.soft_reset_active.eq(registers.soft_reset_active)
        m.d.comb += [
            mailbox.soft_reset_active.eq(registers.soft_reset_active),
            path.soft_reset_active.eq(registers.soft_reset_active),
            path.restart.eq(registers.restart),
            registers.idle.eq(reduce(and_, idle)),
            path.pop.eq(registers.pop),
            registers.oldest.eq(path.oldest),
            registers.records.eq(path.records),
            path.enable.eq(registers.enable),
            registers.room.eq(path.room & path.records_left.replicate(len(path.room))),
            registers.lost.eq(path.lost),
        ]
        if self._config.has_order_table:
            wiring.connect(m, registers.order_swap, path.order_swap)
        for name in (
            *(f"stall_{cause}" for cause in STALLS),
            "dispatch_error",
            "dispatch_error_count",
            *index_errors,
        ):
            m.d.comb += getattr(registers, name).eq(getattr(path, name))

    def _launches(self, m: Module, registers: HostRegisters, mailbox: Mailbox) -> None:
        """Connect launches, commands, aborts, streams, their answers and times."""
        path: Any = self._path
        for name in ("launch", "command", "abort"):
            wiring.connect(m, getattr(mailbox, name), getattr(path, name))
        wiring.connect(m, registers.clear_stream, path.clear_stream)
        m.d.comb += [
            mailbox.room.eq(path.room),
            mailbox.records_left.eq(path.records_left),
            mailbox.clearing.eq(registers.clearing),
            mailbox.launch_answer.eq(path.answer),
            mailbox.command_answer.eq(path.command_answer),
            mailbox.abort_answer.eq(path.abort_answer),
            registers.completed.eq(mailbox.completed),
            path.launch_timeout.eq(registers.launch_timeout),
            registers.clock.eq(path.clock),
            # Mapping tables are not in hardware (docs/decisions/).
            path.tables.eq(0),
        ]

    def _loops(self, m: Module, registers: Any, mailbox: Any, loops: Any) -> None:
        """Connect LoopExpander, but for the bus."""
        path: Any = self._path
        m.d.comb += [
            loops.soft_reset_active.eq(registers.soft_reset_active),
            loops.loop_stop.eq(registers.loop_stop),
            loops.begin.eq(mailbox.begin),
            loops.answers.eq(mailbox.answers),
            mailbox.step.eq(loops.step),
            mailbox.loop_result.eq(loops.result),
            loops.room.eq(path.room),
            loops.records_left.eq(path.records_left),
            loops.loop_end.eq(path.loop_end),
        ]

    def _units(self, m: Module, registers: HostRegisters, mailbox: Mailbox) -> None:
        """Connect the units between the mailbox and their cores."""
        units = []
        for k in range(self._config.units):
            unit = ExecutionUnit(self._config)
            self._add(m, f"unit_{k}", unit)
            connect_unit(m, k, unit, mailbox, self.cores[k])
            m.d.comb += [
                unit.reset.eq(registers.unit_reset[k]),
                registers.strays[k].eq(unit.strays),
            ]
            units.append(unit)
        m.d.comb += [
            mailbox.unit_reset.eq(registers.unit_reset),
            mailbox.missing.eq(Cat(unit.missing for unit in units)),
            registers.busy.eq(Cat(unit.busy for unit in units)),
            registers.missing.eq(Cat(unit.missing for unit in units)),
            registers.disconnected.eq(mailbox.disconnected),
        ]

    def _sms(self, m: Module, path: Any) -> None:
        """Connect the SMs' ports."""
        for outer, inner in zip(self.report, path.report, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        m.d.comb += [getattr(self, name).eq(getattr(path, name)) for name in _TO_SMS]

    def _reads(self, m: Module, path: Any, arbiter: IndexReadArbiter) -> None:
        """Connect the SMs' index reads."""
        for n in range(self._config.sms):
            wiring.connect(m, wiring.flipped(self.read[n]), arbiter.request[n])
        wiring.connect(m, arbiter.read, path.read)
        m.d.comb += [
            path.data.ready.eq(1),
            arbiter.answered.eq(path.data.valid),
            self.data.eq(path.data.payload),
            self.data_valid.eq(arbiter.data_valid),
        ]
