"""KernelQueue's jobs: heads are loaded, launches end in the list."""

from amaranth.hdl import Cat, Module, Mux, Signal

from warploom.launch._queue_shapes import QueueShape, any_of, hit, spread
from warploom.launch._queue_streams import QueueStreams
from warploom.lib.bits import any_up_to, number_of


class QueueJobs:
    """The job: load a stream's head, let it pass, or end a suspended launch.

    Attributes
    ----------
    picked : Signal
        The stream that is looked at in this cycle, one bit each, ``number`` its number.
    passing, ending
        Streams whose head passes; for each slot, whose suspended launch ends.
    """

    def __init__(self, shape: QueueShape) -> None:
        self._shape = shape
        streams, bits = shape.streams, shape.entry_bits
        self.picked = Signal(streams, name="looked_at")
        self.number = Signal(shape.config.stream_bits, name="looked_at_number")
        self.looks = Signal(name="job_looks")
        self.looked = Signal(name="job_looked")
        self.head = Signal(bits, name="job_head")
        self.entry = Signal(bits, name="job_entry")
        self.slot = Signal(name="job_slot")
        self.suspended_entry = Signal(bits, name="job_suspended_entry")
        self.busy = Signal(name="job_waits_for_ended")
        self.passes, self.ends = Signal(name="passes"), Signal(name="ends")
        self.passing = Signal(streams, name="job_passes")
        self.ending = [Signal(streams, name=f"job_ends_{k}") for k in range(2)]
        # Of the end register: it ends the started launch of a slot.
        self.removed = Signal(streams, name="job_removed")
        self.removed_slot = Signal()
        self.head_ended = Signal(name="job_head_ended")
        self.loading = [Signal(streams, name=f"loading_{k}") for k in range(2)]
        # The cycle behind: a launch ends.
        self.over = Signal(name="job_over")
        self.over_number = Signal(shape.config.stream_bits, name="job_over_number")
        self.over_entry = Signal(bits, name="job_over_entry")
        self.over_record = Signal(name="job_over_record")
        self.over_broken = Signal(name="job_over_broken")
        self.over_no_sm = Signal(name="job_over_no_sm")
        self.over_suspended = Signal(name="job_over_suspended")
        self.over_back = Signal(name="job_over_back")
        self.over_oldest = Signal(name="job_over_oldest")

    def build(self, m: Module, streams: QueueStreams) -> None:
        """Pick a stream in each cycle, look at it in the next."""
        self._pick(m, streams)
        self._look(m, streams)
        self._end(m, streams)

    def _pick(self, m: Module, streams: QueueStreams) -> None:
        under_way = Signal(self._shape.streams)
        head = streams["has"] & ~streams.handed
        susp, marked = streams.suspended, streams.marked
        # In a soft reset launches of one stream end in cycles that follow each other.
        two = (head & (~streams["single"] | susp[0] | susp[1])) | (susp[0] & susp[1])
        again = two & streams.closed.replicate(self._shape.streams)
        m.d.comb += under_way.eq((self.picked & ~again) | self.loading[0] | self.loading[1])
        purged = streams.broken | streams.bounded | streams.head_ended
        by_stream = head & (~streams.loaded | purged)
        by_stream |= any_of(susp[k] & (marked[k] | streams.broken) for k in range(2))
        # What holds for all streams comes last: it has to reach all of them.
        by_all = (head | susp[0] | susp[1]) & streams.ending.replicate(self._shape.streams)
        wants = Signal(self._shape.streams)
        m.d.comb += wants.eq((by_stream | by_all) & ~under_way)
        first = wants & ~Cat(0, any_up_to(wants)[:-1])
        m.d.sync += [
            self.picked.eq(first),
            self.looks.eq(wants.any()),
            self.number.eq(number_of(first)),
            self.looked.eq(self.looks),
        ]

    def _look(self, m: Module, streams: QueueStreams) -> None:
        """Decide by stream: what changes a stream does not go through the one that is looked at."""
        count = self._shape.streams
        picked, of = self.picked, streams.follows
        stop = streams.broken | streams.ending.replicate(count)
        must = [
            its & (marked | stop)
            for its, marked in zip(streams.suspended, streams.marked, strict=True)
        ]
        suspended = must[0] | must[1]
        # A head that came in the cycle before, behind one that began or passed, may have ended.
        ended = streams.head_ended | spread(streams.next_had_ended, streams.left[0])
        ended |= spread(streams.next_ended[1], streams.left[1])
        purged = stop | streams.bounded | ended
        head = picked & of["has"] & ~streams.handed & ~suspended
        free = ~self.busy.replicate(count)
        slot = must[1] & (streams.older | ~must[0])
        m.d.comb += [
            self.passing.eq(head & purged & free),
            *(
                ending.eq(picked & suspended & (slot if k else ~slot) & free)
                for k, ending in enumerate(self.ending)
            ),
            self.passes.eq(self.passing.any()),
            self.ends.eq((self.ending[0] | self.ending[1]).any()),
            self.slot.eq(hit(picked, slot)),
            self.head_ended.eq(hit(picked, ended)),
            self.entry.eq(Mux(hit(picked, suspended), self.suspended_entry, self.head)),
        ]
        m.d.sync += [
            # A new head's waits are being written in this cycle.
            self.loading[0].eq(head & ~purged & ~streams.loaded & ~streams.new_heads),
            self.loading[1].eq(self.loading[0]),
        ]

    def _end(self, m: Module, streams: QueueStreams) -> None:
        picked = self.picked
        # The other started launch, if the end register does not end it in this cycle.
        gone = hit(picked, self.removed)
        stays = [
            hit(picked, streams.started[k])
            & ~(gone & (self.removed_slot if k else ~self.removed_slot))
            for k in range(2)
        ]
        other_stays = Mux(self.slot, stays[0], stays[1])
        m.d.sync += [
            self.over.eq(self.passes | self.ends),
            self.over_number.eq(self.number),
            self.over_entry.eq(self.entry),
            self.over_record.eq(self.ends | ~self.head_ended),
            self.over_broken.eq(hit(picked, streams.broken)),
            self.over_no_sm.eq(streams.no_sm),
            self.over_suspended.eq(self.ends),
            self.over_back.eq(self.ends | hit(picked, streams.head_back)),
            self.over_oldest.eq(~other_stays | (hit(picked, streams.older) == self.slot)),
        ]
