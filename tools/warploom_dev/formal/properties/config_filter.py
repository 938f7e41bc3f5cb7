"""ConfigFilter's promises.

What it calls a hit stands, what is read stays, no reference is lost, and who waits for a release is
told so.
"""

from typing import Any, Final

from amaranth.hdl import Mux, Value

from warploom.index import ConfigFilter
from warploom.index._filter_history import History
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config, ErrorCode, timing

CONFIG: Final = Config(
    warp_size=8,
    max_threads=16,
    history_entries=3,
    reference_bits=2,
    stream_bits=1,
    index_memory_warps=4,
)
#: Free bits of a configuration: every region, and two lengths of each axis.
FREE: Final = {"address": 0b11, "warps": 0b11, **dict.fromkeys(("dx", "dy", "dz"), 0b1)}
#: Cycles that are searched of what is not proved for all time.
_BOUND: Final = 20
#: Most references of an entry.
_MOST: Final = (1 << CONFIG.reference_bits) - 1

#: Seeded bugs in the block's source. ``stale_history``: a miss drops nothing. ``no_reference``:
#: references protect nothing. ``early_hit``: a hit does not wait for its indices' generation.
#: ``early_need``: `needs_release` tells of the one before. ``quiet_region``: a region that
#: is read needs no release.
PLANTED: Final = {
    "stale_history": Change(
        History, "_compare", "dropped = self.misses & overlap[e]", "dropped = 0"
    ),
    "no_reference": Change(History, "_count", "~still & unread", "~still"),
    "early_need": Change(ConfigFilter, "elaborate", "~self.cancel & ripe)", "~self.cancel & full)"),
    "quiet_region": Change(History, "elaborate", "(overlap & read).any() | ", ""),
    "early_hit": Change(History, "_count", "given_back) | still)", "given_back) | 0)"),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows one history entry and one decision, which may be any ones."""
    size = "3 entries, 4 warps of memory, counts up to 3"
    b = FormalBench("config_filter", CONFIG, size, fault, PLANTED)
    dut = ConfigFilter(CONFIG)
    given = b.partly(dut.i.payload.shape(), FREE, "given", b.free, port="i")
    release, finished = b.free(1, "release__valid"), b.free(1, "finished")
    seen = {
        "release_lost": release & ~dut.accepted.valid,
        "release_invented": release | dut.done.valid,
    }
    b.drive(
        dut,
        i__payload=_with_wrong_shape(given, dut) if fault == "blurred" else given,
        release__valid=seen.get(fault or "", release),
        finished=1 if fault == "eager" else finished,
    )
    # A decision shows in its first cycle what was accepted in the cycle before.
    stood = b.before(dut.decision.valid & ~b.inputs["decision__ready"], "stood")
    decided = b.value(dut.decision.valid & ~stood, "decided")
    unfinished = _Unfinished(b, dut.accepted.valid, finished)
    entry = _Entry(b, dut, given, release, decided, unfinished)
    _state_entry(b, dut, entry, decided)
    _state_answer(b, dut, decided, unfinished)
    _state_need(b, dut, entry, release, decided)
    taken = dut.o.valid & b.inputs["o__ready"]
    same = (dut.accepted.address == dut.o.payload.address) & (
        dut.accepted.warps == dut.o.payload.warps
    )
    b.check(
        "pulse",
        "`accepted` is 1 in exactly the cycles in which `o` transfers, with its region",
        (dut.accepted.valid == taken) & (~taken | same),
        fault="deaf_o",
        cover=("a miss is accepted in the cycle of a cancel", taken & dut.cancel),
    )
    b.check_held(dut.o, "o", unless=dut.cancel)
    b.check_held(dut.decision, "decision")
    b.check_held(dut.done, "done")
    return b.close()


def _with_wrong_shape(given: Any, dut: ConfigFilter) -> Value:
    """Return what a block sees that mistakes a shape while an answer stands."""
    value: Value = given.as_value() ^ (dut.done.valid << given.shape()["dx"].offset)
    return value[: len(given.as_value())]


def _overlap(one: Any, other: Any) -> Value:
    """Whether two regions have a warp in common."""
    first = one.address < other.address + other.warps
    second = other.address < one.address + one.warps
    common: Value = one.warps.any() & other.warps.any() & first & second
    return common


class _Unfinished:
    """Misses accepted and not wholly written: they end in the order of their acceptance."""

    def __init__(self, b: FormalBench, miss: Value, finished: Value) -> None:
        self._b = b
        self.number = b.register(range(timing(CONFIG).done_depth + 1), "unfinished")
        self.ends = b.value(finished & (self.number != 0), "ends")
        b.m.d.sync += self.number.eq(self.number + miss - self.ends)

    def follow(self, entered: Value, name: str) -> tuple[Value, Value]:
        """Return whether a miss is unfinished, and whether it ends now; ``entered``: it is new."""
        bits = len(self.number)
        kept = self._b.register(1, f"{name}_unfinished")
        ahead_kept = self._b.register(bits, f"{name}_ahead")
        ahead = self._b.value(Mux(entered, self.number - 1, ahead_kept)[:bits], f"{name}_now_ahead")
        unfinished = self._b.value(kept | entered, f"{name}_now_unfinished")
        ends = self._b.value(unfinished & self.ends & (ahead == 0), f"{name}_ends")
        self._b.m.d.sync += [
            kept.eq(unfinished & ~ends),
            ahead_kept.eq(ahead - (self.ends & (ahead != 0))),
        ]
        return unfinished, ends


class _Entry:
    """What the ports say of one history entry, whose number is a constant that may be any one.

    Nothing is accepted while a decision stands: what the decision tells may count at once.
    """

    def __init__(
        self,
        b: FormalBench,
        dut: ConfigFilter,
        given: Any,
        release: Value,
        decided: Value,
        unfinished: _Unfinished,
    ) -> None:
        m, shape = b.m, given.shape()
        number = b.constant(CONFIG.entry_bits, "entry")
        #: The configuration that was taken last.
        self.stage = stage = b.register(shape, "stage")
        with m.If(dut.i.valid & dut.i.ready):
            m.d.sync += stage.eq(given)
        #: The configuration of which the decision tells.
        self.looked_up = b.register(shape, "looked_up")
        m.d.sync += self.looked_up.eq(stage)

        self.decided = b.value(decided & (dut.decision.payload.entry == number), "entry_decided")
        self.entered = b.value(self.decided & ~dut.decision.payload.hit, "entry_entered")
        self.generating, _ = unfinished.follow(self.entered, "entry")
        kept_key = b.register(shape, "entry_key")
        key = Mux(self.entered, self.looked_up.as_value(), kept_key.as_value())
        self.key = b.value(key, "entry_now_key", shape)
        m.d.sync += kept_key.eq(self.key)
        #: Whether a miss is accepted that overwrites its region.
        self.overwritten = b.value(
            dut.accepted.valid & _overlap(self.key, dut.accepted), "entry_overwritten"
        )
        kept_stands = b.register(1, "entry_stands")
        self.stands = b.value(kept_stands | self.entered, "entry_now_stands")
        m.d.sync += kept_stands.eq(self.stands & ~self.overwritten)
        bits = CONFIG.reference_bits + 1
        kept_count = b.register(bits, "entry_count")
        self.count = b.value((kept_count + self.decided)[:bits], "entry_now_count")
        self.released = b.value(release & (dut.release.payload == number), "entry_released")
        m.d.sync += kept_count.eq(self.count - (self.released & (self.count != 0)))


def _state_entry(b: FormalBench, dut: ConfigFilter, entry: _Entry, decided: Value) -> None:
    """State what holds of one entry."""
    known = entry.looked_up.as_value() == b.before(entry.key.as_value(), "key")
    stood, made = b.before(entry.stands, "stands"), ~b.before(entry.generating, "generating")
    referenced = b.before(entry.count != 0, "referenced")
    hit = dut.decision.payload.hit
    b.check(
        "hit",
        "a hit's indices are made, finished and not overwritten",
        ~(entry.decided & hit) | (known & stood & made),
        fault="early_hit",
        cover=("an entry is hit after its generation", entry.decided & hit),
        slow=True,
    )
    b.check(
        "stale",
        "after a miss that overwrites them, no indices are called a hit",
        ~(entry.decided & hit) | stood,
        fault="stale_history",
        cover=("an entry is overwritten", entry.stands & entry.overwritten),
    )
    b.check(
        "found",
        "what stands is found: no miss on a shape that is there",
        ~(decided & known & stood) | (entry.decided & hit),
        fault="blurred",
        cover=("another shape is looked up", decided & stood & ~known),
        slow=True,
    )
    b.check(
        "protected",
        "no miss overwrites, or takes the entry of, what is referenced or being made",
        ~(entry.overwritten & ((entry.count != 0) | entry.generating))
        & ~(entry.entered & (referenced | ~made)),
        fault="no_reference",
        cover=("what was given back is overwritten", entry.overwritten & entry.stands),
        slow=True,
    )
    error = (dut.error.code == int(ErrorCode.RELEASE_UNREFERENCED)) & dut.error.valid
    wrong = b.before(entry.released & (entry.count == 0), "wrong")
    right = b.before(entry.released & (entry.count != 0), "right")
    b.check(
        "counted",
        "a release is an error when all references were given back, and only then",
        (~wrong | error) & (~right | ~dut.error.valid),
        fault="release_lost",
        cover=("the last reference is given back", right & (entry.count == 0)),
    )
    b.check(
        "bounded",
        f"an entry has {_MOST} references at most",
        entry.count <= _MOST,
        fault="release_invented",
        cover=(f"{_MOST} references", entry.count == _MOST),
        slow=True,
    )


def _state_need(
    b: FormalBench, dut: ConfigFilter, entry: _Entry, release: Value, decided: Value
) -> None:
    """State when a configuration needs a release."""
    needed = b.before(dut.needs_release, "needed")
    ended = b.before(dut.cancel | b.before(release, "released_before"), "ended")
    b.check(
        "need",
        "nothing is accepted while `needs_release` is 1, and only a release or a cancel ends it",
        ~needed | (~decided & (dut.needs_release | ended)),
        fault="early_need",
        cover=("a release ends it", needed & ~dut.needs_release & ~b.before(dut.cancel, "cut")),
    )
    # A configuration in the lookup stage, for `needs_release` cycles at least.
    full = b.value(~dut.i.ready, "full")
    was_full = b.before(full, "was_full")
    ripe = full & was_full & b.before(was_full, "long_full")
    same = b.before(entry.stage.as_value() == entry.key.as_value(), "same")
    meets = b.before(entry.stands & _overlap(entry.stage, entry.key), "meets")
    most = b.before(entry.count == _MOST, "most")
    read = b.before(entry.count != 0, "read")
    b.check(
        "told",
        "`needs_release` tells of a region that is read, and of a count at its highest",
        ~(ripe & meets) | Mux(same, dut.needs_release == most, dut.needs_release | ~read),
        fault="quiet_region",
        cover=(f"a hit waits for one of {_MOST} references", ripe & meets & same & most),
        bound=_BOUND,
        slow=True,
    )


def _state_answer(
    b: FormalBench, dut: ConfigFilter, decided: Value, unfinished: _Unfinished
) -> None:
    """State that each decision has its answer, in order and in time."""
    m, depth = b.m, timing(CONFIG).done_depth
    taken = dut.done.valid & b.inputs["done__ready"]
    outstanding = b.register(range(depth + 2), "outstanding")
    m.d.sync += outstanding.eq(outstanding + decided - taken)

    kept, position_kept = b.register(1, "followed"), b.register(range(depth + 2), "position")
    payload_kept = b.register(dut.done.payload.shape(), "followed_payload")
    new = b.value(decided & ~kept & b.free(1, "follow"), "follow_now")
    position = b.value(Mux(new, outstanding, position_kept), "now_position")
    payload = b.value(
        Mux(new, dut.decision.payload.as_value(), payload_kept.as_value()),
        "now_payload",
        payload_kept.shape(),
    )
    is_next = b.value((kept | new) & (position == 0), "followed_next")
    open_, ends = unfinished.follow(new & ~payload.hit, "followed")
    m.d.sync += [
        kept.eq((kept | new) & ~(is_next & taken)),
        position_kept.eq(position - (taken & (position != 0))),
        payload_kept.eq(payload),
    ]
    due = Mux(payload.hit, ~new, ~open_ | ends)
    same = dut.done.payload.as_value() == payload.as_value()
    b.check(
        "answer",
        "every decision has its `done`, in order, when its indices stand and not before",
        ~is_next | ((dut.done.valid == due) & (~dut.done.valid | same)),
        fault="eager",
        cover=("a hit waits behind three other answers", new & payload.hit & (outstanding == 3)),
    )
    b.check(
        "no_more",
        f"no `done` without a decision, and {depth} outstanding at most",
        (~dut.done.valid | (outstanding != 0) | decided) & (outstanding + decided <= depth),
        fault="deaf_done",
        cover=(f"{depth} are outstanding", outstanding == depth),
    )
