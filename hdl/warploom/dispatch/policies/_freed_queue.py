"""The SMs whose slots came back, the first one at the head."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.dispatch.policies._candidate import Candidate, take
from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config


class FreedQueue(wiring.Component):
    """A FIFO of SM numbers in block memory, its output, and the head.

    It has more rows than there are slots, so it is never full. ``quiet`` wins over all but a number
    that enters in its cycle. The part ``freed_first`` of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``sms`` and ``block_slots``.
    """

    freed: Signal
    freed_sm: Signal
    quiet: Signal
    pop: Signal
    head_valid: Signal
    head: Any

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A slot of this SM came back: it enters.
                "freed": In(1),
                "freed_sm": In(config.sm_bits),
                # All that stands in the queue goes.
                "quiet": In(1),
                # The head goes; late in its cycle.
                "pop": In(1),
                # Registers.
                "head_valid": Out(1),
                "head": Out(Candidate(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the block."""
        del platform
        m = Module()
        config = self._config
        depth = 1 << (config.sms * config.block_slots).bit_length()
        line = Rows(m, "freed_line", config.sm_bits, depth, block=True)
        write = Signal(range(depth))
        read = Signal(range(depth))
        following = Signal(range(depth), init=1)
        valid = Signal(name="output_valid")
        takes = Signal()
        line.write(self.freed, write, self.freed_sm)
        # Both are read: what is taken is known late.
        output = Mux(held(m, "took", takes), line.later(following), line.later(read))
        m.d.comb += takes.eq(valid & (~self.head_valid | self.pop))
        m.d.sync += [
            write.eq(write + self.freed),
            valid.eq(Mux(takes, following != write, read != write)),
            self.head_valid.eq(takes | (self.head_valid & ~self.pop)),
        ]
        with m.If(takes):
            take(m, self.head, output)
            m.d.sync += [read.eq(following), following.eq(following + 1)]
        with m.If(self.quiet):
            m.d.sync += [
                read.eq(write),
                following.eq(write + 1),
                valid.eq(0),
                self.head_valid.eq(0),
            ]
        return m
