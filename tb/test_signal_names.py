"""Signals have the same names, and blocks the same netlists, on every Python."""

import sys
from typing import Any

import pytest
from amaranth import tracer
from amaranth.hdl import Signal
from amaranth.lib.memory import Memory

import warploom._signal_names as names

# What Python 3.11 and 3.12 find in these functions, written down: the last value of an assignment
# to several variables has the last one's name, those before it have none.


def one() -> list[Signal]:
    plain = Signal()
    return [plain]


def two() -> list[Signal]:
    first, second = Signal(), Signal(2)
    return [first, second]


def three() -> list[Signal]:
    first, second, third = Signal(), Signal(), Signal(init=1)
    return [first, second, third]


def chained() -> list[Signal]:
    outer = inner = Signal()
    return [outer, inner]


def past_two_loads() -> list[Signal]:
    low, high = 1, 2
    made, _, last = Signal(), low, high
    return [made, Signal(last)]


def loaded_and_stored() -> list[Signal]:
    class Holder:
        kept: Any

    holder = Holder()
    holder.kept = stored = Signal()
    return [holder.kept, stored]


def kept_by_a_closure() -> list[Signal]:
    first, second = Signal(), Signal()
    return [which() for which in (lambda: first, lambda: second)]


def argument_of_a_call() -> list[Signal]:
    wide, narrow = Signal.like(Signal(4)), len(Signal(2))
    return [wide, Signal(narrow)]


def read_ports() -> list[Signal]:
    memory = Memory(shape=2, depth=4, init=[])
    write, read = memory.write_port(), memory.read_port(domain="comb")
    return [write.addr, read.addr]


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (one, ["plain"]),
        (two, ["$signal", "second"]),
        (three, ["$signal", "$signal", "third"]),
        (chained, ["outer", "outer"]),
        (past_two_loads, ["last", "$signal"]),
        (loaded_and_stored, ["kept", "kept"]),
        (kept_by_a_closure, ["$signal", "$signal"]),
        (argument_of_a_call, ["$like", "$signal"]),
        (read_ports, ["$signature__addr", "read__addr"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_signal_has_the_same_name_on_every_python(made: Any, wanted: list[str]) -> None:
    assert [signal.name for signal in made()] == wanted


def test_amaranths_search_is_replaced_once_and_only_where_it_misses_names() -> None:
    search = tracer.get_var_name
    assert hasattr(search, "__wrapped__") == (sys.version_info >= names.PAIRS_SINCE)
    names.install()
    assert tracer.get_var_name is search
