"""Kernel launches of a trace as the PyTorch profiler writes it (Chrome trace format).

A kernel event is joined by its correlation id to the runtime or driver call that launched it, and
launches stand in the order of those calls: that is the order in which a front end sees them. What
is refused, and how, stands in ``docs/sim/traces.md``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from warploom_sim.traces.devices import Device, agent, described
from warploom_sim.traces.event_waits import (
    EVENT_WAIT_CALLS,
    SYNC_CATEGORY,
    Calls,
    EventWaits,
    event_waits,
)
from warploom_sim.traces.gpus import GPUS
from warploom_sim.traces.hip_calls import HipCalls
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_file import Place, read_document, shown
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
#: Field that joins a kernel to the call that launched it.
_JOIN: Final = "correlation"
_MAX_GRID: Final = 2**31 - 1
_MAX_BLOCK: Final = 2**31 - 1


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

    def place(self, launch: KernelLaunch) -> Place:
        """Return where a launch stands in the file, for messages."""
        return event_place(self.path, launch.event, launch.name)

    def left_out_note(self) -> str:
        """Return in one line which kernels are not among the launches; "" if all are."""
        first = self.first_left_out
        if first is None:
            return ""
        total = len(self.launches) + self.left_out
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
            *self.gpu_notes(),
            *self.wait_notes(keeps, dropped),
            *self.copy_notes(),
        ]

    def gpu_notes(self) -> list[str]:
        """Return, a line each, what is not known of the recorded GPU and its kernels."""
        lines = []
        if self.unused_gpu:
            own = ", ".join(sorted({self.devices[one.device].name for one in self.launches}))
            lines.append(
                f"{self.path}: --gpu {self.unused_gpu} is not used: 'deviceProperties' describes"
                f" the recorded GPU, {shown(own)}"
            )
        if self.without_grid:
            total = len(self.launches) + self.left_out + self.without_grid
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
    """Read a trace, plain or gzip.

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
    calls: dict[int, float] = {}
    waits = []
    found = []
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
            kernel = _Kernel(path, number, event, devices, gpu)
            if not strict and kernel.lacks("grid"):
                without_grid += 1
                continue
            launch = kernel.launch(strict)
            found.append((launch, kernel.place.integer(event["args"], _JOIN)))
            continue
        if category == SYNC_CATEGORY:
            noted.note_sync(event_place(path, number), event)
            continue
        if category in COPY_CATEGORIES:
            passed_over[COPY_CATEGORIES[category]] += 1
            continue
        name = str(event.get("name"))
        correlation, began_at = _note_call(calls, event_place(path, number), event)
        noted.note_call(name, correlation, began_at)
        hip.note_call(name, correlation, event.get("args"))
        passed_over["host_synchronisations"] += _HOST_WAITS in name
        if name.startswith(EVENT_WAIT_CALLS):
            waits.append(number)
    if not found and without_grid:
        raise top.refuse(
            f"none of the {without_grid:,} kernels has the field 'grid', which PyTorch records for"
            " AMD's GPUs from 2.5 on"
        )
    if not found:
        raise top.refuse("the trace has no kernel events ('cat': 'kernel')")
    found = [
        (one if devices[one.device].resources_recorded else hip.corrected(one, join), join)
        for one, join in _of_device(top, found, device)
    ]
    launches = [launch for launch, correlation in found if correlation in calls]
    lost = [pair for pair in found if pair[1] not in calls]
    if lost and (strict or not launches):
        raise _no_call(path, *min(lost, key=lambda pair: pair[0].event))
    called = {launch.event: calls[join] for launch, join in found if join in calls}
    launches.sort(key=lambda launch: (called[launch.event], launch.start, launch.event))
    first_lost = min((launch for launch, _ in lost), key=lambda one: one.event, default=None)
    began = tuple(called[launch.event] for launch in launches)
    return Trace(
        path,
        devices,
        tuple(launches),
        began,
        tuple(waits),
        len(lost),
        first_lost,
        event_waits(noted, launches, began),
        passed_over,
        without_grid,
        sum(not devices[launch.device].resources_recorded for launch in launches),
        gpu.name if gpu and all(devices[one.device] is not gpu for one in launches) else "",
    )


