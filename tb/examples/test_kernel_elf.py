"""What is no kernel is refused in one line; so are buffers and arguments that do not fit."""

from pathlib import Path

import numpy as np
import pytest

from simt_host import Buffer, KernelElf, MemoryImage, read_buffer, read_kernel
from simt_host.memory_image import MEMORY_BYTES
from tb.examples.kernel_cases import KERNELS, kernel
from warploom_spec import WarploomError

ADD = (KERNELS / "vector_add.elf").read_bytes()
RET = 0x00008067
CHANGED = "changed.elf: "


def with_bytes(offset: int, data: bytes) -> bytes:
    return ADD[:offset] + data + ADD[offset + len(data) :]


def with_last_word(word: int) -> bytes:
    """Return the vector addition with another word instead of its last instruction."""
    return ADD.replace(RET.to_bytes(4, "little"), word.to_bytes(4, "little"), 1)


def header(kind: str, number: int) -> int:
    """Return where the first program header (or section header) of a type stands in the file."""
    place, step, word = {"program": (28, 32, 0), "section": (32, 40, 1)}[kind]
    at = int.from_bytes(ADD[place : place + 4], "little")
    while int.from_bytes(ADD[at + 4 * word : at + 4 * word + 4], "little") != number:
        at += step
    return at


#: PT_LOAD, whose header has p_vaddr at 8 and p_memsz at 20, and SHT_SYMTAB.
LOAD, SYMBOLS = header("program", 1), header("section", 2)
#: An ELF header's fields: e_type at 16, e_machine at 18, e_entry at 24, e_flags at 36.
REFUSED = {
    "machine": (with_bytes(18, b"\x3e\x00"), "machine is EM_X86_64; legal: EM_RISCV"),
    "type": (with_bytes(16, b"\x01\x00"), "type is ET_REL; legal: ET_EXEC"),
    "compressed": (
        with_bytes(36, b"\x01"),
        "has compressed instructions; legal: -march=rv32im",
    ),
    "entry": (
        with_bytes(24, b"\x02\x10\x00\x00"),
        "entry is 0x1002; legal: the address of a loaded instruction",
    ),
    "division": (
        with_last_word(0x02A55533),
        "at 0x1090: 0x02a55533 is illegal: division (divu); legal: RV32I, multiplication, CSRs of"
        " warploom_kernel.h",
    ),
    "stack": (
        with_last_word(0xFF010113),
        "at 0x1090: addi names x2, the stack pointer; legal: every other register, there is no"
        " stack",
    ),
    "stack as a source": (
        with_last_word(0x00212023),
        "at 0x1090: sw names x2, the stack pointer; legal: every other register, there is no stack",
    ),
    "csr": (
        with_last_word(0xCC0010F3),
        "at 0x1090: 0xcc0010f3 is illegal: CSR 0xcc0 is read only; legal: RV32I, multiplication,"
        " CSRs of warploom_kernel.h",
    ),
    "segment": (
        with_bytes(LOAD + 20, b"\x04\x00\x00\x00"),
        "a segment takes 4 bytes of memory; legal: 148, the bytes in the file, or more",
    ),
    "not loaded": (
        with_bytes(LOAD, b"\x00\x00\x00\x00"),
        "entry is 0x1000; legal: the address of a loaded instruction",
    ),
    "no symbols": (
        with_bytes(SYMBOLS + 4, b"\x01\x00\x00\x00"),
        "has no symbol warploom_registers; legal: linked with kernel.ld",
    ),
    "symbol": (
        ADD.replace(b"warploom_shared_bytes", b"warploom_shared_byte_"),
        "has no symbol warploom_shared_bytes; legal: linked with kernel.ld",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_kernel_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "changed.elf"
    path.write_bytes(data)
    with pytest.raises(WarploomError) as refused:
        read_kernel(path, MEMORY_BYTES)
    assert str(refused.value) == CHANGED + message


@pytest.mark.parametrize("size", [0, 3, 20, 60, len(ADD) // 2])
def test_a_file_that_is_cut_off_is_refused_in_one_line(size: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.elf"
    path.write_bytes(ADD[:size])
    with pytest.raises(WarploomError, match=r"^\S*cut.elf: .*$") as refused:
        read_kernel(path, MEMORY_BYTES)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WarploomError, match=r"none\.elf: No such file or directory$"):
        read_kernel(tmp_path / "none.elf", MEMORY_BYTES)


def test_a_kernel_outside_the_memory_is_refused() -> None:
    with pytest.raises(WarploomError, match="a segment ends at 0x1094; legal: below 0x1000$"):
        read_kernel(KERNELS / "vector_add.elf", 0x1000)


def test_what_a_kernel_says_of_itself() -> None:
    found = kernel("block_sum")
    assert (found.entry, found.registers, found.shared_bytes, found.barriers) == (4096, 32, 1024, 1)
    assert found.end == found.entry + 4 * len(found.code)


def image(*buffers: Buffer, arguments: tuple[str, ...] = (), size: int = 0x2000) -> MemoryImage:
    nothing = KernelElf(0x1000, ((0x1000, bytes(4)),), 0x1004, 32, 0, 1, {})
    return MemoryImage(nothing, buffers, arguments, size)


def test_arguments_and_buffers_lie_behind_the_code() -> None:
    a, b = Buffer("a", np.arange(17, dtype=np.int32)), Buffer("b", np.zeros(2, np.uint16))
    made = image(a, b, arguments=("b", "-1", "0x10", "a"))
    assert made.arguments == 0x1040
    assert made.addresses == {"a": 0x1080, "b": 0x1100}
    words = made.bytes.view("<u4")
    assert words[0x1040 // 4 :][:4].tolist() == [0x1100, 0xFFFFFFFF, 0x10, 0x1080]
    assert words[0x1080 // 4 :][:17].tolist() == list(range(17))
    np.testing.assert_array_equal(made.buffer("a", made.bytes), a.data)


@pytest.mark.parametrize(
    ("buffers", "arguments", "message"),
    [
        (
            [Buffer("a", np.zeros(1024, np.int32))],
            (),
            "buffer a ends at 0x2040, outside the memory; legal: up to 0x2000",
        ),
        (
            [Buffer("a", np.zeros(1)), Buffer("a", np.zeros(1))],
            (),
            "buffer a is given twice; legal: once",
        ),
        (
            [Buffer("a", np.zeros(1))],
            ("c",),
            "argument is 'c'; legal: a, a number from -2^31 to 2^32 - 1",
        ),
        ([], ("4294967296",), "argument is '4294967296'; legal: a number from -2^31 to 2^32 - 1"),
        ([], ("1",) * 1009, "arguments end at 0x2004; legal: below 0x2000"),
    ],
)
def test_what_does_not_fit_the_memory_is_refused(buffers, arguments, message) -> None:
    with pytest.raises(WarploomError) as refused:
        image(*buffers, arguments=arguments)
    assert str(refused.value) == message


def test_a_buffer_is_read_from_a_file_or_made(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "v.npy", values)
    made = read_buffer(f"v={tmp_path / 'v.npy'}")
    assert made.name == "v"
    np.testing.assert_array_equal(made.data, values)
    assert read_buffer("out=zeros:5").data.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("out", "buffer is 'out'; legal: NAME=FILE.npy, NAME=zeros:N"),
        ("1x=zeros:3", "buffer is '1x=zeros:3'; legal: NAME=FILE.npy, NAME=zeros:N"),
        ("x=zeros:0", "buffer x is 'zeros:0'; legal: FILE.npy, zeros:N (words)"),
        ("x=zeros:999999", "buffer x has 999999 words; legal: 1 to 65536"),
        ("x=none.npy", "buffer x: none.npy: No such file or directory"),
        ("x={}/text.npy", "buffer x: {}/text.npy: no array of NumPy"),
        ("x={}/empty.npy", "buffer x: {}/empty.npy holds no values; legal: one value or more"),
    ],
)
def test_a_buffer_that_is_none_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "empty.npy", np.zeros(0))
    with pytest.raises(WarploomError) as refused:
        read_buffer(text.format(tmp_path))
    assert str(refused.value) == message.format(tmp_path)
