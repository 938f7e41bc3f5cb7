"""KernelQueue's entries: free ones, and the memories of their launches."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from warploom.launch._queue_shapes import (
    QueueShape,
    any_of,
    looked_up,
    new_memory,
    read_later,
    spread,
    written,
)
from warploom.lib.bits import decoded, lowest_number, number_of
from warploom_spec import layouts


class FreeEntries:
    """Which entries are taken, and the lowest free one of a priority.

    Attributes
    ----------
    priority : Signal
        A priority, one bit each; ``entry``: its lowest free entry, ``full``: it has none.
    accept : Signal
        ``entry`` is taken at the end of this cycle.
    freed, freed_entry : Signal
        An entry becomes free at the end of this cycle.
    ends, ends_entry : Signal
        A launch has ended in the list from the next cycle on.
    taken, ended : Signal
        One bit an entry: registers.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        entries, bits = shape.entries, shape.entry_bits
        self.priority = Signal(shape.priorities, name="free_priority")
        self.accept, self.freed, self.ends = (
            Signal(name="accept"),
            Signal(name="freed"),
            Signal(name="ends"),
        )
        self.entry, self.freed_entry = Signal(bits, name="entry"), Signal(bits, name="freed_entry")
        self.ends_entry = Signal(bits, name="ends_entry")
        self.taken = Signal(entries, name="taken")
        self.ended = Signal(entries, name="ended_in_list")
        self.full = Signal(name="priority_full")

    def build(self, m: Module) -> None:
        """Add the registers' changes."""
        shape, depth = self._shape, self._shape.depth
        freed = decoded(m, "freed_is", self.freed_entry, shape.entries, self.freed)
        enters = decoded(m, "enters_is", self.entry, shape.entries, self.accept)
        ends = decoded(m, "ends_is", self.ends_entry, shape.entries, self.ends)
        m.d.sync += [
            self.taken.eq((self.taken | enters) & ~freed),
            # An entry is not taken for a cycle at least before it is taken anew.
            self.ended.eq((self.ended | ends) & self.taken),
        ]
        free = Signal(depth, name="free_of_priority")
        rows = [~self.taken[p * depth : (p + 1) * depth] for p in range(shape.priorities)]
        row_bits = (depth - 1).bit_length()
        m.d.comb += [
            free.eq(any_of(spread(self.priority[p], row) for p, row in enumerate(rows))),
            self.full.eq(any_of(self.priority[p] & ~row.any() for p, row in enumerate(rows))),
            self.entry.eq(Cat(lowest_number(free)[:row_bits], number_of(self.priority))),
        ]

    def read(self, bits: Any, entry: Any) -> Value:
        """Return an entry's bit."""
        found: Value = bits.bit_select(entry, 1)
        return found

    def ended_next(self, entry: Any) -> Value:
        """Return whether a launch has ended in the list, or does so in this cycle."""
        ends_here = self.ends & (self.ends_entry == entry)
        found: Value = self.read(self.ended, entry) | ends_here
        return found


