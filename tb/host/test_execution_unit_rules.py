"""The rules and cycles of ExecutionUnit's page, of RTL and model alike."""

import pytest

from tb.host.test_execution_unit import SHORT, TIMEOUT, make
from tb.support.dispatch_configs import config_of
from tb.support.planted import plant
from tb.support.record import made, record
from warploom.host.execution_unit import ExecutionUnit
from warploom_dev.rewrite import Rewrite
from warploom_golden.host import ExecutionUnit as Model
from warploom_sim.cosim.lockstep import Case, run
from warploom_spec import host_packets
from warploom_spec.host_errors import HostError

CONFIG = config_of(SHORT)
RUN, START = host_packets.unit_run(CONFIG), host_packets.core_start(CONFIG)
DONE, ERROR = host_packets.unit_done(CONFIG), host_packets.unit_error(CONFIG)
WORD = host_packets.unit_result(CONFIG)
RESULT = host_packets.core_result(CONFIG)


@pytest.fixture(params=[ExecutionUnit, Model], ids=["rtl", "model"])
def unit(request):
    return made(request.param, CONFIG)


#: Inputs of the unit that its cores drive.
FROM_CORES = ("arrived", "failed", "failure", "result__payload", "result__valid", "start__ready")


class Script:
    """Inputs by cycle; what is not named is 0, but ``start__ready`` of the cores is 1."""

    def __init__(self, ports):
        self._ports = ports
        self._cycle = 0

    def next(self, outputs):
        del outputs
        idle = dict.fromkeys(("run", "reset", *FROM_CORES), 0)
        values = {
            name: by_cycle[self._cycle]
            for name, by_cycle in self._ports.items()
            if self._cycle in by_cycle
        }
        self._cycle += 1
        values = {**idle, "start__ready": 1} | values
        return {
            f"cores__{name}" if name in FROM_CORES else name: value
            for name, value in values.items()
        }


def play(unit, cycles=40, **ports):
    return record(unit, Script(ports), cycles)


def task(**fields):
    zeros = dict.fromkeys((f.name for f in RUN.fields), 0)
    return RUN.pack(zeros | {"valid": 1, "parts": 1} | fields)


def dones(seen):
    """Return every end by its cycle: code, core, argument, status, assigned, number.

    The first three come a cycle later, at ``error``.
    """
    found = {}
    for cycle in seen.cycles("done"):
        fields = DONE.unpack(seen.port("done")[cycle])
        fields |= ERROR.unpack(seen.port("error")[cycle + 1])
        names = ("code", "core", "argument", "status", "assigned", "task")
        found[cycle] = tuple(fields[name] for name in names)
    return found


def held(mask, first, last):
    """Return a level of the cycles ``first`` to ``last``."""
    return dict.fromkeys(range(first, last + 1), mask)


@pytest.mark.rule("execution_unit", 1, 2, 3)
def test_a_part_a_cycle_from_the_cycle_after_run(unit):
    """Eleven elements in four parts, the larger ones first."""
    seen = play(unit, run={0: task(parts=4, larger=3, small=2, first=100, code=5, arguments=6)})
    starts = [(cycle, START.unpack(word)) for cycle, word in seen.transfers("cores__start")]
    assert [(c, s["core"], s["first"], s["count"], s["task"]) for c, s in starts] == [
        (1, 0, 100, 3, 1),
        (2, 1, 103, 3, 1),
        (3, 2, 106, 3, 1),
        (4, 3, 109, 2, 1),
    ]
    # They mean nothing while no task runs.
    assert seen.port("cores__code")[1:3] == [5, 5]
    assert seen.port("cores__arguments")[1:3] == [6, 6]
    assert seen.port("busy")[:3] == [0, 1, 1]


@pytest.mark.rule("execution_unit", 2)
def test_the_primary_core_is_skipped_and_ranges_wrap(unit):
    run_word = task(parts=3, larger=1, small=0xFFFFFFFF, first=0xFFFFFFFE, skip_primary=1)
    starts = [
        START.unpack(word) for _, word in play(unit, run={0: run_word}).transfers("cores__start")
    ]
    assert [(s["core"], s["first"], s["count"]) for s in starts] == [
        (1, 0xFFFFFFFE, 0),
        (2, 0xFFFFFFFE, 0xFFFFFFFF),
        (3, 0xFFFFFFFD, 0xFFFFFFFF),
    ]


