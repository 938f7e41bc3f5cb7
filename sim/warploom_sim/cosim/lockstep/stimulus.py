"""What is sent into a component: random by default, built from drivers and sinks otherwise."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.names import resolve
from warploom_sim.cosim.lockstep.ports import Ports, Stream

#: Probabilities of valid or ready that a phase may have.
RATES = (0.0, 0.1, 0.5, 0.9, 1.0)
#: Shortest and longest phase, in cycles.
PHASE = (20, 200)
#: Chance per refused cycle that the default stimulus withdraws a withdrawable transfer.
WITHDRAW = 0.1


class Stimulus(Protocol):
    """Source of a run's inputs."""

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return all inputs of the next cycle.

        Parameters
        ----------
        outputs : mapping or None
            The RTL's outputs in the last cycle; None at the start and after every cycle with
            reset: nothing that was offered then was taken, so start afresh.
        """


class Pace:
    """A coin whose probability is drawn anew every 20 to 200 cycles, with 0 and 1 among them.

    Parameters
    ----------
    rng : random.Random
        For tosses and probabilities.
    rates : tuple of float
        Probabilities to draw from.
    """

    def __init__(self, rng: random.Random, rates: tuple[float, ...] = RATES):
        self._rng = rng
        self._rates = rates
        self._left = 0
        self._rate = 0.0

    def __call__(self) -> bool:
        """Toss the coin; once for each cycle."""
        if not self._left:
            self._left = self._rng.randint(*PHASE)
            self._rate = self._rng.choice(self._rates)
        self._left -= 1
        return self._rng.random() < self._rate


class StreamDriver:
    """Sender of one input stream: a refused transfer is held with the same payload until taken.

    Parameters
    ----------
    stream : Stream
        The stream (``context.ports.streams[name]``).
    source : iterator of int
        Raw payloads in their order; when it ends the stream stays idle.
    rng : random.Random
        For the idle payload (random bits) and the pace.
    pace : Pace, optional
        Decides whether an idle stream offers its next item. Default: random phases.
    withdraw : float
        Chance per refused cycle that the item is withdrawn; 0 obeys the stream rules.

    Attributes
    ----------
    item : int or None
        What is offered in the cycle last returned by `next`; None while idle.
    taken : int or None
        What was taken in the cycle before it.
    sent : int
        Items taken so far.
    """

    def __init__(
        self,
        stream: Stream,
        source: Iterator[int],
        rng: random.Random,
        pace: Pace | None = None,
        withdraw: float = 0.0,
    ):
        if not stream.is_input:
            raise ValueError(f"stream {stream.name!r} is an output and needs a StreamSink")
        self.stream = stream
        self.item: int | None = None
        self.taken: int | None = None
        self.sent = 0
        self._source = source
        self._rng = rng
        self._pace = pace or Pace(rng)
        self._withdraw = withdraw
        self._idle = rng.getrandbits(stream.width)

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return this stream's inputs for the next cycle; an item that meets a reset is lost."""
        self._settle(outputs)
        if self.item is None and (self.stream.valid is None or self._pace()):
            self.item = next(self._source, None)
        valid = self.item is not None
        values = {self.stream.payload: self._idle if self.item is None else self.item}
        if self.stream.valid is not None:
            values[self.stream.valid] = int(valid)
        return values

    def _settle(self, outputs: Mapping[str, int] | None) -> None:
        """Find out what became of the item offered in the last cycle."""
        self.taken = None
        if outputs is None:
            self.item = None
        elif self.item is not None:
            if self.stream.ready is None or outputs[self.stream.ready] == 1:
                self.taken, self.item = self.item, None
                self.sent += 1
            elif self._withdraw and self._rng.random() < self._withdraw:
                self.item = None
            if self.item is None:
                self._idle = self._rng.getrandbits(self.stream.width)


