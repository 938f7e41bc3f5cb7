"""Values that travel through stages, a register each."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from warploom.lib.bits import crossed


class Pipe:
    """A value in the stages ``first`` to ``last``, one register behind the other.

    ``pipe[k]`` is the value as it was k - ``first`` cycles ago.

    Parameters
    ----------
    m : Module
        The module that has the registers.
    name : str
        Their name, before the stage's number.
    value : Value
        The value in stage ``first``.
    first, last : int
        Stages.
    keeps : bool, optional
        Whether a reset leaves the registers as they are.
    """

    def __init__(
        self, m: Module, name: str, value: Any, first: int, last: int, *, keeps: bool = True
    ):
        self._stages: dict[int, Value] = {first: Value.cast(value)}
        for stage in range(first + 1, last + 1):
            held: Signal = Signal(
                len(self._stages[first]), name=f"{name}_{stage}", reset_less=keeps
            )
            m.d.sync += held.eq(self._stages[stage - 1])
            self._stages[stage] = held

    def __getitem__(self, stage: int) -> Value:
        """Return the value in a stage."""
        return self._stages[stage]


def held(m: Module, name: str, value: Any, *, clear: Any = None, init: int = 0) -> Signal:
    """Return the value of the cycle before, or ``init`` if ``clear`` was 1 then."""
    register: Signal = Signal(
        len(Value.cast(value)), name=name, init=init, reset_less=clear is None
    )
    m.d.sync += register.eq(value)
    if clear is not None:
        with m.If(clear):
            m.d.sync += register.eq(init)
    return register


def decoded_later(
    m: Module, name: str, number: Value, width: int, enable: Value, *, clear: Any
) -> Value:
    """Return what `decoded` returns, a cycle later: registers stand between both of its steps."""
    half = len(number) // 2
    low = held(m, f"{name}_low", Cat(number[:half] == k for k in range(1 << half)))
    high = held(
        m,
        f"{name}_high",
        Cat((number[half:] == k) & enable for k in range(-(-width >> half))),
        clear=clear,
    )
    return crossed(low, high, width)
