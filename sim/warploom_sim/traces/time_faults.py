"""Recorded times that cannot be: which kernels have them, and what a replay makes of those.

The thresholds stand, with their reasons, in ``docs/sim/traces.md``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from warploom_sim.traces.call_times import CallTimes
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_file import shown
from warploom_spec import WarploomError

#: Microseconds by which a kernel may begin before its call: the clocks of two processors.
BEFORE_CALL: Final = 1.0
#: Least overlap in microseconds; and in the last place of a time as a double.
LEAST_OVERLAP: Final = 0.0005
_LAST_PLACES: Final = 2
#: A kernel that takes so many times as long as all calls together is likely in nanoseconds.
LONG: Final = 200
#: Kernels that begin so many times as late as their calls are, if those began after `_EARLY`.
LATE: Final = 500
_EARLY: Final = 1000.0
#: Microseconds that no call that launches takes at least, if there are `_CALLS` or more.
SLOW_CALL: Final = 1000.0
_CALLS: Final = 10
#: Microseconds below which no call launches a kernel, and below which no kernel runs.
QUICK_CALL: Final = 0.5
SHORT_KERNEL: Final = 0.2

#: What is wrong with kernels, by its name in ``--json``: in words, and what a replay makes of them.
FAULTS: Final = {
    "without_time": (
        "left out: no time is recorded for them ('ts' is 0, or 'ts' or 'dur' is missing)",
        "",
    ),
    "call_without_time": (
        "left out: no time is recorded for their launch call ('ts' is 0 or missing)",
        "",
    ),
    "negative_duration": ("left out: their 'dur' is negative", ""),
    "twice": (
        "left out: the file has them twice, with the same stream, times, name, shape and call",
        "",
    ),
    "zero_duration": (
        "have a 'dur' of 0",
        "the replay gives their blocks the shortest length",
    ),
    "before_call": (
        "began before their own launch call",
        "the replay launches them in the order of the calls, with the recorded lengths",
    ),
    "repeated_call": (
        "have a launch call whose 'correlation' a later call has, too",
        "the replay takes the first such call as theirs",
    ),
    "overlaps": (
        "began before an earlier one of their stream had ended",
        "the replay runs the kernels of a stream one after the other",
    ),
    "nanoseconds": (
        "seem to have their times in nanoseconds",
        "the replay takes them as microseconds",
    ),
    "milliseconds": (
        "seem to have their times in milliseconds or seconds",
        "the replay takes them as microseconds",
    ),
}
#: Those of kernels that are not among the launches.
LEFT_OUT: Final = ("without_time", "call_without_time", "negative_duration", "twice")

#: Faults as the names of figures.
LABELS: Final = {
    "without_time": "kernels without a recorded time",
    "call_without_time": "kernels whose launch call has no time",
    "negative_duration": "kernels with a negative duration",
    "twice": "kernels that the file has a second time",
    "zero_duration": "kernels with a duration of 0",
    "before_call": "kernels that began before their launch call",
    "repeated_call": "kernels whose launch call's id a later call has",
    "overlaps": "kernels that overlap an earlier one of their stream",
    "nanoseconds": "kernels with times in nanoseconds, likely",
    "milliseconds": "kernels with times in milliseconds, likely",
}

#: A kernel and the correlation id of its call.
Found = tuple[KernelLaunch, int]


@dataclass(frozen=True)
class TimeFault:
    """Kernels of a trace with one fault of `FAULTS`.

    Attributes
    ----------
    name : str
        The fault.
    count, total : int
        Kernels that have it, of all.
    first : KernelLaunch
        The first of them in the file.
    detail : str
        How much, in words that follow those of the fault.
    """

    name: str
    count: int
    total: int
    first: KernelLaunch
    detail: str = ""

    def __str__(self) -> str:
        what, made = FAULTS[self.name]
        return (
            f"{self.count:,} of {self.total:,} kernels {what}{self.detail}; the first is event"
            f" {self.first.event} ({shown(self.first.name)}){f'; {made}' * bool(made)}"
        )


@dataclass(frozen=True)
class TimeFaults:
    """All faults of a trace's times, in the order of `FAULTS`."""

    each: tuple[TimeFault, ...] = ()

    @property
    def left_out(self) -> int:
        """Kernels that are left out for their times."""
        return sum(one.count for one in self.each if one.name in LEFT_OUT)

    def counts(self) -> dict[str, int]:
        """Return how many kernels have each fault, those alone that some have."""
        return {one.name: one.count for one in self.each}

    def notes(self, path: Path) -> list[str]:
        """Return, a line each, what is wrong and what a replay makes of it."""
        return [f"{path}: {one}" for one in self.each]

    def refuse(self, path: Path) -> None:
        """Refuse a trace with a fault.

        Raises
        ------
        WarploomError
            Names the first.
        """
        if self.each:
            more = len(self.each) - 1
            others = f" ({more} more such line{'s' * (more > 1)} without --strict)" * bool(more)
            raise WarploomError(f"{path}: {self.each[0]}; legal with --strict: none{others}")


