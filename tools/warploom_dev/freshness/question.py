"""One question a row: whether it is of the sources that are there now."""

import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from amaranth.hdl import UnusedElaboratable


@dataclass(frozen=True, kw_only=True)
class Question:
    """A row that is there, or is lacking.

    Attributes
    ----------
    figures : str
        The file that has it: ``synth`` is ``docs/figures/synth.json``.
    row : str
        Its name there.
    block : str
        The block that it says something of, a name of `BLOCKS`; empty for a baseline.
    command : str
        What measures it.
    marked : bool or None
        Whether it is marked as stale; None for a row that is lacking.
    declared : bool
        Whether a page names the blocks without such a row, so that it may lack.
    is_fresh : callable or None
        Elaborates, and compares; may be handed to another process. None for a row that is lacking.
    """

    figures: str
    row: str
    block: str
    command: str
    marked: bool | None
    declared: bool
    is_fresh: Callable[[], bool] | None


@dataclass(frozen=True)
class Answer:
    """A question, and whether its row is stale; a row that is lacking is not."""

    question: Question
    stale: bool

    @property
    def name(self) -> str:
        """The row's name, its file before it."""
        return f"{self.question.figures} {self.question.row}"

    def wrong(self, finished: bool) -> str:
        """Say that a row is stale or lacking, and what measures it; nothing of another one.

        Parameters
        ----------
        finished : bool
            Whether its block is to be called finished: then no row may lack.
        """
        asked = self.question
        if asked.marked is None:
            may_lack = asked.declared and not finished
            return "" if may_lack else f"no row: {self.name}; run: {asked.command}"
        return f"stale: {self.name}; run: {asked.command}" if self.stale else ""

    def wrong_mark(self) -> str:
        """Say that a row is marked without a reason."""
        if not self.question.marked or self.stale:
            return ""
        return f"marked as stale, but is not: {self.name}; run: make figures"


def answers(
    questions: Sequence[Question], jobs: int, step: Callable[[], None] = lambda: None
) -> list[Answer]:
    """Answer questions, a few side by side.

    Parameters
    ----------
    questions : sequence of Question
        Their order is the answers'.
    jobs : int
        Processes; 1 is this one.
    step : callable
        Called after each answer.
    """
    found = []
    for question, stale in zip(questions, _stale(questions, jobs), strict=True):
        found.append(Answer(question, stale))
        step()
    return found


def _stale(questions: Sequence[Question], jobs: int) -> Iterator[bool]:
    if jobs == 1:
        yield from map(is_stale, questions)
        return
    # Not forked: a progress bar has a thread.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(is_stale, questions)


def is_stale(question: Question) -> bool:
    """Return whether a row is there and is of other sources."""
    # A component is also made to read its ports.
    warnings.filterwarnings("ignore", category=UnusedElaboratable)
    return question.is_fresh is not None and not question.is_fresh()
