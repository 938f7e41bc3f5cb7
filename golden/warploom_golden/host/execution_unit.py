"""Cycle model of ExecutionUnit: a task split among cores, a barrier, a time-out."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_spec import host_packets
from warploom_spec.config import Config
from warploom_spec.host_errors import HostError

ELEMENTS = 1 << 32
TASK_NUMBERS = 1 << host_packets.TASK_NUMBER_BITS
MOST_STRAYS = (1 << 16) - 1


def bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are 1, the lowest first."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


@dataclass(frozen=True)
class Task:
    """A task as ``run`` gave it: fields of ``unit_run``."""

    skip_primary: int
    parts: int
    larger: int
    small: int
    first: int

    def core(self, part: int) -> int:
        """Return the core that a part goes to (rule 2)."""
        return part + self.skip_primary

    def bound(self, part: int) -> int:
        """Return where a part begins; also where the part before it ends (rule 2)."""
        return self.first + part * self.small + min(part, self.larger)


class ExecutionUnit:
    """Cycle model of ExecutionUnit.

    Ports and rules: ``docs/host/execution_unit.md``. Every method names the rule that it follows.

    Parameters
    ----------
    config : Config
        Cores of the unit and the time-out.
    """

    def __init__(self, config: Config):
        self._timeout = config.core_timeout
        self._cores = range(config.cores_per_unit)
        self._run = host_packets.unit_run(config)
        self._start = host_packets.core_start(config)
        self._done = host_packets.unit_done(config)
        self._error = host_packets.unit_error(config)
        self._core_result = host_packets.core_result(config)
        self._result = host_packets.unit_result(config)
        self.reset()

    def reset(self) -> None:
        """Forget everything: no task, no core, number and counter 0."""
        self._busy = False
        self._task = Task(skip_primary=0, parts=0, larger=0, small=0, first=0)
        self._number = 0
        self._code = self._arguments = 0
        #: The part that ``start`` shows; None while it is not valid.
        self._shown: int | None = None
        self._next_part = 0
        #: Cycles since the one after ``run``: 0 in t + 1.
        self._age = 0
        self._forget_cores()
        self._missing: set[int] = set()
        self._shows_missing = False
        self._levels_before = 0
        self._strayed = False
        self._strays = 0
        #: The error of a task whose ``done`` is valid in this cycle, and that of the cycle before.
        self._next_error: int | None = None
        self._shown_error: int | None = None
        self._clear_pulses()

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle, which depend on the state alone."""
        del inputs
        has_task = self._busy or self._shown is not None
        return {
            "cores__start__valid": int(self._shown is not None),
            "cores__start__payload": None if self._shown is None else self._part(self._shown),
            "cores__code": self._code if has_task else None,
            "cores__arguments": self._arguments if has_task else None,
            "cores__result__ready": 1,
            "cores__barrier_open": int(self._opens),
            "cores__cancel": int(self._cancels),
            "done": self._done_pulse,
            "error": self._shown_error,
            "result": self._result_pulse,
            "busy": int(self._busy),
            "missing": int(self._shows_missing),
            "strays": self._strays,
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        run = self._run.unpack(inputs["run"])
        ended = self._busy or bool(run["valid"])
        self._clear_pulses()
        self._pass_result(inputs)
        self._shown_error, self._next_error = self._next_error, None
        self._shows_missing = bool(self._missing) and not inputs["reset"]
        self._count_strays(_levels(inputs))
        complete, timed_out = self._complete(), self._timed_out()
        if complete or timed_out:
            self._end(complete)
        else:
            self._note_late_arrivals(inputs)
            self._note_arrivals(inputs)
        self._advance_start(inputs)
        self._age += 1
        if run["valid"]:
            self._number = (self._number + 1) % TASK_NUMBERS
        if inputs["reset"]:
            self._cancel(ended)
        elif run["valid"]:
            self._begin(run)

    def _clear_pulses(self) -> None:
        self._opens = self._cancels = False
        self._done_pulse: int = 0
        self._result_pulse: int = 0

    # A task's beginning and its parts

    def _begin(self, run: Mapping[str, int]) -> None:
        """Rule 1: begin a task; its first part is shown in the next cycle (rule 3)."""
        shape = {name: run[name] for name in ("skip_primary", "parts", "larger", "small", "first")}
        self._task = Task(**shape)
        self._code, self._arguments = run["code"], run["arguments"]
        self._busy = True
        self._age = 0
        self._forget_cores()
        self._show(0)

    def _forget_cores(self) -> None:
        self._assigned: set[int] = set()
        self._started: set[int] = set()
        self._arrived: set[int] = set()
        self._succeeded: set[int] = set()
        #: Lowest core of the first failure and its code.
        self._failure: tuple[int, int] | None = None

    def _show(self, part: int) -> None:
        """Rules 3 and 4: a part's start is valid from the next cycle on; its core is assigned."""
        self._shown = part
        self._next_part = part + 1
        self._assigned.add(self._task.core(part))

    def _part(self, part: int) -> int:
        """Rule 2: return the packed ``core_start`` of a part."""
        begin, end = self._task.bound(part), self._task.bound(part + 1)
        return self._start.pack(
            {
                "core": self._task.core(part),
                "first": begin % ELEMENTS,
                "count": (end - begin) % ELEMENTS,
                "task": self._number,
            }
        )

    def _advance_start(self, inputs: Mapping[str, int]) -> None:
        """Rules 3, 4 and 8: a taken part starts its core; the next one is shown if it may be."""
        if self._shown is None or not inputs["cores__start__ready"]:
            return
        self._started.add(self._task.core(self._shown))
        self._shown = None
        # The next part would be valid in the next cycle: not after the time-out.
        in_time = not self._timeout or self._age < self._timeout
        if self._next_part < self._task.parts and in_time:
            self._show(self._next_part)

    # The barrier

    def _note_arrivals(self, inputs: Mapping[str, int]) -> None:
        """Rules 5 and 6: a started core arrives once, and the first failure is noted."""
        if not self._busy:
            return
        levels = _levels(inputs)
        arrive = {core for core in self._started - self._arrived if levels >> core & 1}
        failed = {core for core in arrive if inputs["cores__failed"] >> core & 1}
        self._arrived |= arrive
        self._succeeded |= arrive - failed
        if failed and self._failure is None:
            self._failure = min(failed), inputs["cores__failure"]

    def _complete(self) -> bool:
        """Rule 7: all parts were taken and all assigned cores have arrived before this cycle."""
        all_taken = self._shown is None and self._next_part == self._task.parts
        return self._busy and all_taken and self._arrived == self._assigned

    def _timed_out(self) -> bool:
        """Rule 8: this is the cycle after the last one in which an arrival counts."""
        return self._busy and bool(self._timeout) and self._age == self._timeout + 1

    def _end(self, complete: bool) -> None:
        """Rules 7 and 8: report the task and open the barrier."""
        if complete:
            core, argument = self._failure or (0, 0)
            code = HostError.CORE_FAILED if self._failure else HostError.OK
        else:
            self._missing = self._assigned - self._arrived
            code, core, argument = HostError.CORE_TIMEOUT, min(self._missing), 0
        self._report(code, core, argument, self._succeeded, self._assigned)
        self._opens = True
        self._busy = False

    def _report(
        self, code: HostError, core: int, argument: int, status: set[int], assigned: set[int]
    ) -> None:
        self._done_pulse = self._done.pack(
            {
                "valid": 1,
                "status": sum(1 << one for one in status),
                "assigned": sum(1 << one for one in assigned),
                "task": self._number,
            }
        )
        self._next_error = self._error.pack({"code": code, "core": core, "argument": argument})

    def _note_late_arrivals(self, inputs: Mapping[str, int]) -> None:
        """Rule 9: a missing core that was started arrives late; the barrier opens once more."""
        levels = _levels(inputs)
        late = {core for core in self._missing & self._started if levels >> core & 1}
        if late:
            self._missing -= late
            self._opens = True

    # What else comes in

    def _pass_result(self, inputs: Mapping[str, int]) -> None:
        """Rule 10: a result word of the task that runs; others are ignored."""
        if self._busy and inputs["cores__result__valid"]:
            word = self._core_result.unpack(inputs["cores__result__payload"])
            self._result_pulse = self._result.pack({"valid": 1, **word})

    def _cancel(self, ended: bool) -> None:
        """Rule 11: a unit's reset wins over everything else in its cycle."""
        self._opens, self._cancels = False, True
        if ended:
            self._report(HostError.RESET, 0, 0, set(), set())
        self._busy = False
        self._shown = None
        self._forget_cores()
        self._missing = set()

    def _count_strays(self, levels: int) -> None:
        """Rule 12: cores whose levels rise and that are neither started nor missing."""
        if self._strayed:
            self._strays = min(self._strays + 1, MOST_STRAYS)
        rising = levels & ~self._levels_before
        expected = self._missing | (self._started if self._busy else set())
        self._strayed = any(rising >> core & 1 and core not in expected for core in self._cores)
        self._levels_before = levels


def _levels(inputs: Mapping[str, int]) -> int:
    """Return the cores that are at the barrier, whether they succeeded or failed."""
    return inputs["cores__arrived"] | inputs["cores__failed"]