def _of_device(
    top: Place, found: list[tuple[KernelLaunch, int]], device: int | None
) -> list[tuple[KernelLaunch, int]]:
    """Keep the kernels of one GPU; refuse one that has none."""
    if device is None:
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


def event_place(path: Path, number: int, name: Any = "") -> Place:
    """Return where an event stands in a file, for messages."""
    quoted = f" ({shown(name)})" if isinstance(name, str) and name else ""
    return Place(path, f"event {number}{quoted}")


def _note_call(calls: dict[int, float], place: Place, event: Any) -> tuple[int | None, float]:
    """Note when the call with this correlation id began; of several the first counts.

    Returns the call's id, None without one, and when it began.
    """
    arguments = event.get("args")
    if not isinstance(arguments, dict) or "correlation" not in arguments:
        return None, 0.0
    correlation = place.integer(arguments, "correlation")
    began = place.number(event, "ts")
    calls[correlation] = min(began, calls.get(correlation, began))
    return correlation, began


class _Kernel:
    """A kernel event, and the GPU that it ran on.

    Raises
    ------
    WarploomError
        If it ran on a GPU that neither the trace nor ``--gpu`` describes, or on one with another
        number of SMs than that of ``--gpu``.
    """

    def __init__(
        self,
        path: Path,
        number: int,
        event: Any,
        devices: dict[int, Device],
        given: Device | None,
    ):
        self.place = event_place(path, number, event.get("name"))
        self._number, self._event = number, event
        self._arguments = self.place.object(event, "args")
        self._device = self.place.integer(self._arguments, "device")
        if self._device not in devices:
            found = given or agent(devices)
            if found is None:
                known = ", ".join(map(str, devices)) or "none"
                raise self.place.refuse(
                    f"'device' is {self._device}; 'deviceProperties' describes: {known}"
                    f" ({self._hint()})"
                )
            devices[self._device] = found
        if given is devices[self._device]:
            self._check_sms(given)
        self._recorded = devices[self._device].resources_recorded

    def _sms(self) -> int | None:
        """Return how many SMs the GPU had, as far as the event says it."""
        each, grid = self._arguments.get("blocks per SM"), self._arguments.get("grid")
        if not isinstance(each, float | int) or not each > 0 or not isinstance(grid, list):
            return None
        x, y, z = self.place.triple(self._arguments, "grid", _MAX_GRID)
        sms = x * y * z / each
        return round(sms) if math.isfinite(sms) else None

    def _hint(self) -> str:
        """Return what to do about a GPU that is not described."""
        sms = self._sms()
        if sms is None:
            return "name the recorded GPU with --gpu"
        known = [name for name, one in GPUS.items() if one.sms == sms]
        such = f": {' or '.join(known)}" * bool(known)
        return f"name the recorded GPU with --gpu; by 'blocks per SM' it has {sms} SMs{such}"

    def _check_sms(self, given: Device) -> None:
        sms = self._sms()
        if sms not in (None, given.sms):
            raise self.place.refuse(
                f"'blocks per SM' is {shown(self._arguments['blocks per SM'])}: the recorded GPU"
                f" has {sms} SMs; --gpu {given.name} has {given.sms}"
            )

    def lacks(self, name: str) -> bool:
        """Return whether a field is missing that AMD's profiler does not always record."""
        return not self._recorded and name not in self._arguments

    def launch(self, strict: bool) -> KernelLaunch:
        """Return the launch; with ``strict`` every field must be there."""

        def amount(name: str) -> int:
            if not strict and self.lacks(name):
                return 0
            return self.place.integer(self._arguments, name)

        return KernelLaunch(
            event=self._number,
            name=self.place.text(self._event, "name"),
            grid=self.place.triple(self._arguments, "grid", _MAX_GRID),
            block=self.place.triple(self._arguments, "block", _MAX_BLOCK),
            registers=amount("registers per thread"),
            shared_bytes=amount("shared memory"),
            start=self.place.number(self._event, "ts"),
            duration=self.place.number(self._event, "dur"),
            stream=self.place.integer(self._arguments, "stream"),
            device=self._device,
        )
