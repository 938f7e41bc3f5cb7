"""PeakRDL's generators take the exported SystemRDL, and what they make has the map's numbers."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from warploom_sim.verilog.register_map import c_header, system_rdl
from warploom_spec import preset
from warploom_spec.host_commands import command_layouts, template_words
from warploom_spec.host_map import section_words
from warploom_spec.host_registers import register_addresses

CONFIG = preset("tiny")
FULL = "0xffffffff"
ADDRESSES = register_addresses(CONFIG)
#: Some fields of each command as the page has them, by PeakRDL's name of their mask.
LITERAL = {
    "run": {"WARPLOOM_RUN__T2__LARGER_bm": "0xff00", "WARPLOOM_RUN__T7__ARGUMENTS_HIGH_bm": FULL},
    "launch": {
        "WARPLOOM_LAUNCH__T5__STREAM_bm": "0xff0000",
        "WARPLOOM_LAUNCH__T8__DY_bm": "0x3ff800",
        "WARPLOOM_LAUNCH__T10__BARRIERS_bm": "0x3f000000",
        "WARPLOOM_LAUNCH__T10__MODE_bm": "0xe00000",
        "WARPLOOM_LAUNCH__T31__WAIT3_COUNT_bm": "0xffff0000",
    },
    "loop": {"WARPLOOM_LOOP__T2__IN_FLIGHT_bm": "0xff0000"},
    "template": {
        "WARPLOOM_TEMPLATE__T5__QUIET_bm": "0x10000000",
        "WARPLOOM_TEMPLATE__T11__CHANGES_bm": "0x7ff",
        "WARPLOOM_TEMPLATE__T11__ALTERNATES_bm": "0x7ff0000",
    },
    "mask": {"WARPLOOM_MASK__T0__OPCODE_bm": "0xff", "WARPLOOM_MASK__T1__MASK_bm": FULL},
    "abort": {"WARPLOOM_ABORT__T0__OPCODE_bm": "0xff", "WARPLOOM_ABORT__T1__TICKET_bm": FULL},
}


@pytest.fixture(scope="module")
def rdl(tmp_path_factory):
    path = tmp_path_factory.mktemp("rdl") / "warploom_host.rdl"
    path.write_text(system_rdl(CONFIG, "tiny"))
    return path


def made(rdl, out, *arguments):
    """Run one generator, which says nothing if nothing is wrong; return what it wrote."""
    command = [str(Path(sys.executable).parent / "peakrdl"), arguments[0], str(rdl)]
    done = subprocess.run(
        [*command, *arguments[1:], "-o", str(out)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return out


def test_html_has_every_register(rdl, tmp_path):
    folder = made(rdl, tmp_path / "html", "html")
    text = "".join(path.read_text() for path in (folder / "data").glob("*.js*"))
    assert (folder / "index.html").exists()
    assert [name for name in ADDRESSES if f'"{name}"' not in text] == []


def test_the_c_structure_has_the_map_s_addresses(rdl, tmp_path):
    """Compiled beside our own header: each member stands at the address of its macro."""
    made(rdl, tmp_path / "peakrdl.h", "c-header")
    (tmp_path / "warploom_host.h").write_text(c_header(CONFIG, "tiny"))
    pairs = [(name, f"WARPLOOM_{name}_ADDRESS") for name in ADDRESSES]
    pairs += [
        (f"SECTION[1].{word.name}", f"warploom_section(1, WARPLOOM_SECTION_{word.name}_OFFSET)")
        for word in section_words(CONFIG)
    ]
    checks = "".join(
        f"    if (offsetof(warploom_t, {member}) != {address}) return {number};\n"
        for number, (member, address) in enumerate(pairs, 1)
    )
    (tmp_path / "check.c").write_text(
        '#include <stddef.h>\n#include "peakrdl.h"\n#include "warploom_host.h"\n'
        f"int main(void)\n{{\n{checks}    return 0;\n}}\n"
    )
    subprocess.run(["cc", "-std=gnu11", "check.c", "-o", "check"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "check"]).returncode == 0


@pytest.mark.parametrize(
    "layout", [*command_layouts(CONFIG), template_words(CONFIG)], ids=lambda one: one.name
)
def test_a_command_s_words_are_an_addrmap_of_their_own(rdl, tmp_path, layout):
    top = f"warploom_{layout.name}"
    text = made(rdl, tmp_path / "peakrdl.h", "c-header", "--top", top).read_text()
    found = dict(re.findall(r"^#define (\w+_bm) (\w+)$", text, re.MULTILINE))
    expected = {
        f"{top.upper()}__T{number}__{field.name.upper()}_bm": (1 << field.bits) - 1 << field.low
        for number in range(layout.words)
        for field in layout.in_word(number)
    }
    assert {name: int(mask, 16) for name, mask in found.items()} == expected
    assert LITERAL[layout.name].items() <= found.items()


def test_the_map_has_the_words_of_a_record(rdl, tmp_path):
    text = made(rdl, tmp_path / "peakrdl.h", "c-header").read_text()
    found = dict(re.findall(r"^#define WARPLOOM__(RECORD\d__\w+)_bm (\w+)$", text, re.MULTILINE))
    assert found == {
        "RECORD0__TICKET": "0xffffffff",
        "RECORD1__CODE": "0xff",
        "RECORD1__FATE": "0x700",
        "RECORD1__KIND": "0x3800",
        "RECORD1__KILLS": "0x1c000",
        "RECORD1__RESET_AS_DRAIN": "0x20000",
        "RECORD1__STREAM": "0xfc0000",
        "RECORD1__OFFERED": "0x1000000",
        "RECORD2__WORD2": "0xffffffff",
        "RECORD3__WORD3": "0xffffffff",
        "RECORD4__WORD4": "0xffffffff",
        "RECORD5__ACCEPTED": "0xffffffff",
        "RECORD6__FIRST_OFFER": "0xffffffff",
        "RECORD7__MADE": "0xffffffff",
    }


def test_ip_xact_has_every_address_and_a_level_is_read_only(tmp_path):
    # Its memories stand in blocks of their own.
    (tmp_path / "blocks.rdl").write_text(system_rdl(CONFIG, "tiny", blocks=True))
    tree = ElementTree.parse(made(tmp_path / "blocks.rdl", tmp_path / "map.xml", "ip-xact"))
    space = re.match(r"\{.*\}", tree.getroot().tag)
    assert space

    def texts(node, name):
        return [part.text for part in node.iter(f"{space[0]}{name}")]

    listed = {}
    fields = {}
    for register in tree.iter(f"{space[0]}register"):
        listed[texts(register, "name")[0]] = int(texts(register, "addressOffset")[0][2:], 16)
        for field in register.iter(f"{space[0]}field"):
            name = texts(register, "name")[0], texts(field, "name")[0]
            fields[name] = texts(field, "access")[0], texts(field, "modifiedWriteValue")
    assert ADDRESSES.items() <= listed.items()
    assert fields["IRQ_STATUS", "records"] == ("read-only", [])
    assert fields["IRQ_STATUS", "error"] == ("read-write", ["oneToClear"])
    places = {
        texts(block, "name")[0]: [texts(block, name)[0] for name in ("baseAddress", "range")]
        for block in tree.iter(f"{space[0]}addressBlock")
    }
    assert places["REGISTERS"][0] == "'h0" and places["TEMPLATES"] == ["'h8000", "'h800"]


def test_a_register_block_lets_no_write_clear_the_level(rdl, tmp_path):
    folder = made(rdl, tmp_path / "block", "regblock", "--cpuif", "axi4-lite-flat")
    text = (folder / "warploom.sv").read_text()
    # Where the block keeps a field, a write's data may change it.
    kept = set(re.findall(r"field_storage\.IRQ_STATUS\.(\w+)\.value <=", text))
    assert kept == {"error", "sm_lost", "reset_done", "command_done", "reset_forced"}


def test_uvm_has_the_access_of_each_field(rdl, tmp_path):
    text = made(rdl, tmp_path / "map.sv", "uvm").read_text()
    body = re.search(r"class warploom__IRQ_STATUS .*?endclass", text, re.DOTALL)
    assert body
    access = dict(re.findall(r"this\.(\w+)\.configure\(this, 1, \d, \"(\w+)\"", body[0]))
    events = ("error", "sm_lost", "reset_done", "command_done", "reset_forced")
    assert access == {"records": "RO"} | dict.fromkeys(events, "W1C")
