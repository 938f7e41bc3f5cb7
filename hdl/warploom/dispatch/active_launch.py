"""The launch whose blocks are placed: when another one takes its turn, and what it needs."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.amounts import Amounts
from warploom.dispatch.next_resident import NextResident
from warploom.dispatch.resident_walk import ResidentWalk
from warploom.lib.bits import number_of
from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config
from warploom_spec.resident_packets import resident_block, resident_start


class ActiveLaunch(wiring.Component):
    """Choose the active launch, and keep what its blocks need and where its walk is.

    Rules 8 to 15 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        Widths, and the SM's resources.
    first_number : int, optional
        Number of each launch's first block.
    """

    start: "data.View[data.StructLayout]"
    starts: Signal
    candidates: Signal
    open: Signal
    begun: Signal
    picks: Signal
    active: Signal
    stream: Signal
    idle: Signal
    change: Signal
    may_go: Signal
    picked: Signal
    spent: Signal
    first: Signal
    others: Signal
    needs: Signal
    block: "data.View[data.StructLayout]"

    def __init__(self, config: Config, *, first_number: int = 0) -> None:
        self._config, self._first_number = config, first_number
        self._amounts = Amounts(config)
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # The launch that starts in this cycle; its stream, one-hot, 0 if none does.
                "start": In(resident_start(config).layout()),
                "starts": In(streams),
                # Flags of the streams.
                "candidates": In(streams),
                "open": In(streams),
                "begun": In(streams),
                # A block of the active launch is picked in this cycle.
                "picks": In(1),
                # The active launch, one-hot, and its stream's number. Registers.
                "active": Out(streams),
                "stream": Out(config.stream_bits),
                # None is active, and none was other in the cycle before.
                "idle": Out(1),
                # Another launch becomes active in the next cycle.
                "change": Out(1),
                # A block may be picked in this cycle.
                "may_go": Out(1),
                # A block was picked in the cycle before; the launch's last; its first. Registers.
                "picked": Out(1),
                "spent": Out(1),
                "first": Out(1),
                # Candidates that are not active, in the cycle before. A register.
                "others": Out(streams),
                # What one block takes. A register but for the block's slot.
                "needs": Out(self._amounts.bits),
                # In the cycle after a pick: the picked block, its slot apart. Registers.
                "block": Out(resident_block(config).layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.next = following = NextResident(self._config)
        m.submodules.walk = walk = ResidentWalk(self._config, first_number=self._first_number)
        others, changed, valid, leaves = (
            Signal(size, name=name)
            for name, size in (
                ("present_others", len(self.active)),
                ("changed", 1),
                ("valid", 1),
                ("leaves", 1),
            )
        )
        m.d.comb += [
            others.eq(self.candidates & ~self.active),
            following.starts.eq(self.starts),
            following.start_priority.eq(self.start.priority),
            following.others.eq(others),
            following.active.eq(self.active),
            self.idle.eq(~valid & ~self.others.any()),
            self.spent.eq(held(m, "was_spent", self.picks & walk.last, clear=C(0, 1))),
        ]
        m.d.sync += [self.others.eq(others), changed.eq(self.change), self.picked.eq(self.picks)]
        stays, placing, waits = self._placing(m, changed)
        chosen, number = self._change(m, following, valid, stays, placing, changed)
        m.d.comb += [
            self.may_go.eq(valid & placing & ~self.spent & ~changed & ~self.change),
            leaves.eq(valid & ~changed & (self.change | ~placing | self.spent)),
        ]
        with m.If(self.change):
            m.d.sync += [self.active.eq(chosen), valid.eq(1), self.stream.eq(number)]
        with m.Elif(leaves):
            m.d.sync += [self.active.eq(0), valid.eq(0)]
        self._load(m, walk, following, number, changed, waits)
        fresh = held(m, "fresh", ~(chosen & self.begun).any())
        m.d.comb += [
            walk.changed.eq(changed),
            walk.fresh.eq(fresh),
            walk.stream.eq(number),
            walk.picked.eq(self.picked),
            walk.leaves.eq(leaves),
            walk.active.eq(self.stream),
        ]
        self._first_block(m, changed, fresh, stays, waits)
        low = 0
        for axis, bits in zip("xyz", self._config.grid_bits, strict=True):
            m.d.comb += self.block[f"b{axis}"].eq(walk.block[low : low + bits])
            low += bits
        m.d.comb += [
            self.block.stream.eq(self.stream),
            self.block.block_number.eq(walk.number),
            self.block.warps.eq(data.View(self._amounts.layout, self.needs).warps),
        ]
        return m

    def _placing(self, m: Module, changed: Signal) -> tuple[Signal, Signal, Signal]:
        """Return whether the active launch stays, may be placed, and has mode `wait`.

        A hold does not stop a launch that stays, in whatever cycle it comes.
        """
        del changed
        stays, placing, waits, was_open, was_candidate = (
            Signal(name=name) for name in ("stays", "placing", "waits", "was_open", "was_candidate")
        )
        m.d.sync += [
            was_open.eq((self.active & self.open).any()),
            was_candidate.eq((self.active & self.candidates).any()),
        ]
        m.d.comb += placing.eq(was_candidate | (was_open & stays))
        return stays, placing, waits

    def _first_block(
        self, m: Module, changed: Signal, fresh: Signal, stays: Signal, waits: Signal
    ) -> None:
        """Know whether the next picked block is the launch's first one."""
        none_yet = Signal()
        with m.If(changed):
            m.d.sync += none_yet.eq(fresh)
        with m.Elif(self.picks):
            m.d.sync += none_yet.eq(0)
        m.d.sync += [
            stays.eq(waits & ((~none_yet & ~changed) | (changed & ~fresh) | self.picks)),
            self.first.eq(none_yet & self.picks),
        ]

    def _change(
        self,
        m: Module,
        following: NextResident,
        valid: Signal,
        stays: Signal,
        placing: Signal,
        changed: Signal,
    ) -> tuple[Signal, Signal]:
        """Decide on a change in one cycle, and make it in the next one; return who comes."""
        wanted = Signal()
        pending = Signal()
        # Who is next, and of which priority, is known of the new active launch alone from then on.
        settling = Signal(2)
        chosen = Signal.like(self.active, name="chosen")
        number = Signal.like(self.stream)
        turn = following.comes_first & ~stays
        m.d.comb += wanted.eq(
            following.some
            & (~valid | ~placing | self.spent | turn)
            & ~(pending | changed | settling.any())
        )
        m.d.sync += [
            pending.eq(wanted),
            settling.eq(Cat(changed, settling[0])),
            chosen.eq(following.next),
            number.eq(number_of(following.next)),
        ]
        # The first block of a launch that stays may have been picked meanwhile.
        m.d.comb += self.change.eq(pending & ~(valid & stays & placing & ~self.spent))
        return chosen, number

    def _load(
        self,
        m: Module,
        walk: ResidentWalk,
        following: NextResident,
        number: Signal,
        changed: Signal,
        waits: Signal,
    ) -> None:
        """Keep a row for each launch: its needs at once, what else there is a cycle later."""
        config, start = self._config, self.start
        needs = Cat(*(start[name] for name in self._amounts.names if name != "slots"))
        axes: list[Any] = [start.gx, start.gy, start.gz]
        ones = Cat(*(axis == 1 for axis in axes))
        row = Cat(needs, start.priority, start.wait_mode, ones)
        quick = Rows(m, "needs_rows", len(row), len(self.active))
        quick.write(self.starts.any(), start.stream, row)
        slot = self._amounts.layout["slots"].width
        kept = Signal(len(needs), name="kept_needs")
        needs_row = quick.now(number)
        with m.If(self.change):
            m.d.sync += Cat(kept, following.active_priority, waits, walk.ones).eq(needs_row)
        m.d.comb += self.needs.eq(Cat(C(1, slot), kept))
        tags = ("index_address", "entry") if config.makes_indices else ("entry",)
        slow_row = Cat(*axes, *(start[name] for name in tags))
        slow = Rows(m, "launch_rows", len(slow_row), len(self.active), block=True)
        slow.write(self.starts.any(), start.stream, slow_row)
        size = sum(config.grid_bits)
        tag = Signal(len(slow_row) - size)
        # Input ports of the walk are driven through signals of this module.
        grid = Signal(size, name="grid")
        launch_row = slow.later(number)
        with m.If(changed):
            m.d.sync += Cat(grid, tag).eq(launch_row)
        m.d.comb += [
            walk.grid.eq(grid),
            Cat(self.block[name] for name in tags).eq(tag),
        ]
