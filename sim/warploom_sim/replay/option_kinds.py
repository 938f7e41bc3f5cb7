"""Kinds of an option's value: what is legal, and the value that a text stands for."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from warploom_sim.traces.gpus import GPUS, Gpu, named


class Kind(ABC):
    """What an option takes.

    Attributes
    ----------
    metavar : str
        What stands for a value in the help.
    legal : str
        The legal values in words.
    column : str
        Type of a value in a table of results: ``text``, ``whole`` or ``truth``.
    listed : bool
        Whether `warploom compare` takes several values, with commas between them.
    """

    metavar: str
    legal: str
    column: str = "text"
    listed: bool = True

    def parse(self, text: str) -> Any:
        """Return the value that a text on the command line stands for.

        Raises
        ------
        ValueError
            If the text stands for no legal value.
        """
        return self.check(text)

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return a value from Python, or from JSON, as the request holds it.

        Raises
        ------
        ValueError
            If the value is not legal.
        """

    def plain(self, value: Any) -> Any:
        """Return a value as JSON has it; `check` takes it back."""
        return value

    def words(self, value: Any) -> str:
        """Return a value as it stands on the command line."""
        return str(value)


class Whole(Kind):
    """A whole number within a range.

    Parameters
    ----------
    low, high : int
        Ends of the range, included; without ``high`` it has no upper end.
    """

    metavar = "N"
    column = "whole"
    #: More digits than any number that counts has.
    _LEGAL: Final = re.compile(r"-?\d{1,30}", re.ASCII)

    def __init__(self, low: int, high: int | None = None):
        self.low, self.high = low, high
        self.legal = f"{low} or more" if high is None else f"{low} to {high}"

    def parse(self, text: str) -> int:
        """Return the number."""
        return self.check(int(text) if self._LEGAL.fullmatch(text) else text)

    def check(self, value: Any) -> int:
        """Return the number, as Python's own."""
        within = isinstance(value, int) and not isinstance(value, bool) and value >= self.low
        if not within or (self.high is not None and value > self.high):
            raise ValueError
        return int(value)


class Word(Kind):
    """One of some words."""

    def __init__(self, words: Iterable[str]):
        self.all = tuple(words)
        self.metavar = f"[{'|'.join(self.all)}]"
        self.legal = ", ".join(self.all)

    def check(self, value: Any) -> str:
        """Return the word."""
        if not isinstance(value, str) or value not in self.all:
            raise ValueError
        return value


class Scale(Kind):
    """A fraction above 0."""

    metavar = "FRACTION"
    legal = "a fraction above 0, such as 1/32, 0.5 or 1 (of numbers of up to nine digits)"
    #: Digits are bounded: of a number of thousands nothing could be computed in time.
    _LEGAL: Final = re.compile(r"\d{1,9}(/\d{1,9}|\.\d{1,9})?|\.\d{1,9}", re.ASCII)

    def check(self, value: Any) -> Fraction:
        """Return the fraction that a text or a number stands for."""
        try:
            text_is_none = isinstance(value, str) and not self._LEGAL.fullmatch(value)
            scale = Fraction(0) if text_is_none else Fraction(value)
        except (ValueError, TypeError, OverflowError, ZeroDivisionError):
            raise ValueError from None
        if scale <= 0:
            raise ValueError
        return scale

    def plain(self, value: Fraction) -> str:
        """Return the fraction as text."""
        return str(value)


class Flag(Kind):
    """Yes or no: on the command line the option's name alone."""

    metavar = ""
    legal = "True, False"
    column = "truth"
    listed = False

    def check(self, value: Any) -> bool:
        """Return the truth value."""
        if not isinstance(value, bool):
            raise ValueError
        return value

    def words(self, value: bool) -> str:
        """Return nothing: the option's name is all."""
        return ""


class CycleRange(Kind):
    """The first and the last of some cycles."""

    metavar = "A:B"
    legal = "A:B, two cycles of up to 15 digits with A not above B, such as 1000:2000"
    listed = False
    _LEGAL: Final = re.compile(r"(\d{1,15}):(\d{1,15})", re.ASCII)

    def check(self, value: Any) -> tuple[int, int]:
        """Return the two cycles."""
        found = self._LEGAL.fullmatch(self.words(value))
        if not found or int(found[1]) > int(found[2]):
            raise ValueError
        return int(found[1]), int(found[2])

    def plain(self, value: tuple[int, int]) -> list[int]:
        """Return the cycles as a list."""
        return list(value)

    def words(self, value: Any) -> str:
        """Return the cycles with a colon between them."""
        return ":".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


class Settings(Kind):
    """Fields of the preset with their values; one each time that the option is given."""

    metavar = "FIELD=VALUE"
    legal = "FIELD=VALUE, such as sms=4, each one text"

    def parse(self, text: str) -> str:
        """Return one setting; the preset says whether it has such a field."""
        return text

    def check(self, value: Any) -> tuple[str, ...]:
        """Return the settings, of which each is a text."""
        if isinstance(value, str) or not all(isinstance(one, str) for one in value):
            raise ValueError
        return tuple(value)

    def plain(self, value: tuple[str, ...]) -> list[str]:
        """Return the settings as a list."""
        return list(value)


class Priorities(Kind):
    """Priorities of streams; one each time that the option is given."""

    metavar = "STREAM=N"
    legal = "STREAM=N, such as 1=3, two numbers of up to three digits, each stream once"
    listed = False
    _LEGAL: Final = re.compile(r"\d{1,3}=\d{1,3}", re.ASCII)

    def parse(self, text: str) -> str:
        """Return one priority; the request judges them together."""
        if not self._LEGAL.fullmatch(text):
            raise ValueError
        return text

    def check(self, value: Any) -> tuple[str, ...]:
        """Return the priorities, each a text, without leading zeros and in order of the streams."""
        given = value.split() if isinstance(value, str) else tuple(value)
        if not all(isinstance(one, str) for one in given) or not all(
            self._LEGAL.fullmatch(one) for one in given
        ):
            raise ValueError
        pairs = sorted(tuple(map(int, one.split("="))) for one in given)
        if len({stream for stream, _ in pairs}) < len(pairs):
            raise ValueError
        return tuple(f"{stream}={priority}" for stream, priority in pairs)

    def plain(self, value: tuple[str, ...]) -> str:
        """Return the priorities in one text."""
        return " ".join(value)


class Text(Kind):
    """Any text, which what reads it judges."""

    metavar = "TEXT"
    legal = "a text"
    listed = False

    def check(self, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise ValueError
        return value


class RecordedGpu(Kind):
    """A GPU by its name, or a JSON file that describes one: its content counts, not its name."""

    metavar = "NAME|FILE"
    legal = f"{', '.join(GPUS)}, or a JSON file (docs/sim/traces.md)"

    def check(self, value: Any) -> Gpu:
        """Return the GPU."""
        if isinstance(value, Gpu):
            return value
        if not isinstance(value, str | Path):
            raise ValueError
        return named(str(value))

    def plain(self, value: Gpu) -> str:
        """Return the GPU's name, or what its file says."""
        return value.text

    def words(self, value: Gpu) -> str:
        """Return the GPU as it was given."""
        return value.given


class NewFile(Kind):
    """A file to write; the commands refuse one that cannot be written."""

    metavar = "FILE"
    legal = "a file in a folder that exists"
    listed = False

    def check(self, value: Any) -> Path:
        """Return the file's path."""
        if not isinstance(value, str | Path) or not str(value):
            raise ValueError
        return Path(value)

    def plain(self, value: Path) -> str:
        """Return the path as text."""
        return str(value)
