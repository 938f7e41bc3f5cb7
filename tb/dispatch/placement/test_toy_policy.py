"""A new placement policy is a file of RTL, a file of its model, and its name in a list."""

import sys
from pathlib import Path

import pytest

from tb.support.block_dispatcher_cases import resident_case
from tb.support.block_dispatcher_rules import RTL_AND_MODEL, drive, given, start
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from warploom.dispatch import BlockDispatcher
from warploom.dispatch import policies as rtl
from warploom.host.front_end import FrontEnd
from warploom.host.host_registers import HostRegisters
from warploom.launch import LaunchPath
from warploom_golden.dispatch import policies as model
from warploom_golden.host.host_registers import HostRegisters as HostRegistersModel
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_spec import config
from warploom_spec.host_registers import register_addresses

TOY = Path(__file__).with_name("toy")
NAME = "last_fit"
CASE = f"tiny,stream_bits=2,sms=3,policy={NAME}"


@pytest.fixture(autouse=True)
def last_fit(monkeypatch):
    """Add the policy as a new file on either side and one name in the list."""
    monkeypatch.setattr(config, "POLICIES", (*config.POLICIES, NAME))
    for package, folder in ((rtl, "rtl"), (model, "model")):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(TOY / folder)])
    yield
    for package in (rtl, model):
        sys.modules.pop(f"{package.__name__}.{NAME}", None)
        vars(package).pop(NAME, None)


@pytest.mark.thorough
def test_equals_its_model(seed):
    """A seed may let nothing be dispatched in so short a run: runs go on until blocks ended."""
    for mood in ("usual", "crowded"):
        names = ("transfers of start", "report OK")
        run_until(names, lambda n, m=mood: [resident_case(CASE, m, seed + n, 1200)], "amaranth")


@RTL_AND_MODEL
def test_the_highest_sm_with_room_is_taken(block):
    recording = drive(block, {n: start(n) for n in range(4)}, config=config_of(CASE))
    # A look has found room on SM 2 by the second pick; SM 0 had room, too.
    assert given(recording) == [(9, 0), (14, 2), (19, 2), (24, 2)]


def test_another_choice_is_found(monkeypatch, seed):
    made = rtl.policy_class(config_of(CASE))
    plant(monkeypatch, [Change(made, "choose", "room[::-1])[::-1]", "room)")])
    with pytest.raises(LockstepError, match="offer"):
        cases = [resident_case(CASE, "crowded", seed + n, 1200) for n in range(4)]
        run(cases, "amaranth", waves=False)


@pytest.mark.parametrize("has_table", [False, True])
def test_an_order_table_is_said_once(monkeypatch, has_table):
    """Registry, registers, ports and models agree on it, for a policy that is none of theirs."""
    if has_table:
        monkeypatch.setattr(config, "ORDER_TABLE_POLICIES", (*config.ORDER_TABLE_POLICIES, NAME))
    machine = config_of(CASE)
    front_end = FrontEnd(machine)
    front_end.elaborate(None)
    registers = HostRegistersModel(machine)
    inputs = dict.fromkeys(HostRegisters(machine).signature.members, 0)
    said = (
        "ORDER_SWAP" in register_addresses(machine),
        "order_swap" in HostRegisters(machine).signature.members,
        "order_swap" in BlockDispatcher(machine).signature.members,
        "order_swap" in LaunchPath(machine).signature.members,
        "order_swap__valid" in registers.outputs(inputs),
    )
    assert said == (has_table,) * len(said)