@pytest.mark.rule("execution_unit", 7)
def test_the_end_comes_two_cycles_after_the_last_arrival(unit):
    """Core 0 arrives in 5, core 1 in 8."""
    seen = play(unit, run={0: task(parts=2)}, arrived=held(1, 5, 7) | held(3, 8, 10))
    assert dones(seen) == {10: (0, 0, 0, 3, 3, 1)}
    assert seen.cycles("cores__barrier_open") == [10]
    assert seen.cycles("busy") == list(range(1, 10))
    assert seen.port("strays")[-1] == 0


@pytest.mark.rule("execution_unit", 4, 12)
def test_an_arrival_counts_from_the_cycle_after_the_start_was_taken(unit):
    """The start stands from 1 to 4 and is taken in 4; its core is at 1 from 2 on, a stray."""
    seen = play(unit, run={0: task()}, start__ready=held(0, 1, 3), arrived=held(1, 2, 7))
    assert dones(seen) == {7: (0, 0, 0, 1, 1, 1)}
    assert seen.port("strays")[2:5] == [0, 0, 1]
    assert seen.port("strays")[-1] == 1


@pytest.mark.rule("execution_unit", 6, 7)
def test_the_first_failure_is_reported(unit):
    """Cores 1 and 2 fail in 7, core 0 in 9: the code is that of 7, the core the lowest."""
    seen = play(
        unit,
        run={0: task(parts=4)},
        arrived=held(0b1110, 7, 20),
        failed=held(0b0110, 7, 8) | held(0b0111, 9, 20),
        failure={7: 0x77, 9: 0x99},
    )
    assert dones(seen) == {11: (HostError.CORE_FAILED, 1, 0x77, 0b1000, 0b1111, 1)}


@pytest.mark.rule("execution_unit", 5)
def test_levels_after_the_arrival_are_ignored(unit):
    """Core 0 arrives in 5 and fails later; core 1 arrives for one cycle alone."""
    seen = play(
        unit,
        run={0: task(parts=2)},
        arrived=held(1, 5, 5) | held(2, 7, 7),
        failed=held(1, 6, 9),
        failure=held(5, 0, 20),
    )
    assert dones(seen) == {9: (0, 0, 0, 3, 3, 1)}


#: Cycle o of rule 8 for a run in 0.
LAST = 1 + TIMEOUT


@pytest.mark.rule("execution_unit", 8)
@pytest.mark.parametrize("arrives", [LAST, LAST + 1])
def test_an_arrival_in_the_last_cycle_counts(unit, arrives):
    seen = play(unit, run={0: task()}, arrived=held(1, arrives, LAST + 2))
    if arrives == LAST:
        assert dones(seen) == {LAST + 2: (0, 0, 0, 1, 1, 1)}
        assert seen.cycles("missing") == []
        assert seen.cycles("cores__barrier_open") == [LAST + 2]
    else:
        assert dones(seen) == {LAST + 2: (HostError.CORE_TIMEOUT, 0, 0, 0, 1, 1)}
        # Still held in o + 2, the level is a late arrival there.
        # `missing` is a cycle late.
        assert seen.cycles("missing") == [LAST + 3]
        assert seen.cycles("cores__barrier_open") == [LAST + 2, LAST + 3]
    assert seen.port("strays")[-1] == 0


@pytest.mark.rule("execution_unit", 4, 8, 9)
def test_a_start_that_stands_stays_after_the_time_out(unit):
    """Core 0 fails in time; core 1's start stands to 20, core 2's is never shown."""
    seen = play(
        unit,
        run={0: task(parts=3)},
        start__ready=held(0, 2, 19),
        failed=held(1, 3, LAST + 2),
        arrived=held(2, 19, 24),
    )
    assert dones(seen) == {LAST + 2: (HostError.CORE_TIMEOUT, 1, 0, 0, 0b11, 1)}
    assert seen.cycles("cores__start__valid") == list(range(1, 21))
    # Taken in 20: the level that it has held since 19 is its late arrival in 21.
    assert seen.cycles("missing") == list(range(LAST + 3, 23))
    assert seen.cycles("cores__barrier_open") == [LAST + 2, 22]
    assert seen.port("strays")[-1] == 0