class StreamSink:
    """Receiver of one output stream.

    Parameters
    ----------
    stream : Stream
        The stream (``context.ports.streams[name]``).
    rng : random.Random
        For the pace.
    pace : Pace, optional
        Decides whether it is ready. Default: random phases.

    Attributes
    ----------
    taken : int or None
        What was taken in the cycle before the one last returned by `next`.
    received : int
        Items taken so far.
    """

    def __init__(self, stream: Stream, rng: random.Random, pace: Pace | None = None):
        if stream.is_input:
            raise ValueError(f"stream {stream.name!r} is an input and needs a StreamDriver")
        self.stream = stream
        self.taken: int | None = None
        self.received = 0
        self._pace = pace or Pace(rng)
        self._ready = False

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return this stream's ``ready`` for the next cycle."""
        self.taken = None
        valid = self.stream.valid
        if outputs is not None and self._ready and (valid is None or outputs[valid] == 1):
            self.taken = outputs[self.stream.payload]
            self.received += 1
        if self.stream.ready is None:
            self._ready = True
            return {}
        self._ready = self._pace()
        return {self.stream.ready: int(self._ready)}


@dataclass(frozen=True)
class Context:
    """What a stimulus or a source is made from.

    Attributes
    ----------
    ports : Ports
        The component's ports.
    case : Case
        The case that runs.
    rng : random.Random
        For the one who is called with this context alone.
    """

    ports: Ports
    case: Case
    rng: random.Random

    @property
    def params(self) -> Mapping[str, Any]:
        """Parameters of ``make``."""
        return self.case.params

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of the case for its stimulus."""
        return self.case.options

    def child(self, purpose: str) -> Context:
        """Return a context with random numbers of its own."""
        return Context(self.ports, self.case, self.case.rng(purpose))

    def source(self, name: str) -> Iterator[int] | None:
        """Return the case's own source for a stream or plain input, or None."""
        if name not in self.case.sources:
            return None
        source: Iterator[int] = resolve(str(self.case.sources[name]))(self.child(f"source/{name}"))
        return iter(source)

    def driver(
        self, name: str, source: Iterator[int] | None = None, pace: Pace | None = None
    ) -> StreamDriver:
        """Return a driver of an input stream.

        ``source`` defaults to the case's own source, else random bits.
        """
        stream = self.ports.streams[name]
        rng = self.case.rng(f"driver/{name}")
        source = source or self.source(name) or random_bits(rng, stream.width)
        withdraw = WITHDRAW if name in self.case.withdrawable else 0.0
        return StreamDriver(stream, source, rng, pace, withdraw)

    def sink(self, name: str, pace: Pace | None = None) -> StreamSink:
        """Return a sink of an output stream."""
        return StreamSink(self.ports.streams[name], self.case.rng(f"sink/{name}"), pace)


def random_bits(rng: random.Random, width: int) -> Iterator[int]:
    """Yield random words of ``width`` bits for ever, the extreme ones now and then."""
    while True:
        yield rng.choice((0, (1 << width) - 1)) if rng.random() < 0.1 else rng.getrandbits(width)


class RandomStimulus:
    """Random inputs that obey the stream rules, idle cycles crossed with back-pressure.

    Every stream has its own `Pace`. A plain input of one bit is a `Pace`; a wider one takes a new
    random value whenever its `Pace` says so. The case's ``sources`` replace the random values.

    Parameters
    ----------
    context : Context
        Case, ports and randomness.
    """

    def __init__(self, context: Context):
        ports = context.ports
        unknown = (
            set(context.case.sources)
            - set(ports.plain_inputs)
            - {name for name, stream in ports.streams.items() if stream.is_input}
        )
        if unknown:
            raise ValueError(f"sources for no input of the component: {sorted(unknown)}")
        self.streams: dict[str, StreamDriver | StreamSink] = {
            name: context.driver(name) if stream.is_input else context.sink(name)
            for name, stream in ports.streams.items()
        }
        self._plain = {
            name: context.source(name) or _levels(context.case.rng(f"input/{name}"), len(value))
            for name, value in ports.plain_inputs.items()
        }

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return all inputs of the next cycle."""
        values: dict[str, int] = {}
        for end in self.streams.values():
            values.update(end.next(outputs))
        for name, source in self._plain.items():
            values[name] = next(source)
        return values


def _levels(rng: random.Random, width: int) -> Iterator[int]:
    """Yield a plain input's values, one for each cycle."""
    pace = Pace(rng)
    if width == 1:
        while True:
            yield int(pace())
    words = random_bits(rng, width)
    value = next(words)
    while True:
        if pace():
            value = next(words)
        yield value
