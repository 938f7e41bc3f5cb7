"""Checks of a copy of the product with the toy opcode; `test_toy_opcode` runs them there."""

from typing import Any

import pytest

from tb.host import test_driver_accesses as accesses
from tb.host import test_mailbox as mailbox
from tb.host import test_mailbox_rules as rules
from tb.host.scripted_bus import ScriptedBus
from tb.support.planted import Change, plant
from warploom.host._verdict import Verdict
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_sim.verilog.register_map import c_header
from warploom_sim.verilog.sv_package import package
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError

kind, box, host = rules.kind, rules.box, accesses.host
PING = Opcode["PING"]
TINY = rules.TINY


@pytest.mark.parametrize(
    ("section", "missing", "code"),
    [
        (0, 0, HostError.OK),
        (0, 1, HostError.CORE_MISSING),
        (1, 0, HostError.NO_UNIT),
    ],
)
def test_verdict(
    box: Any, section: int, missing: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RTL and model, by the rules' own test."""
    monkeypatch.setitem(rules.VERDICTS, "PING", (section, {"T0": PING}, missing, code))
    rules.test_verdict(box, "PING")


def test_the_mailbox_equals_its_model(seed: int) -> None:
    cases = [mailbox.case("tiny", seed + n, 3000) for n in range(2)]
    run(cases, "amaranth", waves=False)


def test_another_code_is_found_and_named(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    old, new = "is_opcode[opcode] & missing", "is_opcode[opcode] & ~missing"
    plant(monkeypatch, [Change(Verdict, "elaborate", old, new)])
    with pytest.raises(LockstepError, match="CORE_MISSING"):
        run([mailbox.case("tiny", seed + n) for n in range(8)], "amaranth", waves=False)


def test_the_headers_have_it() -> None:
    assert "#define WARPLOOM_OPCODE_PING UINT32_C(9)" in c_header(TINY, "tiny")
    assert "OPCODE_PING" in package(TINY, "tiny")


def test_both_drivers_send_it(host: Any) -> None:
    section = accesses.DOORBELL
    writes = [("read", section, 0), ("write", section + 0x80, 9), ("write", section, 1)]
    bus = ScriptedBus(writes)
    host(bus, 1000).call("submit_ping", 0)
    bus.demand_over()
