"""A trace file's JSON, plain or packed, and checked access to the fields of its events.

Only the events that somebody asks for become Python objects; the others stay text.
"""

import gzip
import json
import re
import sys
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from warploom_sim.traces.event_halves import NUMBER, Half, put_together
from warploom_sim.traces.file_kinds import foreign, other_json
from warploom_spec import WarploomError

_GZIP_MAGIC: Final = b"\x1f\x8b"
#: Of a frame, and of one to skip, which parallel packers write first.
_ZSTD_MAGIC: Final = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
#: What Windows tools write before UTF-8.
_BOM: Final = b"\xef\xbb\xbf"
#: Longest piece of a wrong value that a message repeats.
_SHOWN: Final = 60
#: From the next integer on a float is not each integer: times in microseconds end far below.
LATEST: Final = 2**53
#: What may stand between the parts of a JSON text.
_BLANK: Final = b" \t\r\n"
#: Made once: an event is short.
_READER: Final = json.JSONDecoder(strict=False)
#: A backslash and what JSON lets follow it.
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|[\"\\/bfnrt])?")


@dataclass(frozen=True)
class Place:
    """Where in a file something stands, for messages: the file, and what in it.

    ``name`` is what an event says that it is. With ``text_numbers`` a string that is a number is
    taken as this number.
    """

    path: Path
    what: str = ""
    name: Any = ""
    text_numbers: bool = False

    def refuse(self, problem: str) -> WarploomError:
        """Return the error that says what is wrong here."""
        quoted = f" ({shown(self.name)})" if isinstance(self.name, str) and self.name else ""
        where = f"{self.what}{quoted}: " * bool(self.what)
        return WarploomError(f"{self.path}: {where}{problem}")

    def field(self, values: Any, name: str) -> Any:
        """Return a field of a JSON object; refuse one that is missing."""
        if name not in values:
            raise self.refuse(f"field {name!r} is missing")
        return values[name]

    def _number(self, values: Any, name: str) -> Any:
        """Return a field, as a number if it is a string that is one."""
        value = self.field(values, name)
        if self.text_numbers and isinstance(value, str) and NUMBER.fullmatch(value):
            return int(value) if value.strip().lstrip("-").isdecimal() else float(value)
        return value

    def integer(self, values: Any, name: str, low: int = 0, high: int = 2**63 - 1) -> int:
        """Return an integer field within its range, ends included."""
        value = values.get(name)
        # Nearly all are good.
        if type(value) is int and low <= value <= high:
            return value
        value = self._number(values, name)
        if not _is_integer(value) or not low <= value <= high:
            raise self.refuse(f"{name!r} is {shown(value)}; legal: an integer from {low} to {high}")
        return int(value)

    def number(self, values: Any, name: str, low: int = 0) -> float:
        """Return a number field from ``low`` to 2^53: a time in microseconds."""
        value = values.get(name)
        if type(value) is float and low <= value <= LATEST:
            return value
        value = self._number(values, name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= LATEST
        ):  # false for a NaN
            raise self.refuse(f"{name!r} is {shown(value)}; legal: a number from 0 to {LATEST}")
        return float(value)

    def triple(self, values: Any, name: str, high: int) -> tuple[int, int, int]:
        """Return a field of three integers from 0 to ``high``."""
        value = self.field(values, name)
        ok = isinstance(value, list) and len(value) == 3
        if not ok or not all(_is_integer(v) and 0 <= v <= high for v in value):
            raise self.refuse(f"{name!r} is {shown(value)}; legal: three integers from 0 to {high}")
        x, y, z = value
        return x, y, z

    def text(self, values: Any, name: str) -> str:
        """Return a field that is a string."""
        value = self.field(values, name)
        if not isinstance(value, str):
            raise self.refuse(f"{name!r} is {shown(value)}; legal: a string")
        return value

    def object(self, values: Any, name: str) -> dict[str, Any]:
        """Return a field that is a JSON object."""
        value = self.field(values, name)
        if not isinstance(value, dict):
            raise self.refuse(f"{name!r} is {shown(value)}; legal: an object")
        return value


def event_place(path: Path, number: int, name: Any = "") -> Place:
    """Return where an event stands in a file, for messages."""
    return Place(path, f"event {number}", name, text_numbers=True)


def shown(value: Any) -> str:
    """Return a value as JSON, cut to what fits a message."""
    # TOML has dates as well, which JSON does not know.
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


#: A begin and an end.
_HALVES: Final = ("B", "E")


class _Head(msgspec.Struct, gc=False):
    """What tells events apart."""

    ph: Any = None
    cat: Any = None


