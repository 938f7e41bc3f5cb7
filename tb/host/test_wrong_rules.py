"""A wrong rule in the RTL of a block makes it differ from its model."""

from dataclasses import replace

import pytest

from tb.host import test_bus_port, test_execution_unit, test_mailbox
from tb.support.planted import Change, plant
from warploom.host._verdict import Verdict
from warploom.host.bus_port import BusPort
from warploom.host.execution_unit import ExecutionUnit
from warploom.host.mailbox import Mailbox
from warploom_sim.cosim.lockstep import LockstepError, run

PORT, BOX, UNIT = (
    test_bus_port.case("tiny", 0),
    test_mailbox.case(test_mailbox.ODD, 0),
    test_execution_unit.case(test_execution_unit.SHORT, 0),
)
#: Rule -> case, component, method, what stands there, what is wrong instead.
WRONG = {
    "a write commits without its address": (
        PORT,
        BusPort,
        "_write",
        "addresses.valid_next & words.valid_next",
        "words.valid_next",
    ),
    "no R place is kept for a read on its way": (
        PORT,
        BusPort,
        "_read",
        "addresses.valid_next & room",
        "addresses.valid_next",
    ),
    "no entry is kept for the access that is issued meanwhile": (
        PORT,
        BusPort,
        "_room",
        "following < most - 1",
        "following < most",
    ),
    "two refusals in one cycle count as one": (
        PORT,
        BusPort,
        "elaborate",
        "self._write(m) + self._read(m)",
        "self._write(m) | self._read(m)",
    ),
    "a doorbell takes values above 1": (
        BOX,
        Mailbox,
        "_write",
        "write.data[0] & ~write.data[1:].any()",
        "write.data[0]",
    ),
    "parts are not held against the primary core's absence": (
        BOX,
        Verdict,
        "_count_parts",
        "Mux(skip_primary, n >= cores, n > cores)",
        "n > cores",
    ),
    "DISCONNECT wins over the unit's reset": (
        BOX,
        Verdict,
        "elaborate",
        "units)))\n        & ~self.unit_reset",
        "units)))\n        & ~(self.unit_reset & ~unit_selected)",
    ),
    "a part becomes valid after the time-out": (
        UNIT,
        ExecutionUnit,
        "elaborate",
        "absent, time_over)",
        "absent, expired)",
    ),
    "a missing core arrives before its start is taken": (
        UNIT,
        ExecutionUnit,
        "_watch_missing",
        "absent & taken & here",
        "absent & here",
    ),
    "the last failure is reported": (
        UNIT,
        ExecutionUnit,
        "_explain",
        "m.If(~some)",
        "m.If(failing.any())",
    ),
    "a reset opens the barrier": (
        UNIT,
        ExecutionUnit,
        "_watch_missing",
        "(ends | arrives_late.any()) & ~self.reset",
        "ends | arrives_late.any()",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", WRONG)
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    case, *change = WRONG[name]
    plant(monkeypatch, [Change(*change)])
    with pytest.raises(LockstepError):
        run([replace(case, seed=seed + k) for k in range(24)], "amaranth", waves=False)
