"""Run a session on Amaranth's own simulator."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator
from amaranth.sim._async import TestbenchContext

from warploom_sim.lockstep.checker import Session

WAVES = "waves.vcd"


def run_session(session: Session, waves: Path | None) -> None:
    """Run all cases of ``session``, with a VCD at ``waves`` if given."""
    top = Module()
    domain = ClockDomain("sync")
    top.domains += domain
    top.submodules.dut = session.component
    ports = session.ports

    async def bench(ctx: TestbenchContext) -> None:
        written: dict[str, int] = {}
        while (checker := session.current) is not None:
            for name, value in checker.inputs.items():
                if written.get(name) != value:
                    ctx.set(ports.inputs[name], value)
            written = checker.inputs
            ctx.set(domain.rst, checker.rst)
            session.step({name: ctx.get(value) for name, value in ports.outputs.items()})
            await ctx.tick()

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    with nullcontext() if waves is None else simulator.write_vcd(str(waves)):
        simulator.run()
