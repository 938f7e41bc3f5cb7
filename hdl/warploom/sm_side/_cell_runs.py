"""The cells of one resource: which are taken, and the lowest run of free ones."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class CellRuns(wiring.Component):
    """Find the lowest run of free cells, and mark its cells, in steps of one cell.

    Bit i of `starts` says that a run begins at cell i. Free cells are runs of one cell. A run of
    k + 1 cells begins at i if runs of k cells begin at i and at i + 1. So a step makes all runs
    longer by a cell, and loses those that cannot be. The lowest start is chosen, and widened to a
    run by as many steps.

    Parameters
    ----------
    cells : int
        How many there are.
    """

    look: Signal
    size: Signal
    busy: Signal
    found: Signal
    choose: Signal
    run: Signal
    first: Signal
    take: Signal
    freed: Signal

    def __init__(self, cells: int) -> None:
        super().__init__(
            {
                # Begins a search among the cells that are free.
                "look": In(1),
                # Cells that the block needs, from `look` on.
                "size": In(range(cells + 1)),
                # The search or the marking needs more steps.
                "busy": Out(1),
                # The search has found a run. It means something from `look` on, while not `busy`.
                "found": Out(1),
                # Begins to mark the lowest run that was found.
                "choose": In(1),
                # The marked cells, and the first of them.
                "run": Out(cells),
                "first": Out(range(cells)),
                # The marked cells are taken.
                "take": In(1),
                # Cells that are free again.
                "freed": In(cells),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the part."""
        del platform
        m = Module()
        taken = Signal.like(self.run)
        starts = Signal.like(self.run)
        run = Signal.like(self.run)
        steps = Signal.like(self.size)
        nothing = self.size == 0
        # The lowest bit alone: adding 1 to the inverse carries up to it.
        lowest = starts & (~starts + 1)[: len(starts)]
        # A signal, since each of its bits is read: an expression would be made anew for each.
        first = Signal.like(self.run, name="first_cell")
        m.d.comb += [
            self.busy.eq(steps.any()),
            self.found.eq(starts.any() | nothing),
            self.run.eq(run),
            first.eq(run & ~(run << 1)),
            self.first.eq(_number(first)),
        ]
        m.d.sync += taken.eq((taken | Mux(self.take, run, 0)) & ~self.freed)
        with m.If(self.look | self.choose):
            m.d.sync += steps.eq(Mux(nothing, 0, self.size - 1))
        with m.Elif(steps.any()):
            m.d.sync += steps.eq(steps - 1)
        # `starts` is not needed any more while the cells are marked.
        with m.If(self.look):
            m.d.sync += starts.eq(~taken)
        with m.Elif(steps.any()):
            m.d.sync += starts.eq(starts & (starts >> 1))
        with m.If(self.choose):
            m.d.sync += run.eq(Mux(nothing, 0, lowest))
        with m.Elif(steps.any()):
            m.d.sync += run.eq((run | run << 1)[: len(run)])
        return m


def _number(one: Value) -> Value:
    """Return the number of the only bit that is 1; 0 without one."""
    bits = max(1, (len(one) - 1).bit_length())
    return Cat(Cat(one[i] for i in range(len(one)) if i >> bit & 1).any() for bit in range(bits))
