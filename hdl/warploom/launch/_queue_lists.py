"""How launches enter KernelQueue's lists, leave them, and end."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from warploom.launch._queue_parts import QueueParts
from warploom.launch._queue_shapes import any_of, hit, looked_up, new_memory, read_later, spread
from warploom.launch._queue_timelines import waits_to_keep
from warploom_spec.queue_packets import COUNT_BITS, WAIT_BITS


def accept(m: Module, q: QueueParts) -> None:
    """Judge a launch, and answer."""
    ports, acceptance, room = q.ports, q.acceptance, q.room
    counts = q.accepted
    priority_of_freed = q.free.freed_entry[(q.shape.depth - 1).bit_length() :]
    m.d.comb += [
        q.free.priority.eq(acceptance.priority),
        acceptance.full.eq(q.free.full),
        acceptance.records_full.eq(room.records_full),
        acceptance.ahead.eq(counts.ahead),
        counts.enters.eq(acceptance.accepts),
        counts.number.eq(acceptance.number),
        counts.stream.eq(acceptance.stream),
        counts.next_number.eq(acceptance.next_sent.stream),
        room.sent.eq(ports.sent.valid),
        room.sent_priority.eq(Cat(ports.sent.priority == p for p in range(q.shape.priorities))),
        room.refused.eq(acceptance.refuses),
        room.refused_priority.eq(acceptance.priority),
        room.accepts.eq(acceptance.accepts),
        room.preempts.eq(q.commands.accepts),
        room.taken.eq(ports.record_taken),
        room.freed.eq(q.free.freed),
        room.freed_priority.eq(Cat(priority_of_freed == p for p in range(q.shape.priorities))),
        ports.room.eq(room.room),
    ]
    for k, (valid, its_stream, count) in enumerate(counts.next_pairs):
        sent = acceptance.next_sent
        m.d.comb += [
            valid.eq(sent[f"wait{k}_valid"]),
            its_stream.eq(sent[f"wait{k}_stream"]),
            count.eq(sent[f"wait{k}_count"]),
        ]
    for (_, its_stream, count), (number, low) in zip(
        counts.next_pairs, q.timelines.next_pairs, strict=True
    ):
        m.d.comb += [number.eq(its_stream), low.eq(count)]
    accepts, answer = acceptance.accepts, ports.answer
    m.d.sync += [
        answer.valid.eq(ports.checked.valid),
        answer.ticket.eq(spread(accepts, room.ticket)),
        answer.code.eq(acceptance.code),
        answer.argument.eq(acceptance.argument),
        answer.count.eq(spread(accepts, counts.following[: len(answer.count)])),
    ]


def enter(m: Module, q: QueueParts) -> None:
    """Let an accepted launch take an entry, and enter its stream's list."""
    ports, acceptance, memories = q.ports, q.acceptance, q.memories
    accepts, entry = acceptance.accepts, q.free.entry
    checked, events = ports.checked, q.streams.events
    reached = q.timelines.reached
    waits = any_of(checked[f"wait{k}_valid"] & ~reached[k] for k in range(q.shape.waits))
    m.d.comb += [
        q.free.accept.eq(accepts),
        memories.arrives.eq(checked.valid & ~q.free.full),
        memories.entry.eq(entry),
        memories.accepted_at.eq(ports.clock),
        memories.body.ticket.eq(q.room.ticket),
        memories.body.base.eq(q.accepted.count),
        q.next.accept.eq(accepts),
        q.next.entry.eq(entry),
        q.next.number.eq(acceptance.number),
        q.next.not_empty.eq(hit(acceptance.stream, q.streams["has"])),
        q.streams.enters_priority.eq(acceptance.priority),
        events.enters.eq(spread(accepts, acceptance.stream)),
        events.enters_ready.eq(~waits),
        events.enters_after.eq(checked.after_previous),
    ]
    for name in memories.body.shape().members:
        if name not in ("ticket", "base"):
            m.d.comb += memories.body[name].eq(checked[name])
    keep_waits(m, q, accepts, entry)


