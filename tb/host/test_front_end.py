"""FrontEnd beside its model: every output in every cycle, with hosts and SMs that do anything."""

from collections import Counter, deque
from dataclasses import replace

import pytest

from tb.host.axil_hosts import ADDRESS
from tb.host.diligent_host import DiligentSurroundings
from tb.host.front_end_stimulus import ResettingSurroundings, Surroundings
from tb.support.deep_values import deep_but, thorough_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant, plant_timing
from warploom.host.front_end import FrontEnd
from warploom.host.host_registers import HostRegisters
from warploom_golden.host import FrontEnd as Model
from warploom_golden.host import HostRegisters as RegistersModel
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_sim.cosim.lockstep.events import require
from warploom_spec import host_packets, preset
from warploom_spec.errors import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.host_registers import registers
from warploom_spec.queue import QueueCode, RecordKind
from warploom_spec.queue_packets import FIRST_WAIT_WORD, MODE_WORD, WAIT_AHEAD

TINY = "tiny,core_timeout=40,kill_timeout=40"
READ_ANSWER = host_packets.bus_read_answer(preset("tiny"))
#: Codes that a random host meets often, and those that take it some ten thousand cycles.
OFTEN = (
    HostError.BAD_OPCODE,
    HostError.NO_UNIT,
    HostError.BAD_SPLIT,
    HostError.CORE_FAILED,
    ErrorCode.GRID_ZERO,
    QueueCode.TICKET_UNKNOWN,
)
SELDOM = (
    HostError.CORE_TIMEOUT,
    HostError.RESET,
    HostError.FIELD_RANGE,
    ErrorCode.BLOCK_ZERO,
    ErrorCode.THREADS,
    ErrorCode.STREAM_PRIORITY,
)
CODES = (*OFTEN, *SELDOM)
#: Those of waits and commands, and of a full queue.
QUEUE_CODES = {
    **{code.name: code for code in (QueueCode.PREEMPT_PENDING, QueueCode.NOT_PREEMPTED)},
    "QUEUE_FULL": ErrorCode.QUEUE_FULL,
    "WAIT_AHEAD": WAIT_AHEAD,
}
#: Aborted and failed; a record that says finished is known by its ticket alone.
FATES = (1, 2)


def make(config):
    return FrontEnd(config_of(config)), Model(config_of(config))


class Seen:
    """Counts what hosts read and what SMs see."""

    def __init__(self):
        addresses = {word.name: word.offset for word in registers(config_of(TINY))}
        self._clock, self._room = addresses["CLOCK_LOW"], addresses["ROOM"]
        self._state, self._record = addresses["STATE"], addresses["RECORD1"]
        self._tickets = addresses["RECORD0"]
        self.counts_of = {f"ERROR reads {code.name}": 0 for code in CODES}
        self.counts_of |= {f"a record's fate is {fate}": 0 for fate in FATES}
        self.counts_of |= {f"ERROR reads {name}": 0 for name in QUEUE_CODES}
        self.counts_of |= dict.fromkeys(
            (
                "a ticket",
                "irq",
                "a block",
                "two kills",
                "indices",
                "resetting",
                "a record",
                "a record of a PREEMPT",
                "a record of a launch that was killed",
                "a record of a launch that ran too long",
                "RESULT1 reads a number",
                "ERROR reads a wrong mask",
                "ERROR reads a wrong mode",
                "ERROR reads a wrong pair",
                "CLOCK_LOW",
                "room for some priorities alone",
            ),
            0,
        )
        self.reset()

    def reset(self):
        self._asked = deque()

    def counts(self):
        return self.counts_of

    def see(self, cycle, inputs, outputs):
        del cycle
        counts = self.counts_of
        counts["irq"] += outputs["irq"]
        counts["a block"] += outputs["offer"] > 0
        counts["two kills"] += outputs["kill"].bit_count() > 1
        counts["indices"] += outputs.get("data_valid", 0) > 0
        if outputs["axil__r__valid"] and inputs["axil__r__ready"]:
            self._read(self._asked.popleft(), READ_ANSWER.unpack(outputs["axil__r__payload"]))
        if inputs["axil__ar__valid"] and outputs["axil__ar__ready"]:
            self._asked.append(ADDRESS.unpack(inputs["axil__ar__payload"])["addr"] & ~3)

    def _read(self, address, answer):
        counts, data = self.counts_of, answer["data"]
        if answer["resp"]:
            return
        if address >= SECTION_BASE:
            self._read_section((address - SECTION_BASE) % SECTION_BYTES, data)
        elif address == self._state:
            counts["resetting"] += data & 1
        elif address == self._tickets:
            counts["a record"] += data > 0
        elif address == self._record:
            self._read_record(data)
        elif address == self._clock:
            counts["CLOCK_LOW"] += data > 0
        elif address == self._room:
            counts["room for some priorities alone"] += 0 < data < 15

    def _read_record(self, data):
        counts, fate = self.counts_of, data >> 8 & 7
        if fate in FATES:
            counts[f"a record's fate is {fate}"] += 1
        counts["a record of a PREEMPT"] += data >> 11 & 7 == RecordKind.PREEMPT
        # It says so if the launch was killed.
        counts["a record of a launch that was killed"] += data >> 14 & 7 > 0
        counts["a record of a launch that ran too long"] += data & 0xFF == QueueCode.TIMEOUT

    def _read_section(self, offset, data):
        counts = self.counts_of
        counts["a ticket"] += offset == OFFSETS["RESULT0"] and data > 0
        counts["RESULT1 reads a number"] += offset == OFFSETS["RESULT1"] and data >> 16 > 0
        if offset != OFFSETS["ERROR"]:
            return
        code, argument = data & 0xFF, data >> 16
        for name, wanted in {**{c.name: c for c in CODES}, **QUEUE_CODES}.items():
            counts[f"ERROR reads {name}"] += code == wanted
        if code == HostError.FIELD_RANGE:
            counts["ERROR reads a wrong mask"] += argument == 1
            counts["ERROR reads a wrong mode"] += argument == MODE_WORD
            counts["ERROR reads a wrong pair"] += argument >= FIRST_WAIT_WORD


