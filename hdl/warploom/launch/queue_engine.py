"""The engine of KernelQueue: one event after the other, each in a few steps."""

from functools import reduce
from operator import or_
from typing import Final

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import decoded
from warploom_spec import Config

#: Events, the highest rank first: bit k of all vectors below is event k's.
EVENTS: Final = ("accept", "end", "command", "abort", "late", "look", "preempt")
ACCEPT, END, COMMAND, ABORT, LATE, LOOK, PREEMPT = range(len(EVENTS))
#: Events in whose last step the next one is picked: they make no record.
_OVERLAPS: Final = (ACCEPT, COMMAND, LATE)


def steps(config: Config) -> int:
    """Return the steps of the longest event, but its last one."""
    return 3 + config.launch_waits


def queue_rows(config: Config) -> int:
    """Return the cycles of the boot: the larger of entries and streams, a power of two."""
    return max(config.queue_depth << config.priority_bits, 1 << config.stream_bits)


class QueueEngine(wiring.Component):
    """Pick events and count their steps; boot a row a cycle.

    Rules 1 and 6 of ``docs/launch/kernel_queue.md``. Picked in c, an event has step k in
    c + 1 + k, and then its last step.

    Parameters
    ----------
    config : Config
        ``stream_bits``, ``priority_bits``, ``queue_depth``, ``launch_waits``.
    """

    wants: Signal
    can: Signal
    has_pair: Signal
    pick: Signal
    serves: Signal
    last: Signal
    step: Signal
    stream: Signal
    chosen: Signal
    boot: Signal
    row: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        events, streams = len(EVENTS), 1 << config.stream_bits
        super().__init__(
            {
                # Events that are wanted, and that can be served in this cycle.
                "wants": In(events),
                "can": In(events),
                "streams": In(config.stream_bits).array(events),
                # The launch in the inbox has a pair.
                "has_pair": In(1),
                # One-hot: what is picked in this cycle. A gate; all other outputs are registers.
                "pick": Out(events),
                # One-hot: what is served, and which event has its last step.
                "serves": Out(events),
                "last": Out(events),
                # One-hot: the step.
                "step": Out(steps(config)),
                # The event's stream, and from step 1 on one-hot.
                "stream": Out(config.stream_bits),
                "chosen": Out(streams),
                # The boot, and its row.
                "boot": Out(1, init=1),  # type: ignore[call-arg]  # no init in the stubs
                "row": Out((queue_rows(config) - 1).bit_length()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        waits = self._config.launch_waits
        before_last = {
            ACCEPT: Mux(self.has_pair, self.step[1 + waits], self.step[0]),
            END: self.step[1],
            COMMAND: self.step[0],
            ABORT: self.step[1],
            LATE: self.step[1],
            LOOK: self.step[2 + waits],
            PREEMPT: self.step[0],
        }
        ends, busy, picks, free = (Signal(name=name) for name in ("ends", "busy", "picks", "free"))
        ending = Cat(self.serves[k] & before_last[k] for k in range(len(EVENTS)))
        m.d.comb += [
            ends.eq(ending.any()),
            free.eq(~self.boot & (~busy | Cat(self.last[k] for k in _OVERLAPS).any())),
            picks.eq(self.pick.any()),
        ]
        nothing: Value = free
        for k in range(len(EVENTS)):
            m.d.comb += self.pick[k].eq(nothing & self.wants[k] & self.can[k])
            nothing = nothing & ~self.wants[k]
        m.d.sync += [
            self.last.eq(ending),
            busy.eq(picks | (busy & ~self.last.any())),
            self.step.eq(Mux(picks, 1, Mux(ends, 0, self.step << 1))),
        ]
        with m.If(picks):
            m.d.sync += self.serves.eq(self.pick)
        with m.Elif(self.last.any()):
            m.d.sync += self.serves.eq(0)
        self._streams(m, picks)
        return m

    def _streams(self, m: Module, picks: Signal) -> None:
        """Keep the event's stream; in the boot it is the row's."""
        m.d.sync += self.row.eq(self.row + self.boot)
        with m.If(self.row.all()):
            m.d.sync += self.boot.eq(0)
        picked = [
            self.streams[k] & self.pick[k].replicate(len(self.stream)) for k in range(len(EVENTS))
        ]
        with m.If(self.boot):
            m.d.sync += self.stream.eq(self.stream + 1)
        with m.Elif(picks):
            m.d.sync += self.stream.eq(reduce(or_, picked))
        one_hot = decoded(m, "stream_bit", self.stream, len(self.chosen), C(1, 1))
        with m.If(self.step[0]):
            m.d.sync += self.chosen.eq(one_hot)
