"""Which resident launch is placed after the active one: the highest priority, then the oldest."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


class NextResident(wiring.Component):
    """Find the highest priority that waits, who has it, and of those the oldest: three cycles.

    Rules 8 and 9 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``stream_bits`` and ``priority_bits``.
    """

    starts: Signal
    start_priority: Signal
    others: Signal
    active: Signal
    active_priority: Signal
    next: Signal
    some: Signal
    comes_first: Signal

    def __init__(self, config: Config) -> None:
        self._streams = streams = 1 << config.stream_bits
        super().__init__(
            {
                # One-hot: the stream whose launch starts in this cycle, and its priority.
                "starts": In(streams),
                "start_priority": In(config.priority_bits),
                # Candidates that are not active.
                "others": In(streams),
                # One-hot: the active launch, and its priority.
                "active": In(streams),
                "active_priority": In(config.priority_bits),
                # One-hot: who is next; 0 without one. Registers, as all outputs.
                "next": Out(streams),
                "some": Out(1),
                # It comes before the active launch.
                "comes_first": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        numbers = range(self._streams)
        priorities = [Signal.like(self.start_priority, name=f"priority_{s}") for s in numbers]
        for s in numbers:
            with m.If(self.starts[s]):
                m.d.sync += priorities[s].eq(self.start_priority)
        top, top_then, top_before = (
            Signal.like(self.start_priority, name=name)
            for name in ("top", "top_then", "top_before")
        )
        starting = self.starts.any()
        for priority in range(1, 1 << len(top)):
            waits = Cat(self.others[s] & (priorities[s] == priority) for s in numbers).any()
            with m.If(waits | (starting & (self.start_priority == priority))):
                m.d.comb += top.eq(priority)
        eligible, loses = (Signal(self._streams, name=name) for name in ("eligible", "loses"))
        # A start's priority stands among the others in the cycle after it.
        of_top = Signal(self._streams)
        m.d.comb += of_top.eq(Cat(~(priorities[s] ^ top_then).any() for s in numbers))
        m.d.sync += [
            top_then.eq(top),
            top_before.eq(top_then),
            eligible.eq(self.others & of_top),
        ]
        older = self._ages(m)
        m.d.comb += loses.eq(
            Cat(Cat(eligible[j] & older[j][s] for j in numbers if j != s).any() for s in numbers)
        )
        m.d.sync += [
            self.next.eq(eligible & ~loses),
            self.some.eq(eligible.any()),
            self.comes_first.eq(
                (top_before > self.active_priority)
                | ((top_before == self.active_priority) & (self.active & loses).any())
            ),
        ]
        return m

    def _ages(self, m: Module) -> dict[int, dict[int, Value]]:
        """Return for each pair of streams whether the first one's launch started before.

        A start sets and clears bits alone, so no gate stands before the registers.
        """
        older: dict[int, dict[int, Value]] = {s: {} for s in range(self._streams)}
        for i in range(self._streams):
            for j in range(i + 1, self._streams):
                bit = Signal(name=f"older_{i}_{j}")
                with m.If(self.starts[i]):
                    m.d.sync += bit.eq(0)
                with m.Elif(self.starts[j]):
                    m.d.sync += bit.eq(1)
                older[i][j], older[j][i] = bit, ~bit
        return older
