"""A timer of one gate: a linear-feedback shift register."""

from amaranth.hdl import Cat, Module, Signal, Value


def _state_after(steps: int, bits: int, tap: int) -> int | None:
    """Return the register's state after so many steps from 0, None if it was there before."""
    state, seen = 0, set()
    for _ in range(steps):
        seen.add(state)
        fed = 1 ^ (state >> (bits - 1)) ^ (state >> tap)
        state = (state << 1 | fed & 1) & ((1 << bits) - 1)
        if state in seen:
            return None
    return state


def timer(m: Module, name: str, steps: int, start: Value) -> Value:
    """Return a register: whether ``steps`` cycles have passed since the cycle after ``start``.

    The shift register's input is the XNOR of its last bit and of another bit. Width and other bit
    are the first pair that gives ``steps`` different states. Later values have no meaning.

    Parameters
    ----------
    m : Module
        Gets the register.
    name : str
        Its name.
    steps : int
        At least 2.
    start : Value
        One bit; starts anew.
    """
    found = (
        (bits, tap, _state_after(steps - 1, bits, tap))
        for bits in range(max(2, (steps - 1).bit_length()), 64)
        for tap in range(bits - 1)
    )
    bits, tap, end = next(choice for choice in found if choice[2] is not None)
    state = Signal(bits, name=name)
    over = Signal(name=f"{name}_over")
    m.d.sync += [state.eq(Cat(~(state[-1] ^ state[tap]), state[:-1])), over.eq(state == end)]
    with m.If(start):
        m.d.sync += [state.eq(0), over.eq(0)]
    return over
