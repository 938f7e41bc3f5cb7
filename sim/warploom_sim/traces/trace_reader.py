"""Kernel launches of a trace as the PyTorch profiler writes it (Chrome trace format).

A kernel event is joined by its correlation id to the runtime or driver call that launched it, and
launches stand in the order of those calls: that is the order in which a front end sees them. What
is refused, and how, stands in ``docs/sim/traces.md``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from warploom_sim.traces.event_waits import (
    EVENT_WAIT_CALLS,
    SYNC_CATEGORY,
    Calls,
    EventWaits,
    event_waits,
)
from warploom_sim.traces.trace_file import Place, read_document, shown
from warploom_spec import WarploomError

CALL_CATEGORIES: Final = ("cuda_runtime", "cuda_driver")
#: Work of the GPU that is no kernel, by category: counted, not replayed.
COPY_CATEGORIES: Final = {"gpu_memcpy": "memory_copies", "gpu_memset": "memory_sets"}
#: Part of the names of calls by which the host waits for the GPU.
_HOST_WAITS: Final = "Synchronize"
#: Block slots of one SM by compute capability: the one resource that device properties leave out.
BLOCK_SLOTS: Final = {
    (7, 0): 32,
    (7, 5): 16,
    (8, 0): 32,
    (8, 6): 16,
    (8, 9): 24,
    (9, 0): 32,
    (10, 0): 32,
    (12, 0): 24,
}
#: Field that joins a kernel to the call that launched it.
_JOIN: Final = "correlation"
_MAX_GRID: Final = 2**31 - 1
_MAX_BLOCK: Final = 2**31 - 1


@dataclass(frozen=True)
class Device:
    """The recorded GPU: what decides how many blocks were resident.

    Attributes
    ----------
    name : str
        As the driver names it.
    sms : int
        Streaming multiprocessors.
    warp_size : int
        Threads of a warp.
    block_slots, warp_slots, registers, shared_bytes : int
        Blocks, warps, 32-bit registers and bytes of shared memory that one SM has.
    """

    name: str
    sms: int
    warp_size: int
    block_slots: int
    warp_slots: int
    registers: int
    shared_bytes: int


@dataclass(frozen=True)
class KernelLaunch:
    """One kernel as it was launched and ran.

    Attributes
    ----------
    event : int
        Number of its event in the file's ``traceEvents``, from 0.
    name : str
        The kernel's name.
    grid, block : tuple[int, int, int]
        Blocks of the grid, threads of the block.
    registers : int
        Registers of a thread.
    shared_bytes : int
        Shared memory of a block, static and dynamic.
    start, duration : float
        When it ran, in microseconds.
    stream, device : int
        As the trace numbers them.
    """

    event: int
    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int
    start: float
    duration: float
    stream: int
    device: int

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.grid
        return x * y * z


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

    def notes(self) -> list[str]:
        """Return, a line each, all that a replay of this trace leaves out."""
        return [*filter(None, [self.left_out_note()]), *self.ignored_notes()]

    def ignored_notes(self) -> list[str]:
        """Return, a line each, what a replay leaves out beside kernels: event waits, copies."""
        lines = []
        if self.waits.count:
            rules = ", ".join(f"{count:,} {rule}" for rule, count in self.waits.by_rule.items())
            unknown = f", {self.waits.unknown:,} of an unknown stream" * bool(self.waits.unknown)
            lines.append(
                f"{self.path}: {self.waits.count:,} event waits ignored ({rules}{unknown}):"
                f" {len(self.waits.pairs):,} pairs of launches may overlap that the program ordered"
            )
        words = {name: name.replace("_", " ") for name in COPY_CATEGORIES.values()}
        counts = [
            f"{self.passed_over[name]:,} {word}"
            for name, word in words.items()
            if self.passed_over.get(name)
        ]
        if counts:
            lines.append(f"{self.path}: {' and '.join(counts)} are not replayed")
        return lines

    def refuse_ignored_waits(self) -> None:
        """Refuse a trace with event waits, which a replay would ignore.

        Raises
        ------
        WarploomError
            Names the first call that makes a stream wait.
        """
        if self.event_waits:
            raise event_place(self.path, self.event_waits[0]).refuse(
                f"makes a stream wait for an event, one of {len(self.event_waits):,} such calls;"
                " replays ignore them; legal with --strict: none"
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


def load(path: Path, *, device: int | None = None, strict: bool = True) -> Trace:
    """Read a trace, plain or gzip.

    Parameters
    ----------
    path : Path
        The file.
    device : int or None
        Only the kernels of this GPU; None is all.
    strict : bool
        Refuse a kernel without its launch call, instead of leaving it out.

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
    devices = dict(_devices(top, document.deviceProperties))
    calls: dict[int, float] = {}
    waits = []
    found = []
    noted = Calls()
    passed_over = dict.fromkeys((*COPY_CATEGORIES.values(), "host_synchronisations"), 0)
    read = ("kernel", *CALL_CATEGORIES, SYNC_CATEGORY, *COPY_CATEGORIES)
    for number, event in document.complete(top, read):
        if not isinstance(event, dict):
            raise event_place(path, number).refuse(f"is {shown(event)}; legal: an object")
        if event["cat"] == "kernel":
            launch = _kernel(path, number, event, devices)
            place = event_place(path, number, launch.name)
            found.append((launch, place.integer(event["args"], _JOIN)))
            continue
        if event["cat"] == SYNC_CATEGORY:
            noted.note_sync(event)
            continue
        if event["cat"] in COPY_CATEGORIES:
            passed_over[COPY_CATEGORIES[event["cat"]]] += 1
            continue
        name = str(event.get("name"))
        noted.note_call(name, *_note_call(calls, event_place(path, number), event))
        passed_over["host_synchronisations"] += _HOST_WAITS in name
        if name.startswith(EVENT_WAIT_CALLS):
            waits.append(number)
    if not found:
        raise top.refuse("the trace has no kernel events ('cat': 'kernel')")
    found = _of_device(top, found, device)
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


