"""A trace's folded launches as LOOPs and single launches, and the accesses that they take.

A trace holds no kernel arguments, so they are made up: each launch has one inline argument, a base
that its kernel decides. In a run, occurrence i of a launch has the base plus i steps; of every
third kernel the argument alternates between base and base plus a step.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from warploom_golden.deferral.calls import Alternate, Linear
from warploom_golden.deferral.folding import Run, fold
from warploom_golden.deferral.kept_words import (
    LAUNCH_ACCESSES,
    LOOP_ACCESSES,
    KeptWords,
    launch_places,
    template_places,
)
from warploom_golden.deferral.loop_expansion import expand
from warploom_golden.deferral.loop_rules import Rule
from warploom_golden.deferral.templates import INLINE_FIELD, make_loop, make_template
from warploom_spec import Config

Words = tuple[int, ...]
_ARGUMENT_BASE: Final = 0x7F00_0000_0000
_KERNEL_BYTES: Final = 1 << 24
_STEP: Final = 4096
_ALTERNATES: Final = 3


@dataclass(frozen=True)
class TraceLaunch:
    """A trace's launch as the core gets it.

    Attributes
    ----------
    key : hashable
        What makes it equal to another launch: all of its fields, and what it waits for.
    fields : Mapping of str to int
        The fields of LAUNCH; inline word 0 is made up here.
    held : bool
        Whether the host holds it until others have ended.
    """

    key: Hashable
    fields: Mapping[str, int]
    held: bool = False

    def template(self, config: Config) -> Words:
        """Return its words, and what its argument steps by."""
        kernel = self.fields["code"]
        base = _ARGUMENT_BASE + kernel * _KERNEL_BYTES
        rule: Rule = Linear(base, _STEP)
        if kernel % _ALTERNATES == _ALTERNATES - 1:
            rule = Alternate(base, base + _STEP)
        return make_template(config, {**self.fields, "inline0": base}, {INLINE_FIELD: rule})


@dataclass(frozen=True)
class SentRun:
    """A run of the folded trace, and how it is sent.

    Attributes
    ----------
    run : Run
        Its launches.
    first_slot : int or None
        Slot of its first template; None: its launches are sent one by one.
    templates : tuple of tuple of int
        64 words of each launch of an iteration.
    written : int
        Words of templates that are written before its LOOP.
    """

    run: Run
    first_slot: int | None
    templates: tuple[Words, ...]
    written: int = 0


@dataclass(frozen=True)
class TraceLoops:
    """A folded trace.

    Attributes
    ----------
    sent : tuple of SentRun
        Its runs, in order.
    launches : tuple of tuple of int
        32 words of each launch, in order: what the core's blocks must see, however they were sent.
    transactions : int
        Writes and reads of all commands. Polls of the doorbell do not count.
    """

    sent: tuple[SentRun, ...]
    launches: tuple[Words, ...]
    transactions: int

    @cached_property
    def loops(self) -> int:
        """LOOPs among the commands."""
        return sum(run.first_slot is not None for run in self.sent)

    @cached_property
    def templates(self) -> int:
        """Templates of all LOOPs."""
        return sum(len(run.templates) for run in self.sent if run.first_slot is not None)


def fold_trace(launches: Sequence[TraceLaunch], slots: int, config: Config) -> TraceLoops:
    """Fold a trace, and choose for each run how it is sent, and its slots.

    A run becomes a LOOP where that takes fewer accesses than its launches one by one. Its first
    slot is the one from which on the fewest words differ from what stands in the slots.

    Parameters
    ----------
    launches : sequence of TraceLaunch
        In the trace's order.
    slots : int
        Slots of the template memory; 0: every launch is sent one by one.
    config : Config
        Decides the words of a LAUNCH.
    """
    keys = [launch.key for launch in launches]
    runs = fold(keys, slots) if slots else [Run(n, 1, 1) for n in range(len(keys))]
    return _Sender(launches, slots, config).send(runs)


def one_by_one(folded: TraceLoops, config: Config) -> int:
    """Return the accesses of the same launches, with the same arguments, sent one by one."""
    return _accesses(folded.launches, KeptWords(), config)


class _Sender:
    """Sends runs, and keeps what stands in the slots and in the section of the LAUNCHes."""

    def __init__(self, launches: Sequence[TraceLaunch], slots: int, config: Config):
        self._launches, self._config = launches, config
        self._section = KeptWords()
        self._slots = [KeptWords() for _ in range(slots)]
        self._made: dict[Hashable, Words] = {}

    def send(self, runs: Sequence[Run]) -> TraceLoops:
        sent: list[SentRun] = []
        seen: list[Words] = []
        transactions = 0
        for run in runs:
            body = tuple(map(self._template, self._launches[run.first : run.first + run.body]))
            launched = list(expand(body, make_loop(self._config, run.count, len(body))))
            seen += launched
            first, written = self._best_place(body) if run.count > 1 else (None, 0)
            singly, section = self._singly(launched)
            if first is None or singly <= written + LOOP_ACCESSES:
                sent.append(SentRun(run, None, body))
                self._section = section
                transactions += singly
                continue
            for place, words in enumerate(body):
                self._slot(first + place).write(words, template_places(words, self._config))
            sent.append(SentRun(run, first, body, written))
            transactions += written + LOOP_ACCESSES
        return TraceLoops(tuple(sent), tuple(seen), transactions)

    def _template(self, launch: TraceLaunch) -> Words:
        if launch.key not in self._made:
            self._made[launch.key] = launch.template(self._config)
        return self._made[launch.key]

    def _slot(self, place: int) -> KeptWords:
        return self._slots[place % len(self._slots)]

    def _best_place(self, body: Sequence[Words]) -> tuple[int, int]:
        """Return the first slot for a loop's templates, and how many words must be written."""
        places = [template_places(words, self._config) for words in body]
        costs = [
            sum(self._slot(first + k).differ(words, places[k]) for k, words in enumerate(body))
            for first in range(len(self._slots))
        ]
        return costs.index(min(costs)), min(costs)

    def _singly(self, launched: Sequence[Words]) -> tuple[int, KeptWords]:
        """Return the accesses of launches one by one, and what the section then holds."""
        section = KeptWords(dict(self._section.known))
        return _accesses(launched, section, self._config), section


def _accesses(launched: Sequence[Words], section: KeptWords, config: Config) -> int:
    return sum(
        section.write(words, launch_places(words, config)) + LAUNCH_ACCESSES for words in launched
    )
