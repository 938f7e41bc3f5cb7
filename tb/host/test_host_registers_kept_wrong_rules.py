"""What stays in HostRegisters, wrong in RTL and model alike: each is found by its own test."""

import pytest

from tb.host import accesses
from tb.host import test_host_registers_kept_rules as rules
from tb.support.wrong_rules import WrongRule, demand_found
from warploom.host.host_registers import HostRegisters
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import HostRegisters as Model

ENABLES = "self._enable = self._all_sms"
HAPPENS = "self._happened.add(Interrupt.RESET_DONE)"
STARTS = "(self.records == 0) | self.pop | writes | is_new"
COUNTS = "not inputs['records'] or popped or retimed or self._retimed"
HOLDS = "(held[bit] & ~cleared) | event"
STORES = "self._store(m, write, writes, timeout)"
CLEARS = "data >> bit & 1"
PARTIAL = "word.acts and write['strobes'] != ALL_STROBES"


def count(rtl, model):
    """Return a rule of when the count starts."""
    return (
        Rewrite(HostRegisters, "_late", STARTS, f"{STARTS} | {rtl}"),
        Rewrite(Model, "_count", COUNTS, f"{COUNTS} or {model}"),
    )


WRONG = {
    "a soft reset clears IRQ_TIMEOUT": WrongRule(
        rules.test_soft_resets_keep_the_interrupt_s_registers_and_both_limits,
        (
            Rewrite(
                HostRegisters,
                "_late",
                STORES,
                f"{STORES}\nwith m.If(self.restart):\n    m.d.sync += timeout.eq(0)",
            ),
            Rewrite(Model, "_advance_reset", ENABLES, f"{ENABLES}\nself._irq_timeout = 0"),
        ),
        (pytest.MonkeyPatch,),
    ),
    "a soft reset clears COMMAND_DONE": WrongRule(
        rules.test_soft_resets_keep_the_interrupt_s_registers_and_both_limits,
        (
            Rewrite(
                HostRegisters,
                "_interrupt",
                HOLDS,
                f"({HOLDS}) & ~(self.restart & (bit == Interrupt.COMMAND_DONE))",
            ),
            Rewrite(
                Model,
                "_note_events",
                HAPPENS,
                f"{HAPPENS}\nself._happened.discard(Interrupt.COMMAND_DONE)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "a soft reset starts the count as it ends": WrongRule(
        rules.test_a_soft_reset_does_not_start_the_count,
        count("self.restart", "self._restart"),
        (22,),
    ),
    "a soft reset starts the count as it begins": WrongRule(
        rules.test_a_soft_reset_does_not_start_the_count,
        count(
            "(written['CONTROL'] & write.data[0])", "(performed == 'CONTROL' and bool(data & 1))"
        ),
        (8,),
    ),
    "IRQ_TIMEOUT has 16 bits": WrongRule(
        rules.test_every_bit_of_a_time_out_counts,
        (
            Rewrite(
                HostRegisters,
                "_late",
                'Signal(32, name="irq_timeout")',
                'Signal(16, name="irq_timeout")',
            ),
            Rewrite(
                Model,
                "_store",
                "changed(self._irq_timeout, 32)",
                "changed(self._irq_timeout, 16)",
            ),
        ),
    ),
    "CLOCK_HIGH has 16 bits": WrongRule(
        rules.test_every_bit_of_an_input_is_shown,
        (
            Rewrite(HostRegisters, "_others", "self.clock[32:]", "self.clock[32:48]"),
            Rewrite(Model, "_values", 'inputs["clock"] >> 32', 'inputs["clock"] >> 32 & 0xFFFF'),
        ),
        ("CLOCK_HIGH",),
    ),
    "a counter's highest bit is not shown": WrongRule(
        rules.test_every_bit_of_an_input_is_shown,
        (
            Rewrite(
                HostRegisters,
                "_others",
                "self.dispatch_error_count",
                "self.dispatch_error_count[:15]",
            ),
            Rewrite(
                Model,
                "_values",
                'inputs["dispatch_error_count"]',
                'inputs["dispatch_error_count"] & 0x7FFF',
            ),
        ),
        ("DISPATCHER_ERRORS",),
    ),
    "the highest bit of LAUNCH_TIMEOUT does not stay": WrongRule(
        rules.test_every_bit_stays_as_it_was_written,
        (
            Rewrite(
                HostRegisters,
                "elaborate",
                'self._store(m, write, written["LAUNCH_TIMEOUT"], self.launch_timeout)',
                'self._store(m, write, written["LAUNCH_TIMEOUT"], self.launch_timeout[:31])',
            ),
            Rewrite(
                Model,
                "_store",
                "changed(self._launch_timeout, 32)",
                "changed(self._launch_timeout, 31)",
            ),
        ),
        ("LAUNCH_TIMEOUT",),
    ),
    "IRQ_STATUS is cleared in a soft reset, though the write is refused": WrongRule(
        rules.test_a_write_in_a_soft_reset_changes_nothing,
        (
            Rewrite(
                HostRegisters,
                "_answer_writes",
                "chosen & ~self.soft_reset_active",
                "chosen & ~(self.soft_reset_active & (word.name != 'IRQ_STATUS'))",
            ),
            Rewrite(
                Model,
                "_performed",
                "self._refuses(write)",
                "(self._refuses(write) and write['address'] * 4 != 0x24)",
            ),
        ),
    ),
    "the epoch stays at its highest value": WrongRule(
        rules.test_the_epoch_wraps,
        (
            Rewrite(
                HostRegisters,
                "_soft_reset",
                "epoch + self.restart",
                "epoch + (self.restart & ~epoch.all())",
            ),
            Rewrite(
                Model,
                "_advance_reset",
                "(self._epoch + 1) & EPOCH_MASK",
                "min(self._epoch + 1, EPOCH_MASK)",
            ),
        ),
        (pytest.MonkeyPatch,),
    ),
    "RECORD_POP needs the strobe of its bit alone": WrongRule(
        rules.test_a_register_that_acts_does_nothing_without_each_of_its_strobes,
        (
            Rewrite(
                HostRegisters,
                "_answer_writes",
                "acts & ~write.strobes.all()",
                "acts & ~(write.strobes.all() | (here['RECORD_POP'] & write.strobes[0]))",
            ),
            Rewrite(
                Model,
                "_refuses",
                PARTIAL,
                f"{PARTIAL} and not (word.name == 'RECORD_POP' and write['strobes'] & 1)",
            ),
        ),
    ),
    "a write to IRQ_STATUS clears all events": WrongRule(
        rules.test_a_write_clears_its_bits_alone_and_no_error_register,
        (
            Rewrite(
                HostRegisters,
                "_interrupt",
                "write.data[int(bit)]",
                "write.data[1:6].any()",
            ),
            Rewrite(Model, "_note_events", CLEARS, "data & 0x3E"),
        ),
    ),
    "a lost SM interrupts again after a soft reset": WrongRule(
        rules.test_an_sm_that_stays_lost_interrupts_once,
        (
            Rewrite(
                HostRegisters,
                "_interrupt",
                "lost_before.eq(self.lost)",
                "lost_before.eq(Mux(self.restart, 0, self.lost))",
            ),
            Rewrite(
                Model,
                "_note_events",
                "self._lost_before = inputs['lost']",
                "self._lost_before = 0 if self._restart else inputs['lost']",
            ),
        ),
    ),
    "any write to RECORD_POP starts the count": WrongRule(
        rules.test_what_does_not_start_the_count,
        count("written['RECORD_POP']", "performed == 'RECORD_POP'"),
    ),
    "the address's highest bit is not looked at": WrongRule(
        rules.test_without_strobes_or_beside_its_address_a_register_keeps_its_value,
        (
            Rewrite(
                HostRegisters,
                "_answer_writes",
                "write.address == word.offset // 4",
                "write.address[:13] == word.offset // 4",
            ),
            Rewrite(
                Model,
                "_refuses",
                "self._words.get(write['address'])",
                "self._words.get(write['address'] & 0x1FFF)",
            ),
            Rewrite(
                Model,
                "_performed",
                "self._words[write['address']].name",
                "self._words[write['address'] & 0x1FFF].name",
            ),
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_wrong_in_rtl_and_model_alike_is_found(rule, monkeypatch):
    demand_found(WRONG[rule], (HostRegisters, Model), accesses, monkeypatch)
