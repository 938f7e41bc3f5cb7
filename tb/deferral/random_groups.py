"""Random groups of launches and event calls, and what CUDA would do with them."""

import random
from dataclasses import dataclass, field

from warploom_golden.deferral.calls import (
    Alternate,
    Call,
    Constant,
    Group,
    Linear,
    argument_value,
)
from warploom_golden.deferral.kernel_store import CoreStream, Kernel, KernelStore
from warploom_golden.deferral.relative_pairs import EVENT_RECORD, STREAM_WAIT

GRID_BITS = (31, 16, 16)
_BLOCKS = ((32, 1, 1), (128, 1, 1), (8, 8, 2), (1024, 1, 1))


class RandomGroup:
    """A group of so many launches and iterations.

    Attributes
    ----------
    group : Group
        Launches, and records of events with waits for them.
    store : KernelStore
        Kernels of any parameters, and streams.
    """

    def __init__(self, seed, launches, count, streams):
        self._random = random.Random(seed)
        self._count = count
        kernels = {f"kernel{k}": self._kernel(k) for k in range(self._random.randint(1, 4))}
        numbers = self._random.sample(range(16), streams)
        self._handles = [0, *(0x5100 + 8 * k for k in range(1, streams))]
        self.store = KernelStore(
            kernels=kernels,
            streams={h: CoreStream(n, n % 4) for h, n in zip(self._handles, numbers, strict=True)},
            address_space=self._random.getrandbits(16),
        )
        calls = []
        recorded = set()
        for _ in range(launches):
            if streams > 1:
                calls += self._events(recorded)
            calls.append(self._launch())
        if streams > 1:
            calls += self._events(recorded)
        self.group = Group(1, 0, 3, 0, 1, count, tuple(calls))

    def _kernel(self, number):
        sizes = tuple(self._random.choice((1, 2, 4, 8)) for _ in range(self._random.randint(0, 7)))
        return Kernel(
            code=0x1_0000_0000 * number + 0x100,
            parameters=sizes,
            registers=self._random.randint(1, 64),
            shared_bytes=128 * self._random.randint(0, 9),
        )

    def _events(self, recorded):
        for _ in range(self._random.choice((0, 0, 0, 1, 2))):
            stream = Constant(self._random.choice(self._handles))
            if recorded and self._random.random() < 0.5:
                event = Constant(self._random.choice(sorted(recorded)))
                yield Call(STREAM_WAIT, (stream, event, Constant(0, 4)))
            else:
                event = self._random.randint(0x52, 0x55)
                recorded.add(event)
                yield Call(EVENT_RECORD, (Constant(event), stream))

    def _launch(self):
        name = self._random.choice(sorted(self.store.kernels))
        kind = self._random.choice((Constant, Constant, Linear, Alternate))
        grid = [self._within(bits, kind) for bits in GRID_BITS]
        block = [Constant(dim, 4) for dim in self._random.choice(_BLOCKS)]
        shared = Constant(128 * self._random.randint(0, 20))
        stream = Constant(self._random.choice(self._handles))
        sizes = self.store.kernels[name].parameters
        return Call(name, (*grid, *block, shared, stream, *map(self._parameter, sizes)))

    def _within(self, bits, kind):
        """Return a rule whose values all fit so many bits."""
        top = (1 << bits) - 1
        first, last = self._random.randint(0, top), self._random.randint(0, top)
        if kind is Constant:
            return Constant(first, 4)
        if kind is Alternate:
            return Alternate(first, last, 4)
        return Linear(first, int((last - first) / max(self._count - 1, 1)), 4)

    def _parameter(self, size):
        """Return a rule of any values, that wraps; sometimes in more bytes than the parameter."""
        size = self._random.choice((size, size, 8))
        bits = 8 * size
        kind = self._random.choice((Constant, Linear, Linear, Alternate))
        edge = self._random.choice((0, (1 << bits) - 1, 1 << bits - 1))
        first = (edge + self._random.randint(-9, 9)) % (1 << bits)
        if kind is Constant:
            return Constant(first, size)
        if kind is Alternate:
            other = self._random.choice((self._random.getrandbits(bits), first ^ 1 << bits - 1))
            return Alternate(first, other, size)
        small = self._random.randint(-300, 300)
        step = self._random.choice((small, self._random.getrandbits(bits) - (1 << bits - 1)))
        return Linear(first, step, size)


@dataclass
class Called:
    """One launch that CUDA makes.

    Attributes
    ----------
    kernel : str
        Its name.
    values : list of int
        Configuration and parameters, each in the bits that it has.
    iteration : int
        Number of its iteration.
    stream : int
        The core's stream.
    awaited : dict of int to int
        By other stream: the number, among the group's launches of that stream, of the launch that
        must have ended before; -1: the last one before the group.
    """

    kernel: str
    values: list
    iteration: int
    stream: int
    awaited: dict = field(default_factory=dict)


def called(group, store):
    """Return what CUDA launches, call by call."""
    sent, events, pending, made = {}, {}, {}, []
    for iteration in range(group.count):
        for call in group.calls:
            values = [argument_value(a, 0, iteration, [], None) for a in call.arguments]
            if call.name == EVENT_RECORD:
                stream = store.streams[values[1]].number
                events[values[0]] = stream, sent.get(stream, 0) - 1
            elif call.name == STREAM_WAIT:
                stream = store.streams[values[0]].number
                pending.setdefault(stream, []).append(events[values[1]])
            else:
                made.append(_launch(call.name, values, iteration, store))
                stream = made[-1].stream
                for other, number in pending.pop(stream, ()):
                    if other != stream:
                        before = made[-1].awaited.get(other, -1)
                        made[-1].awaited[other] = max(number, before)
                sent[stream] = sent.get(stream, 0) + 1
    return made


def _launch(name, values, iteration, store):
    sizes = store.kernels[name].parameters
    masked = [v & (1 << 8 * size) - 1 for v, size in zip(values[8:], sizes, strict=True)]
    return Called(name, [*values[:8], *masked], iteration, store.streams[values[7]].number)
