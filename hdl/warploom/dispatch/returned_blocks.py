"""What a returned block means for its launch, and the SM's errors."""

from typing import Any

from amaranth.hdl import C, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.books import BookedReturn
from warploom.dispatch.resident_walk import precedes
from warploom.lib.bits import decoded
from warploom.lib.rows import Rows
from warploom_spec import BlockStatus, Config, ErrorCode, layouts, timing


class ReturnedBlocks(wiring.Component):
    """Count each stream's placed and returned blocks, and judge what the books say of a report.

    Rules 5, 27 and 28 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms``, ``block_slots``, ``stream_bits``.
    """

    back: Any
    kill: Signal
    picked: Signal
    picked_stream: Signal
    boot: Signal
    boot_stream: Signal
    returned: Signal
    emptied: Signal
    bad: Signal
    faults: Signal
    sm_losses: Signal
    swap_refused: stream.Interface
    error: "data.View[data.StructLayout]"
    error_count: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        streams = 1 << config.stream_bits
        record = layouts.error_record(config).layout()
        super().__init__(
            {
                # What the books say in this cycle, and the streams that are being killed.
                "back": In(BookedReturn(config)),
                "kill": In(streams),
                # A block of this stream was picked in the cycle before.
                "picked": In(1),
                "picked_stream": In(config.stream_bits),
                # The boot writes this stream's counts.
                "boot": In(1),
                "boot_stream": In(config.stream_bits),
                # In this cycle: whose block returns; it leaves none out; it was not `OK`; it is a
                # fault; its SM is lost.
                "returned": Out(streams),
                "emptied": Out(1),
                "bad": Out(1),
                "faults": Out(streams),
                "sm_losses": Out(streams),
                # A swap of the order table that was refused. It waits for a cycle without another
                # error.
                "swap_refused": In(stream.Signature(record)),
                # One cycle later. Registers.
                "error": Out(record),
                "error_count": Out(timing(config).error_counter_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        back, streams = self.back, len(self.kill)
        bits = (self._config.sms * self._config.block_slots).bit_length()
        placed, returned = (Rows(m, name, bits, streams) for name in ("placed", "returned_count"))
        placed.write(
            self.picked | self.boot,
            Mux(self.boot, self.boot_stream, self.picked_stream),
            Mux(self.boot, 0, placed.now(self.picked_stream) + 1)[:bits],
        )
        count = returned.now(back.stream)
        returned.write(
            back.returns | self.boot,
            Mux(self.boot, self.boot_stream, back.stream),
            Mux(self.boot, 0, count + 1)[:bits],
        )
        of_stream = decoded(m, "returning", back.stream, streams, C(1, 1))
        not_asked = Signal()
        status = back.status
        m.d.comb += [
            self.returned.eq(of_stream & back.returns.replicate(streams)),
            self.emptied.eq(back.returns & precedes(count, placed.now(back.stream))),
            not_asked.eq(
                (status == BlockStatus.KILLED) & ~back.swept & ~self.kill.bit_select(back.stream, 1)
            ),
            self.bad.eq((status != BlockStatus.OK) | back.swept),
            self.faults.eq(self.returned & (status[0] | not_asked | back.swept).replicate(streams)),
            self.sm_losses.eq(self.returned & back.swept.replicate(streams)),
        ]
        self._errors(m, not_asked)
        return m

    def _errors(self, m: Module, not_asked: Signal) -> None:
        back, error = self.back, self.error
        lost, silent, asked, any_ = (
            Signal(name=name) for name in ("of_lost", "of_none", "asked", "any")
        )
        refused = self.swap_refused
        m.d.comb += [
            lost.eq(back.reported & back.lost),
            silent.eq(back.reported & ~back.lost & ~back.runs),
            asked.eq(back.returns & not_asked),
            any_.eq(lost | silent | asked),
            refused.ready.eq(~any_),
        ]
        # Fields mean nothing while `valid` is 0: where no swap is refused they need not wait for
        # `any`, which comes late.
        own = any_ if self._config.has_order_table else C(1, 1)
        m.d.sync += [
            error.valid.eq(any_ | refused.valid),
            error.argument.eq(Mux(own, back.sm, refused.payload.argument)),
            error.code.eq(
                Mux(
                    lost,
                    int(ErrorCode.LOST_SM_SIGNAL),
                    Mux(
                        silent,
                        int(ErrorCode.REPORT_NOT_RUNNING),
                        Mux(own, int(ErrorCode.KILL_NOT_ASKED), refused.payload.code),
                    ),
                )
            ),
        ]
        full = self.error_count.all()
        with m.If(any_ | refused.valid):
            m.d.sync += self.error_count.eq(self.error_count + ~full)
