"""Kernel launches of a trace as the PyTorch profiler writes it (Chrome trace format).

A kernel event is joined by its correlation id to the runtime or driver call that launched it, and
launches stand in the order of those calls: that is the order in which a front end sees them. What
is refused, and how, stands in ``docs/sim/traces.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from warploom_sim.traces.call_times import CallTimes
from warploom_sim.traces.devices import Device, Devices, described
from warploom_sim.traces.event_waits import (
    EVENT_WAIT_CALLS,
    SYNC_CATEGORY,
    Calls,
    EventWaits,
    event_waits,
)
from warploom_sim.traces.hip_calls import HipCalls
from warploom_sim.traces.kernel_event import KernelEvent
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.time_faults import FAULTS, Found, TimeCheck, TimeFaults
from warploom_sim.traces.trace_file import Place, event_place, read_document, shown
from warploom_spec import WarploomError

CALL_CATEGORIES: Final = ("cuda_runtime", "cuda_driver")
#: Work of the GPU that is no kernel, by category: counted, not replayed.
COPY_CATEGORIES: Final = {"gpu_memcpy": "memory_copies", "gpu_memset": "memory_sets"}
#: Why waits are dropped.
_ACROSS: Final = "they are between urgent launches and others, which are repeated by themselves"
#: Part of the names of calls by which the host waits for the GPU.
_HOST_WAITS: Final = "Synchronize"
#: What profilers up to PyTorch 1.11 call a category.
_OLD_CATEGORIES: Final = {
    "Kernel": "kernel",
    "Runtime": "cuda_runtime",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
}


@dataclass(frozen=True)
class Trace:
    """A recording.

    Attributes
    ----------
    path : Path
        The file.
    devices : mapping of int to Device
        The GPUs it ran on.
    launches : tuple of KernelLaunch
        In the order of their launch calls.
    calls : tuple of float
        Of each launch when its call began, in microseconds.
    event_waits : tuple of int
        Numbers of the calls, among the file's events, that made a stream wait for an event.
    left_out : int
        Kernels without a recorded launch call, which are not among the launches.
    first_left_out : KernelLaunch or None
        The first of those in the file.
    waits : EventWaits
        Which launches wait for launches of other streams.
    passed_over : mapping of str to int
        What is counted alone: ``memory_copies``, ``memory_sets``, ``host_synchronisations``.
    without_grid : int
        Kernels whose grid AMD's profiler did not record, which are not among the launches.
    without_resources : int
        Launches whose registers and static shared memory AMD's profiler did not record: they have
        none.
    unused_gpu : str
        Name of the GPU that was given for a trace that describes its own; empty: none was.
    times : TimeFaults
        Recorded times that cannot be.
    """

    path: Path
    devices: Mapping[int, Device]
    launches: tuple[KernelLaunch, ...]
    calls: tuple[float, ...]
    event_waits: tuple[int, ...] = ()
    left_out: int = 0
    first_left_out: KernelLaunch | None = None
    waits: EventWaits = field(default_factory=EventWaits)
    passed_over: Mapping[str, int] = field(default_factory=dict)
    without_grid: int = 0
    without_resources: int = 0
    unused_gpu: str = ""
    times: TimeFaults = TimeFaults()

    def place(self, launch: KernelLaunch) -> Place:
        """Return where a launch stands in the file, for messages."""
        return event_place(self.path, launch.event, launch.name)

    def left_out_note(self) -> str:
        """Return in one line which kernels are not among the launches; "" if all are."""
        first = self.first_left_out
        if first is None:
            return ""
        total = len(self.launches) + self.left_out + self.times.left_out
        return (
            f"{self.path}: {self.left_out:,} of {total:,} kernels left out: no launch call is"
            f" recorded for them; the first is event {first.event} ({shown(first.name)})"
        )

    def notes(self, *, keeps: bool = False, dropped: int = 0) -> list[str]:
        """Return, a line each, all that a replay of this trace leaves out.

        Parameters
        ----------
        keeps : bool
            Whether it keeps event waits.
        dropped : int
            Of the event waits whose stream is known those that it does not keep as a whole.
        """
        return [
            *filter(None, [self.left_out_note()]),
            *self.reading_notes(),
            *self.wait_notes(keeps, dropped),
            *self.copy_notes(),
        ]

    def reading_notes(self) -> list[str]:
        """Return, a line each, what is not known of the recorded GPU, its kernels and its times."""
        return [*self._gpu_notes(), *self.times.notes(self.path)]

    def _gpu_notes(self) -> list[str]:
        lines = []
        if self.unused_gpu:
            own = ", ".join(sorted({self.devices[one.device].name for one in self.launches}))
            lines.append(
                f"{self.path}: --gpu {self.unused_gpu} is not used: 'deviceProperties' describes"
                f" the recorded GPU, {shown(own)}"
            )
        if self.without_grid:
            total = len(self.launches) + self.left_out + self.times.left_out + self.without_grid
            lines.append(
                f"{self.path}: {self.without_grid:,} of {total:,} kernels left out: the profiler"
                " recorded no grid for them"
            )
        if self.without_resources:
            lines.append(
                f"{self.path}: {self.without_resources:,} launches without recorded registers and"
                " static shared memory: they are replayed as if their blocks took none"
            )
        return lines

    def wait_notes(self, keeps: bool, dropped: int) -> list[str]:
        """Return, a line each, what a replay makes of the event waits."""
        waits = self.waits
        rules = ", ".join(f"{count:,} {rule}" for rule, count in waits.by_rule.items())
        if keeps:
            known, unknown = waits.count - waits.unknown, waits.unknown
            lost = "their streams are unknown: launches may overlap that the program ordered"
            kept = f"{known - dropped:,} of {known:,}" if dropped else f"{known:,}"
            lines = [f"{kept} event waits kept ({rules})"] * bool(known)
            lines += [f"{dropped:,} event waits dropped: {_ACROSS}"] * bool(dropped)
            lines += [f"{unknown:,} event waits ignored: {lost}"] * bool(unknown)
            return [f"{self.path}: {line}" for line in lines]
        if not waits.count:
            return []
        unknown_too = f", {waits.unknown:,} of an unknown stream" * bool(waits.unknown)
        return [
            f"{self.path}: {waits.count:,} event waits ignored ({rules}{unknown_too}):"
            f" {len(waits.pairs):,} pairs of launches may overlap that the program ordered"
        ]

    def copy_notes(self) -> list[str]:
        """Return in a line which copies a replay leaves out."""
        lines = []
        words = {name: name.replace("_", " ") for name in COPY_CATEGORIES.values()}
        counts = [
            f"{self.passed_over[name]:,} {word}"
            for name, word in words.items()
            if self.passed_over.get(name)
        ]
        if counts:
            lines.append(f"{self.path}: {' and '.join(counts)} are not replayed")
        return lines

    def refuse_ignored_waits(self, *, keeps: bool) -> None:
        """Refuse a trace with event waits which a replay would ignore.

        Parameters
        ----------
        keeps : bool
            Whether the replay keeps those whose stream is known.

        Raises
        ------
        WarploomError
            Names the first call that makes a stream wait.
        """
        if self.event_waits and not (keeps and not self.waits.unknown):
            ignored = f"{self.waits.unknown:,} of them" if keeps else "them"
            raise event_place(self.path, self.event_waits[0]).refuse(
                f"makes a stream wait for an event, one of {len(self.event_waits):,} such calls;"
                f" the replay ignores {ignored}; legal with --strict: none"
            )

    def summary(self) -> dict[str, Any]:
        """Return the recording's figures by name; times in microseconds."""
        used = sorted({launch.device for launch in self.launches})
        start = min(launch.start for launch in self.launches)
        end = max(launch.start + launch.duration for launch in self.launches)
        return {
            "device": ", ".join(self.devices[number].name for number in used),
            "sms": sum(self.devices[number].sms for number in used),
            "launches": len(self.launches),
            "left_out": self.left_out,
            "without_grid": self.without_grid,
            "without_resources": self.without_resources,
            **dict.fromkeys(FAULTS, 0),
            **self.times.counts(),
            "kernels": len({launch.name for launch in self.launches}),
            "blocks": sum(launch.blocks for launch in self.launches),
            "largest_grid": max(launch.blocks for launch in self.launches),
            "block_shapes": len({launch.block for launch in self.launches}),
            "launches_not_one_dimensional": sum(
                max(launch.block[1:]) > 1 for launch in self.launches
            ),
            "streams": len({(launch.device, launch.stream) for launch in self.launches}),
            "event_waits": self.waits.count,
            "event_waits_by_rule": dict(self.waits.by_rule),
            "event_waits_unknown": self.waits.unknown,
            "event_wait_pairs": len(self.waits.pairs),
            **self.passed_over,
            "span_us": round(end - start, 3),
            "kernel_us": round(sum(launch.duration for launch in self.launches), 3),
        }


