"""What a configuration with loops has more, literally; and that one without them has nothing."""

from dataclasses import replace
from typing import Any

import pytest

from warploom_spec import Config, Packet, WarploomError, loop_packets, preset, timing
from warploom_spec.host_commands import (
    STEP_FIELDS,
    Opcode,
    known_commands,
    launch_words,
    loop_words,
    template_words,
)
from warploom_spec.host_map import (
    ADDRESS_BITS,
    find_template,
    section_words,
    template_address,
    template_numbers,
)
from warploom_spec.host_packets import bus_write
from warploom_spec.host_registers import map_version, params, registers
from warploom_spec.queue_packets import final_record_words, queue_launch, queued_launch

#: Slots of each preset's templates.
SLOTS = {"tiny": 8, "default": 64, "large": 64}
each_preset = pytest.mark.parametrize("name", SLOTS)


def bits_of(packet: Packet) -> dict[str, int]:
    """Return the width of each field."""
    return {field.name: field.bits for field in packet.fields}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"loop_templates": 2}, "loop_templates is 2; legal: 0, powers of two from 4 to 64"),
        ({"loop_templates": 12}, "loop_templates is 12; legal: powers of two from 0 to 64"),
        ({"loop_templates": 128}, "loop_templates is 128; legal: powers of two from 0 to 64"),
        ({"sections": 4}, r"loop_sections is 8; legal: 1 to 4 \(sections\)"),
        ({"sections": 33}, "sections is 33; legal: 1 to 32 with loop_tem"),
        ({"loop_sections": 0}, "loop_sections is 0; legal: 1 to 16"),
    ],
)
def test_loops_that_cannot_be_are_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(WarploomError, match=said):
        Config(**fields)


def test_without_loops_nothing_of_them_is_there() -> None:
    config = replace(preset("default"), loop_templates=0)
    assert not config.has_loops and Opcode.LOOP not in known_commands(config)
    names = {word.name for word in (*registers(config), *section_words(config))}
    assert not names & {"LOOP_STOP", "RESULT2", "RESULT3"}
    assert map_version(config) == 0x0003_0000
    assert find_template(config, 0x8000) is None
    assert "quiet" not in launch_words(config).by_name
    fields = {field.name for field in queued_launch(config).fields}
    assert not fields & {"quiet", "loop", "wait0_relative"}


@each_preset
def test_the_map_has_words_for_loops(name: str) -> None:
    config = preset(name)
    assert map_version(config) == 0x0003_0001
    stop = {word.name: word for word in registers(config)}["LOOP_STOP"]
    assert (stop.offset, stop.access, stop.acts) == (0x150, "wo", True)
    assert [(f.low, f.bits) for f in stop.fields] == [(0, config.sections)]
    results = {word.name: (word.offset, word.access) for word in section_words(config)}
    assert (results["RESULT2"], results["RESULT3"]) == ((0x018, "ro"), (0x01C, "ro"))
    offsets = [word.offset for word in section_words(config)]
    assert offsets == sorted(set(offsets))
    numbers = {f.name: (f.word, f.low, value) for f, value in params(config)}
    assert numbers["loop_templates"] == (3, 16, SLOTS[name])
    assert numbers["loop_sections"] == (3, 24, {"tiny": 2}.get(name, 8))
    assert config.first_loop_section == {"tiny": 0, "default": 0, "large": 24}[name]


@each_preset
def test_a_template_has_the_words_of_its_launch(name: str) -> None:
    config = preset(name)
    inline = 14 if name == "tiny" else 20
    assert template_numbers(config) == (*range(inline), 28, 29)
    last = template_address(SLOTS[name] - 1, 29, steps=True)
    assert last == {"tiny": 0x87F4}.get(name, 0xBFF4) < 1 << ADDRESS_BITS
    assert find_template(config, last) == (SLOTS[name] - 1, True, 29)
    assert template_address(3, 11) == 0x832C
    assert find_template(config, 0x832C) == (3, False, 11)
    for outside in (0x7FFC, 0x8000 + 4 * inline, 0x8078, last + 4, 0x8000 + 0x100 * SLOTS[name]):
        assert find_template(config, outside) is None, hex(outside)


def test_the_words_of_loop_and_template_literally() -> None:
    config = preset("default")
    loop, template = loop_words(config).by_name, template_words(config).by_name
    places = {name: (f.word, f.low, f.bits) for name, f in loop.items() if f.word}
    assert places == {
        "count": (1, 0, 32),
        "first_slot": (2, 0, 8),
        "last_slot": (2, 8, 8),
        "in_flight": (2, 16, 8),
    }
    assert (template["changes"].word, template["changes"].low, STEP_FIELDS) == (11, 0, 11)
    assert (template["alternates"].word, template["alternates"].low) == (11, 16)
    assert (template["quiet"].word, template["quiet"].low, template["quiet"].bits) == (5, 28, 1)
    assert "reserved" not in template


def test_packets_literally() -> None:
    config = preset("default")
    assert bits_of(loop_packets.loop_begin(config)) == {
        "valid": 1,
        "loop": 3,
        "count": 32,
        "first_slot": 6,
        "last_slot": 6,
        "in_flight": 8,
    }
    assert bits_of(loop_packets.loop_answers(config)) == {"accepted": 8, "full": 8, "refused": 8}
    assert bits_of(loop_packets.loop_step(config)) == {
        "valid": 1,
        "ring": 1,
        "end": 1,
        "loop": 3,
        "word": 5,
        "data": 32,
    }
    assert bits_of(loop_packets.loop_end(config)) == {"valid": 1, "loop": 3, "finished": 1}
    for packet in (queued_launch(config), queue_launch(config)):
        bits = bits_of(packet)
        assert (bits["loop"], bits["quiet"], bits["wait1_relative"]) == (4, 1, 1)
    assert "number [15:0]" in final_record_words(config).by_name["word3"].meaning


def test_a_write_of_a_template_shows_its_word() -> None:
    data = bus_write(preset("default")).fields[2]
    assert data.word is not None
    word = data.word.find(template_address(5, 6) // 4)
    assert word is not None and [field.name for field in word.fields] == ["gx"]
    assert data.word.find(template_address(5, 20) // 4) is None


def test_latencies_literally() -> None:
    found = timing(preset("default"))
    assert found.loop_sweep == 16
    assert found.loop_launch_interval(words=2, answer=6) == 18
    assert found.loop_launch_interval(words=found.loop_words, answer=6) == 38
    assert found.loop_launch_interval_of_any == 26
    assert found.loop_doorbell_to_launch(templates=19) == 19 + 35
    assert found.loop_end_to_doorbell(templates=19) == 19 + 11
