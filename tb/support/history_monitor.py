"""Independent checks at the ports of ConfigFilter and IndexGenerator, and a count of rare events.

The monitor rebuilds the history from what it sees: configurations that arrive, decisions, releases.
It shares no code with the model.
"""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tb.support.index_cases import CONFIGS
from tb.support.record import Recording
from warploom_golden.index.lanes import join
from warploom_golden.oracles.index_reference import packed_warps
from warploom_spec import Config, layouts, timing

#: Rare events that a test may demand: why a configuration waits, and what else happens to it.
EVENTS = (
    "wait_overlap",
    "wait_victim",
    "wait_generating",
    "wait_count",
    "wait_answers",
    "needs_release",
    "needs_no_release",
    "release_helps",
    "entry_dropped",
    "release_with_acceptance",
    "cancel",
)

Values = Mapping[str, int]


@dataclass
class Shape:
    """A configuration in the history, who refers to it, and how many of its warps are written."""

    key: int
    fields: dict[str, int]
    count: int = 0
    generating: bool = False
    written: int = 0

    @property
    def region(self) -> range:
        """Its warps in the index memory."""
        return range(self.fields["address"], self.fields["address"] + self.fields["warps"])

    @property
    def busy(self) -> bool:
        """Whether it is being written or may be read."""
        return self.generating or self.count > 0

    def meets(self, other: "Shape") -> bool:
        """Tell whether the regions have a warp in common."""
        one, two = self.region, other.region
        return max(one.start, two.start) < min(one.stop, two.stop)


