"""Cycle model of CompletionQueue: final records, kept in order until the host has read them."""

from collections import deque
from collections.abc import Mapping
from typing import assert_never

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import Fate
from warploom_spec.host_commands import record_words
from warploom_spec.queue import FinalFate
from warploom_spec.word_layout import WORD_BITS


class CompletionQueue:
    """Cycle model of CompletionQueue.

    Ports and rules: ``docs/host/completion_queue.md``. Numbers in comments are the page's rules.

    Parameters
    ----------
    config : Config
        ``queue_depth``.
    """

    def __init__(self, config: Config):
        self._ended = layouts.end_record(config)
        self._words = record_words(config)
        self._entries = config.records - 1
        self.reset()

    def reset(self) -> None:
        """Forget all records."""
        self._memory: deque[int] = deque()
        self._shown: int | None = None
        #: What the outputs show: the state of the cycle before (5).
        self._oldest = self._records = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on the state alone."""
        del inputs
        return {
            "ended__ready": int(len(self._memory) < self._entries),  # 2
            "oldest": self._oldest,
            "records": self._records,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge; everything is judged by the state before it."""
        enters = inputs["ended__valid"] and len(self._memory) < self._entries
        self._oldest = self._shown or 0  # 5
        self._records = len(self._memory) + (self._shown is not None)
        if inputs["pop"]:  # 3
            self._shown = None
        if self._shown is None and self._memory:  # 4
            self._shown = self._memory.popleft()
        if enters:  # 2
            self._memory.append(self._record(inputs["ended__payload"]))

    def _record(self, ended: int) -> int:
        """Return the six words of a record as one number, the first word lowest."""
        fields = self._ended.unpack(ended)
        values = dict.fromkeys(self._words.by_name, 0) | {
            "ticket": fields["ticket"],
            "code": fields["code"],
            "fate": _final_fate(fields["fate"]),
            "cycles": fields["cycles"],
        }
        words = self._words.pack(values)
        return sum(word << WORD_BITS * k for k, word in enumerate(words))


def _final_fate(number: int) -> FinalFate:
    """Return what a host reads as fate (2); a number that is no fate counts as a failure."""
    if number not in list(Fate):
        return FinalFate.FAILED
    fate = Fate(number)
    match fate:
        case Fate.FINISHED:
            return FinalFate.FINISHED
        case Fate.KILLED | Fate.DRAINED | Fate.SKIPPED | Fate.ABORTED:
            return FinalFate.ABORTED
        case Fate.FAILED:
            return FinalFate.FAILED
        case _:
            assert_never(fate)
