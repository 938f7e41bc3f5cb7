"""Cycle model of ConfigFilter: the history cache of block shapes."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode
from warploom_spec.timing import timing


@dataclass(frozen=True)
class Request:
    """A configuration: its whole word is the key; its region is where its indices are written."""

    key: int
    address: int
    warps: int

    def overlaps(self, other: "Request") -> bool:
        """Tell whether the regions [address, address + warps) have a warp in common."""
        return max(self.address, other.address) < min(
            self.address + self.warps, other.address + other.warps
        )


@dataclass
class Entry:
    """One entry of the history; ``used`` is the number of its last acceptance."""

    request: Request | None = None
    count: int = 0
    generating: bool = False
    used: int = 0

    @property
    def busy(self) -> bool:
        """Whether its indices are being written or may be read."""
        return self.count > 0 or self.generating


@dataclass
class Answer:
    """An outstanding answer; ``standing``: the indices stand in the memory, so it may be given."""

    payload: int
    entry: int
    hit: bool
    standing: bool = False


@dataclass(frozen=True)
class Found:
    """The judgement of the lookup stage's configuration by the entries, for the next cycle.

    Attributes
    ----------
    entry : int
        The entry that it hits or that it would replace.
    hit : bool
        Whether a valid entry has its key.
    """

    entry: int
    hit: bool


@dataclass(frozen=True)
class Verdict:
    """The decision on the lookup stage's configuration in this cycle.

    Attributes
    ----------
    entry : int or None
        The entry that it hits or that it would replace.
    hit : bool
        Whether a valid entry has its key.
    offered : bool
        A miss that only the iterator can still refuse.
    accepted : bool
        It leaves the stage.
    """

    entry: int | None = None
    hit: bool = False
    offered: bool = False
    accepted: bool = False


class ConfigFilter:
    """Cycle model of ConfigFilter.

    Ports and rules: ``docs/index/config_filter.md``; numbers in brackets are its rules. The entries
    are judged on the state at a cycle's start, for the next cycle. A release and an acceptance of
    one entry in one cycle cancel out.

    Parameters
    ----------
    config : Config
        History entries, reference bits, widths.
    """

    def __init__(self, config: Config):
        self._config = config
        self._timing = timing(config)
        self._request = layouts.index_config(config)
        self._region = layouts.index_region(config)
        self._decision_packet = layouts.index_decision(config)
        self._error_packet = layouts.error_record(config)
        self.reset()

    def reset(self) -> None:
        """Forget the history, the stage and all answers."""
        self.entries = [Entry() for _ in range(self._config.history_entries)]
        self._stage: Request | None = None
        self._age = 0
        self._found: Found | None = None
        self._needs_release = False
        self._decision: int | None = None
        self._answers: deque[Answer] = deque()
        self._acceptances = 0
        self._error = 0
        self._error_count = 0

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        verdict = self._judge(inputs)
        region = 0
        if verdict.accepted and not verdict.hit:
            assert self._stage is not None
            region = self._region.pack(
                {"valid": 1, "address": self._stage.address, "warps": self._stage.warps}
            )
        done = self._done(inputs)
        return {
            "i__ready": int(self._stage is None),
            "needs_release": int(self._says_needs_release()),
            "decision__payload": self._decision,
            "decision__valid": int(self._decision is not None),
            "o__payload": self._stage.key if verdict.offered and self._stage else None,
            "o__valid": int(verdict.offered),
            "accepted": region,
            "done__payload": None if done is None else done.payload,
            "done__valid": int(done is not None),
            "release__ready": 1,
            "error": self._error,
            "error_count": self._error_count,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        verdict = self._judge(inputs)
        done = self._done(inputs)
        self._found = self._look_up()
        self._needs_release = self._waits_for_a_release()
        self._release(inputs)
        self._finish(inputs)
        if done is not None and inputs["done__ready"]:
            self._answers.popleft()
        if inputs["decision__ready"]:
            self._decision = None
        for answer in self._answers:
            answer.standing |= answer.hit
        if verdict.accepted:
            self._accept(verdict)
        self._load(inputs, verdict)

    def _judge(self, inputs: Mapping[str, int]) -> Verdict:
        """Decide on the configuration in the lookup stage (4e to 4g, 5)."""
        if self._stage is None or self._age < self._timing.filter_lookup or self._found is None:
            return Verdict()
        if self._decision is not None or len(self._answers) == self._timing.done_depth:
            return Verdict()
        number = self._found.entry
        if self._found.hit:
            return Verdict(number, hit=True, accepted=True)
        return Verdict(number, offered=True, accepted=bool(inputs["o__ready"]))

    def _look_up(self) -> Found | None:
        """Judge the lookup stage's configuration; None while an entry holds it (2, 4a to 4d)."""
        stage = self._stage
        if stage is None:
            return None
        for number, entry in enumerate(self.entries):
            if entry.request is not None and entry.request.key == stage.key:
                full = entry.count == (1 << self._config.reference_bits) - 1
                return None if entry.generating or full else Found(number, hit=True)
        victim = self._victim()
        if victim is None or self._must_wait_for_readers(stage):
            return None
        return Found(victim, hit=False)

    def _says_needs_release(self) -> bool:
        """Tell whether the lookup stage's configuration was found to wait for a release (15)."""
        waited = self._stage is not None and self._age >= self._timing.needs_release
        return waited and self._needs_release

    def _waits_for_a_release(self) -> bool:
        """Judge whether only a release can help the lookup stage's configuration (15a to 15c)."""
        stage = self._stage
        if stage is None:
            return False
        for entry in self.entries:
            if entry.request is not None and entry.request.key == stage.key:
                return entry.count == (1 << self._config.reference_bits) - 1
        read = any(entry.count > 0 for entry in self._overlapping(stage))
        return read or all(entry.count > 0 for entry in self.entries)

    def _victim(self) -> int | None:
        """Return a miss's victim: an invalid entry, else the least recently used (3)."""
        for number, entry in enumerate(self.entries):
            if entry.request is None:
                return number
        free = [number for number, entry in enumerate(self.entries) if not entry.busy]
        return min(free, key=lambda number: self.entries[number].used, default=None)

    def _must_wait_for_readers(self, stage: Request) -> bool:
        """Tell whether a miss would overwrite indices that are being written or read (4a)."""
        return any(entry.busy for entry in self._overlapping(stage))

    def _overlapping(self, stage: Request) -> list[Entry]:
        """Return the valid entries whose region overlaps."""
        return [entry for entry in self.entries if entry.request and entry.request.overlaps(stage)]

    def _drop(self, stage: Request) -> None:
        """Forget every shape whose indices a miss is about to overwrite (7d)."""
        for entry in self._overlapping(stage):
            entry.request = None

    def _accept(self, verdict: Verdict) -> None:
        """Enter the stage's configuration in the history and answer it (7, 9)."""
        assert self._stage is not None and verdict.entry is not None
        entry = self.entries[verdict.entry]
        if verdict.hit:
            entry.count += 1
        else:
            self._drop(self._stage)
            entry.request, entry.count, entry.generating = self._stage, 1, True
        self._acceptances += 1
        entry.used = self._acceptances
        self._decision = self._decision_packet.pack(
            {"hit": int(verdict.hit), "entry": verdict.entry}
        )
        self._answers.append(Answer(self._decision, verdict.entry, verdict.hit))

    def _load(self, inputs: Mapping[str, int], verdict: Verdict) -> None:
        """Empty the lookup stage, fill it, or let its configuration age (1, 2, 6)."""
        empty = self._stage is None
        self._age += 1
        if verdict.accepted or inputs["cancel"]:
            self._stage = None
        if inputs["i__valid"] and empty and not inputs["cancel"]:
            key = inputs["i__payload"]
            fields = self._request.unpack(key)
            self._stage = Request(key, fields["address"], fields["warps"])
            self._age = 1

    def _release(self, inputs: Mapping[str, int]) -> None:
        """Give back a reference, or record an error if there is none (13, 14)."""
        self._error = 0
        number = inputs["release__payload"]
        if not inputs["release__valid"]:
            return
        if number < len(self.entries) and self.entries[number].count:
            self.entries[number].count -= 1
            return
        code = ErrorCode.RELEASE_UNREFERENCED
        self._error = self._error_packet.pack({"valid": 1, "code": code, "argument": number})
        highest = (1 << self._timing.error_counter_bits) - 1
        self._error_count = min(self._error_count + 1, highest)

    def _done(self, inputs: Mapping[str, int]) -> Answer | None:
        """Return the answer that `done` shows in this cycle (10)."""
        if not self._answers:
            return None
        oldest = self._answers[0]
        ended_now = not oldest.hit and inputs["finished"]
        return oldest if oldest.standing or ended_now else None

    def _finish(self, inputs: Mapping[str, int]) -> None:
        """End the generation of the oldest miss that has not finished (12)."""
        unfinished = (a for a in self._answers if not a.hit and not a.standing)
        answer = next(unfinished, None)
        if inputs["finished"] and answer is not None:
            answer.standing = True
            self.entries[answer.entry].generating = False
