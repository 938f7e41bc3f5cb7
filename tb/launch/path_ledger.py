"""LaunchPath's books, kept from its ports alone.

Exactly one record for each ticket, each block in effect once, waits and the order of streams kept.
"""

from tb.launch.path_blocks import Blocks, Run
from tb.launch.path_entry import Entry
from tb.launch.queue_books import COUNTS, Firsts, step_timeline, waits_of
from warploom_spec import Config, Fate, layouts, queue_packets
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import (
    MAX_KILLS,
    MODE_WORD,
    QueueOpcode,
)
from warploom_spec.timing import timing

CLOCKS, TIMES = 1 << 64, (1 << 32) - 1
#: Cycles from a PREEMPT of a stream after which none of its blocks is offered: its stop is two
#: cycles late, counts two cycles after that, and a block decided then is offered two cycles later.
#: A launch that yields may have been skipped in vain before: five cycles more.
STILL_OFFERED = 11


class PathLedger(Firsts):
    """Raises AssertionError where what the ports say cannot be right.

    Parameters
    ----------
    config : Config
        The machine.

    Attributes
    ----------
    first_number : int
        LaunchPath's parameter.
    """

    first_number = 0

    def __init__(self, config: Config):
        self.config = config
        self._launch = queue_packets.queued_launch(config)
        self._answer = queue_packets.queue_answer(config)
        self._command = queue_packets.queue_command(config)
        self._code = queue_packets.queue_code(config)
        self._final = queue_packets.final_record(config)
        self._words = queue_packets.final_record_words(config)
        self._back = queue_packets.put_back(config)
        self._step = queue_packets.timeline_step(config)
        self._delay = timing(config).launch_check + 1
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.entries: dict[int, Entry] = {}
        self.streams: dict[int, list[Entry]] = {}
        self.timelines: dict[int, int] = {}
        self.blocks = Blocks(self.config)
        self._ticket: int | None = None
        self._clock: int | None = None
        self._last_offer: tuple[Entry, Run] | None = None
        # Launches that transferred, with the cycle, and whether `room` promised them an entry.
        self._sent: list[tuple[int, bool, dict[str, int]]] = []
        self._commanded: dict[str, int] | None = None
        self._named: int | None = None
        self._preempts = 0
        self.held: dict[int, int] = {}
        self._made: list[int] = []
        self._shown = self._oldest = 0
        self._limited_until = -1
        self._soft = False
        self.cycle = -1

    def see(self, cycle: int, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        """Take in a cycle."""
        del cycle
        self.cycle += 1
        self._see_clock(outputs)
        self._see_answer(outputs)
        self._see_record(outputs)
        self._see_put_back(outputs)
        self._see_timeline(outputs)
        self._see_command(inputs, outputs)
        self._see_abort(inputs, outputs)
        for ticket, fields, run in self.blocks.see(self.cycle, inputs, outputs):
            self._offer(ticket, fields, run)
        self._see_oldest(outputs)
        if inputs["launch__valid"]:
            launch = self._launch.unpack(inputs["launch__payload"])
            promised = bool(outputs["room"] >> launch["priority"] & 1)
            self._sent.append((self.cycle, promised, launch))
        if inputs["launch_timeout"]:
            self._limited_until = self.cycle + 1
        self._soft |= bool(inputs["soft_reset_active"])
        if outputs["idle"]:
            self._see_idle()
        if self._soft:
            for entry in self.entries.values():
                entry.asked |= entry.record is None
            # Until a cycle after it a launch may be accepted, and then be met.
            self._soft = bool(inputs["soft_reset_active"]) or any(
                sent > self.cycle - self._delay for sent, _, _ in self._sent
            )
        if inputs["restart"]:
            self._restart()

    def _see_clock(self, outputs: dict[str, int]) -> None:
        clock = outputs["clock"]
        assert self._clock is None or clock == (self._clock + 1) % CLOCKS, "clock"
        self._clock = clock

    def _time(self, back: int = 0) -> int:
        """Return the low half of the clock, so many cycles ago."""
        assert self._clock is not None
        return (self._clock - back) & TIMES

    # Acceptance

    def _see_answer(self, outputs: dict[str, int]) -> None:
        due = bool(self._sent) and self._sent[0][0] == self.cycle - self._delay
        assert bool(outputs["answer"]) == due, "an answer, and the launch six cycles before"
        if not due:
            return
        answer = self._answer.unpack(outputs["answer"])
        _, promised, launch = self._sent.pop(0)
        if promised:
            full = ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL
            assert answer["code"] not in full, "room was 1, and there was none"
        if answer["code"]:
            self.refused(answer, launch)
            return
        assert launch["mode"] <= Mode.YIELD, f"mode {launch['mode']} is accepted"
        self._accept(launch, answer)

    def refused(self, answer: dict[str, int], launch: dict[str, int]) -> None:
        """Check a refusal."""
        assert not answer["ticket"] and not answer["count"], "a refused launch has a ticket"
        if answer["code"] == HostError.FIELD_RANGE:
            assert launch["mode"] > Mode.YIELD and answer["argument"] == MODE_WORD

    def _accept(self, fields: dict[str, int], answer: dict[str, int]) -> None:
        ticket = answer["ticket"]
        if self._ticket is not None:
            expected = self.follow(self._ticket)
            assert ticket == expected, f"ticket {ticket}; expected {expected}"
        self._ticket = ticket
        stream = self.streams.setdefault(fields["stream"], [])
        pairs, first = self.config.launch_waits, self.first_count
        waits = waits_of(fields, pairs, self.streams, ticket, first)
        entry = Entry(ticket, fields, len(stream) + 1, self._time(1), waits)
        assert answer["count"] == (first + entry.number) % COUNTS, f"count of {ticket}"
        priorities = {one.fields["priority"] for one in stream if one.record is None}
        assert priorities <= {fields["priority"]}, f"two priorities of stream {entry.stream}"
        stream.append(entry)
        self.entries[ticket] = entry

    # Records

    def _see_record(self, outputs: dict[str, int]) -> None:
        if not outputs["record"]:
            return
        record = self._final.unpack(outputs["record"])
        fields = {name: value for name, value in record.items() if name != "valid"}
        words = self._words.pack(fields)
        self._made.append(sum(word << 32 * k for k, word in enumerate(words)))
        assert record["made"] == self._time(1), "when a record was made"
        if record["kind"] == RecordKind.PREEMPT:
            self._preempts -= 1
            assert self._preempts == 0, "a record of no PREEMPT"
            return
        entry = self.entries[record["ticket"]]
        where = f"record of {entry.ticket}"
        assert entry.record is None, f"{where}: a second one"
        entry.record = record
        assert record["stream"] == entry.stream, where
        assert record["accepted"] == entry.accepted, f"{where}: accepted"
        assert record["kills"] == min(entry.kills, 7), f"{where}: kills"
        assert record["offered"] == entry.begun, f"{where}: offered"
        run = entry.run
        if run is not None:
            assert record["first_offer"] == run.first_clock & TIMES, f"{where}: first offer"
            assert record["word2"] == run.cycles() & TIMES, f"{where}: cycles {run}"
        self._judge(entry, record, where)
        self._leave(entry)

    def _judge(self, entry: Entry, record: dict[str, int], where: str) -> None:
        """Check a launch's fate against its blocks."""
        fate, run = record["fate"], entry.run
        out = 0 if run is None else run.out
        assert not out, f"{where}: {out} blocks are out"
        ran = entry.done
        if run is not None and entry.resident:
            ran += run.offered
        if fate == FinalFate.FINISHED:
            assert ran == entry.blocks, f"{where}: {ran} of {entry.blocks} blocks ran"
            assert run is not None and run.ok == run.offered, f"{where}: {run}"
        elif fate == FinalFate.ABORTED:
            assert entry.asked, f"{where}: nobody aborted it"
        elif record["code"] == QueueCode.TIMEOUT:
            assert self._limited_until >= 0, f"{where}: there was no limit"
        elif record["code"] == ErrorCode.BLOCK_FAULT:
            assert run is not None and run.faults, f"{where}: no block failed"
        elif record["code"] == ErrorCode.SM_LOST:
            assert run is not None and run.lost, f"{where}: no block was lost"
        else:
            assert record["code"] in (ErrorCode.STREAM_BROKEN, ErrorCode.NO_SM), where

    def _see_put_back(self, outputs: dict[str, int]) -> None:
        if not outputs["put_back"]:
            return
        back = self._back.unpack(outputs["put_back"])
        entry = self.entries[back["ticket"]]
        where = f"{entry.ticket} is put back"
        assert entry.record is None, f"{where} after its end"
        following = entry.linear((back["next_x"], back["next_y"], back["next_z"]))
        run = entry.run if entry.resident else None
        assert run is None or not run.out, f"{where}: blocks are out"
        fate, idempotent = back["fate"], entry.fields["idempotent"]
        if fate == Fate.KILLED:
            assert run is not None and following == 0, where
            # An ABORT or a time-out kills in every mode, but then it is not put back.
            may = idempotent and entry.mode in (Mode.AUTO, Mode.RESET)
            assert may and entry.kills < MAX_KILLS, f"{where}: killed in mode {entry.mode}"
            entry.kills += 1
            entry.done = 0
        elif fate == Fate.DRAINED:
            assert run is not None and run.ok == run.offered, f"{where}: torn, {run}"
            assert entry.mode != Mode.WAIT, f"{where}: drained"
            entry.done += run.offered
            assert following == entry.done < entry.blocks, f"{where}: next {following}"
        else:
            assert fate == Fate.SKIPPED and run is None, f"{where}: it has begun"
            assert following == entry.done, f"{where}: next {following}"
        self._leave(entry)

    def _leave(self, entry: Entry) -> None:
        """Let a launch leave its place; its next block begins another residence."""
        entry.resident = False
        if entry.run is not None:
            entry.run.over = True

    def _see_oldest(self, outputs: dict[str, int]) -> None:
        """The host sees the records in their order, each for a cycle at least."""
        oldest = outputs["oldest"]
        if oldest and oldest != self._oldest:
            assert self._shown < len(self._made), "a record of nothing"
            assert oldest == self._made[self._shown], "the records' order"
            self._shown += 1
        self._oldest = oldest
        unread = len(self._made) - self._shown + bool(oldest)
        # One that came in this cycle or the one before is not counted yet.
        assert unread - 2 <= outputs["records"] <= unread, "records"
        assert outputs["records"] <= self.config.records

    # Order

    def _see_timeline(self, outputs: dict[str, int]) -> None:
        if not outputs["timeline"]:
            return
        step = self._step.unpack(outputs["timeline"])
        step_timeline(step, self.streams, self.timelines, self.first_count)

    def _offer(self, ticket: int, fields: dict[str, int], run: Run) -> None:
        """Check a block in the first cycle of its offer."""
        entry = self.entries[ticket]
        where = f"a block of {ticket}"
        assert entry.record is None, f"{where} after its record"
        if run is not entry.run:
            assert not entry.resident, f"{where}: it is in two places"
            entry.run, entry.resident = run, True
            run.first_clock = self._clock or 0
            self.began(entry, run)
        block = entry.linear((fields["bx"], fields["by"], fields["bz"]))
        want = entry.done + run.offered - 1
        assert block == want, f"{where}: {block}; its next one is {want}"
        number = fields["block_number"]
        numbered = (self.first_number + block) % (1 << layouts.BLOCK_NUMBER_BITS)
        assert number == numbered, f"{where}: {block} is {number}"
        self._see_turns(entry, run)
        since = self.held.get(entry.stream)
        if since is not None and self.cycle > since + STILL_OFFERED:
            assert entry.mode == Mode.WAIT, f"{where}: its stream is held"

    def _see_turns(self, entry: Entry, run: Run) -> None:
        """Check that another launch's blocks come between two of this one only if it yields."""
        before = self._last_offer
        self._last_offer = entry, run
        if run.offered == 1 or before is None or before[1] is run:
            return
        other = before[0]
        higher = other.fields["priority"] > entry.fields["priority"]
        yields = entry.mode == Mode.YIELD and higher
        assert yields, f"blocks of {other.ticket} come between those of {entry.ticket}"
        self.yielded(entry)

    def yielded(self, entry: Entry) -> None:
        """Take in that a launch goes on after it yielded."""

    def began(self, entry: Entry, run: Run) -> None:
        """Check what must have ended before a launch's first block, or its first one again."""
        del run
        for stream, count in entry.waits:
            for awaited in self.streams.get(stream, [])[: max(0, count)]:
                assert awaited.record is not None, f"{entry.ticket} did not wait: {awaited.ticket}"
        if entry.begun:
            return
        entry.begun = True
        alone = entry.fields["after_previous"]
        for earlier in self.streams[entry.stream][: entry.number - 1]:
            ended = earlier.record is not None
            assert ended or earlier.begun, f"{entry.ticket} overtakes {earlier.ticket}"
            assert ended or not alone, f"{entry.ticket} began before {earlier.ticket} ended"
        alive = [one for one in self.streams[entry.stream] if one.begun and one.record is None]
        assert len(alive) <= 2, f"{len(alive)} started launches of stream {entry.stream}"

    # Commands

    def _see_command(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        commanded = self._commanded
        assert bool(outputs["command_answer"]) == (commanded is not None), "command_answer"
        if commanded is not None:
            code = self._code.unpack(outputs["command_answer"])["code"]
            self.commanded(commanded, code)
        self._commanded = None
        if self._command.unpack(inputs["command"])["valid"] and not inputs["restart"]:
            self._commanded = self._command.unpack(inputs["command"])

    def commanded(self, command: dict[str, int], code: int) -> None:
        """Take in a command of the cycle before, with its answer."""
        streams = [s for s in range(1 << self.config.stream_bits) if command["mask"] >> s & 1]
        if code:
            return
        if command["opcode"] == QueueOpcode.PREEMPT:
            self._preempts += 1
            assert self._preempts == 1, "two PREEMPTs"
            for stream in streams:
                self.held.setdefault(stream, self.cycle - 1)
        elif command["opcode"] == QueueOpcode.RESUME:
            for stream in streams:
                self.held.pop(stream, None)
        else:
            for stream in streams:
                for entry in self.streams.get(stream, []):
                    entry.asked |= entry.record is None

    def _see_abort(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        if outputs["abort_answer"]:
            assert self._named is not None, "an answer to no ABORT"
            code = self._code.unpack(outputs["abort_answer"])["code"]
            assert code in (0, QueueCode.TICKET_UNKNOWN), f"ABORT: {code}"
            self._named = None
        if inputs["abort__valid"] and outputs["abort__ready"]:
            assert self._named is None, "two ABORTs"
            self._named = inputs["abort__payload"]
            entry = self.entries.get(self._named)
            if entry is not None:
                entry.asked = True
        elif self._named is not None and self._named in self.entries:
            # Accepted while the ABORT looked for its ticket.
            self.entries[self._named].asked = True

    # Idle

    def _see_idle(self) -> None:
        for stream, launches in self.streams.items():
            open_ones = [launch.ticket for launch in launches if launch.record is None]
            assert not open_ones, f"idle, and {open_ones} have no record"
            assert self.timelines.get(stream, 0) == len(launches), f"idle; timeline of {stream}"
        assert not self.blocks.out(), "idle with blocks on the SMs"
        assert self._preempts == 0, "idle with a PREEMPT"
        assert all(sent >= self.cycle for sent, _, _ in self._sent), "idle with a launch in check"

    def _restart(self) -> None:
        self.streams, self.timelines, self.entries = {}, {}, {}
        self._commanded, self._named, self._last_offer = None, None, None
        self.held, self._soft = {}, False
        self.blocks.restart()

    def counts(self) -> dict[str, int]:
        """Count nothing."""
        return {}
