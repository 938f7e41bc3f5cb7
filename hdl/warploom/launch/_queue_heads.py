"""KernelQueue's heads and boundaries of lists, in distributed memory."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from warploom.launch._queue_shapes import QueueShape, looked_up, new_memory, one_of

#: Who gives a list a new head: an acceptance, a begin, a job.
WRITERS = 3


class ListHeads:
    """Each list's head: a memory for each of its writers, of which the last one to write counts.

    Of two writers' words the first one's counts where their tags are equal: who writes makes its
    tag equal to the other's, or its opposite.

    Attributes
    ----------
    writes, number, entry : list
        For each writer: the list of stream ``number`` has a new head.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        writers = range(WRITERS)
        self.writes = [Signal(name=f"writes_{w}") for w in writers]
        self.number = [Signal(shape.config.stream_bits, name=f"number_{w}") for w in writers]
        self.entry = [Signal(shape.entry_bits, name=f"entry_{w}") for w in writers]
        self._memories: list[Any] = []

    def build(self, m: Module) -> None:
        """Add the memories."""
        for w in range(WRITERS):
            tags = {f"tag_{other}": 1 for other in range(WRITERS) if other != w}
            layout = data.StructLayout({**tags, "entry": self._shape.entry_bits})
            self._memories.append(new_memory(m, f"heads_{w}", layout, self._shape.streams))
        for w, memory in enumerate(self._memories):
            write = memory.write_port()
            m.d.comb += [
                write.addr.eq(self.number[w]),
                write.en.eq(self.writes[w]),
                write.data.entry.eq(self.entry[w]),
            ]
            for other, its in enumerate(self._memories):
                if other != w:
                    tag = looked_up(m, its, self.number[w])[f"tag_{w}"]
                    m.d.comb += write.data[f"tag_{other}"].eq(tag if w < other else ~tag)

    def of(self, m: Module, number: Any) -> Value:
        """Return the head of a stream's list."""
        words = [looked_up(m, memory, number) for memory in self._memories]
        pairs = [(a, b) for b in range(WRITERS) for a in range(b)]
        first = {(a, b): words[a][f"tag_{b}"] == words[b][f"tag_{a}"] for a, b in pairs}
        last = [first[0, 1] & first[0, 2], ~first[0, 1] & first[1, 2], None]
        last[2] = ~first[0, 2] & ~first[1, 2]
        found: Value = one_of(zip(last, (word.entry for word in words), strict=True))
        return found


class Boundaries:
    """Whether a launch that leaves its list is the last one that ABORT_STREAMS met.

    While nothing was accepted since, that is the list's last launch. Else its entry was kept at
    the next acceptance.

    Attributes
    ----------
    keeps, number, entry : Signal
        A launch is accepted behind ``entry``, which may be the boundary.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.keeps = Signal()
        self.number = Signal(shape.config.stream_bits)
        self.entry = Signal(shape.entry_bits)
        self._memory: Any = None

    def build(self, m: Module) -> None:
        """Add the memory."""
        self._memory = new_memory(m, "boundaries", self._shape.entry_bits, self._shape.streams)
        write = self._memory.write_port()
        m.d.comb += [
            write.addr.eq(self.number),
            write.en.eq(self.keeps),
            write.data.eq(self.entry),
        ]

    def meets(self, m: Module, number: Any, entry: Any, at_tail: Any, single: Any) -> Value:
        """Return whether a boundary, if there is one, is the launch that leaves.

        Parameters
        ----------
        m : Module
            Gets the memory's port.
        number, entry : Value
            The stream, and the launch.
        at_tail, single : Value
            Its list's last launch is the boundary; the list has one launch.
        """
        kept = looked_up(m, self._memory, number)
        found: Value = Mux(at_tail, single, kept == entry)
        return found
