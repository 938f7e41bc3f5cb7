"""Cocotb module: the host of a SimtGpu. It fills the memory, launches, and waits for the records.

The plan is a list of runs, one after the other on the same GPU; each has an image, launches and the
file that gets the memory afterwards.
"""

import json
import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from simt_core.packets import memory_request
from simt_host.c_driver import NOTHING_YET, CDriver
from simt_host.memory_image import MEMORY_BITS
from simt_host.watchers import PERIOD, Watcher
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.json_file import write_json
from warploom_spec import Config

#: Cycles that one wait for the interrupt lasts at most.
_NAP = 2000
_RECORDS = 1
#: Cycles that an abort may take, at most, until the records are there.
_ABORT_CYCLES = 100_000


class Gpu:
    """The ports of a SimtGpu, as blocking functions use them."""

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self._request = memory_request(MEMORY_BITS)
        self._held = np.zeros(1 << MEMORY_BITS - 2, np.uint32)
        self.written_at = 0
        self._master: AxiLiteMaster

    async def reset(self) -> None:
        """Reset the GPU; all inputs are 0."""
        dut = self._dut
        for name in ("host_valid", "host"):
            getattr(dut, name).value = 0
        self._master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        dut.rst.value = 1
        await Timer(PERIOD, "ns")
        Clock(dut.clk, PERIOD, unit="ns", impl="gpi").start()
        await ClockCycles(dut.clk, 4)
        await FallingEdge(dut.clk)
        dut.rst.value = 0

    async def fill(self, words: np.ndarray) -> None:
        """Write the words that differ from what the memory holds."""
        dut = self._dut
        await FallingEdge(dut.clk)
        for address in np.flatnonzero(words != self._held):
            fields = {"write": 1, "address": int(address), "bytes": 15, "data": int(words[address])}
            dut.host.value = self._request.pack(fields)
            dut.host_valid.value = 1
            await FallingEdge(dut.clk)
        dut.host_valid.value = 0
        self._held = words.copy()

    async def read_back(self, start: int, end: int) -> np.ndarray:
        """Return the whole memory, of which the words from ``start`` to ``end`` are read anew."""
        dut = self._dut
        await FallingEdge(dut.clk)
        for address in range(start, end):
            fields = {"write": 0, "address": address, "bytes": 0, "data": 0}
            dut.host.value = self._request.pack(fields)
            dut.host_valid.value = 1
            await FallingEdge(dut.clk)
            self._held[address] = int(dut.loaded.value)
        dut.host_valid.value = 0
        return self._held.copy()

    def driver(self, library: Path) -> CDriver:
        """Return the C driver on the GPU's bus."""
        return CDriver(library, *self.accesses())

    def accesses(self) -> tuple[Any, Any, Any]:
        """Return blocking functions that read, write, and wait for the interrupt."""
        dut, master = self._dut, self._master

        @resume
        async def read32(address: int) -> int:
            answer = await master.read(address, 4)
            if answer.resp != AxiResp.OKAY:
                raise RuntimeError(f"the core refused a read of {address:#x}")
            return int.from_bytes(answer.data, "little")

        @resume
        async def write32(address: int, value: int) -> None:
            answer = await master.write(address, value.to_bytes(4, "little"))
            if answer.resp != AxiResp.OKAY:
                raise RuntimeError(f"the core refused a write of {address:#x}")
            self.written_at = self.cycle()

        @resume
        async def wait_irq() -> None:
            if not int(dut.irq.value):
                await First(RisingEdge(dut.irq), Timer(_NAP * PERIOD, "ns"))

        return read32, write32, wait_irq

    def cycle(self) -> int:
        """Return the number of the cycle."""
        return int(get_sim_time("ns")) // PERIOD

    def counts(self) -> tuple[int, int]:
        """Return the turns and the index reads since the reset."""
        return int(self._dut.turns.value), int(self._dut.reads.value)

    async def wait(self, cycles: int) -> None:
        """Let some cycles pass."""
        await ClockCycles(self._dut.clk, cycles)


