"""What a replay's host read of the core, against what the core's launches did.

The words are packed here by the register map's page, not by `warploom_spec`: a word that register
map, RTL and drivers have wrong alike is found.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay.bench.axi_bench import AGAIN
from warploom_sim.replay.bench.records import (
    ANSWER,
    ASKED,
    HEARD_WORDS,
    LOOKED,
    POPPED,
    TRESPASS,
    heard_packet,
)
from warploom_sim.replay.event_files import EventFile
from warploom_spec import Config, ErrorCode

#: The host's file, in the folder of its run.
HEARD: Final = "heard.bin"
#: Lowest bit of each field in a record's word 1.
_WORD_1: Final = {
    "code": 0,
    "fate": 8,
    "kind": 11,
    "kills": 14,
    "reset_as_drain": 17,
    "stream": 18,
    "offered": 24,
}
#: The response SLVERR.
_SLVERR: Final = 2
#: IRQ_STATUS's bit of a command that completed: nobody clears it.
_COMMAND_DONE: Final = 1 << 4
#: Codes of a launch for which there was no room.
_AGAIN: Final = tuple(int(code) for code in AGAIN)


class HostReads:
    """Compares what the host read with the answers and records of the launches.

    Parameters
    ----------
    heard : dict of str to array
        The host's file: cycle, kind, and eight words a row.
    answers, ended : dict of str to array
        LaunchPath's answers and final records; both were compared with the model's.
    config : Config
        The configuration.
    priorities : sequence of int
        The launches' priorities, in the order in which they were sent.

    Attributes
    ----------
    records, results : int
        Final records of which all words are right, and doorbells of which ERROR, RESULT0 and
        RESULT1 are.
    doorbells : int
        How often the host rang.
    problems : list of str
        The first that is wrong, in words: a launch, a record, a refusal for want of room, a look at
        the interrupt or at ROOM, or the refused access.
    wrong : int
        Records, launches and looks that are wrong or lack.
    """

    def __init__(
        self,
        heard: Table,
        answers: Table,
        ended: Table,
        config: Config,
        priorities: Sequence[int],
    ):
        words = np.stack([heard[f"word{k}"] for k in range(HEARD_WORDS)], axis=1).astype(np.int64)
        self._cycles, self._kinds = heard["cycle"], heard["kind"]
        self._words = words
        self.wrong, self.problems = 0, list[str]()
        again = np.isin(words[:, 0] & 0xFF, _AGAIN) & (self._kinds == ANSWER)
        settled = (self._kinds == ANSWER) & ~again
        self.doorbells = int(again.sum() + settled.sum())
        names = ("ERROR", "RESULT0", "RESULT1")
        self.results = self._agree("launch", names, settled, _answers(answers))
        self.results += self._refused(again, settled, answers, ended, config, priorities)
        parts = tuple(f"RECORD{k}" for k in range(HEARD_WORDS))
        self.records = self._agree("record", parts, self._kinds == POPPED, _records(ended))
        self._look()
        self._ask(1 << config.priority_bits)
        self._trespass()

    def _of(self, kind: int) -> tuple[np.ndarray, np.ndarray]:
        rows = self._kinds == kind
        return self._cycles[rows], self._words[rows]

    def _refused(
        self,
        again: np.ndarray,
        settled: np.ndarray,
        answers: Table,
        ended: Table,
        config: Config,
        priorities: Sequence[int],
    ) -> int:
        """Hold refusals for want of room against what was unfinished; return how many are right.

        What had ended, or was popped, by the host's read before the doorbell takes no room any
        more.
        """
        tickets, own = answers["ticket"].astype(np.int64), np.array(priorities, np.int64)
        ends = np.full(int(tickets.max(initial=0)) + 1, NEVER, np.int64)
        ends[ended["ticket"].astype(np.int64)] = ended["cycle"].astype(np.int64)
        right = 0
        for row in np.flatnonzero(again).tolist():
            code, *rest = self._words[row, :3].tolist()
            before, asked = int(self._cycles[max(0, row - 1)]), int(settled[:row].sum())
            accepted = tickets[:asked] > 0
            if code & 0xFF == ErrorCode.QUEUE_FULL:
                accepted &= own[: len(accepted)] == own[min(asked, len(own) - 1)]
                taken = int((accepted & (ends[tickets[:asked]] > before)).sum())
                most = config.queue_depth
            else:
                taken = int(accepted.sum() - (self._kinds[:row] == POPPED).sum())
                # A place is kept for a command's record.
                most = config.records - 1
            if taken >= most and code in _AGAIN and rest == [0, 0]:
                right += 1
                continue
            self._note(
                f"launch {asked} was refused for want of room in cycle"
                f" {int(self._cycles[row]):,}, with {taken} of {most} places taken: ERROR"
                f" {code:#x}, RESULT0 {rest[0]:#x}, RESULT1 {rest[1]:#x}"
            )
        return right

    def _agree(
        self, what: str, names: Sequence[str], rows: np.ndarray, wanted: Sequence[Sequence[int]]
    ) -> int:
        """Compare the words of some rows in order; return how many are right."""
        cycles, words = self._cycles[rows], self._words[rows]
        right = 0
        for number, (row, want) in enumerate(zip(words.tolist(), wanted, strict=False)):
            differing = [
                f"{name} {got:#x} instead of {asked:#x}"
                for name, got, asked in zip(names, row, want, strict=False)
                if got != asked
            ]
            right += not differing
            if differing:
                self._note(
                    f"{what} {number} that the host read (cycle {int(cycles[number]):,}):"
                    f" {', '.join(differing)}"
                )
        if len(words) != len(wanted):
            self._note(f"the host read {len(words):,} {what}s instead of {len(wanted):,}")
        return right

    def _look(self) -> None:
        """Hold `irq` and IRQ_STATUS against RECORDS, which only the host's own pops make smaller.

        RECORDS is at least what `irq` said before; IRQ_STATUS and `irq`, which are looked at
        afterwards, are at least what RECORDS says.
        """
        cycles, words = self._of(LOOKED)
        for cycle, (records, status, threshold, before, after, *_) in zip(
            cycles.tolist(), words.tolist(), strict=True
        ):
            enough = records >= max(1, threshold)
            wrong = []
            if before and not enough:
                wrong.append("`irq` was 1")
            if enough and not after:
                wrong.append("`irq` is 0")
            if enough and not status & 1:
                wrong.append("IRQ_STATUS has bit 0 at 0")
            # It looks after a command's end only.
            if status & ~1 != _COMMAND_DONE:
                wrong.append(
                    f"IRQ_STATUS is {status:#x}: commands ended, no error happened, no SM was lost"
                )
            if wrong:
                self._note(
                    f"in cycle {cycle:,} RECORDS is {records:,}, the threshold {threshold:,}, and"
                    f" {', '.join(wrong)}"
                )
        if not len(words):
            self._note("the host never read RECORDS")

    def _ask(self, priorities: int) -> None:
        """Hold ROOM against the answer to the launch that the host rings when its bit is 1."""
        rows = np.flatnonzero((self._kinds == ASKED) | (self._kinds == ANSWER))
        pairs = zip(rows.tolist(), [*rows[1:].tolist(), None], strict=True)
        for row, after in pairs:
            room, priority, *_ = self._words[row].tolist()
            if self._kinds[row] != ASKED:
                continue
            wrong = room >> priorities != 0
            if room >> priority & 1:
                rung = after is not None and self._kinds[after] == ANSWER
                wrong |= not rung or int(self._words[after, 0]) & 0xFF in _AGAIN
            if wrong:
                self._note(
                    f"in cycle {int(self._cycles[row]):,} ROOM is {room:#x}, with {priorities}"
                    f" priorities; the launch of priority {priority} that is rung again if bit"
                    f" {priority} is 1 has room then"
                )

    def _trespass(self) -> None:
        """Hold the one access that the map does not have, at the end, against REFUSED."""
        _, words = self._of(TRESPASS)
        if len(words) != 1:
            self._note(f"the host wrote ID {len(words)} times instead of once")
            return
        before, response, after, irq, *_ = words[0].tolist()
        if (before, response, after) != (0, _SLVERR, 1):
            self._note(
                f"REFUSED {before}, then a write to ID with response {response}, then REFUSED"
                f" {after}; wanted 0, {_SLVERR}, 1"
            )
        if irq:
            self._note("`irq` is 1 after the last record was popped")

    def _note(self, problem: str) -> None:
        self.wrong += 1
        if self.wrong == 1:
            self.problems.append(problem)


def read(
    folder: Path, answers: Table, ended: Table, config: Config, priorities: Sequence[int]
) -> HostReads:
    """Read the host's file and compare.

    Raises
    ------
    ProgramError
        If the file is not whole.
    """
    file = EventFile(folder / HEARD, heard_packet())
    parts = [*iter(file.read, None), file.finish()]
    heard = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return HostReads(heard, answers, ended, config, priorities)


def _answers(answers: Table) -> list[tuple[int, ...]]:
    """Return ERROR (code, core 0, argument), RESULT0 (ticket or 0) and RESULT1 (number or 0)."""
    columns = (answers[name].tolist() for name in ("code", "argument", "ticket", "count"))
    return [
        (code | argument << 16, ticket, count << 16)
        for code, argument, ticket, count in zip(*columns, strict=True)
    ]


def _records(ended: Table) -> list[tuple[int, ...]]:
    """Return the eight words of each final record."""
    names = ("ticket", "word2", "word3", "word4", "accepted", "first_offer", "made")
    first, *rest = (ended[name].tolist() for name in names)
    parts = [ended[name].astype(np.int64) << low for name, low in _WORD_1.items()]
    return list(zip(first, np.sum(parts, axis=0).tolist(), *rest, strict=True))
