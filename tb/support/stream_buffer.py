"""A throw-away block for the harness's own tests: a buffer of two items, with faults to order."""

import enum
from collections import deque
from collections.abc import Mapping

from amaranth.hdl import Module, Mux, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom_sim.cosim.lockstep import Context, RandomStimulus

WIDTH = 40


class Fault(enum.IntEnum):
    """What the RTL does wrong while its port ``fault`` has this value."""

    NONE = 0
    DROP = 1
    "Accepts an item while full and loses it."
    CHANGE = 2
    "Inverts the payload's lowest bit while stalled."
    RESET = 3
    "Keeps its items in a reset."
    LATE = 4
    "Shows an item one cycle late."
    WITHDRAW = 5
    "Takes valid back while stalled."


class StreamBuffer(wiring.Component):
    """Two-entry buffer, one cycle of latency; ``level`` counts its items."""

    i: In(stream.Signature(WIDTH))
    o: Out(stream.Signature(WIDTH))
    level: Out(2)
    fault: In(3)

    def elaborate(self, platform: object) -> Module:
        """Build the buffer."""
        m = Module()
        items = [Signal(WIDTH, name=f"item_{k}", reset_less=True) for k in range(2)]
        level = Signal(2, reset_less=True)
        late = Signal()
        stalled = Signal()
        take, give = Signal(), Signal()
        resetting = Signal()
        m.d.comb += [
            resetting.eq(ResetSignal()),
            self.level.eq(level),
            self.i.ready.eq((level != 2) | (self.fault == Fault.DROP)),
            self.o.valid.eq(
                (level != 0)
                & ~((self.fault == Fault.LATE) & late)
                & ~((self.fault == Fault.WITHDRAW) & stalled)
            ),
            self.o.payload.eq(items[0] ^ ((self.fault == Fault.CHANGE) & stalled)),
            take.eq(self.i.valid & self.i.ready),
            give.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            late.eq(take & (level == 0)),
            stalled.eq(self.o.valid & ~self.o.ready),
        ]
        with m.If(give):
            m.d.sync += items[0].eq(items[1])
        with m.If(take & ((level - give) < 2)):
            with m.If(level == give):
                m.d.sync += items[0].eq(self.i.payload)
            with m.Else():
                m.d.sync += items[1].eq(self.i.payload)
        with m.If(resetting & (self.fault != Fault.RESET)):
            m.d.sync += level.eq(0)
        with m.Elif(~resetting):
            m.d.sync += level.eq(Mux(level - give + take > 2, 2, level - give + take))
        return m


class StreamBufferModel:
    """Model of `StreamBuffer` without faults."""

    def __init__(self) -> None:
        self.items: deque[int] = deque()

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return this cycle's outputs; the payload of an empty buffer is not compared."""
        return {
            "i__ready": int(len(self.items) < 2),
            "o__valid": int(bool(self.items)),
            "o__payload": self.items[0] if self.items else None,
            "level": len(self.items),
        }

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Take and give an item."""
        room = len(self.items) < 2
        if self.items and inputs["o__ready"]:
            self.items.popleft()
        if room and inputs["i__valid"]:
            self.items.append(inputs["i__payload"])

    def reset(self) -> None:
        """Empty the buffer."""
        self.items.clear()


class MissingPortModel(StreamBufferModel):
    """A model that lacks the component's ``level`` and has a port of its own."""

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return outputs under wrong names."""
        values = super().outputs(inputs)
        values["fill"] = values.pop("level")
        return values


def make() -> tuple[StreamBuffer, StreamBufferModel]:
    """Make the buffer and its model."""
    return StreamBuffer(), StreamBufferModel()


def make_missing_port() -> tuple[StreamBuffer, MissingPortModel]:
    """Make the buffer and a model whose ports differ."""
    return StreamBuffer(), MissingPortModel()


class FaultyStimulus(RandomStimulus):
    """Random, with the fault that the case's options name."""

    def __init__(self, context: Context):
        super().__init__(context)
        self._fault = Fault[context.options.get("fault", "NONE")].value

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        return super().next(outputs) | {"fault": self._fault}


def full(inputs: Mapping[str, int], outputs: Mapping[str, int]) -> bool:
    """Tell whether the buffer is full and refuses an item."""
    return outputs["level"] == 2 and inputs["i__valid"] == 1


def overfull(inputs: Mapping[str, int], outputs: Mapping[str, int]) -> bool:
    """Tell whether the buffer holds what it cannot hold."""
    return outputs["level"] == 3


class Emptied:
    """Count how often a full buffer became empty without being filled in between."""

    def __init__(self) -> None:
        self._was_full = False
        self._count = 0

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in one cycle."""
        if outputs["level"] == 0 and self._was_full:
            self._count += 1
        self._was_full = outputs["level"] == 2 or (self._was_full and outputs["level"] != 0)

    def reset(self) -> None:
        """Start from an empty buffer."""
        self._was_full = False

    def counts(self) -> dict[str, int]:
        """Return the count."""
        return {"full buffer emptied": self._count}
