"""LoopExpander sends count x templates, in order, and stops; it ends a loop once."""

from typing import Any, Final

from amaranth.hdl import Cat, Mux, Value

from warploom.host._loop_flags import LoopFlags
from warploom.host._loop_look import LoopLook
from warploom.host._loop_pipe import LoopPipe
from warploom.host._slots_in_use import SlotsInUse
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.loop_view import CONFIG, FollowedLoop, LoopView, committing
from warploom_dev.planted import Change
from warploom_spec.host_commands import STEP_WORD, Opcode
from warploom_spec.host_errors import HostError

SIZE: Final = "2 loops, 4 slots of which 2 are written, 12 words a launch; up to 3 iterations"
#: Cycles that are searched: until a loop has sent a launch; has ended, without one and with one;
#: has sent a second one.
SENT: Final = 28
ENDED: Final = 32
WHOLE: Final = 35
RUNG: Final = 34
#: Seeded bugs in the block's source. ``no_carry``: the sum of the low words has none.
#: ``runs_on``: a launch that has not finished stops nobody. ``forgotten``: what is to be rung
#: again is not looked at behind the last iteration. ``undead``: a loop that ends runs on.
#: ``untaken``: slots are not taken.
PLANTED: Final = {
    bug: Change(owner, method, old, new)
    for bug, owner, method, old, new in (
        ("no_carry", LoopPipe, "_add", "total[34] & second.is_low", "0"),
        ("runs_on", LoopFlags, "_stops", "stays | breaks | refuses", "stays | refuses"),
        ("forgotten", LoopLook, "elaborate", "position.none & ~self.again", "position.none"),
        (
            "undead",
            LoopFlags,
            "elaborate",
            "(running & ~(here & self.ends.replicate(loops)))",
            "running",
        ),
        ("untaken", SlotsInUse, "elaborate", "mine | bits", "mine"),
    )
}
#: Words whose field has a second word, the second one, and the one whose halves are added apart.
_LOW, _HIGH, _HALVES = 3, 4, 7
#: Where T11 says that their field changes, and how far from there that it alternates.
_ARGUMENTS, _BLOCKS, _ALTERNATES = 2, 1, 16


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs stand in `PLANTED`."""
    b = FormalBench("loop_expander", CONFIG, SIZE, fault, PLANTED)
    view = LoopView(b)
    loop = FollowedLoop(view)
    _state_slots(b, view, loop)
    _state_end(b, view, loop)
    _state_launches(b, view, loop)
    return b.close()


class _Templates:
    """The followed word of all slots, as hosts wrote it, with what decides its value.

    Parameters
    ----------
    view : LoopView
        Its host.
    word : Value
        Number of the followed word.
    """

    def __init__(self, view: LoopView, word: Value) -> None:
        b = self._b = view.b
        self._word = word
        # The carry of the arguments' first word is the second one's.
        low = b.value(Mux(word == _HIGH, _LOW, word), "low_word")
        write = committing(view)
        number, second, self._slot = write.address[:5], write.address[5], write.address[6]
        # In a reset's cycle nothing is written.
        self._performs = b.value(
            write.valid & write.strobes.all() & ~view.dut.write_refused & ~b.reset, "performs"
        )
        self._datum = write.data

        def both(name: str, wanted: Any) -> list[list[Any]]:
            """Follow a word of both halves of slots 0 and 1."""
            here = number == wanted
            return [
                [self._follow(f"{name}_{k}_{s}", here & (second == k), s) for s in range(2)]
                for k in range(2)
            ]

        self._low, self._high = both("low", low), both("high", _HIGH)
        table = (number == STEP_WORD) & ~second
        self._table = [self._follow(f"table_{s}", table, s) for s in range(2)]

    def _follow(self, name: str, here: Value, slot: int) -> Any:
        """Follow a word of a slot, which survives a reset."""
        word = self._b.register(32, name, keeps=True)
        with self._b.m.If(self._performs & here & (self._slot == slot)):
            self._b.m.d.sync += word.eq(self._datum)
        return word

    def value(self, slot: Value, iteration: Value) -> tuple[Value, Value]:
        """Return the word of a launch, and whether a carry from the word before is in it."""
        b, word = self._b, self._word

        def of_slot(words: list[Any], name: str) -> Any:
            """Return a slot's; those of slots 2 and 3 have never been written."""
            written = Mux(slot[0], words[1], words[0])
            return b.value(Mux(slot[1], 0, written), name, 32)

        table = of_slot(self._table, "table")
        first, second = (
            Cat(of_slot(self._low[k], f"low_{k}"), of_slot(self._high[k], f"high_{k}"))
            for k in range(2)
        )
        is_high = word == _HIGH
        is_pair = is_high | (word == _LOW)
        bit = Mux(is_pair, _ARGUMENTS, _BLOCKS)
        changes = table.bit_select(bit, 1) & (is_pair | (word == _HALVES))
        alternates = table.bit_select(bit + _ALTERNATES, 1)
        total = b.value(_after(first, second, iteration), "total", 64)
        halves = Cat(_after(first[k : k + 16], second[k : k + 16], iteration)[:16] for k in (0, 16))
        low = Mux(word == _HALVES, halves, total[:32])
        stepped = Mux(is_high, total[32:], low)
        whole = Mux(is_high, Cat(first[32:], second[32:]), Cat(first[:32], second[:32]))
        other = Mux(iteration[0], whole[32:], whole[:32])
        found = b.value(Mux(changes, Mux(alternates, other, stepped), whole[:32]), "expected", 32)
        # T0 has the opcode LAUNCH, whatever the host wrote.
        opcode = Mux(word == 0, int(Opcode.LAUNCH), found[:8])
        carry = (
            is_high
            & changes
            & ~alternates
            & (total[32:] != _after(whole[:32], whole[32:], iteration)[:32])
        )
        return Cat(opcode, found[8:]), carry