class EntryMemories:
    """Memories by entry, each with one read port; read one cycle after the address.

    Attributes
    ----------
    arrives, entry, body, accepted_at : Signal
        A launch enters at the end of this cycle, or is refused though there is a free entry.
    line_empty : Signal
        No launch is in the line.
    stage_entry, front_entry : Signal
        Addresses of the body, where the line is empty and else. ``moves``: the stage's launch
        enters the line.
    request_entry, search_entry, record_entry, waits_entry : Signal
        Addresses.
    searched : Signal
        An entry; ``search_number``: the stream of its launch, in the same cycle.
    comes_back, back_entry, progress : Signal
        Progress to keep. ``start_moves``: where the launch goes on changes, or its kills.
    front, front_progress, last_ticket, last_progress, request, search, record
        Words that were read; ``last``: of the launch that entered the line last.
    record_start, record_history
        Words at the address of ``record``: where the launch goes on, and the rest.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        bits = shape.entry_bits
        self.arrives, self.comes_back = Signal(name="arrives"), Signal(name="comes_back")
        self.start_moves = Signal()
        self.line_empty, self.moves = Signal(name="line_empty"), Signal(name="moves")
        self.entry, self.back_entry = Signal(bits, name="entry"), Signal(bits, name="back_entry")
        self.stage_entry, self.front_entry = (
            Signal(bits, name="stage_entry"),
            Signal(bits, name="front_entry"),
        )
        self.request_entry, self.search_entry = (
            Signal(bits, name="request_entry"),
            Signal(bits, name="search_entry"),
        )
        self.searched = Signal(bits)
        self.search_number = Signal(shape.config.stream_bits)
        self.record_entry = Signal(bits)
        self.body: Any = Signal(shape.body())
        self.accepted_at = Signal(32)
        self.progress: Any = Signal(shape.progress())
        self.front: Any = None
        self.front_progress: Any = None
        self.last_ticket: Any = None
        self.last_progress: Any = None
        self.request: Any = None
        self.search: Any = None
        self.record: Any = None
        self.record_start: Any = None
        self.record_history: Any = None

    def build(self, m: Module) -> None:
        """Add the memories."""
        shape = self._shape
        front = Signal(shape.entry_bits)
        m.d.comb += front.eq(Mux(self.line_empty, self.stage_entry, self.front_entry))
        names = self.body.shape().members
        body = {name: self.body[name] for name in names}
        self.front = self._accepted(m, "bodies", body, front)
        ticket = {"ticket": body["ticket"]}
        self.last_ticket = self._accepted(m, "last_tickets", ticket, self.stage_entry, self.moves)
        self.search = self._accepted(m, "search_tickets", ticket, self.search_entry)
        numbers = new_memory(m, "search_numbers", len(self.body.stream), shape.entries)
        write = numbers.write_port()
        m.d.comb += [
            write.addr.eq(self.entry),
            write.en.eq(self.arrives),
            write.data.eq(body["stream"]),
            self.search_number.eq(looked_up(m, numbers, self.searched)),
        ]
        record = {**ticket, "accepted": self.accepted_at}
        self.record = self._accepted(m, "record_tickets", record, self.record_entry)
        if shape.config.makes_indices:
            config = layouts.index_config(shape.config)
            wanted = {f.name: self._index_field(body, f.name, f.bits) for f in config.present}
            self.request = self._accepted(m, "index_configs", wanted, self.request_entry)
        start, history = [*shape.start()], [*shape.history().members]
        moved = self.comes_back & self.start_moves
        # The number is read for the dispatcher alone.
        fronts = [*shape.resumed(), "kills"]
        self.front_progress = self._back(m, "front_starts", fronts, moved, front)
        self.last_progress = self._back(
            m, "last_starts", start, moved, self.stage_entry, self.moves
        )
        self.record_start = self._back(m, "record_starts", start, moved, self.record_entry)
        self.record_history = self._back(
            m, "histories", history, self.comes_back, self.record_entry
        )

    def _index_field(self, body: dict[str, Any], name: str, bits: int) -> Value:
        """Return a field of the index configuration; no launch has an index of thread W."""
        found = body.get("index_address" if name == "address" else name)
        return C(0, bits) if found is None else Value.cast(found)

    def _accepted(
        self, m: Module, name: str, values: dict[str, Any], address: Any, enable: Any = 1
    ) -> Any:
        """Add a memory that is written at the acceptance."""
        layout = data.StructLayout({key: len(Value.cast(v)) for key, v in values.items()})
        memory = new_memory(m, name, layout, self._shape.entries, block=self._shape.entries > 16)
        # A launch that is refused leaves its words in a free entry.
        written(m, memory, self.entry, self.arrives, values)
        return read_later(m, memory, address, enable)

    def _back(
        self, m: Module, name: str, fields: list[str], writes: Value, address: Any, enable: Any = 1
    ) -> Any:
        """Add a memory that is written when a launch is put back."""
        values = {key: self.progress[key] for key in fields}
        layout = data.StructLayout({key: len(Value.cast(v)) for key, v in values.items()})
        memory = new_memory(m, name, layout, self._shape.entries, block=self._shape.entries > 16)
        written(m, memory, self.back_entry, writes, values)
        return read_later(m, memory, address, enable)


class NextEntries:
    """For each entry the next one of its stream's list, in distributed memory.

    Attributes
    ----------
    accept, entry, number : Signal
        A launch enters the list of stream ``number`` at the end of this cycle.
    not_empty : Signal
        The list has a launch.
    tail : Signal
        Its last launch before.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.accept, self.not_empty = Signal(name="accept"), Signal(name="not_empty")
        self.entry = Signal(shape.entry_bits)
        self.number = Signal(shape.config.stream_bits)
        self.tail = Signal(shape.entry_bits)
        self._next: Any = None

    def build(self, m: Module) -> None:
        """Add the memories of tails and of next entries."""
        shape = self._shape
        tails = new_memory(m, "tails", shape.entry_bits, shape.streams)
        write = tails.write_port()
        self._next = new_memory(m, "next_entries", shape.entry_bits, shape.entries)
        link = self._next.write_port()
        m.d.comb += [
            write.addr.eq(self.number),
            write.data.eq(self.entry),
            write.en.eq(self.accept),
            self.tail.eq(looked_up(m, tails, self.number)),
            link.addr.eq(self.tail),
            link.data.eq(self.entry),
            link.en.eq(self.accept & self.not_empty),
        ]

    def after(self, m: Module, entry: Any) -> Value:
        """Return the entry behind another one."""
        found: Value = looked_up(m, self._next, entry)
        return found
