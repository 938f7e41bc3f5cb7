"""What a replay's SMs and its host read back of the hardware, with faults that they alone see."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb.sim.replay.test_arrivals_replay import equal_figures, sim
from tb.support.deep_values import deep_but
from tb.support.planted_replays import choose
from tb.support.trace_files import call, document, kernel, write
from warploom_sim.replay import simulation_run
from warploom_sim.replay.bench.records import (
    ANSWER,
    ASKED,
    HEARD_WORDS,
    LACKS,
    LOOKED,
    POPPED,
    TRESPASS,
    UNASKED,
)
from warploom_sim.replay.host_reads import HostReads
from warploom_sim.replay.index_reads import IndexReads
from warploom_spec import ErrorCode, LaunchDescriptor, preset

TINY = ("--sim", "icarus", "--config", "tiny")
AXI = ("--host", "axi")
CONFIG = preset("tiny")
#: Two launches of one priority fill it.
SMALL = replace(CONFIG, queue_depth=2)


LAUNCHES, BLOCKS = 6, 3


def flat(microseconds: float = 4.0) -> dict[str, Any]:
    """Return a trace of a few launches of blocks of 4 warps each."""
    shape = {"grid": [BLOCKS, 1, 1], "block": [8, 2, 2]}
    kernels = [kernel(n, ts=1000.0 + n, **shape) | {"dur": microseconds} for n in range(LAUNCHES)]
    return document() | {"traceEvents": [*(call(n, float(n)) for n in range(LAUNCHES)), *kernels]}


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the trace; every block is read."""
    monkeypatch.setattr(simulation_run, "SHARE", 1)
    return write(tmp_path, flat())


@pytest.mark.thorough
def test_what_is_read_back_is_counted(tmp_path: Path, trace: Path) -> None:
    direct = equal_figures(tmp_path, trace, *TINY)
    host = equal_figures(tmp_path, trace, *TINY, *AXI)
    # A reader holds two blocks at once, so some are passed over.
    for figures in (direct, host):
        assert 4 * LAUNCHES <= figures["index_reads_compared"] <= 4 * BLOCKS * LAUNCHES
    assert (host["records_compared"], host["results_compared"]) == (LAUNCHES, host["doorbells"])


#: A fault that only an index read shows, and what is said of it.
INDEX_FAULTS = {
    "never_written": ": mask 0 instead of ",
    "never_answered": "the block was reported, and this warp had not come",
    "another_row": ", lane ",
}


