"""Final records, kept in order until the host has read them."""

from typing import Any, Final

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.fifo import SyncFIFOBuffered
from warploom_spec import Config, Fate, layouts
from warploom_spec.host_commands import record_words
from warploom_spec.queue import FinalFate

#: Fates that the host reads as ABORTED: only an abort or a soft reset stops a launch here.
_STOPPED: Final = (Fate.KILLED, Fate.DRAINED, Fate.SKIPPED, Fate.ABORTED)
_FATE_BITS: Final = 2


class CompletionQueue(wiring.Component):
    """Keep final records in block memory, and show the oldest one.

    Parameters
    ----------
    config : Config
        ``queue_depth``: there are 4 of it plus 4 entries.
    """

    ended: stream.Interface
    oldest: "data.View[data.FlexibleLayout]"
    records: Signal
    pop: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # LaunchPath's records. `ready` is the state of a register.
                "ended": In(stream.Signature(layouts.end_record(config).layout())),
                # The oldest record, from three cycles after it came into an empty queue; 0 if there
                # is none. A register.
                "oldest": Out(record_words(config).layout()),
                # Records here, from two cycles after they came. A register.
                "records": Out(range(config.records + 1)),
                # Forget the record that is shown: that of `oldest`, or the next one after a pop in
                # the cycle before.
                "pop": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ended: Any = self.ended.payload
        fate = Signal(_FATE_BITS)
        with m.Switch(ended.fate):
            with m.Case(Fate.FINISHED):
                m.d.comb += fate.eq(FinalFate.FINISHED)
            with m.Case(*_STOPPED):
                m.d.comb += fate.eq(FinalFate.ABORTED)
            with m.Default():
                m.d.comb += fate.eq(FinalFate.FAILED)
        kept = {"ticket": ended.ticket, "code": ended.code, "fate": fate, "cycles": ended.cycles}
        width = sum(len(value) for value in kept.values())
        # The library's FIFO for block memory. Its output register is one more entry.
        m.submodules.queue = queue = SyncFIFOBuffered(width=width, depth=self._config.records)
        m.d.comb += [
            queue.w_data.eq(Cat(*kept.values())),
            queue.w_en.eq(self.ended.valid),
            self.ended.ready.eq(queue.w_rdy),
            queue.r_en.eq(self.pop),
        ]
        # Registers, because the word of a block memory comes late in its cycle. `records` waits for
        # `shown`, so that a host that reads RECORDS first finds the record.
        shown = Signal(width, reset_less=True)
        is_shown = Signal()
        m.d.sync += [
            shown.eq(queue.r_data),
            is_shown.eq(queue.r_rdy),
            self.records.eq(queue.level),
        ]
        oldest = Signal(width)
        m.d.comb += oldest.eq(shown & is_shown.replicate(width))
        low = 0
        for name, value in kept.items():
            m.d.comb += self.oldest[name].eq(oldest[low : low + len(value)])
            low += len(value)
        return m
