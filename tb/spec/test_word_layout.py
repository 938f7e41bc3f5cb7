"""Words and their fields: what is refused, and the words of commands and records, literally."""

import pytest
from amaranth.hdl import Const
from hypothesis import given
from hypothesis import strategies as st

from warploom_spec import PRESETS, WarploomError, preset
from warploom_spec.host_commands import (
    LAYOUTS,
    abort_words,
    launch_words,
    run_words,
)
from warploom_spec.queue_packets import final_record_words, queued_launch
from warploom_spec.word_layout import WordField, WordLayout

DEFAULT = preset("default")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("a", 0, 30, 3)], "w.a has bits 32:30; legal: 31 to 0"),
        ([("a", 0, 4, 64)], "w.a has bits 67:4; legal: 31 to 0"),
        ([("a", 0, 0, 33)], "w.a has bits 32:0; legal: 31 to 0"),
        ([("a", 0, 0, 0)], "w.a has bits -1:0; legal: 31 to 0"),
        ([("a", 1, 0, 64)], "w.a ends in word 2; legal: words 0 to 1"),
        ([("a", 2, 0, 1)], "w.a ends in word 2; legal: words 0 to 1"),
        ([("a", 0, 0, 4), ("b", 0, 3, 4)], "w.b shares bits of word 0 with another"),
        ([("a", 0, 0, 64), ("b", 1, 31, 1)], "w.b shares bits of word 1 with another"),
        ([("a", 0, 0, 4), ("a", 0, 4, 4)], "w.a is there 2 times; legal: once"),
    ],
)
def test_fields_that_do_not_fit_are_refused_by_name(fields, said):
    with pytest.raises(WarploomError) as error:
        WordLayout("w", 2, tuple(WordField(*field, "x") for field in fields))
    assert str(error.value) == said


PAIR = WordLayout("pair", 3, (WordField("a", 0, 4, 8, "x"), WordField("b", 1, 0, 64, "y")))


def test_a_wide_value_is_two_words_the_low_one_first():
    assert PAIR.pack({"a": 0xAB, "b": 0x1111222233334444}) == (0xAB0, 0x33334444, 0x11112222)
    assert [p.name for p in PAIR.in_word(1) + PAIR.in_word(2)] == ["b_low", "b_high"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"a": 256, "b": 0}, "pair.a is 256; legal: 0 to 255"),
        ({"a": -1, "b": 0}, "pair.a is -1; legal: 0 to 255"),
        ({"a": 1}, "pair.b is missing"),
        ({"a": 1, "b": 1, "c": 1}, "pair has no field c"),
    ],
)
def test_values_are_refused_by_name(values, said):
    with pytest.raises(WarploomError) as error:
        PAIR.pack(values)
    assert str(error.value) == said


@pytest.mark.parametrize("make", [*LAYOUTS, final_record_words])
@given(data=st.data())
def test_pack_and_unpack_are_inverse_and_amaranth_sees_the_same(make, data):
    layout = make(DEFAULT)
    values = {f.name: data.draw(st.integers(0, (1 << f.bits) - 1)) for f in layout.fields}
    words = layout.pack(values)
    assert layout.unpack(words) == values
    whole = sum(word << 32 * k for k, word in enumerate(words))
    view = layout.layout().from_bits(whole)
    for name, value in values.items():
        field = view[name]
        assert (field.value if isinstance(field, Const) else int(field)) == value


def test_words_of_a_run_literally():
    fields = run_words(DEFAULT).unpack([0x0001_0101, 7, 0x0203, 9, 1, 2, 3, 4, *[0] * 24])
    assert fields == {
        "opcode": 1,
        "flags": 1,
        "parameter": 1,
        "first": 7,
        "parts": 3,
        "larger": 2,
        "small": 9,
        "code": 0x2_00000001,
        "arguments": 0x4_00000003,
    }


def test_words_of_a_launch_literally():
    words = [0] * 32
    words[0] = 0x0302
    words[1:5] = [1, 2, 3, 4]
    words[5] = 0x3_5_C3_8001
    words[6], words[7] = 0x7FFFFFFF, 0x1234_5678
    words[8] = 64 << 22 | 1023 << 11 | 1024
    words[9] = 0x5_0123
    words[10] = 17 << 24 | 4 << 21 | 1824 << 10 | 256
    words[12], words[13], words[18], words[19] = 5, 6, 7, 8
    words[28], words[31] = 0xFFFE_0F00, 0x0001_FF00
    fields = launch_words(DEFAULT).unpack(words)
    assert fields == {
        "opcode": 2,
        "flags": 3,
        "parameter": 0,
        "code": 0x2_00000001,
        "arguments": 0x4_00000003,
        "address_space": 0x8001,
        "stream": 0xC3,
        "priority": 5,
        "quiet": 1,
        "idempotent": 1,
        "mode": 4,
        "gx": 0x7FFFFFFF,
        "gy": 0x5678,
        "gz": 0x1234,
        "dx": 1024,
        "dy": 1023,
        "dz": 64,
        "index_address": 0x123,
        "table": 5,
        "warp_registers": 256,
        "shared": 1824,
        "barriers": 17,
        "inline0": 0x6_00000005,
        "inline1": 0,
        "inline2": 0,
        "inline3": 0x8_00000007,
        "wait0_stream": 0x0F,
        "wait0_count": 0xFFFE,
        "wait1_stream": 0,
        "wait1_count": 0,
        "wait2_stream": 0,
        "wait2_count": 0,
        "wait3_stream": 0xFF,
        "wait3_count": 1,
    }


@pytest.mark.parametrize("name", PRESETS)
def test_a_launch_has_every_field_of_its_packet_and_none_is_narrower(name):
    config = preset(name)
    words = launch_words(config).by_name
    fields = {field.name: field.bits for field in queued_launch(config).present}
    parts = ("valid", "relative")
    flags = {f"wait{k}_{part}" for k in range(config.launch_waits) for part in parts}
    beyond = {
        f"wait{k}_{part}" for k in range(config.launch_waits, 4) for part in ("stream", "count")
    }
    assert words.keys() - fields.keys() == {"opcode", "flags", "parameter", *beyond}
    assert fields.keys() - words.keys() == {*flags, "loop"}
    assert all(words[field].bits >= bits for field, bits in fields.items() if field in words)


def test_words_of_an_abort_and_of_a_record_literally():
    assert abort_words(DEFAULT).unpack([7, 0xFEDCBA98, *[0] * 30])["ticket"] == 0xFEDCBA98
    words = [5, 0x01CA_9112, 1000, 1, 2, 0xFFFFFFFF, 7, 8]
    assert final_record_words(DEFAULT).unpack(words) == {
        "ticket": 5,
        "code": 0x12,
        "fate": 1,
        "kind": 2,
        "kills": 2,
        "reset_as_drain": 1,
        "stream": 0x32,
        "offered": 1,
        "word2": 1000,
        "word3": 1,
        "word4": 2,
        "accepted": 0xFFFFFFFF,
        "first_offer": 7,
        "made": 8,
    }
