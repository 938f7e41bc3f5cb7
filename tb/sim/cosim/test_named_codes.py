"""Codes, commands and a host's words go by their names in a failure's report."""

import re
from collections.abc import Sequence

import pytest

from tb.host.test_mailbox import case as mailbox_case
from tb.support.block_dispatcher_cases import resident_case
from tb.support.planted import plant
from warploom.dispatch import BlockDispatcher
from warploom.dispatch.ends import Ends
from warploom.host import BusPort, Mailbox
from warploom.host._verdict import Verdict
from warploom_dev.planted import Change
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_sim.cosim.lockstep.addresses import AddressWatch
from warploom_sim.cosim.lockstep.packet_fields import differing, shown
from warploom_sim.cosim.lockstep.ports import Ports
from warploom_spec import ErrorCode, preset
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import section_address
from warploom_spec.host_registers import register_addresses

TINY = preset("tiny")
WRONG_CODE = Change(
    Verdict, "elaborate", "(~known, HostError.BAD_OPCODE)", "(~known, HostError.DISCONNECTED)"
)
WRONG_FATE = Change(Ends, "elaborate", "Mux(finished, Fate.FINISHED, ", "Mux(finished, 1, ")


def first_report(cases: Sequence[Case]) -> str:
    """Return the report of the first case that fails."""
    for case in cases:
        try:
            run([case], "amaranth", waves=False)
        except LockstepError as error:
            return str(error)
    raise AssertionError("the fault is never found")


def test_a_section_answers_with_another_code(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, [WRONG_CODE])
    report = first_report([mailbox_case("tiny", seed + n, 3000) for n in range(8)])
    assert "\n    ERROR.code: got 50 DISCONNECTED, want 48 BAD_OPCODE\n" in report
    # A seed's random writes may meet the fault before cycle 15.
    shown_cycles = min(int(re.findall(r", cycle (\d+): seed ", report)[0]) + 1, 16)
    above, *last = report.split("\n  repeat with")[0].splitlines()[-shown_cycles - 1 :]
    assert above == f"  last {shown_cycles} cycles:"
    assert " answer={ERROR.code: 50 DISCONNECTED} " in last[-1]
    assert all(re.match(r" +\d+ rst=[01] in: .* out: .*", line) for line in last)
    # Every packet of these cycles is taken apart: only plain ports are one number.
    assert not re.findall(r" (?:write|read|answer|launch|done__0|error__0|result__0)=0x", report)
    names = re.findall(r"T0\.opcode: (\d+) (\w+)", report)
    known = {str(int(opcode)): opcode.name for opcode in Opcode}
    assert all(name == known.get(number, "unknown") for number, name in names)


def test_a_record_has_another_fate(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, [WRONG_FATE])
    cases = [resident_case("tiny,stream_bits=2", "usual", seed + n, 1500) for n in range(8)]
    assert "\n    fate: got 1 KILLED, want 0 FINISHED\n" in first_report(cases)


def test_a_number_without_a_name_is_unknown() -> None:
    fields = Ports.of(BlockDispatcher(TINY)).fields["ended__payload"]
    low = {field.name: field.low for field in fields}
    got, want = 6 << low["fate"] | 22 << low["code"], int(ErrorCode.SM_LOST) << low["code"]
    assert differing(fields, got, want) == [
        ("fate", "6 unknown", "0 FINISHED"),
        ("code", "22 unknown", "18 SM_LOST"),
    ]


@pytest.mark.parametrize(
    ("byte", "data", "text"),
    [
        (section_address(1, "T0"), 0x107, "T0.opcode: 7 ABORT, T0.flags: 0x1"),
        (section_address(0, "T0"), 3, "T0.opcode: 3 unknown"),
        (section_address(1, "T3"), 77, "T3: 0x4d"),
        (section_address(0, "DOORBELL"), 1, "DOORBELL.rung: 0x1"),
        (register_addresses(TINY)["CONTROL"], 1, "CONTROL.soft_reset: 0x1"),
        (0xFFFC, 5, "data: 0x5"),
    ],
)
def test_a_write_shows_its_word(byte: int, data: int, text: str) -> None:
    fields = Ports.of(Mailbox(TINY)).fields["write"]
    low = {field.name: field.low for field in fields}
    word = 1 | byte // 4 << low["address"] | data << low["data"]
    assert shown(fields, word) == f"{{valid: 0x1, address: {byte // 4:#x}, {text}}}"


def test_reads_on_a_bus_show_their_words_in_the_order_of_their_addresses() -> None:
    """Several reads wait: an answer is for the oldest one."""
    ports = Ports.of(BusPort(TINY))
    watch = AddressWatch(ports)
    idle = dict.fromkeys((*ports.inputs, *ports.outputs), 0)
    asks = {"axil__ar__valid": 1, "axil__ar__ready": 1}
    takes = {"axil__r__valid": 1, "axil__r__ready": 1}
    error = section_address(0, "ERROR")
    last, record = (register_addresses(TINY)[name] for name in ("ERROR_LAST", "RECORD1"))
    cycles = [
        *({**asks, "axil__ar__payload": address} for address in (error, last | 3, record)),
        {"axil__r__valid": 1},
        {**takes, **asks, "axil__ar__payload": error},
        takes,
        takes,
        takes,
        {},
    ]
    seen = [watch.see(idle | values, {}, 0).get("axil__r__payload") for values in cycles]
    assert seen == [None, error, error, error, error, last | 3, record, error, None]
    fields = ports.fields["axil__r__payload"]
    data = int(HostError.BAD_SPLIT) | 1 << 8
    assert shown(fields, data, error) == "{ERROR.code: 52 BAD_SPLIT, ERROR.core: 0x1}"
    text = "{ERROR_LAST.code: 52 BAD_SPLIT, ERROR_LAST.block: 1 DISPATCHER}"
    assert shown(fields, data, last | 3) == text
    assert (
        shown(fields, 0x110, record)
        == "{RECORD1.code: 16 COMPLETION_FULL, RECORD1.fate: 1 ABORTED}"
    )
    watch.see(idle | cycles[0], {}, 0)
    watch.see(idle, {}, 1)
    assert not watch.see(idle, {}, 0)


def test_a_read_shows_its_word_when_it_is_answered() -> None:
    """Sampled a cycle after `read`, answered two later (mailbox's page, rules of reads)."""
    ports = Ports.of(Mailbox(TINY))
    watch = AddressWatch(ports)
    idle = dict.fromkeys((*ports.inputs, *ports.outputs), 0)
    low = {field.name: field.low for field in ports.fields["read"]}["address"]
    error, status = (section_address(0, name) // 4 for name in ("ERROR", "STATUS"))
    reads = [1 | error << low, 1 | status << low, status << low, 1 | error << low, 0, 0, 0]
    seen = [watch.see(idle | {"read": read}, {}, 0).get("answer") for read in reads]
    assert seen == [None, None, None, error, status, None, error]
    watch.see(idle | {"read": reads[0]}, {}, 0)
    watch.see(idle, {}, 1)
    assert not any(watch.see(idle, {}, 0) for _ in range(4))


def test_bits_without_a_name_are_not_left_out() -> None:
    fields = Ports.of(Mailbox(TINY)).fields["answer"]
    low = {field.name: field.low for field in fields}["data"]
    doorbell = section_address(0, "DOORBELL") // 4
    got, want = 0x11 << low, 0x1 << low
    assert differing(fields, got, want, doorbell) == [
        ("DOORBELL, bits without a name", "16 (0x10)", "0")
    ]
    assert differing(fields, got, want) == [("data", "17 (0x11)", "1")]
