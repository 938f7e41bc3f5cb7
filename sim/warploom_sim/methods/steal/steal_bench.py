"""The cocotb module of work stealing: workers over AXI4-Lite, cores at the units' ports."""

import json
import os
import traceback
from pathlib import Path
from typing import Any, Final

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from warploom_golden.stealing import Costs, StealOptions, make_algorithm
from warploom_golden.stealing.algorithm import Algorithm, Item, Result
from warploom_golden.stealing.requests import Delay, Park, Request, Ring
from warploom_golden.stealing.steal_model import root_and_workers
from warploom_golden.stealing.worker import Worker
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.json_file import write_json
from warploom_spec import Config, host_packets
from warploom_spec.host_commands import Opcode
from warploom_spec.host_map import section_address

PERIOD_NS: Final = 2
#: Cycles between two reads of a doorbell.
POLL: Final = 16


class Memory:
    """What workers and cores share beside the mailbox: the leaves' parts and their results."""

    def __init__(self) -> None:
        self.parts: list[list[Item]] = []
        self.results: list[dict[int, Result]] = []

    def add(self, parts: list[Item]) -> int:
        """Keep a leaf's parts; return the number that stands for them."""
        self.parts.append(parts)
        self.results.append({})
        return len(self.parts) - 1


class Cores:
    """The cores of one unit: they run what the unit's port says, and nothing else.

    Parameters
    ----------
    dut : object
        The top module.
    unit : int
        Its number.
    config : Config
        Widths.
    algorithm : Algorithm
        What a part is.
    memory : Memory
        Where parts and results stand.
    """

    def __init__(self, dut: Any, unit: int, config: Config, algorithm: Algorithm, memory: Memory):
        self._pins = {
            name: getattr(dut, f"cores__{unit}__{name}")
            for name in (
                "start__valid",
                "start__payload",
                "start__ready",
                "arguments",
                "arrived",
                "failed",
                "failure",
                "result__valid",
                "result__payload",
                "barrier_open",
            )
        }
        self._clock = dut.clk
        self._start = host_packets.core_start(config)
        self._algorithm, self._memory = algorithm, memory
        self._arrived = 0
        for name in ("start__ready", "arrived", "failed", "failure"):
            self._pins[name].value = 0
        self._pins["result__valid"].value = self._pins["result__payload"].value = 0

    async def run(self) -> None:
        """Take the starts of every task."""
        self._pins["start__ready"].value = 1
        cocotb.start_soon(self._drop_on_release())
        while True:
            if not int(self._pins["start__valid"].value):
                await RisingEdge(self._pins["start__valid"])
            await ReadOnly()
            start = self._start.unpack(int(self._pins["start__payload"].value))
            handle = int(self._pins["arguments"].value)
            await RisingEdge(self._clock)
            cocotb.start_soon(self._part(start, handle))
            await Timer(1, "step")

    async def _part(self, start: dict[str, int], handle: int) -> None:
        """Run a part on a core, then arrive at the barrier."""
        cycles = 1
        for number in range(start["first"], start["first"] + start["count"]):
            part = self._memory.parts[handle][number]
            if number in self._memory.results[handle]:
                raise RuntimeError(f"part {number} of leaf {handle} ran twice")
            self._memory.results[handle][number] = self._algorithm.run(part)
            cycles += self._algorithm.leaf_cycles(part)
        await ClockCycles(self._clock, cycles) if cycles < 4 else await _cycles(self._clock, cycles)
        self._arrived |= 1 << start["core"]
        self._pins["arrived"].value = self._arrived

    async def _drop_on_release(self) -> None:
        while True:
            await RisingEdge(self._pins["barrier_open"])
            await RisingEdge(self._clock)
            self._arrived = 0
            self._pins["arrived"].value = 0


async def _cycles(clock: Any, cycles: int) -> None:
    """Let cycles pass with one event of the simulator; end behind a rising edge."""
    if cycles:
        await Timer(cycles * PERIOD_NS - 1, "ns")
        await RisingEdge(clock)


