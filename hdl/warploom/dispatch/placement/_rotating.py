"""A search that begins behind the last one that was found."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.lib.bits import any_up_to


def rotating(m: Module, name: str, requests: Value, advance: Value) -> Value:
    """Return the first request at or above a pointer, cyclically.

    The pointer is kept as the mask of places at and above it, none standing for place 0; with
    ``advance`` it becomes one past the request returned. Requests are late: two searches, from the
    pointer and from place 0, go side by side, and a place waits for the one that it needs.
    """
    width = len(requests)
    above = Signal(width, name=f"{name}_from_pointer")
    ahead = Signal(width, name=f"{name}_ahead")
    granted = Signal(width, name=f"{name}_granted")
    up_to, ahead_up_to = (Signal(width, name=f"{name}_{w}") for w in ("up_to", "ahead_up_to"))
    some_ahead = Signal(name=f"{name}_some_ahead")
    following = Signal(width)
    m.d.comb += [
        ahead.eq(requests & above),
        some_ahead.eq(ahead.any()),
        up_to.eq(any_up_to(requests)),
        ahead_up_to.eq(any_up_to(ahead)),
        following.eq(Cat(C(0, 1), Mux(some_ahead, ahead_up_to, up_to))),
        granted.eq(
            requests
            & ~Cat(
                (above[k] & ahead_up_to[k - 1]) | (~above[k] & (some_ahead | up_to[k - 1]))
                if k
                else ~above[0] & some_ahead
                for k in range(width)
            )
        ),
    ]
    with m.If(advance):
        m.d.sync += above.eq(following)
    return granted
