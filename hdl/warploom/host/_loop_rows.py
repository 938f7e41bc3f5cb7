"""Where each loop is: its slots, its next slot, and how many iterations are left."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config
from warploom_spec.loop_packets import loop_begin

#: Launches that may be unfinished where LOOP says 0.
_USUAL_IN_FLIGHT = 4


def loop_span(config: Config) -> data.StructLayout:
    """Return what does not change while a loop runs."""
    slot = config.template_bits
    return data.StructLayout({"first": slot, "last": slot, "in_flight": 8})


def loop_position(config: Config) -> data.StructLayout:
    """Return what a loop's next launch is: its slot, and in which iteration.

    That is an odd one, a later one than the first, or none at all.
    """
    return data.StructLayout({"slot": config.template_bits, "odd": 1, "later": 1, "none": 1})


class LoopRows(wiring.Component):
    """Keep where each loop is, a row a loop.

    Parameters
    ----------
    config : Config
        ``loop_templates``, ``loop_sections``.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__(
            {
                # A loop begins.
                "begin": In(loop_begin(config).layout()),
                # The walker's loop, and where it is.
                "loop": In(config.loop_bits),
                "span": Out(loop_span(config)),
                "position": Out(loop_position(config)),
                # Its launch is written, in a cycle without `begin`: it goes on by a slot; and
                # whether this slot is its last one.
                "launches": In(1),
                "at_last": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        begin, loops = ports.begin, self._config.loop_sections
        in_flight = Mux(begin.in_flight.any(), begin.in_flight, _USUAL_IN_FLIGHT)
        spans = Rows(m, "spans", ports.span.shape().size, loops)
        spans.write(begin.valid, begin.loop, Cat(begin.first_slot, begin.last_slot, in_flight))
        m.d.comb += ports.span.as_value().eq(spans.now(self.loop))
        # `left` is one less than there are iterations left. The carry says if there is one more.
        positions = Rows(m, "positions", 32 + ports.position.shape().size, loops)
        now = positions.now(self.loop)
        position, left = ports.position, now[-32:]
        m.d.comb += position.as_value().eq(now[:-32])
        ends = begin.valid | self.at_last
        less = Mux(begin.valid, begin.count, left) + ends.replicate(32)
        slot = Mux(self.at_last, ports.span.first, (position.slot + 1)[: len(position.slot)])
        following = (
            Mux(begin.valid, begin.first_slot, slot),
            ~begin.valid & (position.odd ^ self.at_last),
            ~begin.valid & (position.later | self.at_last),
            ends & ~less[32],
        )
        positions.write(
            begin.valid | self.launches,
            Mux(begin.valid, begin.loop, self.loop),
            Cat(*following, less[:32]),
        )
        return m
