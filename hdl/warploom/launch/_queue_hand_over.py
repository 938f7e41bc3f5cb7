"""How launches go to the dispatcher and come back, and what commands do to them."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from warploom.launch._queue_line import QueueFlight, stays_held
from warploom.launch._queue_parts import QueueParts
from warploom.launch._queue_places import waits
from warploom.launch._queue_records import put_back_pulse
from warploom.launch._queue_shapes import any_of, spread
from warploom_spec.layouts import PLACES
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MAX_KILLS


def hand_over(m: Module, q: QueueParts) -> None:
    """Present configurations, and hand the front to the dispatcher."""
    ports, line, choice, memories = q.ports, q.line, q.choice, q.memories
    m.d.comb += [
        choice.line_full.eq(line.valid[1]),
        choice.started_entry.eq(q.started.of(m, choice.stage_number, choice.stage_slot)),
        memories.line_empty.eq(~line.valid[0]),
        memories.front_entry.eq(line.launch[0].entry),
        memories.stage_entry.eq(choice.stage_entry),
        memories.moves.eq(choice.moves),
        memories.request_entry.eq(line.request_entry),
        line.hands.eq(ports.launch.valid & ports.launch.ready),
    ]
    front, launch = line.launch[0], ports.launch.payload
    for name in memories.front.shape().members:
        if name not in ("base", "after_previous"):
            m.d.comb += launch[name].eq(memories.front[name])
    # A launch that goes on waits for none: the dispatcher must not hold it for a later one.
    m.d.comb += [
        launch.after_previous.eq(memories.front.after_previous & ~front.again),
        ports.launch_yields.eq(ports.launch.valid & (memories.front.mode == Mode.YIELD)),
        ports.launch_number.eq(spread(front.again, memories.front_progress.next_number)),
    ]
    for axis in "xyz":
        start = memories.front_progress[f"next_{axis}"]
        m.d.comb += launch[f"start_{axis}"].eq(spread(front.again, start))
    enters: Value = line.can_go
    if q.flight is None:
        m.d.comb += line.may_take_back.eq(~q.ends.valid)
        enters = (line.stays[0] & ~line.out[0]) | (~line.valid[0] & choice.moves)
    else:
        m.d.comb += launch.entries.eq(1 << front.history)
        fly(m, q, q.flight)
    m.d.sync += ports.launch.valid.eq(enters)


def fly(m: Module, q: QueueParts, flight: QueueFlight) -> None:
    """Connect the index generator."""
    ports, line, ends = q.ports, q.line, q.ends
    m.d.comb += [
        ports.decision.ready.eq(1),
        ports.request.valid.eq(flight.request_valid),
        ports.request.payload.eq(q.memories.request),
        ports.cancel.eq(flight.cancel),
        ports.release.valid.eq(flight.release_valid),
        ports.release.payload.eq(flight.release_entry),
        flight.transfers.eq(ports.request.valid & ports.request.ready),
        flight.decision.eq(ports.decision.valid),
        flight.decided_entry.eq(ports.decision.payload.entry),
        flight.end_prepared.eq(ends.valid & ends.launch.prepared),
        flight.end_history.eq(ends.launch.history),
        line.may_take_back.eq(flight.may_take_back & ~ends.valid),
    ]


def place(m: Module, q: QueueParts) -> None:
    """Give the launch that transfers a place; connect stops."""
    ports, line, places = q.ports, q.line, q.places
    memories, front, enters = q.memories, q.line.launch[0], q.places.enters
    body = memories.front
    for name in q.shape.handed():
        if name not in ("met", "held"):
            m.d.comb += enters[name].eq(front[name])
    m.d.comb += [
        enters.met.eq(front.met | (line.named[0] & q.choice.meets)),
        enters.held.eq(stays_held(front, q.choice) | (line.named[0] & q.choice.meets)),
        enters.prepared.eq(front.prepared | line.decides[0]),
        enters.history.eq(front.history),
        *(enters[name].eq(body[name]) for name in ("ticket", "base", "idempotent", "mode")),
        enters.may_kill.eq(~front.back | (memories.front_progress.kills < MAX_KILLS)),
        enters.aborted.eq(front.gone | (line.named[0] & q.choice.aborts)),
        places.hands.eq(line.hands),
        places.ended.eq(ports.ended.valid),
        places.ended_place.eq(ports.ended.payload.place),
        places.started.eq(ports.started),
        places.yields.eq(ports.yields),
        places.clock.eq(ports.clock),
        places.launch_timeout.eq(ports.launch_timeout),
        places.aborts.eq(
            Cat(q.abort.acts & (launch.entry == q.abort.entry) for launch in places.launch)
        ),
        ports.ended.ready.eq(1),
    ]
    m.d.sync += [ports.stop[f"place{p}"].eq(places.stops[p]) for p in range(PLACES)]


def end(m: Module, q: QueueParts) -> None:
    """Take the dispatcher's records; read what is kept of a launch."""
    ports, ends, places, memories = q.ports, q.ends, q.places, q.memories
    jobs, abort, ended = q.jobs, q.abort, q.ports.ended
    m.d.comb += [
        ends.arrives.eq(ended.valid),
        ends.place.eq(Mux(ended.payload.place, places.changed[1], places.changed[0])),
        *(ends.record[name].eq(ended.payload[name]) for name in ("fate", "code", "cycles")),
        *(ends.record[name].eq(ended.payload[name]) for name in q.shape.start()),
        ends.record.next_number.eq(ports.ended_number),
        memories.record_entry.eq(
            Mux(ended.valid, ends.place.entry, Mux(jobs.looks, jobs.entry, abort.entry))
        ),
        ends.first_offer.eq(places.first_offer),
        memories.comes_back.eq(ends.puts_back),
        memories.back_entry.eq(ends.launch.entry),
        memories.progress.eq(ends.kept),
        memories.start_moves.eq(ends.start_moves),
        ends.known.eq(memories.record_history),
        ends.old_start.eq(memories.record_start),
        ends.is_known.eq(
            Mux(ends.valid, ends.launch.back, Mux(jobs.over, jobs.over_back, q.records.abort_back))
        ),
    ]
    put_back(m, q, ports)