def keep_waits(m: Module, q: QueueParts, accepts: Signal, entry: Signal) -> None:
    """Write a launch's waits one cycle after its acceptance; read those of a job's head."""
    shape, checked = q.shape, q.ports.checked
    memory = new_memory(m, "waits", shape.waiting(), shape.entries)
    write = memory.write_port()
    after = Signal(name="waits_after")
    enters = Signal(name="waits_enter")
    where = Signal(shape.entry_bits, name="waits_entry")
    pairs = []
    for k in range(shape.waits):
        valid, count = Signal(name=f"waits_valid_{k}"), Signal(WAIT_BITS, name=f"waits_low_{k}")
        its_stream = Signal(shape.config.stream_bits, name=f"waits_stream_{k}")
        m.d.sync += [
            valid.eq(checked[f"wait{k}_valid"]),
            its_stream.eq(checked[f"wait{k}_stream"]),
            count.eq(checked[f"wait{k}_count"]),
        ]
        pairs.append((valid, its_stream, count))
    m.d.sync += [enters.eq(accepts), where.eq(entry), after.eq(checked.after_previous)]
    word = waits_to_keep(pairs, q.accepted.high, after)
    m.d.comb += [
        write.addr.eq(where),
        write.en.eq(enters),
        *(write.data[name].eq(value) for name, value in word.items()),
        q.timelines.heads.eq(read_later(m, memory, q.jobs.head)),
    ]


def lists(m: Module, q: QueueParts) -> None:
    """Tell each list which head leaves, and what comes behind it."""
    streams, places, jobs, free = q.streams, q.places, q.jobs, q.free
    first = [places.begins[p] & ~launch.again for p, launch in enumerate(places.launch)]
    begins = Signal(name="head_begins")
    # At most one head begins in a cycle.
    its = {
        name: Mux(first[1], places.launch[1][name], places.launch[0][name])
        for name in ("stream", "number", "entry", "base")
    }
    m.d.comb += [
        begins.eq(first[0] | first[1]),
        streams.begins.eq(
            any_of(spread(first[p], launch.stream) for p, launch in enumerate(places.launch))
        ),
        # The slot is 0 if it is free.
        places.begin_slot.eq(~hit(its["stream"], streams["first_free"])),
        q.bases.begins.eq(begins),
        q.bases.number.eq(its["number"]),
        q.bases.slot.eq(places.begin_slot),
        q.bases.base.eq(its["base"]),
        q.started.begins.eq(begins),
        q.started.number.eq(its["number"]),
        q.started.slot.eq(places.begin_slot),
        q.started.entry.eq(its["entry"]),
    ]
    leavers = [
        (streams.begins, begins, its["stream"], its["number"], its["entry"]),
        (
            jobs.passing,
            jobs.passes,
            jobs.picked,
            jobs.number,
            jobs.head,
        ),
    ]
    m.d.sync += streams.new_heads.eq(streams["first"])
    followings: list[Signal] = []
    for k, (leaves, leaves_any, stream, number, entry) in enumerate(leavers):
        # What comes behind is looked up, and written, in the cycle after: nobody reads it before
        # but a job, which gets it at once.
        following = Signal(q.shape.entry_bits, name=f"next_entry_{k}")
        left, behind = Signal(q.shape.streams, name=f"left_{k}"), Signal(name=f"left_any_{k}")
        left_entry = Signal(q.shape.entry_bits, name=f"left_entry_{k}")
        followings.append(following)
        # The job lets what came behind a leaver pass at once: what comes behind that counts.
        again = hit(left, jobs.passing)
        m.d.sync += [
            left.eq(leaves),
            behind.eq(leaves_any),
            left_entry.eq(entry),
            q.heads.number[k + 1].eq(number),
        ]
        m.d.comb += [
            following.eq(q.next.after(m, left_entry)),
            streams.leaves[k].eq(leaves),
            # Where a list's only launch leaves, an accepted one is its head.
            streams.left[k].eq(left & ~streams.new_heads),
            streams.next_ended[k].eq(free.ended_next(following)),
            q.heads.writes[k + 1].eq(
                behind & hit(left, ~streams.new_heads & streams["has"]) & ~again
            ),
            q.heads.entry[k + 1].eq(following),
            streams.meets_boundary[k].eq(
                q.boundaries.meets(
                    m,
                    number,
                    entry,
                    hit(stream, streams.at_tail),
                    hit(stream, streams["single"]),
                )
            ),
        ]
    # A job may look at what comes behind a begin in the next cycle: whether it has ended.
    behind_begin = q.next.after(m, its["entry"])
    m.d.sync += streams.next_had_ended.eq(free.ended_next(behind_begin))
    load_behind_begin(m, q, behind_begin)
    stream = q.acceptance.stream
    m.d.comb += [
        q.heads.writes[0].eq(
            q.acceptance.accepts
            & hit(
                q.acceptance.stream,
                ~streams["has"] | (streams["single"] & streams["leaves_any"]),
            )
        ),
        q.heads.number[0].eq(q.acceptance.number),
        q.heads.entry[0].eq(free.entry),
        q.boundaries.keeps.eq(
            q.acceptance.accepts & hit(stream, streams.at_tail | streams.events.aborts)
        ),
        q.boundaries.number.eq(q.acceptance.number),
        q.boundaries.entry.eq(q.next.tail),
        jobs.head.eq(
            Mux(
                hit(jobs.picked, streams.left[0]),
                followings[0],
                Mux(
                    hit(jobs.picked, streams.left[1]),
                    followings[1],
                    q.heads.of(m, jobs.number),
                ),
            )
        ),
        streams.ends_slot.eq(q.ends.launch.slot),
        q.choice.head.eq(q.heads.of(m, q.choice.stage_number)),
    ]


