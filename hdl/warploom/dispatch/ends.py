"""Which launches are over: told one after the other, with their times."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import decoded
from warploom.lib.pipes import held
from warploom.lib.rows import Rows
from warploom_spec import Config, ErrorCode, Fate
from warploom_spec.resident_packets import resident_end


class Ends(wiring.Component):
    """Find launches that are over, judge them and tell their ends.

    Rules 29 and 30 of ``docs/dispatch/block_dispatcher.md``.

    Parameters
    ----------
    config : Config
        ``stream_bits``.
    """

    resident: Signal
    alive: Signal
    active: Signal
    fault: Signal
    sm_lost: Signal
    all_ok: Signal
    emptied: Signal
    emptied_stream: Signal
    returned: Signal
    began: Signal
    began_stream: Signal
    clock: Signal
    turn: Signal
    at_turn: Signal
    ended: stream.Interface
    told: Signal
    ended_first: Signal
    ended_cycles: Signal

    def __init__(self, config: Config) -> None:
        self._streams = streams = 1 << config.stream_bits
        flags = ("resident", "alive", "active", "fault", "sm_lost", "all_ok")
        super().__init__(
            {
                # Flags of the streams, and the active launch.
                **{name: In(streams) for name in flags},
                # A block of this stream returns; it leaves none out.
                "returned": In(1),
                "emptied": In(1),
                "emptied_stream": In(config.stream_bits),
                # A launch's first block is offered in this cycle.
                "began": In(1),
                "began_stream": In(config.stream_bits),
                "clock": In(32),
                # The stream that is visited, as a number and one-hot. Registers.
                "turn": Out(config.stream_bits),
                "at_turn": Out(streams, init=1),  # type: ignore[call-arg]  # no init in the stubs
                # A launch's end, and its times two and three cycles after the transfer.
                "ended": Out(stream.Signature(resident_end(config).layout())),
                "told": Out(streams),
                "ended_first": Out(32),
                "ended_cycles": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        streams, end = self._streams, self.ended.payload
        looked, over, telling = (
            Signal(streams, name=name) for name in ("looked", "over", "telling")
        )
        free = Signal()
        was_emptied = Signal()
        returned = held(m, "returned_stream", self.emptied_stream)
        m.d.sync += [
            was_emptied.eq(self.emptied),
            self.turn.eq(self.turn + 1),
            self.at_turn.eq(Cat(self.at_turn[-1], self.at_turn[:-1])),
        ]
        back = decoded(m, "returned_one", returned, streams, was_emptied)
        m.d.comb += [
            looked.eq(Mux(was_emptied, back, self.at_turn)),
            over.eq(looked & self.resident & ~self.alive & ~self.active & ~telling),
            free.eq(~self.ended.valid | self.ended.ready),
            self.told.eq(telling & (self.ended.valid & self.ended.ready).replicate(streams)),
        ]
        failed, lost, finished = (
            (looked & flags).any() for flags in (self.fault, self.sm_lost, self.all_ok)
        )
        with m.If(free):
            m.d.sync += [
                telling.eq(over),
                self.ended.valid.eq(over.any()),
                end.stream.eq(Mux(was_emptied, returned, self.turn)),
                end.fate.eq(Mux(failed, Fate.FAILED, Mux(finished, Fate.FINISHED, Fate.KILLED))),
                end.code.eq(
                    Mux(failed, Mux(lost, int(ErrorCode.SM_LOST), int(ErrorCode.BLOCK_FAULT)), 0)
                ),
            ]
        self._times(m)
        return m

    def _times(self, m: Module) -> None:
        """Keep the clock of each launch's first offer and last return."""
        first = Rows(m, "first_times", 32, self._streams, block=True)
        last = Rows(m, "last_times", 32, self._streams, block=True)
        first.write(self.began, self.began_stream, self.clock)
        last.write(self.returned, self.emptied_stream, self.clock)
        stream_now = self.ended.payload.stream
        began, returned = (
            held(m, "first_time", first.later(stream_now)),
            held(m, "last_time", last.later(stream_now)),
        )
        m.d.comb += self.ended_first.eq(began)
        m.d.sync += self.ended_cycles.eq(returned - began)
