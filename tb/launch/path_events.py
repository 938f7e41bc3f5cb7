"""Hard cases of LaunchPath, counted from its ports; the ledger runs along."""

from collections import Counter
from typing import Final

from tb.launch.path_blocks import Run
from tb.launch.path_entry import Entry
from tb.launch.path_ledger import PathLedger
from tb.support.dispatch_configs import Observers
from warploom_spec import Config, ErrorCode, Fate
from warploom_spec.host_errors import HostError
from warploom_spec.layouts import PLACES
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind
from warploom_spec.queue_packets import WAIT_AHEAD, QueueOpcode

MODES = {
    **{mode: mode.name.lower() for mode in Mode},
    Mode.YIELD: "yield",
}
REFUSALS: dict[int, str] = {
    HostError.FIELD_RANGE: "mode that does not exist",
    HostError.RESET: "soft reset",
    WAIT_AHEAD: "wait ahead",
    ErrorCode.STREAM_PRIORITY: "other priority",
    ErrorCode.STREAM_BROKEN: "broken stream",
    ErrorCode.NO_SM: "no SM",
    ErrorCode.COMPLETION_FULL: "no record",
    ErrorCode.QUEUE_FULL: "full priority",
}
FAILURES: dict[int, str] = {
    ErrorCode.BLOCK_FAULT: "a block failed",
    ErrorCode.SM_LOST: "an SM was lost",
    ErrorCode.STREAM_BROKEN: "broken stream",
    ErrorCode.NO_SM: "no SM",
    QueueCode.TIMEOUT: "time-out",
}
#: Tickets, counts, blocks' numbers and a clock that wrap soon: each of their bits is 0 and 1.
NEAR_THE_WRAPS: Final = {
    "first_ticket": (1 << 32) - 40,
    "first_count": (1 << 32) - 4,
    "first_clock": (1 << 64) - 1500,
    "first_number": (1 << 32) - 3,
}
#: No port tells of a drain: `test_launch_path_aborts` has the ABORT of a launch that is drained.
NAMES = (
    *(f"refused: {why}" for why in (*REFUSALS.values(), "LaunchCheck")),
    *(f"failed: {why}" for why in FAILURES.values()),
    *(f"finished in mode {mode}" for mode in MODES.values()),
    "put back: killed",
    "put back: drained",
    "put back: skipped",
    "goes on in the middle",
    "killed more than once",
    "finished after a kill",
    "aborted before its first block",
    "aborted while it ran",
    "aborted while it was put back",
    "an ABORT finds its launch",
    "an ABORT finds none",
    "ABORT_STREAMS",
    "PREEMPT",
    "PREEMPT is pending",
    "RESUME",
    "RESUME without PREEMPT",
    "PREEMPT met some",
    "a command in a soft reset",
    "a waiting launch began",
    "two launches on the SMs",
    "a later launch of a stream beside the earlier one",
    "restart",
    "restart with records",
    "restart with a command or an ABORT",
    "restart with a pop",
    "all records are reserved",
    "an SM is lost with two launches",
    "a launch of mode wait beside a higher one",
    "an ABORT finds a launch that was aborted already",
    "yielded, and goes on",
)


