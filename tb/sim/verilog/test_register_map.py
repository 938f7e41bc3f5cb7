"""The register map: literal addresses, and its header, SystemRDL and page beside the data."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.messages import MessagePrinter
from systemrdl.node import RegNode

from warploom_dev.commands.map import PAGE, page_text
from warploom_sim import cli
from warploom_sim.variant import variant
from warploom_sim.verilog.register_map import c_header, system_rdl
from warploom_spec import PRESETS, Config, ErrorCode, preset
from warploom_spec.host_errors import HostError
from warploom_spec.host_map import section_address, section_words
from warploom_spec.host_registers import (
    config_crc,
    config_text,
    register_addresses,
    registers,
)

CONFIGS = [
    *PRESETS,
    "tiny,policy=freed_first,sms=33",
    "tiny,sections=1,loop_sections=1,inline_args=0",
    "tiny,index_memory_warps=0,sm_kill=False",
    "tiny,loop_templates=0",
]
ROOT = Path(__file__).parents[3]
#: The driver's files in C, beside the generated header.
PARTS = ("", "_kept", "_loops", "_shapes", "_streams")
DRIVER = [*(f"warploom{part}.{end}" for part in PARTS for end in "hc"), "warploom_fields.h"]


def config_of(text):
    name, *settings = text.split(",")
    return variant(name, settings).config


# The map


def test_addresses_literal():
    found = register_addresses(replace(preset("large"), policy="freed_first"))
    listed = {
        "ID": 0x000,
        "VERSION": 0x004,
        "CONFIG_CRC": 0x008,
        "PARAMS0": 0x00C,
        "PARAMS2": 0x014,
        "CONTROL": 0x018,
        "STATE": 0x01C,
        "IRQ_ENABLE": 0x020,
        "IRQ_STATUS": 0x024,
        "IRQ_THRESHOLD": 0x028,
        "LAUNCH_TIMEOUT": 0x02C,
        "RECORDS": 0x030,
        "RECORD_POP": 0x034,
        "ROOM": 0x038,
        "IRQ_TIMEOUT": 0x03C,
        "RECORD0": 0x040,
        "RECORD7": 0x05C,
        "REFUSED": 0x060,
        "ERROR_LAST": 0x064,
        "ERROR_COUNT": 0x068,
        "PARAMS3": 0x06C,
        "CLEAR_STREAM": 0x070,
        "ORDER_SWAP": 0x074,
        "UNIT_RESET": 0x078,
        "UNIT_STATE": 0x07C,
        "SM_ENABLE0": 0x080,
        "SM_ENABLE4": 0x090,
        "SM_LOST0": 0x0C0,
        "SM_LOST4": 0x0D0,
        "STALL_ORDER": 0x100,
        "STALL_OFFER": 0x118,
        "CLOCK_LOW": 0x148,
        "CLOCK_HIGH": 0x14C,
        "STRAYS7": 0x19C,
    }
    assert listed.items() <= found.items()


@pytest.mark.parametrize("text", CONFIGS)
def test_registers_and_their_fields_do_not_overlap(text):
    config = config_of(text)
    words = registers(config)
    assert len({word.offset for word in words}) == len(words)
    assert all(0 <= word.offset < 0x1000 and word.offset % 4 == 0 for word in words)
    for word in (*words, *section_words(config)):
        assert word.fields and word.meaning
        assert word.access in ("ro", "rw", "wo", "w1c")
        mask = 0
        for field in word.fields:
            assert field.word == 0 and 0 <= field.low <= field.high < 32
            bits = ((1 << field.bits) - 1) << field.low
            assert not mask & bits
            mask |= bits


def test_what_a_configuration_lacks_has_no_register():
    tiny = register_addresses(preset("tiny"))
    assert "ORDER_SWAP" not in tiny and "STRAYS1" not in tiny and "SM_ENABLE1" not in tiny
    assert "ORDER_SWAP" in register_addresses(config_of("tiny,policy=freed_first"))


def test_the_crc_is_of_the_configuration_s_text():
    """The remainder of a division of polynomials, bit by bit."""
    config = preset("tiny")
    text = config_text(config)
    assert text.startswith("sms=2\nwarp_size=8\n") and "\ngrid_bits=(16, 8, 8)\n" in text
    assert text.count("\n") == len(vars(config))
    rest = 0xFFFFFFFF
    for byte in text.encode():
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0xEDB88320 if rest & 1 else 0)
    assert config_crc(config) == rest ^ 0xFFFFFFFF


def test_each_field_of_a_configuration_changes_the_crc():
    other = {
        "grid_bits": (31, 16, 15),
        "policy": "first_fit",
        "reclaim": "in_order",
        "step_from_host": True,
        "warp_size": 16,
        "queue_depth": 32,
        "kill_timeout": 1025,
        "register_cell": 2,
        "shared_cell": 2,
        "sm_kill": False,
        "loop_templates": 4,
        "sections": 9,
    }
    seen = {config_crc(Config())}
    for name, value in vars(Config()).items():
        seen.add(
            config_crc(replace(Config(), **{name: other[name] if name in other else value - 1}))
        )
    assert len(seen) == len(vars(Config())) + 1


# The C header

PROGRAM = """
#include "warploom_host.h"
#include <stdio.h>
int main(void)
{
%s    return 0;
}
"""
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def macros(text):
    """Return every macro of a header with the number that its text stands for."""
    found = re.findall(r"^#define (WARPLOOM_\w+) UINT32_C\((\w+)\)$", text, re.MULTILINE)
    assert len(found) == len(dict(found)) == text.count("#define") - 1
    return {name: int(value, 0) for name, value in found}


def expected_macros(config):
    found = {"CONFIG_CRC": config_crc(config), "ID": 0x57415250, "SMS": config.sms}
    for prefix, suffix, words in (
        ("", "ADDRESS", registers(config)),
        ("SECTION_", "OFFSET", section_words(config)),
    ):
        for word in words:
            found[f"{prefix}{word.name}_{suffix}"] = word.offset
            for field in word.fields:
                if field.bits < 32:
                    name = f"{prefix}{word.name}_{field.name.upper()}"
                    found[f"{name}_SHIFT"] = field.low
                    found[f"{name}_MASK"] = (2**field.bits - 1) * 2**field.low
    found |= {f"ERROR_{code.name}": int(code) for kind in (ErrorCode, HostError) for code in kind}
    return {f"WARPLOOM_{name}": value for name, value in found.items()}


@pytest.mark.parametrize("text", CONFIGS)
def test_the_header_has_the_map_number_by_number(text):
    config = config_of(text)
    found = macros(c_header(config, text))
    expected = expected_macros(config)
    assert {name: found.get(name) for name in expected} == expected
    assert found["WARPLOOM_LAUNCH_GZ_WORD"] == 7
    assert found["WARPLOOM_LAUNCH_GZ_MASK"] == 0xFFFF0000
    assert found["WARPLOOM_RECORD_FATE_SHIFT"] == 8


@pytest.mark.parametrize("text", CONFIGS)
def test_the_header_compiles_without_a_library_and_without_a_warning(text, tmp_path):
    (tmp_path / "warploom_host.h").write_text(c_header(config_of(text), text))
    source = tmp_path / "driver.c"
    source.write_text(
        '#include "warploom_host.h"\n#include "warploom_host.h"\n'
        "uint32_t doorbell(uint32_t k);\n"
        "uint32_t doorbell(uint32_t k)\n"
        "{ return warploom_section(k, WARPLOOM_SECTION_DOORBELL_OFFSET); }\n"
    )
    compiled = subprocess.run(
        ["cc", *STRICT, "-ffreestanding", "-c", source, "-o", tmp_path / "driver.o"],
        capture_output=True,
        text=True,
    )
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_c_program_sees_the_numbers_of_the_map(tmp_path):
    text = "default"
    header = c_header(config_of(text), text)
    (tmp_path / "warploom_host.h").write_text(header)
    names = list(macros(header))
    lines = "".join(f'    printf("%lu\\n", (unsigned long){name});\n' for name in names)
    offset = "WARPLOOM_SECTION_T31_OFFSET"
    lines += f'    printf("%lu\\n", (unsigned long)warploom_section(7, {offset}));\n'
    (tmp_path / "print.c").write_text(PROGRAM % lines)
    subprocess.run(["cc", *STRICT, "print.c", "-o", "print"], cwd=tmp_path, check=True)
    printed = subprocess.run(["./print"], cwd=tmp_path, check=True, capture_output=True, text=True)
    *numbers, address = [int(line) for line in printed.stdout.split()]
    assert dict(zip(names, numbers, strict=True)) == macros(header)
    assert address == section_address(7, "T31")


# SystemRDL


class Loud(MessagePrinter):
    """Makes a warning an error."""

    def print_message(self, severity, text, src_ref):
        raise AssertionError(f"{severity}: {text}")


def compiled_registers(path):
    """Return what SystemRDL's own compiler reads: address and fields of every register."""
    compiler = RDLCompiler(message_printer=Loud())
    compiler.compile_file(str(path))
    top = compiler.elaborate().top
    found = {}
    for node in top.descendants(unroll=True):
        if isinstance(node, RegNode):
            assert node.size == 4
            found[node.get_path().removeprefix("warploom.")] = (
                node.absolute_address,
                {
                    f.inst_name: (f.low, f.high, f.is_sw_readable, f.is_sw_writable)
                    for f in node.fields()
                },
            )
    return found


