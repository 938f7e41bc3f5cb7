"""One port of the index memory for all SMs, which take turns."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib._shift_queue import ShiftQueue
from warploom.lib.bits import any_up_to, first_of
from warploom.lib.unnamed import UNNAMED
from warploom_spec import Config, layouts

#: Requests that an SM's queue holds, and the one before the memory.
DEPTH = 2


class IndexReadArbiter(wiring.Component):
    """Hand the SMs' reads to the index memory, a warp a cycle, and say whose the data are.

    A request that finds nothing in its way stands at ``read`` two cycles later.

    Parameters
    ----------
    config : Config
        ``sms``, and the widths of a read.
    """

    request: Any
    read: stream.Interface
    answered: Signal
    data_valid: Signal
    closing: Signal
    idle: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        read = stream.Signature(layouts.index_read(config).layout())
        super().__init__(
            {
                # One for each SM. `ready` is combinational in `closing`; else the state of a
                # register.
                "request": In(read).array(config.sms),
                # To the index memory. The sum is made here: `address` is the warp's row, `warp` is
                # 0, and `index_warps` is 1, or 0 for a warp that has no indices.
                "read": Out(read),
                # The index memory gives data in this cycle, and they are taken.
                "answered": In(1),
                # The data are this SM's; combinational in `answered`.
                "data_valid": Out(config.sms),
                # Take no request in this cycle; those that are here go on.
                "closing": In(1),
                # No request is here, and no data are on their way.
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        sms = self._config.sms
        shape = layouts.index_read(self._config).layout()
        waiting = []
        for n in range(sms):
            queue = ShiftQueue(shape, DEPTH)
            m.submodules[f"waiting_{n}"] = queue
            waiting.append(queue)
            m.d.comb += [
                queue.i.payload.eq(self.request[n].payload),
                queue.i.valid.eq(self.request[n].valid & ~self.closing),
                self.request[n].ready.eq(queue.i.ready & ~self.closing),
            ]
        row = data.StructLayout({"row": self._config.index_address_bits, "present": 1, "sm": sms})
        m.submodules.chosen = chosen = ShiftQueue(row, DEPTH)
        has = Signal(sms)
        m.d.comb += has.eq(Cat(queue.o.valid for queue in waiting))
        turn = self._turn(m, has, chosen.i)
        for n, queue in enumerate(waiting):
            m.d.comb += queue.o.ready.eq(turn[n] & chosen.i.ready)
        request: Any = Signal(shape, name="request_chosen")
        for n, queue in enumerate(waiting):
            with m.If(turn[n]):
                m.d.comb += request.eq(queue.o.payload)
        # The row stands in a register before the memory compares it with what is not written yet.
        m.d.comb += [
            chosen.i.valid.eq(has.any()),
            chosen.i.payload.row.eq(request.address + request.warp),
            chosen.i.payload.present.eq(request.warp < request.index_warps),
            chosen.i.payload.sm.eq(turn),
        ]
        self._answer(m, has, chosen.o)
        return m

    def _turn(self, m: Module, has: Signal, entry: Any) -> Signal:
        """Return the SM that is chosen: the first from the pointer on that has a request."""
        # The SMs from the pointer on. None stands for all: the pointer is at the first.
        onward = Signal(len(has))
        ahead = Signal(len(has))
        first_ahead = first_of(m, "first_ahead", ahead)
        first = first_of(m, "first_of_all", has)
        turn = Signal(len(has))
        m.d.comb += [ahead.eq(has & onward), turn.eq(Mux(ahead.any(), first_ahead, first))]
        with m.If(has.any() & entry.ready):
            m.d.sync += onward.eq(Cat(C(0, 1), any_up_to(turn)[:-1]))
        return turn

    def _answer(self, m: Module, has: Signal, chosen: Any) -> None:
        """Send the oldest chosen request; remember whose it is until its data come."""
        asked = Signal(len(has), name=UNNAMED)
        sent = Signal()
        transfers = chosen.valid & self.read.ready
        m.d.comb += [
            self.read.valid.eq(chosen.valid),
            self.read.payload.address.eq(chosen.payload.row),
            self.read.payload.warp.eq(0),
            self.read.payload.index_warps.eq(chosen.payload.present),
            chosen.ready.eq(self.read.ready),
            self.data_valid.eq(asked & self.answered.replicate(len(has))),
            self.idle.eq(~has.any() & ~chosen.valid & ~sent),
        ]
        m.d.sync += sent.eq(transfers)
        with m.If(transfers):
            m.d.sync += asked.eq(chosen.payload.sm)
