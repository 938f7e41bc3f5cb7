"""How many launches of each loop were accepted, have ended, and have finished."""

from typing import Any

from amaranth.hdl import C, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import before
from warploom.lib.rows import Rows
from warploom_spec import Config
from warploom_spec.loop_packets import loop_end

#: Bits that tell how many launches are unfinished: `in_flight` has as many.
_LOW = 8


class LoopCounts(wiring.Component):
    """Count the launches of each loop.

    Few launches are unfinished at a time, and none is sent after one that failed. So the accepted
    and the failed ones are counted in a few bits. Those that finished are the others of those that
    ended.

    Parameters
    ----------
    config : Config
        ``loop_sections``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A launch has ended. It counts in each cycle.
                "loop_end": In(loop_end(config).layout()),
                # The walker's loop: all its counts become 0, in a cycle without an end; its launch
                # enters the pipe, for the first time or again; its last one was not accepted.
                "loop": In(config.loop_bits),
                "clears": In(1),
                "rings": In(1),
                "again": In(1),
                # Its launches that were rung and have not ended, the one that was not accepted too.
                "unended": Out(_LOW),
                # In the cycle of a sampling: whose counts, and whether only those that finished.
                "read_loop": In(config.loop_bits),
                "reads_finished": In(1),
                # In the cycle after it. A register.
                "result": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        end, loops = ports.loop_end, self._config.loop_sections
        ended, failed = (
            Rows(m, f"{name}_rows", bits, loops) for name, bits in (("ended", 32), ("failed", _LOW))
        )
        row = Mux(end.valid, end.loop, self.loop)
        for counts, step in ((ended, C(1, 1)), (failed, ~end.finished)):
            value = counts.now(end.loop)
            total = (value + step)[: len(value)]
            counts.write(end.valid | self.clears, row, total & end.valid.replicate(len(value)))
        rung = Rows(m, "rung_rows", _LOW, loops)
        of_loop = rung.now(self.loop)
        rung.write(
            self.clears | (self.rings & ~self.again),
            self.loop,
            (of_loop + 1)[:_LOW] & ~self.clears.replicate(_LOW),
        )
        m.d.comb += self.unended.eq(of_loop - ended.now(self.loop)[:_LOW])
        without = failed.now(self.read_loop) & self.reads_finished.replicate(_LOW)
        m.d.comb += self.result.eq(before(m, "result_held", ended.now(self.read_loop) - without))
        return m
