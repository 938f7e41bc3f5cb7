"""FrontEnd's wrapper: every bit of the core at its place, lint, a generate loop of SMs."""

import re
import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import Shape

from tb.sim.verilog.test_portable_verilog import complaints, run
from warploom_dev.yosys import run_yosys
from warploom_sim.cosim import simulators
from warploom_sim.variant import variant
from warploom_sim.verilog.blocks import block
from warploom_sim.verilog.header import ports
from warploom_sim.verilog.packed_wrapper import pins, wrapper
from warploom_spec import preset

# One worker, so that the core is generated once.
pytestmark = pytest.mark.xdist_group("packed_wrapper")
BENCH = Path(__file__).parents[2] / "verilog" / "front_end_generate.sv"
FILES = ("warploom_pkg.sv", "front_end.v", "front_end_packed.v")
TOP = "warploom_front_end_packed"
BLOCKS = ((0, 0), (1, 1), (2, 0), (3, 1), (4, 0))
TAKEN = [f"SM {sm}: block {block} of ticket 1, 2 warps" for block, sm in BLOCKS]
#: The host's read of ERROR comes back before an SM has its first block.
SAID = ["error 0", *TAKEN, "ticket 1 ended, fate 0"]


def text_of(settings: list[str]) -> str:
    """Return the wrapper of `tiny` with fields set."""
    made = variant("tiny", settings)
    component = block("front_end")(made.config)
    component._MustUse__silence = True
    return wrapper(component, made.config, "warploom_front_end", made.name)


@pytest.mark.parametrize("settings", [[], ["sms=1"], ["sms=5", "sections=4", "units=3"]])
def test_every_bit_of_the_core_is_one_bit_of_the_wrapper(settings: list[str]) -> None:
    """Beside each other, the lowest number lowest; of the bus the bits are apart."""
    made = variant("tiny", settings)
    component = block("front_end")(made.config)
    component._MustUse__silence = True
    text = text_of(settings)
    declared = {
        name: (flow, int(high or 0) + 1)
        for flow, high, name in re.findall(
            r"^  (input|output)(?: \[(\d+):0\])? (\w+)", text, re.MULTILINE
        )
    }
    assert declared.pop("clk") == declared.pop("rst") == ("input", 1)
    got: dict[str, list[int]] = {}
    for port, flow, shape in ports(component):
        (value,) = re.findall(rf"^    \.{port}\((.*)\),?$", text, re.MULTILINE)
        bits = 0
        for part in reversed(value.strip("{}").split(", ")):
            name, low, many = re.fullmatch(r"(\w+)(?:\[(\d+) \+: (\d+)\])?", part).groups()
            assert declared[name][0] == f"{flow}put"
            taken = range(int(low or 0), int(low or 0) + int(many or declared[name][1]))
            got.setdefault(name, []).extend(taken)
            bits += len(taken)
        assert bits == Shape.cast(shape).width, port
    # Each pin's bits are connected once, in the order of the core's ports.
    assert got == {name: list(range(width)) for name, (_, width) in declared.items()}
    assert text.count("\n  warploom_front_end core (") == 1


def test_vectors_of_sms_stay_vectors_where_there_is_one() -> None:
    text = text_of(["sms=1"])
    for name in ("offer", "report_valid", "report_ready", "read_valid", "data_valid"):
        assert f"put [0:0] {name}" in text
    assert "output irq" in text


@pytest.mark.thorough
def test_the_bus_has_axis_names(delivered: Path) -> None:
    text = (delivered / "front_end_packed.v").read_text()
    found = set(re.findall(r"s_axil_(\w+)[,;]", text))
    handshakes = {f"{c}{p}" for c in ("aw", "w", "b", "ar", "r") for p in ("valid", "ready")}
    payloads = {"awaddr", "awprot", "wdata", "wstrb", "bresp", "araddr", "arprot", "rdata", "rresp"}
    assert found == handshakes | payloads


