"""The core's RTL in benches of C++: orders, random commands, SMs that fail, anything, soft resets.

What each bench holds stands in ``core_bench/``. Long runs are deep; the default ones are short.
"""

import pytest

from tb.host.core_bench import bench, built_program
from tb.support.dispatch_configs import config_of
from tb.support.planted import Change, plant
from warploom.host._launch_answers import LaunchAnswers
from warploom.host.bus_port import BusPort
from warploom.host.execution_unit import ExecutionUnit
from warploom.host.front_end import FrontEnd
from warploom.launch.launch_pairs import LaunchPairs
from warploom.launch.preemption import Preemption
from warploom.launch.queue_events import QueueEvents
from warploom_spec import ErrorCode
from warploom_spec.queue import QueueCode

# One worker, so that the core is built once.
pytestmark = pytest.mark.xdist_group("core_bench")
#: The simulation of the lockstep runs, and one with several units.
TINY = config_of("tiny,core_timeout=40,kill_timeout=40")
ODD = config_of("tiny,core_timeout=40,kill_timeout=40,sections=5,units=3,cores_per_unit=5")
deep = pytest.mark.deep


@pytest.fixture(scope="module")
def tiny():
    return built_program(TINY)


# Orders of four writes: a sequence has an address, a datum, both or nothing in each cycle; all are
# tried with responses taken at once, and with none taken until the last datum is sent.


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pauses", "sequences"),
    [(0, 642), *[pytest.param(*case, marks=deep) for case in ((1, 4368), (4, 130_550))]],
)
def test_no_order_of_addresses_and_data_rings_before_its_task(tiny, pauses, sequences):
    """Without pauses these are the paths from (0, 0) to (4, 4): Delannoy's number 321, twice."""
    found = bench(tiny, "orders", pauses=pauses)
    assert (found["sequences"], found["most ahead"]) == (sequences, 4)


# Random commands


def random_commands(name, program, seed, count):
    found = bench(program, name, seed=seed, commands=count)
    assert found["commands"] >= count
    assert found["launches finished"] > count // 20
    return found


def commands(program, seed, count):
    found = random_commands("commands", program, seed, count)
    assert found["tasks run"] > count // 20
    assert found["LOOPs whose launch has finished"] > count // 200
    return found


@pytest.mark.thorough
def test_each_random_command_runs_once_and_its_outcome_is_its_own(tiny, seed):
    commands(tiny, seed, 2000)


@deep
@pytest.mark.parametrize("config", [TINY, ODD], ids=["tiny", "odd"])
def test_so_for_a_hundred_thousand_commands(config, seed):
    found = commands(built_program(config), seed, 100_000)
    assert found["writes"] > 100_000
    codes = {int(name[5:]) for name in found if name.startswith("code ")}
    # A second PREEMPT may come before the first one's record, or not.
    expected = {0, 1, 2, 3, 16, 29, 32, 45, 47, 48, 49, 50, 51, 52, 53, 54, 56, 59}
    # Some section cannot loop.
    expected |= {57} if config.sections > config.loop_sections else set()
    assert codes - {QueueCode.PREEMPT_PENDING} == expected
    assert found["launches aborted"] > 100


# Random commands while SMs report faults, hang, fall silent and are lost


def misbehaving_sms(program, seed, count):
    """Run until each hard case has come: every code of a record, ABORT of every state, and so on.

    The bench fails if one of them does not come. A full reset begins a new round.
    """
    found = random_commands("misbehaving_sms", program, seed, count)
    records = {int(name[14:]) for name in found if name.startswith("records, code ")}
    assert records == {
        0,
        ErrorCode.STREAM_BROKEN,
        ErrorCode.NO_SM,
        ErrorCode.BLOCK_FAULT,
        ErrorCode.SM_LOST,
        QueueCode.TIMEOUT,
    }
    return found


@pytest.mark.thorough
def test_each_record_has_the_code_that_its_launch_has_earned(tiny, seed):
    misbehaving_sms(tiny, seed, 2000)


@deep
@pytest.mark.parametrize("config", [TINY, ODD], ids=["tiny", "odd"])
def test_so_for_a_hundred_thousand_commands_and_many_lost_sms(config, seed):
    found = misbehaving_sms(built_program(config), seed, 100_000)
    assert found["rounds with every SM lost"] > 10
    assert found["ABORT: runs"] > 100 and found["ABORT: waits"] > 100


# Anything on the bus, at the SMs and at the cores


def storm(program, seed, accesses, episode):
    found = bench(program, "storm", seed=seed, accesses=accesses, episode=episode)
    assert found["accesses"] >= accesses
    assert 0.85 < found["inside the map"] / found["accesses"] < 0.95
    assert found["LOOPs rung"] > accesses // 400
    return found


@pytest.mark.thorough
def test_no_access_hangs_the_core_and_a_launch_runs_after_it(tiny, seed):
    storm(tiny, seed, 20_000, 1000)


