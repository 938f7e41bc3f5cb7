"""Hard cases of KernelQueue, counted from its ports; the ledger runs along."""

from collections import Counter
from typing import Any, Final

from tb.launch.queue_ledger import Entry, QueueLedger
from tb.support.dispatch_configs import Observers
from warploom_spec import Config, ErrorCode, Fate, Stop, queue_packets
from warploom_spec.host_errors import HostError
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import (
    MAX_KILLS,
    STOP_SKIP,
    WAIT_AHEAD,
    QueueOpcode,
)

#: Tickets and counts that wrap soon: each of their bits is 0 and 1.
NEAR_THE_WRAPS: Final = {"first_ticket": (1 << 32) - 100, "first_count": (1 << 32) - 5}
MODES = {Mode.AUTO: "auto", Mode.RESET: "reset", Mode.DRAIN: "drain", Mode.WAIT: "wait"}
MODES_OF: dict[int, str] = {**MODES, Mode.YIELD: "yield", 5: "unknown", 6: "unknown", 7: "unknown"}
STOPS = {Stop.DRAIN: "drained", Stop.KILL: "killed", STOP_SKIP: "skipped"}
REFUSALS: dict[int, str] = {
    ErrorCode.STREAM_PRIORITY: "other priority",
    ErrorCode.STREAM_BROKEN: "broken stream",
    ErrorCode.NO_SM: "no SM",
    ErrorCode.QUEUE_FULL: "full priority",
    ErrorCode.GRID_ZERO: "LaunchCheck's error",
    HostError.RESET: "soft reset",
    WAIT_AHEAD: "wait ahead",
}
FAILURES: dict[int, str] = {
    ErrorCode.BLOCK_FAULT: "a block failed",
    ErrorCode.SM_LOST: "an SM was lost",
    ErrorCode.STREAM_BROKEN: "broken stream",
    ErrorCode.NO_SM: "no SM",
    QueueCode.TIMEOUT: "time-out",
}
#: What a mode may ask of a launch whose stream has a flag: (mode, stop, by command).
BY_MODE = (
    *[(m, "killed") for m in ("auto", "reset")],
    *[(m, "drained") for m in ("auto", "reset", "drain", "unknown")],
    *[(m, "skipped") for m in ("wait", "yield")],
)
NAMES = (
    *(f"refused: {why}" for why in REFUSALS.values()),
    *(f"failed: {why}" for why in FAILURES.values()),
    "finished",
    "aborted",
    "reset was a drain",
    "refused: full priority beside a free one",
    *(f"{mode}: {stop} by {why}" for mode, stop in BY_MODE for why in ("command", "priority")),
    "yield: drained by command",
    "put back: killed",
    "put back: drained",
    "put back: skipped",
    "taken back from the line",
    "a skip fails",
    "drained after the last kill",
    "PREEMPT accepted",
    "PREEMPT pending",
    "RESUME without PREEMPT",
    "ABORT_STREAMS",
    "RESUME before the PREEMPT's record",
    "PREEMPT met: killed",
    "PREEMPT met: drained",
    "PREEMPT met: skipped",
    "PREEMPT met: finished",
    "command in a soft reset",
    *(
        f"ABORT of a launch that {does}"
        for does in ("waits", "runs", "is suspended", "has a place")
    ),
    "ABORT of an unknown ticket",
    "ABORT of a launch in the line",
    "ABORT of a launch that is drained",
    "ABORT of a launch that was aborted already",
    "a wait ends while its head is loaded",
    "handed over beside an end",
    "both places taken",
    "cancel with a decision",
    "cancel, then a decision",
    "cancel without a decision",
    "restart",
    "soft reset with launches in places",
    "soft reset with suspended launches",
    "soft reset with waiting launches",
    "soft reset with a PREEMPT",
    "goes on in the middle",
    "a launch begins as it ends",
    "a stream is mended",
)