def test_a_packet_says_whose_it_is() -> None:
    component = block("front_end")(preset("tiny"))
    component._MustUse__silence = True
    named = {pin.name: pin.packet for pin in pins(component, preset("tiny")) if pin.packet}
    assert named == {
        "cores_start": "core_start",
        "cores_result": "core_result",
        "words": "launch_words",
        "block": "resident_block",
        "report": "block_report",
        "read": "index_read",
        "data": "index_data",
    }


@pytest.mark.thorough
def test_verilator_passes_all_files_under_all_rules(delivered: Path) -> None:
    files = [delivered / name for name in FILES]
    assert not complaints(*files, delivered / "front_end_bench.v", flags=("-Wall", "--timing"))
    # The rules are on: a width that differs is found.
    text = (delivered / FILES[-1]).read_text()
    (delivered / "wrong.v").write_text(text.replace("[7:0] kill", "[8:0] kill"))
    assert complaints(*files[:-1], delivered / "wrong.v", flags=("-Wall",))


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", ["2005", "2012"])
def test_icarus_passes_the_wrapper(dialect: str, delivered: Path) -> None:
    files = [str(delivered / name) for name in FILES if dialect == "2012" or name.endswith(".v")]
    assert not run("iverilog", f"-g{dialect}", "-Wall", "-t", "null", "-s", TOP, *files)


@pytest.mark.thorough
def test_yosys_checks_wrapper_and_core_and_reads_the_package(delivered: Path) -> None:
    script = (
        "read_verilog -sv warploom_pkg.sv\nread_verilog front_end.v front_end_packed.v\n"
        f"hierarchy -check -top {TOP}\nproc\ncheck -assert\n"
    )
    run_yosys("check", script, delivered)


def simulate(delivered: Path, bench: Path, folder: Path) -> list[str]:
    """Return what a bench prints on Icarus."""
    made = str(folder / "bench.vvp")
    files = [str(delivered / name) for name in FILES]
    run("iverilog", "-g2012", "-s", "bench", "-o", made, *files, str(bench))
    return run("vvp", "-n", made).splitlines()


@pytest.mark.thorough
def test_a_generate_loop_of_sms_gets_blocks_on_icarus(delivered: Path, tmp_path: Path) -> None:
    assert simulate(delivered, BENCH, tmp_path) == SAID


@pytest.mark.thorough
@pytest.mark.parametrize(
    "wires",
    [
        {"{s_axil_awprot, s_axil_awaddr}": "{s_axil_awaddr, s_axil_awprot}"},
        # Both at once: Icarus refuses two outputs on one wire.
        {
            f".report__{n}__ready(report_ready[{n} +: 1])": (
                f".report__{n}__ready(report_ready[{1 - n} +: 1])"
            )
            for n in (0, 1)
        },
        {"{s_axil_wstrb, s_axil_wdata}": "{s_axil_wdata, s_axil_wstrb}"},
    ],
    ids=["address", "report_ready", "data"],
)
def test_a_wrapper_with_a_wrong_wire_is_found(
    wires: dict[str, str], delivered: Path, tmp_path: Path
) -> None:
    for name in FILES:
        (tmp_path / name).write_text((delivered / name).read_text())
    text = (delivered / FILES[-1]).read_text()
    for right, wrong in wires.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    (tmp_path / FILES[-1]).write_text(text)
    assert simulate(tmp_path, BENCH, tmp_path) != SAID


@pytest.mark.deep
def test_a_generate_loop_of_sms_gets_blocks_on_verilator(delivered: Path, tmp_path: Path) -> None:
    flags = ("--binary", "--timing", "-Wno-fatal", "-CFLAGS", "-std=c++20 -O0", "--quiet")
    top = ("--top-module", "bench", "--Mdir", str(tmp_path), "-o", "bench")
    files = [str(delivered / name) for name in FILES]
    run("verilator", *flags, *top, *files, str(BENCH), env=simulators.environment("verilator"))
    done = subprocess.run([tmp_path / "bench"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[: len(SAID)] == SAID
