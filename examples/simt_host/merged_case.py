"""Data for ``examples/kernels/merged.c``: tables and task records in memory, results by NumPy.

Task 0 adds two vectors, task 1 is a stencil, task 2 sums each block. A task that needs others reads
what the first of them wrote: it is wrong if it begins too soon.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from simt_host.kernel_elf import KernelElf, read_kernel
from simt_host.kernel_sources import KERNELS
from simt_host.memory_image import MEMORY_BYTES, Buffer, MemoryImage
from warploom_golden.merging import MappingTable, Task, to_words
from warploom_spec import WarploomError

#: Tasks that the kernel has, and the most threads of a block: ``MOST`` of ``merged_tasks.h``.
TASKS: Final = ("vector add", "stencil", "block sum")
MOST_THREADS: Final = 256
#: Bits of the reciprocals by which a thread finds its place.
_RECIPROCAL: Final = 1 << 20
#: Words of a task's record.
_RECORD_WORDS: Final = 20
Integers = NDArray[np.int32]


@dataclass(frozen=True)
class MergedCase:
    """Launches of one merged kernel, one after the other in its stream.

    Attributes
    ----------
    table : MappingTable
        The table, legal or not.
    kernel : KernelElf
        The program; without it the committed one.
    images : tuple of MemoryImage
        Of each launch; all in the memory of the last one.
    outs : dict of str to ndarray
        What NumPy says each result buffer holds when the last launch is over.
    """

    table: MappingTable
    kernel: KernelElf
    images: tuple[MemoryImage, ...]
    outs: Mapping[str, Integers]

    @property
    def blocks(self) -> int:
        """Blocks of the merged kernel."""
        return sum(task.blocks for task in self.table.tasks)

    @property
    def threads(self) -> int:
        """Threads of a merged block."""
        return max(task.threads for task in self.table.tasks)

    @property
    def waits(self) -> tuple[int, ...]:
        """Addresses of the loads with which a lane waits for a tag or a mark."""
        return tuple(self.kernel.labels("wait_"))

    def kept(self, memory: NDArray[np.uint8]) -> bool:
        """Tell whether nothing has changed but results, tags and marks."""
        before, after = self.images[-1].bytes.copy(), memory.copy()
        for name in ("tags", "marks", *self.outs):
            first = self.images[0].addresses[name]
            for each in (before, after):
                each[first : first + self.found(name, memory).nbytes] = 0
        return np.array_equal(before, after)

    def found(self, name: str, memory: NDArray[np.uint8]) -> NDArray[np.generic]:
        """Return a buffer's values in a memory."""
        return self.images[0].buffer(name, memory)

    def equal(self, memory: NDArray[np.uint8]) -> bool:
        """Tell whether all results are NumPy's."""
        return all(np.array_equal(self.found(name, memory), out) for name, out in self.outs.items())


def merged_case(
    table: MappingTable,
    seed: int,
    *,
    rounds: int = 1,
    epochs: Sequence[int] = (1,),
    kernel: KernelElf | None = None,
    reuse: Mapping[int, int] | None = None,
    behind: MergedCase | None = None,
) -> MergedCase:
    """Draw the data of a merged kernel.

    Parameters
    ----------
    table : MappingTable
        Up to three tasks, and the order of their blocks, legal or not.
    seed : int
        Seeds the data.
    rounds : int
        How often each block repeats its work.
    epochs : sequence of int
        The epoch of each launch.
    kernel : KernelElf, optional
        The program; without it the committed one.
    reuse : mapping of int to int, optional
        Tasks that write into another task's result buffer, and that task.
    behind : MergedCase, optional
        Another case of the program, in whose memory this one's data lie behind its own.

    Raises
    ------
    WarploomError
        If the tasks do not fit the kernel, or the buffers the memory.
    """
    _check(table.tasks)
    elf = kernel or read_kernel(KERNELS / "merged.elf", MEMORY_BYTES)
    data = _Data(table.tasks, np.random.default_rng(seed), reuse or {})
    words = to_words(table)
    records = np.zeros((len(table.tasks), _RECORD_WORDS), np.uint32)
    given = [
        Buffer("table", words.entries),
        Buffer("tasks", records),
        Buffer("tags", words.tags),
        Buffer("marks", words.marks),
        *(Buffer(name, values) for name, values in data.before.items()),
    ]
    arguments = ["table", "tasks", "tags", "marks", str(epochs[0])]
    # The records hold addresses, which the first of the two images gives.
    before = behind.images[-1] if behind else None
    addresses = MemoryImage(elf, given, arguments, behind=before).addresses
    for number in range(len(table.tasks)):
        records[number] = [*words.tasks[number], *data.record(number, rounds, addresses)]
    images = [MemoryImage(elf, given, arguments, behind=before)]
    for epoch in epochs[1:]:
        numbers = [str(addresses[name]) for name in arguments[:4]]
        images.append(MemoryImage(elf, [], [*numbers, str(epoch)], behind=images[-1]))
    return MergedCase(table, elf, tuple(images), data.after())


