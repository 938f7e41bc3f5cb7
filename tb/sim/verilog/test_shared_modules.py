"""What is made several times is one module of Verilog, wired as it was."""

import re
from collections.abc import Iterable

from amaranth.back import rtlil, verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_sim.verilog import shared_modules


class Inner(wiring.Component):
    """A sum in a register, with an addend that may differ."""

    a: In(4)
    o: Out(4)

    def __init__(self, step: int) -> None:
        super().__init__()
        self._step = step

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.o.eq(self.a + self._step)
        return m


class Adder(Inner):
    """The same with its register one level further down."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = Inner(self._step)
        m.d.comb += [inner.a.eq(self.a), self.o.eq(inner.o)]
        return m


class Chain(wiring.Component):
    """Adders in a row."""

    a: In(4)
    o: Out(4)

    def __init__(self, steps: Iterable[int]) -> None:
        super().__init__()
        self._steps = tuple(steps)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = self.a
        for k, step in enumerate(self._steps):
            adder = Adder(step)
            m.submodules[f"adder_{k}"] = adder
            m.d.comb += adder.a.eq(value)
            value = adder.o
        m.d.comb += self.o.eq(value)
        return m


def modules(text: str) -> list[str]:
    """Return the names of the modules of RTLIL or Verilog."""
    return re.findall(r"^module (\S+?)(?=[\s(]|$)", text, re.MULTILINE)


def test_equal_modules_are_one_with_what_is_in_them():
    plain = rtlil.convert(Chain([1, 1, 1]), name="top", emit_src=False)
    shared = shared_modules.share(plain)
    assert len(modules(plain)) == 7
    assert modules(shared) == ["\\top", "\\top.adder_0", "\\top.adder_0.inner"]
    assert shared.count("cell \\top.adder_0 ") == 3


def test_modules_that_differ_far_inside_stay_apart():
    shared = shared_modules.share(rtlil.convert(Chain([1, 2, 1]), name="top", emit_src=False))
    kinds = ["\\top", "\\top.adder_0", "\\top.adder_0.inner", "\\top.adder_1"]
    assert modules(shared) == [*kinds, "\\top.adder_1.inner"]
    cells = re.findall(r"cell (\S+) (\\adder_\d)", shared)
    assert cells == [
        ("\\top.adder_0", "\\adder_0"),
        ("\\top.adder_1", "\\adder_1"),
        ("\\top.adder_0", "\\adder_2"),
    ]


def test_each_instance_keeps_its_own_wires():
    text = shared_modules.convert(Chain([3, 3]), "chain")
    calls = re.findall(r"\\chain\.adder_0\s+(adder_\d) \((.*?)\);", text, re.DOTALL)
    assert [name for name, _ in calls] == ["adder_0", "adder_1"]
    assert calls[0][1] != calls[1][1]


def test_what_has_no_twins_is_the_same_verilog():
    plain = verilog.convert(Chain([1]), name="one", emit_src=False, strip_internal_attrs=True)
    assert shared_modules.convert(Chain([1]), "one") == plain
