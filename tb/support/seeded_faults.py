"""Small faults in the RTL's source, by block and name, which a comparison with the model finds."""

from warploom.dispatch.active_launch import ActiveLaunch
from warploom.dispatch.amounts import Amounts
from warploom.dispatch.books import Books
from warploom.dispatch.grouped_returns import GroupedReturns
from warploom.dispatch.lost_sms import LostSms
from warploom.dispatch.next_resident import NextResident
from warploom.dispatch.returns import Returns
from warploom.dispatch.room import Room
from warploom.dispatch.stream_flags import StreamFlags
from warploom.host import BusPort, HostRegisters, Mailbox
from warploom.index import IndexMemory, IndexPacker, IndexUnpacker
from warploom.index._iterator_setup import Setup
from warploom.launch.kernel_queue import KernelQueue
from warploom.launch.launch_inbox import LaunchInbox
from warploom.launch.launch_pairs import LaunchPairs
from warploom.launch.launch_path import LaunchPath
from warploom.launch.look_rounds import LookRounds
from warploom.launch.pending_preempt import PendingPreempt
from warploom.launch.preemption import Preemption
from warploom.launch.preparation import Preparation
from warploom.launch.queue_engine import QueueEngine
from warploom.launch.queue_events import QueueEvents
from warploom.launch.record_queue import RecordQueue
from warploom.launch.record_writer import RecordWriter
from warploom.launch.run_times import RunTimes
from warploom.launch.ticket_search import TicketSearch
from warploom.sm_side.index_read_arbiter import IndexReadArbiter
from warploom_dev.formal.properties import (
    config_filter,
    grid_walker,
    incremental_scheduler,
    index_iterator,
    index_memory,
    index_packer,
    launch_check,
)
from warploom_dev.planted import Change

# Those that a proof must see as well stand beside its properties.
CONFIG_FILTER = config_filter.PLANTED
GRID_WALKER = grid_walker.PLANTED
INCREMENTAL_SCHEDULER = incremental_scheduler.PLANTED
LAUNCH_CHECK = launch_check.PLANTED
#: ``flat``: the end of a plane does not carry into z.
INDEX_ITERATOR = index_iterator.PLANTED | {
    "flat": Change(Setup, "_fixes", 'loose_y.eq(_fix(last["y"]))', "loose_y.eq(0)"),
}
#: ``wrong_width``: a word loses the highest bit of y.
INDEX_PACKER = index_packer.PLANTED | {
    "wrong_width": Change(
        IndexPacker,
        "elaborate",
        "word.eq(placed)",
        "word.eq(placed & ~((1 << (lanes.width_x + lanes.width_y)) >> 1))",
    ),
}
#: ``no_mask``: y keeps the bits of z above it.
INDEX_UNPACKER = {
    "no_mask": Change(IndexUnpacker, "elaborate", "width > bit", '(width > bit) | (axis == "y")'),
}
#: ``early_read``: no read waits.
INDEX_MEMORY = index_memory.PLANTED | {
    "early_read": Change(IndexMemory, "_pending", "return unwritten", "return Value.cast(0)"),
}


