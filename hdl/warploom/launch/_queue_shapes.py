"""Widths, layouts and small functions that KernelQueue's parts share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import C, Module, Mux, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from warploom_spec import Config, queue_packets
from warploom_spec.layouts import BLOCK_NUMBER_BITS, CYCLES_BITS, TICKET_BITS
from warploom_spec.queue_packets import COUNT_BITS, KILLS_BITS

#: Bits of a loaded head's counts.
COMPARED_BITS = 16
CLOCK_BITS = 32


@dataclass(frozen=True)
class QueueShape:
    """Numbers of a configuration.

    Attributes
    ----------
    config : Config
        The configuration.
    first_count : int
        Each stream's accepted count and timeline after a reset and a restart: 0, but in tests.
    """

    config: Config
    first_count: int = 0

    @property
    def waits(self) -> int:
        """W."""
        return self.config.launch_waits

    @property
    def priorities(self) -> int:
        """P."""
        return 1 << self.config.priority_bits

    @property
    def streams(self) -> int:
        """S."""
        return 1 << self.config.stream_bits

    @property
    def depth(self) -> int:
        """D."""
        return self.config.queue_depth

    @property
    def entries(self) -> int:
        """P x D."""
        return self.priorities * self.depth

    @property
    def entry_bits(self) -> int:
        """Width of an entry's number."""
        return (self.entries - 1).bit_length()

    @property
    def history_bits(self) -> int:
        """Width of a history entry's number; 1 where there are none."""
        return self.config.entry_bits if self.config.makes_indices else 1

    def counted(self, known: Any, count: Any) -> Value:
        """Return a stream's count from its memory, or the first one if none was written yet."""
        return Mux(known, count, self.first_count) if self.first_count else spread(known, count)

    @property
    def length_bits(self) -> int:
        """Width of a list's length."""
        return self.depth.bit_length()

    def body(self) -> data.StructLayout:
        """Return the layout of a launch's body; ``base`` is its number less one."""
        waits = {
            f"wait{k}_{name}" for k in range(self.waits) for name in ("valid", "stream", "count")
        }
        left_out = {"valid", "error", "argument"} | waits
        fields = queue_packets.queue_launch(self.config).present
        kept = {f.name: f.bits for f in fields if f.name not in left_out}
        return data.StructLayout({**kept, "ticket": TICKET_BITS, "base": COUNT_BITS})

    def waiting(self) -> data.StructLayout:
        """Return the layout of the waits of a launch."""
        fields: dict[str, Any] = {"after_previous": 1}
        for k in range(self.waits):
            fields[f"valid{k}"] = 1
            fields[f"stream{k}"] = self.config.stream_bits
            fields[f"count{k}"] = COUNT_BITS
        return data.StructLayout(fields)

    def start(self) -> dict[str, int]:
        """Return the fields of a block's place in its grid: where a launch goes on."""
        return {
            f"next_{axis}": bits for axis, bits in zip("xyz", self.config.grid_bits, strict=True)
        }

    def resumed(self) -> dict[str, int]:
        """Return the fields of the block with which a launch goes on: place, and its number."""
        return {**self.start(), "next_number": BLOCK_NUMBER_BITS}

    def progress(self) -> data.StructLayout:
        """Return the layout of what is kept of a launch that came back."""
        return data.StructLayout({**self.resumed(), **self.history().members})

    def history(self) -> data.StructLayout:
        """Return the layout of what is kept of a launch beside where it goes on."""
        return data.StructLayout(
            {
                "kills": KILLS_BITS,
                "reset_as_drain": 1,
                "offered": 1,
                "first_offer": CLOCK_BITS,
                "cycles": CYCLES_BITS,
            }
        )

    def handed(self) -> dict[str, int]:
        """Return the fields of a launch in stage, line or place.

        ``stream`` and ``priority`` have one bit for each, ``number`` is the stream's number;
        ``back``: it was put back before, so that something is kept of it; ``held``: its stream is.
        """
        return {
            "stream": self.streams,
            "number": self.config.stream_bits,
            "priority": self.priorities,
            "entry": self.entry_bits,
            "again": 1,
            "ahead": 1,
            "slot": 1,
            "met": 1,
            "held": 1,
            "back": 1,
        }

    def prepared(self) -> dict[str, int]:
        """Return the fields of a launch's reference on a history entry."""
        return {"prepared": 1, "history": self.history_bits}

    def in_line(self) -> data.StructLayout:
        """Return the layout of a launch in the line; ``gone``: ABORT_STREAMS met it there."""
        return data.StructLayout(
            {**self.handed(), **self.prepared(), "out": 1, "presented": 1, "gone": 1}
        )

    def in_place(self) -> data.StructLayout:
        """Return the layout of a launch in a place.

        ``may_kill``: it was not killed too often; ``stopped``: one of the three stops was sent, and
        has not failed.
        """
        names = ("idempotent", "may_kill", "begun", "aborted", "timed_out", "dealt")
        stops = ("skipping", "draining", "killing", "stopped")
        return data.StructLayout(
            {
                **self.handed(),
                **self.prepared(),
                "ticket": TICKET_BITS,
                "base": COUNT_BITS,
                "mode": queue_packets.QUEUE_MODE_BITS,
                **dict.fromkeys(names + stops, 1),
            }
        )


def hit(one_hot: Any, bits: Any) -> Value:
    """Return the bit of ``bits`` that ``one_hot`` names; 0 if it names none."""
    found: Value = (Value.cast(one_hot) & Value.cast(bits)).any()
    return found


def one_of(choices: Iterable[tuple[Any, Any]]) -> Value:
    """Return the value whose select bit is 1; 0 if none is. At most one may be."""
    masked = [Value.cast(v) & Value.cast(s).replicate(len(Value.cast(v))) for s, v in choices]
    return reduce(or_, masked, C(0, 1) if not masked else masked[0])


def spread(bit: Any, bits: Any) -> Value:
    """Return the bits if ``bit`` is 1, else 0."""
    value = Value.cast(bits)
    return value & Value.cast(bit).replicate(len(value))


def any_of(bits: Iterable[Any]) -> Value:
    """Return the OR of values."""
    return reduce(or_, (Value.cast(bit) for bit in bits), C(0, 1))


def new_memory(m: Module, name: str, shape: Any, depth: int, *, block: bool = False) -> Any:
    """Add a memory and return it; ``block``: in block memory, even if it is small.

    No word is used that was read in the cycle in which it was written; so block memory needs
    nothing beside it for such a cycle.
    """
    attributes: Any = {"no_rw_check": 1, **({"ram_style": "block"} if block else {})}
    memory: Any = Memory(shape=shape, depth=depth, init=[], attrs=attributes)
    m.submodules[name] = memory
    return memory


def written(m: Module, memory: Any, address: Any, enable: Any, values: Mapping[str, Any]) -> None:
    """Write fields of a memory's word."""
    port = memory.write_port()
    m.d.comb += [port.addr.eq(address), port.en.eq(enable)]
    m.d.comb += [port.data[name].eq(value) for name, value in values.items()]


def read_later(m: Module, memory: Any, address: Any, enable: Any = 1) -> Any:
    """Return a memory's word in the cycle behind its address."""
    port = memory.read_port()
    m.d.comb += [port.addr.eq(address), port.en.eq(enable)]
    return port.data


def looked_up(m: Module, memory: Any, address: Any) -> Any:
    """Return a memory's word in the cycle of its address."""
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(address)
    return port.data