def load(
    path: Path, *, device: int | None = None, strict: bool = True, gpu: Device | None = None
) -> Trace:
    """Read a trace, plain, gzip or zstd.

    Parameters
    ----------
    path : Path
        The file.
    device : int or None
        Only the kernels of this GPU; None is all.
    strict : bool
        Refuse a kernel without its launch call, instead of leaving it out; and one of whose grid,
        registers or shared memory nothing is recorded.
    gpu : Device or None
        The recorded GPU, where the trace does not describe it.

    Raises
    ------
    WarploomError
        If the file is missing, cut off, damaged or no trace, has no kernel, or a kernel lacks a
        field, has an illegal one, ran on a device that the file does not describe, or (with
        ``strict``) has no launch call; or if no kernel ran on ``device``. One line: file, event,
        field, value, what is legal.
    """
    top = Place(path)
    document = read_document(path)
    devices = described(top, document.deviceProperties, gpu)
    calls, check = CallTimes(), TimeCheck()
    waits = []
    without_grid = 0
    noted = Calls()
    hip = HipCalls()
    passed_over = dict.fromkeys((*COPY_CATEGORIES.values(), "host_synchronisations"), 0)
    read = ("kernel", *CALL_CATEGORIES, SYNC_CATEGORY, *COPY_CATEGORIES)
    for number, event in document.complete(top, (*read, *_OLD_CATEGORIES)):
        if not isinstance(event, dict):
            raise event_place(path, number).refuse(f"is {shown(event)}; legal: an object")
        category = _OLD_CATEGORIES.get(event["cat"], event["cat"])
        if category == "kernel":
            kernel = KernelEvent(path, number, event, devices, gpu)
            if not strict and kernel.lacks("grid"):
                without_grid += 1
                continue
            check.add(kernel.launch(strict), kernel.correlation)
            continue
        if category == SYNC_CATEGORY:
            noted.note_sync(event_place(path, number), event)
            continue
        if category in COPY_CATEGORIES:
            passed_over[COPY_CATEGORIES[category]] += 1
            continue
        name = str(event.get("name"))
        correlation, began_at = calls.note(event_place(path, number), name, event)
        noted.note_call(name, correlation, began_at)
        hip.note_call(name, correlation, event.get("args"))
        passed_over["host_synchronisations"] += _HOST_WAITS in name
        if name.startswith(EVENT_WAIT_CALLS):
            waits.append(number)
    calls.settle()
    found = _of_device(top, check.kept(calls), device)
    times = check.faults(found, calls, device)
    if not found:
        raise top.refuse(_no_kernels(without_grid, times, devices))
    found = [
        (one if devices.known[one.device].resources_recorded else hip.corrected(one, join), join)
        for one, join in found
    ]
    launches = [launch for launch, correlation in found if correlation in calls.began]
    lost = [pair for pair in found if pair[1] not in calls.began]
    if lost and (strict or not launches):
        raise _no_call(path, *min(lost, key=lambda pair: pair[0].event))
    called = {launch.event: calls.began[join] for launch, join in found if join in calls.began}
    launches.sort(key=lambda launch: (called[launch.event], launch.start, launch.event))
    first_lost = min((launch for launch, _ in lost), key=lambda one: one.event, default=None)
    began = tuple(called[launch.event] for launch in launches)
    known = devices.known
    return Trace(
        path,
        known,
        tuple(launches),
        began,
        tuple(waits),
        len(lost),
        first_lost,
        event_waits(noted, launches, began),
        passed_over,
        without_grid,
        sum(not known[launch.device].resources_recorded for launch in launches),
        gpu.name if gpu and all(known[one.device] is not gpu for one in launches) else "",
        times,
    )