#: ``overcommit``: a unit more than there is. ``hold``: nothing is held. ``age``: of one priority
#: the youngest is next. ``late``: a report that comes while a sweep is on saves no SM. ``whose``: a
#: sweep loses SMs with blocks of other streams. ``wait``: a begun launch of mode `wait` gives way.
BLOCK_DISPATCHER = {
    "overcommit": Change(Amounts, "enough", "x >= y", "x + 1 >= y"),
    "hold": Change(StreamFlags, "elaborate", "self.open & ~held", "self.open"),
    "age": Change(NextResident, "_ages", "= bit, ~bit", "= ~bit, bit"),
    "late": Change(LostSms, "elaborate", "mute.eq(0)", "mute.eq(1)"),
    "whose": Change(LostSms, "elaborate", "mute & (self.stream == whose)", "mute"),
    "wait": Change(
        ActiveLaunch, "_change", "following.comes_first & ~stays", "following.comes_first"
    ),
}
#: Faults that replays find; `tb.support.planted_replays` makes one hardware with all of them.
REPLAYED = {
    "width_z": LAUNCH_CHECK["width_z"],
    "no_reference": CONFIG_FILTER["no_reference"],
    "carry_y": INDEX_ITERATOR["carry_y"],
    "overcommit": BLOCK_DISPATCHER["overcommit"],
    # One for each kind of event that no fault above shows first.
    "next_number": Change(
        QueueEvents,
        "_accept",
        "Mux(taken, ports.accepted, 0)",
        "Mux(taken, ports.accepted + 1, 0)",
    ),
    "other_mode": Change(Preparation, "_keep", "plan.mode == Mode.WAIT", "plan.mode != Mode.WAIT"),
    "other_done": Change(
        LaunchPath,
        "_connect_generator",
        "ports.done.eq(done.payload)",
        "ports.done.eq(~Value.cast(done.payload))",
    ),
    "no_rest": Change(Returns, "elaborate", "waits[n] | rests[n]", "waits[n]"),
    "not_offered": Change(
        RecordWriter, "_word", "words.offered.eq(head.offered)", "words.offered.eq(0)"
    ),
    "passed": Change(
        KernelQueue,
        "_judge",
        "ports.timeline.count.eq(self._counts.timeline)",
        "ports.timeline.count.eq(self._counts.accepted)",
    ),
    "killed": Change(
        KernelQueue,
        "_judge",
        "ports.killed.valid.eq(events.again)",
        "ports.killed.valid.eq(events.passes)",
    ),
    # A launch waits for the first of its pairs alone.
    "one_pair": Change(
        LaunchPairs,
        "_compare",
        "asks.eq(comparing & pair.valid)",
        "asks.eq(comparing & pair.valid & Mux(self.accepting, self.step[1], self.step[2]))",
    ),
    # What an SM alone sees when it reads indices.
    "never_written": Change(
        IndexMemory, "_store", "writer.en.eq(self.write.valid)", "writer.en.eq(0)"
    ),
    "never_answered": Change(IndexMemory, "elaborate", "moves & ~(held & waits)", "0"),
    "another_row": Change(
        IndexMemory, "elaborate", "request.address + request.warp", "request.address"
    ),
    # With a host each SM has a port of its own: the answers go to the wrong one.
    "another_sm": Change(
        IndexReadArbiter,
        "_answer",
        "asked.o.payload & self.answered.replicate(sms)",
        "asked.o.payload[::-1] & self.answered.replicate(sms)",
    ),
    # What a host alone sees.
    "cycles": Change(RecordQueue, "elaborate", "word.eq(found)", "word.eq(found << (came == 2))"),
    "another_record": Change(
        RecordQueue, "elaborate", "oldest.eq(oldest + 1)", "oldest.eq(oldest + 2)"
    ),
    "offered": Change(
        RecordQueue,
        "elaborate",
        "word.eq(found)",
        "word.eq(found & ~(Value.cast(came == 1).replicate(32) & (1 << 24)))",
    ),
    "ticket": Change(
        Mailbox,
        "_keep_answers",
        "self._address(self.read.address)[1]",
        "1 ^ self._address(self.read.address)[1]",
    ),
    "number": Change(
        Mailbox, "_keep_answers", 'Cat(answer.ticket, answer["count"])', "answer.ticket"
    ),
    "level": Change(HostRegisters, "_interrupt", "self.records >= threshold", "self.records != 0"),
    "status": Change(
        HostRegisters,
        "_interrupt",
        '{"IRQ_ENABLE": enable, "IRQ_STATUS": status, "IRQ_THRESHOLD": threshold}',
        '{"IRQ_ENABLE": enable, "IRQ_STATUS": status[1:] << 1, "IRQ_THRESHOLD": threshold}',
    ),
    "refused": Change(BusPort, "elaborate", "self.refused + counted", "self.refused"),
    "no_interrupt": Change(
        HostRegisters, "_interrupt", "self.irq.eq((status & enable).any())", "self.irq.eq(0)"
    ),
}
#: ``second_preempt``: one is accepted while the record before it is written. ``inbox``: a launch
#: comes while the one before is in the inbox. ``starve``: what cannot be served yet blocks nothing.
#: ``ending``: a run that ends counts as drained. ``two_steps``: a LATE reads a flag of the event
#: before it. ``late_end``: a time-out is found while an END is served. ``lost_look``: a LOOK at a
#: head in preparation is not repeated. ``plan``: the plan of the head before is read. ``link``: the
#: last pair is written with the link. ``twice``: the inbox is served twice. ``look``: a look that
#: is set while a round begins is lost. ``ticket``, ``ticket_read``: a ticket is found that has its
#: record since a cycle, since two. ``final``: a run that failed is not final. ``hold``: nobody is
#: low. ``wait``: a begun launch of mode `wait` is held.
KERNEL_QUEUE = {
    "second_preempt": Change(PendingPreempt, "elaborate", "m.If(self.made)", "m.If(self.picked)"),
    "inbox": Change(LaunchInbox, "elaborate", "& ~ports.full & ~known", "& ~known"),
    "starve": Change(
        QueueEngine, "elaborate", "& ~self.wants[k]\n", "& ~(self.wants[k] & self.can[k])\n"
    ),
    "ending": Change(PendingPreempt, "elaborate", "self.hold & self.open", "self.hold"),
    "two_steps": Change(QueueEngine, "elaborate", "LATE: self.step[1]", "LATE: self.step[0]"),
    "late_end": Change(RunTimes, "elaborate", "& ~self.ends & ~ended_then", ""),
    "lost_look": Change(QueueEvents, "_look", "| waits_on", ""),
    "plan": Change(Preparation, "elaborate", "Mux(here & ~prepared", "Mux(~prepared"),
    "link": Change(QueueEngine, "elaborate", "self.step[1 + waits]", "self.step[waits]"),
    "twice": Change(KernelQueue, "_engine_wants", " & ~engine.last[ACCEPT]", ""),
    "look": Change(
        LookRounds,
        "elaborate",
        "(asks & ~begins.replicate(streams)) | self.sets",
        "(asks | self.sets) & ~begins.replicate(streams)",
    ),
    "ticket": Change(TicketSearch, "elaborate", "self.matches & ~gone", "self.matches"),
    "ticket_read": Change(RecordWriter, "_facts", "in_use.all()", "in_use[1]"),
    "final": Change(QueueEvents, "_end", "(ports.fate != Fate.KILLED)", "0"),
    "hold": Change(Preemption, "elaborate", "ports.priorities[s] < top", "0"),
    "wait": Change(Preemption, "elaborate", "~(waits & self.begun)", "1"),
}
#: Of BlockDispatcher's groups.
RESIDENT_GROUPS = {
    "met": Change(Books, "_judge_placement", "enough.all() & ~met", "enough.all()"),
    "unseen": Change(Books, "_place", "range(2, at.take + 1)", "range(2, at.take)"),
    "needs": Change(Room, "elaborate", "self.change | late", "self.change"),
    "rate": Change(
        GroupedReturns,
        "_group",
        'held(m, f"held_before_{group}", holds, clear=C(0, 1))',
        "holds",
    ),
}