class PathEvents(PathLedger):
    """The ledger, and how often each of `NAMES` happened."""

    def __init__(self, config: Config):
        self._counts: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
        super().__init__(config)

    def reset(self) -> None:
        """Forget everything but the counts."""
        super().reset()
        self._found_aborts: set[int] = set()

    def counts(self) -> dict[str, int]:
        """Return how often each case happened."""
        return dict(self._counts)

    def note(self, name: str, happened: object = True) -> None:
        """Count a case."""
        assert name in self._counts, name
        self._counts[name] += bool(happened)

    def see(self, cycle: int, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        """Take in a cycle."""
        lost = self.blocks.lost
        resident = [run.place for entry in self._residents() if (run := entry.run) and run.out]
        self._count_ends(outputs)
        self._count_answers(inputs, outputs)
        if inputs["restart"]:
            self.note("restart")
            self.note("restart with records", outputs["records"])
            named = inputs["abort__valid"] and outputs["abort__ready"]
            self.note("restart with a command or an ABORT", named or inputs["command"] & 1)
            self.note("restart with a pop", inputs["pop"] and outputs["records"])
        super().see(cycle, inputs, outputs)
        self.note("two launches on the SMs", len(set(resident)) == PLACES)
        both = len(set(resident)) == PLACES and outputs["lost"] & ~lost
        self.note("an SM is lost with two launches", both)

    def _residents(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.resident]

    def refused(self, answer: dict[str, int], launch: dict[str, int]) -> None:
        """Count a refusal."""
        super().refused(answer, launch)
        why = REFUSALS.get(answer["code"], "LaunchCheck")
        self.note(f"refused: {why}")
        self.note("all records are reserved", answer["code"] == ErrorCode.COMPLETION_FULL)

    def commanded(self, command: dict[str, int], code: int) -> None:
        """Count a command."""
        super().commanded(command, code)
        opcode = command["opcode"]
        self.note("a command in a soft reset", code == HostError.RESET)
        self.note("PREEMPT is pending", code == QueueCode.PREEMPT_PENDING)
        self.note("RESUME without PREEMPT", code == QueueCode.NOT_PREEMPTED)
        if not code:
            self.note("PREEMPT", opcode == QueueOpcode.PREEMPT)
            self.note("RESUME", opcode == QueueOpcode.RESUME)
            self.note("ABORT_STREAMS", opcode >= QueueOpcode.ABORT_STREAMS)

    def began(self, entry: Entry, run: Run) -> None:
        """Count a residence that begins."""
        super().began(entry, run)
        first = run is entry.run and not entry.kills and not entry.done
        self.note("a waiting launch began", first and entry.waits)
        self.note("goes on in the middle", entry.done)
        beside = [one for one in self._residents() if one is not entry]
        later = any(one.stream == entry.stream and one.number < entry.number for one in beside)
        self.note("a later launch of a stream beside the earlier one", later)
        higher = any(
            one.mode == Mode.WAIT and one.fields["priority"] < entry.fields["priority"]
            for one in beside
        )
        self.note("a launch of mode wait beside a higher one", higher)

    def yielded(self, entry: Entry) -> None:
        """Count a launch that goes on after it yielded."""
        super().yielded(entry)
        self.note("yielded, and goes on")

    def _count_answers(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        del inputs
        if outputs["abort_answer"]:
            code = self._code.unpack(outputs["abort_answer"])["code"]
            self.note("an ABORT finds none" if code else "an ABORT finds its launch")
            entry = self.entries.get(self._named or 0)
            if not code and entry is not None and entry.record is None:
                again = entry.ticket in self._found_aborts
                self.note("an ABORT finds a launch that was aborted already", again)
                self._found_aborts.add(entry.ticket)

    def _count_ends(self, outputs: dict[str, int]) -> None:
        """Count records and put-backs, before the ledger takes them in."""
        if outputs["put_back"]:
            back = self._back.unpack(outputs["put_back"])
            self.note(f"put back: {Fate(back['fate']).name.lower()}")
        if not outputs["record"]:
            return
        record = self._final.unpack(outputs["record"])
        if record["kind"] == RecordKind.PREEMPT:
            self.note("PREEMPT met some", record["word2"] + record["word3"] + record["word4"])
            return
        entry = self.entries[record["ticket"]]
        if record["fate"] == FinalFate.FINISHED:
            self.note(f"finished in mode {MODES[entry.mode]}")
            self.note("finished after a kill", entry.kills)
            self.note("killed more than once", entry.kills > 1)
        elif record["fate"] == FinalFate.ABORTED:
            self.note("aborted before its first block", not entry.begun)
            self.note("aborted while it ran", entry.resident)
            self.note("aborted while it was put back", entry.begun and not entry.resident)
        else:
            why = FAILURES.get(record["code"])
            assert why is not None, f"a launch failed with {record['code']}"
            self.note(f"failed: {why}")


class LatePathEvents(PathEvents):
    """The same where the block has `NEAR_THE_WRAPS`."""

    first_ticket = NEAR_THE_WRAPS["first_ticket"]
    first_count = NEAR_THE_WRAPS["first_count"]
    first_number = NEAR_THE_WRAPS["first_number"]


EVENTS = Observers(PathEvents)
LATE_EVENTS = Observers(LatePathEvents)
