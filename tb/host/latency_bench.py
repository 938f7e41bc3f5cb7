"""Cocotb module: cycles from a doorbell's write to what follows, at the core's ports."""

import json
import os
import traceback
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer, with_timeout

from tb.host.axi_bench import DOORBELL, Unit, _send
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.json_file import write_json
from warploom_spec import layouts, preset, timing
from warploom_spec.host_commands import Opcode, launch_words, run_words
from warploom_spec.host_map import section_address

TINY = preset("tiny")
#: Cycles from a doorbell to the read of `first_warp`: the launch's request has been taken by then,
#: and its first warp is not written yet.
READ = 27


async def set_up(dut, reads=True):
    """Reset the core; SMs read nothing and report nothing."""
    for name in ("awvalid", "wvalid", "arvalid", "awprot", "arprot"):
        getattr(dut, f"s_axil_{name}").value = 0
    dut.s_axil_bready.value = dut.s_axil_rready.value = 1
    for n in range(TINY.sms):
        for port in (f"report__{n}", *([f"read__{n}"] if reads else [])):
            getattr(dut, f"{port}__valid").value = getattr(dut, f"{port}__payload").value = 0
    dut.rst.value = 1
    unit = Unit(dut)
    await Timer(2, "ns")
    Clock(dut.clk, 2, unit="ns", impl="gpi").start()
    await ClockCycles(dut.clk, 4)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 40)
    return unit


async def ring(dut, layout, **fields):
    """Write a task register and ring; return when BusPort's queues hold the doorbell's write."""
    head = dict.fromkeys(layout.by_name, 0) | fields
    words = enumerate(layout.pack(head))
    writes = [(section_address(0, f"T{k}"), word) for k, word in words if k < 16]
    for first in range(0, len(writes), 4):
        # Four writes at a time, each address right before its data.
        await _send(dut, writes[first : first + 4], {0, 2, 4, 6}, 0)
    await ClockCycles(dut.clk, 8)
    await FallingEdge(dut.clk)
    dut.s_axil_awaddr.value, dut.s_axil_wdata.value, dut.s_axil_wstrb.value = DOORBELL, 1, 15
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
    await RisingEdge(dut.clk)
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
    # Address and data stand in their queues from here on: this is cycle 0. The commit is in 1.
    await FallingEdge(dut.clk)


async def until(dut, *signals, limit=400):
    """Return the cycles until one of the signals is 1, in the middle of that cycle."""
    for cycle in range(limit):
        if any(int(signal.value) for signal in signals):
            return cycle
        await FallingEdge(dut.clk)
    raise RuntimeError(f"none of {[signal._path for signal in signals]} in {limit} cycles")


async def first_warp(dut):
    """Return the cycle in which warp 0 is written, seen by a read that waits for it.

    The launch is known to the index memory when the read comes there, its first warp is not
    written. The read waits in the index memory, and has its data ``index_wake`` cycles after the
    write. A read that comes before the launch's request has its data at once.
    """
    for _ in range(READ - 1):
        await FallingEdge(dut.clk)
    dut.read__0__payload.value = layouts.index_read(TINY).pack(
        {"address": 16, "warp": 0, "index_warps": 2}
    )
    dut.read__0__valid.value = 1
    await RisingEdge(dut.clk)
    dut.read__0__valid.value = 0
    await FallingEdge(dut.clk)
    valid = await until(dut, dut.data_valid)
    # The arbiter takes a cycle, too.
    if valid <= 1 + timing(TINY).index_read:
        raise RuntimeError("the read did not wait for the warp")
    return READ + valid - timing(TINY).index_wake


async def measure(dut):
    """Return each latency by its name."""
    unit = await set_up(dut)
    launch = {"gx": 1, "gy": 1, "gz": 1, "dx": 8, "dy": 1, "dz": 1, "opcode": int(Opcode.LAUNCH)}
    layout = launch_words(TINY)
    found = {}
    await ring(dut, layout, **launch)
    found["doorbell_to_first_block_miss"] = await until(dut, dut.offer)
    await ClockCycles(dut.clk, 60)
    # The same shape at the same address: its indices stand in the memory.
    await ring(dut, layout, **launch, stream=1)
    found["doorbell_to_first_block_hit"] = await until(dut, dut.offer)
    await ClockCycles(dut.clk, 60)
    await ring(dut, layout, **launch | {"dx": 16, "index_address": 16}, stream=2)
    found["doorbell_to_first_warp"] = await first_warp(dut)
    await ClockCycles(dut.clk, 60)
    await ring(dut, run_words(TINY), opcode=int(Opcode.RUN), parts=1, small=1)
    found["doorbell_to_first_core"] = await until(dut, dut.cores__0__start__valid)
    await RisingEdge(dut.clk)
    await unit.take()
    await FallingEdge(dut.clk)
    dut.cores__0__arrived.value = 1
    # This is the arrival's cycle. A read of the doorbell is sent in each cycle from now on.
    await FallingEdge(dut.clk)
    dut.s_axil_araddr.value, dut.s_axil_arvalid.value = DOORBELL, 1
    for cycle in range(1, 40):
        if int(dut.s_axil_rvalid.value) and not int(dut.s_axil_rdata.value):
            # A read's answer is valid three cycles after its sampling.
            found["last_core_to_doorbell_clear"] = cycle - 3
            break
        await FallingEdge(dut.clk)
    return found


async def measure_without_indices(dut):
    """Return the latency of a core without an index memory, by its name."""
    await set_up(dut, reads=False)
    launch = {"gx": 1, "gy": 1, "gz": 1, "dx": 8, "dy": 1, "dz": 1, "opcode": int(Opcode.LAUNCH)}
    await ring(dut, launch_words(TINY), **launch)
    return {"doorbell_to_first_block_without_indices": await until(dut, dut.offer)}


@cocotb.test()
async def bench(dut):
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    try:
        kind = measure if plan["indices"] else measure_without_indices
        found = await with_timeout(kind(dut), 100_000, "ns")
    except Exception as error:
        traceback.print_exc()
        found = {"failure": f"{type(error).__name__}: {error}"}
    write_json(Path(plan["outcomes"]), found)
