"""What a bench of LoopExpander sees, from its page: a host, Mailbox, LaunchPath, one loop."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Signal, Value
from amaranth.lib import data

from warploom.host.loop_expander import LoopExpander
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config
from warploom_spec.host_map import TEMPLATE_BASE, TEMPLATE_BYTES, TEMPLATE_STEPS

CONFIG: Final = Config(
    sections=2,
    units=1,
    cores_per_unit=2,
    inline_args=0,
    launch_waits=0,
    priority_bits=1,
    loop_templates=4,
    loop_sections=2,
)
_SLOT: Final = TEMPLATE_BYTES // 4
_STEPS: Final = TEMPLATE_STEPS // 4
#: Free bits of a write: T0 to T15 of both halves of slots 0 and 1. In T11 its data say that gy and
#: gz change, that the arguments do, and that they alternate. A word has the highest bit of each of
#: its halves: the carry of the lower one goes on, or does not.
_WRITE: Final = {
    "valid": 1,
    "address": TEMPLATE_BASE // 4 | _SLOT | _STEPS | 0b1111,
    "data": 1 << 1 | 1 << 2 | 1 << 15 | 1 << 18 | 1 << 31,
    "strobes": 0b1111,
}
#: Free bits of a LOOP: slots 0 and 1, up to three iterations, up to four unfinished launches.
_LOOP: Final = {
    **dict.fromkeys(("valid", "loop", "first_slot", "last_slot"), 1),
    **dict.fromkeys(("count", "in_flight"), 0b11),
}
_END: Final = dict.fromkeys(("valid", "loop", "finished"), 1)
#: What becomes of a ring: one of these, else it is accepted. Kinds of answers, as in their packet.
_FULL, _REFUSED = 1, 2
_KINDS: Final = ("accepted", "full", "refused")
#: Moves of the pipe from a ring's entry to its commit.
_ON_ITS_WAY: Final = 3


class LoopView:
    """The block between a host, a Mailbox and a LaunchPath that keep to the page's *Relies on*.

    The host writes in any cycle. A LOOP of a loop that does not run comes in any cycle. The answer
    to a ring comes in any later cycle. It is known when the ring is taken: an accepted launch may
    end before its answer. Launches end in any cycle; none does after a soft reset.

    Parameters
    ----------
    b : FormalBench
        The bench.

    Attributes
    ----------
    dut : LoopExpander
        The block.
    write, begin, loop_end : View
        The host's write, which commits in the next cycle; a LOOP; the end of a launch.
    stops : Signal
        LOOP_STOP, a bit a section: each can loop.
    off : Value
        Loops are forgotten at the end of this cycle.
    taken : Value
        A step is taken, and commits.
    accepts, refuses : Value
        A ring that is taken in this cycle will be accepted; will be refused for good.
    runs, awaits, unfinished : list of Signal
        For each loop (state): its LOOP has not ended; a ring has no answer; accepted launches that
        have not ended.
    """

    def __init__(self, b: FormalBench) -> None:
        self.b = b
        # Its ports are made from a dictionary: no type checker sees them.
        self.dut: Any = LoopExpander(CONFIG)
        dut = self.dut
        loops = range(CONFIG.loop_sections)
        self.runs, self.awaits = (
            [b.register(1, f"{name}_{k}") for k in loops] for name in ("runs", "awaits")
        )
        self.unfinished = [b.register(3, f"unfinished_{k}") for k in loops]
        self.write: Any = b.partly(dut.write.shape(), _WRITE, "write", b.free)
        self.begin = self._when("begin", _LOOP, [~runs for runs in self.runs])
        self.loop_end = self._when("loop_end", _END, [left != 0 for left in self.unfinished])
        self.stops = b.free(CONFIG.sections, "loop_stop")
        active = b.free(1, "soft_reset_active")
        self.off = b.value(active | b.before(active, "active"), "off")
        self.taken = b.value(dut.step.valid & ~self.write.valid & ~self.off, "taken")
        fate = b.free(2, "fate")
        self.refuses = b.value(fate == _REFUSED, "refuses")
        self.accepts = b.value((fate != _FULL) & ~self.refuses, "accepts")
        answers = Cat(self._follow(k, fate) for k in loops)
        b.drive(
            dut,
            write=Value.cast(self.write),
            read=0,
            begin=Value.cast(self.begin),
            # A bit for each loop, a kind after the other.
            answers=Cat(answers[kind :: len(_KINDS)] for kind in range(len(_KINDS))),
            loop_end=Value.cast(self.loop_end),
            loop_stop=self.stops,
            soft_reset_active=active,
        )

    def _when(self, name: str, free: dict[str, int], may: list[Value]) -> Any:
        """Return a pulse that comes in any cycle in which its loop may have it."""
        b, layout = self.b, getattr(self.dut, name).shape()
        asked = b.partly(layout, free, name, b.free)
        pulse: Any = Signal(layout, name=f"bench_{name}")
        b.m.d.comb += [
            Value.cast(pulse).eq(Value.cast(asked)),
            pulse.valid.eq(asked.valid & Cat(may).bit_select(asked.loop, 1)),
        ]
        return pulse

    def _follow(self, k: int, fate: Value) -> Value:
        """Follow a loop; return its answers of this cycle, a bit for each of `_KINDS`."""
        b, dut = self.b, self.dut
        its = self.taken & (dut.step.loop == k)
        rings, ends = b.value(its & dut.step.ring, f"rings_{k}"), its & dut.step.end
        kept = b.register(2, f"fate_{k}")
        answered = b.value(self.awaits[k] & b.free(1, f"answers_{k}"), f"answered_{k}")
        begins = self.begin.valid & (self.begin.loop == k)
        over = self.loop_end.valid & (self.loop_end.loop == k)
        b.m.d.sync += [
            self.runs[k].eq(((self.runs[k] & ~ends) | begins) & ~self.off),
            self.awaits[k].eq(((self.awaits[k] & ~answered) | rings) & ~self.off),
            self.unfinished[k].eq(
                Mux(self.off, 0, self.unfinished[k] + (rings & self.accepts) - over)
            ),
        ]
        with b.m.If(rings):
            b.m.d.sync += kept.eq(fate)
        full, refused = kept == _FULL, kept == _REFUSED
        kinds = {"accepted": ~full & ~refused, "full": full, "refused": refused}
        return Cat(answered & kinds[kind] for kind in _KINDS)


def committing(view: LoopView) -> Any:
    """Return the host's write that commits in this cycle."""
    held: Any = data.View(view.write.shape(), view.b.before(Value.cast(view.write), "committing"))
    return held


