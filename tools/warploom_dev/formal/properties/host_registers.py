"""HostRegisters' soft reset: what Mailbox and the units rely on."""

from typing import Any, Final

from amaranth.hdl import C, Mux

from warploom.host import HostRegisters
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config, timing

CONFIG: Final = Config(sections=2, units=2, cores_per_unit=2, loop_templates=0)
LIMITS: Final = timing(CONFIG)
#: `idle` in its first cycle that counts, and `restart` two cycles later.
LEAST: Final = LIMITS.soft_reset_settled + 2


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench.

    Its seeded bugs: the block is right, and with ``late_units`` the units' reset is seen a cycle
    late, with ``short`` the soft reset without its last two cycles.
    """
    b = FormalBench("host_registers", CONFIG, "2 units", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = HostRegisters(CONFIG)
    b.drive(dut)
    short = (dut.restart | dut.restart_next) & C(fault == "short", 1)
    active = b.value(dut.soft_reset_active & ~short, "active")
    units = b.before(dut.unit_reset, "units") if fault == "late_units" else dut.unit_reset
    # How many cycles it has run before this one, up to LEAST.
    age = b.register(range(LEAST + 1), "age")
    b.m.d.sync += age.eq(Mux(active, age + (age != LEAST), 0))
    b.check(
        "resets_units",
        f"all units are reset in cycle {LIMITS.soft_reset_units} of a soft reset",
        ~active | (age != LIMITS.soft_reset_units - 1) | units.all(),
        fault="late_units",
        cover=("as early as can be", active & (age == LIMITS.soft_reset_units - 1)),
    )
    b.check(
        "lasts",
        f"a soft reset lasts {LEAST} cycles at least",
        active | (age == 0) | (age == LEAST),
        fault="short",
        cover=("one of as many", ~active & b.past(active & (age == 0), LEAST, "short")),
    )
    return b.close()