@deep
def test_so_for_a_million_accesses(tiny, seed):
    found = storm(tiny, seed, 1_000_000, 2000)
    assert found["works at once"] > 20
    assert found["works after a soft reset"] > 20
    assert found["works after a full reset, all SMs lost"] > 20


# Soft reset in every cycle

#: The scenario has ended in this cycle.
LAST = 250


@pytest.mark.thorough
def test_the_launch_after_a_soft_reset_in_any_cycle_is_like_the_first(tiny):
    found = bench(tiny, "soft_resets", silent=0, first=0, last=LAST)
    assert found["soft resets"] == LAST
    # Finished and aborted launches; sections that read RESET.
    assert found["records, fate 0"] > LAST and found["records, fate 1"] > LAST
    assert found["sections interrupted"] > 20


@pytest.mark.thorough
@pytest.mark.parametrize("silent", [0b10, pytest.param(0b01, marks=deep)])
def test_a_lost_sm_stays_lost_and_the_next_launch_is_like_one_without_it(tiny, silent):
    found = bench(tiny, "soft_resets", silent=silent, first=0, last=LAST)
    assert found["SMs lost"] == found["soft resets"] > LAST // 2
    # What an ABORT or the soft reset ends; behind a lost launch its stream is broken.
    aborted = found["records, fate 1"]
    broken = found[f"records, code {ErrorCode.STREAM_BROKEN.value}"]
    assert aborted + broken > LAST and found["records, fate 2"] > LAST
    assert aborted > LAST // 2 < broken


# Each bench finds what it is for

WRONG = {
    "a write commits without its address": (
        ("orders", {"pauses": 0}),
        Change(BusPort, "_write", "addresses.valid_next & words.valid_next", "words.valid_next"),
        "a task starts with old words|no task starts|twice|responses|refused",
    ),
    "a result counts after its task": (
        ("commands", {"seed": 1, "commands": 20_000}),
        Change(ExecutionUnit, "_pass_results", "given.valid & self.busy", "given.valid"),
        "an outcome changed after its command|another task's",
    ),
    "an answer goes to the section that is judged": (
        ("commands", {"seed": 1, "commands": 20_000}),
        Change(LaunchAnswers, "_in_order", "(queue.r_data, answer", "(self.section, answer"),
        "neither a ticket nor a reason|ERROR is|given twice|lost|another command's",
    ),
    "a launch does not wait": (
        ("commands", {"seed": 1, "commands": 2000}),
        Change(LaunchPairs, "_compare", "behind & ~self.unreached", "behind & 0"),
        "begins against a wait|before the record of a wait",
    ),
    "a PREEMPT holds no stream": (
        ("commands", {"seed": 1, "commands": 2000}),
        Change(Preemption, "elaborate", "self.held | self.preempts", "self.held"),
        "a block of a stream that holds still|a RESUME finds no stream held",
    ),
    "a kill is not counted": (
        ("commands", {"seed": 1, "commands": 2000}),
        Change(
            QueueEvents, "_state", "state.kills + (ports.again & ~state.kills.all())", "state.kills"
        ),
        "a record counts other kills",
    ),
    "a lost SM breaks no stream": (
        ("misbehaving_sms", {"seed": 1, "commands": 5000}),
        Change(QueueEvents, "_state", "state.broken | breaks", "state.broken"),
        "accepted, and its stream is broken|begins, and its stream is broken",
    ),
    "a CLEAR_STREAM mends nothing": (
        ("misbehaving_sms", {"seed": 1, "commands": 5000}),
        Change(QueueEvents, "_state", "state.broken & ~clears", "state.broken"),
        "its stream is not broken|which its launch has not earned",
    ),
    "LAUNCH_TIMEOUT does not arrive": (
        ("misbehaving_sms", {"seed": 1, "commands": 5000}),
        Change(FrontEnd, "_launches", "eq(registers.launch_timeout)", "eq(0)"),
        "a launch runs longer than LAUNCH_TIMEOUT allows|a launch has no record",
    ),
    "no time-out comes": (
        ("storm", {"seed": 1, "accesses": 100_000, "episode": 1000}),
        Change(ExecutionUnit, "_expire", "self.busy & time_over", "(left != left)"),
        "a command hangs",
    ),
    "a soft reset keeps what the launch path remembers": (
        ("soft_resets", {"silent": 0, "first": 0, "last": LAST}),
        Change(FrontEnd, "_control", "path.restart.eq(registers.restart)", "path.restart.eq(0)"),
        "the next launch differs from the first",
    ),
}


@deep
@pytest.mark.parametrize("name", WRONG)
def test_a_bench_finds_a_wrong_rule(name, monkeypatch):
    (which, arguments), change, message = WRONG[name]
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError, match=message):
        bench(built_program(TINY), which, **arguments)
