"""KernelQueue's books, kept from its ports alone: nothing lost, doubled or out of order."""

from dataclasses import dataclass, field

from tb.launch.queue_books import COUNTS, Firsts, step_timeline, waits_of
from warploom_spec import Config, Fate, Stop, layouts, queue_packets
from warploom_spec.errors import ErrorCode
from warploom_spec.layouts import PLACES
from warploom_spec.queue import FinalFate, Mode, RecordKind
from warploom_spec.queue_packets import STOP_SKIP, QueueOpcode
from warploom_spec.timing import timing

START = (0, 0, 0)
#: Cycles from a record at ``ended`` to its final record.
RECORDED = 2


@dataclass
class Entry:
    """What the ledger knows of a ticket."""

    ticket: int
    fields: dict[str, int]
    number: int
    accepted: int
    waits: list[tuple[int, int]]
    record: int | None = None
    start: tuple[int, int, int] = START
    # Of the block `start`, and what stood beside the last record.
    number_of_start: int = 0
    said: int = 0
    kills: int = 0
    begun: bool = False
    suspended: bool = False
    stops: set[int] = field(default_factory=set)

    @property
    def stream(self) -> int:
        """Return its stream."""
        return self.fields["stream"]


@dataclass
class Held:
    """A launch in a place: its ledger entry, and whether its residence has begun."""

    entry: Entry
    begun: bool = False
    stops: set[int] = field(default_factory=set)
    skipped_at: int | None = None
    history: int = 0


