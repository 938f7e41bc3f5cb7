"""LoopExpander beside its model, with a fault in the RTL: each is found."""

import pytest

from tb.host.test_loop_expander import TINY, case
from tb.support.deep_values import deep_but
from tb.support.planted import Change, plant
from warploom.host._loop_counts import LoopCounts
from warploom.host._loop_flags import LoopFlags
from warploom.host._loop_look import LoopLook
from warploom.host._loop_pipe import LoopPipe
from warploom.host._loop_walker import LoopWalker
from warploom.host.loop_expander import LoopExpander
from warploom_sim.cosim.lockstep import LockstepError, run

WRONG = {
    "a carry is lost": Change(LoopPipe, "_add", "Cat(carry, b[:16]", "Cat(C(0, 1), b[:16]"),
    "gy carries into gz": Change(LoopPipe, "_add", "second.word != _TWO_HALVES", "C(1, 1)"),
    "an alternating field keeps its other value": Change(
        LoopPipe,
        "_select",
        "second.kept.eq(is_word & ~(alternates & first.odd))",
        "second.kept.eq(is_word)",
    ),
    "one more launch is in flight": Change(
        LoopLook, "elaborate", "self.unended < span.in_flight", "self.unended <= span.in_flight"
    ),
    "slots are not marked": Change(
        LoopWalker, "_walk_slots", '(now["take"] & ~self.slot_in_use) | ', ""
    ),
    "QUEUE_FULL counts as accepted": Change(
        LoopFlags,
        "elaborate",
        "& ~ports.answers.accepted)",
        "& ~ports.answers.accepted & ~ports.answers.full)",
    ),
    "the short way with another loop's words": Change(
        LoopLook, "elaborate", " & (writer == self.loop)", ""
    ),
    "a launch that has failed stops nothing": Change(
        LoopFlags, "elaborate", "Cat(end.valid & ~end.finished &", "Cat(end.valid & 0 &"
    ),
    "a host's write loses a word": Change(
        LoopPipe, "elaborate", "~(ports.step.valid & self.host_writes)", "1"
    ),
    "finished launches are not cleared": Change(
        LoopCounts,
        "elaborate",
        "counts.write(end.valid | self.clears,",
        "counts.write(end.valid | (self.clears & (len(value) > _LOW)),",
    ),
    "a soft reset is not heard": Change(
        LoopExpander, "elaborate", 'ResetInserter({"sync": off})(made)', "made"
    ),
    "the template's opcode is kept": Change(
        LoopPipe, "_add", "m.d.sync += out[:8].eq(int(Opcode.LAUNCH))", "pass"
    ),
    "a slot that another loop uses is given back": Change(
        LoopWalker, "_walk_slots", " & ~(undoes & at_last)", ""
    ),
    "the next look does not wait for an end": Change(
        LoopWalker, "elaborate", '(now["ending"] & self.empty)', 'now["ending"]'
    ),
}
#: Found in the first run, with each seed that was tried.
SOON = (
    "one more launch is in flight",
    "a host's write loses a word",
    "the template's opcode is kept",
)


@pytest.mark.parametrize("name", deep_but([], WRONG, thorough=SOON))
def test_lockstep_finds_a_wrong_rule(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(TINY, seed + k, 3000) for k in range(16)], "amaranth", waves=False)