class Host:
    """The workers' way to the mailbox.

    Parameters
    ----------
    master : AxiLiteMaster
        The bus.
    clock : object
        The clock.
    algorithm : Algorithm
        The problem.
    memory : Memory
        Shared with the cores.
    cores : int
        Of a unit.
    """

    def __init__(
        self, master: Any, clock: Any, algorithm: Algorithm, memory: Memory, cores: int
    ) -> None:
        self._master, self._clock = master, clock
        self._algorithm, self._memory, self._cores = algorithm, memory, cores
        self.polls = 0

    async def run(self, unit: int, item: Item) -> tuple[int, Result]:
        """Run one leaf on a unit by one mailbox round; return its code and result."""
        parts = self._algorithm.leaf_parts(item, self._cores)
        handle = self._memory.add(parts)
        task = [int(Opcode.RUN), 0, len(parts), 1, 0, 0, handle, 0]
        data = b"".join(word.to_bytes(4, "little") for word in task)
        await self._write(section_address(unit, "T0"), data)
        await self._write(section_address(unit, "DOORBELL"), b"\x01\x00\x00\x00")
        while (await self._read(section_address(unit, "DOORBELL"), 1))[0]:
            self.polls += 1
            await _cycles(self._clock, POLL)
        status, assigned, error = await self._read(section_address(unit, "STATUS"), 3)
        mask = (1 << len(parts)) - 1
        if (assigned, error & 0xFF or status) != (mask, error & 0xFF or mask):
            raise RuntimeError(f"unit {unit}: status {status:#x}, assigned {assigned:#x}")
        if error & 0xFF:
            return error >> 16, None
        results = self._memory.results[handle]
        if sorted(results) != list(range(len(parts))):
            raise RuntimeError(f"unit {unit}: parts {sorted(results)} of {len(parts)} ran")
        if len(parts) == 1:
            return 0, results[0]
        return 0, self._algorithm.join(item, [results[k] for k in range(len(parts))])

    async def _write(self, address: int, data: bytes) -> None:
        answer = await self._master.write(address, data)
        if answer.resp != AxiResp.OKAY:
            raise RuntimeError(f"a write to {address:#x} was refused")

    async def _read(self, address: int, words: int) -> list[int]:
        answer = await self._master.read(address, 4 * words)
        if answer.resp != AxiResp.OKAY:
            raise RuntimeError(f"a read of {address:#x} was refused")
        return [int.from_bytes(answer.data[4 * k : 4 * k + 4], "little") for k in range(words)]


class Workers:
    """Workers as coroutines: the golden model's, their requests carried out in clock cycles."""

    def __init__(self, host: Host, clock: Any, algorithm: Algorithm, options: StealOptions):
        self._host, self._clock = host, clock
        self._changed = Event()
        self.root, self.workers = root_and_workers(algorithm, options, self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = Event()

    async def run(self) -> None:
        """Run every worker until the root is joined."""
        runs = [cocotb.start_soon(self._run(worker)) for worker in self.workers]
        for run in runs:
            await run

    async def _run(self, worker: Worker) -> None:
        steps = worker.run()
        answer = None
        while True:
            try:
                request: Request = steps.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(request, Delay):
                await _cycles(self._clock, request.cycles)
            elif isinstance(request, Ring):
                answer = await self._ring(request)
            else:
                assert isinstance(request, Park)
                await self._changed.wait()

    async def _ring(self, request: Ring) -> list[tuple[int, Result]]:
        rounds = [
            cocotb.start_soon(self._host.run(unit, part))
            for unit, part in zip(request.units, request.parts, strict=False)
        ]
        return [await one for one in rounds]


async def _steal(dut: Any, plan: dict[str, Any]) -> dict[str, Any]:
    config = Config(**{**plan["config"], "grid_bits": tuple(plan["config"]["grid_bits"])})
    costs = Costs(**plan["options"].pop("costs"))
    options = StealOptions(costs=costs, **plan["options"])
    algorithm = make_algorithm(plan["algorithm"], options.seed, plan["size"])
    memory = Memory()
    dut.rst.value = 1
    dut.unit_reset.value = 0
    for pin in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
        getattr(dut, f"s_axil_{pin}").value = 0
    # The bus master must not see a reset that is not there yet.
    await Timer(PERIOD_NS, "ns")
    Clock(dut.clk, PERIOD_NS, unit="ns", impl="gpi").start()
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    units = [Cores(dut, unit, config, algorithm, memory) for unit in range(config.units)]
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    for unit in units:
        cocotb.start_soon(unit.run())
    start = get_sim_time("ns")
    host = Host(master, dut.clk, algorithm, memory, config.cores_per_unit)
    team = Workers(host, dut.clk, algorithm, options)
    await _cycles(dut.clk, options.costs.start_up)
    await team.run()
    makespan = int((get_sim_time("ns") - start) // PERIOD_NS)
    await ClockCycles(dut.clk, 4)
    if int(dut.busy.value) or int(dut.missing.value) or int(dut.refused.value):
        raise RuntimeError("units are not idle at the end, or an access was refused")
    workers = team.workers
    return {
        "correct": team.root.code == 0 and algorithm.correct(team.root.result),
        "makespan": makespan,
        "leaves": sum(worker.leaves for worker in workers),
        "rounds": sum(worker.rounds for worker in workers),
        "steals": sum(worker.steals for worker in workers),
        "attempts": sum(worker.attempts for worker in workers),
        "polls": host.polls,
        "parts": sum(len(parts) for parts in memory.parts),
    }


@cocotb.test()
async def steal(dut: Any) -> None:
    """Run the plan's algorithm; write its figures, or what went wrong."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    try:
        found = await _steal(dut, plan)
    except Exception as error:
        traceback.print_exc()
        found = {"failure": f"{type(error).__name__}: {error}"}
    write_json(Path(plan["outcomes"]), found)
