"""The host's map, version 2: the page's tables and the data say the same."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from warploom_spec import preset
from warploom_spec.host_registers import registers
from warploom_spec.queue_host import (
    QUEUE_MAP_VERSION,
    QueueHostOpcode,
    QueueInterrupt,
    mask_words,
    queued_launch_words,
    queued_params,
    queued_registers,
    queued_section_words,
)
from warploom_spec.queue_packets import queued_launch

PAGE = (Path(__file__).parents[2] / "docs/host/stream_queues.md").read_text()
PRESETS = ("tiny", "default", "large")
each_preset = pytest.mark.parametrize("name", PRESETS)


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the tables below a heading, without the tables' heads."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@each_preset
def test_the_pages_registers_are_those_of_the_data(name: str) -> None:
    config = preset(name)
    words = {word.name: word for word in queued_registers(config)}
    limits = {"P - 1": (1 << config.priority_bits) - 1}
    seen = set()
    for address, word, access, fields, _ in rows("Registers"):
        if not re.fullmatch(r"0x[0-9A-F]{3}", address) or fields == "the same; records (ro)":
            continue
        found = words[word]
        assert found.offset == int(address, 16), word
        assert access == found.access + (", acts" if found.acts else "")
        for field, high, low in re.findall(r"(\w+) \[(?:([^\]:]+):)?(\d+)\]", fields):
            (one,) = (f for f in found.fields if f.name == field)
            top = limits.get(high) if high in limits else int(high or low)
            assert (one.low, one.high) == (int(low), top), (word, field)
        seen.add(word)
    assert seen >= {"VERSION", "LAUNCH_TIMEOUT", "ROOM", "IRQ_TIMEOUT", "PARAMS3", "CLOCK_HIGH"}
    assert (QUEUE_MAP_VERSION >> 16, QUEUE_MAP_VERSION & 0xFFFF) == (2, 0)


@each_preset
def test_no_two_registers_share_an_address_and_no_two_fields_a_bit(name: str) -> None:
    config = preset(name)
    words = queued_registers(config)
    offsets = [word.offset for word in words]
    assert offsets == sorted(set(offsets))
    for word in (*words, *queued_section_words()):
        taken = [bit for f in word.fields for bit in range(f.low, f.low + f.bits)]
        assert len(taken) == len(set(taken)), word.name
        assert max(taken) < 32, word.name


def test_what_version_1_has_stays_but_room_moves_and_the_record_grows() -> None:
    config = preset("default")
    old = {word.name: word for word in registers(config)}
    new = {word.name: word for word in queued_registers(config)}
    changed = {name for name in old if new[name] != old[name]}
    assert changed == {"IRQ_ENABLE", "IRQ_STATUS", "ROOM", *(f"RECORD{k}" for k in range(6))}
    added = {"LAUNCH_TIMEOUT", "IRQ_TIMEOUT", "CLOCK_LOW", "CLOCK_HIGH", "PARAMS3"}
    assert {*new} - {*old} == {*added, "RECORD6", "RECORD7"}
    assert new["RECORD7"].offset == old["ROOM"].offset


@each_preset
def test_a_launch_has_its_mode_and_its_waits_in_the_pages_words(name: str) -> None:
    config = preset(name)
    layout = queued_launch_words(config).by_name
    mode = layout["mode"]
    assert (mode.word, mode.low, mode.high) == (10, 21, 23)
    for k in range(4):
        stream, count = layout[f"wait{k}_stream"], layout[f"wait{k}_count"]
        assert (stream.word, stream.low, stream.high) == (28 + k, 8, 15)
        assert (count.word, count.low, count.high) == (28 + k, 16, 31)
    for field in queued_launch(config).fields:
        if not field.name.endswith("_valid"):
            assert field.bits <= layout[field.name].bits, field.name


def test_opcodes_interrupts_and_numbers_are_the_pages() -> None:
    config = replace(preset("tiny"), launch_waits=3)
    for opcode in QueueHostOpcode:
        assert f"| {int(opcode)} {opcode.name} |" in PAGE
    flags = next(fields for _, word, _, fields, _ in rows("Registers") if word == "IRQ_ENABLE")
    assert flags == ", ".join(f"{i.name.lower()} [{int(i)}]" for i in QueueInterrupt)
    mask = mask_words(config).by_name["mask"]
    assert (mask.word, mask.low, mask.bits) == (1, 0, 32)
    values = {field.name: value for field, value in queued_params(config) if field.word == 3}
    assert values == {"queue_depth": 4, "priority_bits": 2, "launch_waits": 3}
