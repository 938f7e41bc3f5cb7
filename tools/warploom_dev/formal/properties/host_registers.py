"""HostRegisters' soft reset: what Mailbox and the units rely on."""

from typing import Any, Final

from amaranth.hdl import C

from warploom.host import HostRegisters
from warploom_dev.formal.formal_bench import FormalBench
from warploom_spec import Config

CONFIG: Final = Config(sections=2, units=2, cores_per_unit=2)


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench.

    Its seeded bugs: the block is right, and with ``late_units`` the units' reset is seen a cycle
    late, with ``short`` the soft reset without its last cycle.
    """
    b = FormalBench("host_registers", CONFIG, "2 units", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    dut: Any = HostRegisters(CONFIG)
    b.drive(dut)
    resetting = b.value(dut.resetting & ~(dut.restart & C(fault == "short", 1)), "resetting")
    units = b.before(dut.unit_reset, "units") if fault == "late_units" else dut.unit_reset
    before = b.before(resetting, "was_resetting")
    b.check(
        "resets_units",
        "all units are reset in the first cycle of a soft reset",
        ~resetting | before | units.all(),
        fault="late_units",
        cover=("a soft reset begins", resetting & ~before),
    )
    b.check(
        "lasts",
        "a soft reset lasts two cycles at least",
        resetting | ~before | b.before(before, "long"),
        fault="short",
        cover=("one of two cycles", ~resetting & b.past(resetting & ~before, 2, "short")),
    )
    return b.close()
