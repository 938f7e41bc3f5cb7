"""Messages between front end and back end, to bytes and back; a malformed message is refused.

All numbers are little-endian. A message is a header of 24 bytes, a body, and a CRC-32 of all that
stands before it. The page has the table of fields.
"""

import struct
import zlib
from typing import Final

from warploom_golden.deferral.calls import (
    SIZES,
    Alternate,
    Answer,
    Argument,
    Bytes,
    Call,
    Constant,
    FromResult,
    Group,
    Linear,
    Value,
)
from warploom_spec.errors import WarploomError

MAGIC: Final = b"WLDM"
VERSION: Final = 1
GROUP, ANSWER = 1, 2
#: Magic, version, kind, length, application, sequence, calls, class, 0.
HEADER: Final = struct.Struct("<4sHHIIIHBB")
_GROUP_HEAD: Final = struct.Struct("<qqQ")
_ANSWER_HEAD: Final = struct.Struct("<IIQ")
_CALL_HEAD: Final = struct.Struct("<HH")
_ARGUMENT_HEAD: Final = struct.Struct("<BBH")
_CRC: Final = struct.Struct("<I")
MAX_BYTES: Final = 16 << 20
MAX_CALLS: Final = 1024
MAX_ARGUMENTS: Final = 64
MAX_NAME: Final = 1024
_CONSTANT, _LINEAR, _ALTERNATE, _RESULT, _BYTES = range(5)


class MessageError(WarploomError):
    """A message is refused, and nothing of it is used; the text says why."""


# --- writing -------------------------------------------------------------------------------------


def encode(message: Group | Answer) -> bytes:
    """Return a message's bytes.

    Raises
    ------
    MessageError
        If a field or a count is outside its range.
    """
    try:
        if isinstance(message, Group):
            kind, count, loop_class = GROUP, len(message.calls), message.loop_class
            body = _group_body(message)
        else:
            kind, count, loop_class = ANSWER, len(message.results), 0
            body = _answer_body(message)
        length = HEADER.size + len(body) + _CRC.size
        _limit("message", length, MAX_BYTES)
        _limit("calls", count, MAX_CALLS)
        _limit("class", loop_class, 3)
        head = HEADER.pack(
            MAGIC,
            VERSION,
            kind,
            length,
            message.application,
            message.sequence,
            count,
            loop_class,
            0,
        )
    except struct.error as error:
        raise MessageError(f"a field does not fit its width: {error}") from error
    whole = head + body
    return whole + _CRC.pack(zlib.crc32(whole))


def _group_body(group: Group) -> bytes:
    parts = [_GROUP_HEAD.pack(group.initial, group.step, group.count)]
    for call in group.calls:
        name = call.name.encode()
        _limit("name", len(name), MAX_NAME)
        _limit("arguments", len(call.arguments), MAX_ARGUMENTS)
        parts.append(_CALL_HEAD.pack(len(name), len(call.arguments)))
        parts.append(_padded(name))
        parts += [_argument(argument) for argument in call.arguments]
    return b"".join(parts)


def _answer_body(answer: Answer) -> bytes:
    head = _ANSWER_HEAD.pack(answer.code, answer.call, answer.iteration)
    results = (
        Bytes(result) if isinstance(result, bytes) else Constant(result)
        for result in answer.results
    )
    return head + b"".join(map(_argument, results))


def _argument(argument: Argument) -> bytes:
    if isinstance(argument, Bytes):
        size = struct.pack("<I", len(argument.data))
        return _ARGUMENT_HEAD.pack(_BYTES, 0, 0) + size + _padded(argument.data)
    if argument.size not in SIZES:
        raise MessageError(f"size is {argument.size}; legal: {', '.join(map(str, SIZES))}")
    if isinstance(argument, Constant):
        return _ARGUMENT_HEAD.pack(_CONSTANT, argument.size, 0) + _signed(argument.value)
    if isinstance(argument, Linear):
        head = _ARGUMENT_HEAD.pack(_LINEAR, argument.size, 0)
        return head + _signed(argument.first) + _signed(argument.increment)
    if isinstance(argument, Alternate):
        head = _ARGUMENT_HEAD.pack(_ALTERNATE, argument.size, 0)
        return head + _signed(argument.value) + _signed(argument.other)
    head = _ARGUMENT_HEAD.pack(_RESULT, argument.size, argument.call)
    return head + _signed(argument.first) + _signed(argument.offset)


