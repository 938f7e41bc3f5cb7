"""Random programs for the core: sequences of instructions, one a block, with branches per lane."""

import random
from collections.abc import Callable

import numpy as np

from simt_model import Launch
from tb.examples import assembler as asm

#: Each block jumps to a sequence of so many words.
WORDS = 64
ENTRY = 0x400
#: Words that each lane reads at first, and may store to.
LANE_WORDS = 8
_HEAD = 23
#: Lanes that clear shared memory together, a word each at a time.
_CLEARERS = 8
#: Registers that a sequence computes with. x10 has the data's address, x8 and x9 those of the
#: lane's data and of shared memory, x31 counts a loop's turns.
_FREE = (1, 3, 4, 5, 6, 7, 11, 12)
SHARED_BYTES = 256


def random_program(
    rng: random.Random, sequences: int, warp_size: int, threads: int, size: int
) -> tuple[np.ndarray, Launch]:
    """Return a memory of ``size`` bytes with a program, and the launch that runs it."""
    assert threads >= _CLEARERS
    base = ENTRY + 4 * _HEAD
    data = base + 4 * WORDS * sequences
    words = np.zeros(size // 4, "<u4")
    values = [rng.choice(_VALUES)(rng) for _ in range((size - data) // 4)]
    words[data // 4 :] = values
    words[ENTRY // 4 :][:_HEAD] = _head(base)
    for n in range(sequences):
        words[base // 4 + n * WORDS :][:WORDS] = _sequence(rng)
    launch = Launch(
        entry=ENTRY,
        arguments=data,
        grid=(sequences, 1, 1),
        block=(threads, 1, 1),
        warp_size=warp_size,
        shared_bytes=SHARED_BYTES,
    )
    need = data + sequences * threads * 4 * LANE_WORDS
    assert need <= size, (need, size)
    return words.view(np.uint8), launch


_VALUES = (
    lambda rng: rng.getrandbits(32),
    lambda rng: rng.randrange(-4, 5) & 0xFFFFFFFF,
    lambda rng: rng.choice((0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0, 1)),
    lambda rng: 1 << rng.randrange(32),
)


def _head(base: int) -> list[int]:
    """Find the lane's data, clear shared memory, and jump to the block's sequence.

    Shared memory has no initial value: an earlier block's words may stand there.
    """
    clear = [asm.store("sw", 0, 6, n) for n in range(0, SHARED_BYTES, 4 * _CLEARERS)]
    words = [
        # x8 = x10 + 4 LANE_WORDS (threads block + thread)
        asm.csr(5, 0xCC3),
        asm.csr(6, 0xCC6),
        asm.register("mul", 8, 5, 6),
        asm.csr(6, 0xCC0),
        asm.register("add", 8, 8, 6),
        asm.immediate("slli", 8, 8, 5),
        asm.register("add", 8, 8, 10),
        asm.upper("lui", 9, 0x80000),
        asm.immediate("andi", 6, 6, _CLEARERS - 1),
        asm.immediate("slli", 6, 6, 2),
        asm.register("add", 6, 6, 9),
        *clear,
        # The sequence's address.
        asm.immediate("slli", 5, 5, 8),
        asm.immediate("addi", 6, 5, 0),
        asm.immediate("addi", 7, 6, base & 0x7FF),
        asm.jalr(0, 7, base & ~0x7FF),
    ]
    assert base < 0x800 and len(words) == _HEAD and 4 * WORDS == 1 << 8
    return words


def _sequence(rng: random.Random) -> list[int]:
    """Return one sequence: it loads its registers, computes, stores them, and ends."""
    words = [asm.load("lw", r, 8, 4 * n) for n, r in enumerate(_FREE)]
    if rng.random() < 0.5:
        # A loop of which each lane takes one to four turns.
        words.append(asm.immediate("andi", 31, rng.choice(_FREE), 3))
        top = len(words)
        words += [_plain(rng) for _ in range(rng.randrange(2, 10))]
        words.append(asm.immediate("addi", 31, 31, -1))
        words.append(asm.branch("bge", 31, 0, -4 * (len(words) - top)))
    units = [_unit(rng) for _ in range(rng.randrange(8, 20))]
    starts = [len(words)]
    for unit in units:
        starts.append(starts[-1] + (1 if callable(unit) else len(unit)))
    for n, unit in enumerate(units):
        ahead = starts[min(n + rng.randrange(1, 8), len(units))] - starts[n]
        words += [unit(4 * ahead)] if callable(unit) else unit
    words += [asm.store("sw", r, 8, 4 * n) for n, r in enumerate(_FREE)]
    assert len(words) < WORDS
    return [*words, *[asm.END] * (WORDS - len(words))]


def _unit(rng: random.Random) -> list[int] | Callable[[int], int]:
    """Return instructions that belong together, or one that jumps a distance ahead."""
    kind = rng.random()
    if kind < 0.3:
        name, a, b = rng.choice([*asm.BRANCHES]), _any(rng), _any(rng)
        return lambda ahead: asm.branch(name, a, b, ahead)
    if kind < 0.34:
        rd = _to(rng)
        return lambda ahead: asm.jal(rd, ahead)
    if kind < 0.38:
        # The jump's target is odd: its lowest bit is ignored.
        return [asm.upper("auipc", 7, 0), asm.jalr(_to(rng), 7, 13), _plain(rng)]
    if kind < 0.41:
        return [asm.BARRIER]
    return [_plain(rng)]


def _any(rng: random.Random) -> int:
    return rng.choice((0, 8, *_FREE))


def _to(rng: random.Random) -> int:
    return rng.choice((0, *_FREE))


def _plain(rng: random.Random) -> int:
    """Return an instruction that goes on to the next one."""
    kind = rng.random()
    if kind < 0.35:
        return asm.register(rng.choice([*asm.R_TYPE]), _to(rng), _any(rng), _any(rng))
    if kind < 0.5:
        name = rng.choice([*asm.I_TYPE])
        return asm.immediate(name, _to(rng), _any(rng), rng.randrange(-2048, 2048))
    if kind < 0.6:
        return asm.immediate(rng.choice([*asm.SHIFTS]), _to(rng), _any(rng), rng.randrange(32))
    if kind < 0.65:
        return asm.upper(rng.choice(("lui", "auipc")), _to(rng), rng.randrange(1 << 20))
    if kind < 0.7:
        return asm.csr(_to(rng), rng.randrange(0xCC0, 0xCCE))
    if kind < 0.72:
        return asm.FENCE
    base, end = rng.choice(((8, 32), (9, SHARED_BYTES), (10, 256)))
    if rng.random() < 0.5:
        name = rng.choice([*asm.LOADS])
        return asm.load(name, _to(rng), base, _offset(rng, name, end))
    name = rng.choice([*asm.STORES])
    return asm.store(name, _any(rng), base, _offset(rng, name, end))


def _offset(rng: random.Random, name: str, end: int) -> int:
    size = {"b": 1, "h": 2, "w": 4}[name[1]]
    return rng.randrange(0, end, size)
