"""One SM: takes warps, runs them a turn after the other, says when they end."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from simt_core.decoder import DECODED, Decoder, Kind
from simt_core.index_reader import IndexReader
from simt_core.lane_alu import LaneAlu
from simt_core.lane_walk import LaneWalk
from simt_core.packets import memory_request, retired_turn
from simt_core.registers import Registers
from simt_core.warp_contexts import add_contexts, short_pc
from simt_core.warp_state import add_indices, add_origins, axis_of, csr_values
from simt_core.warp_table import WarpTable
from warploom_spec import Config, WarploomError, layouts
from warploom_spec.sm_packets import placed_block, warp_end, warp_start


class SimtCore(wiring.Component):
    """Run the warps of one SM, a turn after the other (``docs/examples/simt_core.md``).

    Parameters
    ----------
    config : Config
        The front end's; it must make indices.
    memory_bits : int
        Width of a byte address of the common memory.

    Raises
    ------
    WarploomError
        If nothing makes indices.
    """

    def __init__(self, config: Config, memory_bits: int = 20) -> None:
        if not config.makes_indices:
            raise WarploomError("index_memory_warps is 0; legal for SimtCore: 2 to 65536")
        self._config = config
        self._memory_bits = memory_bits
        super().__init__(
            {
                # As at the SM's port.
                "kill": In(1 << config.stream_bits),
                # A pulse before a block's first warp: the block with its range of shared memory,
                # and its launch words.
                "block": In(placed_block(config).layout()),
                "words": In(layouts.launch_words(config).layout()),
                "block_valid": In(1),
                # Warps to run.
                "warp": In(stream.Signature(warp_start(config).layout())),
                # A pulse: warps of one block have ended.
                "ended": Out(warp_end(config).layout()),
                "ended_valid": Out(1),
                # Index reads, as at the front end.
                "read": Out(stream.Signature(layouts.index_read(config).layout())),
                "data": In(layouts.index_data(config).layout()),
                "data_valid": In(1),
                # Instructions: a word's address, and the word in the next cycle.
                "fetch_address": Out(memory_bits - 2),
                "fetched": In(32),
                # Lanes' accesses; what was loaded comes in the cycle after the transfer.
                "request": Out(stream.Signature(memory_request(memory_bits).layout())),
                "loaded": In(32),
                # A pulse for each turn, for benches.
                "retired": Out(retired_turn(config).layout()),
                "retired_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        config = self._config
        lanes = range(config.warp_size)
        m.submodules.table = table = WarpTable(config)
        m.submodules.reader = reader = IndexReader(config)
        m.submodules.decoder = decoder = Decoder()
        decoded = Signal(DECODED)
        m.submodules.walk = walk = LaneWalk(config, self._memory_bits)
        m.submodules.registers = registers = Registers(config)
        self._connect(m, table, reader, walk, registers)
        origin = add_origins(m, config, table, self.block, self.words)
        words = origin.words
        context = add_contexts(m, config, table, origin.starting, self._memory_bits)
        indices = add_indices(m, config, table, reader, self.data.words)

        # The lowest pc of the runnable lanes, and the lanes that stand there. Pcs are short ones.
        pc_bits = self._memory_bits + 1
        before = context.before
        waiting = Signal(len(lanes))
        m.d.comb += waiting.eq(Mux(table.opened, 0, before.waiting))
        pcs = [before.pcs.word_select(n, pc_bits) for n in lanes]
        runnable = Signal(len(lanes))
        m.d.comb += runnable.eq(before.running & ~waiting)
        # A lane that is not runnable has a 1 above its pc.
        keys = [Cat(pcs[n], ~runnable[n]) for n in lanes]
        lowest = Signal(pc_bits)
        m.d.comb += lowest.eq(_least(m, keys, "least"))
        pc = Signal(self._memory_bits)
        active = Signal(len(lanes))

        # The instruction and its operands.
        word = Signal(32)
        executing = Signal()
        m.d.comb += [self.fetch_address.eq(lowest[2:-1]), decoder.word.eq(self.fetched)]
        csrs = csr_values(m, word[20:24], indices, origin)
        shift, mask = axis_of(m, word[20:24], words)
        operands = [[row.word_select(n, 32) for n in lanes] for row in (registers.a, registers.b)]
        # Registers: what a lane has computed or found, and its next pc.
        results, targets = self._execute(m, decoded, pc, operands, csrs, executing, walk)
        m.d.comb += [walk.decoded.eq(decoded), walk.lanes.eq(active), walk.firsts.eq(Cat(results))]
        m.d.comb += walk.seconds.eq(registers.b)
        m.d.comb += walk.immediate.eq(Mux(decoded.index, shift, decoded.immediate))
        m.d.comb += walk.mask.eq(Mux(decoded.index, mask, (1 << 32) - 1))
        m.d.comb += walk.shared_first.eq(origin.block.shared_first)
        m.d.comb += walk.shared_units.eq(words.shared)

        # What the turn leaves behind.
        after = context.after
        ends = Signal(len(lanes))
        m.d.comb += ends.eq(active & Cat(target == 0 for target in targets))
        rd = word[7:12]
        writes = table.turned & decoded.writes
        m.d.comb += after.pcs.eq(Cat(Mux(active[n], targets[n], pcs[n]) for n in lanes))
        m.d.comb += after.running.eq(before.running & ~ends)
        m.d.comb += after.waiting.eq(
            (waiting | Mux(decoded.kind == Kind.BARRIER, active, 0)) & ~ends
        )
        m.d.comb += table.block_warps.eq(words.warps)
        m.d.comb += table.block.eq(~(after.running & ~after.waiting).any())
        m.d.comb += [registers.current.eq(table.current), registers.rs1.eq(self.fetched[15:20])]
        m.d.comb += [registers.rs2.eq(self.fetched[20:25]), registers.rd.eq(rd)]
        m.d.comb += registers.lanes.eq(Mux(writes, active, 0))
        m.d.comb += registers.values.eq(Mux(writes, Cat(results), 0))
        m.d.comb += registers.arguments.eq(origin.starting.arguments)
        m.d.comb += [self.retired_valid.eq(table.turned), self.retired.slot.eq(table.slot)]
        m.d.comb += [self.retired.warp.eq(origin.warp), self.retired.pc.eq(pc)]
        m.d.comb += [self.retired.lanes.eq(active), self.retired.rd.eq(Mux(decoded.writes, rd, 0))]
        m.d.comb += self.retired.values.eq(Cat(results))

        jumps_aside = (active & Cat(target[1] for target in targets)).any()
        illegal = (decoded.kind == Kind.ILLEGAL) | jumps_aside
        with m.FSM() as fsm:
            m.d.comb += table.busy.eq(~fsm.ongoing("PICK"))
            m.d.comb += registers.read.eq(fsm.ongoing("FETCH"))
            m.d.comb += executing.eq(fsm.ongoing("EXECUTE"))
            with m.State("PICK"):
                m.d.comb += table.take.eq(table.picked_valid)
                with m.If(table.picked_valid):
                    m.next = "CHOOSE"
            with m.State("CHOOSE"):
                there = Cat(runnable[n] & (pcs[n] == lowest) for n in lanes)
                m.d.sync += [pc.eq(lowest), active.eq(there)]
                m.next = "FETCH"
                with m.If(~runnable.any()):
                    # A warp without threads.
                    m.next = "END"
                with m.Elif(lowest[-1]):
                    m.d.comb += table.fault.eq(1)
                    m.next = "PICK"
            with m.State("FETCH"):
                m.d.sync += [word.eq(self.fetched), decoded.eq(decoder.o)]
                m.next = "EXECUTE"
            with m.State("EXECUTE"):
                m.next = "RETIRE"
                # A lane's result is what it finds in its walk, from now on.
                m.d.sync += [decoded.adds.eq(0), decoded.logic.eq(0), decoded.compares.eq(0)]
                with m.If(decoded.walks):
                    m.d.comb += walk.start.eq(1)
                    m.next = "WALK"
            with m.State("RETIRE"):
                m.next = "PICK"
                with m.If(illegal):
                    m.d.comb += table.fault.eq(1)
                with m.Else():
                    m.d.comb += table.turned.eq(1)
                    with m.If(~after.running.any()):
                        m.next = "END"
                    with m.Elif(table.block):
                        m.next = "BARRIER"
            with m.State("WALK"):
                m.d.comb += [walk.stop.eq(table.doomed), table.fault.eq(walk.fault)]
                m.d.comb += table.turned.eq(walk.done & ~walk.stopped)
                with m.If(walk.done | walk.fault | walk.stopped):
                    m.next = "PICK"
            with m.State("END"):
                m.d.comb += table.end.eq(1)
                with m.If(table.end_done):
                    m.next = "BARRIER"
            with m.State("BARRIER"):
                m.d.comb += table.check.eq(1)
                m.next = "PICK"
        return m

    def _connect(
        self, m: Module, table: WarpTable, reader: IndexReader, walk: LaneWalk, registers: Registers
    ) -> None:
        """Connect the parts with the ports and with each other.

        The table is closed as a turn ends: that writes the context that a warp's start would write.
        """
        starts = self.warp.valid & self.warp.ready
        wiring.connect(m, reader.read, wiring.flipped(self.read))
        wiring.connect(m, walk.request, wiring.flipped(self.request))
        wiring.connect(m, wiring.flipped(self.warp), table.start)
        m.d.comb += [table.kill.eq(self.kill), table.block_valid.eq(self.block_valid)]
        m.d.comb += [table.block_slot.eq(self.block.slot), table.block_stream.eq(self.block.stream)]
        m.d.comb += [table.closed.eq(table.turned), table.got.eq(reader.got)]
        m.d.comb += [table.got_entry.eq(reader.got_entry), self.ended.eq(table.ended)]
        m.d.comb += [self.ended_valid.eq(table.ended_valid), table.cleaned.eq(registers.cleared)]
        m.d.comb += [registers.dirty.eq(table.dirty), registers.entry.eq(table.entry)]
        m.d.comb += [registers.starts.eq(starts), reader.started.eq(starts)]
        m.d.comb += [reader.entry.eq(table.entry), reader.row.eq(self.warp.payload.row)]
        m.d.comb += [reader.cleared.eq(table.cleared), reader.data_valid.eq(self.data_valid)]
        m.d.comb += walk.loaded.eq(self.loaded)

    def _execute(
        self, m: Module, decoded: Any, pc: Any, operands: Any, csrs: Any, executing: Any, walk: Any
    ) -> tuple[list[Signal], list[Signal]]:
        """Return each lane's result and next pc, in the cycle after the operands.

        In a walk a lane's result becomes what the walk finds.
        """
        kind, immediate, (csr, own_csrs) = decoded.kind, decoded.immediate, csrs
        relative, following = Signal(32), Signal(32)
        m.d.comb += [relative.eq(pc + immediate), following.eq(pc + 4)]
        # Results that are the same for all lanes; 0 if there is none.
        common = Signal(32)
        with m.Switch(kind):
            with m.Case(Kind.JAL, Kind.JALR):
                m.d.comb += common.eq(following)
            for of_kind, value in ((Kind.LUI, immediate), (Kind.AUIPC, relative), (Kind.CSR, csr)):
                with m.Case(of_kind):
                    m.d.comb += common.eq(value)
        found = Signal(32)
        m.d.comb += found.eq(Mux(executing, common, walk.result))
        own = (kind == Kind.CSR) & executing
        bits = self._memory_bits
        results = [Signal(32, name=f"result_{n}") for n in range(len(own_csrs))]
        targets = [Signal(bits + 1, name=f"target_{n}") for n in range(len(own_csrs))]
        for n, (a, b) in enumerate(zip(*operands, strict=True)):
            m.submodules[f"alu_{n}"] = alu = LaneAlu()
            m.d.comb += [alu.a.eq(a), alu.b.eq(b), alu.decoded.eq(decoded)]
            with m.If(executing | walk.found[n]):
                m.d.sync += results[n].eq(found | alu.result | Mux(own, own_csrs[n], 0))
            jumps = (kind == Kind.JAL) | (kind == Kind.BRANCH) & alu.taken
            target = Mux(jumps, short_pc(relative, bits), short_pc(following, bits))
            aside = short_pc(Cat(C(0, 1), alu.total[1:]), bits)
            m.d.sync += targets[n].eq(Mux(kind == Kind.JALR, aside, target))
        return results, targets


def _least(m: Module, keys: list[Any], name: str) -> Any:
    """Return the least of some numbers, compared in pairs."""
    if len(keys) == 1:
        return keys[0]
    half = len(keys) // 2
    low = _least(m, keys[:half], f"{name}_0")
    high = _least(m, keys[half:], f"{name}_1")
    least = Signal(len(low), name=name)
    m.d.comb += least.eq(Mux(low < high, low, high))
    return least
