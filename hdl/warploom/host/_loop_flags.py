"""What each loop does, and which one the walker looks at next."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import lowest_number
from warploom_spec import Config
from warploom_spec.loop_packets import loop_answers, loop_begin, loop_end


class LoopFlags(wiring.Component):
    """Keep a few bits of each loop, and choose the next one in turn.

    Parameters
    ----------
    config : Config
        ``loop_sections``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # What comes in for any loop.
                "begin": In(loop_begin(config).layout()),
                "answers": In(loop_answers(config).layout()),
                "loop_end": In(loop_end(config).layout()),
                "loop_stop": In(config.loop_sections),
                # The walker's loop: all its slots are taken; its ring enters the pipe, or its end.
                "loop": In(config.loop_bits),
                "runs": In(1),
                "rings": In(1),
                "ends": In(1),
                # A loop may be chosen in this cycle: the first one behind the walker's.
                "found": Out(1),
                "chosen": Out(config.loop_bits),
                # Of the walker's loop: it begins; it is stopped, and why; its last launch was rung
                # and not accepted.
                "begins": Out(1),
                "stopped": Out(1),
                "failed": Out(1),
                "by_host": Out(1),
                "again": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        loops = self._config.loop_sections
        here = Signal(loops, name="here")
        starts, breaks = Signal(loops, name="starts"), Signal(loops, name="breaks")
        end = ports.loop_end
        m.d.comb += [
            here.eq(Cat(self.loop == k for k in range(loops))),
            starts.eq(Cat(ports.begin.valid & (ports.begin.loop == k) for k in range(loops))),
            breaks.eq(Cat(end.valid & ~end.finished & (end.loop == k) for k in range(loops))),
        ]
        begins = Signal(loops, name="loops_that_begin")
        running, awaits = Signal(loops, name="running"), Signal(loops, name="awaits")
        again = Signal(loops, name="to_ring_again")
        answered = ports.answers.accepted | ports.answers.full | ports.answers.refused
        free, rung_or_over = Signal(loops, name="free"), Signal(loops, name="rung_or_over")
        m.d.comb += [
            free.eq(~awaits | answered),
            rung_or_over.eq(here & (self.rings | self.ends).replicate(loops)),
        ]
        m.d.sync += [
            begins.eq(starts | (begins & ~(here & (self.runs | self.ends).replicate(loops)))),
            running.eq(
                (running & ~(here & self.ends.replicate(loops)))
                | (here & self.runs.replicate(loops))
            ),
            awaits.eq((here & self.rings.replicate(loops)) | ~free),
            # A launch that is rung is not accepted yet.
            again.eq(
                (rung_or_over & self.rings.replicate(loops))
                | (again & ~rung_or_over & ~ports.answers.accepted)
            ),
        ]
        stopped, failed, refused = self._stops(m, starts, breaks)
        was_refused = Signal(name="was_refused")
        for bit, bits in (
            (self.begins, begins),
            (self.stopped, stopped),
            (self.failed, failed),
            (was_refused, refused),
            (self.again, again),
        ):
            m.d.comb += bit.eq((bits & here).any())
        m.d.comb += self.by_host.eq(self.stopped & ~self.failed & ~was_refused)
        self._choose(m, begins | starts | (running & free))
        return m

    def _stops(self, m: Module, starts: Signal, breaks: Signal) -> tuple[Signal, Signal, Signal]:
        """Return which loops are stopped; of these, which by a launch that failed, or a refusal."""
        stopped, failed, refused = (
            Signal(len(starts), name=name) for name in ("stopped_loops", "broken", "refused")
        )
        ports: Any = self
        refuses = ports.answers.refused
        stays = Signal(len(starts), name="stays_stopped")
        m.d.comb += stays.eq(stopped & ~starts)
        m.d.sync += [
            stopped.eq(stays | breaks | refuses | self.loop_stop),
            failed.eq((stays & failed) | (~stays & breaks)),
            refused.eq((stays & refused) | (~stays & refuses & ~breaks)),
        ]
        return stopped, failed, refused

    def _choose(self, m: Module, candidates: Value) -> None:
        """Choose the first candidate behind the walker's loop, cyclically."""
        loops = self._config.loop_sections
        # The mapper would take more gates for fewer steps.
        some = Signal(loops, name="candidates", attrs={"keep": 1})
        behind = Signal(loops, name="behind")
        m.d.comb += [
            some.eq(candidates),
            # No loop stands behind the first.
            behind.eq(some & Cat(C(0, 1), *(self.loop < k for k in range(1, loops)))),
            self.found.eq(some.any()),
            self.chosen.eq(Mux(behind.any(), lowest_number(behind), lowest_number(some))),
        ]