def diligent(made):
    """Return a case with a host that takes every record, and a ledger beside it."""
    config = made.params["config"]
    ledger = f"tb.support.dispatch_configs:HOST_LEDGERS.{config}"
    events = {**made.events, "ledger": ledger}
    options = made.options | {"hurry": True}
    return replace(made, stimulus=DiligentSurroundings, events=events, options=options)


def case(config, seed, cycles, profile="few_stops"):
    units = config_of(config).units
    starts = "a reset of the unit withdraws a start that stands"
    withdrawable = {f"cores__{unit}__start": starts for unit in range(units)}
    return Case(
        make=make,
        params={"config": config},
        seed=seed,
        cycles=cycles,
        resets=4,
        shortest_reset=2,
        stimulus=Surroundings,
        options={"profile": profile},
        withdrawable=withdrawable,
        events={"seen": Seen},
    )


#: What a short run seldom meets; the long run demands all.
SELDOM_READ = (
    *(code.name for code in SELDOM),
    "a wrong mode",
    "a wrong pair",
    "PREEMPT_PENDING",
    "QUEUE_FULL",
    "CORE_FAILED",
    "NO_UNIT",
    "BAD_SPLIT",
)
PROFILES = ("few_stops", "no_stops", "mixed", "sm_loss")
NARROW = f"{TINY},priority_bits=1,queue_depth=2,stream_bits=2"
#: A third section, so that one does not loop.
LOOPS = f"{TINY},sections=3"
OTHERS = (
    LOOPS,
    "default",
    "tiny,policy=freed_first,reclaim=in_order",
    NARROW,
    f"{TINY},warp_size=4",
    f"{TINY},warp_size=2,index_memory_warps=256",
)


@pytest.mark.thorough
def test_equals_its_model_and_much_happens(seed):
    # The long run demands these too.
    seldom = {"two kills", "irq", *(f"ERROR reads {name}" for name in SELDOM_READ)}
    seldom |= {"a record of a launch that was killed"}

    def cases(n):
        made = [case(TINY, seed + 4 * n + k, 3000, p) for k, p in enumerate(PROFILES)]
        # Every second host reads each record, and the ledger keeps account of them.
        return [diligent(one) if k % 2 else one for k, one in enumerate(made)]

    booked = {f"host ledger: {what}" for what in ("blocks", "settled", "tickets read")}
    run_until((Seen().counts().keys() | booked) - seldom, cases, "verilator")


@pytest.mark.parametrize(
    ("config", "simulator"),
    thorough_but([(TINY, "amaranth")], [(TINY, "amaranth"), (TINY, "icarus"), (LOOPS, "amaranth")]),
)
def test_equals_its_model_on_other_simulators(config, simulator, seed):
    run([case(config, seed, 800)], simulator)


@pytest.mark.deep
@pytest.mark.parametrize("config", OTHERS)
def test_equals_its_model_in_other_configurations(config, seed):
    run([case(config, seed, 1500)], "verilator")


@pytest.mark.coverage
@pytest.mark.deep
def test_equals_its_model_for_longer(seed):
    run([case(TINY, seed + n, 15_000, profile) for n, profile in enumerate(PROFILES)], "verilator")


@pytest.mark.deep
def test_everything_happens_in_a_long_run(seed):
    cases = [case(TINY, seed + n, 60_000, profile) for n, profile in enumerate(PROFILES)]
    total = Counter()
    for result in run([*cases, *map(diligent, cases)], "verilator"):
        total.update(result.counts)
    require(Seen().counts(), total)
    require([name for name in total if name.startswith("host ledger")], total)


