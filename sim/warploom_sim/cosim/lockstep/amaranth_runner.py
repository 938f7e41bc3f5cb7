"""Run a session on Amaranth's own simulator."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from amaranth.hdl import ClockDomain, Module, ResetSignal, Signal
from amaranth.sim import Simulator

from warploom_sim.cosim.lockstep.checker import Session

WAVES = "waves.vcd"


def run_session(session: Session, waves: Path | None) -> None:
    """Run all cases of ``session``, with a VCD at ``waves`` if given."""
    top = Module()
    # Declared here because a component without registers declares no domain.
    top.domains += ClockDomain("sync")
    reset = Signal()
    top.d.comb += ResetSignal().eq(reset)
    top.submodules.dut = session.component
    inputs, outputs = (
        {name: value.as_unsigned() for name, value in side.items()}
        for side in (session.ports.inputs, session.ports.outputs)
    )

    # The context's class is not in the stubs.
    async def bench(ctx: Any) -> None:
        written: dict[str, int] = {}
        while (checker := session.current) is not None:
            for name, value in checker.inputs.items():
                if written.get(name) != value:
                    ctx.set(inputs[name], value)
            written = checker.inputs
            ctx.set(reset, checker.rst)
            session.step({name: ctx.get(value) for name, value in outputs.items()})
            await ctx.tick()

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    with nullcontext() if waves is None else simulator.write_vcd(str(waves)):
        simulator.run()
