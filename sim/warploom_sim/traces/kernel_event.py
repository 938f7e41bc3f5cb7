"""A kernel event of a trace, its fields checked."""

import math
from pathlib import Path
from typing import Any, Final

from warploom_sim.traces.devices import Device, Devices, agent
from warploom_sim.traces.gpus import GPUS
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_file import LATEST, event_place, shown

_MAX_GRID: Final = 2**31 - 1
_MAX_BLOCK: Final = 2**31 - 1


class KernelEvent:
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
        devices: Devices,
        given: Device | None,
    ):
        self.place = event_place(path, number, event.get("name"))
        self._number, self._event = number, event
        self._arguments = self.place.object(event, "args")
        self._device = self.place.integer(self._arguments, "device")
        there = devices.known
        if self._device not in there:
            devices.refuse_wrong(self._device)
            found = given or agent(there)
            if found is None:
                known = ", ".join(map(str, there)) or "none"
                raise self.place.refuse(
                    f"'device' is {self._device}; 'deviceProperties' describes: {known}"
                    f" ({self._hint()})"
                )
            there[self._device] = found
        if given is there[self._device]:
            self._check_sms(given)
        self._recorded = there[self._device].resources_recorded

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

    @property
    def correlation(self) -> int:
        """What joins it to its launch call."""
        return self.place.integer(self._arguments, "correlation")

    def _time(self, name: str, low: int = 0) -> float:
        """Return a time; NaN where it is missing."""
        if self._event.get(name) is None:
            return math.nan
        return self.place.number(self._event, name, low)

    def launch(self, strict: bool) -> KernelLaunch:
        """Return the launch; with ``strict`` every field must be there, but times."""

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
            start=self._time("ts"),
            duration=self._time("dur", -LATEST),
            stream=self.place.integer(self._arguments, "stream"),
            device=self._device,
        )