def load_behind_begin(m: Module, q: QueueParts, entry: Value) -> None:
    """Load a head that comes behind a begin at once, if it keeps no pair.

    It is looked up in the cycle of the begin, and loaded in the next one.
    """
    checked = q.ports.checked
    kinds = data.StructLayout({"plain": 1, "after_previous": 1})
    memory = new_memory(m, "plain_launches", kinds, q.shape.entries)
    write = memory.write_port()
    found = looked_up(m, memory, entry)
    plain = Signal(name="next_is_plain")
    events = q.streams.events
    m.d.comb += [
        write.addr.eq(q.free.entry),
        write.en.eq(q.acceptance.accepts),
        write.data.plain.eq(events.enters_ready),
        write.data.after_previous.eq(checked.after_previous),
        events.next_loads.eq(spread(plain, q.streams.left[0])),
    ]
    m.d.sync += [plain.eq(found.plain), events.next_after.eq(found.after_previous)]


def load(m: Module, q: QueueParts) -> None:
    """Load heads, and let them know of timelines."""
    streams, jobs, timelines = q.streams, q.jobs, q.timelines
    m.d.comb += [
        jobs.busy.eq(q.ports.ended.valid),
        jobs.suspended_entry.eq(q.started.of(m, jobs.number, jobs.slot)),
        timelines.loading.eq(jobs.loading[1]),
        timelines.leaves.eq(streams["leaves_any"]),
        streams.waits_over.eq(timelines.over),
        streams.events.loads.eq(jobs.loading[1]),
        streams.events.loaded_after.eq(timelines.loaded_after),
        streams.events.settling.eq(jobs.passing | jobs.ending[0] | jobs.ending[1]),
    ]


def started(m: Module, q: QueueParts) -> None:
    """Keep where started launches are."""
    line, ends, events = q.line, q.ends, q.streams.events
    from_end = ends.puts_back & ends.started
    leavers = [
        (from_end, ends.launch),
        *((line.takes_back[k] & launch.again, launch) for k, launch in enumerate(line.launch)),
    ]
    for k in range(2):
        m.d.comb += events.suspends[k].eq(
            any_of(
                spread(leaves & (launch.slot if k else ~launch.slot), launch.stream)
                for leaves, launch in leavers
            )
        )
    m.d.comb += [
        events.head_kept.eq(spread(ends.puts_back & ~ends.started, ends.launch.stream)),
        events.head_back.eq(
            spread(ends.valid & ~ends.started, ends.launch.stream)
            | any_of(
                spread(line.takes_back[k] & ~launch.again, launch.stream)
                for k, launch in enumerate(line.launch)
            )
        ),
    ]


def settle(m: Module, q: QueueParts) -> None:
    """End launches: free entries, step timelines. At most one ends in a cycle."""
    streams, jobs, ends = q.streams, q.jobs, q.ends
    aborts_suspended = Signal(name="abort_ends_suspended")
    abort_slot = Signal(name="abort_slot")
    abort_suspended(m, q, aborts_suspended, abort_slot)
    final = ends.final & ends.started
    its, number, entry = look_up_end(m, q)
    slot = Mux(ends.valid, ends.launch.slot, abort_slot)
    older = hit(its, streams.older)
    remains = hit(its, streams.started[0]), hit(its, streams.started[1])
    other = Mux(slot, remains[0], remains[1])
    read_slot = Mux(jobs.over, older, ~slot)
    any_remains = Mux(jobs.over, remains[0] | remains[1], other)
    oldest = Mux(jobs.over, jobs.over_suspended & jobs.over_oldest, older == slot)
    length = any_of(spread(its[s], count) for s, count in enumerate(streams.length))
    timelines, bases, counts = q.timelines, q.bases, q.accepted
    ended = final | jobs.over | aborts_suspended
    m.d.comb += [
        q.free.freed.eq(ended),
        q.free.freed_entry.eq(entry),
        bases.read_number.eq(number),
        counts.end_number.eq(number),
        timelines.stream.eq(its),
        timelines.number.eq(number),
        timelines.count.eq(
            Mux(
                any_remains,
                Mux(read_slot, bases.found[1], bases.found[0]),
                (counts.end_count - length)[:COUNT_BITS],
            )
        ),
        timelines.changes.eq(ended & (~any_remains | oldest)),
    ]
    for k in range(2):
        mine = (slot if k else ~slot) & (final | aborts_suspended)
        m.d.comb += streams.removes[k].eq(spread(mine, its) | jobs.ending[k])
    m.d.comb += [
        jobs.removed.eq(spread(final, its)),
        jobs.removed_slot.eq(ends.launch.slot),
    ]
    step = q.ports.timeline
    m.d.sync += [
        step.valid.eq(timelines.changes),
        step.stream.eq(number),
        step.count.eq(timelines.count),
    ]


