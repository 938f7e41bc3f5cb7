"""What BlockToWarps does not wait for and what stays in it, wrong rules among it."""

import pytest

from tb.sm_side import test_block_to_warps_rules as rules
from tb.sm_side.test_block_to_warps_rules import (
    FAULT,
    KILLED,
    OK,
    block,
    ended,
    played,
    reports_of,
    warps_of,
)
from tb.support.planted import Change
from tb.support.resettable import resettable
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.sm_side import BlockToWarps
from warploom_golden.sm_side import BlockToWarps as Model
from warploom_golden.sm_side import block_to_warps as model_module

KINDS = pytest.mark.parametrize("kind", [BlockToWarps, Model], ids=["rtl", "model"])


@pytest.mark.rule("block_to_warps", 2, 5)
@KINDS
def test_a_drop_does_not_wait_for_the_core(kind):
    """The core takes nothing from 2 on. A's last two warps are dropped in 2, all of B's in 4."""
    seen = played(
        kind,
        [block(1), block(3)],
        15,
        killed=range(1, 15),
        refused=range(2, 15),
        ends={8: ended(1, 1, KILLED)},
    )
    assert [(cycle, warp["slot"], warp["warp"]) for cycle, warp in warps_of(seen)] == [(1, 1, 0)]
    assert seen.cycles("offer__ready") == [0, 3, *range(5, 15)]
    assert reports_of(seen) == [(6, 3, KILLED), (10, 1, KILLED)]


@pytest.mark.rule("block_to_warps", 2, 3)
@KINDS
@pytest.mark.parametrize("stream", [0, 1])
def test_a_kill_drops_the_blocks_of_its_own_stream_alone(kind, stream):
    """A and C have the stream. B, of the killed one, is taken in 4 and dropped in 5."""
    offers = [block(0, stream), block(1, 1 - stream), block(2, stream)]
    ends = {12: ended(0, 3), 14: ended(2, 3)}
    seen = played(kind, offers, 20, killed=range(20), kill=2 - stream, ends=ends)
    assert [(cycle, warp["slot"], warp["warp"]) for cycle, warp in warps_of(seen)] == [
        (1, 0, 0),
        (2, 0, 1),
        (3, 0, 2),
        (7, 2, 0),
        (8, 2, 1),
        (9, 2, 2),
    ]
    assert reports_of(seen) == [(7, 1, KILLED), (14, 0, OK), (16, 2, OK)]


@pytest.mark.rule("block_to_warps", 2, 3)
@KINDS
def test_a_kill_counts_in_the_cycles_of_the_transfers_alone(kind):
    """The stream is killed in 0 to 2 and 5 to 7. A transfers in 3, its warps in 4, 8 and 9."""
    word = block(1, registers_first=8, shared_first=20, bx=5)
    seen = played(
        kind,
        [word, block(2)],
        12,
        hold=range(3),
        killed=[0, 1, 2, 5, 6, 7],
        refused=[5, 6, 7],
        ends={11: ended(1, 3)},
    )
    assert [(cycle, warp["slot"]) for cycle, warp in warps_of(seen)] == [
        (4, 1),
        (8, 1),
        (9, 1),
        (11, 2),
    ]
    assert seen.port("block")[4:10] == [word] * 6


@pytest.mark.rule("block_to_warps", 3, 5)
@KINDS
def test_a_drop_that_waits_goes_on_after_the_kill(kind):
    """B's warp 0 transfers in 5 while the stream is killed, and A's ends hold the drop up to 8."""
    ends = {cycle: ended(0) for cycle in (6, 7, 8)} | {12: ended(1, 1, KILLED)}
    seen = played(kind, [block(0), block(1)], 16, killed=[5], ends=ends)
    assert [cycle for cycle, _ in warps_of(seen)] == [1, 2, 3, 5]
    assert seen.cycles("offer__ready") == [0, 4, *range(10, 16)]
    assert reports_of(seen) == [(10, 0, OK), (14, 1, KILLED)]


@pytest.mark.rule("block_to_warps", 6, 7)
@KINDS
def test_counts_and_fates_stay_with_their_slots(kind):
    """Slots 0 to 2 end by turns; `ended` is a fault of slot 0 in all cycles that do not count."""
    ends = {6: ended(0), 8: ended(1, 1, FAULT), 10: ended(2), 15: ended(2, 1, KILLED)}
    ends |= {30: ended(1), 31: ended(2), 32: ended(0, 2), 33: ended(1)}
    noise = ended(0, 1, FAULT)
    seen = played(kind, [block(0), block(1), block(2)], 40, ends=ends, noise=noise)
    assert reports_of(seen) == [(33, 2, KILLED), (34, 0, OK), (35, 1, FAULT)]


