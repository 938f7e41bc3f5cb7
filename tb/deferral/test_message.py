"""Messages: what goes in comes out; what is damaged is refused whole."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom_golden.deferral.calls import (
    Alternate,
    Answer,
    Bytes,
    Call,
    Constant,
    FromResult,
    Group,
    Linear,
)
from warploom_golden.deferral.message import MessageError, decode, encode

SIGNED = st.integers(-(2**63), 2**63 - 1)
SIZE = st.sampled_from([1, 2, 4, 8])


@st.composite
def groups(draw):
    count = draw(st.integers(0, 5))

    def argument(number):
        earlier = st.integers(0, count - 1)
        result = st.builds(
            lambda call, offset, first: FromResult(call, offset, first if call >= number else 0),
            earlier,
            SIGNED,
            SIGNED,
        )
        return st.one_of(
            st.builds(Constant, SIGNED, SIZE),
            st.builds(Linear, SIGNED, SIGNED, SIZE),
            st.builds(Alternate, SIGNED, SIGNED, SIZE),
            st.builds(Bytes, st.binary(max_size=9)),
            result,
        )

    calls = tuple(
        Call(draw(st.text(max_size=9)), tuple(draw(st.lists(argument(number), max_size=4))))
        for number in range(count)
    )
    word = st.integers(0, 2**32 - 1)
    return Group(
        draw(word),
        draw(word),
        draw(st.integers(0, 3)),
        draw(SIGNED),
        draw(SIGNED),
        draw(st.integers(0, 2**64 - 1)),
        calls,
    )


ANSWERS = st.builds(
    Answer,
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.lists(st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=9)), max_size=5).map(tuple),
)

#: One launch in each of two iterations: a constant, a stepped number, bytes.
SMALL = Group(
    7, 9, 2, 5, 3, 2, (Call("copy", (Constant(1, 4), Linear(16, -4, 8), Bytes(b"abcde"))),)
)
#: The same, byte for byte, written from the page's table.
SMALL_BYTES = (
    b"WLDM" + struct.pack("<HHIIIHBB", 1, 1, 108, 7, 9, 1, 2, 0)
    + struct.pack("<qqQ", 5, 3, 2)
    + struct.pack("<HH", 4, 3) + b"copy"
    + struct.pack("<BBHq", 0, 4, 0, 1)
    + struct.pack("<BBHqq", 1, 8, 0, 16, -4)
    + struct.pack("<BBHI", 4, 0, 0, 5) + b"abcde\0\0\0"
)  # fmt: skip


def test_the_bytes_are_those_of_the_page():
    assert encode(SMALL) == SMALL_BYTES + struct.pack("<I", zlib.crc32(SMALL_BYTES))


@given(st.one_of(groups(), ANSWERS))
def test_what_is_written_is_read_back(message):
    assert decode(encode(message)) == message


def test_a_message_cut_at_any_byte_is_refused():
    whole = encode(SMALL)
    for length in range(len(whole)):
        with pytest.raises(MessageError):
            decode(whole[:length])
    with pytest.raises(MessageError):
        decode(whole + b"\0")


def test_any_flipped_bit_is_found():
    whole = encode(SMALL)
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(MessageError):
            decode(bytes(damaged))


def with_crc(body):
    """Return bytes that only their content can betray."""
    body = body[:8] + struct.pack("<I", len(body) + 4) + body[12:]
    return body + struct.pack("<I", zlib.crc32(body))


@given(st.data())
def test_rubbish_with_a_right_crc_is_refused_or_well_formed(data):
    """Whatever is accepted is a message that could have been written: it is the same again."""
    body = bytearray(SMALL_BYTES)
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    body = bytes(body[:cut]) + data.draw(st.binary(max_size=12)) + bytes(body[cut:])
    raw = with_crc(body)
    try:
        message = decode(raw)
    except MessageError:
        return
    assert encode(message) == raw


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(raw):
    with pytest.raises(MessageError):
        decode(raw)


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (0, b"X", "magic is b'XLDM'; legal: b'WLDM'"),
        (4, b"\2", "version is 2; legal: 1"),
        (6, b"\3", "kind is 3; legal: 1, 2"),
        (22, b"\4", "class is 4; legal: 0 to 3"),
        (23, b"\1", "last byte of the header is 1; legal: 0"),
        (21, b"\x10", "calls is 4097; legal: 0 to 1024"),
        (48, b"\1\4", "name is 1025; legal: 0 to 1024"),
        (50, b"\x41", "arguments is 65; legal: 0 to 64"),
        (52, b"\xff", "name of call 0 is no UTF-8"),
        (56, b"\5", "argument's kind is 5; legal: 0 to 4"),
        (57, b"\3", "size is 3; legal: 1, 2, 4, 8"),
        (58, b"\1", "an argument of kind 0 has a field that must be 0"),
        (101, b"\1", "padding after byte 80 is not 0"),
    ],
)
def test_each_field_has_its_own_refusal(at, value, text):
    damaged = SMALL_BYTES[:at] + value + SMALL_BYTES[at + len(value) :]
    with pytest.raises(MessageError) as refused:
        decode(with_crc(damaged))
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (FromResult(1), "call is 1; legal: 0 to 0"),
        (Linear(0, 1, 3), "size is 3; legal: 1, 2, 4, 8"),
        (Constant(2**64), "a field does not fit its width"),
    ],
)
def test_what_cannot_be_said_is_refused(argument, text):
    group = Group(0, 0, 1, 0, 1, 1, (Call("f", (argument,)),))
    with pytest.raises(MessageError, match=text):
        decode(encode(group))


def test_limits_hold_when_writing():
    calls = (Call("f", ()),) * 1025
    with pytest.raises(MessageError, match="calls is 1025; legal: 0 to 1024"):
        encode(Group(0, 0, 1, 0, 1, 1, calls))
    with pytest.raises(MessageError, match="message is"):
        encode(Group(0, 0, 1, 0, 1, 1, (Call("f", (Bytes(bytes(16 << 20)),)),)))