class QueueEvents(QueueLedger):
    """The ledger, and how often each of `NAMES` happened."""

    def __init__(self, config: Config):
        self._counts: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
        self._queue_code = queue_packets.queue_code(config)
        super().__init__(config)

    def reset(self) -> None:
        """Forget everything but the counts."""
        super().reset()
        self._held = 0
        self._pending = False
        self._was_closed = False
        self._cancelled = 0
        self._named: Entry | None = None
        self._line_aborts: set[int] = set()
        self._found_aborts: set[int] = set()
        self._loading: dict[int, tuple[int, list[tuple[int, int]]]] = {}

    def counts(self) -> dict[str, int]:
        """Return how often each case happened."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        """Take in a cycle."""
        known, places = len(self.entries), list(self.places)
        self._count_commands(inputs, outputs)
        self._count_aborts(inputs, outputs)
        self._count_stops(outputs)
        begun = [held is not None and held.begun for held in places]
        super().see(cycle, inputs, outputs)
        self._count_answers(outputs, known)
        self._count_ends(inputs, outputs, places, begun)
        self._count_line(inputs, outputs)
        self._count_resets(inputs)

    def _note(self, name: str, happened: object = True) -> None:
        assert name in self._counts, name
        self._counts[name] += bool(happened)

    def _count_commands(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        commanded = self._commanded
        if commanded is not None and outputs["command_answer"]:
            code = self._queue_code.unpack(outputs["command_answer"])["code"]
            opcode, mask = commanded["opcode"], commanded["mask"]
            self._note("PREEMPT pending", code == QueueCode.PREEMPT_PENDING)
            self._note("RESUME without PREEMPT", code == QueueCode.NOT_PREEMPTED)
            self._note("command in a soft reset", code == HostError.RESET)
            if not code and opcode == QueueOpcode.PREEMPT:
                self._note("PREEMPT accepted")
                self._held |= mask
                self._pending = True
            elif not code and opcode == QueueOpcode.RESUME:
                self._note("RESUME before the PREEMPT's record", self._pending)
                self._held &= ~mask
            elif not code:
                self._note("ABORT_STREAMS")
        if outputs["record"]:
            record = self._record.unpack(outputs["record"])
            if record["kind"] == RecordKind.PREEMPT:
                self._pending = False
                self._note("PREEMPT met: killed", record["word3"] & 0xFFFF)
                self._note("PREEMPT met: drained", record["word3"] >> 16)
                self._note("PREEMPT met: skipped", record["word4"])
                self._note("PREEMPT met: finished", record["word2"])
        self._note("a stream is mended", inputs["clear_stream"])

    def _count_aborts(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        if outputs["abort_answer"]:
            code = self._queue_code.unpack(outputs["abort_answer"])["code"]
            self._note("ABORT of an unknown ticket", code)
            entry = self._named
            if not code and entry is not None and entry.record is None:
                held = next((h for h in self.places if h is not None and h.entry is entry), None)
                self._note("ABORT of a launch that runs", held is not None and held.begun)
                self._note(
                    "ABORT of a launch that has a place", held is not None and not held.begun
                )
                # The kill of the ABORT itself stands at `stop` in the cycle after its answer.
                drained = held is not None and held.begun and held.stops == {Stop.DRAIN}
                self._note("ABORT of a launch that is drained", drained)
                again = entry.ticket in self._found_aborts
                self._note("ABORT of a launch that was aborted already", again)
                self._found_aborts.add(entry.ticket)
                self._note("ABORT of a launch that is suspended", entry.suspended)
                if held is None and not entry.suspended:
                    self._line_aborts.add(entry.ticket)
            if not code and entry is not None and outputs["record"] and not entry.suspended:
                ticket = self._record.unpack(outputs["record"])["ticket"]
                self._note("ABORT of a launch that waits", ticket == entry.ticket)
        if inputs["abort__valid"] and outputs["abort__ready"]:
            self._named = self.entries.get(inputs["abort__payload"])

    def _count_stops(self, outputs: dict[str, int]) -> None:
        stops = self._stop.unpack(outputs["stop"])
        for place, held in enumerate(self.places):
            stop = stops[f"place{place}"]
            if held is None or not stop:
                continue
            fields = held.entry.fields
            why = "command" if self._held >> held.entry.stream & 1 else "priority"
            name = f"{MODES_OF[fields['mode']]}: {STOPS[stop]} by {why}"
            if name in self._counts:
                self._note(name)
            tired = held.entry.kills >= MAX_KILLS and fields["mode"] in (Mode.AUTO, Mode.RESET)
            self._note("drained after the last kill", tired and stop == Stop.DRAIN)

    def _count_answers(self, outputs: dict[str, int], known: int) -> None:
        if not outputs["answer"]:
            return
        answer = self._answer.unpack(outputs["answer"])
        why = REFUSALS.get(answer["code"])
        if why is not None:
            self._note(f"refused: {why}")
        if answer["code"] == ErrorCode.QUEUE_FULL:
            self._note("refused: full priority beside a free one", outputs["room"])
        if len(self.entries) > known:
            entry = self.entries[answer["ticket"]]
            before = self.streams[entry.stream][:-1]
            if entry.waits and all(launch.record is not None for launch in before):
                self._loading[self._cycle] = (entry.ticket, entry.waits)

    def _count_ends(
        self, inputs: dict[str, int], outputs: dict[str, int], places: list[Any], begun: list[bool]
    ) -> None:
        if outputs["record"]:
            record = self._record.unpack(outputs["record"])
            self._note("finished", record["ticket"] and record["fate"] == FinalFate.FINISHED)
            self._note("aborted", record["fate"] == FinalFate.ABORTED)
            self._note("reset was a drain", record["reset_as_drain"])
            why = FAILURES.get(record["code"])
            if why is not None:
                self._note(f"failed: {why}")
        if outputs["put_back"]:
            back = self._put_back.unpack(outputs["put_back"])
            self._note(f"put back: {Fate(back['fate']).name.lower()}")
            self._note("ABORT of a launch in the line", back["ticket"] in self._line_aborts)
        if outputs["timeline"]:
            step = self._timeline.unpack(outputs["timeline"])
            for accepted, (_, waits) in list(self._loading.items()):
                # It is loaded in the fourth cycle after its answer at the earliest.
                meets = (step["stream"], step["count"]) in waits
                self._note("a wait ends while its head is loaded", meets)
                if self._cycle > accepted + 3:
                    del self._loading[accepted]
        hands = outputs["launch__valid"] and inputs["launch__ready"]
        self._note("handed over beside an end", hands and inputs["ended__valid"])
        self._note("both places taken", all(held is not None for held in self.places))
        if inputs["ended__valid"]:
            place = self._end.unpack(inputs["ended__payload"])["place"]
            held = places[place]
            self._note("a launch begins as it ends", held and held.begun and not begun[place])
        for held, was in zip(places, begun, strict=True):
            missed = held is not None and held.begun and not was and held.skipped_at is not None
            self._note("a skip fails", missed)

    def _count_line(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        if outputs["put_back"]:
            back = self._put_back.unpack(outputs["put_back"])
            # A launch that had a place was at `ended` two cycles before.
            fresh = back["fate"] == Fate.SKIPPED and back["ticket"] not in self._just_ended
            self._note("taken back from the line", fresh)
        self._just_ended = self._ended_before
        self._ended_before = set()
        if inputs["ended__valid"]:
            self._ended_before = {self._end.unpack(inputs["ended__payload"])["ticket"]}
        if outputs["launch__valid"] and inputs["launch__ready"]:
            launch = self._launch.unpack(outputs["launch__payload"])
            self._note("goes on in the middle", launch["start_x"])
        if self._decision is None:
            return
        decided = inputs["decision__valid"]
        if outputs["cancel"]:
            self._note("cancel with a decision", decided)
        elif self._cancelled:
            self._note("cancel, then a decision", decided)
            self._note("cancel without a decision", not decided)
        self._cancelled = outputs["cancel"] and not decided

    def _count_resets(self, inputs: dict[str, int]) -> None:
        closes = bool(inputs["soft_reset_active"])
        if closes and not self._was_closed:
            alive = [entry for entry in self.entries.values() if entry.record is None]
            in_places = [held.entry for held in self.places if held is not None]
            waiting = [e for e in alive if not e.begun and e not in in_places]
            self._note("soft reset with launches in places", in_places)
            self._note("soft reset with suspended launches", any(e.suspended for e in alive))
            self._note("soft reset with waiting launches", waiting)
            self._note("soft reset with a PREEMPT", self._pending)
        self._was_closed = closes
        self._note("restart", inputs["restart"])
        if inputs["restart"]:
            self._held, self._pending = 0, False

    _just_ended: set[int] = set()
    _ended_before: set[int] = set()


class LateQueueEvents(QueueEvents):
    """The same where the block has `NEAR_THE_WRAPS`."""

    first_ticket = NEAR_THE_WRAPS["first_ticket"]
    first_count = NEAR_THE_WRAPS["first_count"]


EVENTS = Observers(QueueEvents)
LATE_EVENTS = Observers(LateQueueEvents)
