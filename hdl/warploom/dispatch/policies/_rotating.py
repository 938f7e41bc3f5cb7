"""A search that begins behind the last request that was found."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value


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
