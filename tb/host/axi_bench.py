"""Cocotb module: a host drives a mailbox and its unit over AXI4-Lite, and the test plays the cores.

The scenario is named by the plan; what it found goes into the outcomes, or what went wrong.
"""

import itertools
import json
import os
import random
import traceback
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.json_file import write_json
from warploom_spec import host_packets, preset
from warploom_spec.host_commands import Opcode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import section_address

TINY = preset("tiny")
START = host_packets.core_start(TINY)
#: A bench that has not ended by then hangs: far more than its longest run.
SILENT_NS = 200_000
DOORBELL = section_address(0, "DOORBELL")


class Unit:
    """The cores of unit 0, as the test wants them."""

    def __init__(self, dut):
        self.dut = dut
        for name in ("start__ready", "arrived", "failed", "failure", "result__valid"):
            getattr(dut, f"cores__0__{name}").value = 0
        dut.cores__0__result__payload.value = 0

    async def take(self, limit=200):
        """Take the next start; return its fields, code and arguments."""
        dut = self.dut
        dut.cores__0__start__ready.value = 1
        for _ in range(limit):
            await FallingEdge(dut.clk)
            if int(dut.cores__0__start__valid.value):
                start = START.unpack(int(dut.cores__0__start__payload.value))
                code, arguments = int(dut.cores__0__code.value), int(dut.cores__0__arguments.value)
                await RisingEdge(dut.clk)
                dut.cores__0__start__ready.value = 0
                return start | {"code": code, "arguments": arguments}
        raise RuntimeError("no start came")

    async def arrive(self, mask, failed=0, failure=0):
        """Arrive at the barrier, wait until it opens, and step back."""
        dut = self.dut
        await FallingEdge(dut.clk)
        dut.cores__0__failure.value = failure
        dut.cores__0__arrived.value = mask & ~failed
        dut.cores__0__failed.value = failed
        while not int(dut.cores__0__barrier_open.value):
            await FallingEdge(dut.clk)
        dut.cores__0__arrived.value = dut.cores__0__failed.value = 0


async def set_up(dut):
    for name in ("awvalid", "wvalid", "arvalid", "bready", "rready", "awprot", "arprot"):
        getattr(dut, f"s_axil_{name}").value = 0
    dut.rst.value = 1
    dut.unit_reset.value = 0
    unit = Unit(dut)
    await Timer(2, "ns")
    Clock(dut.clk, 2, unit="ns", impl="gpi").start()
    await ClockCycles(dut.clk, 4)
    return unit


# --- every interleaving of four writes -----------------------------------------------------------


async def interleavings(dut, plan):
    """Write a task and ring, with addresses and data of the four writes in every order."""
    unit = await set_up(dut)
    dut.rst.value = 0
    dut.s_axil_bready.value = 1
    count = 0
    for orders in itertools.combinations(range(8), 4):
        for gap in (0, 1):
            first = 1000 + count
            writes = [
                (section_address(0, "T1"), first),
                (section_address(0, "T2"), 0x0101),
                (section_address(0, "T0"), int(Opcode.RUN)),
                (DOORBELL, 1),
            ]
            sender = cocotb.start_soon(_send(dut, writes, set(orders), gap))
            start = await unit.take()
            await sender
            if start["first"] != first:
                raise RuntimeError(f"order {orders}, gap {gap}: first is {start['first']}")
            await unit.arrive(1)
            await ClockCycles(dut.clk, 4)
            count += 1
    return {"orders": count}


async def _send(dut, writes, address_turns, gap):
    """Offer addresses and data one after the other; a turn is an address's or a datum's."""
    addresses, data = iter(writes), iter(writes)
    for turn in range(8):
        channel = "aw" if turn in address_turns else "w"
        address, word = next(addresses if channel == "aw" else data)
        await FallingEdge(dut.clk)
        if channel == "aw":
            dut.s_axil_awaddr.value = address
        else:
            dut.s_axil_wdata.value = word
            dut.s_axil_wstrb.value = 15
        valid = getattr(dut, f"s_axil_{channel}valid")
        ready = getattr(dut, f"s_axil_{channel}ready")
        valid.value = 1
        while True:
            taken = int(ready.value)
            await RisingEdge(dut.clk)
            if taken:
                break
            await FallingEdge(dut.clk)
        valid.value = 0
        if gap:
            await ClockCycles(dut.clk, gap)


# --- random accesses by cocotbext-axi's own master -----------------------------------------------


def _pauses(rng):
    return (rng.randrange(4) == 0 for _ in itertools.count())


