"""What a look at a loop reads, in one cycle, before anything is decided."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.host._loop_rows import loop_position, loop_span
from warploom_spec import Config


def loop_look(config: Config) -> data.StructLayout:
    """Return what a look has read.

    The loop begins; nothing more is to be launched; all its launches have ended; a launch is to be
    rung again, and there is room for it; fewer launches than `in_flight` are unfinished; the next
    slot is the last one; only words that change are written; a launch or LOOP_STOP stopped it.
    """
    del config
    names = ("begins", "over", "settled", "again", "has_room", "may_launch", "at_last", "short")
    return data.StructLayout(dict.fromkeys((*names, "failed", "by_host"), 1))


class LoopLook(wiring.Component):
    """Read a loop.

    Parameters
    ----------
    config : Config
        ``loop_templates``, ``loop_sections``, ``priority_bits``.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(
            {
                # The look reads in this cycle; what it has read, until it reads again. A register.
                "reads": In(1),
                "look": Out(loop_look(config)),
                # The walker's loop, and of it, in this cycle: it begins; it is stopped, and why;
                # its last launch was rung and not accepted; where it is; its launches that were
                # rung, that one too, and have not ended; priority of the one that it wrote last.
                "loop": In(config.loop_bits),
                "begins": In(1),
                "stopped": In(1),
                "failed": In(1),
                "by_host": In(1),
                "again": In(1),
                "span": In(loop_span(config)),
                "position": In(loop_position(config)),
                "unended": In(8),
                "priority": In(config.priority_bits),
                # LaunchPath's.
                "room": In(1 << config.priority_bits),
                "records_left": In(1),
                # The walker writes a launch of its loop in the next cycles.
                "launches": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        look, span, position = ports.look, ports.span, ports.position
        # Whose launch was written last. In a later iteration of a loop there is one.
        writer = Signal.like(self.loop, name="writer")
        with m.If(self.launches):
            m.d.sync += writer.eq(self.loop)
        with m.If(self.reads):
            m.d.sync += [
                *(
                    look[name].eq(getattr(self, name))
                    for name in ("begins", "again", "failed", "by_host")
                ),
                look.over.eq(self.stopped | (position.none & ~self.again)),
                look.settled.eq(~self.unended[1:].any() & (self.unended[0] == self.again)),
                look.has_room.eq(self.room.bit_select(self.priority, 1) & self.records_left),
                # This one is looked at if each launch was accepted.
                look.may_launch.eq(self.unended < span.in_flight),
                look.at_last.eq(position.slot == span.last),
                look.short.eq((span.first == span.last) & position.later & (writer == self.loop)),
            ]
        return m
