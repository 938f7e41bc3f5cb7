"""Packets of KernelQueue's cycle model, and what becomes of a launch at its end."""

from collections.abc import Mapping
from dataclasses import dataclass

from warploom_golden.launch.queue_launch import FIRST_BLOCK, Block, Ended, Launch, Preempt
from warploom_spec import layouts, queue_packets
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Fate
from warploom_spec.queue import FinalFate, Mode, QueueCode, RecordKind

KILLS_MOST = 7


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of the end register's launch (48).

    Attributes
    ----------
    final : FinalFate or None
        Its record's fate; None: it is put back.
    code : int
        Its record's code.
    """

    final: FinalFate | None
    code: int = 0


def outcome(ended: Ended, sm_kill: bool) -> Outcome:
    """Return the first that holds of rule 48."""
    launch, fate = ended.launch, ended.end["fate"]
    if fate == Fate.FINISHED:
        return Outcome(FinalFate.FINISHED)
    if fate == Fate.FAILED:
        return Outcome(FinalFate.FAILED, ended.end["code"])
    if launch.timed_out and (fate == Fate.KILLED or (fate == Fate.DRAINED and not sm_kill)):
        return Outcome(FinalFate.FAILED, QueueCode.TIMEOUT)
    if launch.aborted:
        return Outcome(FinalFate.ABORTED)
    return Outcome(None)


def keep_residence(ended: Ended) -> None:
    """Keep with the launch's entry what is known of this residence (52)."""
    launch = ended.launch
    if launch.begun:
        launch.cycles, launch.first_offer = ended.end["cycles"], launch.begun_at
        launch.offered = True
    not_idempotent = launch.fields["mode"] == Mode.RESET and not launch.fields["idempotent"]
    if ended.end["fate"] != Fate.SKIPPED and not_idempotent and launch.draining:
        launch.reset_as_drain = True


def progress(ended: Ended) -> tuple[int, Block, int]:
    """Return kills, next block and its number of a launch that is put back (48 e to g)."""
    launch, end = ended.launch, ended.end
    if end["fate"] == Fate.KILLED:
        return min(launch.kills + 1, KILLS_MOST), FIRST_BLOCK, 0
    if end["fate"] == Fate.DRAINED:
        return launch.kills, (end["next_x"], end["next_y"], end["next_z"]), ended.number
    return launch.kills, launch.start, launch.start_number


class Packets:
    """Packs outputs.

    Parameters
    ----------
    config : Config
        Their widths.
    """

    def __init__(self, config: Config):
        self._config = config
        self.sent = queue_packets.queue_sent(config)
        self.checked = queue_packets.queue_launch(config)
        self.command = queue_packets.queue_command(config)
        self.clear = queue_packets.queue_stream(config)
        self.abort = queue_packets.launch_abort(config)
        self._answer = queue_packets.queue_answer(config)
        self._code = queue_packets.queue_code(config)
        self._record = queue_packets.final_record(config)
        self._put_back = queue_packets.put_back(config)
        self._timeline = queue_packets.timeline_step(config)
        self._stop = layouts.dispatch_stop(config)
        self._launch = layouts.dispatch_launch(config)
        self._index_config = layouts.index_config(config) if config.makes_indices else None

    def answer(self, ticket: int, code: int, argument: int, number: int) -> int:
        """Pack an answer to a launch (3)."""
        fields = {"ticket": ticket, "code": code, "argument": argument, "count": number % (1 << 16)}
        return self._answer.pack({"valid": 1, **fields})

    def code(self, code: int) -> int:
        """Pack an answer to a command or an ABORT."""
        return self._code.pack({"valid": 1, "code": code})

    def record(self, launch: Launch, fate: FinalFate, code: int, clock: int) -> int:
        """Pack a launch's record (53)."""
        return self._record.pack(
            {
                "valid": 1,
                "ticket": launch.ticket,
                "code": code,
                "fate": fate,
                "kind": RecordKind.LAUNCH,
                "kills": launch.kills,
                "reset_as_drain": launch.reset_as_drain,
                "stream": launch.stream,
                "offered": launch.offered,
                "word2": launch.cycles,
                "word3": 0,
                "word4": 0,
                "accepted": launch.accepted,
                "first_offer": launch.first_offer,
                "made": clock,
            }
        )

    def preempt_record(self, preempt: Preempt, clock: int) -> int:
        """Pack a PREEMPT's record (58)."""
        fates = preempt.fates
        zeros = ("ticket", "fate", "kills", "reset_as_drain", "stream", "offered", "first_offer")
        return self._record.pack(
            {
                **dict.fromkeys(zeros, 0),
                "valid": 1,
                "code": ErrorCode.OK,
                "kind": RecordKind.PREEMPT,
                "word2": preempt.finished,
                "word3": fates[Fate.KILLED] | fates[Fate.DRAINED] << 16,
                "word4": fates[Fate.SKIPPED],
                "accepted": preempt.clock,
                "made": clock,
            }
        )

    def put_back(self, ticket: int, fate: int, block: Block) -> int:
        """Pack a put-back (35, 50)."""
        axes = dict(zip(("next_x", "next_y", "next_z"), block, strict=True))
        return self._put_back.pack({"valid": 1, "ticket": ticket, "fate": fate, **axes})

    def timeline(self, stream: int, count: int) -> int:
        """Pack a step of a timeline (10)."""
        return self._timeline.pack({"valid": 1, "stream": stream, "count": count})

    def stop(self, stops: list[int]) -> int:
        """Pack the stops of all places (43)."""
        return self._stop.pack({f"place{place}": stop for place, stop in enumerate(stops)})

    def configuration(self, launch: Launch) -> int:
        """Pack what stands at ``request`` (36)."""
        assert self._index_config is not None
        fields = {name: launch.fields[name] for name in ("dx", "dy", "dz", "warps")}
        return self._index_config.pack(fields | {"address": launch.fields["index_address"]})

    def launch(self, launch: Launch) -> int:
        """Pack what stands at ``launch`` (38); one that goes on waits for no launch there."""
        start = dict(zip(("start_x", "start_y", "start_z"), launch.start, strict=True))
        entries = (1 << launch.history) if self._config.makes_indices else 0
        own = {"ticket": launch.ticket, "entries": entries, **start}
        if launch.again:
            own["after_previous"] = 0
        fields: dict[str, int] = {}
        for field in self._launch.fields:
            value = own[field.name] if field.name in own else launch.fields[field.name]
            fields[field.name] = value & ((1 << field.bits) - 1)
        return self._launch.pack(fields)


def cause(*, broken: bool, no_sm: bool) -> tuple[FinalFate, int]:
    """Return fate and code of a launch that a job ends (26)."""
    if broken:
        return FinalFate.FAILED, ErrorCode.STREAM_BROKEN
    if no_sm:
        return FinalFate.FAILED, ErrorCode.NO_SM
    return FinalFate.ABORTED, ErrorCode.OK


def valid_waits(fields: Mapping[str, int], waits: int) -> list[tuple[int, int, int]]:
    """Return number, stream and 16-bit count of each valid pair."""
    return [
        (k, fields[f"wait{k}_stream"], fields[f"wait{k}_count"])
        for k in range(waits)
        if fields[f"wait{k}_valid"]
    ]