class Document(msgspec.Struct):
    """A trace file.

    Attributes
    ----------
    traceEvents : list of Raw
        Its events, each as text.
    deviceProperties : Any
        What it says of the GPUs.
    """

    traceEvents: list[msgspec.Raw]
    deviceProperties: Any = msgspec.field(default_factory=list)

    def complete(self, place: Place, categories: Collection[str]) -> Iterator[tuple[int, Any]]:
        """Yield complete events (``ph`` X) of some categories, and what is no object.

        Each with its number in the file, from 0. A begin and its end (``ph`` B and E) are one
        complete event, and come last. What is wrong is refused at ``place``.
        """
        head = msgspec.json.Decoder(_Head)
        halves = []
        for number, text in enumerate(self.traceEvents):
            try:
                found = head.decode(text)
                if found.ph not in _HALVES and (found.ph != "X" or found.cat not in categories):
                    continue
            except (msgspec.MsgspecError, TypeError):
                # Python's own reader decides.
                pass
            # Numbers and repeated fields mean what that says.
            event = _parse(place, bytes(text))
            if isinstance(event, dict) and event.get("ph") in _HALVES:
                halves.append(Half(number, event))
            elif (
                not isinstance(event, dict)
                or event.get("ph") == "X"
                and str(event.get("cat")) in categories
            ):
                yield number, event
        for number, event in put_together(halves):
            if str(event.get("cat")) in categories:
                yield number, event


def read_document(path: Path) -> Document:
    """Read a trace file, plain, gzip or zstd (told apart by its first bytes).

    Raises
    ------
    WarploomError
        If the file cannot be read, is empty, cut off or damaged, is not JSON, or no trace; says
        where, and what it is instead if that is known.
    """
    place = Place(path)
    data = _read(place)
    try:
        if data.lstrip(_BLANK).startswith(b"["):
            return Document(msgspec.json.decode(data, type=list[msgspec.Raw]))
        return msgspec.json.decode(data, type=Document)
    except (msgspec.MsgspecError, RecursionError):
        # Python's own reader says where it is wrong, or takes what is not quite JSON (a NaN).
        content = _parse(place, data)
    if isinstance(content, list):
        content = {"traceEvents": content}
    if not isinstance(content, dict) or not isinstance(content.get("traceEvents"), list):
        if known := other_json(content):
            raise place.refuse(f"is {known}")
        raise place.refuse("JSON, but no trace: no object with a list 'traceEvents'")
    events = [msgspec.Raw(json.dumps(event)) for event in content["traceEvents"]]
    return Document(events, content.get("deviceProperties", []))


def refuse_pipe(path: Path) -> None:
    """Refuse what cannot be read twice: what the RTL did is checked by the trace's file alone.

    Raises
    ------
    WarploomError
        If it is there, and neither a file nor a folder, which `read_document` refuses.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise Place(path).refuse("is no regular file; legal: a file, which is read twice")


def _read(place: Place) -> bytes:
    """Return a file's text, unpacked and without a byte order mark; refuse what is none."""
    path = place.path
    try:
        data = path.read_bytes()
    except OSError as error:
        raise place.refuse(error.strerror or str(error)) from error
    if data.startswith(_GZIP_MAGIC):
        data = _unzip(place, data)
    elif _ZSTD_MAGIC.match(data):
        data = _unpack_zstd(place, data)
    data = data.removeprefix(_BOM)
    if not data.lstrip(_BLANK):
        raise place.refuse("the file is empty")
    if known := foreign(path.name, data):
        raise place.refuse(f"is {known}")
    return data


def _parse(place: Place, data: bytes) -> Any:
    """Return what a JSON text says.

    Broken text does not matter: a byte that is not UTF-8 is read as U+FFFD, a control character and
    a backslash that begins no escape as themselves.
    """
    text = data.decode(errors="replace")
    try:
        try:
            return _READER.decode(text)
        except json.JSONDecodeError as error:
            if "escape" not in error.msg:
                raise
            text = _ESCAPE.sub(lambda found: found[0] if found[1] else r"\\", text)
            return _READER.decode(text)
    except json.JSONDecodeError as error:
        problem = "cut off: the JSON ends in the middle" if _is_cut(text, error) else "not JSON"
        where = f"line {error.lineno} column {error.colno}: {error.msg}"
        raise place.refuse(f"{problem}, {where}{_not_utf_8(data)}") from error
    except RecursionError as error:
        raise place.refuse("not a trace: nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise place.refuse(f"not a trace: {error}") from error


def _not_utf_8(data: bytes) -> str:
    """Return in words the first byte that is not UTF-8; "" if there is none."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"; byte {error.start} is not UTF-8"
    return ""


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Tell JSON that stops in the middle from what is no JSON: it begins well, and has no end."""
    begun, ended = text.lstrip()[:1] in ("{", "["), text.rstrip()
    if error.msg == "Extra data":  # it has its end, and something behind it
        return False
    return begun and (error.pos >= len(ended) or ended[-1] not in "]}")


def _unzip(place: Place, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError as error:
        raise place.refuse("cut off: the gzip data ends in the middle") from error
    except gzip.BadGzipFile as error:
        raise place.refuse(f"the gzip data is damaged: {error}") from error
    except zlib.error as error:
        raise place.refuse(f"the gzip data is damaged: {error}") from error


def _unpack_zstd(place: Place, data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as error:
        if "end-of-stream" in str(error):
            raise place.refuse("cut off: the zstd data ends in the middle") from error
        raise place.refuse(f"the zstd data is damaged: {error}") from error