def run(gpu: Gpu, driver: CDriver, plan: dict[str, Any]) -> dict[str, Any]:
    """Launch all launches of a run, run its tasks, and wait for as many records."""
    wait = resume(gpu.wait)
    turns, reads = gpu.counts()
    driver.call("enable_sms", 0, plan["sms"])
    driver.call("set_launch_timeout", plan.get("launch_timeout", 0))
    tickets: list[int] = []
    rung: list[int] = []
    events: list[tuple[int, int]] = []
    for fields, pause, after in zip(plan["launches"], plan["pauses"], plan["after"], strict=True):
        if pause:
            wait(pause)
        code, ticket = driver.launch(fields, [events[number] for number in after])
        if code:
            return {"code": code, "records": []}
        tickets.append(ticket)
        events.append(driver.event(fields["stream"]))
        rung.append(gpu.written_at)
    tasks = [driver.run(fields) for fields in plan.get("tasks", ())]
    if plan.get("abort_after") is not None:
        wait(plan["abort_after"])
        # A launch that has ended is not there to abort; its record says how it ended.
        driver.call("abort", 0, tickets[0])
    records: list[dict[str, int]] = []
    while len(records) < len(tickets):
        code, record = driver.wait_record()
        if code == 0:
            at = tickets.index(record["ticket"])
            records.append({**record, "launch": at, "waited": gpu.cycle() - rung[at]})
        elif code != NOTHING_YET:
            return {"code": code, "records": records}
        elif (waited := gpu.cycle() - rung[-1]) > plan["limit"]:
            if waited > plan["limit"] + _ABORT_CYCLES:
                raise RuntimeError(f"no record in {waited} cycles, aborts included")
            for ticket in tickets:
                driver.call("abort", 0, ticket)
    after = gpu.counts()
    counted = {"tasks": tasks, "instructions": after[0] - turns, "index_reads": after[1] - reads}
    return {"code": 0, "records": records, **counted}


@contextmanager
def watched(dut: Any, config: Config, waits: list[int] | None) -> Iterator[list[dict[str, int]]]:
    """Note the offers of a run, if it wants them."""
    if waits is None:
        yield []
        return
    watcher = Watcher(dut, config, waits)
    tasks = [cocotb.start_soon(watcher.watch_offers())]
    if waits:
        tasks.append(cocotb.start_soon(watcher.watch_turns()))
    yield watcher.offers
    for task in tasks:
        task.cancel()


@cocotb.test()
async def bench(dut: Any) -> None:
    """Make the planned runs, and write what came of them."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    # JSON has no tuples.
    fields: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in plan["config"].items()
    }
    config = Config(**fields)
    outcomes = []
    try:
        gpu = Gpu(dut)
        await gpu.reset()
        logging.getLogger("cocotb.dut.s_axil").setLevel(logging.WARNING)
        driver = gpu.driver(Path(plan["library"]))
        start = await bridge(driver.call)("identify")
        start = start or await bridge(driver.call)("enable_irq", _RECORDS, 1)
        if start:
            raise RuntimeError(f"the driver's first calls failed with {start}")
        for one in plan["runs"]:
            await gpu.fill(np.load(one["image"]).view("<u4"))
            with watched(dut, config, one["watch"]) as offers:
                outcomes.append(await bridge(run)(gpu, driver, one))
            outcomes[-1]["offers"] = offers
            memory = await gpu.read_back(*one["read_back"])
            np.save(one["memory"], memory.astype("<u4").view(np.uint8))
        found: dict[str, Any] = {"runs": outcomes}
    except Exception as error:
        traceback.print_exc()
        found = {"runs": outcomes, "failure": f"{type(error).__name__}: {error}"}
    write_json(Path(plan["outcomes"]), found)