@pytest.mark.rule("execution_unit", 8)
@pytest.mark.parametrize(("taken", "parts"), [(LAST - 1, 2), (LAST, 1)])
def test_no_part_becomes_valid_after_the_last_cycle(unit, taken, parts):
    seen = play(unit, run={0: task(parts=2)}, start__ready=held(0, 0, taken - 1))
    assert len(seen.transfers("cores__start")) == parts
    assert DONE.unpack(seen.port("done")[LAST + 2])["assigned"] == (1 << parts) - 1


#: Cores that arrive in time, and the lowest of the others, of four.
LATE_CORES = {0b0000: 0, 0b1111 ^ 0b1000: 3, 0b0101: 1, 0b0011: 2, 0b0001: 1, 0b1110: 0}


@pytest.mark.rule("execution_unit", 8)
@pytest.mark.parametrize("in_time", LATE_CORES)
def test_a_time_out_names_the_lowest_core_that_is_late(unit, in_time):
    seen = play(unit, run={0: task(parts=4)}, arrived=held(in_time, 6, LAST + 2))
    lowest = LATE_CORES[in_time]
    assert dones(seen) == {LAST + 2: (HostError.CORE_TIMEOUT, lowest, 0, in_time, 0b1111, 1)}


@pytest.mark.rule("execution_unit", 4, 8)
def test_a_core_that_got_no_part_is_not_late(unit):
    """Parts go to cores 1 and 2. Core 2 is late; cores 0 and 3 have nothing to do."""
    run_word = task(parts=2, skip_primary=1)
    seen = play(unit, run={0: run_word}, arrived=held(0b0010, 6, LAST + 2))
    assert dones(seen) == {LAST + 2: (HostError.CORE_TIMEOUT, 2, 0, 0b0010, 0b0110, 1)}


@pytest.mark.rule("execution_unit", 9)
def test_missing_cores_arrive_late_one_by_one(unit):
    seen = play(
        unit,
        run={0: task(parts=2)},
        arrived={20: 1, 22: 1},
        failed={24: 2},
    )
    assert seen.cycles("missing") == list(range(LAST + 3, 26))
    assert seen.cycles("cores__barrier_open") == [LAST + 2, 21, 25]
    assert list(dones(seen)) == [LAST + 2]
    # Core 0 is not missing any more in 22; `strays` is a cycle late.
    assert seen.port("strays")[22:25] == [0, 0, 1]


@pytest.mark.rule("execution_unit", 10)
def test_result_words_count_while_busy(unit):
    """Busy from 1 to 6: results of 0 and 7 are ignored, that of the reset's cycle counts."""
    words = {cycle: RESULT.pack({"word": cycle, "data": 10 + cycle}) for cycle in range(8)}
    seen = play(
        unit, run={0: task()}, reset={6: 1}, result__valid=held(1, 0, 7), result__payload=words
    )
    got = {
        cycle: WORD.unpack(seen.port("result")[cycle])["data"] for cycle in seen.cycles("result")
    }
    assert got == {cycle: 9 + cycle for cycle in range(2, 8)}
    assert seen.port("cores__result__ready") == [1] * 40


@pytest.mark.rule("execution_unit", 11)
def test_a_reset_wins_over_the_end(unit):
    """The task is complete in 6, where it is reset; its start would stand no more."""
    seen = play(unit, run={0: task()}, arrived=held(1, 5, 6), reset={6: 1})
    assert dones(seen) == {7: (HostError.RESET, 0, 0, 0, 0, 1)}
    assert seen.cycles("cores__cancel") == [7]
    assert seen.cycles("cores__barrier_open") == []


@pytest.mark.rule("execution_unit", 11)
def test_a_reset_withdraws_a_start(unit):
    seen = play(unit, run={0: task(parts=4)}, start__ready=held(0, 0, 39), reset={4: 1})
    assert seen.cycles("cores__start__valid") == [1, 2, 3, 4]
    assert dones(seen) == {5: (HostError.RESET, 0, 0, 0, 0, 1)}


