"""SimtCore against the instruction model, turn by turn, on Amaranth's simulator."""

import random
from dataclasses import replace

import numpy as np
import pytest

from simt_model import Launch
from tb.examples import assembler as asm
from tb.examples.core_bench import CORE_BITS, Block, CoreBench
from tb.examples.kernel_cases import KernelCase, kernel_case
from tb.examples.random_programs import random_program
from tb.examples.turn_lockstep import TurnMismatch, check_turns
from warploom_spec import BlockStatus, preset

TINY = preset("tiny")


def blocks_of(launch: Launch, stream: int = 0) -> list[Block]:
    gx, gy, gz = launch.grid
    positions = [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]
    return [Block(launch, position, stream) for position in positions]


def launch_of(case: KernelCase, warp_size: int) -> Launch:
    return Launch(
        entry=case.kernel.entry,
        arguments=case.image.arguments,
        grid=case.grid,
        block=case.block,
        warp_size=warp_size,
        shared_bytes=case.kernel.shared_bytes,
    )


def run_kernel(bench: CoreBench, case: KernelCase, limit: int = 100_000):
    """Run a kernel on the core; return the run, its blocks, and the kernel's result."""
    launch = launch_of(case, bench.config.warp_size)
    blocks = blocks_of(launch)
    run = bench.run(blocks, limit)
    memory = case.image.bytes.copy()
    memory[: len(run.memory)] = run.memory
    return run, blocks, case.result(memory)


