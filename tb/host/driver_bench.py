"""Cocotb module: the C driver and the Python driver run against the core's RTL.

A driver is blocking code: it runs in a thread of its own, and each of its accesses is an access of
`cocotbext.axi`'s master. The bench plays the SMs and the cores of the units.
"""

import ctypes
import functools
import importlib
import json
import os
import traceback
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from simt_host.c_calls import Refused
from tb.host import driver_tours
from tb.host.c_driver import CDriver
from tb.host.loop_hosts import CLoops
from tb.host.stream_hosts import CStreams, PythonStreams
from tb.support.dispatch_configs import config_of
from warploom_host import HostDriver
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.json_file import write_json
from warploom_spec import BlockStatus, host_packets, layouts
from warploom_spec.resident_packets import resident_block

#: Time of a tour, at most.
SILENT_NS = 400_000


#: Bit of a launch's code pointer: its blocks report a fault.
FAULTS = 4096


class Sms:
    """The SMs: each block runs as many cycles as the low bits of its launch's code pointer say.

    Attributes
    ----------
    blocks : list
        Ticket, x and SM of every block that was taken.
    taken : list of (int, dict)
        Of each of them how many blocks had ended before, and its launch's words and stream.
    ended : list of int
        Tickets of the blocks that were reported.
    running : list of dict
        Of each SM the blocks that it holds, by slot.
    silent : bool
        Nothing is reported.
    forced : list
        Reports, each an SM, a slot and a status, that are sent before any other.
    """

    def __init__(self, dut, config):
        self.dut = dut
        self._block = resident_block(config)
        self._report = layouts.block_report(config)
        self._words = layouts.launch_words(config)
        self.blocks, self.taken, self.ended = [], [], []
        self._tickets = {}
        self.running = [{} for _ in range(config.sms)]
        self.silent = False
        self.forced = []
        #: SMs whose report was not taken yet.
        self._standing = set()
        for n in range(config.sms):
            self._port(n, "report", "valid").value = 0
            self._port(n, "report", "payload").value = 0
            self._port(n, "read", "valid").value = 0
            self._port(n, "read", "payload").value = 0

    def _port(self, n, name, part):
        return getattr(self.dut, f"{name}__{n}__{part}")

    async def run(self):
        """Take offers, report ends; once `silent`, report nothing more."""
        dut, cycle = self.dut, 0
        while True:
            await FallingEdge(dut.clk)
            kill = int(dut.kill.value) if dut.kill.value.is_resolvable else 0
            for n, held in enumerate(self.running):
                self._sample(n, held, cycle)
                if n not in self._standing:
                    self._send(n, held, cycle, kill)
                ready = self._port(n, "report", "ready").value
                if ready.is_resolvable and int(ready):
                    # Taken at the next edge.
                    self._standing.discard(n)
            cycle += 1

    def _sample(self, n, held, cycle):
        """Take the block that the SM is offered in this cycle."""
        if not int(self.dut.offer.value) >> n & 1 or int(self.dut.rst.value):
            return
        block = self._block.unpack(int(self.dut.block.value))
        words = self._words.unpack(int(self.dut.words.value))
        self.blocks.append((words["ticket"], block["bx"], n))
        self.taken.append((len(self.ended), words | {"stream": block["stream"]}))
        self._tickets[n, block["slot"]] = words["ticket"]
        due = cycle + 1 + words["code"] % FAULTS
        status = BlockStatus.FAULT if words["code"] & FAULTS else BlockStatus.OK
        held[block["slot"]] = (due, block["stream"], status)

    def _send(self, n, held, cycle, kill):
        """Report what is forced, or one block that is due or killed."""
        self._port(n, "report", "valid").value = 0
        for report in self.forced:
            if report[0] == n:
                self.forced.remove(report)
                self._report_slot(n, held, *report[1:])
                return
        if self.silent:
            return
        for slot, (due, stream, status) in held.items():
            killed = kill >> stream & 1
            if cycle >= due or killed:
                early = killed and cycle < due
                self._report_slot(n, held, slot, BlockStatus.KILLED if early else status)
                return

    def _report_slot(self, n, held, slot, status):
        report = self._report.pack({"slot": slot, "status": int(status)})
        self._port(n, "report", "payload").value = report
        self._port(n, "report", "valid").value = 1
        self._standing.add(n)
        self.ended.append(self._tickets.get((n, slot)))
        held.pop(slot, None)


