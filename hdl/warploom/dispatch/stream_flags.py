"""What is known of each stream's resident launch, a bit a stream."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom_spec import Config


class StreamFlags(wiring.Component):
    """Keep the flags of all streams; events are bits a stream.

    Rules 3 to 7 of ``docs/dispatch/block_dispatcher.md``. A start wins over what ends the launch
    before it; a pick wins over a return that leaves no block out.

    Parameters
    ----------
    config : Config
        ``stream_bits``, ``sm_kill``.
    """

    starts: Signal
    stop: Signal
    hold: Signal
    active: Signal
    picked: Signal
    spent: Signal
    returned: Signal
    emptied: Signal
    bad: Signal
    faults: Signal
    sm_losses: Signal
    told: Signal
    resident: Signal
    open: Signal
    begun: Signal
    busy: Signal
    stopped: Signal
    kill: Signal
    alive: Signal
    candidates: Signal
    fault: Signal
    sm_lost: Signal
    all_ok: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        streams = 1 << config.stream_bits
        super().__init__(
            {
                # The launch that starts; launches to be stopped, and to be held.
                "starts": In(streams),
                "stop": In(streams),
                "hold": In(streams),
                # The active launch. A block of it was picked in the cycle before; the last one was.
                "active": In(streams),
                "picked": In(1),
                "spent": In(1),
                # A block returns; it leaves none of its stream out; it was not `OK`; it is a fault;
                # its SM is lost.
                "returned": In(streams),
                "emptied": In(1),
                "bad": In(1),
                "faults": In(streams),
                "sm_losses": In(streams),
                # Whose end is told.
                "told": In(streams),
                # Registers.
                "resident": Out(streams),
                "open": Out(streams),
                "begun": Out(streams),
                "busy": Out(streams),
                "stopped": Out(streams),
                "kill": Out(streams),
                # Gates over registers: not over yet; may be placed.
                "alive": Out(streams),
                "candidates": Out(streams),
                # For the launch's fate. Registers but for `all_ok`.
                "fault": Out(streams),
                "sm_lost": Out(streams),
                "all_ok": Out(streams),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams = len(self.resident)
        held, all_placed, not_ok, stops = (
            Signal(streams, name=name) for name in ("held", "all_placed", "not_ok", "stops")
        )

        def of_active(event: Signal) -> Value:
            return self.active & event.replicate(streams)

        m.d.comb += [
            self.alive.eq(self.resident & (self.open | self.busy)),
            self.candidates.eq(self.open & ~held),
            stops.eq((self.stop & self.alive) | self.faults),
            self.kill.eq(self.stopped if self._config.sm_kill else 0),
            self.all_ok.eq(all_placed & ~not_ok),
        ]
        m.d.sync += [
            held.eq(self.hold),
            self.resident.eq((self.resident | self.starts) & ~self.told),
            self.open.eq((self.open | self.starts) & ~(of_active(self.spent) | stops)),
            self.begun.eq((self.begun | of_active(self.picked)) & ~self.starts),
            self.busy.eq(
                (self.busy & ~(self.returned & self.emptied.replicate(streams)))
                | of_active(self.picked)
            ),
            self.stopped.eq((self.stopped | stops) & ~self.starts & ~self.told),
            self.fault.eq((self.fault | self.faults) & ~self.starts),
            self.sm_lost.eq((self.sm_lost | self.sm_losses) & ~self.starts),
            all_placed.eq((all_placed | of_active(self.spent)) & ~self.starts),
            not_ok.eq((not_ok | (self.returned & self.bad.replicate(streams))) & ~self.starts),
        ]
        return m
