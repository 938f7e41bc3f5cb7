"""Which launch goes to the launch path next, and when."""

from typing import Final

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.bits import before
from warploom.lib.fifo import SyncFIFO
from warploom_spec import Config, ErrorCode, host_packets

_FULL: Final = int(ErrorCode.QUEUE_FULL), int(ErrorCode.COMPLETION_FULL)


class LaunchTurns(wiring.Component):
    """Keep the launches that wait in order, and let the oldest go when the launch path may take it.

    Parameters
    ----------
    config : Config
        ``sections``: each has one launch at most; ``priority_bits``.
    """

    waits: Signal
    closed: Signal
    asks: Signal
    asked: Signal
    read_section: Signal
    priority: Signal
    pace: Signal
    room: Signal
    records_left: Signal
    clearing: Signal
    leaves: Signal
    section: Signal
    goes: Signal
    turned_away: Signal
    code: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        bits = max(1, (config.sections - 1).bit_length())
        super().__init__(
            {
                # The command that is judged is a launch to be sent. Its task was read in the cycle
                # before.
                "waits": In(1),
                # No launch waits in the next cycle.
                "closed": In(1),
                # A doorbell is asked for in this cycle, and whose: this section's task is read. A
                # register: the read waits for nothing, not for whether the doorbell is refused.
                "asks": In(1),
                "asked": In(bits),
                # The section whose task register is read in this cycle.
                "read_section": Out(bits),
                # Of the task that was read in the cycle before: the launch's priority.
                "priority": In(config.priority_bits),
                # The launch path takes a launch; what it has room for; a stream is being mended.
                "pace": In(1),
                "room": In(1 << config.priority_bits),
                "records_left": In(1),
                "clearing": In(1),
                # The oldest launch waits no more, and its section: it goes, or is turned away.
                "leaves": Out(1),
                "section": Out(bits),
                "goes": Out(1),
                # Why it was turned away in the cycle before; registers.
                "turned_away": Out(1),
                "code": Out(host_packets.HOST_CODE_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        was_read = before(m, "was_read", self.read_section)
        valid, section = self._queue(m, was_read)
        room = Signal()
        m.d.comb += [
            self.read_section.eq(Mux(self.asks, self.asked, Mux(valid, section, was_read))),
            self.section.eq(section),
            self.leaves.eq(
                valid & (was_read == section) & self.pace & ~self.clearing & ~self.closed
            ),
            room.eq(self.room.bit_select(self.priority, 1)),
            self.goes.eq(self.leaves & room & self.records_left),
        ]
        queue_full, completion_full = _FULL
        m.d.sync += [
            self.turned_away.eq(self.leaves & ~self.goes),
            self.code.eq(Mux(room, completion_full, queue_full)),
        ]
        return m

    def _queue(self, m: Module, judged: Signal) -> tuple[Signal, Signal]:
        """Queue the sections; return whether there is an oldest one, and it: registers."""
        bits = len(self.section)
        queue = SyncFIFO(width=bits, depth=self._config.sections)
        m.submodules.waiting = ResetInserter({"sync": self.closed})(queue)
        valid = Signal(name="oldest_valid")
        section = Signal(bits, name="oldest", reset_less=True)
        takes = Signal()
        m.d.comb += [
            takes.eq(~valid | self.leaves),
            queue.w_en.eq(self.waits & (~takes | queue.r_rdy)),
            queue.w_data.eq(judged),
            queue.r_en.eq(takes),
        ]
        with m.If(takes):
            m.d.sync += [
                valid.eq(queue.r_rdy | self.waits),
                section.eq(Mux(queue.r_rdy, queue.r_data, judged)),
            ]
        with m.If(self.closed):
            m.d.sync += valid.eq(0)
        return valid, section
