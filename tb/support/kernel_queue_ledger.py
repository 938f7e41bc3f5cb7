"""A ledger of KernelQueue's ports: each ticket one record; order, waits and holds are kept."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tb.support.loop_books import LOOP_EVENTS, LoopBooks
from tb.support.queue_pulses import queue_pulses
from warploom_spec import Config, queue_packets, resident_packets
from warploom_spec.errors import ErrorCode, Fate
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import COUNT_BITS, KILLS_BITS, WAIT_BITS, QueueOpcode

Values = Mapping[str, int]
#: Cycles after which a hold must show.
SETTLED = 4
#: Cycles from an end's transfer to ``killed``, and to the inputs beside the end.
_KILLED, _FIRST, _CYCLES = 4, 2, 3
#: Refusals that the queue adds to a launch's own error.
_OWN = (
    *(ErrorCode.STREAM_PRIORITY, ErrorCode.STREAM_BROKEN, ErrorCode.NO_SM),
    *(HostError.RESET, QueueCode.WAIT_AHEAD),
)
#: Of a PREEMPT's record the fields that count launches.
_DRAINED_FROM = 16
REFUSALS = tuple(f"refused {code.name}" for code in _OWN)
FATES = (
    *("finished", "aborted", "failed BLOCK_FAULT", "failed SM_LOST", "failed NO_SM"),
    *("failed TIMEOUT", "failed STREAM_BROKEN"),
)
ABORTS = "abort OK", "abort TICKET_UNKNOWN"
COMMANDS = (
    *("PREEMPT OK", "PREEMPT PREEMPT_PENDING", "RESUME OK", "RESUME NOT_PREEMPTED"),
    *("ABORT_STREAMS OK", "command RESET"),
)
PREEMPTED = "watched finished", "watched killed", "watched drained", "watched skipped"
#: What the queue without indices lacks.
INDICES = ("cancels",)
#: Everything that a run may show.
EVENTS = (
    *("accepted", "refused for itself", "starts", "kills", "restarts", "stops"),
    *(*REFUSALS, *FATES, *ABORTS, *COMMANDS, *PREEMPTED, *INDICES),
)
#: What a run shows where there are loops.
EVENTS_WITH_LOOPS = (*EVENTS, *LOOP_EVENTS)


@dataclass(eq=False)
class Entered:
    """An accepted launch.

    Attributes
    ----------
    fields : dict
        Of the port `checked`.
    ticket, number, clock : int
        Its ticket, its number in its stream, and when it was accepted.
    waits : list
        Stream and number of what it waits for.
    since : int or None
        The cycle of its start.
    end : dict
        What `ended` said of its last run.
    """

    fields: Values
    ticket: int
    number: int
    clock: int
    waits: list[tuple[int, int]]
    kills: int = 0
    recorded: bool = False
    since: int | None = None
    end: dict[str, int] = field(default_factory=dict)


class Places:
    """Free places for records: none is lost, and none comes back twice.

    Parameters
    ----------
    places : int
        All of them.
    """

    def __init__(self, places: int):
        self._free = places
        self._change = 0
        self._first = True

    def move(self, change: int) -> None:
        """Say in a cycle what an event of the cycle before gave back, or took."""
        self._change += change

    def see(self, inputs: Values, outputs: Values) -> None:
        """Judge a cycle of which all events were said."""
        two = self._free >= 2 and not self._first
        assert outputs["records_left"] == two, f"records_left beside {self._free} places"
        self._free += self._change
        self._change = inputs["record_taken"] - (inputs["sent"] & 1)
        self._first = False


class QueueLedger:
    """Sees every cycle; what is wrong fails an assertion.

    Parameters
    ----------
    config : Config
        The machine.
    first_ticket, first_count : int
        The machine's first numbers.
    seen : Counter, optional
        Where it counts what happens.
    """

    def __init__(
        self,
        config: Config,
        first_ticket: int = 1,
        first_count: int = 0,
        seen: Counter[str] | None = None,
    ):
        self._config = config
        self._ticket, self._first_count = first_ticket, first_count
        self._streams = range(1 << config.stream_bits)
        packets = queue_pulses(config)
        notes: dict[str, Callable[[int, Values], None]] = {
            "answer": self._answer,
            "command_answer": self._command_answer,
            "abort_answer": self._abort_answer,
            "timeline": self._timeline,
            "killed": self._killed,
            "record": self._record,
        }
        self._pulses = {name: (note, packets[name]) for name, note in notes.items()}
        self._start_packet = resident_packets.resident_start(config)
        self._end = resident_packets.resident_end(config)
        self._command = resident_packets.resident_command(config)
        self._checked = resident_packets.resident_launch(config)
        self._layout = queue_packets.final_record_words(config)
        self._words: dict[int, int] = {}
        self._aborting = 0
        self._beside: list[Entered] = []
        self._asked: deque[tuple[Values, int]] = deque()
        self._commanded: Values = {}
        self._resumed: dict[int, int] = {}
        self._watched = 0
        self.seen = Counter(dict.fromkeys(EVENTS, 0)) if seen is None else seen
        self.launches: dict[int, Entered] = {}
        self._now = -1
        self._loops = LoopBooks(config, self.seen)
        self._places = Places(config.records)
        self._restart()

    def _restart(self) -> None:
        self._by_stream: list[list[Entered]] = [[] for _ in self._streams]
        self._timelines = [self._first_count for _ in self._streams]
        self._accepted = [self._first_count for _ in self._streams]
        self._residents: dict[int, Entered] = {}
        self._held_since: dict[int, int] = {}
        self._preempts = 0

    def see(self, inputs: Values, outputs: Values) -> None:
        """Judge a cycle."""
        self._now += 1
        for name, (note, packet) in self._pulses.items():
            if outputs[name]:
                note(inputs["clock"], packet.unpack(outputs[name]))  # type: ignore[attr-defined]
        self._loops.see(outputs)
        self._places.see(inputs, outputs)
        if inputs["checked__valid"] and outputs["checked__ready"]:
            fields = self._checked.unpack(inputs["checked__payload"])
            self._asked.append((fields, inputs["clock"]))
        if inputs["abort__valid"]:
            self._aborting = inputs["abort__payload"]
        if inputs["command__valid"] and outputs["command__ready"]:
            self._commanded = self._command.unpack(inputs["command__payload"])
            self._watched = sum(self._commanded["mask"] >> s & 1 for s in self._residents)
        self._see_holds(inputs, outputs)
        if outputs["start__valid"] and inputs["start__ready"]:
            self._start(self._start_packet.unpack(outputs["start__payload"]))
        self._see_end(inputs, outputs)
        self.seen["cancels"] += outputs.get("cancel", 0)
        self.seen["stops"] += bool(outputs["stop"])
        if outputs["idle"]:
            self._idle()
        if inputs["restart"]:
            assert outputs["idle"]
            self.seen["restarts"] += 1
            self._restart()

    def _answer(self, clock: int, answer: Values) -> None:
        del clock
        (fields, taken), code = self._asked.popleft(), answer["code"]
        stream = fields["stream"]
        if code:
            assert answer["ticket"] == answer["count"] == 0
            own = [name for one, name in zip(_OWN, REFUSALS, strict=True) if one == code]
            assert own or code == fields["error"], f"refused with {code}: {fields}"
            self._places.move(1)
            self.seen[own[0] if own else "refused for itself"] += 1
            relative = any(fields.get(f"wait{k}_relative") for k in range(4))
            self.seen["relative WAIT_AHEAD"] += relative and code == QueueCode.WAIT_AHEAD
            return
        assert not fields["error"]
        number = (self._accepted[stream] + 1) % (1 << COUNT_BITS)
        assert answer["ticket"] == self._ticket and answer["count"] == number % (1 << WAIT_BITS)
        self._ticket = self._ticket % ((1 << 32) - 1) + 1
        waits = [self._wait(fields, k) for k in range(4) if fields.get(f"wait{k}_valid")]
        self._accepted[stream] = number
        entered = Entered(fields, answer["ticket"], number, taken, waits)
        self.launches[answer["ticket"]] = entered
        self._loops.accept(answer["ticket"], fields, number)
        self._by_stream[stream].append(entered)
        self.seen["accepted"] += 1

    def _wait(self, fields: Values, k: int) -> tuple[int, int]:
        stream = fields[f"wait{k}_stream"]
        accepted = self._accepted[stream]
        back = (accepted - fields[f"wait{k}_count"]) % (1 << WAIT_BITS)
        if fields.get(f"wait{k}_relative"):
            back = fields[f"wait{k}_count"]
            self.seen["relative"] += 1
        assert back < 1 << WAIT_BITS - 1, "a launch that waits for what is ahead was accepted"
        return stream, (accepted - back) % (1 << COUNT_BITS)

    def _is_over(self, stream: int, number: int) -> bool:
        return (self._timelines[stream] - number) % (1 << COUNT_BITS) < 1 << COUNT_BITS - 1

    def _command_answer(self, clock: int, answer: Values) -> None:
        del clock
        opcode = QueueOpcode(min(self._commanded["opcode"], QueueOpcode.ABORT_STREAMS))
        mask, code = self._commanded["mask"], answer["code"]
        if code == HostError.RESET:
            self.seen["command RESET"] += 1
            return
        name = QueueCode(code).name if code in set(QueueCode) else ErrorCode(code).name
        self.seen[f"{opcode.name} {name}"] += 1
        if code:
            return
        self._preempts += opcode is QueueOpcode.PREEMPT
        self._places.move(-(opcode is QueueOpcode.PREEMPT))
        for stream in self._streams:
            if mask >> stream & 1 and opcode is QueueOpcode.PREEMPT:
                self._held_since.setdefault(stream, self._now)
            elif mask >> stream & 1 and opcode is QueueOpcode.RESUME:
                self._held_since.pop(stream, None)
                self._resumed[stream] = self._now

    def _abort_answer(self, clock: int, answer: Values) -> None:
        del clock
        self.seen[ABORTS[bool(answer["code"])]] += 1
        if not answer["code"]:
            self._loops.abort(self._aborting)

    def _timeline(self, clock: int, step: Values) -> None:
        del clock
        stream = step["stream"]
        assert step["count"] == (self._timelines[stream] + 1) % (1 << COUNT_BITS)
        self._timelines[stream] = step["count"]
        head = self._by_stream[stream].pop(0)
        finished = bool(head.end) and head.end["fate"] == Fate.FINISHED
        if self._loops.passes(head.ticket, finished=finished):
            head.recorded = True
            self._places.move(1)

    def _start(self, start: Values) -> None:
        stream = start["stream"]
        head = self._by_stream[stream][0]
        assert stream not in self._residents and not head.recorded, f"start of {head}"
        assert all(self._is_over(*wait) for wait in head.waits), f"{head} did not wait"
        for name in set(start) - {"stream", "entry", "wait_mode"}:
            assert start[name] == head.fields[name], f"start of {head} has {name} {start[name]}"
        assert start["wait_mode"] == (head.fields["mode"] == Mode.WAIT)
        head.since = self._now
        self._residents[stream] = head
        self.seen["starts"] += 1

    def _see_end(self, inputs: Values, outputs: Values) -> None:
        for launch in self._beside:
            age = self._now - launch.end["at"]
            if age == _FIRST:
                launch.end["first_offer"] = inputs["ended_first"]
            if age == _CYCLES:
                launch.end["word2"] = inputs["ended_cycles"]
        self._beside = [one for one in self._beside if self._now - one.end["at"] < _CYCLES]
        if inputs["ended__valid"] and outputs["ended__ready"]:
            end = self._end.unpack(inputs["ended__payload"])
            launch = self._residents.pop(end["stream"])
            begun = inputs["begun"] >> end["stream"] & 1
            launch.end = {**end, "at": self._now, "begun": begun}
            self._beside.append(launch)

    def _killed(self, clock: int, killed: Values) -> None:
        del clock
        launch = self._by_stream[killed["stream"]][0]
        assert launch.end["fate"] == Fate.KILLED and self._now == launch.end["at"] + _KILLED
        launch.kills = min(launch.kills + 1, (1 << KILLS_BITS) - 1)
        launch.end = {}
        self.seen["kills"] += 1

    def _record(self, clock: int, word: Values) -> None:
        self._words[word["word"]] = word["data"]
        if not word["last"]:
            return
        record = self._layout.unpack([self._words.get(k, 0) for k in range(8)])
        self._words = {}
        assert record["made"] == (clock - 1) % (1 << 32)
        if record["kind"] == RecordKind.PREEMPT:
            self._see_preempt(record)
            return
        launch = self.launches[record["ticket"]]
        assert not launch.recorded, f"{launch} has two records"
        launch.recorded = True
        self._loops.record(launch.ticket, record)
        self._judge(launch, record)

    def _see_preempt(self, record: Values) -> None:
        self._preempts -= 1
        assert self._preempts >= 0, "a record of no PREEMPT"
        low = (1 << _DRAINED_FROM) - 1
        word3 = record["word3"]
        counts = record["word2"], word3 & low, word3 >> _DRAINED_FROM, record["word4"]
        for name, count in zip(PREEMPTED, counts, strict=True):
            self.seen[name] += count

    def _judge(self, launch: Entered, record: Values) -> None:
        fields, end = launch.fields, launch.end
        want = {"stream": fields["stream"], "kills": launch.kills, "accepted": launch.clock}
        begun = end.get("begun", 0)
        want |= {"offered": begun} | {
            name: end[name] if begun else 0 for name in ("first_offer", "word2")
        }
        if end and end["fate"] == Fate.FINISHED:
            want |= {"fate": FinalFate.FINISHED, "code": 0}
        elif end and end["fate"] == Fate.FAILED:
            want |= {"fate": FinalFate.FAILED, "code": end["code"]}
        else:
            assert record["fate"] != FinalFate.FINISHED
        assert {name: record[name] for name in want} == want, launch
        fate, code = FinalFate(record["fate"]), record["code"]
        assert bool(code) == (fate is FinalFate.FAILED), launch
        name = fate.name.lower()
        if code:
            name += f" {(QueueCode if code in set(QueueCode) else ErrorCode)(code).name}"
        self.seen[name] += 1

    def _see_holds(self, inputs: Values, outputs: Values) -> None:
        """A resident that makes way is held below one that is not held itself."""
        now = self._now
        settled = {
            stream: launch
            for stream, launch in self._residents.items()
            if launch.since is not None and now >= launch.since + SETTLED
        }
        urgent = [
            launch.fields["priority"]
            for stream, launch in settled.items()
            if stream not in self._held_since
            and now >= self._resumed.get(stream, -SETTLED) + SETTLED
        ]
        top = max(urgent, default=0)
        for stream, launch in settled.items():
            mode, hold = launch.fields["mode"], outputs["hold"] >> stream & 1
            if launch.fields["priority"] < top and mode not in (Mode.WAIT, Mode.YIELD):
                assert hold, f"{launch} is not held below {top}"
            if self._held_since.get(stream, now) + SETTLED < now and mode != Mode.WAIT:
                assert hold, f"{launch} is not held by command"

    def _idle(self) -> None:
        assert not self._residents and not self._preempts
        for stream, launches in enumerate(self._by_stream):
            assert not launches, f"idle, and {launches} are left"
            assert self._timelines[stream] == self._accepted[stream]