def put_back(m: Module, q: QueueParts, ports: Any) -> None:
    """Announce a launch that comes back; the line's last launch has a word of its own."""
    line, memories = q.line, q.memories
    known = line.takes_back[0] & line.known
    ticket = Mux(known, memories.front.ticket, memories.last_ticket.ticket)
    start = {
        name: Mux(known, memories.front_progress[name], memories.last_progress[name])
        for name in q.shape.start()
    }
    put_back_pulse(
        m,
        ports.put_back,
        q.ends,
        memories.record.ticket,
        line,
        ticket,
        start,
    )


def command(m: Module, q: QueueParts) -> None:
    """Connect commands; say which launches a PREEMPT has met."""
    ports, commands, streams = q.ports, q.commands, q.streams
    line, places, ends, choice = q.line, q.places, q.ends, q.choice
    events = streams.events
    met = [
        choice.stage_valid & choice.stage_met,
        *(line.valid[k] & launch.met for k, launch in enumerate(line.launch)),
        *(places.valid[p] & launch.met for p, launch in enumerate(places.launch)),
        ends.valid & ends.launch.met,
    ]
    waiting = [
        places.valid[p] & launch.met & waits(launch) & launch.begun & ~launch.killing
        for p, launch in enumerate(places.launch)
    ]
    taken = line.takes_back.any() & line.taken.met
    m.d.comb += [
        commands.clock.eq(ports.clock),
        commands.record_left.eq(q.room.record_left),
        commands.met_here.eq(any_of(met)),
        commands.wait_here.eq(any_of(waiting)),
        commands.put_back.eq((ends.puts_back & ends.launch.met) | taken),
        commands.put_fate.eq(Mux(ends.valid, ends.result.fate, 3)),
        commands.finished.eq(ends.finished & ends.launch.met),
        choice.names.eq(ports.command.mask),
        choice.resumes.eq(commands.acts),
        choice.meets.eq(commands.accepts),
        choice.aborts.eq(commands.aborts.any()),
        events.holds.eq(commands.preempts),
        events.asks_resume.eq(commands.resumes),
        events.resumes.eq(commands.acts),
        events.aborts.eq(commands.aborts),
        ports.command_answer.valid.eq(commands.answer_valid),
        ports.command_answer.code.eq(commands.answer_code),
    ]