class Cores:
    """The cores of unit 0: each part ends two cycles after its start; code 13 fails.

    With code 14 core 0 arrives when ``holds`` is False.
    """

    def __init__(self, dut, config):
        self.dut = dut
        self._start = host_packets.core_start(config)
        self.parts = []
        self.holds = True
        for name in ("start__ready", "arrived", "failed", "failure", "result__valid"):
            getattr(dut, f"cores__0__{name}").value = 0
        dut.cores__0__result__payload.value = 0

    async def run(self):
        """Take starts, arrive, and step back when the barrier opens."""
        dut = self.dut
        dut.cores__0__start__ready.value = 1
        here = held = 0
        while True:
            await FallingEdge(dut.clk)
            if int(dut.cores__0__barrier_open.value) or int(dut.cores__0__cancel.value):
                here = 0
                dut.cores__0__arrived.value = dut.cores__0__failed.value = 0
            elif int(dut.cores__0__start__valid.value) and not int(dut.rst.value):
                start = self._start.unpack(int(dut.cores__0__start__payload.value))
                code = int(dut.cores__0__code.value)
                self.parts.append((code, start["core"], start["first"], start["count"]))
                if code == 14 and not start["core"]:
                    held = 1
                    continue
                here |= 1 << start["core"]
                dut.cores__0__failure.value = 77 if code == 13 else 0
                side = dut.cores__0__failed if code == 13 else dut.cores__0__arrived
                side.value = here
            elif held and not self.holds:
                here |= held
                held = 0
                dut.cores__0__arrived.value = here


async def set_up(dut, config):
    dut.rst.value = 1
    sms, cores = Sms(dut, config), Cores(dut, config)
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    await Timer(2, "ns")
    Clock(dut.clk, 2, unit="ns", impl="gpi").start()
    await ClockCycles(dut.clk, 4)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    cocotb.start_soon(sms.run())
    cocotb.start_soon(cores.run())
    await ClockCycles(dut.clk, 2)
    return master, sms, cores


def accesses(dut, master):
    """Return blocking functions that read, write, and wait for the interrupt."""

    @resume
    async def read32(address):
        answer = await master.read(address, 4)
        if answer.resp != AxiResp.OKAY:
            raise Refused(hex(address))
        return int.from_bytes(answer.data, "little")

    @resume
    async def write32(address, value):
        answer = await master.write(address, value.to_bytes(4, "little"))
        if answer.resp != AxiResp.OKAY:
            raise Refused(hex(address))

    @resume
    async def wait_irq():
        if not int(dut.irq.value):
            await First(RisingEdge(dut.irq), ClockCycles(dut.clk, 2000))

    return read32, write32, wait_irq


@cocotb.test()
async def bench(dut):
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    try:
        config = config_of(plan["config"])
        master, sms, cores = await set_up(dut, config)
        functions = accesses(dut, master)
        if plan["driver"] == "c":
            library = ctypes.CDLL(plan["library"])
            made = CStreams if plan.get("events") else CDriver
            if plan.get("loops"):
                made = functools.partial(CLoops, config=config)
            driver = made(library, *functions)
        else:
            driver = HostDriver(*functions[:2], config, 1000)
        if plan["driver"] == "python":
            wrapped = PythonStreams if plan.get("events") else driver_tours.PythonDriver
            driver = wrapped(driver, functions)
        tour = bridge(getattr(importlib.import_module(plan["module"]), plan["tour"]))
        given = [plan["given"]] if "given" in plan else []
        run = tour(driver, sms, cores, *given)
        found = await with_timeout(run, plan.get("time", SILENT_NS), "ns")
    except Exception as error:
        traceback.print_exc()
        found = {"failure": f"{type(error).__name__}: {error}"}
    write_json(Path(plan["outcomes"]), found)
