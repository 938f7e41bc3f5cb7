"""Comparison of a component's outputs with its model's, cycle by cycle."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from warploom_sim.cosim.lockstep.addresses import Addresses, AddressWatch
from warploom_sim.cosim.lockstep.case import Case, Model
from warploom_sim.cosim.lockstep.events import Observer, make_observers, total
from warploom_sim.cosim.lockstep.names import resolve
from warploom_sim.cosim.lockstep.packet_fields import differing, shown
from warploom_sim.cosim.lockstep.ports import Ports
from warploom_sim.cosim.lockstep.stimulus import Context, RandomStimulus, Stimulus
from warploom_sim.cosim.lockstep.streams import StreamWatches
from warploom_sim.cosim.lockstep.validity import Unresolved, Validity, Values

#: Cycles shown in a failure's report.
HISTORY = 16


def show(value: int | str | None) -> str:
    """Write a port's value as a report shows it."""
    if isinstance(value, Unresolved):
        return f"0b{value.bits}"
    return hex(value) if isinstance(value, int) else str(value)


@dataclass
class Failure:
    """A difference, a broken stream rule, or an error in model or stimulus.

    Attributes
    ----------
    cycle : int
        Cycle of the case, the first being 0.
    differences : list of (port, got, want)
        Values as text.
    fields : list of (port, field, got, want)
        Of the ports in ``differences`` that are packets, the fields that differ.
    problems : list of str
        Whatever else is wrong in this cycle.
    history : list of str
        The last 16 cycles, this one included.
    """

    cycle: int
    differences: list[tuple[str, str, str]]
    problems: list[str]
    history: list[str]
    fields: list[tuple[str, str, str, str]] = field(default_factory=list)


@dataclass
class Outcome:
    """What one case came to; plain data.

    Attributes
    ----------
    cycles, compared : int
        Cycles run and output values compared.
    transfers : dict of str to int
        Transfers of each stream.
    counts : dict of str to int
        Events of the case's observers.
    wall_s : float
        Seconds in the cycle loop.
    failure : Failure or None
        What stopped it.
    """

    cycles: int = 0
    compared: int = 0
    transfers: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    wall_s: float = 0.0
    failure: Failure | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """Rebuild an outcome from `to_json`'s data."""
        failure = data["failure"]
        if failure is not None:
            names = ("differences", "fields")
            tuples = {name: [tuple(entry) for entry in failure[name]] for name in names}
            failure = Failure(**{**failure, **tuples})
        return cls(**{**data, "failure": failure})


class CaseError(Exception):
    """The model, the stimulus and the ports do not fit together."""


