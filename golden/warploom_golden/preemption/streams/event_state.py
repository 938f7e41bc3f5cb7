"""The state that the parts of the event model share, and how it changes at the end of a cycle."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from warploom_golden.preemption.streams.event_launch import InLine, Launch, Resident, Where
from warploom_golden.preemption.streams.event_log import FinalRecord, Log, PutBack, Step
from warploom_golden.preemption.streams.event_streams import Stream, View
from warploom_golden.replay.event_dispatcher import End
from warploom_spec import Config, Fate
from warploom_spec.queue import FinalFate, RecordKind

_CLOCK: Final = (1 << 32) - 1
_HALF_WORD: Final = 16


@dataclass
class Preempt:
    """The PREEMPT that is pending.

    Attributes
    ----------
    mask : set of int
        Its streams.
    accepted : int
        The clock when it was accepted.
    finished, killed, drained, skipped : int
        Launches that it met, by what became of them.
    """

    mask: set[int]
    accepted: int
    finished: int = 0
    killed: int = 0
    drained: int = 0
    skipped: int = 0


class EventState:
    """The state in one cycle, and what changes at its end.

    Parameters
    ----------
    config : Config
        Streams, priorities, entries.
    first_clock : int
        The clock in cycle 0.

    Attributes
    ----------
    cycle : int
        The cycle that is being stepped.
    streams : list of Stream
        All streams.
    entries : list of Launch or None
        The launch of each entry that is taken.
    stage : Launch or None
        The launch in the stage.
    line : list of InLine
        The line, the front first.
    places : list of Resident or None
        The launch of each place, also in the cycle in which its record is at ``ended``.
    ended : (Resident, End) or None
        What is at ``ended`` in this cycle.
    ending : (Resident, End) or None
        The end register.
    was_ending : bool
        Whether the end register was full in the cycle before.
    acting : Launch or None
        The launch that an ABORT acts on in this cycle.
    acted : Launch or None
        The same of the cycle before.
    picked : Stream or None
        The stream that a job looks at in this cycle.
    looked : bool
        Whether a job looked in the cycle before.
    no_sm : bool
        Whether no SM is left, as the register has it.
    preempt : Preempt or None
        The PREEMPT that is pending.
    view : View
        What the streams say in this cycle.
    made : bool
        Whether a record was made in this cycle.
    freed : list of Launch
        Launches whose entries are free from the next cycle on.
    log : Log
        All events so far.
    """

    def __init__(self, config: Config, first_clock: int):
        self.config = config
        self.first_clock = first_clock
        self.cycle = 0
        self.streams = [Stream(number) for number in range(1 << config.stream_bits)]
        count = config.queue_depth << config.priority_bits
        self.entries: list[Launch | None] = [None] * count
        self.stage: Launch | None = None
        self.line: list[InLine] = []
        self.places: list[Resident | None] = [None, None]
        self.ended: tuple[Resident, End] | None = None
        self.ending: tuple[Resident, End] | None = None
        self.was_ending = False
        self.acting: Launch | None = None
        self.acted: Launch | None = None
        self.picked: Stream | None = None
        self.looked = False
        self.no_sm = False
        self.preempt: Preempt | None = None
        self.view = View(self.streams, set(), False, self.cycle)
        self.made = False
        self.freed: list[Launch] = []
        self.log = Log()
        self._effects: list[Callable[[], None]] = []

    @property
    def clock(self) -> int:
        """The low half of the clock in this cycle."""
        return (self.first_clock + self.cycle) & _CLOCK

    def stream_of(self, launch: Launch) -> Stream:
        """Return a launch's stream."""
        return self.streams[launch.stream]

    def residents(self) -> Iterator[Resident]:
        """Yield the launches in places."""
        return (each for each in self.places if each is not None)

    def resident_of(self, launch: Launch) -> Resident | None:
        """Return a launch's place."""
        return next((each for each in self.residents() if each.launch is launch), None)

    def is_early(self, launch: Launch) -> bool:
        """Tell whether a launch is early (rule 30)."""
        return launch.chosen_ahead and bool(self.stream_of(launch).started)

    def is_displaced(self, launch: Launch) -> bool:
        """Tell whether a launch is early and displaced (rule 34)."""
        stream = self.stream_of(launch)
        if not self.is_early(launch):
            return False
        if any(True for _ in self.view.others(stream)):
            return True
        if any(self.blocks_ahead(each, stream) for each in self.on_line()):
            return True
        for own in stream.started:
            resident = self.resident_of(own)
            stopped = resident is not None and (resident.draining or resident.killing)
            if stopped or own.where in (Where.SUSPENDED, Where.STAGE, Where.LINE):
                return True
        return False

    def on_line(self) -> list[Launch]:
        """Return the launches in line and stage."""
        return [each.launch for each in self.line] + ([self.stage] if self.stage else [])

    def blocks_ahead(self, launch: Launch, stream: Stream) -> bool:
        """Tell whether a launch in stage or line keeps a stream from being ahead of its time."""
        other = launch.stream != stream.number
        same = launch.descriptor.priority == stream.priority
        return other and same and not self.is_early(launch)

    # --- what changes at the end of the cycle ----------------------------------------------------
    def later(self, effect: Callable[[], None]) -> None:
        """Let a change happen at the end of the cycle, after those that were asked for before."""
        self._effects.append(effect)

    def let_leave(self, stream: Stream, head: Launch, *, begins: bool) -> None:
        """Let a stream's head leave its list at the end of the cycle; it begins, or passes."""
        cycle, before_another = self.cycle, len(stream.items) > 1

        def leave() -> None:
            stream.leave_list(head)
            if before_another:
                stream.left_at = cycle
                stream.began_at = cycle if begins else stream.began_at

        self.later(leave)

    def settle(self) -> bool:
        """Let the cycle end; tell whether anything changed."""
        changed = bool(self._effects)
        for effect in self._effects:
            effect()
        self._effects.clear()
        return changed

    def put_back(self, launch: Launch, fate: Fate, next_block: int, end: End | None = None) -> None:
        """Tell of a launch that leaves stage, line or place unfinished, and count it."""
        self.count(launch, fate)
        offered, held = (end.offered, end.held) if end else (0, 0)
        row = PutBack(self.cycle + 1, launch.ticket, fate, next_block, offered, held)
        self.log.put_back.append(row)

    def count(self, launch: Launch, fate: Fate) -> None:
        """Count the fate of a launch that the pending PREEMPT met, once (rule 57)."""
        if not launch.met:
            return
        preempt = self.preempt
        assert preempt is not None
        name = fate.name.lower()
        if fate in (Fate.FINISHED, Fate.KILLED, Fate.DRAINED, Fate.SKIPPED):
            setattr(preempt, name, getattr(preempt, name) + 1)

        def forget() -> None:
            launch.met = False

        self.later(forget)

    def make_record(self, launch: Launch, fate: FinalFate, code: int, **changed: int) -> None:
        """Make a launch's final record in this cycle (rule 53)."""
        residence: dict[str, Any] = {
            "offered": launch.offered,
            "word2": launch.cycles,
            "first_offer": launch.first_offer,
            "reset_as_drain": launch.reset_as_drain,
        }
        self.send_record(
            FinalRecord(
                cycle=self.cycle + 1,
                ticket=launch.ticket,
                code=code,
                fate=fate,
                kills=launch.kills,
                stream=launch.stream,
                accepted=launch.accepted,
                made=self.clock,
                **(residence | changed),
            )
        )

    def make_preempt_record(self) -> None:
        """Make the pending PREEMPT's record in this cycle (rule 58)."""
        preempt = self.preempt
        assert preempt is not None
        self.send_record(
            FinalRecord(
                cycle=self.cycle + 1,
                ticket=0,
                kind=RecordKind.PREEMPT,
                word2=preempt.finished,
                word3=preempt.killed | preempt.drained << _HALF_WORD,
                word4=preempt.skipped,
                accepted=preempt.accepted,
                made=self.clock,
            )
        )

    def send_record(self, record: FinalRecord) -> None:
        """Note a record that is made in this cycle; there is at most one."""
        assert not self.made, f"two records are made in {self.cycle}"
        self.made = True
        self.log.records.append(record)

    def end_launch(self, launch: Launch) -> None:
        """Let a launch end: its entry is free from the next cycle on, and the timeline moves."""
        stream = self.stream_of(launch)

        def end() -> None:
            stream.unfinished.remove(launch)
            launch.started = False
            self.entries[launch.entry] = None
            latest = stream.latest()
            if latest != stream.timeline:
                stream.timeline = latest
                self.log.timeline.append(Step(self.cycle + 1, stream.number, latest))

        self.freed.append(launch)
        self.later(end)