def _kernel(path: Path, number: int, event: Any, devices: Mapping[int, Device]) -> KernelLaunch:
    place = event_place(path, number, event.get("name"))
    arguments = place.object(event, "args")
    launch = KernelLaunch(
        event=number,
        name=place.text(event, "name"),
        grid=place.triple(arguments, "grid", _MAX_GRID),
        block=place.triple(arguments, "block", _MAX_BLOCK),
        registers=place.integer(arguments, "registers per thread"),
        shared_bytes=place.integer(arguments, "shared memory"),
        start=place.number(event, "ts"),
        duration=place.number(event, "dur"),
        stream=place.integer(arguments, "stream"),
        device=place.integer(arguments, "device"),
    )
    if launch.device not in devices:
        known = ", ".join(map(str, devices)) or "none"
        raise place.refuse(f"'device' is {launch.device}; 'deviceProperties' describes: {known}")
    return launch


def _devices(top: Place, listed: Any) -> Iterator[tuple[int, Device]]:
    if not isinstance(listed, list):
        raise top.refuse(f"'deviceProperties' is {shown(listed)}; legal: a list of objects")
    for number, properties in enumerate(listed):
        place = Place(top.path, f"deviceProperties {number}")
        if not isinstance(properties, dict):
            raise place.refuse(f"is {shown(properties)}; legal: an object")
        yield place.integer(properties, "id"), _device(place, properties)


def _device(place: Place, properties: Any) -> Device:
    def positive(name: str) -> int:
        return place.integer(properties, name, low=1)

    capability = (
        place.integer(properties, "computeMajor"),
        place.integer(properties, "computeMinor"),
    )
    if capability not in BLOCK_SLOTS:
        known = ", ".join(f"{major}.{minor}" for major, minor in BLOCK_SLOTS)
        raise place.refuse(f"compute capability is {capability[0]}.{capability[1]}; known: {known}")
    warp_size = positive("warpSize")
    return Device(
        name=place.text(properties, "name"),
        sms=positive("numSms"),
        warp_size=warp_size,
        block_slots=BLOCK_SLOTS[capability],
        warp_slots=positive("maxThreadsPerMultiprocessor") // warp_size,
        registers=positive("regsPerMultiprocessor"),
        shared_bytes=positive("sharedMemPerMultiprocessor"),
    )
