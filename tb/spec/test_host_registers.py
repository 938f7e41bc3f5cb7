"""The host's registers and words: addresses and fields, literally."""

from dataclasses import replace

import pytest

from warploom_spec import preset
from warploom_spec.host_commands import STREAM_COMMANDS, launch_words, mask_words
from warploom_spec.host_map import SECTION_WORDS
from warploom_spec.host_registers import MAP_VERSION, Interrupt, params, registers
from warploom_spec.queue_packets import queued_launch

PRESETS = ("tiny", "default", "large")
each_preset = pytest.mark.parametrize("name", PRESETS)

#: Address, access, whether it acts, and fields with their highest and lowest bits.
LITERALLY = {
    "ID": (0x000, "ro", False, {"value": (31, 0)}),
    "VERSION": (0x004, "ro", False, {"minor": (15, 0), "major": (31, 16)}),
    "CONTROL": (0x018, "wo", True, {"soft_reset": (0, 0)}),
    "STATE": (0x01C, "ro", False, {"resetting": (0, 0), "epoch": (31, 16)}),
    "IRQ_THRESHOLD": (0x028, "rw", False, {"value": (15, 0)}),
    "LAUNCH_TIMEOUT": (0x02C, "rw", False, {"value": (31, 0)}),
    "RECORDS": (0x030, "ro", False, {"value": (15, 0)}),
    "RECORD_POP": (0x034, "wo", True, {"pop": (0, 0)}),
    "ROOM": (0x038, "ro", False, {"room": (3, 0)}),
    "IRQ_TIMEOUT": (0x03C, "rw", False, {"value": (31, 0)}),
    "RECORD7": (0x05C, "ro", False, {"made": (31, 0)}),
    "REFUSED": (0x060, "ro", False, {"value": (31, 0)}),
    "PARAMS3": (
        0x06C,
        "ro",
        False,
        {
            "queue_depth": (7, 0),
            "priority_bits": (11, 8),
            "launch_waits": (15, 12),
            "loop_templates": (23, 16),
            "loop_sections": (31, 24),
        },
    ),
    "CLEAR_STREAM": (0x070, "wo", True, {"stream": (7, 0)}),
    "CLOCK_LOW": (0x148, "ro", False, {"value": (31, 0)}),
    "CLOCK_HIGH": (0x14C, "ro", False, {"value": (31, 0)}),
}


def test_registers_literally() -> None:
    words = {word.name: word for word in registers(preset("default"))}
    for name, literal in LITERALLY.items():
        word = words[name]
        fields = {field.name: (field.high, field.low) for field in word.fields}
        assert (word.offset, word.access, word.acts, fields) == literal, name
    assert MAP_VERSION == 0x0003_0000


def test_interrupts_literally() -> None:
    names = ("RECORDS", "ERROR", "SM_LOST", "RESET_DONE", "COMMAND_DONE", "RESET_FORCED")
    assert [(bit.name, int(bit)) for bit in Interrupt] == [(n, k) for k, n in enumerate(names)]


@each_preset
def test_no_two_registers_share_an_address_and_no_two_fields_a_bit(name: str) -> None:
    config = preset(name)
    words = registers(config)
    offsets = [word.offset for word in words]
    assert offsets == sorted(set(offsets))
    for word in (*words, *SECTION_WORDS):
        taken = [bit for f in word.fields for bit in range(f.low, f.low + f.bits)]
        assert len(taken) == len(set(taken)), word.name
        assert max(taken) < 32, word.name


@each_preset
def test_a_launch_has_its_mode_and_its_waits_in_these_words(name: str) -> None:
    config = preset(name)
    layout = launch_words(config).by_name
    mode = layout["mode"]
    assert (mode.word, mode.low, mode.high) == (10, 21, 23)
    for k in range(4):
        stream, count = layout[f"wait{k}_stream"], layout[f"wait{k}_count"]
        assert (stream.word, stream.low, stream.high) == (28 + k, 8, 15)
        assert (count.word, count.low, count.high) == (28 + k, 16, 31)
    for field in queued_launch(config).fields:
        if field.name != "loop" and not field.name.endswith(("_valid", "_relative")):
            assert field.bits <= layout[field.name].bits, field.name


def test_commands_for_streams_and_numbers_literally() -> None:
    config = replace(preset("tiny"), launch_waits=3)
    opcodes = {opcode.name: int(opcode) for opcode in STREAM_COMMANDS}
    assert opcodes == {"PREEMPT": 5, "RESUME": 6, "ABORT_STREAMS": 13}
    mask = mask_words(config).by_name["mask"]
    assert (mask.word, mask.low, mask.bits) == (1, 0, 32)
    values = {field.name: value for field, value in params(config) if field.word == 3}
    queue = {"queue_depth": 4, "priority_bits": 2, "launch_waits": 3}
    assert values == queue | {"loop_templates": 8, "loop_sections": 2}
