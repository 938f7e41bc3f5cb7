"""FrontEnd of version 2 beside its model: every output in every cycle, with hosts and SMs."""

from dataclasses import replace

import pytest

from tb.host.queued_stimulus import QueuedSurroundings
from tb.host.test_front_end import PROFILES, TINY
from tb.host.test_front_end import Seen as Version1
from tb.host.test_front_end import case as case_of_version_1
from tb.support.deep_values import deep_but
from tb.support.dispatch_configs import config_of
from tb.support.hard_cases import run_until
from tb.support.planted import Change, plant
from warploom.host._queued_front_end import QueuedFrontEnd
from warploom_golden.host import QueuedFrontEnd as Model
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_spec import ErrorCode
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.queue import QueueCode, RecordKind
from warploom_spec.queue_host import queued_registers
from warploom_spec.queue_packets import FIRST_WAIT_WORD, MODE_WORD, WAIT_AHEAD

#: Codes that version 2 adds, and those that a full queue gives.
CODES = {
    **{code.name: code for code in (QueueCode.PREEMPT_PENDING, QueueCode.NOT_PREEMPTED)},
    "QUEUE_FULL": ErrorCode.QUEUE_FULL,
    "WAIT_AHEAD": WAIT_AHEAD,
}
NARROW = "tiny,core_timeout=40,kill_timeout=40,priority_bits=1,queue_depth=2,stream_bits=2"
OTHERS = (
    *("default", "tiny,policy=freed_first,reclaim=in_order", NARROW),
    *(f"{TINY},sm_kill=False,units=3,sections=4", f"{TINY},index_memory_warps=0"),
)


def make(config):
    return QueuedFrontEnd(config_of(config)), Model(config_of(config))


class Seen(Version1):
    """Counts what version 2 adds, too."""

    def __init__(self):
        super().__init__()
        words = {word.name: word.offset for word in queued_registers(config_of(TINY))}
        self._clock, self._room = words["CLOCK_LOW"], words["ROOM"]
        self.counts_of |= {f"ERROR reads {name}": 0 for name in CODES}
        self.counts_of |= dict.fromkeys(
            (
                "a record of a PREEMPT",
                "a record of a launch that was put back",
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

    def _read(self, address, answer):
        super()._read(address, answer)
        counts, data = self.counts_of, answer["data"]
        if answer["resp"]:
            return
        if address >= SECTION_BASE:
            offset = (address - SECTION_BASE) % SECTION_BYTES
            counts["RESULT1 reads a number"] += offset == OFFSETS["RESULT1"] and data >> 16 > 0
            if offset == OFFSETS["ERROR"]:
                self._error(data & 0xFF, data >> 16)
        elif address == self._record:
            counts["a record of a PREEMPT"] += data >> 11 & 7 == RecordKind.PREEMPT
            counts["a record of a launch that was put back"] += data >> 14 & 7 > 0
            counts["a record of a launch that ran too long"] += data & 0xFF == QueueCode.TIMEOUT
        elif address == self._clock:
            counts["CLOCK_LOW"] += data > 0
        elif address == self._room:
            counts["room for some priorities alone"] += 0 < data < 15

    def _error(self, code, argument):
        counts = self.counts_of
        for name, wanted in CODES.items():
            counts[f"ERROR reads {name}"] += code == wanted
        if code == HostError.FIELD_RANGE:
            counts["ERROR reads a wrong mask"] += argument == 1
            counts["ERROR reads a wrong mode"] += argument == MODE_WORD
            counts["ERROR reads a wrong pair"] += argument >= FIRST_WAIT_WORD


def case(config, seed, cycles, profile="few_stops"):
    made = case_of_version_1(config, seed, cycles, profile)
    params, events = {"config": config}, {"seen": Seen}
    return replace(made, make=make, params=params, stimulus=QueuedSurroundings, events=events)


#: What a short run seldom meets; the long run demands all.
SELDOM = (
    *("both kills", "irq", "a record of a launch that was put back", "ERROR reads a wrong mode"),
    *("ERROR reads PREEMPT_PENDING", "ERROR reads QUEUE_FULL", "ERROR reads a wrong pair"),
    *(f"ERROR reads {code}" for code in ("CORE_TIMEOUT", "CORE_FAILED", "RESET", "THREADS")),
    *(f"ERROR reads {code}" for code in ("BLOCK_ZERO", "STREAM_PRIORITY", "NO_UNIT", "BAD_SPLIT")),
)


def test_equals_its_model_and_much_happens(seed):
    names = Seen().counts().keys() - set(SELDOM)

    def cases(n):
        return [case(TINY, seed + 2 * n + k, 3000, PROFILES[(2 * n + k) % 4]) for k in range(2)]

    run_until(names, cases, "verilator")


@pytest.mark.parametrize("simulator", deep_but(["amaranth"], ["amaranth", "icarus"]))
def test_equals_its_model_on_other_simulators(simulator, seed):
    run([case(TINY, seed, 500)], simulator)


@pytest.mark.deep
@pytest.mark.parametrize("config", OTHERS)
def test_equals_its_model_in_other_configurations(config, seed):
    run([case(config, seed, 1500)], "verilator")


@pytest.mark.deep
def test_everything_happens_in_a_long_run(seed):
    def cases(n):
        return [case(TINY, seed + 4 * n + k, 15_000, p) for k, p in enumerate(PROFILES)]

    run_until(Seen().counts().keys(), cases, "verilator")


#: Wrong wires between the blocks, each seen at the core's ports.
WRONG = {
    "the launch path's clock is not shown": Change(
        QueuedFrontEnd, "_launches", "registers.clock.eq(path.clock)", "registers.clock.eq(0)"
    ),
    "a command's completion is not told": Change(
        QueuedFrontEnd,
        "_launches",
        "registers.completed.eq(mailbox.completed)",
        "registers.completed.eq(0)",
    ),
    "a launch has no time-out": Change(
        QueuedFrontEnd,
        "_launches",
        "path.launch_timeout.eq(registers.launch_timeout)",
        "path.launch_timeout.eq(0)",
    ),
    "commands are not sent": Change(
        QueuedFrontEnd, "_launches", "path.command.eq(mailbox.command)", "path.command.eq(0)"
    ),
}


@pytest.mark.parametrize("name", deep_but(["commands are not sent"], WRONG))
def test_lockstep_finds_a_wrong_wire(name, seed, monkeypatch):
    plant(monkeypatch, [WRONG[name]])
    with pytest.raises(LockstepError):
        run([case(TINY, seed + n, 2000) for n in range(12)], "amaranth", waves=False)
