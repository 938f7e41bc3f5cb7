"""What BusPort keeps and does not wait for, a wrong rule among it."""

import pytest

from tb.host import test_bus_port as rules
from tb.host.test_bus_port import (
    ADDRESS,
    ANSWER,
    DATA,
    READ,
    READ_ANSWER,
    TINY,
    WRITE,
    address,
    data,
    play,
)
from tb.support.planted import Change
from tb.support.resettable import resettable
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host.bus_port import BusPort
from warploom_golden.host import BusPort as Model
from warploom_spec.host_map import OKAY, SLVERR

KINDS = pytest.mark.parametrize("kind", [BusPort, Model], ids=["rtl", "model"])


def responses(seen):
    return [
        (cycle, *READ_ANSWER.unpack(word).values()) for cycle, word in seen.transfers("axil__r")
    ]


@pytest.mark.rule("bus_port", 4, 7, 9)
@KINDS
def test_responses_stay_in_order_while_the_host_waits_and_refusals_count_at_once(kind):
    """Four writes commit in 2 to 5, those of 3 and 4 are refused. The read of 3 is, too."""
    words = [address(word) for word in range(4)]
    seen = play(
        kind(TINY),
        writes=words,
        words=[data(word) for word in range(4)],
        reads=words,
        write_refused=lambda cycle: cycle in (3, 4),
        answer=lambda cycle: ANSWER.pack({"refused": int(cycle == 5), "data": 100 + cycle}),
        axil__b__ready=lambda cycle: cycle >= 15,
        axil__r__ready=lambda cycle: cycle >= 15,
    )
    assert seen.port("axil__b__payload")[4:16] == [OKAY] * 12
    assert len(set(seen.port("axil__r__payload")[5:16])) == 1
    assert seen.transfers("axil__b") == [(15, OKAY), (16, SLVERR), (17, SLVERR), (18, OKAY)]
    assert responses(seen) == [(15, 104, OKAY), (16, 0, SLVERR), (17, 106, OKAY), (18, 107, OKAY)]
    assert seen.port("refused") == [0, 0, 0, 0, 0, 0, 1, *[3] * 13]


@pytest.mark.rule("bus_port", 8)
@KINDS
@pytest.mark.parametrize("waits", ["b", "r"])
def test_reads_and_writes_do_not_wait_for_each_other(kind, waits):
    """The host never takes B, or R: five writes, or six reads, are issued. The others all are."""
    words = [address(word) for word in range(12)]
    seen = play(
        kind(TINY),
        30,
        writes=words,
        words=[data(word) for word in range(12)],
        reads=words,
        **{f"axil__{waits}__ready": lambda _: 0},
    )
    issued = {"write": 5 if waits == "b" else 12, "read": 6 if waits == "r" else 12}
    assert {name: seen.cycles(name) for name in issued} == {
        name: list(range(1, 1 + count)) for name, count in issued.items()
    }


@pytest.mark.rule("bus_port", 4, 7, 10)
@KINDS
def test_a_refusal_in_another_cycle_is_not_looked_at(kind):
    """The write commits in 2 and the read's answer is that of 4. All other cycles say refused."""
    seen = play(
        kind(TINY),
        writes=[address(1)],
        words=[data(1)],
        reads=[address(1)],
        write_refused=lambda cycle: cycle != 2,
        answer=lambda cycle: ANSWER.pack({"refused": int(cycle != 4), "data": cycle}),
    )
    assert seen.transfers("axil__b") == [(4, OKAY)]
    assert responses(seen) == [(5, 4, OKAY)]
    assert seen.cycles("refused") == []


@pytest.mark.rule("bus_port", 2, 5, 7, 10)
@KINDS
def test_every_bit_of_an_access_passes(kind):
    """Data and answers with one bit each, all strobes' patterns, none among them, any `prot`."""
    bits = range(32)
    words = [ADDRESS.pack({"addr": 1 << k % 16, "prot": k % 8}) for k in bits]
    seen = play(
        kind(TINY),
        45,
        writes=words,
        words=[DATA.pack({"data": 1 << k, "strb": k % 16}) for k in bits],
        reads=words,
        answer=lambda cycle: ANSWER.pack({"refused": 0, "data": 1 << (cycle - 4) % 32}),
    )
    writes = [WRITE.unpack(seen.port("write")[1 + k]) for k in bits]
    assert writes == [
        {"valid": 1, "address": (1 << k % 16) >> 2, "data": 1 << k, "strobes": k % 16} for k in bits
    ]
    reads = [READ.unpack(seen.port("read")[1 + k]) for k in bits]
    assert reads == [{"valid": 1, "address": (1 << k % 16) >> 2} for k in bits]
    assert responses(seen) == [(5 + k, 1 << k, OKAY) for k in bits]
    assert [resp for _, resp in seen.transfers("axil__b")] == [OKAY] * 32


@pytest.mark.rule("bus_port", 3, 6, 9)
@KINDS
def test_a_reset_forgets_all_accesses(kind):
    """All queues are full in 20, the cycle of the reset. One write and one read come in 30."""
    words = [address(word) for word in range(11)]
    seen = play(
        resettable(kind(TINY)),
        40,
        writes=words[:10],
        words=[data(word) for word in range(10)],
        reads=words,
        write_refused=lambda cycle: cycle < 10,
        axil__b__ready=lambda cycle: cycle >= 20,
        axil__r__ready=lambda cycle: cycle >= 20,
        reset_now=lambda cycle: cycle == 20,
        **{f"axil__{name}__hold": lambda cycle: 15 < cycle < 30 for name in ("aw", "w", "ar")},
    )
    assert [seen.port(f"axil__{name}__ready")[20:22] for name in ("aw", "w", "ar")] == [[0, 1]] * 3
    assert seen.port("refused")[19:] == [5, 5, *[0] * 19]
    assert (seen.cycles("write"), seen.cycles("read")) == ([*range(1, 6), 31], [*range(1, 7), 31])
    assert [cycle for cycle, _ in seen.transfers("axil__b")] == [20, 34]
    assert [cycle for cycle, _ in seen.transfers("axil__r")] == [20, 35]


WRONG = {
    "reads wait for room of B": WrongRule(
        lambda kind: test_reads_and_writes_do_not_wait_for_each_other(kind, "b"),
        (
            Change(BusPort, "_write", "room = self", "room = self.room_of_b = self"),
            Change(
                BusPort,
                "_read",
                "addresses.valid_next & room",
                "addresses.valid_next & room & self.room_of_b",
            ),
            Change(
                Model,
                "_issues_read",
                'self._had_room["r"]',
                'self._had_room["r"] and self._had_room["b"]',
            ),
        ),
    ),
    "a refused write counts when B transfers": WrongRule(
        test_responses_stay_in_order_while_the_host_waits_and_refusals_count_at_once,
        (
            Change(
                BusPort,
                "_write",
                "return refused",
                "return responses.o.valid & responses.o.ready & (responses.o.payload == SLVERR)",
            ),
            Change(
                Model,
                "_enter_response",
                "self._uncounted += self._committed == SLVERR",
                "pass",
            ),
            Change(
                Model,
                "_note_room",
                "responses.popleft()",
                'self._late = getattr(self, "_late", 0)'
                ' + (responses.popleft() == SLVERR and name == "b")',
            ),
            Change(
                Model,
                "tick",
                "self._enter_response()",
                'self._uncounted += getattr(self, "_late", 0)\n'
                "    self._late = 0\n"
                "    self._enter_response()",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (BusPort, Model), rules, monkeypatch)