class Checker:
    """One case beside a running component.

    For each cycle the simulator applies ``inputs`` and ``rst``, lets the outputs settle and calls
    `step` with them before the clock edge.

    Parameters
    ----------
    case : Case
        What to run.
    ports : Ports
        The component's.
    model : Model
        What its outputs are held to.

    Attributes
    ----------
    inputs : dict of str to int
        Inputs of the current cycle.
    rst : int
        Reset in the current cycle.
    running : bool
        Whether there is a current cycle.
    outcome : Outcome
        Complete once ``running`` is False.
    """

    def __init__(self, case: Case, ports: Ports, model: Model):
        self.outcome = Outcome()
        self.running = True
        self.inputs: dict[str, int] = {}
        self._case = case
        self._ports = ports
        self._model = model
        self._resets = case.reset_cycles()
        self._cycle = 0
        self._history: deque[tuple[int, int, dict[str, int], Mapping[str, int], Addresses]]
        self._history = deque(maxlen=HISTORY)
        self._began = time.perf_counter()
        self._widths = {name: len(value) for name, value in ports.inputs.items()}
        self._output_names = ports.outputs.keys()
        self._validity = Validity(ports)
        self._watches = StreamWatches(ports.streams.values())
        self._addresses = AddressWatch(ports)
        self._meant_by_case = None if case.meant is None else resolve(str(case.meant))
        self._observers: list[Observer] = []
        self._stimulus: Stimulus
        self._guard(self._start)

    @property
    def rst(self) -> int:
        """Reset in the current cycle."""
        return int(self._cycle in self._resets)

    def step(self, outputs: Mapping[str, int]) -> None:
        """Compare the current cycle's settled outputs, then move model and stimulus on.

        Stimulus, observers and history see 0 for a pulse that is not valid.
        """
        outputs = self._meant(self._validity.quiet(outputs))
        addresses = self._addresses.see(self.inputs, outputs, self.rst)
        self._history.append((self._cycle, self.rst, self.inputs, outputs, addresses))
        self._guard(self._step, outputs)

    def _guard(self, part: Callable[..., None], *arguments: Mapping[str, int]) -> None:
        """Run a part of the case; whatever it raises is the case's failure in this cycle.

        Model, stimulus and observers are the test's own code: an assertion in one of them, or its
        bug, is reported with seed, cycle and history, and must not leave the simulator hanging.
        """
        try:
            part(*arguments)
        except CaseError as error:
            self._fail([], [str(error)])
        except Exception:  # of any kind: it is not this module's code that raises
            self._fail([], [traceback.format_exc()])

    def _start(self) -> None:
        case = self._case
        self._watches.exempt(case.withdrawable)
        self._observers = make_observers(case.events)
        self._model.reset()
        make = RandomStimulus if case.stimulus is None else resolve(str(case.stimulus))
        self._stimulus = make(Context(self._ports, case, case.rng("stimulus")))
        self._draw(None)

    def _step(self, outputs: Mapping[str, int]) -> None:
        rst = self.rst
        want = self._wanted()
        differences = self._compare(outputs, want)
        broken = self._watches.see(self.inputs, outputs, rst)
        if differences or broken:
            self._fail(differences, broken, self._differing_fields(outputs, want))
            return
        for observer in self._observers:
            if rst:
                observer.reset()
            else:
                observer.see(self._cycle, self.inputs, outputs)
        self._model.tick(self.inputs)
        if rst:
            self._model.reset()
        self._cycle += 1
        if self._cycle == self._case.cycles:
            self._end()
        else:
            self._draw(None if rst else outputs)

    def _wanted(self) -> Values:
        """Return what the model says of every output; None is not compared."""
        want = self._model.outputs(self.inputs)
        if want.keys() != self._output_names:
            raise CaseError(_ports_differ("the model's outputs", want, self._output_names))
        return self._meant(self._validity.meant(want))

    def _meant(self, outputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return outputs with 0 for what the case says to mean nothing."""
        if self._meant_by_case is None:
            return outputs
        return {**outputs, **self._meant_by_case(outputs, **self._case.params)}

    def _compare(self, outputs: Mapping[str, int], want: Values) -> list[tuple[str, str, str]]:
        """Return port, got and want of every output that differs."""
        if want == outputs:
            self.outcome.compared += len(want)
            return []
        self.outcome.compared += sum(value is not None for value in want.values())
        return [
            (name, show(outputs[name]), show(value))
            for name, value in want.items()
            if value is not None and value != outputs[name]
        ]

    def _differing_fields(
        self, outputs: Mapping[str, int], want: Values
    ) -> list[tuple[str, str, str, str]]:
        """Return port, field, got and want of every field of a packet that differs."""
        addresses = self._history[-1][-1]
        return [
            (name, *found)
            for name, value in want.items()
            if value is not None
            for found in differing(
                self._ports.fields[name], outputs[name], value, addresses.get(name)
            )
        ]

    def _draw(self, outputs: Mapping[str, int] | None) -> None:
        """Get the next cycle's inputs."""
        self.inputs = dict(self._stimulus.next(outputs))
        widths = self._widths
        if self.inputs.keys() != widths.keys():
            raise CaseError(_ports_differ("the stimulus", self.inputs, widths))
        for name, value in self.inputs.items():
            if value >> widths[name]:
                raise CaseError(
                    f"the stimulus gives {name} = {value:#x}; legal: 0 to"
                    f" {(1 << widths[name]) - 1:#x}"
                )

    def _fail(
        self,
        differences: list[tuple[str, str, str]],
        problems: list[str],
        fields: Sequence[tuple[str, str, str, str]] = (),
    ) -> None:
        history = [self._history_line(*entry) for entry in self._history]
        self.outcome.failure = Failure(self._cycle, differences, problems, history, list(fields))
        self._end()

    def _history_line(
        self,
        cycle: int,
        rst: int,
        inputs: Mapping[str, int],
        outputs: Mapping[str, int],
        addresses: Addresses,
    ) -> str:
        """Write one cycle of the history, packets by their fields."""

        def listed(values: Mapping[str, int]) -> str:
            return " ".join(f"{name}={text(name, value)}" for name, value in values.items())

        def text(name: str, value: int) -> str:
            fields = self._ports.fields.get(name)
            return (
                shown(fields, value, addresses.get(name)) if fields and value >= 0 else show(value)
            )

        return f"{cycle:7} rst={rst} in: {listed(inputs)} out: {listed(outputs)}"

    def _end(self) -> None:
        self.running = False
        outcome = self.outcome
        outcome.cycles = self._cycle
        outcome.transfers = self._watches.transfers()
        outcome.counts = total(observer.counts() for observer in self._observers)
        outcome.wall_s = time.perf_counter() - self._began


class Session:
    """Several cases of one component, one after the other in one simulation.

    The last cycle of each case is a reset, so that each but the first begins right after one, as
    after a reset in the middle of a run.

    Parameters
    ----------
    cases : sequence of Case
        Cases with equal ``make`` and ``params``.

    Attributes
    ----------
    component : wiring.Component
        What to simulate.
    ports : Ports
        Its ports.
    outcomes : list of Outcome
        One for each case that has ended; the first failure ends the session.
    current : Checker or None
        The case that runs.
    """

    def __init__(self, cases: Sequence[Case]):
        self.component, self._model = cases[0].build()
        self.ports = Ports.of(self.component)
        self.outcomes: list[Outcome] = []
        self._waiting = list(cases)
        self.current: Checker | None = None
        self._begin()

    def step(self, outputs: Mapping[str, int]) -> None:
        """Pass one cycle's settled outputs to the current case."""
        checker = self.current
        if checker is None:
            raise RuntimeError("the session has ended")
        checker.step(outputs)
        if not checker.running:
            self._begin()

    def _begin(self) -> None:
        """Note the outcome of the case that ended and begin the next."""
        while self.current is None or not self.current.running:
            if self.current is not None:
                self.outcomes.append(self.current.outcome)
                if self.current.outcome.failure is not None:
                    self._waiting.clear()
            if not self._waiting:
                self.current = None
                return
            self.current = Checker(self._waiting.pop(0), self.ports, self._model)


def _ports_differ(who: str, have: Collection[str], want: Collection[str]) -> str:
    """Say which ports are missing and which are unknown."""
    return (
        f"{who} and the component's ports differ:"
        f" missing {sorted(set(want) - set(have))}, unknown {sorted(set(have) - set(want))}"
    )
