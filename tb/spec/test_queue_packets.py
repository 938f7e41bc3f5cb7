"""KernelQueue's packets: literal widths and words."""

from pathlib import Path

import pytest

from warploom_spec import PRESETS, preset, queue_packets

#: Bits of each packet: (tiny, default, large).
PACKET_BITS = {
    "queue_sent": (49, 49, 49),
    "queue_launch": (412, 677, 680),
    "queue_answer": (73, 73, 73),
    "queue_command": (19, 19, 19),
    "queue_code": (9, 9, 9),
    "queue_stream": (5, 5, 5),
    "launch_abort": (32, 32, 32),
    "final_record": (250, 250, 250),
    "put_back": (68, 99, 99),
    "timeline_step": (37, 37, 37),
}


@pytest.mark.parametrize("name", PACKET_BITS)
def test_a_packet_has_the_pages_width(name):
    make = getattr(queue_packets, name)
    assert tuple(make(preset(each)).bits for each in PRESETS) == PACKET_BITS[name]


def test_without_waits_a_launch_has_no_pairs():
    config = preset("tiny")
    names = [field.name for field in queue_packets.queue_launch(config, waits=0).fields]
    assert not [name for name in names if name.startswith("wait")]
    assert queue_packets.queue_launch(config, waits=4).bits == 412 + 2 * 21


def test_a_pairs_fields_stand_behind_the_launch():
    packet = queue_packets.queue_sent(preset("default"))
    values = dict.fromkeys(packet.offsets, 0)
    assert packet.pack(values | {"valid": 1, "stream": 5, "priority": 3}) == 0b11_0101_1
    assert packet.pack(values | {"wait0_valid": 1, "wait0_stream": 2}) == (2 << 8) | (1 << 7)
    assert packet.pack(values | {"wait1_count": 0x1234}) == 0x1234 << 33


def test_the_page_lists_every_packet():
    page = Path(__file__).parents[2] / "docs" / "launch" / "kernel_queue.md"
    text = page.read_text()
    assert all(f"`{name}`" in text for name in PACKET_BITS)
