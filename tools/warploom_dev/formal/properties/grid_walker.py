"""GridWalker walks in order, each block once, from the start to the last, and holds its output."""

from typing import Final

from amaranth.hdl import Cat, Mux, Value

from warploom.dispatch import GridWalker
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config

CONFIG = Config(grid_bits=(3, 2, 2))
#: Coordinates as wide as a launch's: in a walk every bit of x goes from 0 to 1 and back.
WIDE = Config()

#: Seeded bugs in the block's source. ``skip_block``: block (2, y, z) of each row is left out unless
#: it is the grid's last. ``skip_x7``: block (7, y, z), likewise: no grid of 7 blocks a row shows
#: it. ``no_wrap_y``: y goes on counting where z steps. ``number_kept``: the number goes on from one
#: grid to the next. ``number_runs``: a refused block is counted in each cycle.
PLANTED: Final = {
    **{
        bug: Change(
            GridWalker,
            "elaborate",
            """self.o.valid.eq(held),
        step.eq(self.o.valid & self.o.ready)""",
            f"""self.o.valid.eq(held & ~(skip := ~last & (self.o.payload.bx == {x}))),
        step.eq((self.o.valid & self.o.ready) | (held & skip))""",
        )
        for bug, x in (("skip_block", 2), ("skip_x7", 7))
    },
    "no_wrap_y": Change(
        GridWalker,
        "_axis",
        "    m.d.comb += [place.eq(count)",
        """    if axis == "y":
        wrapped, ends = following, _precedes(following, size)
    m.d.comb += [place.eq(count)""",
    ),
    "number_kept": Change(
        GridWalker,
        "elaborate",
        "number.eq(Mux(load, self._first_number, number + 1))",
        "number.eq(number + 1)",
    ),
    "number_runs": Change(
        GridWalker,
        "elaborate",
        "with m.If(step | ~held):",
        "with m.If(held | ~held):",
    ),
}


def bench(fault: str | None = None, *, wide: bool = False) -> FormalBench:
    """Return the bench; a grid is what LaunchCheck lets pass: 0 <= start < g in each axis.

    The wide one states the order alone.
    """
    b = (
        FormalBench("grid_walker_wide", WIDE, "all grids of 31, 16 and 16 bits", fault, PLANTED)
        if wide
        else FormalBench("grid_walker", CONFIG, "grids up to 7 x 3 x 3", fault, PLANTED)
    )
    dut = GridWalker(b.config)
    b.drive(dut)
    given, walked = dut.i.payload, dut.o.payload
    inside = [given[f"start_{a}"] < given[f"g{a}"] for a in "xyz"]
    b.assume(
        "start_inside",
        "a grid's start is inside it: start < g in each axis",
        ~dut.i.valid | Cat(inside).all(),
        source="launch_path.handed_grid",
    )

    # The grid that is held, and the block that comes next: the shadow of the page's rules.
    held = b.register(1, "held")
    size = {a: b.register(len(given[f"g{a}"]), f"size_{a}") for a in "xyz"}
    expected = {a: b.register(len(given[f"g{a}"]), f"expected_{a}") for a in "xyz"}
    at_end = {a: expected[a] + 1 == size[a] for a in "xyz"}
    last = at_end["x"] & at_end["y"] & at_end["z"]
    taken, started = dut.o.valid & b.inputs["o__ready"], dut.i.valid & dut.i.ready
    with b.m.If(taken):
        carry: Value = Cat(1)
        for a in "xyz":
            with b.m.If(carry):
                b.m.d.sync += expected[a].eq(Mux(at_end[a], 0, expected[a] + 1))
            carry = carry & at_end[a]
    with b.m.If(started):
        b.m.d.sync += [held.eq(1)]
        b.m.d.sync += [size[a].eq(given[f"g{a}"]) for a in "xyz"]
        b.m.d.sync += [expected[a].eq(given[f"start_{a}"]) for a in "xyz"]
    with b.m.Elif(dut.flush | (taken & last)):
        b.m.d.sync += held.eq(0)

    in_order = Cat(walked[f"b{a}"] == expected[a] for a in "xyz").all()
    order = "what it gives is the held grid's next block, x fastest"
    if wide:
        top = 1 << (len(expected["x"]) - 1)
        b.check(
            "order",
            order,
            ~dut.o.valid | (held & in_order),
            fault="skip_x7",
            # PDR does not close at this width; the start is free, so that each step is searched.
            bound=6,
            cover=(
                "x steps by toggling all its bits",
                taken & ~at_end["x"] & (expected["x"] == top - 1),
            ),
        )
        return b.close()

    # For the covers: whether the held grid has been walked through x, y and z from block 0 on.
    whole = b.register(1, "whole")
    rows = (size["x"] == 3) & (size["y"] == 2) & (size["z"] == 2)
    with b.m.If(started):
        b.m.d.sync += whole.eq(~Cat(given[f"start_{a}"] for a in "xyz").any())

    b.check(
        "order",
        order,
        ~dut.o.valid | (held & in_order),
        fault="no_wrap_y",
        cover=("a grid of 3 x 2 x 2 is walked whole", taken & last & whole & rows),
    )
    b.check(
        "once",
        "while a grid is held its next block is there: none is left out, none comes twice",
        dut.o.valid == held,
        fault="skip_block",
        cover=("y and z step at once", taken & at_end["x"] & at_end["y"] & ~at_end["z"]),
    )
    b.check(
        "last",
        "`last` is at the highest block and nowhere else",
        ~dut.o.valid | (walked.last == last),
        fault="skip_block",
        cover=("two grids without a gap", taken & last & started),
    )
    number = b.register(len(walked.block_number), "number")
    with b.m.If(started):
        b.m.d.sync += number.eq(0)
    with b.m.Elif(taken):
        b.m.d.sync += number.eq(number + 1)
    b.check(
        "number",
        "`block_number` is how many blocks of the held grid were taken before",
        ~dut.o.valid | (walked.block_number == number),
        fault="number_kept",
        cover=("a grid's fourth block", taken & (number == 3)),
    )
    b.check_held(dut.o, "o", unless=dut.flush)
    return b.close()
