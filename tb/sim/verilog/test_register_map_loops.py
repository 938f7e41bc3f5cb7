"""What the files of the register map have with loops, literally, and lack without them."""

import re
from dataclasses import replace

import pytest
from systemrdl import RDLCompiler
from systemrdl.node import MemNode

from warploom_sim.verilog.register_map import c_header, ip_xact, map_table, system_rdl
from warploom_spec import Config, preset

LOOPING = preset("tiny")
#: Text of a file with loops, by what makes the file.
FOUND = {
    c_header: (
        "#define WARPLOOM_VERSION UINT32_C(0x00030001)",
        "#define WARPLOOM_LOOP_TEMPLATES UINT32_C(8)",
        "#define WARPLOOM_LOOP_SECTIONS UINT32_C(2)",
        "#define WARPLOOM_LOOP_STOP_ADDRESS UINT32_C(0x00000150)",
        "#define WARPLOOM_SECTION_RESULT3_OFFSET UINT32_C(0x0000001C)",
        "#define WARPLOOM_OPCODE_LOOP UINT32_C(4)",
        "#define WARPLOOM_LOOP_IN_FLIGHT_MASK UINT32_C(0x00FF0000)",
        "#define WARPLOOM_FLAG_RELATIVE UINT32_C(4)",
        "#define WARPLOOM_TEMPLATE_BASE UINT32_C(0x00008000)",
        "#define WARPLOOM_TEMPLATE_BYTES UINT32_C(0x00000100)",
        "#define WARPLOOM_TEMPLATE_STEPS UINT32_C(0x00000080)",
        "#define WARPLOOM_TEMPLATE_QUIET_MASK UINT32_C(0x10000000)",
        "#define WARPLOOM_TEMPLATE_CHANGES_WORD UINT32_C(11)",
        "#define WARPLOOM_TEMPLATE_ALTERNATES_SHIFT UINT32_C(16)",
    ),
    system_rdl: (
        "} LOOP_STOP @ 0x150;",
        "} RESULT2 @ 0x18;",
        "addrmap warploom_loop {",
        "addrmap warploom_template {",
        "} TEMPLATES @ 0x8000;",
    ),
    map_table: (
        "| 0x150 | LOOP_STOP | wo, acts | sections [1:0] | stops loops |",
        "| 0x01C | RESULT3 | ro |  | launches of a loop that were accepted |",
        "Words of `loop`:",
        "Words of `template`:",
        "| 11 | 10:0 | changes | bit f: field f changes |",
    ),
    ip_xact: (
        "<ipxact:name>LOOP_STOP</ipxact:name>",
        "<ipxact:name>RESULT2</ipxact:name>",
        "<ipxact:name>TEMPLATES</ipxact:name>",
        "<ipxact:usage>memory</ipxact:usage>",
    ),
}
#: Names that only a configuration with loops has. Codes and kinds are the same for all.
NAMES = re.compile(
    r"template(?!_busy)|result[23]\b|(?<!kind_)(?<!no_)loop(?!_stopped)|quiet|relative\b", re.I
)


def text_of(make, config: Config) -> str:
    """Return a file's text."""
    return make(config) if make is map_table else make(config, "bench")


@pytest.mark.parametrize("make", FOUND, ids=lambda make: make.__name__)
def test_with_loops_each_file_has_their_words(make):
    text = text_of(make, LOOPING)
    assert [found for found in FOUND[make] if found not in text] == []


def without_flags(text: str) -> str:
    """Return a text without its lines on flags: their meaning is one text for all."""
    return "\n".join(line for line in text.splitlines() if "primary takes no part" not in line)


@pytest.mark.parametrize("make", FOUND, ids=lambda make: make.__name__)
def test_without_loops_no_file_has_a_word_of_them(make):
    text = without_flags(text_of(make, replace(LOOPING, loop_templates=0)))
    assert NAMES.findall(text) == []
    assert NAMES.search(text_of(make, LOOPING))


def test_the_templates_are_one_memory_that_software_writes(tmp_path):
    path = tmp_path / "warploom_host.rdl"
    path.write_text(system_rdl(LOOPING, "bench"))
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    nodes = compiler.elaborate().top.descendants(unroll=True)
    (memory,) = (node for node in nodes if isinstance(node, MemNode))
    assert (memory.inst_name, memory.absolute_address) == ("TEMPLATES", 0x8000)
    # 8 slots of 64 words.
    assert [memory.get_property(name) for name in ("mementries", "memwidth")] == [512, 32]
    assert (memory.is_sw_readable, memory.is_sw_writable) == (False, True)