@pytest.mark.rule("execution_unit", 1, 11)
def test_a_reset_with_run_uses_up_a_number(unit):
    """The run of 3 does not begin; that of 4 is the third."""
    runs = {0: task(code=1), 3: task(code=2), 4: task(code=3)}
    seen = play(unit, run=runs, arrived={2: 1, 6: 1}, reset={1: 1, 3: 1})
    assert dones(seen) == {
        2: (HostError.RESET, 0, 0, 0, 0, 1),
        4: (HostError.RESET, 0, 0, 0, 0, 2),
        8: (0, 0, 0, 1, 1, 3),
    }
    # In 2 to 4 no task runs.
    assert [seen.port("cores__code")[t] for t in (1, 5)] == [1, 3]


@pytest.mark.rule("execution_unit", 11)
def test_a_reset_without_a_task_ends_nothing_and_forgets_missing_cores(unit):
    seen = play(unit, run={0: task()}, reset={20: 1, 30: 1}, arrived={20: 1})
    assert list(dones(seen)) == [LAST + 2]
    # `missing` is a cycle late, but for the reset.
    assert seen.cycles("missing") == list(range(LAST + 3, 21))
    assert seen.cycles("cores__cancel") == [21, 31]
    assert seen.cycles("cores__barrier_open") == [LAST + 2]


@pytest.mark.rule("execution_unit", 12)
def test_strays_are_counted_once_a_cycle(unit):
    """Two rise in 1, one in 3; what stays up counts once; a started core is none."""
    levels = {1: 0b0110, 2: 0b0110, 3: 0b1110, 12: 0b0001}
    seen = play(unit, run={9: task()}, failed=levels)
    assert seen.port("strays")[:7] == [0, 0, 0, 1, 1, 2, 2]
    assert seen.port("strays")[-1] == 2


@pytest.mark.rule("execution_unit", 1)
def test_task_numbers_wrap(unit):
    """257 tasks, each reset at once."""
    seen = play(unit, 300, run=held(task(), 0, 256), reset=held(1, 0, 256))
    numbers = [number for *_, number in dones(seen).values()]
    assert numbers == [*range(1, 256), 0, 1]


#: The counter begins three below its end.
LATE_STRAYS = (
    Rewrite(ExecutionUnit, "__init__", "Out(STRAY_BITS)", "Out(STRAY_BITS, init=0xFFFC)"),
    Rewrite(Model, "reset", "self._strays = 0", "self._strays = 0xFFFC"),
)


@pytest.mark.rule("execution_unit", 12)
@pytest.mark.parametrize("kind", [ExecutionUnit, Model], ids=["rtl", "model"])
def test_strays_stay_at_the_highest_value(kind, monkeypatch):
    """A level of a core without a part rises in every second cycle."""
    plant(monkeypatch, LATE_STRAYS)
    seen = play(made(kind, CONFIG), 16, arrived=dict.fromkeys(range(1, 16, 2), 1))
    counts = [*[0xFFFC] * 3, 0xFFFD, 0xFFFD, 0xFFFE, 0xFFFE]
    assert seen.port("strays") == counts + [0xFFFF] * 9


class Flicker:
    """A level that rises in every second cycle, of a core without a part."""

    def __init__(self, context):
        del context
        self._script = Script({})
        self._cycle = 0

    def next(self, outputs):
        self._cycle += 1
        return self._script.next(outputs) | {"cores__arrived": self._cycle & 1}


def at_its_highest(inputs, outputs):
    return inputs["cores__arrived"] and outputs["strays"] == 0xFFFF


@pytest.mark.deep
def test_strays_count_to_the_highest_value_and_stay(seed):
    many = Case(
        make=make,
        params={"config": SHORT},
        seed=seed,
        cycles=2 * 0x10000 + 50,
        resets=0,
        stimulus=Flicker,
        events={"stray at the highest value": at_its_highest},
    )
    run([many], "verilator")[0].require("stray at the highest value")
