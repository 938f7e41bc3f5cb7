"""``warploom defer`` on a program: what it prints and writes, and what it refuses."""

import json
import random
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tb.loops.loop_truth import BINARIES
from warploom_loops.elf_image import read_image
from warploom_loops.loop_finder import find_loops
from warploom_loops.marked_elf import marked_program, read_marked
from warploom_loops.marks_file import marks_as_data, marks_from_data
from warploom_sim import cli
from warploom_spec import WarploomError, extras

PROGRAM = BINARIES / "built" / "copies-O2"
#: Where the ELF header holds the class, the machine, the place of the section headers.
CLASS, MACHINE, SECTIONS, COUNT = 4, 18, 40, 60
SYMBOL_TABLE = 2


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.main, ["defer", *map(str, arguments)])


def changed(place: int, content: bytes) -> bytes:
    data = PROGRAM.read_bytes()
    return data[:place] + content + data[place + len(content) :]


def stripped() -> bytes:
    """Return the program with its symbol table marked as unused."""
    data = bytearray(PROGRAM.read_bytes())
    (begin,) = struct.unpack_from("<Q", data, SECTIONS)
    (count,) = struct.unpack_from("<H", data, COUNT)
    for header in range(begin, begin + 64 * count, 64):
        if struct.unpack_from("<I", data, header + 4)[0] == SYMBOL_TABLE:
            data[header : header + 8] = struct.pack("<II", 0, 1)
    return bytes(data)


def section_behind_the_end() -> bytes:
    """Return the program with a section's bytes placed behind its end."""
    data = bytearray(PROGRAM.read_bytes())
    (begin,) = struct.unpack_from("<Q", data, SECTIONS)
    struct.pack_into("<Q", data, begin + 64 + 24, len(data))
    return bytes(data)


def test_the_table_names_each_loop_with_its_class_or_reason() -> None:
    result = run(BINARIES / "built" / "refused-O2")
    assert result.exit_code == 0
    rows = [line for line in result.output.splitlines() if "squared " in line]
    assert any("ARGUMENT" in row for row in rows)
    assert "of" in result.output and "can be deferred" in " ".join(result.output.split())


def test_json_lists_every_loop(tmp_path: Path) -> None:
    assert run(PROGRAM, "--json", tmp_path / "loops.json").exit_code == 0
    figures = json.loads((tmp_path / "loops.json").read_text())
    (loop,) = [loop for loop in figures["loops"] if loop["function"] == "allocate_and_free"]
    assert (loop["class"], loop["reason"], loop["depth"]) == (3, None, 1)
    assert (loop["first"], loop["step"], loop["count"]) == (0, 1, None)
    assert [name for name in loop["calls"] if "one" not in name] == ["cudaMalloc", "cudaFree"]
    launch = loop["arguments"][1]
    assert [(a["kind"], a["call"], a["offset"], a["increment"]) for a in launch] == [
        (3, 0, 16, None),
        (1, None, None, 1),
    ]
    assert {"header", "first", "step", "count", "calls", "arguments"} <= loop.keys()


def test_marks_come_back_from_the_file_and_from_the_marked_program(tmp_path: Path) -> None:
    file, program = tmp_path / "marks.json", tmp_path / "program"
    assert run(PROGRAM, "--marks", file, "--patched", program).exit_code == 0
    marks = find_loops(PROGRAM)
    assert len(marks.deferrable) > 10
    assert marks_from_data(json.loads(file.read_bytes())) == read_marked(program) == marks
    assert program.stat().st_mode == PROGRAM.stat().st_mode


def test_a_marked_program_has_a_variable_for_each_loop_and_the_same_code(tmp_path: Path) -> None:
    marks = find_loops(PROGRAM)
    program = tmp_path / "program"
    program.write_bytes(marked_program(PROGRAM, marks))
    before, after = read_image(PROGRAM), read_image(program)
    assert (before.code_hash, before.functions) == (after.code_hash, after.functions)
    names = {name: address for address, name in after.objects.items()}
    for number, loop in enumerate(marks.loops):
        address = names[f"warploom_loop_{number}"]
        assert after.section(address) == ".warploom.marks"
        data = after.constant(address, 8)
        (length, _) = struct.unpack("<II", data)
        assert json.loads(after.constant(address + 8, length))["function"] == loop.function
    with pytest.raises(WarploomError, match="holds section .warploom.marks already"):
        marked_program(program, marks)


