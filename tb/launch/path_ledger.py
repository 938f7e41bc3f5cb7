"""The ledger of LaunchPath's ports: each ticket one record, each block once in effect."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tb.launch.path_ledger_sms import SmBooks
from tb.support.loop_books import LoopBooks
from tb.support.queue_pulses import queue_pulses
from warploom_spec import Config, ErrorCode, layouts, queue_packets, resident_packets
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import COUNT_BITS, KILLS_BITS, WAIT_BITS, QueueOpcode

Values = Mapping[str, int]
#: Cycles from a PREEMPT's answer, a kill, and a busy higher priority, after which no block comes.
HOLDS, KILLS, LOWER = 8, 4, 12
#: Cycles from a run's last report to the books', at most, beside four for each SM.
_BOOKS = 40
#: Cycles from an end's step to its record's last word.
_RECORDED = 12
OFFERED_WORDS = ("code", "arguments", "address_space", *(f"{a}{x}" for a in "gd" for x in "xyz"))


@dataclass(eq=False)
class Run:
    """A run of a launch, from its first offer on."""

    first: int
    began: int
    offered: int = 0
    out: int = 0
    ok: int = 0
    faults: int = 0
    last: int = 0


@dataclass(eq=False)
class Launch:
    """An accepted launch; ``waits`` are pairs of a stream and a number in it.

    Of a ``doubtful`` one nobody can tell whether it has finished: it may have a record.
    """

    fields: Values
    ticket: int
    number: int
    sent: int
    answered: int
    waits: list[tuple[int, int]]
    kills: int = 0
    aborted: bool = False
    recorded: int | None = None
    doubtful: bool = False
    run: Run | None = None

    @property
    def total(self) -> int:
        """The blocks of its grid."""
        return self.fields["gx"] * self.fields["gy"] * self.fields["gz"]


class PathLedger:
    """Sees every cycle; what is wrong fails an assertion.

    Parameters
    ----------
    config : Config
        The machine.
    first_ticket, first_count, first_number : int
        The machine's first numbers.
    seen : Counter, optional
        Where it counts what happens.
    """

    def __init__(
        self,
        config: Config,
        first_ticket: int = 1,
        first_count: int = 0,
        first_number: int = 0,
        seen: Counter[str] | None = None,
    ):
        self._config = config
        self._ticket, self._first_count = first_ticket, first_count
        self._first_number = first_number
        packets = queue_pulses(config)
        notes: dict[str, Callable[[Values], None]] = {
            "timeline": self._timeline,
            "answer": self._answer,
            "command_answer": self._command_answer,
            "abort_answer": self._abort_answer,
            "killed": self._killed,
            "record": self._record,
        }
        self._pulses = {name: (note, packets[name]) for name, note in notes.items()}
        self._launch = queue_packets.queued_launch(config)
        self._command = resident_packets.resident_command(config)
        self._block = resident_packets.resident_block(config)
        self._words = layouts.launch_words(config)
        self._layout = queue_packets.final_record_words(config)
        self._report = layouts.block_report(config)
        self._record_words: dict[int, int] = {}
        self.seen: Counter[str] = Counter() if seen is None else seen
        self.launches: dict[int, Launch] = {}
        self._unknown: list[tuple[int, int]] = []
        self._now, self._limited, self._soft, self._lost = -1, False, False, 0
        self._clock = 0
        self._sms = SmBooks(config)
        self._loops = LoopBooks(config, self.seen)
        self._restart()

    def _restart(self) -> None:
        streams = 1 << self._config.stream_bits
        self._streams: list[deque[Launch]] = [deque() for _ in range(streams)]
        self._timelines = [self._first_count] * streams
        self._accepted = [self._first_count] * streams
        self._asked: deque[tuple[Values, int]] = deque()
        self._commanded: dict[str, int] | None = None
        self._preempts: deque[int] = deque()
        self._held: dict[int, int] = {}
        self._resumed: dict[int, int] = {}
        self._kill_since: dict[int, int] = {}
        self._aborting, self._asked_at = 0, 0
        self._abort_since: int | None = None

    def see(self, inputs: Values, outputs: Mapping[str, int | None]) -> None:
        """Judge a cycle."""
        self._now += 1
        self._clock = outputs["clock"] or 0
        self._soft, self._lost = bool(inputs["soft_reset_active"]), outputs["lost"] or 0
        self._limited |= bool(inputs["launch_timeout"])
        self._sms.levels(self._now, inputs["enable"], self._lost)
        for name, (note, packet) in self._pulses.items():
            if outputs[name]:
                note(packet.unpack(outputs[name]))
        self._loops.see(outputs)
        self._see_kills(outputs["kill"] or 0)
        if outputs["offer"]:
            self._offer(outputs)
        for sm in range(self._config.sms):
            if inputs[f"report__{sm}__valid"] and outputs[f"report__{sm}__ready"]:
                self._see_report(sm, self._report.unpack(inputs[f"report__{sm}__payload"]))
        if outputs["idle"]:
            self._idle()
        self._transfers(inputs, outputs)
        if inputs["restart"]:
            self._idle()
            self._restart()
            self._sms.restart()
            self.seen["restarts"] += 1

    def _transfers(self, inputs: Values, outputs: Mapping[str, int | None]) -> None:
        """Note what the host said."""
        if inputs["launch__valid"] and outputs["launch__ready"]:
            fields = self._launch.unpack(inputs["launch__payload"])
            self._asked.append((fields, self._clock))
        if inputs["command__valid"] and outputs["command__ready"]:
            assert self._commanded is None, "a command before the answer of the one before"
            self._commanded = self._command.unpack(inputs["command__payload"])
            mask = self._commanded["mask"]
            if self._commanded["opcode"] >= QueueOpcode.ABORT_STREAMS:
                for stream, listed in enumerate(self._streams):
                    for launch in listed if mask >> stream & 1 else ():
                        launch.aborted = True
            if self._commanded["opcode"] == QueueOpcode.RESUME:
                for stream in [stream for stream in self._held if mask >> stream & 1]:
                    del self._held[stream]
                    self._resumed[stream] = self._now
        if inputs["abort__valid"] and self._abort_since is None:
            self._aborting, self._abort_since = inputs["abort__payload"], self._clock
            self._asked_at = self._clock
        if outputs["abort__ready"]:
            self._abort_since = None

    @property
    def open(self) -> list[Launch]:
        """Launches without a record."""
        return [one for one in self.launches.values() if one.recorded is None]

    def _idle(self) -> None:
        assert not self.open and not self._asked, f"idle with {self.open}"

    # Launches

    def _answer(self, answer: Values) -> None:
        """Check who is accepted: all that came before is known, an event at a time."""
        fields, sent = self._asked.popleft()
        stream, code = fields["stream"], answer["code"]
        expected = self._refusal(fields)
        if code in (HostError.RESET, ErrorCode.STREAM_BROKEN, ErrorCode.NO_SM):
            allowed = {HostError.RESET: self._soft}.get(code, bool(self._lost))
            assert allowed, f"refused with {code}"
        else:
            assert code == expected, f"answered {code}, not {expected}"
        self.seen[f"answer {code}"] += 1
        if code:
            assert not answer["ticket"] and not answer["count"]
            relative = any(fields.get(f"wait{k}_relative") for k in range(4))
            self.seen["relative WAIT_AHEAD"] += relative and code == QueueCode.WAIT_AHEAD
            return
        waits = self._waits(fields)
        self._accepted[stream] = (self._accepted[stream] + 1) % (1 << COUNT_BITS)
        assert answer["ticket"] == self._ticket, "a ticket is left out"
        assert answer["count"] == self._accepted[stream] % (1 << WAIT_BITS), "a wrong count"
        self._ticket = self._ticket % ((1 << 32) - 1) + 1
        number = self._accepted[stream]
        launch = Launch(fields, answer["ticket"], number, sent, self._clock, waits)
        # The last step of its ACCEPT may have come with the command.
        command = self._commanded or {"opcode": 0, "mask": 0}
        hit = command["mask"] >> stream & 1 and command["opcode"] >= QueueOpcode.ABORT_STREAMS
        launch.aborted = bool(hit)
        self.launches[launch.ticket] = launch
        self._loops.accept(launch.ticket, fields, number)
        self._streams[stream].append(launch)

    def _refusal(self, fields: Values) -> int:
        """Return the code with which a launch has to be refused, or 0."""
        if not fields["gx"]:
            return ErrorCode.GRID_ZERO
        if fields["mode"] > Mode.YIELD:
            return HostError.FIELD_RANGE
        for _, _, back in self._pairs(fields):
            if back >= 1 << WAIT_BITS - 1:
                return QueueCode.WAIT_AHEAD
        listed = self._streams[fields["stream"]]
        if listed and listed[0].fields["priority"] != fields["priority"]:
            return ErrorCode.STREAM_PRIORITY
        return 0

    def _pairs(self, fields: Values) -> list[tuple[int, int, int]]:
        """Return of each pair stream, count, and how far it lies before the latest accepted."""
        found = []
        for k in range(self._config.launch_waits):
            if fields[f"wait{k}_valid"]:
                stream, count = fields[f"wait{k}_stream"], fields[f"wait{k}_count"]
                back = (self._accepted[stream] - count) % (1 << WAIT_BITS)
                if fields.get(f"wait{k}_relative"):
                    back = count
                    self.seen["relative"] += 1
                found.append((stream, count, back))
        return found

    def _waits(self, fields: Values) -> list[tuple[int, int]]:
        """Return stream and number of what a launch waits for, before it is counted itself."""
        return [
            (stream, (self._accepted[stream] - back) % (1 << COUNT_BITS))
            for stream, _, back in self._pairs(fields)
        ]

    def _timeline(self, step: Values) -> None:
        stream = step["stream"]
        now = (self._timelines[stream] + 1) % (1 << COUNT_BITS)
        assert step["count"] == now and self._streams[stream], "a timeline jumps"
        self._timelines[stream] = now
        self._passes(self._streams[stream].popleft())

    def _passes(self, launch: Launch) -> None:
        """Note of a quiet launch that has finished that it has no record."""
        whole = launch.run is not None and launch.run.ok == launch.total
        launch.doubtful = whole and bool(self._sms.late_reports(launch))
        finished = None if launch.doubtful else whole
        silent = self._loops.passes(launch.ticket, finished=finished)
        if silent or (launch.doubtful and launch.fields.get("quiet", 0)):
            launch.recorded = self._now

    # Commands

    def _command_answer(self, answer: Values) -> None:
        command, code = self._commanded, answer["code"]
        assert command is not None, "an answer to nobody"
        self._commanded = None
        opcode = min(command["opcode"], int(QueueOpcode.ABORT_STREAMS))
        self.seen[f"{QueueOpcode(opcode).name} {code}"] += 1
        assert (code == HostError.RESET) <= self._soft, "RESET without one"
        if code:
            return
        if opcode == QueueOpcode.PREEMPT:
            self._preempts.append(command["mask"].bit_count())
            for stream in range(len(self._streams)):
                if command["mask"] >> stream & 1:
                    self._held.setdefault(stream, self._now)

    def _abort_answer(self, answer: Values) -> None:
        code, launch = answer["code"], self.launches.get(self._aborting)
        self.seen[f"ABORT {code}"] += 1
        if code:
            known = launch is not None and launch.answered < self._asked_at
            if known and launch.recorded is None:
                self._unknown.append((launch.ticket, self._now + _RECORDED))
            return
        assert launch is not None, "an ABORT of nobody is OK"
        self._loops.abort(launch.ticket)
        launch.aborted = True

    # Blocks

    def _see_kills(self, kill: int) -> None:
        for stream in range(len(self._streams)):
            if not kill >> stream & 1:
                self._kill_since.pop(stream, None)
            elif stream not in self._kill_since:
                self._kill_since[stream] = self._now
                self.seen["kill"] += 1
        while self._unknown and self._unknown[0][1] < self._now:
            ticket, _ = self._unknown.pop(0)
            assert self.launches[ticket].recorded is not None, f"ticket {ticket} was known"

    def _offer(self, outputs: Mapping[str, int | None]) -> None:
        """Check a block: its launch may run, and it is the run's next one."""
        block = self._block.unpack(outputs["block"] or 0)
        words = self._words.unpack(outputs["words"] or 0)
        stream, launch = block["stream"], self.launches.get(words["ticket"])
        assert launch is not None and launch.recorded is None, f"offer of {words['ticket']}"
        fields = launch.fields
        listed = self._streams[stream]
        assert listed and listed[0] is launch, f"ticket {launch.ticket} is not the head"
        for awaited, number in launch.waits:
            ahead = (number - self._timelines[awaited]) % (1 << COUNT_BITS)
            assert not 0 < ahead < 1 << COUNT_BITS - 1, f"ticket {launch.ticket} did not wait"
        for name in OFFERED_WORDS:
            assert words[name] == fields[name], f"{name} of another launch"
        if launch.run is None:
            launch.run = Run(self._clock % (1 << 32), self._now)
        self._may_run(launch)
        run = launch.run
        gx, gy = fields["gx"], fields["gy"]
        expected = run.offered % gx, run.offered // gx % gy, run.offered // gx // gy
        assert (block["bx"], block["by"], block["bz"]) == expected, "a block out of order"
        number = (self._first_number + run.offered) % (1 << 32)
        assert block["block_number"] == number and run.offered < launch.total, "a block too many"
        run.offered, run.out = run.offered + 1, run.out + 1
        self.seen["offers"] += 1
        self._sms.offer(self._now, outputs["offer"] or 0, block, launch)

    def _may_run(self, launch: Launch) -> None:
        """Check that no block is placed that must not be."""
        stream, mode, run = launch.fields["stream"], launch.fields["mode"], launch.run
        assert run is not None
        since = self._kill_since.get(stream)
        assert since is None or self._now <= since + KILLS, "a block of a killed run"
        since = self._held.get(stream)
        goes_on = mode == Mode.WAIT and (run.offered or since is None)
        assert since is None or goes_on or self._now <= since + HOLDS, "a block of a held stream"
        if mode in (Mode.AUTO, Mode.RESET, Mode.DRAIN):
            for other in self._streams:
                head = other[0] if other else None
                if head is None or head.run is None or head.fields["stream"] in self._held:
                    continue
                higher = head.fields["priority"] > launch.fields["priority"] and not head.aborted
                resumed = self._resumed.get(head.fields["stream"], 0)
                late = self._now > max(head.run.began, run.began, resumed) + LOWER
                assert not (higher and late), (
                    f"a block of ticket {launch.ticket} beside that of {head.ticket}"
                )

    def _see_report(self, sm: int, report: Values) -> None:
        launch, run = self._sms.report(self._now, sm, report["slot"])
        if launch is None or launch.run is not run or run is None:
            return
        run.out -= 1
        run.last = self._now
        run.ok += report["status"] == 0
        run.faults += report["status"] in (1, 3)

    def _killed(self, pulse: Values) -> None:
        launch = self._streams[pulse["stream"]][0]
        assert launch.run is None or not launch.run.out, "killed with blocks out"
        if launch.run is not None:
            whole = launch.run.ok == launch.total
            assert not whole and not launch.run.faults, "a finished run is killed"
        launch.kills, launch.run = launch.kills + 1, None
        self.seen["killed"] += 1

    # Records

    def _record(self, said: Values) -> None:
        self._record_words[said["word"]] = said["data"]
        if not said["last"]:
            return
        words = [self._record_words.get(k, 0) for k in range(queue_packets.FINAL_RECORD_WORDS)]
        self._record_words = {}
        record = self._layout.unpack(words)
        assert record["made"] == (self._clock - 1) % (1 << 32), "made at another time"
        if record["kind"] == RecordKind.PREEMPT:
            most = self._preempts.popleft()
            counts = record["word2"], record["word3"] & 0xFFFF, record["word3"] >> 16
            assert sum((*counts, record["word4"])) <= most, "a PREEMPT watched too many"
            self.seen["PREEMPT's records"] += 1
            return
        launch = self.launches[record["ticket"]]
        unrecorded = launch.recorded is None or launch.doubtful
        assert unrecorded, f"ticket {launch.ticket} has two records"
        launch.recorded, launch.doubtful = self._now, False
        self._loops.record(launch.ticket, record)
        assert record["stream"] == launch.fields["stream"]
        self._times(launch, record)
        self._fate(launch, record)

    def _times(self, launch: Launch, record: Values) -> None:
        sent = (record["accepted"] - launch.sent) % (1 << 32)
        answered = (launch.answered - record["accepted"]) % (1 << 32)
        assert 6 <= sent < 1 << 31 and 4 <= answered < 1 << 31, "accepted at another time"
        assert record["kills"] == min(launch.kills, (1 << KILLS_BITS) - 1), "wrong kills"
        run = launch.run
        assert record["offered"] == (run is not None), "offered is wrong"
        if run is None:
            assert not record["first_offer"] and not record["word2"]
            return
        assert record["first_offer"] == run.first, "a wrong first offer"
        if not run.out and not self._sms.late_reports(launch):
            late = record["word2"] - (run.last - run.began)
            assert 4 <= late <= _BOOKS + 4 * self._config.sms, f"cycles are wrong by {late}"

    def _fate(self, launch: Launch, record: Values) -> None:
        fate, code, run = FinalFate(record["fate"]), record["code"], launch.run
        self.seen[f"{fate.name} {code}"] += 1
        lost, late = self._sms.out_on_lost(launch), self._sms.late_reports(launch)
        if run is not None:
            assert run.out <= lost, f"ticket {launch.ticket} ends with blocks out"
            whole = run.ok == launch.total
            as_reported = (fate is FinalFate.FINISHED) == whole
            assert as_reported or (whole and late), f"{fate.name} with {run.ok} blocks"
        else:
            assert fate is not FinalFate.FINISHED, "finished without a block"
        if fate is FinalFate.ABORTED:
            assert launch.aborted or self._soft, f"ticket {launch.ticket} was not aborted"
        if fate is FinalFate.FAILED:
            allowed = {
                QueueCode.TIMEOUT: self._limited,
                ErrorCode.BLOCK_FAULT: run is not None and run.faults > 0,
                ErrorCode.SM_LOST: bool(lost or late),
                ErrorCode.STREAM_BROKEN: bool(self._lost),
                ErrorCode.NO_SM: self._lost + 1 == 1 << self._config.sms,
            }
            assert allowed.get(code, False), f"failed with {code}"