def _check(tasks: Sequence[Task]) -> None:
    if not 1 <= len(tasks) <= len(TASKS):
        raise WarploomError(f"{len(tasks)} tasks; legal: 1 to {len(TASKS)}, as merged.c has")
    for number, task in enumerate(tasks):
        if task.threads > MOST_THREADS:
            said = f"task {number} has blocks of {task.threads} threads"
            raise WarploomError(f"{said}; legal: 1 to {MOST_THREADS}, as merged.c has")


class _Data:
    """The buffers of some tasks, and what the tasks make of them."""

    def __init__(self, tasks: Sequence[Task], rng: np.random.Generator, reuse: Mapping[int, int]):
        self._tasks = tasks
        self._sizes = [_elements(number, task) for number, task in enumerate(tasks)]
        self._outs = [f"out{reuse.get(number, number)}" for number in range(len(tasks))]
        self._sources = [self._sources_of(number) for number in range(len(tasks))]
        # A buffer is as large as what is written and read there.
        needed: dict[str, int] = {}
        for number in range(len(tasks)):
            read = prod(self._sizes[number])
            for name in self._sources[number]:
                needed[name] = max(needed.get(name, 0), read)
            written = tasks[number].blocks if number == 2 else read
            needed[self._outs[number]] = max(needed.get(self._outs[number], 0), written)
        self.before: dict[str, Integers] = {
            name: rng.integers(-(2**31), 2**31, size, np.int64).astype(np.int32)
            for name, size in sorted(needed.items())
        }

    def _sources_of(self, number: int) -> tuple[str, str]:
        """Return the names of the two buffers that a task may read; only the first task reads b."""
        needs = [self._outs[other] for other in sorted(self._tasks[number].depends)]
        first = needs[0] if needs else f"a{number}"
        return first, needs[1] if len(needs) > 1 else f"b{number}" if number == 0 else first

    def record(self, number: int, rounds: int, addresses: Mapping[str, int]) -> list[int]:
        """Return a task's words behind those that the table gives."""
        launch = self._tasks[number].launch
        dx, dy, dz = launch.block
        per_row, per_layer = -(-_RECIPROCAL // dx), -(-_RECIPROCAL // (dx * dy))
        buffers = [addresses[name] for name in (*self._sources[number], self._outs[number])]
        block = [dx, dy, dz, dx * dy * dz, per_row, per_layer]
        return [*block, *launch.grid, rounds, *buffers, *self._sizes[number]]

    def after(self) -> dict[str, Integers]:
        """Return the result buffers when all tasks are done, each behind those that it needs."""
        buffers = {name: values.copy() for name, values in self.before.items()}
        done: set[int] = set()
        while len(done) < len(self._tasks):
            ready = [n for n, task in enumerate(self._tasks) if n not in done]
            number = next(n for n in ready if self._tasks[n].depends <= done)
            a, b = (buffers[name] for name in self._sources[number])
            made = self._made(number, a, b)
            buffers[self._outs[number]][: len(made)] = made
            done.add(number)
        return {name: buffers[name] for name in self._outs}

    def _made(self, number: int, a: Integers, b: Integers) -> Integers:
        size = self._sizes[number]
        if number == 0:
            return a[: size[0]] + b[: size[0]]
        if number == 1:
            return _stencil(a[: prod(size)].reshape(size[::-1])).ravel()
        task = self._tasks[number]
        padded = np.zeros(task.blocks * task.threads, np.int32)
        padded[: size[0]] = a[: size[0]]
        sums: Integers = padded.reshape(task.blocks, task.threads).sum(axis=1, dtype=np.int32)
        return sums


def _elements(number: int, task: Task) -> tuple[int, int, int]:
    """Return how many elements a task works on: a part of the last threads has nothing to do."""
    if number == 1:
        pairs = zip(task.launch.grid, task.launch.block, strict=True)
        x, y, z = (max(1, blocks * threads - 1) for blocks, threads in pairs)
        return x, y, z
    return max(1, task.blocks * task.threads - 3), 1, 1


def _stencil(box: Integers) -> Integers:
    """Return six times each inner point less its six neighbours; the faces stay."""
    out = box.copy()
    if min(box.shape) < 3:
        return out
    inner = 6 * box[1:-1, 1:-1, 1:-1]
    for axis in range(3):
        for shift in (0, 2):
            cut = [slice(1, -1)] * 3
            cut[axis] = slice(shift, box.shape[axis] - 2 + shift)
            inner = inner - box[tuple(cut)]
    out[1:-1, 1:-1, 1:-1] = inner
    return out
