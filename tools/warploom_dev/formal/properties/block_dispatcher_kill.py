"""BlockDispatcher's kills end in time: each block is reported or its SM is lost."""

from dataclasses import replace
from typing import Any, Final

from amaranth.hdl import Cat, Mux

from warploom.dispatch import BlockDispatcher
from warploom_dev.formal.dispatcher_checks import check_error
from warploom_dev.formal.dispatcher_view import (
    PLACES,
    OneSm,
    Ports,
)
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import block_dispatcher
from warploom_spec import ErrorCode, timing

CONFIG: Final = replace(
    block_dispatcher.CONFIG,
    sms=1,
    block_slots=1,
    warp_slots=1,
    register_units=1,
    max_threads=8,
    grid_bits=(1, 1, 1),
    kill_timeout=10,
)
#: Cycles that are searched of what is not proved for all time: more than a kill can take.
BOUND: Final = 34
#: Likewise of a loss, which is some cycles earlier.
LOSS_BOUND: Final = 28


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; a seeded bug of its own is ``patient``, a timer one cycle too long."""
    b = FormalBench("block_dispatcher", CONFIG, "1 SM, 1 slot, 1 warp; grids of 1 block", fault)
    # Its ports are made from a dictionary: no type checker sees them.
    timeout = CONFIG.kill_timeout + (fault == "patient")
    dut: Any = BlockDispatcher(replace(CONFIG, kill_timeout=timeout))
    ports = Ports(b, dut)
    ports.drive()
    ports.assume()
    sm = OneSm(ports, 0)
    ages = _ages(ports)
    _state_loss(ports, sm, ages)
    _state_freed(ports)
    _state_silent(ports, sm)
    return b.close()


def _ages(ports: Ports) -> list[Any]:
    """Return for each place how many cycles ago its kill rose, in a cycle with that kill."""
    b, most = ports.b, CONFIG.kill_timeout + timing(CONFIG).loss
    ages = [b.register(range(most + 1), f"age_{p}") for p in PLACES]
    for p, age in enumerate(ages):
        b.m.d.sync += age.eq(Mux(ports.kill[p], age + (age != most), 0))
    return ages


def _state_loss(ports: Ports, sm: OneSm, ages: list[Any]) -> None:
    """State that an SM is lost when a killed block was not reported in time, and only then."""
    b, most = ports.b, CONFIG.kill_timeout
    over = most + timing(CONFIG).loss
    late = Cat(
        # By then what was at the port in the last cycle that counts is looked up.
        ports.kill[p] & (ages[p] == over - 1) & b.before(sm.unreported[p], f"late_{p}")
        for p in PLACES
    ).any()
    lost = b.register(1, "expected_lost")
    b.m.d.sync += lost.eq(lost | late)
    b.check(
        "loss",
        f"an SM is lost {over} cycles after a kill if a block of it was not reported in {most}",
        sm.lost == lost,
        fault="patient",
        cover=("the other place is killed as well", sm.lost & ports.kill.all()),
        bound=LOSS_BOUND,
        slow=True,
    )
    unreported = Cat(ports.kill[p] & (ages[p] == over) & sm.unreported[p] for p in PLACES).any()
    b.check(
        "in_time",
        f"each block of a place that is killed is reported in {over} cycles, or its SM is lost",
        ~unreported | sm.lost,
        fault="patient",
        cover=("a block was never taken", unreported & ports.dut.offer[0].valid),
        bound=LOSS_BOUND,
        slow=True,
    )


def _state_freed(ports: Ports) -> None:
    """State that a killed place is freed."""
    b, times, ended = ports.b, timing(CONFIG), ports.dut.ended
    # No two launches end at once: one SM with one slot runs one block.
    most = CONFIG.kill_timeout + times.loss + times.loss_kill - 1 + times.end
    refused = ended.valid & ~b.inputs["ended__ready"]
    waited = [b.register(range(most + 2), f"killed_for_{p}") for p in PLACES]
    for p, count in enumerate(waited):
        step = (count != most + 1) & ~refused
        b.m.d.sync += count.eq(Mux(ports.kill[p], count + step, 0))
    b.check(
        "freed",
        f"a killed place is free in {most} cycles, those left out in which a record is refused",
        Cat(count <= most for count in waited).all(),
        fault="patient",
        cover=("as late as can be", Cat(count == most for count in waited).any()),
        bound=BOUND,
        slow=True,
    )


def _state_silent(ports: Ports, sm: OneSm) -> None:
    """State that a lost SM is not heard."""
    check_error(
        ports,
        sm,
        ErrorCode.LOST_SM_SIGNAL,
        sm.from_lost,
        "silent",
        "a report of a lost SM is an error, and no other report is",
        fault="report_unseen",
        bound=None,
    )
