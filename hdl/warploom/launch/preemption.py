"""Who is held and who is stopped: a bit a stream, from mode, priority and command."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config, queue_packets
from warploom_spec.queue import Mode


class Preemption(wiring.Component):
    """Hold and stop residents; all outputs are registers but `killable`, which depends on them.

    Rules 24 and 25 of ``docs/launch/kernel_queue.md``. A stream that becomes urgent in c has
    lower ones held and stopped in c + 2. A PREEMPT and a RESUME do not come in one cycle.

    Parameters
    ----------
    config : Config
        ``stream_bits``, ``priority_bits``, ``sm_kill``.
    """

    live: Signal
    stuck: Signal
    resident: Signal
    begun: Signal
    starts: Signal
    mode: Signal
    idempotent: Signal
    kills: Signal
    stops: Signal
    preempts: Signal
    resumes: Signal
    held: Signal
    hold: Signal
    stop: Signal
    killable: Signal
    was_held: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # Levels of each stream.
                "live": In(streams),
                "stuck": In(streams),
                "resident": In(streams),
                "priorities": In(config.priority_bits).array(streams),
                "begun": In(streams),
                # One-hot: a launch that starts, and what it is.
                "starts": In(streams),
                "mode": In(queue_packets.QUEUE_MODE_BITS),
                "idempotent": In(1),
                "kills": In(queue_packets.KILLS_BITS),
                # One-hot: a resident that is stopped for good.
                "stops": In(streams),
                # Streams of an accepted PREEMPT, of a RESUME.
                "preempts": In(streams),
                "resumes": In(streams),
                # Held by command; to the dispatcher; it was held in its run, and had begun.
                "held": Out(streams),
                "hold": Out(streams),
                "stop": Out(streams),
                "killable": Out(streams),
                "was_held": Out(streams),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        streams = len(self.live)
        urgent, low = Signal(streams, name="urgent"), Signal(streams, name="low")
        top = Signal.like(ports.priorities[0], name="top")
        highest = Signal.like(top, name="highest")
        m.d.comb += urgent.eq(self.live & ~self.stuck & ~self.held)
        for priority in range(1, 1 << len(top)):
            has = Cat(urgent[s] & (ports.priorities[s] == priority) for s in range(streams))
            with m.If(has.any()):
                m.d.comb += highest.eq(priority)
        m.d.sync += top.eq(highest)
        m.d.comb += low.eq(Cat(ports.priorities[s] < top for s in range(streams)))

        makes_way, waits, killed = (
            Signal(streams, name=name) for name in ("makes_way", "waits", "killed")
        )
        kills = (
            (self.mode <= Mode.RESET) & self.idempotent & (self.kills < queue_packets.MAX_KILLS)
            if self._config.sm_kill
            else 0
        )
        for s in range(streams):
            with m.If(self.starts[s]):
                m.d.sync += [
                    makes_way[s].eq((self.mode != Mode.WAIT) & (self.mode != Mode.YIELD)),
                    waits[s].eq(self.mode == Mode.WAIT),
                    killed[s].eq(kills),
                ]
        m.d.comb += self.killable.eq(killed)
        m.d.sync += [
            self.held.eq((self.held | self.preempts) & ~self.resumes),
            self.hold.eq((low & makes_way) | (self.held & ~(waits & self.begun))),
            self.stop.eq(self.stops | (self.resident & self.begun & killed & (low | self.held))),
            self.was_held.eq(self.begun & (self.was_held | self.hold)),
        ]
        return m