@pytest.mark.parametrize("fault", deep_but([], INDEX_FAULTS, thorough=["never_written"]))
def test_a_fault_in_the_index_memory_is_found_by_the_sms_reads_alone(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "never_answered":  # longer than a reader waits for all warps of a block
        write(tmp_path, flat(25.0))
    choose(monkeypatch, fault)
    result, figures = sim(tmp_path, trace, *TINY)
    assert (result.exit_code, figures["verdict"]) == (1, "different")
    assert "wrong index reads; the first: ticket " in result.stdout
    assert INDEX_FAULTS[fault] in " ".join(result.stdout.split())
    assert figures["mismatches"] > 0


@pytest.mark.deep
def test_data_of_another_sm_is_found(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "another_sm")
    result, figures = sim(tmp_path, trace, *TINY, *AXI)
    assert (result.exit_code, figures["verdict"]) == (1, "different")
    assert "data that nobody had asked for" in " ".join(result.stdout.split())


#: A fault that only the host sees, and what is said of it.
HOST_FAULTS = {
    "cycles": "record 0 that the host read",
    "another_record": "record 1 that the host read",
    "offered": "RECORD1 0x0 instead of 0x1000000",
    "ticket": "RESULT0 0x0 instead of 0x1",
    "number": "RESULT1 0x0 instead of 0x10000",
    "level": "the threshold 3, and `irq` was 1",
    "status": "IRQ_STATUS has bit 0 at 0",
    "refused": "REFUSED 0, then a write to ID with response 2, then REFUSED 0; wanted 0, 2, 1",
}


@pytest.mark.parametrize("fault", deep_but([], HOST_FAULTS, thorough=["offered"]))
def test_a_fault_in_what_the_host_reads_is_found(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    choose(monkeypatch, fault)
    result, figures = sim(tmp_path, trace, *TINY, *AXI)
    assert (result.exit_code, figures["verdict"]) == (1, "different")
    assert HOST_FAULTS[fault] in " ".join(result.stdout.split())


@pytest.mark.deep
def test_an_interrupt_that_never_comes_ends_the_run(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "no_interrupt")
    result, figures = sim(tmp_path, trace, *TINY, *AXI)
    assert (result.exit_code, figures["verdict"]) == (1, "different")
    assert "nothing happened any more although launches wait" in " ".join(result.stdout.split())


# --- the comparisons themselves, with literal words ----------------------------------------------


def table(**columns: list[Any]) -> dict[str, np.ndarray]:
    return {name: np.array(column, np.uint64) for name, column in columns.items()}


#: Launch 1 finished after 300 cycles, launch 2 failed with code 17, launch 3 was refused (code 9).
#: Launch 4 found no room, and was rung again: LaunchPath answers it once. Kinds, kills and words 3
#: and 4 are those of no launch here: they are looked at all the same.
ANSWERS = table(
    cycle=[10, 20, 30, 36],
    ticket=[1, 2, 0, 3],
    code=[0, 0, 9, 0],
    argument=[0, 0, 5, 0],
    count=[1, 1, 0, 2],
)
ENDED = table(
    cycle=[400, 500],
    ticket=[1, 2],
    code=[0, 17],
    fate=[0, 2],
    kind=[0, 2],
    kills=[0, 3],
    reset_as_drain=[0, 1],
    stream=[0, 5],
    offered=[1, 0],
    word2=[300, 280],
    word3=[0, 7],
    word4=[0, 8],
    accepted=[9, 19],
    first_offer=[23, 33],
    made=[399, 499],
)
HEARD = [
    (12, ANSWER, 0, 1, 0x1_0000, 0, 0, 0, 0, 0),
    (22, ANSWER, 0, 2, 0x1_0000, 0, 0, 0, 0, 0),
    (32, ANSWER, 0x5_0009, 0, 0, 0, 0, 0, 0, 0),
    (33, ANSWER, int(ErrorCode.QUEUE_FULL), 0, 0, 0, 0, 0, 0, 0),
    (34, ASKED, 0b1101, 1, 0, 0, 0, 0, 0, 0),
    (35, ASKED, 0b1111, 1, 0, 0, 0, 0, 0, 0),
    (38, ANSWER, 0, 3, 0x2_0000, 0, 0, 0, 0, 0),
    (40, LOOKED, 0, 0x10, 3, 0, 0, 0, 0, 0),
    (510, LOOKED, 2, 0x11, 1, 1, 1, 0, 0, 0),
    (520, POPPED, 1, 0x100_0000, 300, 0, 0, 9, 23, 399),
    (530, POPPED, 2, 0x16_D211, 280, 7, 8, 19, 33, 499),
    (540, TRESPASS, 0, 2, 1, 0, 0, 0, 0, 0),
]
#: The rows that the tests change.
REFUSED, FULL, LOOK, RECORDS, LAST = 2, 3, 8, (9, 10), 11


def heard(rows: list[tuple[int, ...]], priorities: Sequence[int] = (1, 1, 1, 1)) -> HostReads:
    names = ("cycle", "kind", *(f"word{k}" for k in range(HEARD_WORDS)))
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return HostReads(table(**columns), ANSWERS, ENDED, SMALL, priorities)


def test_what_the_pages_say_is_right() -> None:
    reads = heard(HEARD)
    assert (reads.problems, reads.wrong, reads.records, reads.results) == ([], 0, 2, 5)
    assert reads.doorbells == 5


@pytest.mark.parametrize(
    ("row", "word"),
    [
        *((REFUSED, word) for word in range(3)),
        *((FULL, word) for word in (1, 2)),
        *((row, word) for row in RECORDS for word in range(HEARD_WORDS)),
        *((LAST, word) for word in range(4)),
    ],
)
def test_each_word_that_means_something_is_looked_at(row: int, word: int) -> None:
    rows = list(HEARD)
    values = list(rows[row])
    values[2 + word] ^= 1
    rows[row] = tuple(values)
    assert heard(rows).wrong == 1


@pytest.mark.parametrize(
    ("records", "status", "threshold", "before", "after"),
    [
        (0, 0x10, 1, 1, 0),  # no record, and the interrupt was there
        (2, 0x10, 3, 1, 1),  # too few
        (3, 0x11, 3, 0, 0),  # enough, and no interrupt
        (3, 0x10, 3, 0, 1),  # enough, and the status does not say so
        (0, 0, 3, 0, 0),  # no command completed
        (0, 0x12, 3, 0, 0),  # an error
        (0, 0x14, 3, 0, 0),  # a lost SM
        (0, 0x18, 3, 0, 0),  # a soft reset
        (0, 0x30, 3, 0, 0),  # one that was forced
    ],
)
def test_a_wrong_look_at_the_interrupt_is_found(
    records: int, status: int, threshold: int, before: int, after: int
) -> None:
    rows = list(HEARD)
    rows[LOOK] = (510, LOOKED, records, status, threshold, before, after, 0, 0, 0)
    assert heard(rows).wrong == 1


def test_a_wrong_room_is_found() -> None:
    """A bit that no priority has, and a launch that found no room although ROOM had said so."""
    wide, refused = list(HEARD), list(HEARD)
    wide[4] = (34, ASKED, 0b1_1101, 1, *HEARD[4][4:])
    assert heard(wide).wrong == 1
    refused[3:5] = [(31, ASKED, 0b1111, 1, *HEARD[4][4:]), HEARD[3]]
    assert heard(refused).wrong == 1
    assert "ROOM is 0xf" in heard(refused).problems[0]


def test_a_refusal_while_there_is_room_is_found() -> None:
    """A launch of another priority takes no room of this one; nor does one that has ended."""
    assert heard(HEARD, (1, 0, 1, 1)).wrong == 1
    late = list(HEARD)
    late[REFUSED] = (410, *HEARD[REFUSED][1:])
    assert heard(late).wrong == 1
    records = list(HEARD)
    records[FULL] = (33, ANSWER, int(ErrorCode.COMPLETION_FULL), *HEARD[FULL][3:])
    assert heard(records).wrong == 1
    assert "with 2 of 11 places taken" in heard(records).problems[0]


@pytest.mark.parametrize("row", [0, RECORDS[0], LAST])
def test_what_was_not_read_is_missed(row: int) -> None:
    assert heard([*HEARD[:row], *HEARD[row + 1 :]]).wrong


def reads_of(
    warp: int, word: int, mask: int, ticket: int = 1, wrong: int = 0
) -> dict[str, np.ndarray]:
    """Return one index read of a launch of 8 x 2 x 2 threads on ``tiny``, lane 0 first."""
    row = table(cycle=[100], sm=[1], ticket=[ticket], warp=[warp], wrong=[wrong])
    bits = CONFIG.word_bits * CONFIG.warp_size
    words = [word >> 64 * k & (1 << 64) - 1 for k in range(-(-bits // 64))]
    return row | {"words": np.array([words], np.uint64), "mask": np.array([mask], np.uint64)}


def packed(warp: int) -> int:
    """Return the words of a warp of 8 x 2 x 2 threads, by hand: 3 bits of x, 1 of y, 1 of z."""
    word = 0
    for lane in range(CONFIG.warp_size):
        thread = warp * CONFIG.warp_size + lane
        x, y, z = thread % 8, thread // 8 % 2, thread // 16
        word |= (x | y << 3 | z << 4) << CONFIG.word_bits * lane
    return word


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ""),
        (
            {"word": packed(3) ^ 1 << CONFIG.word_bits},
            "ticket 1, warp 3, SM 1, cycle 100, lane 1: ",
        ),
        ({"mask": 1}, "mask 1 instead of "),
        ({"warp": 40}, "has 4 warps"),
        ({"ticket": 2}, "there is no such ticket"),
        ({"wrong": LACKS}, "this warp had not come"),
        ({"wrong": UNASKED}, "SM 1, cycle 100: data that nobody had asked for"),
    ],
)
def test_an_index_read_is_held_against_a_division_by_hand(given: dict[str, int], said: str) -> None:
    reads = IndexReads([LaunchDescriptor(grid=(4, 1, 1), block=(8, 2, 2))], CONFIG)
    right = {"warp": 3, "word": packed(3), "mask": (1 << CONFIG.warp_size) - 1}
    reads.add(reads_of(**(right | given)))
    assert said in reads.first and bool(said) == bool(reads.wrong) == bool(reads.problems(4))


def test_a_long_run_without_an_answered_read_is_refused() -> None:
    reads = IndexReads([LaunchDescriptor(grid=(4, 1, 1), block=(8, 2, 2))], CONFIG)
    assert reads.problems(1023) == []
    assert reads.problems(1024) == ["not one index read of 1,024 blocks was answered"]