def _no_kernels(without_grid: int, times: TimeFaults, devices: Devices) -> str:
    """Return why there is no kernel to launch."""
    if times.each:
        return f"no kernel can be launched: {'; '.join(map(str, times.each))}"
    if without_grid:
        return (
            f"none of the {without_grid:,} kernels has the field 'grid', which PyTorch records for"
            " AMD's GPUs from 2.5 on"
        )
    others = f"; {', '.join(devices.no_gpus)}: no GPU" * bool(devices.no_gpus)
    return f"the trace has no kernel events ('cat': 'kernel'){others}"


def _of_device(top: Place, found: list[Found], device: int | None) -> list[Found]:
    """Keep the kernels of one GPU; refuse one that has none."""
    if device is None or not found:
        return found
    there = sorted({launch.device for launch, _ in found})
    if device not in there:
        known = ", ".join(map(str, there))
        raise top.refuse(f"device is {device}; the trace's kernels ran on: {known}")
    return [pair for pair in found if pair[0].device == device]


def _no_call(path: Path, launch: KernelLaunch, correlation: int) -> WarploomError:
    return event_place(path, launch.event, launch.name).refuse(
        f"'correlation' is {correlation}, and no runtime or driver call in the trace has it:"
        " the order of the launches is unknown; record CPU activities, too"
    )