def test_a_kernel_with_barriers_takes_the_models_turns(seed: int) -> None:
    case = kernel_case("block_sum", (7, 2, 1), seed, blocks=2)
    bench = CoreBench(TINY, case.image.bytes, random.Random(seed))
    # A block's second warp comes when the first one waits at the barrier: it stays closed (rule 7).
    bench.pause = 500
    run, blocks, out = run_kernel(bench, case)
    assert [block.status for block in blocks] == [BlockStatus.OK] * 2
    assert run.reads == sum(block.warps for block in blocks)
    check_turns(run, blocks, case.image.bytes)
    np.testing.assert_array_equal(out, case.out)
    # Each of these alone is found.
    middle = next(n for n in range(len(run.turns) // 2, len(run.turns)) if run.turns[n]["rd"])
    lane = run.turns[middle]["lanes"] & -run.turns[middle]["lanes"]
    for change in (
        {"values": run.turns[middle]["values"] ^ 1 << 32 * (lane.bit_length() - 1)},
        {"lanes": run.turns[middle]["lanes"] ^ lane},
        {"pc": run.turns[middle]["pc"] ^ 4},
        {"rd": run.turns[middle]["rd"] ^ 1},
    ):
        turns = [dict(turn) for turn in run.turns]
        turns[middle] |= change
        with pytest.raises(TurnMismatch, match=f"turn {middle}, "):
            check_turns(replace(run, turns=turns), blocks, case.image.bytes)
    memory = run.memory.copy()
    memory[case.image.addresses["out"]] ^= 1
    with pytest.raises(TurnMismatch, match="memories differ"):
        check_turns(replace(run, memory=memory), blocks, case.image.bytes)


def lockstep(seed: int, sequences: int, threads: int) -> int:
    """Run random sequences, a block each; return the number of turns."""
    rng = random.Random(seed)
    memory, launch = random_program(rng, sequences, TINY.warp_size, threads, 1 << CORE_BITS)
    blocks = blocks_of(launch)
    run = CoreBench(TINY, memory, rng).run(blocks, 1_000_000)
    assert all(block.status == BlockStatus.OK for block in blocks)
    check_turns(run, blocks, memory)
    return len(run.turns)


def test_random_sequences_take_the_models_turns(seed: int) -> None:
    assert lockstep(seed, 1, 11) > 2 * 20


def before():
    """Return a function that answers each read with the row of the read before."""
    rows = [0]

    def answer(row: int) -> int:
        rows.append(row)
        return rows.pop(0)

    return answer


def packed_with(*wrong: int):
    """Return a function that packs each index with these widths, not with those of the block."""

    def answer(row: int) -> int:
        made = 0
        for n in range(TINY.warp_size):
            word, index, low = row >> TINY.word_bits * n, 0, 0
            for right, width in zip(WIDTHS, wrong, strict=True):
                index |= (word & (1 << right) - 1 & (1 << width) - 1) << low
                word, low = word >> right, low + width
            made |= index << TINY.word_bits * n
        return made

    return answer


#: Bits of x, y and z in a block of (3, 3, 2).
WIDTHS = (2, 2, 1)
#: Widths that a packer may take instead: one bit too many, or too few. Nothing lies above z.
WRONG_WIDTHS = ((3, 2, 1), (1, 2, 1), (2, 3, 1), (2, 1, 1), (2, 2, 0))


@pytest.mark.deep
@pytest.mark.parametrize("widths", [WIDTHS, *WRONG_WIDTHS], ids=str)
def test_a_wrong_width_in_the_packer_makes_a_result_wrong(widths, seed: int) -> None:
    case = kernel_case("stencil_3d", (3, 3, 2), seed, 2)
    bench = CoreBench(TINY, case.image.bytes, random.Random(seed))
    bench.answer = packed_with(*widths)
    _, _, out = run_kernel(bench, case)
    assert np.array_equal(out, case.out) == (widths == WIDTHS)


@pytest.mark.deep
@pytest.mark.parametrize("fault", ["warp before", "overlapping ranges"])
def test_a_wrong_stand_in_makes_a_result_wrong(fault, seed: int) -> None:
    case = kernel_case("block_sum", (7, 5, 1), seed, 2)
    bench = CoreBench(TINY, case.image.bytes, random.Random(seed))
    if fault == "warp before":
        bench.answer = before()
    else:
        bench.shared_first = lambda first: 0
    _, _, out = run_kernel(bench, case)
    assert not np.array_equal(out, case.out)


def program_of(program: list[int], threads: int, blocks: int = 1) -> tuple[np.ndarray, Launch]:
    """Return the memory with a program, and its launch: blocks of so many threads."""
    memory = np.zeros(1 << CORE_BITS, np.uint8)
    memory[0x100:].view("<u4")[: len(program)] = program
    sizes = {"grid": (blocks, 1, 1), "block": (threads, 1, 1), "warp_size": TINY.warp_size}
    return memory, Launch(entry=0x100, arguments=0x200, **sizes)


def test_a_turn_takes_the_cycles_of_the_page(seed: int) -> None:
    """Five cycles; a load, product or shift of three lanes takes 2 + 3 more, a store 1 + 3."""
    program = [
        asm.immediate("addi", 5, 10, 4),
        asm.load("lw", 6, 5, 0),
        asm.register("mul", 6, 6, 6),
        asm.store("sw", 6, 5, 0),
        asm.immediate("slli", 6, 6, 3),
        asm.END,
    ]
    memory, launch = program_of(program, 3)
    bench = CoreBench(TINY, memory, random.Random(seed))
    ends = [turn["cycle"] for turn in bench.run(blocks_of(launch), 5000).turns]
    assert np.diff(ends).tolist() == [10, 10, 9, 10, 5]


def test_a_warp_finds_no_value_of_the_one_before_it(seed: int) -> None:
    """Each of 40 blocks counts x5 up from 0, and a0 from the arguments' address."""
    program = [asm.immediate("addi", 5, 5, 1), asm.immediate("addi", 10, 10, 1), asm.END]
    memory, launch = program_of(program, 1, 40)
    turns = CoreBench(TINY, memory, random.Random(seed)).run(blocks_of(launch), 9000).turns
    found = {rd: [turn["values"] for turn in turns if turn["rd"] == rd] for rd in (5, 10)}
    lane = [[value & 0xFFFFFFFF for value in values] for values in found.values()]
    assert lane == [[1] * 40, [launch.arguments + 1] * 40]


def stores_thread_x() -> tuple[np.ndarray, Launch]:
    """Return a program of which each lane stores its x plus 1 by warp and lane; 13 threads."""
    program = [
        asm.csr(5, 0xCCD),
        asm.immediate("slli", 5, 5, 3),
        asm.csr(6, 0xCCC),
        asm.register("add", 5, 5, 6),
        asm.immediate("slli", 5, 5, 2),
        asm.register("add", 5, 5, 10),
        asm.csr(6, 0xCC0),
        asm.immediate("addi", 6, 6, 1),
        asm.store("sw", 6, 5, 0),
        asm.END,
    ]
    return program_of(program, 13)


@pytest.mark.deep
@pytest.mark.parametrize("full", [False, True])
def test_lanes_that_are_no_threads_would_store(full: bool, seed: int) -> None:
    """The result of a kernel that goes by lane and warp is wrong with a full mask.

    One that goes by thread indices does thread 0's work once more, which may change nothing.
    """
    memory, launch = stores_thread_x()
    bench = CoreBench(TINY, memory, random.Random(seed))
    if full:
        bench.mask = lambda mask: (1 << TINY.warp_size) - 1
    run = bench.run(blocks_of(launch), 5000)
    expected = [*range(1, 14), *[1 if full else 0] * 3]
    assert run.memory[0x200:].view("<u4")[:16].tolist() == expected


@pytest.mark.deep
@pytest.mark.parametrize("cycle", range(100, 400, 60))
def test_killed_blocks_end_in_time(cycle: int, seed: int) -> None:
    case = kernel_case("block_sum", (7, 3, 1), seed, blocks=3)
    bench = CoreBench(TINY, case.image.bytes, random.Random(seed))
    bench.kill = lambda now: int(now >= cycle)
    _, blocks, _ = run_kernel(bench, case)
    late = [block for block in blocks if block.taken <= cycle and block.status != BlockStatus.OK]
    assert late and all(block.status == BlockStatus.KILLED for block in late)
    assert max(block.reported for block in late) <= cycle + TINY.block_slots + 8


@pytest.mark.deep
@pytest.mark.parametrize("part", range(2))
def test_random_sequences_with_random_slots_and_latencies(part: int, seed: int) -> None:
    """More of them run on a whole GPU (`test_many_sequences.py`)."""
    lockstep(seed + part, 20, 13)