class QueueLedger(Firsts):
    """Raises AssertionError where what the ports say cannot be right.

    Parameters
    ----------
    config : Config
        The machine.

    Attributes
    ----------
    entries : dict
        By ticket: launches that were accepted.
    places : list
        What is in the dispatcher's places.
    """

    def __init__(self, config: Config):
        self._config = config
        self._checked = queue_packets.queue_launch(config)
        self._sent = queue_packets.queue_sent(config)
        self._answer = queue_packets.queue_answer(config)
        self._command = queue_packets.queue_command(config)
        self._code = queue_packets.queue_code(config)
        self._record = queue_packets.final_record(config)
        self._put_back = queue_packets.put_back(config)
        self._timeline = queue_packets.timeline_step(config)
        self._launch = layouts.dispatch_launch(config)
        self._end = layouts.dispatch_end(config)
        self._stop = layouts.dispatch_stop(config)
        self._decision = layouts.index_decision(config) if config.makes_indices else None
        self._ticket: int | None = None
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.entries: dict[int, Entry] = {}
        self.streams: dict[int, list[Entry]] = {}
        self._timelines: dict[int, int] = {}
        self.places: list[Held | None] = [None] * PLACES
        self._ticket = None
        self._judged: dict[str, int] | None = None
        self._promised = [False] * timing(self._config).launch_check
        self._promise = False
        self._due: dict[int, list[tuple[Entry, Entry]]] = {}
        self._references = [0] * self._config.history_entries
        self.preempts = 0
        self._commanded: dict[str, int] | None = None
        self.records = 0
        self._cycle = 0

    def see(self, cycle: int, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        """Take in a cycle."""
        self._cycle += 1
        self._see_answer(inputs, outputs)
        self._see_record(outputs)
        self._see_put_back(outputs)
        self._see_timeline(outputs)
        self._see_stops(outputs)
        self._see_places(inputs, outputs)
        self._see_command(inputs, outputs)
        if self._decision is not None:
            self._see_references(inputs, outputs)
        for earlier, later in self._due.pop(self._cycle, []):
            assert earlier.record is not None, (
                f"{later.ticket} began before {earlier.ticket} of its stream had ended"
            )
        if outputs["idle"]:
            self._see_idle(outputs)
        self.records -= inputs["record_taken"]
        if inputs["restart"]:
            self._restart()

    # Acceptance

    def _see_answer(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        judged, promise = self._judged, self._promise
        assert bool(outputs["answer"]) == (judged is not None), "answer without a launch"
        if judged is not None:
            answer = self._answer.unpack(outputs["answer"])
            if promise:
                full = ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL
                assert answer["code"] not in full, "room was 1, and there was none"
            if not answer["code"]:
                self._accept(judged, answer)
        # The launch at `checked` was sent so many cycles ago; `room` spoke then.
        self._promise = self._promised.pop(0)
        sent = self._sent.unpack(inputs["sent"])
        self._promised.append(bool(sent["valid"] and outputs["room"] >> sent["priority"] & 1))
        self._judged = None
        if inputs["checked"]:
            self._judged = self._checked.unpack(inputs["checked"]) | {"clock": inputs["clock"]}

    def _accept(self, fields: dict[str, int], answer: dict[str, int]) -> None:
        ticket = answer["ticket"]
        expected = self.follow(self._ticket)
        assert ticket == expected, f"ticket {ticket}; expected {expected}"
        self._ticket = ticket
        stream = self.streams.setdefault(fields["stream"], [])
        pairs, first = self._config.launch_waits, self.first_count
        waits = waits_of(fields, pairs, self.streams, ticket, first)
        entry = Entry(ticket, fields, len(stream) + 1, fields["clock"], waits)
        assert answer["count"] == (first + entry.number) % COUNTS, f"count of {ticket}"
        stream.append(entry)
        self.entries[ticket] = entry

    # Records

    def _see_record(self, outputs: dict[str, int]) -> None:
        if not outputs["record"]:
            return
        record = self._record.unpack(outputs["record"])
        self.records += 1
        assert self.records <= self._config.records, "more records than places"
        if record["kind"] == RecordKind.PREEMPT:
            self.preempts -= 1
            assert self.preempts == 0, "a record of no PREEMPT"
            return
        entry = self.entries[record["ticket"]]
        assert entry.record is None, f"two records of {entry.ticket}"
        entry.record = record["fate"]
        entry.suspended = False
        assert record["stream"] == entry.stream
        assert record["accepted"] == entry.accepted, f"acceptance of {entry.ticket}"
        assert record["kills"] == min(entry.kills, 7), f"kills of {entry.ticket}"
        in_places = [held.entry for held in self.places if held is not None]
        assert entry not in in_places, f"{entry.ticket} has a record and a place"
        if record["fate"] == FinalFate.FINISHED:
            assert entry.begun, f"{entry.ticket} finished and never began"

    def _see_put_back(self, outputs: dict[str, int]) -> None:
        if not outputs["put_back"]:
            return
        back = self._put_back.unpack(outputs["put_back"])
        entry = self.entries[back["ticket"]]
        assert entry.record is None, f"{entry.ticket} is put back after its end"
        block = back["next_x"], back["next_y"], back["next_z"]
        if back["fate"] == Fate.KILLED:
            entry.kills += 1
            assert block == START
        if back["fate"] == Fate.SKIPPED:
            assert block == (entry.start if entry.begun else START), "a skip moves no block"
        entry.suspended = entry.begun
        entry.start = block if entry.begun else START
        # A skip of a launch that began before leaves its number as it was.
        if back["fate"] == Fate.DRAINED and entry.begun:
            entry.number_of_start = entry.said
        elif back["fate"] == Fate.KILLED or not entry.begun:
            entry.number_of_start = 0

    # Order

    def _see_timeline(self, outputs: dict[str, int]) -> None:
        if not outputs["timeline"]:
            return
        step = self._timeline.unpack(outputs["timeline"])
        step_timeline(step, self.streams, self._timelines, self.first_count)

    def _see_stops(self, outputs: dict[str, int]) -> None:
        stops = self._stop.unpack(outputs["stop"])
        for place, held in enumerate(self.places):
            stop = stops[f"place{place}"]
            if not stop:
                continue
            assert held is not None, f"a stop for the empty place {place}"
            mode = held.entry.fields["mode"]
            assert stop not in held.stops, f"the stop {stop} twice"
            assert not (mode == Mode.WAIT and stop == Stop.DRAIN), "a `wait` launch is drained"
            assert not (held.stops and stop != Stop.KILL), "a stop behind another"
            held.stops.add(stop)
            if stop == STOP_SKIP:
                held.skipped_at = self._cycle

    def _see_places(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        for place, held in enumerate(self.places):
            if held is None:
                continue
            if inputs["started"] >> place & 1 and not held.begun:
                held.begun = True
                self._begin(held.entry)
            if held.skipped_at == self._cycle - 3 and held.begun:
                held.stops.discard(STOP_SKIP)
                held.skipped_at = None
        if inputs["ended__valid"]:
            end = self._end.unpack(inputs["ended__payload"])
            ended = self.places[end["place"]]
            assert ended is not None and ended.entry.ticket == end["ticket"]
            ended.entry.said = inputs["ended_number"]
            self.places[end["place"]] = None
        if outputs["launch__valid"] and inputs["launch__ready"]:
            launch = self._launch.unpack(outputs["launch__payload"])
            self._hand_over(launch)
            mode = self.entries[launch["ticket"]].fields["mode"]
            assert outputs["launch_yields"] == (mode == Mode.YIELD), "launch_yields"
            number, want = outputs["launch_number"], self.entries[launch["ticket"]].number_of_start
            assert number == want, f"{launch['ticket']} has number {number}; its start has {want}"

    def _hand_over(self, launch: dict[str, int]) -> None:
        entry = self.entries[launch["ticket"]]
        where = f"{entry.ticket} of stream {entry.stream}"
        assert entry.record is None, f"{where} is handed over after its end"
        held = [place.entry for place in self.places if place is not None]
        assert entry not in held, f"{where} is handed over twice"
        # The dispatcher must not hold a launch that goes on because of a later one.
        own = entry.fields | ({"after_previous": 0} if entry.begun else {})
        for field_ in self._launch.fields:
            if field_.name in own and field_.bits:
                mask = (1 << field_.bits) - 1
                assert launch[field_.name] == own[field_.name] & mask, field_.name
        start = launch["start_x"], launch["start_y"], launch["start_z"]
        assert start == entry.start, f"{where} goes on at {start}; it stood at {entry.start}"
        for stream, count in entry.waits:
            for awaited in self.streams.get(stream, [])[: max(0, count)]:
                assert awaited.record is not None, f"{where} did not wait for {awaited.ticket}"
        entry.suspended = False
        self.places[self.places.index(None)] = Held(entry)

    def _begin(self, entry: Entry) -> None:
        """Check what must have begun or ended before, of the launch's stream."""
        if entry.begun:
            return
        entry.begun = True
        for earlier in self.streams[entry.stream][: entry.number - 1]:
            ended = earlier.record is not None
            assert ended or earlier.begun, f"{entry.ticket} overtakes {earlier.ticket}"
            if not ended and entry.fields["after_previous"]:
                self._due.setdefault(self._cycle + RECORDED, []).append((earlier, entry))
        alive = [e for e in self.streams[entry.stream] if e.begun and e.record is None]
        # One may be at `ended` in this cycle or have been in the two before.
        assert len(alive) <= 2 + RECORDED, "more than two started launches"

    # Commands, references, idle

    def _see_command(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        commanded = self._commanded
        assert bool(outputs["command_answer"]) == (commanded is not None)
        if commanded is not None and commanded["opcode"] == QueueOpcode.PREEMPT:
            code = self._code.unpack(outputs["command_answer"])["code"]
            if not code:
                self.preempts += 1
                assert self.preempts == 1, "two PREEMPTs"
        self._commanded = None
        if inputs["command"]:
            self._commanded = self._command.unpack(inputs["command"])

    def _see_references(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        if outputs["release__valid"]:
            entry = outputs["release__payload"]
            self._references[entry] -= 1
            assert self._references[entry] >= 0, f"entry {entry} is given back twice"
        if inputs["decision__valid"] and self._decision is not None:
            self._references[self._decision.unpack(inputs["decision__payload"])["entry"]] += 1

    def _see_idle(self, outputs: dict[str, int]) -> None:
        for stream, launches in self.streams.items():
            open_ones = [launch.ticket for launch in launches if launch.record is None]
            assert not open_ones, f"idle, and {open_ones} have no record"
            assert self._timelines.get(stream, 0) == len(launches), f"idle; timeline of {stream}"
        assert not any(held for held in self.places), "idle with a launch in a place"
        assert not any(self._references), f"idle with references {self._references}"
        assert self.preempts == 0, "idle with a PREEMPT"

    def _restart(self) -> None:
        self.streams, self._timelines = {}, {}
        self.entries = {}
        self._commanded = None

    def counts(self) -> dict[str, int]:
        """Count nothing."""
        return {}