def test_marks_of_other_code_are_refused(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(marked_program(PROGRAM, find_loops(PROGRAM)))
    image = read_image(program)
    place = next(a for a, f in image.functions.items() if f.name == "copy_in")
    data = bytearray(program.read_bytes())
    data[place] ^= 1  # In these programs code stands in the file where it stands in memory.
    program.write_bytes(data)
    with pytest.raises(WarploomError, match="are of other code"):
        read_marked(program)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "this is no marks file"),
        ({"version": 2}, "marks version is 2; legal: 1"),
        ({"loops": [{}]}, "the marks are damaged: KeyError"),
        ({"loops": 5}, "the marks are damaged: TypeError"),
    ],
)
def test_damaged_marks_are_refused(change: dict[str, object], message: str) -> None:
    data = marks_as_data(find_loops(PROGRAM)) | change
    with pytest.raises(WarploomError, match=message):
        marks_from_data(data)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (stripped(), "is stripped: no section .symtab"),
        (changed(MACHINE, struct.pack("<H", 183)), "is an ELF file for EM_AARCH64; legal: EM_X86"),
        (changed(CLASS, b"\1"), "is an ELF file of 32 bits, little-endian; legal: 64, little"),
        (changed(CLASS + 1, b"\2"), "is an ELF file of 64 bits, big-endian; legal: 64, little"),
        (changed(16, struct.pack("<H", 1)), "is an ELF file of type ET_REL; legal: ET_EXEC"),
        (PROGRAM.read_bytes()[:3000], "is cut off: its section headers lie behind its end"),
        (PROGRAM.read_bytes()[:-1], "is cut off"),
        (section_behind_the_end(), "is cut off in section .interp"),
        (PROGRAM.read_bytes()[:10], "is cut off or damaged"),
        (PROGRAM.read_bytes().replace(b"cuda", b"xuda"), "makes no CUDA calls; legal: a program"),
        (b"#!/bin/sh\n", "FILE is no ELF file"),
        (b"", "FILE is no ELF file"),
    ],
)
def test_what_is_no_program_of_nvcc_is_one_line_and_writes_nothing(
    content: bytes, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "program"
    file.write_bytes(content)
    outputs = ["--json", tmp_path / "j", "--marks", tmp_path / "m", "--patched", tmp_path / "p"]
    result = run(file, *outputs)
    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: ") and message in last
    assert [*tmp_path.iterdir()] == [file]


def test_no_output_replaces_the_program() -> None:
    for option in ("--json", "--marks", "--patched"):
        assert run(PROGRAM, option, PROGRAM).exit_code == 2


def test_a_program_that_is_cut_anywhere_is_refused(tmp_path: Path, seed: int) -> None:
    data = PROGRAM.read_bytes()
    generator = random.Random(seed)
    file = tmp_path / "program"
    for length in generator.sample(range(len(data)), 100):
        file.write_bytes(data[:length])
        with pytest.raises(WarploomError):
            find_loops(file)


def test_a_damaged_program_is_refused_or_read_but_never_fails(tmp_path: Path, seed: int) -> None:
    data = PROGRAM.read_bytes()
    generator = random.Random(seed)
    file = tmp_path / "program"
    for _ in range(12):
        damaged = bytearray(data)
        for place in generator.sample(range(len(data)), 20):
            damaged[place] = generator.randrange(256)
        file.write_bytes(damaged)
        try:
            find_loops(file)
        except WarploomError as error:
            assert str(file) in str(error)


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> None:
        raise ModuleNotFoundError(name=module.partition(".")[0])

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    result = run(PROGRAM)
    assert result.exit_code == 2
    assert "elftools; run: pip install 'warploom[elf]'" in result.stderr