def _after(first: Value, step: Value, iteration: Value) -> Value:
    """Return a value after so many steps: three at most."""
    once, twice = iteration[0].replicate(len(step)), iteration[1].replicate(len(step))
    return first + (step & once) + ((step & twice) << 1)


def _state_slots(b: FormalBench, view: LoopView, loop: FollowedLoop) -> None:
    """State that nobody writes to a slot in use.

    It is in use from the first step of its LOOP on, until all is launched and has ended.
    """
    more = loop.left & ~loop.stopped
    used = b.value(loop.sends & (more | loop.awaits | (loop.unfinished != 0)), "its_slots_used")
    whole = view.write.valid & view.write.strobes.all()
    refused = b.before(used & whole & loop.has(view.write.address[6:8]), "to_refuse")
    b.check(
        "unwritten",
        "a write to a slot in use is refused: from the first step of a LOOP on, until all its"
        " launches have ended",
        ~refused | view.dut.write_refused,
        fault="untaken",
        cover=("between two launches", refused & (loop.iteration == 1) & ~loop.awaits),
        bound=SENT,
    )


def _state_end(b: FormalBench, view: LoopView, loop: FollowedLoop) -> None:
    """State when a LOOP ends, and that it has launched all by then."""
    code = view.dut.step.data[:8]
    busy = code == int(HostError.TEMPLATE_BUSY)
    b.check(
        "once",
        "a LOOP ends once, when each launch of it was answered, and the accepted ones have ended",
        ~loop.ends | (loop.runs & ~loop.awaits & (loop.unfinished == 0)),
        fault="undead",
        cover=("its slot was in use", loop.ends & busy),
        bound=ENDED,
        slow=True,
    )
    b.check(
        "whole",
        "a LOOP whose end has code 0 has launched all, if none was refused",
        ~loop.ends | (code != 0) | loop.refused | ~loop.left,
        fault="forgotten",
        cover=("it has launched", loop.ends & (code == 0) & loop.sends),
        bound=WHOLE,
        slow=True,
    )


def _state_launches(b: FormalBench, view: LoopView, loop: FollowedLoop) -> None:
    """State which launches are sent, and when none is."""
    b.check(
        "stops",
        "after a launch that did not finish, or LOOP_STOP, a ring is taken only if it was on its"
        " way; after a refusal none is",
        ~loop.rings | ~(loop.late | loop.refused),
        fault="runs_on",
        cover=("one was on its way", loop.rings & loop.failed),
        bound=ENDED,
        slow=True,
    )
    expected, carry = _Templates(view, loop.word).value(loop.slot, loop.iteration)
    # T11 and what is above it is no step.
    same = (loop.word >= STEP_WORD) | (loop.kept == expected)
    b.check(
        "launches",
        "launches are rung in the order of slots and iterations, each word as rule 16 has it; one"
        " that found no room once more, and none behind the last one",
        ~loop.rings | (loop.left & same),
        fault="no_carry",
        cover=("a carry came into T4", loop.rings & carry),
        bound=RUNG,
        slow=True,
    )
