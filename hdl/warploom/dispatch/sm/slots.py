"""The block slots of one SM: the next one to give, and the blocks that run in them."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warploom_spec import Config

#: Tap of a shift register that takes all 2^n states, by n.
_TAPS = {2: 0, 3: 1, 4: 2, 5: 2, 6: 4}


def following(value: Signal) -> Value:
    """Return the number after this one, in a fixed order of all 2^n numbers.

    A linear-feedback shift register whose order also includes the state 0: two gates at any width.
    """
    bits = len(value)
    if bits == 1:
        return ~value
    fed = value[-1] ^ value[_TAPS[bits]] ^ ~value[:-1].any()
    return Cat(fed, value[:-1])


def slot_entry(config: Config) -> data.StructLayout:
    """Return the layout of a slot's number with its toggle."""
    return data.StructLayout({"slot": config.slot_bits, "toggle": 1})


class Boot(wiring.Signature):
    """The cycles after a reset, in which the slots are gone through.

    Members: ``active``; ``entered``, which is ``active`` of the cycle before; ``slot``, a slot in
    each cycle.
    """

    def __init__(self, config: Config) -> None:
        super().__init__({"active": Out(1), "entered": Out(1), "slot": Out(config.slot_bits)})


class TakenOffer(wiring.Signature):
    """The block that the SM takes from its offer port.

    Members: ``valid``, it is taken in this cycle; ``slot``, with the block's ``toggle`` in it;
    ``place``, its launch's.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "slot": Out(config.slot_bits),
                "toggle": Out(1),
                "place": Out(1),
            }
        )


class SlotQueue(wiring.Component):
    """Free slots, first in first out, for ``out_of_order``.

    Parameters
    ----------
    config : Config
        ``block_slots``.
    """

    front: "data.View[data.StructLayout]"
    pop: Signal
    push: Signal
    back: "data.View[data.StructLayout]"

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # The slot that is given next (combinational, on the state), with its toggle.
                "front": Out(slot_entry(config)),
                # The slot is given at the end of the cycle.
                "pop": In(1),
                # A slot enters at the end of the cycle. All slots fit.
                "push": In(1),
                "back": In(slot_entry(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        bits = self._config.slot_bits
        memory: Memory = Memory(shape=slot_entry(self._config), depth=1 << bits, init=[])
        m.submodules.memory = memory
        write = memory.write_port()
        read = memory.read_port(domain="comb")
        head = Signal(bits)
        tail = Signal(bits)
        m.d.comb += [
            read.addr.eq(head),
            self.front.eq(read.data),
            write.addr.eq(tail),
            write.data.eq(self.back),
            write.en.eq(self.push),
        ]
        with m.If(self.pop):
            m.d.sync += head.eq(following(head))
        with m.If(self.push):
            m.d.sync += tail.eq(following(tail))
        return m


class SlotRound(wiring.Component):
    """A pointer that goes round the slots, for ``in_order``; a lap's toggle is 1, then 0, ...

    Parameters
    ----------
    config : Config
        ``block_slots``.
    """

    slot: Signal
    toggle: Signal
    step: Signal

    def __init__(self, config: Config) -> None:
        self._slots = config.block_slots
        super().__init__(
            {
                # The slot that the pointer is at, and its lap's toggle. Registers.
                "slot": Out(config.slot_bits),
                # The stubs lack `init`.
                "toggle": Out(1, init=1),  # type: ignore[call-arg]  # no init in the stubs
                # The pointer goes to the next slot at the end of the cycle.
                "step": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        with m.If(self.step):
            m.d.sync += self.slot.eq(self.slot + 1)
            with m.If(self.slot == self._slots - 1):
                m.d.sync += [self.slot.eq(0), self.toggle.eq(~self.toggle)]
        return m


class SmSlots(wiring.Component):
    """Give each block its slot, and find the block of each report.

    Each slot has two toggles: one changes when its block is taken, the other when the block is
    reported. A block runs in the slot while they differ.

    Parameters
    ----------
    config : Config
        ``block_slots``, ``reclaim``.
    """

    entered: Signal
    front: "data.View[data.StructLayout]"
    pop: Signal
    taken: Any
    slot: Signal
    runs: Signal
    place: Signal
    hit: Signal
    retire: Signal
    done: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        self._in_order = config.reclaim == "in_order"
        super().__init__(
            {
                # The boot enters `slot` of the last cycle in this cycle.
                "entered": In(1),
                # The slot that is given next, with the toggle that its block has.
                "front": Out(slot_entry(config)),
                # The slot is given at the end of the cycle.
                "pop": In(1),
                # The SM's offer, in the cycle in which it is taken.
                "taken": In(TakenOffer(config)),
                # The slot of the report at the port, which is looked up in the next cycle; in the
                # boot a slot that enters then.
                "slot": In(config.slot_bits),
                # A block that was taken before this cycle runs in the slot that is looked up; the
                # block's place.
                "runs": Out(1),
                "place": Out(1),
                # That block has ended.
                "hit": In(1),
                # `in_order`: the oldest block is retired in this cycle.
                "retire": In(1),
                # `in_order`: the oldest block that is not retired was reported two cycles ago or
                # before.
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        bits = self._config.slot_bits
        what = data.StructLayout({"toggle": 1, "place": 1})
        offered: Memory = Memory(shape=what, depth=1 << bits, init=[])
        ended: Memory = Memory(shape=1, depth=1 << bits, init=[])
        m.submodules.offered_toggles, m.submodules.ended_toggles = offered, ended
        offered_write = offered.write_port()
        offered_read = offered.read_port(domain="comb")
        ended_write = ended.write_port()
        ended_read = ended.read_port(domain="comb")
        looked_up = Signal(bits, reset_less=True)
        # The toggle of a block that ends is written in the next cycle.
        ending = Signal()
        slot = Signal(bits, reset_less=True)
        toggle = Signal(reset_less=True)
        # Both slots are the same. They are compared a cycle ahead, because the memories are slow.
        repeated = Signal(reset_less=True)
        taken = self.taken
        boot_toggle = 0 if self._in_order else 1
        m.d.sync += [
            looked_up.eq(self.slot),
            repeated.eq(self.slot == looked_up),
            ending.eq(self.hit | self.entered),
            slot.eq(looked_up),
            toggle.eq(offered_read.data.toggle & (boot_toggle | ~self.entered)),
        ]
        m.d.comb += [
            offered_write.addr.eq(taken.slot),
            offered_write.data.toggle.eq(taken.toggle),
            offered_write.data.place.eq(taken.place),
            offered_write.en.eq(taken.valid),
            offered_read.addr.eq(looked_up),
            ended_read.addr.eq(looked_up),
            ended_write.addr.eq(slot),
            ended_write.data.eq(toggle),
            ended_write.en.eq(ending),
            self.place.eq(offered_read.data.place),
            # A block that ended in the last cycle does not run. The toggles show it only later.
            self.runs.eq((offered_read.data.toggle ^ ended_read.data) & ~(ending & repeated)),
        ]
        if not self._in_order:
            m.submodules.free = free = SlotQueue(self._config)
            m.d.comb += [
                self.front.slot.eq(free.front.slot),
                self.front.toggle.eq(~free.front.toggle),
                free.pop.eq(self.pop),
                free.push.eq(ending),
                free.back.slot.eq(slot),
                free.back.toggle.eq(toggle),
            ]
            return m
        # The boot clears all toggles, because the first lap's toggle is 1.
        with m.If(self.entered):
            m.d.comb += [
                offered_write.addr.eq(looked_up),
                offered_write.data.eq(0),
                offered_write.en.eq(1),
            ]
        m.submodules.given = given = SlotRound(self._config)
        m.submodules.oldest = oldest = SlotRound(self._config)
        retired: Memory = Memory(shape=1, depth=1 << bits, init=[])
        m.submodules.retired_toggles = retired
        retired_write = retired.write_port()
        retired_read = retired.read_port(domain="comb")
        m.d.comb += [
            self.front.slot.eq(given.slot),
            self.front.toggle.eq(given.toggle),
            given.step.eq(self.pop),
            oldest.step.eq(self.retire),
            retired_write.addr.eq(slot),
            retired_write.data.eq(toggle),
            retired_write.en.eq(ending),
            retired_read.addr.eq(oldest.slot),
            self.done.eq(
                Mux(ending & (slot == oldest.slot), 1, retired_read.data == oldest.toggle)
            ),
        ]
        return m