ACCESS = {"ro": (True, False), "rw": (True, True), "wo": (False, True), "w1c": (True, True)}


#: Fields of a register that a host writes, which no write changes.
LEVELS = {"IRQ_STATUS": "records"}


def expected_registers(config):
    words = {word.name: (word.offset, word) for word in registers(config)}
    for section in range(config.sections):
        for word in section_words(config):
            words[f"SECTION[{section}].{word.name}"] = section_address(section, word.name), word
    return {
        name: (
            address,
            {
                f.name: (
                    f.low,
                    f.high,
                    *ACCESS["ro" if f.name == LEVELS.get(name) else word.access],
                )
                for f in word.fields
            },
        )
        for name, (address, word) in words.items()
    }


@pytest.mark.parametrize("text", CONFIGS)
def test_systemrdl_is_compiled_and_equals_the_map_address_by_address(text, tmp_path):
    path = tmp_path / "warploom_host.rdl"
    path.write_text(system_rdl(config_of(text), text))
    assert compiled_registers(path) == expected_registers(config_of(text))


def test_a_moved_register_an_overlap_and_a_level_that_is_written_are_found(tmp_path):
    text = system_rdl(preset("tiny"), "tiny")
    path = tmp_path / "warploom_host.rdl"
    meaning = "RECORDS >= max(1, IRQ_THRESHOLD), or one for IRQ_TIMEOUT; a level"
    level = f'field {{ sw = r; hw = w; desc = "{meaning}"; }}'
    assert text.count(level) == 1
    path.write_text(text.replace(level, level.replace("sw = r;", "sw = rw;")))
    assert compiled_registers(path) != expected_registers(preset("tiny"))
    path.write_text(text.replace("} RECORDS @ 0x30;", "} RECORDS @ 0x154;"))
    assert compiled_registers(path) != expected_registers(preset("tiny"))
    path.write_text(text.replace("} RECORDS @ 0x30;", "} RECORDS @ 0x20;"))
    with pytest.raises((AssertionError, RDLCompileError)):
        compiled_registers(path)


