"""Changes of a source in memory: they hold in the context, in parts of a block too."""

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_dev.planted import Change, PlantedBlock, planted


class Inverter(wiring.Component):
    i: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(~self.i)
        return m


class Twice(wiring.Component):
    i: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Inverter()
        m.submodules.second = second = Inverter()
        m.d.comb += [first.i.eq(self.i), second.i.eq(first.o), self.o.eq(second.o)]
        return m


NO_INVERSION = Change(Inverter, "elaborate", "~self.i", "self.i")


def inversions(changes):
    block = Twice()
    shown = PlantedBlock(block, *changes) if changes else block
    return rtlil.convert(shown, name="top", ports=[block.i, block.o]).count("cell $not ")


def test_the_parts_of_a_planted_block_are_changed_and_no_others():
    assert [inversions(changes) for changes in ([], [NO_INVERSION], [])] == [2, 0, 2]


def test_two_changes_of_one_function_hold_together():
    one = Change(Twice, "elaborate", "first = Inverter()", "first = Twice()")
    other = Change(Twice, "elaborate", "second.i.eq(first.o)", "second.i.eq(self.i)")
    with planted([other]):
        found = other.owner.elaborate.planted
        assert "first = Inverter()" in found and "second.i.eq(self.i)" in found
    with planted([one, other]):
        found = one.owner.elaborate.planted
        assert "first = Twice()" in found and "second.i.eq(self.i)" in found
    assert not hasattr(Twice.elaborate, "planted")


def test_an_exception_undoes_the_changes():
    true = Inverter.elaborate
    with pytest.raises(ZeroDivisionError), planted([NO_INVERSION]):
        assert Inverter.elaborate is not true
        raise ZeroDivisionError
    assert Inverter.elaborate is true


@pytest.mark.parametrize(("old", "times"), [("~self.o", 0), ("self", 3)])
def test_a_text_that_does_not_stand_there_once_is_refused(old, times):
    with pytest.raises(AssertionError, match=f"Inverter.elaborate has '{old}' {times}x"):
        inversions([Change(Inverter, "elaborate", old, "")])