def abort_one(m: Module, q: QueueParts) -> None:
    """Connect the ABORT's search."""
    ports, abort, places, free = q.ports, q.abort, q.places, q.free
    acceptance, memories = q.acceptance, q.memories
    m.d.sync += [
        abort.entered.eq(acceptance.accepts),
        abort.entered_entry.eq(free.entry),
    ]
    m.d.comb += [
        abort.valid.eq(ports.abort.valid),
        ports.abort.ready.eq(abort.ready),
        abort.ticket.eq(ports.abort.payload.ticket),
        ports.abort_answer.valid.eq(abort.answer_valid),
        ports.abort_answer.code.eq(abort.answer_code),
        abort.entered_ticket.eq(ports.answer.ticket),
        abort.taken.eq(free.read(free.taken, abort.entry)),
        abort.ended.eq(free.read(free.ended, abort.entry)),
        abort.found_ticket.eq(memories.search.ticket),
        memories.searched.eq(abort.entry),
        abort.found_number.eq(memories.search_number),
        memories.search_entry.eq(abort.search_entry),
    ]
    for p, launch in enumerate(places.launch):
        m.d.comb += [
            abort.in_place[p].eq(places.valid[p] & (launch.ticket == abort.held_ticket)),
            abort.place_entry[p].eq(launch.entry),
            abort.place_number[p].eq(launch.number),
        ]


def finish(m: Module, q: QueueParts) -> None:
    """Connect what is coming back, broken streams, the soft reset, and `idle`."""
    ports, streams, line, ends = q.ports, q.streams, q.line, q.ends
    events, choice, abort = streams.events, q.choice, q.abort
    count = q.shape.streams
    # From what is so in the next cycle: the choice begins with these two.
    goes_on = Signal(count, name="goes_on")
    will_come = [
        # A place's launch is stopped, or goes to the end register.
        q.places.coming(),
        *(
            spread(line.stays[k] & line.out[k], launch.stream)
            for k, launch in enumerate(line.launch)
        ),
    ]
    will_go_on = [
        spread(choice.again, choice.chosen),
        # It stays in the stage, or moves to the line.
        spread(choice.stage_valid & choice.stage_again, choice.stage_stream),
        *(
            spread(line.stays[k] & launch.again, launch.stream)
            for k, launch in enumerate(line.launch)
        ),
    ]
    m.d.sync += goes_on.eq(events.goes_on)
    flight_idle = 1 if q.flight is None else q.flight.idle
    m.d.sync += streams.closed.eq(ports.soft_reset_active)
    m.d.comb += [
        events.comes.eq(any_of(will_come)),
        events.goes_on.eq(any_of(will_go_on)),
        events.aborting.eq(abort.acting),
        streams.closes.eq(ports.soft_reset_active),
        line.displaced_streams.eq(streams["any_suspended"] | q.places.displacing() | goes_on),
        events.chosen.eq(choice.chosen),
        events.again.eq(choice.again),
        streams.no_sm.eq(ports.no_sm),
        events.breaks.eq(spread(ends.breaks, ends.launch.stream)),
        events.mends.eq(
            spread(
                ports.clear_stream.valid,
                Cat(ports.clear_stream.stream == s for s in range(count)),
            )
        ),
        q.records.clock.eq(ports.clock),
        ports.idle.eq(
            q.room.nothing & ~q.commands.pending & abort.ready & flight_idle & ~ports.record.valid
        ),
    ]
