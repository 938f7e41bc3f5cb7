"""The kernels on the instruction model: results equal NumPy's."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from simt_model import Fault, Launch, run_grid
from tb.examples.kernel_cases import BLOCKS, ENDING, KERNELS, KernelCase, kernel, kernel_case

GCC = shutil.which("riscv64-unknown-elf-gcc")


def run(case: KernelCase, **changes: object) -> np.ndarray:
    """Run a case on the model, and return the memory afterwards."""
    memory = case.image.bytes.copy()
    values = {
        "entry": case.kernel.entry,
        "arguments": case.image.arguments,
        "grid": case.grid,
        "block": case.block,
        "warp_size": 8,
        "shared_bytes": case.kernel.shared_bytes,
    }
    run_grid(Launch(**(values | changes)), memory)
    return memory


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("block", [(7, 5, 1), (1, 9, 2)], ids=str)
def test_a_kernels_result_is_numpys(name: str, block: tuple[int, int, int], seed: int) -> None:
    case = kernel_case(name, block, seed, blocks=2)
    np.testing.assert_array_equal(case.result(run(case)), case.out)


@pytest.mark.deep
@pytest.mark.parametrize("warp_size", [2, 4, 8, 32, 64])
@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_shape_and_warp_size(
    name: str, block: tuple[int, int, int], warp_size: int, seed: int
) -> None:
    case = kernel_case(name, block, seed)
    np.testing.assert_array_equal(case.result(run(case, warp_size=warp_size)), case.out)


def test_a_kernel_with_another_block_than_its_grid_was_made_for_is_wrong(seed: int) -> None:
    """The comparison can fail."""
    case = kernel_case("vector_add", (33, 1, 1), seed, blocks=8)
    assert not np.array_equal(case.result(run(case, block=(32, 1, 1))), case.out)


def test_the_kernel_that_faults_names_the_access(seed: int) -> None:
    case = kernel_case("vector_add", (4, 1, 1), seed)
    elf = kernel("faults")
    launch = {"entry": elf.entry, "grid": (2, 1, 1), "block": (4, 1, 1)}
    memory = case.image.bytes.copy()
    for address, data in elf.segments:
        memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
    with pytest.raises(Fault, match=r"an access of 4 bytes at 0x\w+ is misaligned"):
        run_grid(Launch(arguments=case.image.arguments, warp_size=4, **launch), memory)


def test_the_kernel_that_never_ends_is_given_up(seed: int) -> None:
    elf = kernel("never_ends")
    memory = np.zeros(1 << 16, np.uint8)
    memory[elf.entry : elf.end] = np.frombuffer(elf.segments[0][1], np.uint8)
    launch = Launch(entry=elf.entry, arguments=0, grid=(1, 1, 1), block=(1, 1, 1), warp_size=2)
    with pytest.raises(TimeoutError, match="after 100 instructions"):
        run_grid(launch, memory, steps=100)


def listed(text: str) -> dict[int, int]:
    """Return the words of a disassembly by their addresses."""
    lines = re.findall(r"^ +([0-9a-f]+):\t([0-9a-f]{8})", text, re.MULTILINE)
    return {int(address, 16): int(word, 16) for address, word in lines}


@pytest.mark.parametrize("source", sorted(KERNELS.glob("*.c")), ids=lambda path: path.stem)
def test_the_committed_disassembly_is_the_programs(source) -> None:
    words = listed(source.with_suffix(".dis").read_text())
    assert words
    assert words == kernel(source.stem).code


@pytest.mark.deep
@pytest.mark.skipif(GCC is None, reason="gcc for RISC-V is not here; the built kernels are")
def test_the_sources_make_the_committed_instructions(tmp_path) -> None:
    subprocess.run([KERNELS / "build.sh", tmp_path], check=True)
    for source in KERNELS.glob("*.c"):
        made = listed((tmp_path / source.with_suffix(".dis").name).read_text())
        assert made == kernel(source.stem).code, source.name
