"""The SystemVerilog package against the specification: each field's bits, each code's number."""

import dataclasses
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb.sim.verilog.test_portable_verilog import run
from warploom_sim.cosim import simulators
from warploom_sim.verilog.header import packets
from warploom_sim.verilog.sv_package import KEYWORDS, package
from warploom_spec import BlockStatus, Config, Fate, preset
from warploom_spec.codes import CODES
from warploom_spec.host_commands import Opcode, command_layouts, known_commands, template_words
from warploom_spec.host_map import section_words
from warploom_spec.host_registers import config_crc, registers
from warploom_spec.queue import FinalFate, Mode, RecordKind
from warploom_spec.queue_packets import final_record_words
from warploom_spec.word_layout import WORD_BITS

CONFIGS = {name: preset(name) for name in ("tiny", "default", "large")}
ENUMS = {
    "FATE": Fate,
    "FINAL_FATE": FinalFate,
    "STATUS": BlockStatus,
    "KIND": RecordKind,
    "MODE": Mode,
    "OPCODE": Opcode,
}


def expected(config: Config) -> Iterator[tuple[str, int, list[tuple[str, int, int]]]]:
    """Give each struct's name, its bits, and its fields: name, lowest bit, bits."""
    for packet in packets(config):
        rows = [(f.name, packet.offsets[f.name], f.bits) for f in packet.present]
        yield packet.name, packet.bits, rows
    layouts = [(f"{layout.name}_command", layout) for layout in command_layouts(config)]
    layouts += [("template", template_words(config))] if config.has_loops else []
    for name, layout in [*layouts, ("record", final_record_words(config))]:
        rows = [(f.name, WORD_BITS * f.word + f.low, f.bits) for f in layout.fields]
        yield name, WORD_BITS * layout.words, rows


def bench(config: Config) -> str:
    """Return a module that compares every field with the specification, and says what differs.

    A field is at its place if it reads all ones where its own bits are 1 and no others, and 0 where
    all others are 1.
    """
    lines = ["module bench;", "  import warploom_pkg::*;"]
    body = []
    for name, width, rows in expected(config):
        lines.append(f"  {name}_t {name};")
        body.append(f'if ($bits({name}_t) != {width}) $display("{name}: %0d bits", $bits({name}));')
        whole = (1 << width) - 1
        for field, low, bits in rows:
            mask = ((1 << bits) - 1) << low
            said = f"{name}.{field}_" if field in KEYWORDS else f"{name}.{field}"
            for word, value in ((mask, (1 << bits) - 1), (whole ^ mask, 0)):
                body.append(f"{name} = {width}'h{word:x};")
                body.append(f'if ({said} !== {bits}\'h{value:x}) $display("{name}.{field}");')
    for number, code in CODES.items():
        body.append(f'if (CODE_{code.name} !== 8\'d{number}) $display("{code.name}");')
    for prefix, kind in ENUMS.items():
        for member in known_commands(config) if kind is Opcode else kind:
            constant = f"{prefix}_{member.name}"
            body.append(f'if ({constant} !== {member.value}) $display("{constant}");')
    for constant, value in numbers(config).items():
        body.append(f'if ({constant} !== {value}) $display("{constant}");')
    lines += ["  initial begin", *(f"    {line}" for line in body)]
    return "\n".join([*lines, '    $display("compared");', "  end", "endmodule", ""])


def numbers(config: Config) -> dict[str, int]:
    """Return what the package's numbers must be."""
    found: dict[str, int] = {"CONFIG_CRC_VALUE": config_crc(config), "IDENTITY": 0x57415250}
    for field in dataclasses.fields(Config):
        value = getattr(config, field.name)
        if isinstance(value, tuple):
            names = (f"{field.name.upper()}_{axis}" for axis in "XYZ")
            found |= dict(zip(names, value, strict=True))
        elif not isinstance(value, str):
            found[field.name.upper()] = int(value)
    found |= {"SLOT_BITS": config.slot_bits, "MAX_WARPS": config.max_warps}
    found |= {f"ADDRESS_{word.name}": word.offset for word in registers(config)}
    found |= {f"SECTION_{word.name}": word.offset for word in section_words(config)}
    found |= {"SECTION_BASE": 0x1000, "SECTION_BYTES": 0x200}
    return {name: f"32'd{value}" for name, value in found.items()}


def on_icarus(text: str, config: Config, folder: Path) -> list[str]:
    """Return what the comparison prints of a package."""
    (folder / "warploom_pkg.sv").write_text(text)
    (folder / "bench.sv").write_text(bench(config))
    files = [str(folder / name) for name in ("warploom_pkg.sv", "bench.sv")]
    run("iverilog", "-g2012", "-s", "bench", "-o", str(folder / "bench.vvp"), *files)
    return run("vvp", "-n", str(folder / "bench.vvp")).splitlines()


@pytest.mark.parametrize("name", CONFIGS)
def test_every_field_and_number_is_the_specifications_on_icarus(name: str, tmp_path: Path) -> None:
    config = CONFIGS[name]
    text = package(config, name)
    assert ("OPCODE_LOOP" in text) == ("SECTION_RESULT3" in text) == config.has_loops
    assert f"Configuration {name};" in text
    assert max(map(len, text.splitlines())) <= 100
    assert on_icarus(text, config, tmp_path) == ["compared"]
    assert sum(len(rows) for _, _, rows in expected(config)) > 250


@pytest.mark.deep
def test_every_field_and_number_is_the_specifications_on_verilator(tmp_path: Path) -> None:
    config = preset("default")
    (tmp_path / "warploom_pkg.sv").write_text(package(config, "default"))
    (tmp_path / "bench.sv").write_text(bench(config))
    files = [str(tmp_path / name) for name in ("warploom_pkg.sv", "bench.sv")]
    flags = ("--binary", "-Wno-fatal", "-CFLAGS", "-O0", "--quiet", "--top-module", "bench")
    made = ("--Mdir", str(tmp_path / "made"), "-o", "bench")
    run("verilator", *flags, *made, *files, env=simulators.environment("verilator"))
    done = subprocess.run([tmp_path / "made" / "bench"], capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "compared"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("logic [1:0] slot;", "logic [2:0] slot;", "resident_block.slot"),
        ("CODE_GRID_ZERO = 8'd1", "CODE_GRID_ZERO = 8'd101", "GRID_ZERO"),
        ("SMS = 2;", "SMS = 3;", "SMS"),
        ("SECTION_DOORBELL = 16'h0000", "SECTION_DOORBELL = 16'h0200", "SECTION_DOORBELL"),
    ],
)
def test_what_differs_is_named(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    config = preset("tiny")
    text = package(config, "tiny")
    assert right in text
    assert said in on_icarus(text.replace(right, wrong), config, tmp_path)


def test_members_that_hold_a_code_have_its_type() -> None:
    text = package(preset("tiny"), "tiny")
    found = re.findall(r"struct packed \{([^}]*)\} (\w+)_t;", text)
    bodies = {name: body for body, name in found}
    assert "block_status_e status;" in bodies["block_report"]
    assert {"fate_e fate;", "code_e code;"} <= set(re.findall(r"\w+ \w+;", bodies["resident_end"]))
    for record in ("final_record", "record"):
        assert "final_fate_e fate;" in bodies[record] and "record_kind_e kind;" in bodies[record]
    assert "mode_e mode;" in bodies["launch_command"]
    assert "opcode_e opcode;" in bodies["launch_command"]
    # A pointer that is named `code` is a number.
    assert "logic [63:0] code;" in bodies["launch_words"]
