"""Pairs of launches: what they wait for, and which launch follows in the list."""

from typing import Any

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warploom.launch.queue_engine import steps
from warploom.launch.stream_rows import head_layout
from warploom.lib.rows import Rows
from warploom_spec import Config, queue_packets
from warploom_spec.resident_packets import resident_entry_bits

_COUNT: int = queue_packets.WAIT_BITS
_WHOLE: int = queue_packets.COUNT_BITS


def pair_layout(config: Config) -> data.StructLayout:
    """Return a pair as a launch brings it."""
    fields = {"valid": 1, "stream": config.stream_bits, "count": _COUNT}
    return data.StructLayout(fields | ({"relative": 1} if config.has_loops else {}))


def kept_layout(config: Config) -> data.StructLayout:
    """Return a pair as it is kept; the first one's `dead` says that the launch was aborted."""
    return data.StructLayout({"dead": 1, "valid": 1, "stream": config.stream_bits, "count": _WHOLE})


class LaunchPairs(wiring.Component):
    """Keep pairs and links of all entries in block memory, and compare a pair a cycle.

    Rules 10, 11 and 17 of ``docs/launch/kernel_queue.md``. A launch's pairs are compared in the
    steps 1 to W, a head's in the steps 2 to W + 1; the verdicts stand in the last step.

    Parameters
    ----------
    config : Config
        ``launch_waits`` and the widths of entries and streams.
    """

    comes: Signal
    has_pair: Signal
    accepting: Signal
    looking: Signal
    step: Signal
    stream: Signal
    entry: Signal
    links: Signal
    tail: Signal
    dies: Signal
    dead_entry: Signal
    asked: Signal
    accepted_now: Signal
    timeline_now: Signal
    waiters_now: Signal
    unreached: Signal
    awaited: Signal
    awaited_row: Signal
    ahead: Signal
    ahead_pair: Signal
    dead: Signal

    def __init__(self, config: Config) -> None:
        self._config = config
        # Words of an entry: its pairs, and the link behind them.
        self._pairs = max(1, config.launch_waits)
        self._word_bits = self._pairs.bit_length()
        entry, stream = resident_entry_bits(config), config.stream_bits
        head = head_layout(config)
        super().__init__(
            {
                # A launch comes into the inbox with these pairs.
                "comes": In(1),
                "pairs": In(pair_layout(config)).array(config.launch_waits),
                # The launch in the inbox has a pair. A register, as all outputs but `asked`.
                "has_pair": Out(1),
                # An ACCEPT or a LOOK is served; its step, its stream.
                "accepting": In(1),
                "looking": In(1),
                "step": In(steps(config)),
                "stream": In(stream),
                # The inbox's entry; the head in step 0, and behind it.
                "entry": In(entry),
                "head_now": In(head),
                "head": In(head),
                # The launch in the inbox is linked behind the tail.
                "links": In(1),
                "tail": In(entry),
                # A waiting launch is aborted.
                "dies": In(1),
                "dead_entry": In(entry),
                # Whose counts are asked for, and what they are in this cycle.
                "asked": Out(stream),
                "accepted_now": In(_COUNT),
                "timeline_now": In(_WHOLE),
                "waiters_now": In(1 << stream),
                # A pair is not reached; the first such one's stream, and its row of waiters.
                "unreached": Out(1),
                "awaited": Out(stream),
                "awaited_row": Out(1 << stream),
                # The first pair that is ahead of its stream.
                "ahead": Out(1),
                "ahead_pair": Out(range(self._pairs)),
                # The head is dead; the launch behind it.
                "dead": Out(1),
                "link": Out(head),
            }
        )

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        ports: Any = self
        waits = self._config.launch_waits
        inbox = Signal(data.ArrayLayout(pair_layout(self._config), self._pairs), name="inbox")
        with m.If(self.comes):
            m.d.sync += [
                *(inbox[k].eq(ports.pairs[k]) for k in range(waits)),
                self.has_pair.eq(Cat(ports.pairs[k].valid for k in range(waits)).any()),
            ]
        with m.Elif(self.accepting & ~self.step[0]):
            m.d.sync += [inbox[k].eq(inbox[k + 1]) for k in range(waits - 1)]

        comparing = Signal()
        m.d.comb += comparing.eq(
            (self.accepting & self.has_pair & self.step[1 : 1 + waits].any())
            | (self.looking & ~ports.head.plain & self.step[2 : 2 + waits].any())
        )
        kept = Signal(kept_layout(self._config), name="kept", reset_less=True)
        pair = Signal(kept_layout(self._config), name="pair")
        m.d.comb += pair.eq(kept)
        with m.If(self.accepting):
            m.d.comb += [
                pair.valid.eq(inbox[0].valid),
                pair.stream.eq(inbox[0].stream),
                pair.count.eq(inbox[0].count),
            ]
        m.d.comb += self.asked.eq(Mux(self.step[0], self.stream, pair.stream))
        # Of the cycle before: a pair's number, stream and count, and its stream's timeline. Of a
        # launch that is accepted only the count's low bits are known.
        self._compared = Signal.like(self.ahead_pair, name="compared")
        count = Signal(_WHOLE, name="count")
        timeline = Signal(_WHOLE, name="timeline")
        stream = Signal.like(self.awaited, name="of")
        m.d.sync += [
            count.eq(Cat(self._low_count(m, pair, inbox[0]), pair.count[_COUNT:])),
            timeline.eq(self.timeline_now),
            stream.eq(pair.stream),
        ]
        behind = self._compare(m, pair, comparing, stream, (timeline - count)[:_WHOLE])
        kept_pair = Cat(stream, _whole(count[:_COUNT], timeline))
        out = self._memory(m, comparing, behind, kept_pair)
        # No gate stands between a block memory and a register.
        m.d.sync += kept.as_value().eq(out[: len(kept.as_value())])
        with m.If(self.step[1]):
            m.d.sync += self.dead.eq(out[0])
        with m.If(Mux(self.looking, self.step[self._pairs + 1], self.step[1])):
            m.d.sync += ports.link.as_value().eq(out[: len(ports.link.as_value())])
        return m

    def _low_count(self, m: Module, pair: Any, first: Any) -> Value:
        """Return the low bits of the awaited launch's count; keep whether it is ahead.

        A relative pair says how many launches before its stream's latest one it is.
        """
        count: Value = pair.count[:_COUNT]
        distance = Value.cast(self.accepted_now - count)[:_COUNT]
        self._is_ahead = distance[-1]
        if not self._config.has_loops:
            return count
        low = Signal(_COUNT, name="low_count")
        m.d.comb += low.eq(Mux(self.accepting & first.relative, distance, count))
        self._is_ahead = Mux(first.relative, count[-1], distance[-1])
        return low

    def _compare(
        self, m: Module, pair: Any, comparing: Signal, stream: Signal, away: Value
    ) -> Signal:
        """Compare a pair; return whether that of the cycle before is not reached.

        ``stream`` is that one's; ``away`` is how far its timeline is beyond it.
        """
        asks, behind = Signal(name="asks"), Signal(name="behind")
        near, far = away[_COUNT - 1], away[_WHOLE - 1]
        row = Signal.like(self.waiters_now, name="row")
        number = Signal.like(self.ahead_pair, name="number")
        was_ahead = Signal()
        m.d.sync += [
            was_ahead.eq(self._is_ahead),
            self._compared.eq(number),
            asks.eq(comparing & pair.valid),
            row.eq(self.waiters_now),
        ]
        m.d.comb += behind.eq(asks & Mux(self.accepting, near, far))
        with m.If(self.step[0]):
            m.d.sync += [self.unreached.eq(0), self.ahead.eq(0), number.eq(0)]
        with m.Else():
            with m.If(comparing):
                m.d.sync += number.eq(number + 1)
            with m.If(self.accepting & asks & was_ahead & ~self.ahead):
                m.d.sync += [self.ahead.eq(1), self.ahead_pair.eq(self._compared)]
            with m.If(behind & ~self.unreached):
                m.d.sync += [
                    self.unreached.eq(1),
                    self.awaited.eq(stream),
                    self.awaited_row.eq(row),
                ]
        return behind

    def _memory(self, m: Module, comparing: Signal, behind: Signal, kept: Value) -> Value:
        """Write pairs, links and the marks of dead launches; return what is read.

        ``kept`` are stream and count of the pair of the cycle before.
        """
        ports: Any = self
        bits, link = self._word_bits, self._pairs
        widths = (kept_layout(self._config).size, head_layout(self._config).size)
        memory = Rows(m, "pairs", max(widths), 1 << bits << len(self.entry), block=True)
        word = Signal(bits, name="word_read")
        m.d.comb += word.eq(link)
        for k in range(self._pairs):
            with m.If(self.looking & self.step[k]):
                m.d.comb += word.eq(k)
        out = memory.later(Cat(word, Mux(self.step[0], ports.head_now.entry, ports.head.entry)))

        # A pair is written a cycle after it was compared.
        keeps = Signal(name="keeps")
        m.d.sync += keeps.eq(self.accepting & comparing)
        written = Signal(max(widths), name="written")
        address = Signal(bits + len(self.entry), name="written_address")
        m.d.comb += [
            address.eq(Cat((self._compared & keeps.replicate(bits))[:bits], self.entry)),
            written.eq(Cat(C(0, 1), behind & keeps, kept)),
        ]
        # Of a link, and of a pair that does not count, the other bits mean nothing.
        low = written[: widths[1]]
        with m.If(self.dies):
            m.d.comb += [address.eq(Cat(C(0, bits), self.dead_entry)), low.eq(1)]
        with m.Elif(self.links):
            m.d.comb += [
                address.eq(Cat(C(link, bits), self.tail)),
                low.eq(Cat(self.entry, ~self.unreached)),
            ]
        memory.write(
            (self.accepting & self.step[0]) | keeps | self.links | self.dies, address, written
        )
        return out


def _whole(count: Value, timeline: Value) -> Value:
    """Return the count with these low bits that lies behind a timeline, or shortly before it."""
    wraps = timeline[_COUNT - 1] & ~count[_COUNT - 1]
    return Cat(count, (timeline[_COUNT:] + wraps)[: _WHOLE - _COUNT])