@pytest.mark.rule("block_to_warps", 1, 6)
@KINDS
def test_a_reset_forgets_counts_and_fates_and_boots_again(kind):
    """It comes in 10: B is held, and a warp of A has ended with a fault. The boot is 11 to 14.

    An end in the boot is ignored. C has A's slot.
    """
    ends = {5: ended(1, 1, FAULT), 12: ended(1), 20: ended(1), 21: ended(1), 22: ended(1)}
    seen = played(
        lambda config: resettable(kind(config)),
        [block(1), block(2), block(1)],
        30,
        hold=[*range(1, 9), 10, 11],
        refused=[10],
        ends=ends,
        resets=[10],
    )
    assert [cycle for cycle, _ in seen.transfers("offer")] == [0, 9, 15]
    assert seen.cycles("offer__ready") == [0, *range(4, 10), 15, *range(19, 30)]
    assert [cycle for cycle, _ in warps_of(seen)] == [1, 2, 3, 16, 17, 18]
    assert reports_of(seen) == [(24, 1, OK)]


WRONG = {
    "a block is dropped only while the core is ready": WrongRule(
        test_a_drop_does_not_wait_for_the_core,
        (
            Change(
                BlockToWarps,
                "elaborate",
                "dropping & ~self.ended_valid",
                "dropping & ~self.ended_valid & self.warp.ready",
            ),
            Change(
                Model,
                "tick",
                'if not inputs["ended_valid"]',
                'if not inputs["ended_valid"] and inputs["warp__ready"]',
            ),
            Change(
                Model,
                "_end_of",
                "or not held.dropping",
                'or not held.dropping or not inputs["warp__ready"]',
            ),
        ),
    ),
    "the kill of any stream drops": WrongRule(
        test_a_kill_drops_the_blocks_of_its_own_stream_alone,
        (
            Change(
                BlockToWarps,
                "_hand_on",
                "self.kill.bit_select(Mux(held, self.block.stream, offer.stream), 1)",
                "self.kill.any()",
            ),
            Change(model_module, "_is_killed", 'inputs["kill"] >> stream & 1', 'inputs["kill"]'),
        ),
        (0,),
    ),
    "a kill that a refused warp meets is not forgotten": WrongRule(
        test_a_kill_counts_in_the_cycles_of_the_transfers_alone,
        (
            Change(
                BlockToWarps,
                "_hand_on",
                "    m.d.comb += [",
                "    met = Signal()\n"
                "    m.d.sync += met.eq(held & ~takes & ~moves & (met | killed))\n"
                "    m.d.comb += [",
            ),
            Change(
                BlockToWarps,
                "_hand_on",
                "offer.stream), 1)),",
                "offer.stream), 1) | met),",
            ),
            Change(
                Model,
                "_hand_on",
                '_is_killed(held.fields["stream"], inputs)',
                'getattr(held, "met", 0) or _is_killed(held.fields["stream"], inputs)',
            ),
            Change(
                Model,
                "tick",
                "    self._cycle += 1",
                "    if held and not inputs['warp__ready']:\n"
                "        held.met = getattr(held, 'met', 0) or "
                "_is_killed(held.fields['stream'], inputs)\n"
                "    self._cycle += 1",
            ),
        ),
    ),
    "a block that is dropped goes on once its stream is not killed": WrongRule(
        test_a_drop_that_waits_goes_on_after_the_kill,
        (
            Change(
                BlockToWarps,
                "elaborate",
                "with m.If(drops):",
                "with m.If(dropping & ~self.kill.any()):\n"
                "        m.d.sync += [dropping.eq(0), self.warp.valid.eq(1)]\n"
                "    with m.If(drops):",
            ),
            Change(
                Model,
                "tick",
                "elif held.dropping:",
                "elif held.dropping and not inputs['kill']:\n"
                "        held.dropping = bool(not inputs['ended_valid'])\n"
                "        self._held = None if held.dropping else held\n"
                "    elif held.dropping:",
            ),
        ),
    ),
    "the status of `ended` counts without `ended_valid`": WrongRule(
        test_counts_and_fates_stay_with_their_slots,
        (
            Change(
                BlockToWarps,
                "_count",
                "total.status.eq(before.status | counted.status)",
                "total.status.eq(before.status | counted.status | self.ended.status)",
            ),
            Change(
                Model,
                "tick",
                "    self._count(self._ended)",
                "    said = BlockStatus.of(self._end.unpack(inputs['ended'])['status'])\n"
                "        slot = self._slots[self._ended.slot]\n"
                "        slot.fate = max(slot.fate, said, key=RANKS.index)\n"
                "        self._count(self._ended)",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (BlockToWarps, Model), rules, monkeypatch)
