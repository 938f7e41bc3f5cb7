"""What KernelQueue keeps of each stream, a row in distributed memory."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.lib.rows import Rows
from warploom_spec import Config, queue_packets
from warploom_spec.resident_packets import resident_entry_bits


def head_layout(config: Config) -> data.StructLayout:
    """Return the head of a list, or the launch behind one: `plain` if it keeps no pair."""
    return data.StructLayout({"entry": resident_entry_bits(config), "plain": 1})


def tail_layout(config: Config) -> data.StructLayout:
    """Return the tail of a list and the stream's priority."""
    return data.StructLayout(
        {"entry": resident_entry_bits(config), "priority": config.priority_bits}
    )


def state_layout(config: Config) -> data.StructLayout:
    """Return a stream's flags: `gap` says that a dead launch is in the list."""
    flags = ("filled", "broken", "doomed", "gap", "aborted", "timed")
    return data.StructLayout(
        {
            **dict.fromkeys(flags, 1),
            "kills": queue_packets.KILLS_BITS,
            "bound": resident_entry_bits(config),
        }
    )


def history_layout(config: Config) -> data.StructLayout:
    """Return a run's history entry, and whether a hold is a `reset` treated as `drain`."""
    return data.StructLayout({"entry": max(1, config.entry_bits), "drains": 1})


class StreamRows(wiring.Component):
    """Keep head, tail, flags and the run's history entry of each stream.

    ``docs/launch/kernel_queue.md``. A write shows in the next cycle.

    Parameters
    ----------
    config : Config
        ``stream_bits`` and the widths of entries.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        stream = config.stream_bits
        head, tail, state, history = (
            layout(config) for layout in (head_layout, tail_layout, state_layout, history_layout)
        )
        super().__init__(
            {
                # The event's stream; its step 0, in which the row is read.
                "stream": In(stream),
                "reads": In(1),
                # The head in this cycle, and the row from step 1 on.
                "head_now": Out(head),
                "head": Out(head),
                "tail": Out(tail),
                "state": Out(state),
                "history": Out(history),
                # What is written in this cycle: of the event's stream, but for the history.
                "writes_head": In(1),
                "next_head": In(head),
                "writes_tail": In(1),
                "next_tail": In(tail),
                "writes_state": In(1),
                "next_state": In(state),
                "starts": In(1),
                "started_stream": In(stream),
                "started_history": In(history),
                # The head of the stream that is chosen; kills of the one in preparation.
                "asked_stream": In(stream),
                "asked_head": Out(head),
                "kills": Out(queue_packets.KILLS_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        depth = 1 << self._config.stream_bits
        rows = {
            name: Rows(m, f"{name}_rows", layout(self._config).size, depth)
            for name, layout in (
                ("head", head_layout),
                ("tail", tail_layout),
                ("state", state_layout),
                ("history", history_layout),
            )
        }
        for name in ("head", "tail", "state"):
            rows[name].write(
                getattr(self, f"writes_{name}"),
                ports.stream,
                getattr(self, f"next_{name}").as_value(),
            )
        rows["history"].write(ports.starts, ports.started_stream, ports.started_history.as_value())
        now = {name: row.now(ports.stream) for name, row in rows.items()}
        m.d.comb += [
            ports.head_now.as_value().eq(now["head"]),
            ports.asked_head.as_value().eq(rows["head"].now(ports.asked_stream)),
        ]
        kept = rows["state"].now(ports.started_stream)
        m.d.sync += ports.kills.eq(data.View(state_layout(self._config), kept).kills)
        with m.If(ports.reads):
            m.d.sync += [getattr(self, name).as_value().eq(now[name]) for name in rows]
        return m
