"""Each kernel of ``examples/kernels`` with buffers, arguments, and what NumPy says it makes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simt_host import Buffer, KernelElf, MemoryImage, read_kernel
from simt_host.memory_image import MEMORY_BYTES

KERNELS = Path(__file__).parents[2] / "examples" / "kernels"
#: Those that end well.
ENDING = ("vector_add", "matrix_product", "stencil_3d", "block_sum")
#: Block shapes: whole warps and ragged ones, one to three dimensions.
BLOCKS = ((32, 1, 1), (7, 5, 3), (33, 1, 1), (1, 17, 2), (96, 1, 1))

Arrays = Mapping[str, np.ndarray]
Dimensions = tuple[int, int, int]
#: Grid, buffers, numbers that are arguments, and the result.
Made = tuple[Dimensions, Arrays, Sequence[int], np.ndarray]


@dataclass(frozen=True)
class KernelCase:
    """One launch of a kernel: its grid and block, its memory, and the result that is right."""

    name: str
    kernel: KernelElf
    grid: Dimensions
    block: Dimensions
    image: MemoryImage
    out: np.ndarray

    def result(self, memory: np.ndarray) -> np.ndarray:
        """Return what the kernel wrote."""
        return self.image.buffer("out", memory)


def kernel(name: str) -> KernelElf:
    return read_kernel(KERNELS / f"{name}.elf", MEMORY_BYTES)


def kernel_case(
    name: str, block: Dimensions, seed: int, blocks: int = 3, behind: KernelCase | None = None
) -> KernelCase:
    """Draw a launch of ``blocks`` blocks; a part of the last block's threads has nothing to do.

    With ``behind`` its data lie behind those of another launch of the kernel.
    """
    return _case(name, block, _MAKERS[name](np.random.default_rng(seed), block, blocks), behind)


def _case(name: str, block: Dimensions, made: Made, behind: KernelCase | None = None) -> KernelCase:
    """Put what a maker drew into a memory."""
    grid, buffers, numbers, out = made
    given = [Buffer(key, value) for key, value in buffers.items()]
    given.append(Buffer("out", np.full_like(out, -1)))
    arguments = [*buffers, "out", *map(str, numbers)]
    elf = kernel(name)
    image = MemoryImage(elf, given, arguments, behind=behind and behind.image)
    return KernelCase(name, elf, grid, block, image, out)


def add_in_place(block: Dimensions, seed: int) -> KernelCase:
    """Draw a vector addition of two blocks whose result stands where its first operand was.

    A thread whose work is done again when it has ended is seen: its element has the second operand
    added twice. The second block's warps start far apart, as the first one's registers are cleared.
    """
    rng = np.random.default_rng(seed)
    n = 2 * int(np.prod(block))
    a, b = _words(rng, n), _words(rng, n)
    elf = kernel("vector_add")
    image = MemoryImage(elf, [Buffer("out", a), Buffer("b", b)], ["out", "b", "out", str(n)])
    return KernelCase("vector_add", elf, (2, 1, 1), block, image, a + b)


def _words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-(2**31), 2**31, shape, np.int64).astype(np.int32)


def vector_add_of(elements: int, block: Dimensions, seed: int) -> KernelCase:
    """Draw a vector addition of so many elements, a thread each."""
    blocks = -(-elements // int(np.prod(block)))
    rng = np.random.default_rng(seed)
    return _case("vector_add", block, _vector_add(rng, block, blocks, elements))


def _vector_add(rng, block, blocks, elements=None):
    n = elements or int(np.prod(block)) * blocks - 5
    a, b = _words(rng, n), _words(rng, n)
    return (blocks, 1, 1), {"a": a, "b": b}, [n], a + b


def _matrix_product(rng, block, blocks):
    n = 9
    a, b = _words(rng, n, n), _words(rng, n, n)
    return (1, blocks, 1), {"a": a, "b": b}, [n], a @ b


def _stencil_3d(rng, block, blocks):
    nx, ny, nz = (max(3, blocks * block[0] - 1), max(3, block[1]), max(3, block[2]))
    box = _words(rng, nz, ny, nx)
    out = box.copy()
    inner = 6 * box[1:-1, 1:-1, 1:-1]
    for axis in range(3):
        for shift in (0, 2):
            cut = [slice(1, -1)] * 3
            cut[axis] = slice(shift, box.shape[axis] - 2 + shift)
            inner = inner - box[tuple(cut)]
    out[1:-1, 1:-1, 1:-1] = inner
    # The grid covers the box.
    grid = tuple(-(-n // d) for n, d in zip((nx, ny, nz), block, strict=True))
    return grid, {"in": box}, [nx, ny, nz], out


def _block_sum(rng, block, blocks):
    threads = int(np.prod(block))
    n = threads * blocks - 3
    values = _words(rng, n)
    padded = np.append(values, np.zeros(3, np.int32)).reshape(blocks, threads)
    return (blocks, 1, 1), {"in": values}, [n], padded.sum(axis=1, dtype=np.int32)


_MAKERS: Mapping[str, Callable[..., Made]] = {
    "vector_add": _vector_add,
    "matrix_product": _matrix_product,
    "stencil_3d": _stencil_3d,
    "block_sum": _block_sum,
}
