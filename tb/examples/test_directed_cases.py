"""Ten cases for each instruction: on the instruction model, and on SimtCore."""

import random
from collections import Counter

import numpy as np
import pytest

from simt_model import Launch, run_grid
from tb.examples.core_bench import CORE_BITS, Block, CoreBench
from tb.examples.directed_cases import Case, cases, program
from warploom_spec import preset

ENTRY, DATA = 0x100, 0x2400
ALL = list(cases())
HALVES = (ALL[: len(ALL) // 2], ALL[len(ALL) // 2 :])


def memory_of(some: list[Case]) -> tuple[np.ndarray, list[int]]:
    words, values, expected = program(some, ENTRY, DATA)
    memory = np.zeros(1 << CORE_BITS, np.uint8)
    for at, part in ((ENTRY, words), (DATA, values)):
        memory[at : at + 4 * len(part)] = np.array(part, "<u4").view(np.uint8)
    return memory, expected


def launch(warp_size: int) -> Launch:
    one = (1, 1, 1)
    return Launch(entry=ENTRY, arguments=DATA, grid=one, block=one, warp_size=warp_size)


def differing(some: list[Case], memory: np.ndarray, expected: list[int]) -> list[str]:
    """Return the cases whose result is not the manual's."""
    found = memory[DATA:].view("<u4")[2::3][: len(some)].tolist()
    pairs = zip(some, found, expected, strict=True)
    return [
        f"{case.name} {case.a:#x} {case.b:#x}: {f:#x}, {e:#x}" for case, f, e in pairs if f != e
    ]


def test_each_instruction_has_ten_cases() -> None:
    counts = Counter(case.name for case in ALL)
    assert len(counts) == 14 + 6 + 3 + 6 + 2 + 2 + 5 + 3 + 1
    assert {*counts.values()} == {10}


@pytest.mark.parametrize("half", [0, 1])
def test_the_model_gives_the_manuals_results(half: int) -> None:
    memory, expected = memory_of(HALVES[half])
    run_grid(launch(2), memory)
    assert not differing(HALVES[half], memory, expected)
    # Each case can fail.
    assert len(differing(HALVES[half], memory, [e ^ 1 for e in expected])) == len(expected)


def core_differs(cases: list[Case], seed: int) -> list[str]:
    config = preset("tiny")
    memory, expected = memory_of(cases)
    one = launch(config.warp_size)
    run = CoreBench(config, memory, random.Random(seed)).run([Block(one, (0, 0, 0))], 50_000)
    return differing(cases, run.memory, expected)


@pytest.mark.thorough
def test_the_core_gives_some_of_the_manuals_results(seed: int) -> None:
    assert not core_differs(random.Random(seed).sample(ALL, 80), seed)


@pytest.mark.deep
@pytest.mark.parametrize("half", [0, 1])
def test_the_core_gives_the_manuals_results(half: int, seed: int) -> None:
    assert not core_differs(HALVES[half], seed)
