"""Queues of launches, a stream each: waits, preparation, preemption and final records."""

from typing import Any

from amaranth.hdl import C, Cat, Module, ResetInserter, Signal
from amaranth.lib import wiring

from warploom.launch.free_entries import FreeEntries, RecordPlaces
from warploom.launch.head_choice import HeadChoice
from warploom.launch.launch_inbox import LaunchInbox
from warploom.launch.launch_pairs import LaunchPairs
from warploom.launch.look_rounds import LookRounds
from warploom.launch.pending_preempt import PendingPreempt
from warploom.launch.preemption import Preemption
from warploom.launch.preparation import Preparation
from warploom.launch.queue_engine import (
    ABORT,
    ACCEPT,
    COMMAND,
    END,
    EVENTS,
    LATE,
    LOOK,
    PREEMPT,
    QueueEngine,
)
from warploom.launch.queue_events import QueueEvents
from warploom.launch.queue_ports import queue_ports
from warploom.launch.queue_states import QueueStates
from warploom.launch.record_writer import RecordWriter
from warploom.launch.run_times import RunTimes
from warploom.launch.stream_counts import StreamCounts
from warploom.launch.stream_rows import StreamRows
from warploom.launch.stream_walk import StreamWalk
from warploom.launch.ticket_search import TicketSearch
from warploom.lib.pipes import held
from warploom_spec import Config, layouts
from warploom_spec.queue import Mode


def _same(target: Any, source: Any, *names: str) -> list[Any]:
    """Return statements that give ports of a part the values of another's with the same names."""
    return [getattr(target, name).eq(getattr(source, name)) for name in names]