class FollowedLoop:
    """One of the loops, as the page has it, and the word of its task register that is followed.

    Parameters
    ----------
    view : LoopView
        The block's surroundings.

    Attributes
    ----------
    number, word : Value
        The loop, and the word: any ones.
    runs, awaits, unfinished : Value
        As of `LoopView` (state).
    rings, ends : Value
        A ring, or its end, is taken.
    slot, iteration : Signal
        Of the launch that is to be rung next (state); `iteration` is `count` behind the last one.
    left : Value
        There is such a launch.
    failed, refused, stopped : Signal
        One has not finished, or LOOP_STOP came; one was refused; either (state).
    late : Value
        The pipe has moved three times since the first cycle behind `failed` 's cause.
    sends : Signal
        A step of it has come since it began: its slots are taken (state).
    kept : Signal
        The word, as it was written last.
    """

    def __init__(self, view: LoopView) -> None:
        self.view = view
        b, dut = view.b, view.dut
        self.number, self.word = b.constant(1, "loop"), b.constant(4, "word")
        self.runs, self.awaits, self.unfinished = (
            b.value(Mux(self.number, of[1], of[0]), f"its_{name}")
            for name, of in (
                ("runs", view.runs),
                ("awaits", view.awaits),
                ("unfinished", view.unfinished),
            )
        )
        its = view.taken & (dut.step.loop == self.number)
        self.rings = b.value(its & dut.step.ring, "its_ring")
        self.ends = b.value(its & dut.step.end, "its_end")
        self.kept = b.register(32, "its_word")
        with b.m.If(its & ~dut.step.ring & ~dut.step.end & (dut.step.word == self.word)):
            b.m.d.sync += self.kept.eq(dut.step.data)
        self._begins = b.value(
            view.begin.valid & (view.begin.loop == self.number) & ~view.off, "its_begin"
        )
        self._count(its)
        self._stop()

    def _count(self, its: Value) -> None:
        """Follow which launch is next."""
        b, view, m = self.view.b, self.view, self.view.b.m
        self._first, self._last = b.register(2, "first_slot"), b.register(2, "last_slot")
        count = b.register(2, "count")
        self.slot, self.iteration = b.register(2, "slot"), b.register(2, "iteration")
        self.sends = b.register(1, "sends")
        self.left = b.value(self.runs & (self.iteration != count), "left")
        with m.If(its & ~view.dut.step.end):
            m.d.sync += self.sends.eq(1)
        with m.If(self.rings & view.accepts):
            at_last = self.slot == self._last
            m.d.sync += [
                self.slot.eq(Mux(at_last, self._first, self.slot + 1)),
                self.iteration.eq(self.iteration + at_last),
            ]
        with m.If(self._begins):
            m.d.sync += [
                self._first.eq(view.begin.first_slot),
                self._last.eq(view.begin.last_slot),
                count.eq(view.begin["count"]),
                self.slot.eq(view.begin.first_slot),
                self.iteration.eq(0),
                self.sends.eq(0),
            ]

    def _stop(self) -> None:
        """Follow what stops it."""
        b, view, m = self.view.b, self.view, self.view.b.m
        breaks = view.loop_end.valid & ~view.loop_end.finished
        breaks &= view.loop_end.loop == self.number
        cause = breaks | view.stops.bit_select(self.number, 1)
        self.failed, self.refused = b.register(1, "failed"), b.register(1, "refused")
        moved = b.register(2, "moves_since")
        m.d.sync += [
            self.failed.eq((self.failed & ~self._begins) | cause),
            self.refused.eq((self.refused | (self.rings & view.refuses)) & ~self._begins),
        ]
        stands = view.dut.step.valid & view.write.valid
        with m.If(self._begins | ~self.failed):
            m.d.sync += moved.eq(0)
        with m.Elif(~stands & (moved != _ON_ITS_WAY)):
            m.d.sync += moved.eq(moved + 1)
        self.late = b.value(moved == _ON_ITS_WAY, "late")
        self.stopped = b.value(self.failed | self.refused, "stopped")

    def has(self, slot: Value) -> Value:
        """Return whether a slot is one of its LOOP's."""
        found: Value = (slot - self._first)[:2] <= (self._last - self._first)[:2]
        return found
