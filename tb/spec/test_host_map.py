"""The mailbox's map, codes and packets, pinned by literal numbers."""

import pytest

from warploom_spec import Config, WarploomError, preset
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HOST_CODE_BITS, HOST_EXPLANATIONS, HostError
from warploom_spec.host_map import SECTION_WORDS, section_address


def test_addresses_literal():
    found = {
        name: section_address(3, name)
        for name in ("DOORBELL", "STATUS", "ASSIGNED", "ERROR", "RESULT0", "RESULT8", "T0", "T31")
    }
    assert found == {
        "DOORBELL": 0x1600,
        "STATUS": 0x1604,
        "ASSIGNED": 0x1608,
        "ERROR": 0x160C,
        "RESULT0": 0x1610,
        "RESULT8": 0x1620,
        "T0": 0x1680,
        "T31": 0x16FC,
    }


def test_words_do_not_overlap_and_have_a_meaning():
    offsets = [word.offset for word in SECTION_WORDS]
    assert len(set(offsets)) == len(offsets) == 6 + 8 + 32
    assert all(word.offset % 4 == 0 and word.meaning for word in SECTION_WORDS)
    assert {word.access for word in SECTION_WORDS} == {"rw", "ro", "wo"}


def test_codes_literal_and_apart_from_the_others():
    names = " ".join(code.name for code in HostError)
    assert names == (
        "OK BAD_OPCODE NO_UNIT DISCONNECTED CORE_MISSING BAD_SPLIT CORE_FAILED CORE_TIMEOUT RESET"
        " FIELD_RANGE NO_LOOP TEMPLATE_BUSY LAUNCH_FAILED LOOP_STOPPED"
    )
    assert [int(code) for code in HostError] == [0, *range(48, 61)]
    assert HOST_EXPLANATIONS.keys() == set(HostError)
    assert all(0 <= code < 1 << HOST_CODE_BITS for code in HostError)
    assert [(code.name, int(code)) for code in Opcode] == [
        ("NOP", 0),
        ("RUN", 1),
        ("LAUNCH", 2),
        ("LOOP", 4),
        ("PREEMPT", 5),
        ("RESUME", 6),
        ("ABORT", 7),
        ("DISCONNECT", 8),
        ("ABORT_STREAMS", 13),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tiny", (2, 1, 4, 1024, 20)),
        ("default", (8, 4, 32, 1 << 20, 68)),
        ("large", (32, 8, 32, 1 << 20, 68)),
    ],
)
def test_presets(name, expected):
    config = preset(name)
    cores = config.cores_per_unit, config.core_timeout
    assert (config.sections, config.units, *cores, config.records) == expected


def test_more_units_than_sections_are_refused():
    with pytest.raises(WarploomError, match=r"units is 3; legal: 1 to 2 \(sections\)"):
        Config(sections=2, units=3)


def test_records_are_planned_for_a_power_of_two():
    for depth in (0, 12, 128):
        legal = f"queue_depth is {depth}; legal: powers of two from 1 to 64"
        with pytest.raises(WarploomError, match=legal):
            Config(queue_depth=depth)
