"""Searches that begin behind the last request that was found."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.lib.bits import any_up_to, first_of


def rotating(m: Module, name: str, requests: Value, advance: Value) -> Value:
    """Return the first request at or above a pointer, cyclically; 0 without a request.

    The pointer is kept as the mask of places at and above it, none standing for place 0; with
    ``advance`` it becomes one past the request returned. Both searches keep their gates: the mapper
    would make chains of them where it thinks that there is time.
    """
    width = len(requests)
    ahead, below, below_ahead = (
        Signal(width, name=f"{name}_{what}", attrs={"keep": 1})
        for what in ("ahead", "below", "below_ahead")
    )
    above, found = Signal(width, name=f"{name}_above"), Signal(width, name=f"{name}_found")
    some_ahead = Signal(name=f"{name}_some_ahead", attrs={"keep": 1})
    m.d.comb += [
        ahead.eq(requests & above),
        some_ahead.eq(ahead.any()),
        below.eq(Cat(requests[:k].any() for k in range(width))),
        below_ahead.eq(Cat(ahead[:k].any() for k in range(width))),
        found.eq(Mux(some_ahead, ahead & ~below_ahead, requests & ~below)),
    ]
    with m.If(advance):
        m.d.sync += above.eq(Mux(some_ahead, below_ahead, below))
    return found


def first_ahead(
    m: Module, name: str, requests: Value, chooses: Value, *, restarts: Any = 0
) -> tuple[Value, Value]:
    """Return the first request at or above a pointer, not cyclically, and whether there is one.

    With ``chooses`` the pointer becomes one past that request, or place 0 without one; with
    ``restarts`` place 0.
    """
    width = len(requests)
    above = Signal(width, name=f"{name}_above", init=-1)
    ahead, found = Signal(width, name=f"{name}_ahead"), Signal(name=f"{name}_found")
    behind = Cat(C(0, 1), any_up_to(ahead)[:-1])
    m.d.comb += [ahead.eq(requests & above), found.eq(ahead.any())]
    with m.If(chooses):
        m.d.sync += above.eq(Mux(found, behind, C(-1, width)))
    with m.If(restarts):
        m.d.sync += above.eq(-1)
    return first_of(m, f"{name}_first", ahead), found