async def random_accesses(dut, plan):
    """Write tasks with byte strobes, read beside, ring, and compare what the unit gets."""
    rng = random.Random(plan["seed"])
    unit = await set_up(dut)
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    for channel in (
        master.write_if.aw_channel,
        master.write_if.w_channel,
        master.write_if.b_channel,
        master.read_if.ar_channel,
        master.read_if.r_channel,
    ):
        channel.set_pause_generator(_pauses(rng))
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    shadow = bytearray(32)
    base = section_address(0, "T0")
    await ok(master.write(base, bytes(32)))
    counts = {"rounds": 0, "refused": 0, "failed": 0}
    for number in range(plan["rounds"]):
        for _ in range(rng.randrange(4)):
            at = rng.randrange(4, 32)
            data = rng.randbytes(rng.randint(1, 32 - at))
            await ok(master.write(base + at, data))
            shadow[at : at + len(data)] = data
        # One part: small 0 makes of any count min(parts, larger).
        shadow[0:4] = bytes([int(Opcode.RUN), 0, rng.randrange(256), rng.randrange(256)])
        shadow[8:16] = bytes([rng.randint(1, 255), 1, *rng.randbytes(2), 0, 0, 0, 0])
        await ok(master.write(base, bytes(shadow[0:4])))
        await ok(master.write(base + 8, bytes(shadow[8:16])))
        counts["refused"] += await refusals(master, rng)
        ring = cocotb.start_soon(ok(master.write(DOORBELL, b"\1\0\0\0")))
        start = await unit.take(2000)
        await ring
        words = [int.from_bytes(shadow[4 * k : 4 * k + 4], "little") for k in range(8)]
        expected = {
            "core": 0,
            "first": words[1],
            "count": 1,
            "task": (number + 1) % 256,
            "code": words[4] | words[5] << 32,
            "arguments": words[6] | words[7] << 32,
        }
        equal(start, expected)
        # While the doorbell is 1, the section cannot be written and its outcome reads 0.
        counts["refused"] += await refused(master.write(base + 4, b"\1\2\3\4"))
        equal(await words_of(master, "STATUS", 3), [0, 0, 0])
        fails, failure = rng.randrange(3) == 0, rng.getrandbits(16)
        await unit.arrive(1, int(fails), failure)
        while (await words_of(master, "DOORBELL", 1)) != [0]:
            pass
        error = int(HostError.CORE_FAILED) | failure << 16 if fails else 0
        equal(await words_of(master, "STATUS", 3), [int(not fails), 1, error])
        equal(await words_of(master, "RESULT1", 1), [(number + 1) % 256])
        counts["failed"] += fails
        counts["rounds"] += 1
    equal(int(dut.refused.value), counts["refused"])
    return counts


async def refusals(master, rng):
    """Try some accesses that must be refused; return how many were."""
    wrong_writes = [
        (0x0F00, b"\0\0\0\0"),
        (section_address(0, "STATUS"), b"\1\0\0\0"),
        (section_address(1, "DOORBELL") + 0x200, b"\1\0\0\0"),
        (section_address(0, "DOORBELL"), b"\1\0\0"),
        (section_address(0, "DOORBELL"), b"\2\0\0\0"),
        (0xFFFC, b"\1\0\0\0"),
    ]
    count = 0
    for address, data in rng.sample(wrong_writes, 2):
        count += await refused(master.write(address, data))
    for address in rng.sample([0x0, 0x1044, 0x1040, 0x1100, 0x1400, 0xFFFC], 2):
        count += await refused(master.read(address, 4))
    return count


async def ok(access):
    answer = await access
    if answer.resp != AxiResp.OKAY:
        raise RuntimeError(f"refused: {answer}")
    return answer


async def refused(access):
    answer = await access
    if answer.resp != AxiResp.SLVERR:
        raise RuntimeError(f"not refused: {answer}")
    return 1


async def words_of(master, name, count):
    answer = await ok(master.read(section_address(0, name), 4 * count))
    return [int.from_bytes(answer.data[4 * k : 4 * k + 4], "little") for k in range(count)]


def equal(found, expected):
    if found != expected:
        raise RuntimeError(f"found {found}, expected {expected}")


# --- latencies -----------------------------------------------------------------------------------


async def latencies(dut, plan):
    """Return cycles from a doorbell's commit to the first start, and from barrier to doorbell 0."""
    unit = await set_up(dut)
    dut.rst.value = 0
    dut.s_axil_bready.value = dut.s_axil_rready.value = 1
    writes = [
        (section_address(0, "T1"), 5),
        (section_address(0, "T2"), 0x0101),
        (section_address(0, "T0"), int(Opcode.RUN)),
    ]
    everything = {0, 2, 4, 6}
    await _send(dut, [*writes, (section_address(0, "T4"), 7)], everything, 0)
    await ClockCycles(dut.clk, 8)
    await FallingEdge(dut.clk)
    dut.s_axil_awaddr.value, dut.s_axil_wdata.value = DOORBELL, 1
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
    await RisingEdge(dut.clk)
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
    # Address and data stand in their queues from here on: this is the commit's cycle.
    await FallingEdge(dut.clk)
    to_start = 0
    while not int(dut.cores__0__start__valid.value):
        await FallingEdge(dut.clk)
        to_start += 1
    await RisingEdge(dut.clk)
    await unit.take()
    await FallingEdge(dut.clk)
    dut.cores__0__arrived.value = 1
    # This is the arrival's cycle. Reads of the doorbell are sampled in every cycle from now on.
    await FallingEdge(dut.clk)
    dut.s_axil_araddr.value, dut.s_axil_arvalid.value = DOORBELL, 1
    answers = []
    for cycle in range(1, 20):
        if int(dut.s_axil_rvalid.value):
            answers.append((cycle, int(dut.s_axil_rdata.value)))
        await FallingEdge(dut.clk)
    # BusPort's rule 7: a read's answer is valid three cycles after its sampling.
    cleared = next(cycle for cycle, data in answers if not data) - 3
    return {"doorbell_to_first_core": to_start, "last_core_to_doorbell_clear": cleared}


@cocotb.test()
async def bench(dut):
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    scenarios = {
        "interleavings": interleavings,
        "random": random_accesses,
        "latencies": latencies,
    }
    try:
        run = scenarios[plan["scenario"]](dut, plan)
        found = await with_timeout(run, SILENT_NS, "ns")
    except Exception as error:
        traceback.print_exc()
        found = {"failure": f"{type(error).__name__}: {error}"}
    write_json(Path(plan["outcomes"]), found)