class HistoryMonitor:
    """Keep an account of references, entries and answers; raise AssertionError where it differs."""

    config: ClassVar[Config]

    def __init__(self) -> None:
        self._packet = layouts.index_config(self.config)
        self._decision = layouts.index_decision(self.config)
        self._error = layouts.error_record(self.config)
        self._warp = layouts.packed_warp(self.config)
        self._timing = timing(self.config)
        self._counts: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
        self.reset()

    def reset(self) -> None:
        """Forget the history; the counts stay."""
        self._entries: dict[int, Shape] = {}
        self._unfinished: deque[Shape] = deque()
        self._undone: deque[int] = deque()
        self._stage: Shape | None = None
        self._age = 0
        self._last: tuple[Values, Values] | None = None

    def counts(self) -> dict[str, int]:
        """Return the rare events."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Values, outputs: Values) -> None:
        """Account for the cycle before, whose acceptance and error show in this one."""
        if self._last is not None:
            self._account(*self._last, outputs)
        self._last = inputs, outputs

    def _account(self, inputs: Values, outputs: Values, after: Values) -> None:
        accepted = after["decision__valid"] and not outputs["decision__valid"]
        answer = self._decision.unpack(after["decision__payload"]) if accepted else None
        self._check_needs_release(bool(inputs["cancel"]), accepted, outputs, after)
        if answer is None:
            self._see_wait(inputs, outputs)
        elif answer["hit"]:
            self._check_hit(answer["entry"])
        else:
            self._check_miss(answer["entry"])
        released = self._see_release(inputs, after)
        self._see_writes(inputs, outputs)
        if outputs["done__valid"] and inputs["done__ready"]:
            assert self._undone, "done without an acceptance"
            assert outputs["done__payload"] == self._undone.popleft(), "done out of order"
        if answer is not None:
            self._undone.append(after["decision__payload"])
            self._accept(answer["entry"], bool(answer["hit"]))
            self._counts["release_with_acceptance"] += released == answer["entry"]
        self._move_stage(inputs, outputs, answer is not None)

    def _see_wait(self, inputs: Values, outputs: Values) -> None:
        """Count cycles in which the history alone holds the configuration in the stage."""
        stage = self._stage
        if stage is None or self._age < self._timing.filter_lookup or outputs["decision__valid"]:
            return
        cause = self._cause(stage)
        if cause is not None:
            self._counts[cause] += 1

    def _check_needs_release(
        self, cancelled: bool, accepted: bool, outputs: Values, after: Values
    ) -> None:
        """Judge `needs_release` on the state at the start of the cycle before it."""
        stage = self._stage
        waits = stage is not None and not cancelled and not accepted
        ripe = waits and self._age + 1 >= self._timing.needs_release
        expected = bool(stage and ripe and self._only_a_release_helps(stage))
        shown = bool(after["needs_release"])
        assert shown == expected, f"needs_release is {shown}, and {stage} waits"
        self._counts["needs_release"] += shown
        self._counts["needs_no_release"] += bool(
            stage and ripe and not shown and self._cause(stage) is not None
        )
        self._counts["release_helps"] += bool(waits and outputs["needs_release"] and not shown)

    def _only_a_release_helps(self, stage: Shape) -> bool:
        number = self._entry_of(stage)
        if number is not None:
            return self._entries[number].count + 1 == 1 << self.config.reference_bits
        read = [entry for entry in self._entries.values() if entry.count > 0]
        full = len(read) == self.config.history_entries
        return full or any(entry.meets(stage) for entry in read)

    def _cause(self, stage: Shape) -> str | None:
        """Return what a configuration waits for; None where it is the iterator."""
        if len(self._undone) == self._timing.done_depth:
            return "wait_answers"
        number = self._entry_of(stage)
        if number is not None:
            return "wait_generating" if self._entries[number].generating else "wait_count"
        entries = self._entries.values()
        if any(entry.busy and entry.meets(stage) for entry in entries):
            return "wait_overlap"
        full = len(entries) == self.config.history_entries
        return "wait_victim" if full and all(entry.busy for entry in entries) else None

    def _entry_of(self, shape: Shape) -> int | None:
        found = [number for number, entry in self._entries.items() if entry.key == shape.key]
        assert len(found) <= 1, f"entries {found} have one key"
        return found[0] if found else None

    def _check_hit(self, number: int) -> None:
        """Judge a hit on the state at its cycle's start."""
        stage = self._stage
        assert stage is not None, "a decision without a configuration"
        assert self._entry_of(stage) == number, "a hit of another shape"
        entry = self._entries[number]
        assert not entry.generating, "a hit of a shape that is being made"
        assert entry.count + 1 < 1 << self.config.reference_bits, "a count overflows"

    def _check_miss(self, number: int) -> None:
        """Judge a miss on the state at its cycle's start."""
        stage = self._stage
        assert stage is not None, "a decision without a configuration"
        assert self._entry_of(stage) is None, "a miss of a shape that is there"
        assert number not in self._entries or not self._entries[number].busy, "a busy victim"
        busy = [entry for entry in self._entries.values() if entry.busy and entry.meets(stage)]
        assert not busy, "a region is overwritten that is read or written"

    def _see_release(self, inputs: Values, after: Values) -> int | None:
        """Take a reference away; return the entry that was released rightly."""
        if not inputs["release__valid"]:
            assert after["error"] == 0, "an error without a release"
            return None
        number = inputs["release__payload"]
        right = number in self._entries and self._entries[number].count > 0
        error = self._error.unpack(after["error"])
        assert error["valid"] == (not right), f"release of {number}: error {error}"
        if not right:
            assert error["argument"] == number, f"release of {number}: error {error}"
            return None
        self._entries[number].count -= 1
        return number

    def _see_writes(self, inputs: Values, outputs: Values) -> None:
        """Note the end of a generation."""
        if inputs["finished"] and self._unfinished:
            self._unfinished.popleft().generating = False

    def _accept(self, number: int, hit: bool) -> None:
        """Let the stage's configuration into the history and give it a reference."""
        entry = self._entries[number] if hit else self._replace(number)
        entry.count += 1

    def _replace(self, number: int) -> Shape:
        """Put the stage's shape in an entry's place and drop what it overwrites."""
        assert self._stage is not None
        self._entries.pop(number, None)
        for other in [k for k, entry in self._entries.items() if entry.meets(self._stage)]:
            del self._entries[other]
            self._counts["entry_dropped"] += 1
        self._stage.generating = True
        self._entries[number] = self._stage
        self._unfinished.append(self._stage)
        return self._stage

    def _move_stage(self, inputs: Values, outputs: Values, accepted: bool) -> None:
        """Empty the lookup stage and fill it as the ports say.

        It is filled only if it was empty, and never in a cycle with `cancel`.
        """
        transfers = inputs["i__valid"] and outputs["i__ready"]
        assert not transfers or self._stage is None, "a configuration is overwritten"
        if accepted or inputs["cancel"]:
            self._counts["cancel"] += self._stage is not None and not accepted
            self._stage = None
        self._age += 1
        if transfers and not inputs["cancel"]:
            key = inputs["i__payload"]
            self._stage, self._age = Shape(key, self._packet.unpack(key)), 1


