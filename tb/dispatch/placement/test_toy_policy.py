"""A new placement policy is a file of RTL, a file of its model, and its name in a list."""

import sys
from pathlib import Path

import pytest

from tb.support.dispatch_cases import dispatcher_case
from tb.support.dispatch_rules import RTL_AND_MODEL, drive, given, launch, policy
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from warploom.dispatch import BlockDispatcher
from warploom.dispatch import placement as rtl
from warploom.host.front_end import FrontEnd
from warploom.host.host_registers import HostRegisters
from warploom.launch import LaunchPath
from warploom_golden.dispatch import BlockDispatcher as BlockDispatcherModel
from warploom_golden.dispatch import placement as model
from warploom_golden.host.host_registers import HostRegisters as HostRegistersModel
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_spec import config
from warploom_spec.host_registers import register_addresses

TOY = Path(__file__).with_name("toy")
NAME = "last_fit"
CASE = f"tiny,sms=3,policy={NAME}"


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
    for profile in ("no_stops", "mixed"):
        names = ("transfers of launch", "ledger: blocks ok")
        run_until(
            names, lambda n, p=profile: [dispatcher_case(CASE, p, seed + n, 1200)], "amaranth"
        )


@RTL_AND_MODEL
def test_the_highest_sm_whose_port_is_open_is_taken(block):
    config = policy(NAME)
    # Each SM takes a block in every third cycle; four blocks fill one.
    recording = drive(block, [launch(config=config, gx=14)], config=config)
    assert given(recording) == [3, 2, 1] * 4 + [0, 0]


def test_another_choice_is_found(monkeypatch, seed):
    made = rtl.policy_class(policy(NAME))
    plant(monkeypatch, [Change(made, "choose", "self.eligible[::-1])[::-1]", "self.eligible)")])
    with pytest.raises(LockstepError, match="offer__"):
        cases = [dispatcher_case(CASE, "no_stops", seed + n, 1200) for n in range(4)]
        run(cases, "amaranth", waves=False)


@pytest.mark.parametrize("has_table", [False, True])
def test_an_order_table_is_said_once(monkeypatch, has_table):
    """Registry, registers, ports and models agree on it, for a policy that is none of theirs."""
    if has_table:
        monkeypatch.setattr(config, "ORDER_TABLE_POLICIES", (*config.ORDER_TABLE_POLICIES, NAME))
    machine = policy(NAME)
    front_end = FrontEnd(machine)
    front_end.elaborate(None)
    registers = HostRegistersModel(machine)
    inputs = dict.fromkeys(HostRegisters(machine).signature.members, 0)
    said = (
        "ORDER_SWAP" in register_addresses(machine),
        "order_swap" in HostRegisters(machine).signature.members,
        "order_table" in BlockDispatcher(machine).signature.members,
        "order_table" in LaunchPath(machine).signature.members,
        "order_swap" in registers.outputs(inputs),
        "order_table__ready" in BlockDispatcherModel(machine).outputs({}),
    )
    assert said == (has_table,) * len(said)
