"""The launch queue's packets: literal widths and words."""

from dataclasses import replace
from pathlib import Path

import pytest

from warploom_spec import PRESETS, preset, queue_packets

#: Bits of each packet: (tiny, default, large).
PACKET_BITS = {
    "queued_launch": (389, 589, 592),
    "queue_launch": (413, 683, 686),
    "queue_answer": (73, 73, 73),
    "queue_command": (11, 19, 19),
    "queue_code": (9, 9, 9),
    "queue_stream": (4, 5, 5),
    "launch_abort": (32, 32, 32),
    "final_record": (250, 250, 250),
    "timeline_step": (36, 37, 37),
}


#: What packets of `resident_packets` begin with.
ELSEWHERE = {"queue_launch", "queue_command"}


@pytest.mark.parametrize("name", PACKET_BITS)
def test_a_packet_has_the_pages_width(name):
    make = getattr(queue_packets, name)
    assert tuple(make(preset(each)).bits for each in PRESETS) == PACKET_BITS[name]


def test_without_waits_a_launch_has_no_pairs():
    none, four = (replace(preset("tiny"), launch_waits=count, loop_templates=0) for count in (0, 4))
    names = [field.name for field in queue_packets.queue_launch(none).fields]
    assert not [name for name in names if name.startswith("wait")]
    assert queue_packets.queue_launch(four).bits == 408 + 2 * 20


def test_the_words_of_a_record_are_the_pages():
    """Every field's number is its place's, so that two that are exchanged show."""
    words = queue_packets.final_record_words(preset("tiny"))
    values = {
        "ticket": 0x11111111,
        "code": 0xC5,
        "fate": 2,
        "kind": 1,
        "kills": 5,
        "reset_as_drain": 1,
        "stream": 0x2A,
        "offered": 1,
        "word2": 2,
        "word3": 3,
        "word4": 4,
        "accepted": 5,
        "first_offer": 6,
        "made": 7,
    }
    second = 1 << 24 | 0x2A << 18 | 1 << 17 | 5 << 14 | 1 << 11 | 2 << 8 | 0xC5
    assert words.pack(values) == (0x11111111, second, 2, 3, 4, 5, 6, 7)
    names = [field.name for field in queue_packets.final_record(preset("tiny")).fields]
    assert [*words.by_name] == names[1:]


def test_the_pages_list_every_packet():
    folder = Path(__file__).parents[2] / "docs" / "launch"
    pages = ("kernel_queue.md", "launch_path.md", "record_queue.md")
    text = "".join((folder / page).read_text() for page in pages)
    assert {name for name in PACKET_BITS if f"`{name}`" not in text} == ELSEWHERE


@pytest.mark.rule("launch_path", 6)
@pytest.mark.parametrize("name", PRESETS)
def test_a_launch_has_no_bits_for_what_does_not_exist(name):
    """Neither a pair k >= W, nor a stream beyond S, nor a priority beyond P, nor loops."""
    config = replace(preset(name), loop_templates=0)
    bits = {field.name: field.bits for field in queue_packets.queued_launch(config).fields}
    pairs = {each for each in bits if each.startswith("wait")}
    parts = ("valid", "stream", "count")
    assert pairs == {f"wait{k}_{part}" for k in range(config.launch_waits) for part in parts}
    streams = {bits["stream"], *(bits[each] for each in pairs if each.endswith("stream"))}
    assert streams == {config.stream_bits} and bits["priority"] == config.priority_bits
