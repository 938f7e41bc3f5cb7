"""KernelQueue's counts: accepted launches, timelines, and the waits of loaded heads."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value

from warploom.launch._queue_shapes import (
    COMPARED_BITS,
    QueueShape,
    any_of,
    hit,
    looked_up,
    new_memory,
    spread,
)
from warploom_spec.queue_packets import COUNT_BITS, WAIT_BITS


class AcceptedCounts:
    """How many launches each stream has accepted, in distributed memory.

    Attributes
    ----------
    enters, stream, number : Signal
        The stream of the launch at ``checked``, one bit each and its number; it is accepted.
    next_pairs : list
        Valid, stream and count of each pair of the launch that is at ``checked`` in the next cycle.
    next_number : Signal
        Its stream.
    end_number : Signal
        A stream of which a launch ends; its count is read as ``end_count``.
    count : Signal
        The count before the launch at ``checked``; ``following``: with it.
    ahead : Signal
        For each pair: it waits for a launch that was not accepted. ``high``: the bits of its count
        that it did not bring, in the cycle behind ``checked``.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        bits = shape.config.stream_bits
        self.enters = Signal()
        self.stream = Signal(shape.streams)
        self.number = Signal(bits)
        self.next_number = Signal(bits)
        self.next_pairs = [
            (Signal(), Signal(bits, name=f"pair_stream_{k}"), Signal(WAIT_BITS, name=f"pair_{k}"))
            for k in range(shape.waits)
        ]
        self.end_number = Signal(bits)
        self.end_count = Signal(COUNT_BITS)
        self.count = Signal(COUNT_BITS, name="accepted_count")
        self.following = Signal(COUNT_BITS)
        self.ahead = Signal(shape.waits)
        self.high = [
            Signal(COUNT_BITS - WAIT_BITS, name=f"pair_high_{k}") for k in range(shape.waits)
        ]

    def build(self, m: Module) -> None:
        """Add the memory."""
        shape = self._shape
        counts = new_memory(m, "accepted_counts", COUNT_BITS, shape.streams)
        counted = Signal(shape.streams)
        write = counts.write_port()
        m.d.comb += [
            self.count.eq(
                shape.counted(hit(self.stream, counted), looked_up(m, counts, self.number))
            ),
            self.following.eq(self.count + 1),
            write.addr.eq(self.number),
            write.data.eq(self.following),
            write.en.eq(self.enters),
            # A launch of the stream has been accepted: the count is known.
            self.end_count.eq(looked_up(m, counts, self.end_number)),
        ]
        m.d.sync += counted.eq(counted | spread(self.enters, self.stream))
        entered = Signal(name="accepted_before")
        m.d.sync += entered.eq(self.enters)
        for k in range(shape.waits):
            self._pair(m, k, counts, counted, entered)

    def _pair(self, m: Module, k: int, counts: Any, counted: Signal, entered: Signal) -> None:
        """Look a pair's stream up one cycle before its launch is at ``checked``.

        An acceptance in this cycle counts: it makes the count one more.
        """
        valid, number, count = self.next_pairs[k]
        known = counted.bit_select(number, 1)
        high = Signal.like(self.high[k], name=f"pair_accepted_high_{k}")
        distance = Signal(WAIT_BITS, name=f"pair_distance_{k}")
        same, is_valid, one_more = (Signal(name=f"pair_{n}_{k}") for n in ("same", "valid", "more"))
        borrow = Signal(name=f"pair_borrow_{k}")
        m.d.comb += one_more.eq(same & entered)
        now = Signal(COUNT_BITS, name=f"pair_accepted_now_{k}")
        m.d.comb += now.eq(self._shape.counted(known, looked_up(m, counts, number)))
        m.d.sync += [
            high.eq(now[WAIT_BITS:]),
            Cat(distance, borrow).eq(now[:WAIT_BITS] - count),
            same.eq(number == self.number),
            is_valid.eq(valid),
        ]
        # The top bit of the distance plus `one_more`.
        low_ones = Signal(name=f"pair_ones_{k}")
        m.d.comb += [
            low_ones.eq(one_more & distance[:-1].all()),
            self.ahead[k].eq(is_valid & (distance[-1] ^ low_ones)),
        ]
        # The count is the accepted one less the distance: its low bits are the pair's own. The
        # high ones fall with a borrow, and rise where a distance of all ones becomes 0.
        wraps = low_ones & distance[-1]
        change = Cat(wraps & ~borrow, (borrow & ~wraps).replicate(len(high)))
        m.d.sync += self.high[k].eq((Cat(C(1, 1), high) + change)[1:])


