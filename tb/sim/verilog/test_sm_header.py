"""The SM's port in C and as data, against the SystemVerilog package and the packets."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from warploom_sim.verilog.sm_header import sm_data, sm_header, sm_packets
from warploom_sim.verilog.sv_package import KEYWORDS, package
from warploom_spec import BlockStatus, Config, preset

CONFIGS = {name: preset(name) for name in ("tiny", "default", "large")}
CONFIGS["own indices"] = replace(preset("tiny"), index_memory_warps=0)
every_config = pytest.mark.parametrize("name", CONFIGS)

Places = dict[str, tuple[int, int]]


def in_package(text: str, struct: str) -> Places:
    """Return lowest bit and width of a struct's members; its last one stands lowest."""
    (body,) = re.findall(rf"struct packed \{{([^}}]*)\}} {struct}_t;", text)
    named = re.findall(r"enum logic \[(\d+):0\] \{[^}]*\} (\w+);", text)
    enums = {name: high for high, name in named}
    low, found = 0, {}
    for kind, high, name in reversed(re.findall(r"^    (\w+)(?: \[(\d+):0\])? (\w+);", body, re.M)):
        bits = int(high or enums[kind]) + 1
        found[name.removesuffix("_") if name[:-1] in KEYWORDS else name] = low, bits
        low += bits
    return found


def in_header(text: str, packet: str) -> Places:
    """Return lowest bit and width of a packet's fields."""
    owner = f"#define WARPLOOM_{packet.upper()}_"
    lows = dict(re.findall(rf"^{owner}(\w+)_LOW (\d+) /\* \S.* \*/$", text, re.MULTILINE))
    bits = dict(re.findall(rf"^{owner}(\w+)_BITS (\d+)$", text, re.MULTILINE))
    assert lows.keys() == bits.keys()
    return {name.lower(): (int(low), int(bits[name])) for name, low in lows.items()}


@every_config
def test_header_and_data_have_the_bits_of_the_package(name: str) -> None:
    config = CONFIGS[name]
    text, sv = sm_header(config, name), package(config, name)
    data = json.loads(json.dumps(sm_data(config, name)))
    ports = {"block", "words", "report"} | ({"read", "data"} if config.makes_indices else set())
    assert data["ports"].keys() == ports
    for port in data["ports"].values():
        places = {f["name"]: (f["low"], f["bits"]) for f in port["fields"]}
        assert places == in_header(text, port["packet"]) == in_package(sv, port["packet"])
        assert port["bits"] == max(low + bits for low, bits in places.values())
        assert f"#define WARPLOOM_{port['packet'].upper()}_BITS {port['bits']}\n" in text
    for status in BlockStatus:
        assert f"#define WARPLOOM_STATUS_{status.name} {status.value}\n" in text
    assert data["statuses"] == {status.name: status.value for status in BlockStatus}
    assert (data["sms"], data["block_slots"]) == (config.sms, config.block_slots)


def program(config: Config) -> str:
    """Return a program that puts all ones into each field alone, and gets them back."""
    lines = ['#include "warploom_sm.h"', "#include <stdio.h>", "int main(void)", "{"]
    for packet in sm_packets(config).values():
        words = -(-packet.bits // 32)
        for field in packet.present:
            owner = f"WARPLOOM_{packet.name.upper()}_{field.name.upper()}"
            bits = min(field.bits, 64)
            place = f"words, {owner}_LOW, {bits}"
            lines += [
                "    {",
                f"        uint32_t words[{words}] = {{0}};",
                f"        warploom_sm_put({place}, 0x{(1 << bits) - 1:x}ull);",
                f'        printf("{packet.name}.{field.name} ");',
                f'        for (int k = {words}; k--;) printf("%08x", (unsigned)words[k]);',
                f'        printf(" %llx\\n", (unsigned long long)warploom_sm_get({place}));',
                "    }",
            ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def test_a_program_in_c_finds_each_field(tmp_path: Path) -> None:
    config = preset("tiny")
    (tmp_path / "warploom_sm.h").write_text(sm_header(config, "tiny"))
    (tmp_path / "fields.c").write_text(program(config))
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", "fields")
    subprocess.run(["gcc", *flags, "fields.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "fields"], capture_output=True, text=True, check=True)
    found = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    packets = sm_packets(config).values()
    assert len(found) == sum(len(packet.present) for packet in packets)
    for packet in packets:
        for field in packet.present:
            ones = (1 << min(field.bits, 64)) - 1
            word, value = (int(text, 16) for text in found[f"{packet.name}.{field.name}"])
            assert packet.unpack(word) == {f.name: ones * (f is field) for f in packet.fields}
            assert value == ones
