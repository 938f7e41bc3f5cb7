"""HostRegisters' rules, wrong in RTL and model alike: each is found by its own test."""

import pytest

from tb.host import accesses
from tb.host import test_host_registers_rules as rules
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host.host_registers import HostRegisters
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import HostRegisters as Model

STORES = 'self._store(m, write, written["IRQ_THRESHOLD"], threshold)'
KEEPS = "self._enable = self._all_sms"
COUNTS = "self._error_count = (self._error_count + sum(self._errors(inputs))) & WORD_MASK"

WRONG = {
    "the threshold has 15 bits": WrongRule(
        rules.test_every_bit_of_the_threshold_counts,
        (
            Rewrite(HostRegisters, "_interrupt", "Signal(_THRESHOLD_BITS)", "Signal(15)"),
            Rewrite(
                Model,
                "_store",
                "changed(self._threshold, 16)",
                "changed(self._threshold, 15)",
            ),
        ),
        (15,),
    ),
    "bits of the threshold above those of `records` do not count": WrongRule(
        rules.test_every_bit_of_the_threshold_counts,
        (
            Rewrite(
                HostRegisters,
                "_interrupt",
                "self.records >= threshold",
                "self.records >= threshold[:len(self.records)]",
            ),
            Rewrite(
                Model,
                "_irq_status",
                "max(1, self._threshold)",
                "self._threshold & 31 if self._threshold else 1",
            ),
        ),
        (8,),
    ),
    "a soft reset clears the threshold": WrongRule(
        rules.test_the_threshold_outlives_a_soft_reset,
        (
            Rewrite(
                HostRegisters,
                "_interrupt",
                STORES,
                f"{STORES}\nwith m.If(self.restart):\n    m.d.sync += threshold.eq(0)",
            ),
            Rewrite(Model, "_advance_reset", KEEPS, f"{KEEPS}\nself._threshold = 0"),
        ),
    ),
    "a soft reset that ends in its last cycle is forced": WrongRule(
        rules.test_a_soft_reset_that_waits_in_vain_is_forced,
        (
            Rewrite(
                HostRegisters,
                "_limit",
                "in_vain.eq(expires & ~self.idle)",
                "in_vain.eq(expires)",
            ),
            Rewrite(Model, "_advance_reset", "self._forced = not idle", "self._forced = expires"),
        ),
        (True,),
    ),
    "a soft reset that was forced looks like another one": WrongRule(
        rules.test_a_soft_reset_that_waits_in_vain_is_forced,
        (
            Rewrite(HostRegisters, "_interrupt", "forced.eq(self.forced_next)", "forced.eq(0)"),
            Rewrite(
                Model,
                "_note_events",
                "Interrupt.RESET_FORCED",
                "Interrupt.RESET_DONE",
            ),
        ),
        (False,),
    ),
    "a soft reset that ended in its last cycle but one is forced": WrongRule(
        rules.test_a_soft_reset_that_ends_as_its_time_is_over_is_not_forced,
        (
            Rewrite(
                HostRegisters,
                "_limit",
                "self.forced_next.eq(in_vain & self.restart_next)",
                "self.forced_next.eq(in_vain)",
            ),
            Rewrite(
                Model,
                "outputs",
                "self._restart_next and self._forced",
                "self._reset_cycle == self._timing.soft_reset_limit + 1",
            ),
        ),
    ),
    "SMs that do not kill are not waited for": WrongRule(
        rules.test_a_soft_reset_waits_for_sms_that_do_not_kill,
        (
            Rewrite(HostRegisters, "_limit", "not self._config.sm_kill", "False"),
            Rewrite(Model, "_advance_reset", "self._config.sm_kill", "True"),
        ),
    ),
    "stream 128 is stream 0": WrongRule(
        rules.test_a_stream_is_refused_by_every_bit_that_its_number_has_not,
        (
            Rewrite(
                HostRegisters,
                "_answer_writes",
                "write.data[self._config.stream_bits : 8]",
                "write.data[self._config.stream_bits : 7]",
            ),
            Rewrite(
                Model,
                "_is_wrong",
                "(data & 0xFF) >> self._config.stream_bits",
                "(data & 0x7F) >> self._config.stream_bits",
            ),
            Rewrite(
                Model,
                "_clear_streams",
                "self._marked.add(data & 0xFF)",
                "self._marked.add(data & 7)",
            ),
        ),
        (7,),
    ),
    "ERROR_COUNT stays at its highest value": WrongRule(
        rules.test_error_count_wraps,
        (
            Rewrite(
                HostRegisters,
                "_errors",
                "m.d.sync += count.eq(sum((record.valid for record in blocks.values()), count))",
                "with m.If(~count.all()):\n    m.d.sync += count.eq("
                "sum((record.valid for record in blocks.values()), count))",
            ),
            Rewrite(
                Model,
                "_note_errors",
                COUNTS,
                f"if self._error_count != WORD_MASK:\n    {COUNTS}",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (HostRegisters, Model), accesses, monkeypatch)
