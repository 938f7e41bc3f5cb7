"""One port of the index memory for all SMs, which take turns."""

from functools import reduce
from operator import or_
from typing import Any, Final

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib._shift_queue import ShiftQueue
from warploom.lib.bits import any_up_to
from warploom_spec import Config, layouts, timing

#: Requests that an SM's queue holds, and the one before the memory.
DEPTH: Final = 2


class IndexReadArbiter(wiring.Component):
    """Hand the SMs' reads to the index memory, a warp a cycle, and say whose the data are.

    A request that finds nothing in its way is at ``read`` two cycles later.

    Parameters
    ----------
    config : Config
        ``sms``, and the widths of a read.
    """

    request: Any
    read: stream.Interface
    answered: Signal
    data_valid: Signal
    soft_reset_active: Signal
    idle: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        read = stream.Signature(layouts.index_read(config).layout())
        super().__init__(
            {
                # One for each SM. `ready` depends on registers alone.
                "request": In(read).array(config.sms),
                # To the index memory. The sum is made here: `address` is the warp's row, `warp` is
                # 0, and `index_warps` is 1, or 0 for a warp that has no indices.
                "read": Out(read),
                # The index memory gives data in this cycle, and they are taken.
                "answered": In(1),
                # The data are this SM's; combinational in `answered`.
                "data_valid": Out(config.sms),
                # Take no request from the next cycle on; those that are here go on.
                "soft_reset_active": In(1),
                # No request is taken, none is here, and no data are on their way.
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        sms = self._config.sms
        row = data.StructLayout({"row": self._config.index_address_bits, "present": 1})
        waiting = [ShiftQueue(row, DEPTH) for _ in range(sms)]
        m.submodules.chosen = chosen = ShiftQueue(
            data.StructLayout({"read": row, "sm": sms}), DEPTH
        )
        closed = Signal()
        m.d.sync += closed.eq(self.soft_reset_active)
        for n, queue in enumerate(waiting):
            m.submodules[f"waiting_{n}"] = queue
            request = self.request[n].payload
            m.d.comb += [
                # The sum is made here, so the choice of an SM has none behind it.
                queue.i.payload.row.eq(request.address + request.warp),
                queue.i.payload.present.eq(request.warp < request.index_warps),
                queue.i.valid.eq(self.request[n].valid & ~closed),
                self.request[n].ready.eq(queue.i.ready & ~closed),
            ]
        turn, used = self._turn(m, Cat(queue.valid_next for queue in waiting), chosen.i.ready)
        for n, queue in enumerate(waiting):
            m.d.comb += queue.o.ready.eq(turn[n] & chosen.i.ready)
        rows = (
            queue.o.payload.as_value() & turn[n].replicate(row.size)
            for n, queue in enumerate(waiting)
        )
        m.d.comb += [
            chosen.i.valid.eq(used),
            chosen.i.payload.read.eq(reduce(or_, rows)),
            chosen.i.payload.sm.eq(turn),
        ]
        self._answer(m, closed, Cat(queue.o.valid for queue in waiting).any(), chosen.o)
        return m

    def _turn(self, m: Module, has_next: Any, room: Any) -> tuple[Signal, Signal]:
        """Return whose turn it is, a register of one bit an SM, and whether it is used.

        ``has_next``: the SMs that have a request in the next cycle. The next turn is chosen among
        them, the first from the pointer on, in a cycle without a turn or in which one is used.
        """
        sms = self._config.sms
        turn = Signal(sms)
        turns = Signal()
        used = Signal()
        # The SMs from the pointer on. None is the same as all: the pointer is at the first.
        onward = Signal(sms)
        has = Signal(sms)
        ahead = Signal(sms)
        up_to = Signal(sms)
        m.d.comb += [
            has.eq(has_next),
            ahead.eq(has & onward),
            # Of both searches, each SM from the one that is found on.
            up_to.eq(Mux(ahead.any(), any_up_to(ahead), any_up_to(has))),
            used.eq(turns & room),
        ]
        after = Cat(C(0, 1), up_to[:-1])
        with m.If(~turns | room):
            m.d.sync += [turns.eq(has.any()), turn.eq(up_to & ~after)]
            with m.If(has.any()):
                m.d.sync += onward.eq(after)
        return turn, used

    def _answer(self, m: Module, closed: Signal, waits: Any, chosen: Any) -> None:
        """Send the oldest chosen request; remember whose it is until its data come."""
        sms = self._config.sms
        # A request transfers while the data of the oldest one come: one entry more than are on
        # their way.
        depth = timing(self._config).index_read + 1
        m.submodules.asked = asked = ShiftQueue(sms, depth)
        m.d.comb += [
            self.read.valid.eq(chosen.valid),
            self.read.payload.address.eq(chosen.payload.read.row),
            self.read.payload.warp.eq(0),
            self.read.payload.index_warps.eq(chosen.payload.read.present),
            chosen.ready.eq(self.read.ready),
            asked.i.valid.eq(chosen.valid & self.read.ready),
            asked.i.payload.eq(chosen.payload.sm),
            asked.o.ready.eq(self.answered),
            self.data_valid.eq(asked.o.payload & self.answered.replicate(sms)),
            self.idle.eq(closed & ~waits & ~chosen.valid & ~asked.o.valid),
        ]