class KernelQueue(wiring.Component):
    """Keep accepted launches by stream, make heads resident, and end each with one record.

    Ports and the exact machine: ``docs/launch/kernel_queue.md``. One event is served at a time;
    a launch that is taken at ``checked`` in t has its request in t + 7 on an idle machine.

    Parameters
    ----------
    config : Config
        Streams, priorities, entries and waits.
    first_ticket : int, optional
        The first ticket, for tests of its wrap.
    first_count : int, optional
        First count of each stream, for tests of its wrap.
    """

    def __init__(self, config: Config, *, first_ticket: int = 1, first_count: int = 0) -> None:
        self._config, self._first_ticket = config, first_ticket
        self._first_count = first_count
        super().__init__(queue_ports(config))

    def elaborate(self, platform: object) -> Module:
        del platform
        m = self._m = Module()
        config = self._config
        ports: Any = self

        def part(name: str, component: Any) -> Any:
            """Add a part that a restart resets."""
            m.submodules[name] = ResetInserter({"sync": ports.restart})(component)
            return component

        m.submodules.places = self._places = RecordPlaces(config)
        self._engine: Any = part("engine", QueueEngine(config))
        self._rounds: Any = part("look_rounds", LookRounds(config))
        self._entries: Any = part("free_entries", FreeEntries(config))
        self._inbox: Any = part("inbox", LaunchInbox(config))
        self._rows: Any = part("rows", StreamRows(config))
        self._counts: Any = part("counts", StreamCounts(config, self._first_count))
        self._pairs: Any = part("pairs", LaunchPairs(config))
        self._events: Any = part("events", QueueEvents(config))
        self._states: Any = part("states", QueueStates(config))
        self._choice: Any = part("choice", HeadChoice(config))
        self._preparation: Any = part("preparation", Preparation(config))
        self._preemption: Any = part("preemption", Preemption(config))
        self._pending: Any = part("pending_preempt", PendingPreempt(config))
        self._times: Any = part("run_times", RunTimes(config))
        self._walk: Any = part("walk", StreamWalk(config))
        self._search: Any = part("ticket_search", TicketSearch(config))
        self._writer: Any = part("record_writer", RecordWriter(config))
        self._closed = held(m, "closed", ports.soft_reset_active, clear=ports.restart)
        self._no_sm = held(m, "no_sm_then", ports.no_sm, clear=ports.restart)
        self._ticket: Signal = Signal(
            layouts.TICKET_BITS, name="next_ticket", init=self._first_ticket
        )
        self._comes_in(m)
        self._engine_wants(m)
        self._row(m)
        self._judge(m)
        self._head(m)
        self._preempt(m)
        self._commands(m)
        self._records(m)
        self._idle(m)
        return m

    def _at(self, event: Any) -> Any:
        """Return the event's stream, one-hot, while ``event`` is 1."""
        return self._engine.chosen & event.replicate(len(self._engine.chosen))

    def _comes_in(self, m: Module) -> None:
        """Connect entries, places and the inbox."""
        ports: Any = self
        inbox, entries, events, places = self._inbox, self._entries, self._events, self._places
        wiring.connect(m, wiring.flipped(ports.checked), inbox.checked)
        m.d.comb += [
            *_same(entries, self._engine, "boot", "row"),
            entries.sent.eq(ports.sent.valid),
            entries.sent_priority.eq(ports.sent.priority),
            entries.looks.eq(inbox.looks),
            entries.takes.eq(inbox.comes),
            entries.priority.eq(ports.checked.payload.priority),
            *_same(entries, events, "gives", "given"),
            *_same(ports, entries, "pace", "room"),
            places.sent.eq(ports.sent.valid),
            places.preempts.eq(self._walk.preempted),
            places.refused.eq(events.refuses),
            places.taken.eq(ports.record_taken),
            ports.records_left.eq(places.left),
            inbox.ticket.eq(self._ticket),
            inbox.free_entry.eq(entries.entry),
            inbox.accepted.eq(self._engine.last[ACCEPT]),
            inbox.fetch.eq(ports.fetch),
            inbox.plan_entry.eq(self._preparation.plan_entry),
            ports.words.eq(inbox.words),
        ]
        with m.If(events.accepts):
            # 0 is no ticket: after the highest comes 1.
            m.d.sync += self._ticket.eq(self._ticket + 1 + self._ticket.all())

    def _engine_wants(self, m: Module) -> None:
        """Connect what is wanted, and of which stream."""
        ports: Any = self
        engine, busy = self._engine, self._writer.busy
        wants = {
            ACCEPT: self._inbox.full & ~self._walk.walking & ~engine.last[ACCEPT],
            END: ports.ended.valid,
            COMMAND: self._walk.wants,
            ABORT: self._search.hit,
            LATE: self._times.late,
            LOOK: self._rounds.valid,
            PREEMPT: self._pending.due,
        }
        can = {
            END: ~self._writer.busy_at_end,
            ABORT: ~busy,
            PREEMPT: ~busy,
        }
        streams = {
            ACCEPT: self._inbox.stream,
            END: ports.ended.payload.stream,
            COMMAND: self._walk.stream,
            ABORT: self._search.stream,
            LATE: self._times.late_stream,
            LOOK: self._rounds.stream,
        }
        m.d.comb += [
            engine.has_pair.eq(self._pairs.has_pair),
            ports.ended.ready.eq(engine.pick[END]),
            self._rounds.picked.eq(engine.pick[LOOK]),
            self._rounds.sets.eq(
                self._at(self._events.looks)
                | (self._counts.waiters & self._events.passes.replicate(len(engine.chosen)))
            ),
        ]
        for k in range(len(EVENTS)):
            m.d.comb += [
                engine.wants[k].eq(wants[k]),
                engine.can[k].eq(can.get(k, 1)),
                engine.streams[k].eq(streams.get(k, 0)),
            ]

    def _row(self, m: Module) -> None:
        """Connect the row of the event's stream, its counts and pairs."""
        ports: Any = self
        engine, rows, counts = self._engine, self._rows, self._counts
        pairs, events, inbox = self._pairs, self._events, self._inbox
        launch = ports.checked.payload
        history = self._preparation
        m.d.comb += [
            rows.stream.eq(engine.stream),
            rows.reads.eq(engine.step[0]),
            *_same(rows, events, "writes_head", "next_head"),
            rows.writes_tail.eq(events.accepts),
            rows.next_tail.eq(events.next_tail),
            rows.writes_state.eq(engine.boot | events.writes_state),
            rows.next_state.eq(events.next_state),
            rows.starts.eq(history.starts.any()),
            rows.started_stream.eq(history.start.payload.stream),
            rows.started_history.entry.eq(history.entry),
            rows.started_history.drains.eq((history.mode == Mode.RESET) & ~history.idempotent),
            rows.asked_stream.eq(self._choice.stream),
            *_same(counts, engine, "boot", "stream", "chosen"),
            counts.reads.eq(engine.step[0]),
            counts.asked.eq(pairs.asked),
            *_same(counts, events, "accepts", "passes", "waits"),
            *_same(counts, pairs, "awaited", "awaited_row"),
            pairs.comes.eq(inbox.comes),
            pairs.accepting.eq(engine.serves[ACCEPT]),
            pairs.looking.eq(engine.serves[LOOK]),
            *_same(pairs, engine, "step", "stream"),
            pairs.entry.eq(inbox.entry),
            *_same(pairs, rows, "head_now", "head"),
            pairs.links.eq(events.links),
            pairs.tail.eq(rows.tail.entry),
            pairs.dies.eq(events.dies),
            pairs.dead_entry.eq(self._search.entry),
            *_same(pairs, counts, "accepted_now", "timeline_now", "waiters_now"),
        ]
        for k in range(self._config.launch_waits):
            m.d.comb += [
                pairs.pairs[k][name].eq(launch[f"wait{k}_{name}"])
                for name in ("valid", "stream", "count")
            ]

    def _judge(self, m: Module) -> None:
        """Connect what an event asks, and what it says."""
        ports: Any = self
        engine, events, rows, pairs = self._engine, self._events, self._rows, self._pairs
        inbox, ended = self._inbox, ports.ended.payload
        run = {
            name: Signal.like(getattr(events, name), name=f"run_{name}")
            for name in ("fate", "code", "offered", "was_held")
        }
        with m.If(engine.pick[END]):
            m.d.sync += [
                run["fate"].eq(ended.fate),
                run["code"].eq(ended.code),
                run["offered"].eq(ports.begun.bit_select(ended.stream, 1)),
                run["was_held"].eq(self._preemption.was_held.bit_select(ended.stream, 1)),
            ]
        m.d.comb += [
            *(getattr(events, name).eq(value) for name, value in run.items()),
            *_same(events, engine, "serves", "last", "step", "stream", "chosen"),
            events.closed.eq(self._closed),
            events.no_sm.eq(self._no_sm),
            *_same(events, rows, "head", "tail", "state", "history"),
            *_same(events, pairs, "link", "dead", "unreached", "ahead", "ahead_pair"),
            events.accepted.eq(self._counts.accepted),
            *_same(events, inbox, "entry", "priority", "error", "argument"),
            events.ticket.eq(self._ticket),
            events.preparing.eq(self._preparation.preparing),
            events.resident.eq(self._states.resident),
            *_same(events, self._walk, "clears", "aborts"),
            events.aborted_entry.eq(self._search.entry),
            events.writer_busy.eq(self._writer.busy),
            ports.answer.eq(events.answer),
        ]
        m.d.sync += [
            ports.timeline.valid.eq(events.passes),
            ports.timeline.stream.eq(engine.stream),
            ports.timeline.count.eq(self._counts.timeline),
            ports.killed.valid.eq(events.again),
            ports.killed.stream.eq(engine.stream),
        ]

    def _head(self, m: Module) -> None:
        """Connect choice, preparation and what is known of each stream."""
        ports: Any = self
        engine, events, states = self._engine, self._events, self._states
        choice, preparation = self._choice, self._preparation
        # A PREEMPT is of no stream.
        serving = engine.serves[:PREEMPT].any()
        frees: Any = C(0, 1)
        if self._config.makes_indices:
            for name in ("request", "decision"):
                port = wiring.flipped(getattr(ports, name))
                wiring.connect(m, getattr(preparation, name), port)
            m.d.comb += [
                preparation.needs_release.eq(ports.needs_release),
                ports.cancel.eq(preparation.cancel),
            ]
            m.d.sync += [
                ports.release.valid.eq(events.ends),
                ports.release.payload.eq(self._rows.history.entry),
            ]
            frees = ports.release.valid | ports.made
        wiring.connect(m, preparation.start, wiring.flipped(ports.start))
        m.d.comb += [
            states.chosen.eq(engine.chosen),
            *_same(states, events, "sets_ready", "clears_ready", "sets_live", "clears_live"),
            *_same(states, events, "passes", "ends", "accepts"),
            states.priority.eq(self._inbox.priority),
            states.enters.eq(choice.chosen & choice.enters.replicate(len(choice.chosen))),
            *_same(states, preparation, "returns", "starts"),
            states.frees.eq(frees),
            choice.asks.eq(states.ready & ~self._preemption.held & ~states.tried),
            choice.empties.eq(preparation.empties),
            choice.serving.eq(serving),
            choice.served.eq(engine.stream),
            *_same(preparation, choice, "enters", "chosen"),
            preparation.chosen_stream.eq(choice.stream),
            preparation.chosen_entry.eq(self._rows.asked_head.entry),
            preparation.plan.eq(self._inbox.plan),
        ]
        for s in range(len(states.ready)):
            m.d.comb += [
                choice.priorities[s].eq(states.priorities[s]),
                self._preemption.priorities[s].eq(states.priorities[s]),
            ]

    def _preempt(self, m: Module) -> None:
        """Connect hold and stop, a PREEMPT's record, and the runs' times."""
        ports: Any = self
        events, states, preemption = self._events, self._states, self._preemption
        pending, times, walk = self._pending, self._times, self._walk
        preparation = self._preparation
        m.d.comb += [
            *_same(preemption, states, "live", "stuck", "resident"),
            preemption.begun.eq(ports.begun),
            *_same(preemption, preparation, "starts", "mode", "idempotent"),
            preemption.kills.eq(self._rows.kills),
            preemption.stops.eq(self._at(events.stops)),
            *_same(preemption, walk, "preempts", "resumes"),
            *_same(ports, preemption, "hold", "stop"),
            pending.asks.eq(walk.preempts),
            pending.accepted.eq(walk.preempted),
            pending.resumes.eq(walk.resumes),
            pending.resident.eq(states.resident),
            pending.ends.eq(self._at(events.ends)),
            *_same(pending, events, "finished", "again"),
            pending.hold.eq(preemption.hold),
            *_same(pending, ports, "open", "busy", "begun"),
            pending.killable.eq(preemption.killable),
            pending.visited.eq(times.visited),
            pending.picked.eq(self._engine.pick[PREEMPT]),
            pending.made.eq(self._writer.made_preempt),
            times.limit.eq(ports.launch_timeout),
            times.resident.eq(states.resident),
            times.begun.eq(ports.begun),
            times.hold.eq(preemption.hold),
            times.yields.eq(ports.yields),
            times.starts.eq(preparation.starts),
            times.ends.eq(events.ends),
            times.ended.eq(self._engine.stream),
            times.picked.eq(self._engine.pick[LATE]),
        ]

    def _commands(self, m: Module) -> None:
        """Connect the walk and the search."""
        ports: Any = self
        engine, walk, search = self._engine, self._walk, self._search
        wiring.connect(m, wiring.flipped(ports.command), walk.command)
        wiring.connect(m, wiring.flipped(ports.clear_stream), walk.clear_stream)
        wiring.connect(m, wiring.flipped(ports.abort), search.abort)
        given = held(m, "given_entry", self._events.given)
        m.d.comb += [
            ports.command_answer.eq(walk.answer),
            walk.closed.eq(self._closed),
            walk.no_sm.eq(self._no_sm),
            walk.records_left.eq(ports.records_left),
            walk.pending.eq(self._pending.pending),
            walk.held.eq(self._preemption.held),
            walk.picked.eq(engine.pick[COMMAND]),
            walk.last.eq(engine.last[COMMAND]),
            ports.abort_answer.eq(search.answer),
            search.writer_busy.eq(self._writer.busy),
            *_same(search, self._writer, "matches", "found_stream"),
            search.gave.eq(self._entries.gave),
            search.given.eq(given),
            search.picked.eq(engine.pick[ABORT]),
            search.last.eq(engine.last[ABORT]),
        ]

    def _records(self, m: Module) -> None:
        """Connect the writer of records."""
        ports: Any = self
        engine, events, writer = self._engine, self._events, self._writer
        m.d.comb += [
            writer.boot.eq(engine.boot),
            writer.boot_entry.eq(engine.row[: len(writer.boot_entry)]),
            writer.clock.eq(ports.clock),
            writer.comes.eq(self._inbox.comes),
            writer.accepts.eq(events.accepts),
            writer.entry.eq(
                Cat(
                    (a & self._inbox.comes) | (b & ~self._inbox.comes)
                    for a, b in zip(self._entries.entry, self._inbox.entry, strict=True)
                )
            ),
            writer.ticket.eq(self._ticket),
            writer.stream.eq(engine.stream),
            *_same(writer, events, "records", "retires"),
            writer.head.eq(events.record),
            writer.takes_first.eq(engine.serves[END] & engine.step[1]),
            writer.ended_first.eq(ports.ended_first),
            writer.takes_cycles.eq(engine.last[END]),
            writer.ended_cycles.eq(ports.ended_cycles),
            writer.preempts.eq(self._walk.preempted),
            writer.number.eq(self._search.number),
            writer.wanted.eq(ports.abort.payload.ticket),
            ports.record.eq(writer.record),
        ]
        for count, wanted in zip(writer.counts, self._pending.counts, strict=True):
            m.d.comb += count.eq(wanted)

    def _idle(self, m: Module) -> None:
        """Say that nothing is here."""
        ports: Any = self
        busy = [
            ~self._entries.all_free,
            self._pending.pending,
            ~self._search.idle,
            ~self._walk.idle,
            ~self._preparation.empty,
            self._inbox.full,
            self._writer.busy,
            ports.record.valid,
            self._engine.boot,
        ]
        if self._config.makes_indices:
            busy.append(ports.release.valid)
        m.d.comb += ports.idle.eq(~Cat(busy).any())