# The page and the command


def test_the_page_has_the_map():
    page = ROOT / PAGE
    assert page_text(page, page.read_text()) == page.read_text()


def test_the_command_writes_both_files(tmp_path):
    arguments = ["map", "--config", "tiny", "--set", "sections=4", "--out", str(tmp_path)]
    figures = tmp_path / "figures.json"
    result = CliRunner().invoke(cli.main, [*arguments, "--json", str(figures)])
    assert result.exit_code == 0, result.output
    folder = tmp_path / "tiny-sections_4"
    assert {path.name for path in folder.iterdir()} == {"warploom_host.h", "warploom_host.rdl"}
    crc = config_crc(replace(preset("tiny"), sections=4))
    assert macros((folder / "warploom_host.h").read_text())["WARPLOOM_CONFIG_CRC"] == crc
    files = json.loads(figures.read_text())["files"]
    assert [file["config_crc"] for file in files] == [f"0x{crc:08X}"] * 2


def test_ip_xact_stands_beside_the_verilog(tmp_path):
    arguments = ["map", "--config", "tiny", "--out", str(tmp_path), "--ip-xact"]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    tree = ElementTree.parse(tmp_path / "tiny" / "warploom_host.xml").getroot()
    head = [part.text for part in list(tree)[:4]]
    assert head == ["warploom", "core", "front_end", metadata.version("warploom")]
    names = {part.text for part in tree.iter() if part.tag.endswith("}name")}
    assert register_addresses(preset("tiny")).keys() <= names