class Timelines:
    """Timelines, and whether each stream's head still waits.

    Attributes
    ----------
    changes, number, count : Signal
        The timeline of stream ``number`` becomes ``count`` at the end of this cycle.
    stream : Signal
        That stream, one bit each.
    next_pairs : list
        Stream and count of each pair of the launch that is at ``checked`` in the next cycle.
    reached : Signal
        For each pair of the launch at ``checked``: it is reached.
    heads : Any
        The waits of the head that a job looked at in the cycle before.
    loading : Signal
        Its stream, two cycles behind the look: the head is loaded in the next cycle.
    leaves : Signal
        Streams whose head leaves.
    loaded_after : Signal
        ``after_previous`` of the head that is loaded.
    over : Signal
        For each stream: its head waits for nothing. Registers.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.changes = Signal()
        self.number = Signal(shape.config.stream_bits)
        self.count = Signal(COUNT_BITS)
        self.stream = Signal(shape.streams)
        self.next_pairs = [
            (
                Signal(shape.config.stream_bits, name=f"next_pair_stream_{k}"),
                Signal(WAIT_BITS, name=f"next_pair_{k}"),
            )
            for k in range(shape.waits)
        ]
        self.reached = Signal(shape.waits, name="pairs_reached")
        self.heads: Any = Signal(shape.waiting())
        self.loading = Signal(shape.streams)
        self.leaves = Signal(shape.streams)
        self.loaded_after = Signal()
        self.over = Signal(shape.streams)

    def build(self, m: Module) -> None:
        """Add memories and the heads' pairs."""
        shape = self._shape
        timelines = new_memory(m, "timelines", COUNT_BITS, shape.streams) if shape.waits else None
        known = Signal(shape.streams, name="timeline_known")
        if timelines is not None:
            write = timelines.write_port()
            m.d.comb += [
                write.addr.eq(self.number),
                write.data.eq(self.count),
                write.en.eq(self.changes),
            ]
        m.d.sync += [
            known.eq(known | spread(self.changes, self.stream)),
            self.loaded_after.eq(self.heads.after_previous),
        ]
        for k in range(shape.waits):
            self._entering(m, k, timelines, known)
        pending = [self._pair(m, k, timelines, known) for k in range(shape.waits)]
        m.d.comb += self.over.eq(~any_of(pending) if pending else -1)

    def _now(self, m: Module, timelines: Any, known: Signal, number: Any) -> Value:
        """Return a stream's timeline in the next cycle."""
        shape = self._shape
        found = shape.counted(known.bit_select(number, 1), looked_up(m, timelines, number))
        now: Value = Mux(self.changes & (self.number == number), self.count, found)
        return now

    def _entering(self, m: Module, k: int, timelines: Any, known: Signal) -> None:
        """Say whether pair ``k`` of the launch at ``checked`` is reached.

        Accepted count and pair are nearer than half of the pair's counts, or it is refused.
        """
        number, count = self.next_pairs[k]
        timeline = Signal(WAIT_BITS, name=f"entering_timeline_{k}")
        its_count = Signal(WAIT_BITS, name=f"entering_count_{k}")
        its_stream = Signal.like(number, name=f"entering_stream_{k}")
        behind = Signal(WAIT_BITS, name=f"entering_behind_{k}")
        m.d.sync += [
            timeline.eq(self._now(m, timelines, known, number)[:WAIT_BITS]),
            its_count.eq(count),
            its_stream.eq(number),
        ]
        m.d.comb += [
            behind.eq(timeline - its_count),
            self.reached[k].eq(~behind[-1] | self._reaches(its_stream, its_count)),
        ]

    def _pair(self, m: Module, k: int, timelines: Any, known: Signal) -> Signal:
        """Keep pair ``k`` of each stream's head: whether it is waited for."""
        shape = self._shape
        number, count = self.heads[f"stream{k}"], self.heads[f"count{k}"]
        timeline = Signal(COUNT_BITS, name=f"loaded_timeline_{k}")
        loaded_count = Signal(COUNT_BITS, name=f"loaded_count_{k}")
        loaded_stream = Signal(shape.config.stream_bits, name=f"loaded_stream_{k}")
        valid, waits = Signal(name=f"loaded_valid_{k}"), Signal(name=f"loaded_waits_{k}")
        m.d.sync += [
            timeline.eq(self._now(m, timelines, known, number)),
            loaded_count.eq(count),
            loaded_stream.eq(number),
            valid.eq(self.heads[f"valid{k}"]),
        ]
        behind = Signal(COUNT_BITS, name=f"loaded_behind_{k}")
        m.d.comb += [
            behind.eq(timeline - loaded_count),
            waits.eq(valid & behind[-1] & ~self._reaches(loaded_stream, loaded_count)),
        ]
        pending = Signal(shape.streams, name=f"pair_pending_{k}")
        for s in range(shape.streams):
            its_stream = Signal.like(loaded_stream, name=f"waits_for_{k}_{s}")
            its_count = Signal(COMPARED_BITS, name=f"waits_count_{k}_{s}")
            with m.If(self.loading[s]):
                m.d.sync += [
                    its_stream.eq(loaded_stream),
                    its_count.eq(loaded_count),
                    pending[s].eq(waits),
                ]
            with m.Elif(self._reaches(its_stream, its_count) | self.leaves[s]):
                m.d.sync += pending[s].eq(0)
        return pending

    def _reaches(self, stream: Signal, count: Signal) -> Value:
        """Return whether the change in this cycle reaches a count."""
        distance = (self.count[:COMPARED_BITS] - count[:COMPARED_BITS])[:COMPARED_BITS]
        reached: Value = self.changes & (self.number == stream) & ~distance[-1]
        return reached