class IndexMonitor(HistoryMonitor):
    """As `HistoryMonitor`, for IndexGenerator: what is written is checked against division too."""

    def __init__(self) -> None:
        super().__init__()
        self._counts["shapes_written"] = 0

    def reset(self) -> None:
        """Forget the history and what the memory holds."""
        super().reset()
        self._memory: dict[int, tuple[int, int]] = {}

    def _see_writes(self, inputs: Values, outputs: Values) -> None:
        payload = _written(inputs, outputs)
        if payload is None:
            return
        warp = self._warp.unpack(payload)
        assert self._unfinished, "a write without a miss"
        shape = self._unfinished[0]
        assert warp["address"] == shape.region[shape.written], "a write in the wrong place"
        assert warp["first"] == (shape.written == 0), "a wrong first warp"
        shape.written += 1
        assert warp["last"] == (shape.written == len(shape.region)), "a wrong last warp"
        self._memory[warp["address"]] = warp["words"], warp["mask"]
        if warp["last"]:
            shape.generating = False
            self._unfinished.popleft()
            self._check_memory(shape)
            self._counts["shapes_written"] += 1

    def _accept(self, number: int, hit: bool) -> None:
        super()._accept(number, hit)
        if hit:
            self._check_memory(self._entries[number])

    def _check_memory(self, shape: Shape) -> None:
        """Compare a region with the indices by division."""
        dims = shape.fields["dx"], shape.fields["dy"], shape.fields["dz"]
        words, mask = packed_warps(dims, self.config)
        expected = [
            (join(row, self.config.word_bits), join(valid, 1))
            for row, valid in zip(words, mask, strict=True)
        ]
        found = [self._memory.get(place) for place in shape.region]
        assert found == expected, f"the memory holds wrong indices of {dims}"


def _written(inputs: Values, outputs: Values) -> int | None:
    """Return the packed warp that is written in this cycle."""
    if "written" in outputs:
        return outputs["written"] if outputs["written_valid"] else None
    return outputs["write__payload"] if outputs["write__valid"] and inputs["write__ready"] else None


def _of(base: type[HistoryMonitor], name: str) -> type[HistoryMonitor]:
    """Make the monitor of one configuration, importable by name."""
    title = f"{base.__name__}_{name}"
    return type(title, (base,), {"config": CONFIGS[name], "__module__": __name__})


#: Monitors by configuration; the harness finds a class by its module and name.
HISTORY_MONITORS = {name: _of(HistoryMonitor, name) for name in CONFIGS}
INDEX_MONITORS = {name: _of(IndexMonitor, name) for name in CONFIGS}
globals().update(
    {kind.__name__: kind for kind in (*HISTORY_MONITORS.values(), *INDEX_MONITORS.values())}
)


def watch(
    recording: Recording, config: Config, base: type[HistoryMonitor] = HistoryMonitor
) -> dict[str, int]:
    """Let a monitor look at a recording; return what it counted."""
    monitor = type(base.__name__, (base,), {"config": config})()
    cycles = zip(recording.inputs, recording.outputs, strict=True)
    for cycle, (inputs, outputs) in enumerate(cycles):
        monitor.see(cycle, inputs, outputs)
    return monitor.counts()