def test_without_peakrdl_ip_xact_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "peakrdl_ipxact", None)
    arguments = ["map", "--config", "tiny", "--out", str(tmp_path / "map"), "--ip-xact"]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: IP-XACT needs the Python package peakrdl_ipxact; run: ")
    assert result.stderr.count("\n") == 1 and not list(tmp_path.iterdir())


def test_the_driver_is_written_whole_for_one_configuration(tmp_path):
    folder = tmp_path / "firmware" / "c"
    arguments = ["map", "--config", "tiny", "--driver", str(folder)]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_text() for path in folder.iterdir()}
    driver = {name: (ROOT / "host" / "c" / name).read_text() for name in DRIVER}
    assert written == {**driver, "warploom_host.h": c_header(preset("tiny"), "tiny")}
    strict = ("-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror")
    sources = [name for name in DRIVER if name.endswith(".c")]
    subprocess.run(["gcc", *strict, "-c", *sources], cwd=folder, check=True)


def test_a_driver_without_a_preset_is_that_of_default(tmp_path):
    result = CliRunner().invoke(cli.main, ["map", "--driver", str(tmp_path)])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "warploom_host.h").read_text()
    assert macros(text)["WARPLOOM_CONFIG_CRC"] == config_crc(preset("default"))
    assert len(list(tmp_path.iterdir())) == len(DRIVER) + 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--out", "x"], "--driver and --out are given; legal: one of them."),
        (["--ip-xact"], "--driver and --ip-xact are given; legal: one of them."),
        (
            ["--config", "tiny", "--config", "default"],
            "--driver and --config more than once are given; legal: one of them.",
        ),
        (["--set", "sections=0"], "sections is 0; legal: 1 to 64"),
        (["--set", "sections=4"], "loop_sections is 8; legal: 1 to 4 (sections)"),
    ],
)
def test_a_driver_for_something_else_is_refused(more, said, tmp_path):
    arguments = ["map", "--driver", str(tmp_path / "c"), *more]
    result = CliRunner().invoke(cli.main, arguments)
    assert (result.exit_code, result.stderr) == (2, f"Error: {said}\n")
    assert not list(tmp_path.iterdir())


def test_a_driver_takes_no_file_s_and_no_folder_s_place(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    result = CliRunner().invoke(cli.main, ["map", "--driver", str(file)])
    assert result.exit_code == 2 and "is a file" in result.stderr
    assert file.read_text() == "mine"
    (tmp_path / "c" / "warploom.c").mkdir(parents=True)
    result = CliRunner().invoke(cli.main, ["map", "--driver", str(tmp_path / "c")])
    said = f"Error: {tmp_path}/c/warploom.c is a folder; legal: a file, or nothing\n"
    assert (result.exit_code, result.stderr) == (2, said)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["warploom.c"]


def test_a_driver_that_cannot_be_written_whole_leaves_the_old_one(tmp_path, monkeypatch):
    """The disk is full at the third file: nothing has changed, and nothing is left over."""
    for name in DRIVER:
        (tmp_path / name).write_text("old")
    opened = Path.open

    def full(path, *arguments, **options):
        if "warploom_host.h" in path.name:
            raise OSError("No space left on device")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    result = CliRunner().invoke(cli.main, ["map", "--driver", str(tmp_path)])
    assert (result.exit_code, result.stderr) == (3, "Error: No space left on device\n")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        DRIVER, "old"
    )


def test_a_refused_setting_writes_nothing(tmp_path):
    arguments = ["map", "--out", str(tmp_path / "map"), "--set", "sections=0"]
    result = CliRunner().invoke(cli.main, arguments)
    assert (result.exit_code, result.stderr) == (2, "Error: sections is 0; legal: 1 to 64\n")
    assert not (tmp_path / "map").exists()