def look_up_end(m: Module, q: QueueParts) -> tuple[Signal, Signal, Signal]:
    """Return stream, its number, and entry of the launch that may end in this cycle: registers.

    It is at ``ended`` in the cycle before, or a job looked at its stream, or an ABORT acts on it.
    """
    jobs, abort, ended = q.jobs, q.abort, q.ports.ended
    first, second = q.places.launch
    its = Signal(q.shape.streams, name="ending_stream")
    number = Signal(q.shape.config.stream_bits, name="ending_number")
    entry = Signal(q.shape.entry_bits, name="ending_entry")

    def of(name: str, of_job: Any, of_abort: Any) -> Value:
        placed = Mux(ended.payload.place, second[name], first[name])
        return Mux(ended.valid, placed, Mux(jobs.looks, of_job, of_abort))

    m.d.sync += [
        its.eq(of("stream", jobs.picked, abort.next_stream)),
        number.eq(of("number", jobs.number, abort.next_number)),
        entry.eq(of("entry", jobs.entry, abort.entry)),
    ]
    return its, number, entry


def abort_suspended(m: Module, q: QueueParts, ends: Signal, slot: Signal) -> None:
    """Say whether the ABORT's launch is suspended, and let the ABORT act."""
    abort, streams, jobs = q.abort, q.streams, q.jobs
    entry = abort.entry
    # Looked up in the cycle before. What has begun since is in a place; what has come to a list's
    # head since was not put back, and is looked at as it comes.
    here, going = [], []
    is_head = Signal(name="abort_of_head")
    head: Value = q.heads.of(m, abort.next_number)
    for left, following in zip(streams.left, q.heads.entry[1:], strict=True):
        head = Mux(hit(abort.next_stream, left), following, head)
    m.d.sync += is_head.eq(head == entry)
    begins = q.started.begins & (q.started.number == abort.next_number)
    for k in range(2):
        is_it = Signal(name=f"abort_of_started_{k}")
        taken = begins & (q.started.slot if k else ~q.started.slot)
        m.d.sync += is_it.eq((q.started.of(m, abort.next_number, k) == entry) & ~taken)
        here.append(is_it & hit(abort.stream, streams.started[k] & streams.suspended[k]))
        going.append(is_it & hit(abort.stream, streams.started[k] & ~streams.suspended[k]))
    placed = any_of(
        q.places.valid[p] & (launch.entry == entry) for p, launch in enumerate(q.places.launch)
    )
    # In stage or line, if it has no place.
    on_way = [*going, is_head & hit(abort.stream, streams.handed)]
    unknown = ~abort.taken | abort.ended
    waits_here = jobs.looked | (jobs.looks & hit(jobs.picked, abort.stream))
    busy = any_of(on_way) | waits_here | q.ends.valid | q.ends.was_valid
    acts = Signal(name="abort_ends_launch")
    in_list = Signal(name="abort_ends_in_list")
    m.d.comb += [
        acts.eq(abort.acts & ~unknown & ~placed & ~busy),
        slot.eq(here[1]),
        ends.eq(acts & (here[0] | here[1])),
        in_list.eq(acts & ~here[0] & ~here[1]),
        abort.over.eq(unknown | placed | acts),
        q.records.aborts.eq(acts),
        q.records.abort_number.eq(abort.number),
    ]
    unstarted = q.ends.final & ~q.ends.started
    m.d.comb += [
        q.records.abort_back.eq(
            here[0] | here[1] | (is_head & hit(abort.stream, streams.head_back))
        ),
        q.free.ends.eq(unstarted | in_list),
        q.free.ends_entry.eq(Mux(q.ends.valid, q.ends.launch.entry, entry)),
        streams.events.head_ends.eq(
            spread(unstarted, q.ends.launch.stream) | spread(in_list & is_head, abort.stream)
        ),
    ]