@dataclass
class TimeCheck:
    """Sorts kernels by their times, as they are read.

    Attributes
    ----------
    found : list of (KernelLaunch, int)
        Those whose times may be right.
    faulty : dict of str to list of (KernelLaunch, int)
        The others by fault.
    """

    found: list[Found] = field(default_factory=list)
    faulty: dict[str, list[Found]] = field(default_factory=dict)

    def add(self, launch: KernelLaunch, correlation: int) -> None:
        """Note a kernel; NaN stands for a time that is missing."""
        if math.isnan(launch.start) or math.isnan(launch.duration):
            fault = "without_time"
        elif launch.duration < 0:
            fault = "negative_duration"
        else:
            self.found.append((launch, correlation))
            return
        self.faulty.setdefault(fault, []).append((launch, correlation))

    def kept(self, calls: CallTimes) -> list[Found]:
        """Return the kernels that a replay launches or misses the calls of; note the others."""
        seen = set()
        kept = []
        for pair in self.found:
            launch, join = pair
            if _has_no_start(launch, calls.began.get(join, 0.0)):
                self.faulty.setdefault("without_time", []).append(pair)
                continue
            if join in calls.untimed:
                self.faulty.setdefault("call_without_time", []).append(pair)
                continue
            same = launch.identity, join
            if same in seen:
                self.faulty.setdefault("twice", []).append(pair)
                continue
            seen.add(same)
            kept.append(pair)
        return kept

    def faults(self, kept: Sequence[Found], calls: CallTimes, device: int | None) -> TimeFaults:
        """Return what is wrong with the kernels of a GPU, None: of all.

        Parameters
        ----------
        kept : sequence of (KernelLaunch, int)
            Those of them that `kept` returned.
        calls : CallTimes
            The calls of the trace.
        device : int or None
            The GPU.
        """
        those: dict[str, list[KernelLaunch]] = {
            name: [launch for launch, _ in pairs if device in (None, launch.device)]
            for name, pairs in self.faulty.items()
        }
        kernels = [launch for launch, _ in kept]
        total = len(kernels) + sum(map(len, those.values()))
        details = {}
        those["zero_duration"] = [one for one in kernels if one.duration == 0]
        those["before_call"], details["before_call"] = _before_calls(kept, calls.began)
        those["repeated_call"] = [one for one, join in kept if join in calls.repeated]
        those["overlaps"], details["overlaps"] = _overlaps(kernels)
        those["nanoseconds"], details["nanoseconds"] = _in_nanoseconds(kept, calls)
        those["milliseconds"], details["milliseconds"] = _in_milliseconds(kernels, calls)
        return TimeFaults(
            tuple(
                TimeFault(
                    name,
                    len(those[name]),
                    total,
                    min(those[name], key=lambda one: one.event),
                    details.get(name, ""),
                )
                for name in FAULTS
                if those.get(name)
            )
        )


def _has_no_start(launch: KernelLaunch, called: float) -> bool:
    """Tell a kernel without a start from the first one of a trace whose times begin at 0."""
    return launch.start == 0 and (launch.duration == 0 or called > 0)


def _before_calls(
    kept: Iterable[Found], began: Mapping[int, float]
) -> tuple[list[KernelLaunch], str]:
    """Return the kernels that began before their own calls, and by how much."""
    early = [
        (began[join] - launch.start, launch)
        for launch, join in kept
        if join in began and began[join] - launch.start > BEFORE_CALL
    ]
    most = max((by for by, _ in early), default=0.0)
    return [launch for _, launch in early], f", by up to {most:,.1f} us"


def _overlaps(kernels: Iterable[KernelLaunch]) -> tuple[list[KernelLaunch], str]:
    """Return the kernels that began before an earlier one of their stream ended, and by how much.

    Not the kernel before alone counts: one may run across several, as in branches of a graph.
    """
    order = sorted(kernels, key=lambda one: (one.device, one.stream, one.start, one.event))
    found: list[KernelLaunch] = []
    most, longest = 0.0, None
    running, until = None, 0.0
    for one in order:
        if running is None or (one.device, one.stream) != (running.device, running.stream):
            running, until = one, one.start
        over = until - one.start
        if over > LEAST_OVERLAP and over > _LAST_PLACES * math.ulp(until):
            found.append(one)
            if over > most:
                most, longest = over, running
        end = one.start + one.duration
        if end > until:
            running, until = one, end
    if longest is None:
        return [], ""
    length = f"{longest.duration:,.1f} us long"
    return found, f", by up to {most:,.1f} us (event {longest.event}, {length})"


def _in_nanoseconds(kept: Sequence[Found], calls: CallTimes) -> tuple[list[KernelLaunch], str]:
    """Return the kernels whose times are likely in nanoseconds, and why."""
    span = calls.span
    # A single call says nothing of how long the program ran.
    long = [one for one, _ in kept if one.duration >= LONG * span] if calls.several else []
    if long:
        return long, f": {LONG} times as long as all calls together ({span:,.1f} us), or longer"
    every = [one for one, _ in kept]
    called = [(one.start, calls.began[join]) for one, join in kept if join in calls.began]
    if called and all(call >= _EARLY and start >= LATE * call for start, call in called):
        return every, f": they begin {LATE} times as late as their calls, or later"
    if calls.launching >= _CALLS and calls.quickest >= SLOW_CALL:
        took = f"the quickest launch call took {calls.quickest:,.0f} us"
        return every, f": {took}, of {calls.launching:,}"
    return [], ""


def _in_milliseconds(
    kernels: list[KernelLaunch], calls: CallTimes
) -> tuple[list[KernelLaunch], str]:
    """Return the kernels whose times are likely in milliseconds or seconds, and why."""
    longest = max((one.duration for one in kernels), default=0.0)
    if len(kernels) >= _CALLS and 0 < longest < SHORT_KERNEL:
        return kernels, f": the longest took {longest:.2g} us"
    if calls.launching >= _CALLS and calls.slowest < QUICK_CALL:
        took = f"the slowest launch call took {calls.slowest:.2g} us"
        return kernels, f": {took}, of {calls.launching:,}"
    return [], ""