def _signed(value: int) -> bytes:
    """Return a number's low 64 bits as 8 bytes, whether it is signed or not."""
    return struct.pack("<q", value - (1 << 64) if 1 << 63 <= value < 1 << 64 else value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _limit(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise MessageError(f"{name} is {value}; legal: 0 to {most}")


# --- reading -------------------------------------------------------------------------------------


class _Reader:
    """Takes fields from a body; refuses to read past its end."""

    def __init__(self, data: bytes):
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack(self._raw(layout.size))

    def padded(self, length: int) -> bytes:
        """Return bytes and skip their padding, which must be 0."""
        data = self._raw(length)
        if any(self._raw(-length % 4)):
            raise MessageError(f"padding after byte {self._at} is not 0")
        return data

    def signed(self) -> int:
        (value,) = struct.unpack("<q", self._raw(8))
        return int(value)

    def _raw(self, length: int) -> bytes:
        part = self._data[self._at : self._at + length]
        if len(part) < length:
            raise MessageError(f"body ends at byte {len(self._data)}, {length} more are needed")
        self._at += length
        return part


def decode(data: bytes) -> Group | Answer:
    """Return what a message says.

    Raises
    ------
    MessageError
        If anything is wrong with it: length, CRC, a field out of range, padding that is not 0,
        bytes left over.
    """
    kind, application, sequence, count, loop_class = _check_header(data)
    reader = _Reader(data[HEADER.size : -_CRC.size])
    message: Group | Answer
    if kind == GROUP:
        initial, step, iterations = reader.take(_GROUP_HEAD)
        calls = tuple(_read_call(reader, number, count) for number in range(count))
        message = Group(application, sequence, loop_class, initial, step, iterations, calls)
    else:
        code, call, iteration = reader.take(_ANSWER_HEAD)
        results = tuple(_read_result(reader) for _ in range(count))
        message = Answer(application, sequence, code, call, iteration, results)
    if not reader.is_at_end:
        raise MessageError("bytes are left over after the last field")
    return message


def _check_header(data: bytes) -> tuple[int, int, int, int, int]:
    """Return kind, application, sequence, calls and class."""
    _limit("message", len(data), MAX_BYTES)
    if len(data) < HEADER.size + _CRC.size:
        raise MessageError(f"message has {len(data)} bytes; legal: {HEADER.size + 4} or more")
    magic, version, kind, length, application, sequence, count, loop_class, zero = HEADER.unpack(
        data[: HEADER.size]
    )
    if magic != MAGIC:
        raise MessageError(f"magic is {magic!r}; legal: {MAGIC!r}")
    if version != VERSION:
        raise MessageError(f"version is {version}; legal: {VERSION}")
    if length != len(data):
        raise MessageError(f"length is {length}, but the message has {len(data)} bytes")
    if _CRC.unpack(data[-_CRC.size :])[0] != zlib.crc32(data[: -_CRC.size]):
        raise MessageError("CRC differs: the message was damaged on its way")
    if kind not in (GROUP, ANSWER):
        raise MessageError(f"kind is {kind}; legal: {GROUP}, {ANSWER}")
    _limit("calls", count, MAX_CALLS)
    _limit("class", loop_class, 3 if kind == GROUP else 0)
    if zero:
        raise MessageError(f"last byte of the header is {zero}; legal: 0")
    return kind, application, sequence, count, loop_class


def _read_call(reader: _Reader, number: int, calls: int) -> Call:
    length, arguments = reader.take(_CALL_HEAD)
    _limit("name", length, MAX_NAME)
    _limit("arguments", arguments, MAX_ARGUMENTS)
    try:
        name = reader.padded(length).decode()
    except UnicodeDecodeError as error:
        raise MessageError(f"name of call {number} is no UTF-8") from error
    found = tuple(_read_argument(reader) for _ in range(arguments))
    for argument in found:
        if isinstance(argument, FromResult):
            _check_result(argument, number, calls)
    return Call(name, found)


def _check_result(argument: FromResult, number: int, calls: int) -> None:
    if argument.call >= calls:
        raise MessageError(f"call is {argument.call}; legal: 0 to {calls - 1}")
    if argument.call < number and argument.first:
        raise MessageError(f"first is {argument.first} for an earlier call's result; legal: 0")
    if argument.size != 8:
        raise MessageError(f"size is {argument.size} for a call's result; legal: 8")


def _read_argument(reader: _Reader) -> Argument:
    kind, size, call = reader.take(_ARGUMENT_HEAD)
    if kind not in (_CONSTANT, _LINEAR, _ALTERNATE, _RESULT, _BYTES):
        raise MessageError(f"argument's kind is {kind}; legal: 0 to 4")
    if (kind != _RESULT and call) or (kind == _BYTES and size):
        raise MessageError(f"an argument of kind {kind} has a field that must be 0")
    if kind == _BYTES:
        (length,) = reader.take(_CRC)
        return Bytes(reader.padded(length))
    if size not in SIZES:
        raise MessageError(f"size is {size}; legal: {', '.join(map(str, SIZES))}")
    value = reader.signed()
    if kind == _CONSTANT:
        return Constant(value, size)
    other = reader.signed()
    if kind == _LINEAR:
        return Linear(value, other, size)
    if kind == _ALTERNATE:
        return Alternate(value, other, size)
    return FromResult(call, other, value, size)


def _read_result(reader: _Reader) -> Value:
    argument = _read_argument(reader)
    if isinstance(argument, Bytes):
        return argument.data
    if not isinstance(argument, Constant) or argument.size != 8:
        raise MessageError("a result is neither a number of 8 bytes nor bytes")
    return argument.value & ((1 << 64) - 1)