def forced_cases(seed, count, cycles=1500):
    hosts = (ResettingSurroundings, Surroundings)
    return [replace(case(TINY, seed + n, cycles), stimulus=hosts[n % 2]) for n in range(count)]


def force_soon(monkeypatch):
    """Let a soft reset be forced while blocks run, units work and records wait."""
    plant_timing(monkeypatch, HostRegisters, RegistersModel, soft_reset_limit=7)


@pytest.mark.thorough
def test_equals_its_model_when_soft_resets_are_forced(seed, monkeypatch):
    force_soon(monkeypatch)
    run_until(("resetting", "a block"), lambda n: forced_cases(seed + 2 * n, 2, 900), "amaranth")


FORCED = {
    "what a soft reset keeps is kept when it is forced": Change(
        FrontEnd, "_reset", "ResetSignal() | registers.forced_next", "ResetSignal()"
    ),
    "an access of a section that is forgotten is not refused": Change(
        FrontEnd, "_forgotten", "forgotten.eq(since.any())", "forgotten.eq(0)"
    ),
    "the registers are reset when a soft reset is forced": Change(
        FrontEnd,
        "_reset",
        "_REGISTERS: ResetSignal()",
        "_REGISTERS: ResetSignal() | registers.forced_next",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORCED)
def test_lockstep_finds_what_a_forced_soft_reset_leaves(name, seed, monkeypatch):
    force_soon(monkeypatch)
    plant(monkeypatch, [FORCED[name]])
    with pytest.raises(LockstepError):
        run(forced_cases(seed, 24), "amaranth", waves=False)


#: Wrong wires between the blocks, each seen at the core's ports.
WRONG = {
    "a block's refusal alone refuses a write": Change(
        FrontEnd,
        "_bus",
        "refused & (block.write_refused | forgotten)",
        "refused | block.write_refused",
    ),
    "reads get the registers' words alone": Change(
        FrontEnd,
        "_bus",
        "data | (block.answer.data & ~forgotten.replicate(32))",
        "data",
    ),
    "records are never taken": Change(
        FrontEnd, "_control", "path.pop.eq(registers.pop)", "path.pop.eq(0)"
    ),
    "a soft reset leaves launches alone": Change(
        FrontEnd,
        "_control",
        "path.soft_reset_active.eq(registers.soft_reset_active)",
        "path.soft_reset_active.eq(0)",
    ),
    "a soft reset does not wait for the mailbox": Change(
        FrontEnd, "_control", "[path.idle, ~mailbox.waiting]", "[path.idle]"
    ),
    "the launch path's clock is not shown": Change(
        FrontEnd, "_launches", "registers.clock.eq(path.clock)", "registers.clock.eq(0)"
    ),
    "a command's completion is not told": Change(
        FrontEnd,
        "_launches",
        "registers.completed.eq(mailbox.completed)",
        "registers.completed.eq(0)",
    ),
    "a launch has no time-out": Change(
        FrontEnd,
        "_launches",
        "path.launch_timeout.eq(registers.launch_timeout)",
        "path.launch_timeout.eq(0)",
    ),
    "commands are not sent": Change(
        FrontEnd, "_launches", '("launch", "command", "abort")', '("launch", "abort")'
    ),
    "the mailbox does not hear of room": Change(
        FrontEnd, "_launches", "mailbox.room.eq(path.room)", "mailbox.room.eq(~0)"
    ),
    "the mailbox does not hear of places for records": Change(
        FrontEnd,
        "_launches",
        "mailbox.records_left.eq(path.records_left)",
        "mailbox.records_left.eq(1)",
    ),
    "launches go while a stream is to be mended": Change(
        FrontEnd, "_launches", "mailbox.clearing.eq(registers.clearing)", "mailbox.clearing.eq(0)"
    ),
}
#: Hosts that meet at once what a random one seldom meets.
SURE = {
    "records are never taken": DiligentSurroundings,
    "a soft reset leaves launches alone": ResettingSurroundings,
    "a soft reset does not wait for the mailbox": ResettingSurroundings,
}


#: A launch that is ended for its time is so seldom that it needs the quick simulator.
LONG = {"a launch has no time-out": ("verilator", 6000)}


#: All but the slow ones run by default.
SOON = (
    "a soft reset leaves launches alone",
    "a soft reset does not wait for the mailbox",
    "commands are not sent",
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", deep_but(SOON, WRONG))
def test_lockstep_finds_a_wrong_wire(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    stimulus = SURE.get(name, Surroundings)
    simulator, cycles = LONG.get(name, ("amaranth", 1500))
    cases = [replace(case(TINY, seed + n, cycles), stimulus=stimulus) for n in range(24)]
    with pytest.raises(LockstepError):
        run(cases, simulator, waves=False)
