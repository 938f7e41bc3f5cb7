"""Runs a block's program one warp behind the index generator: warp w, instruction k, core j."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout, View
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, layouts


class IncrementalScheduler(wiring.Component):
    """Send a program's warps through C cores, one warp a cycle, each core one instruction.

    Core 0 takes the warps in order, in a pass for every C instructions. Core 0 reads each warp's
    indices when it takes the warp; a read that is not granted freezes the whole schedule. Every
    other core runs the warp of the core before it one step later, with the next instruction.

    Parameters
    ----------
    config : Config
        ``cores`` is C.
    """

    i: stream.Interface
    stall: Signal
    read: stream.Interface
    data: stream.Interface
    issue: list[View]
    word: View
    finished: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        index_data = layouts.index_data(config).layout()
        super().__init__(
            {
                # A program. `ready` is combinational in `read.ready` and `stall`: none is held, or
                # its last warp is granted to core 0 for the last time in this cycle.
                "i": In(stream.Signature(layouts.schedule_request(config).layout())),
                # Freezes the schedule in this cycle.
                "stall": In(1),
                # Core 0's next warp; `valid` is combinational in `stall`.
                "read": Out(stream.Signature(layouts.index_read(config).layout())),
                # The warp read, one cycle after its grant.
                "data": In(stream.Signature(index_data)),
                # The warp and instruction that each core runs in this cycle, decided in the step
                # before.
                "issue": Out(layouts.warp_issue(config).layout()).array(config.cores),
                # Core 0's packed warp (combinational from `data`), with `issue[0].valid`.
                "word": Out(index_data),
                # A program's last instruction runs in this cycle. For an empty program: one cycle
                # after its transfer.
                "finished": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        step = Signal()
        granted = Signal()
        item = View(self._item(), Signal(self._item().size, name="item"))
        empty = self._core_0(m, item, step, granted)
        runs = self._cores(m, item, step, granted)
        m.d.comb += [
            self.finished.eq(empty | Value.cast(runs).any()),
            self.word.eq(self.data.payload),
        ]
        m.d.sync += self.data.ready.eq(granted)
        return m

    def _item(self) -> StructLayout:
        """Lay out the item that travels from core to core.

        ``more`` counts the instructions of this pass that are still to come for the warp.
        """
        return StructLayout(
            {
                "warp": self._config.warps_bits,
                "instruction": 16,
                "more": (self._config.cores - 1).bit_length(),
                "final": 1,
            }
        )

    def _core_0(self, m: Module, item: View, step: Signal, granted: Signal) -> Value:
        """Hold a program and hand core 0 its items; returns whether an empty program came."""
        cores = self._config.cores
        request = self.i.payload
        active = Signal()
        program = Signal(request.shape(), reset_less=True)
        warp = Signal(self._config.warps_bits)
        instruction = Signal(16)
        idle_steps = Signal(range(cores))
        due = Signal()
        last_warp = Signal()
        last_pass = Signal()
        taken = Signal()
        empty = Signal()
        m.d.comb += [
            due.eq(active & (idle_steps == 0)),
            self.read.valid.eq(due & ~self.stall),
            self.read.payload.address.eq(program.address),
            self.read.payload.warp.eq(warp),
            self.read.payload.index_warps.eq(program.warps),
            granted.eq(self.read.valid & self.read.ready),
            step.eq(~self.stall & (~due | granted)),
            # ``instructions`` counts down by C after each pass: the instructions that are left.
            last_warp.eq(warp + 1 == program.warps),
            last_pass.eq(program.instructions <= cores),
            item.warp.eq(warp),
            item.instruction.eq(instruction),
            item.more.eq(Mux(last_pass, program.instructions - 1, cores - 1)),
            item.final.eq(last_pass & last_warp),
            self.i.ready.eq(~active | (granted & item.final)),
            taken.eq(self.i.valid & self.i.ready),
        ]
        with m.If(step & (idle_steps != 0)):
            m.d.sync += idle_steps.eq(idle_steps - 1)
        with m.If(granted):
            m.d.sync += warp.eq(warp + 1)
            with m.If(last_warp):
                m.d.sync += [
                    warp.eq(0),
                    instruction.eq(instruction + cores),
                    program.instructions.eq(program.instructions - cores),
                    active.eq(~last_pass),
                ]
                with m.If(program.warps < cores):
                    m.d.sync += idle_steps.eq(cores - program.warps)
        m.d.sync += empty.eq(0)
        with m.If(taken):
            m.d.sync += [program.eq(request), warp.eq(0), instruction.eq(0)]
            with m.If((request.warps == 0) | (request.instructions == 0)):
                m.d.sync += [active.eq(0), empty.eq(1)]
            with m.Else():
                m.d.sync += active.eq(1)
        return empty

    def _cores(self, m: Module, item: View, step: Signal, granted: Signal) -> Signal:
        """Pass the items on from core to core; returns which core runs a program's last one."""
        cores = self._config.cores
        moved = Signal()
        ends = Signal(cores)
        m.d.sync += moved.eq(step)
        coming, follows = item, granted
        for core in range(cores):
            bits = Signal(item.shape().size, name=f"core_{core}", reset_less=True)
            held = View(item.shape(), bits)
            busy = Signal(name=f"core_{core}_busy")
            with m.If(step):
                m.d.sync += [held.eq(coming), busy.eq(follows)]
            runs = busy & moved
            m.d.comb += [
                self.issue[core].valid.eq(runs),
                self.issue[core].warp.eq(Mux(runs, held.warp, 0)),
                self.issue[core].instruction.eq(Mux(runs, held.instruction, 0)),
                ends[core].eq(runs & held.final & (held.more == 0)),
            ]
            coming = View(item.shape(), Signal(item.shape().size, name=f"core_{core}_next"))
            follows = busy & (held.more != 0)
            m.d.comb += [
                coming.eq(held),
                coming.instruction.eq(held.instruction + 1),
                coming.more.eq(held.more - 1),
            ]
        return ends