def waits_to_keep(
    pairs: list[tuple[Any, Any, Any]], high: list[Signal], after: Any
) -> dict[str, Any]:
    """Return the word of a launch's waits: valid and stream of each pair, and its count."""
    word: dict[str, Any] = {"after_previous": after}
    for k, (valid, stream, low) in enumerate(pairs):
        word[f"valid{k}"] = valid
        word[f"stream{k}"] = stream
        word[f"count{k}"] = Cat(low, high[k])
    return word


class StartedBases:
    """The number, less one, of started launches, in distributed memory.

    It is the timeline as soon as the launch is its stream's oldest.

    Attributes
    ----------
    begins, number, slot, base : Signal
        A launch of stream ``number`` begins, as its slot.
    read_number : Signal
        A stream; ``found``: for each slot the number, less one, of its launch.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        bits = shape.config.stream_bits
        self.begins, self.slot = Signal(name="base_enable"), Signal(name="base_slot")
        self.number, self.base = Signal(bits, name="base_number"), Signal(COUNT_BITS, name="base")
        self.read_number = Signal(bits)
        self.found = [Signal(COUNT_BITS, name=f"base_{k}") for k in range(2)]

    def build(self, m: Module) -> None:
        """Add the memory."""
        for k, found in enumerate(self.found):
            memory = new_memory(m, f"bases_{k}", COUNT_BITS, self._shape.streams)
            write = memory.write_port()
            m.d.comb += [
                write.addr.eq(self.number),
                write.data.eq(self.base),
                write.en.eq(self.begins & (self.slot if k else ~self.slot)),
                found.eq(looked_up(m, memory, self.read_number)),
            ]


class StartedEntries:
    """Entries of started launches, by slot and stream, in distributed memory.

    Attributes
    ----------
    begins, number, slot, entry : Signal
        A launch has begun.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        self.begins = Signal()
        self.number = Signal(shape.config.stream_bits)
        self.slot = Signal()
        self.entry = Signal(shape.entry_bits)
        self._memory: Any = None

    def build(self, m: Module) -> None:
        """Add the memory."""
        shape = self._shape
        self._memory = new_memory(m, "started_entries", shape.entry_bits, 2 * shape.streams)
        write = self._memory.write_port()
        m.d.comb += [
            write.addr.eq(Cat(self.number, self.slot)),
            write.data.eq(self.entry),
            write.en.eq(self.begins),
        ]

    def of(self, m: Module, number: Any, slot: Any) -> Value:
        """Return a started launch's entry."""
        found: Value = looked_up(m, self._memory, Cat(number, slot))
        return found
