"""Counters of stalled cycles, by the resource that lacks."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.counters import WideCounters
from warploom.lib.pipes import held
from warploom_spec import Config, timing


class Stalled(wiring.Component):
    """Count cycles in which a block may be picked and none is.

    Rule 33 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        Width of the counters.
    causes : sequence of str
        The resources, in order, and what is counted if none lacks.
    late : bool, optional
        The counters start at -1 instead of 0, for tests of their wrap.
    """

    go: Signal
    picks: Signal
    lacks: Signal
    counters: list[Signal]

    def __init__(self, config: Config, causes: Sequence[str], *, late: bool = False) -> None:
        self._late = late
        super().__init__(
            {
                # A block may be picked; one is.
                "go": In(1),
                "picks": In(1),
                # Resources that lack on the SM that is judged.
                "lacks": In(len(causes) - 1),
                # Two cycles later. Registers.
                "counters": Out(timing(config).stall_counter_bits).array(len(causes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        m.submodules.counters = counters = WideCounters(
            len(self.counters), len(self.counters[0]), ready=self._late
        )
        stalled = Signal()
        lacks = held(m, "lacks", self.lacks)
        m.d.sync += stalled.eq(self.go & ~self.picks)
        first = lacks & ~Cat(lacks[:k].any() for k in range(len(lacks)))
        m.d.comb += [
            counters.step.eq(Cat(first, ~lacks.any()) & stalled.replicate(len(lacks) + 1)),
            *(mine.eq(its) for mine, its in zip(self.counters, counters.values, strict=True)),
        ]
        return m
