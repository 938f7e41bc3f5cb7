"""FuseSoC and Bender read what stands beside FrontEnd, and its bench finds a wrong core."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from warploom_sim.cosim import simulators
from warploom_sim.verilog.generate import generate

# One worker, with the tests of the wrapper: the core is generated once.
pytestmark = pytest.mark.xdist_group("packed_wrapper")
CORE = "warploom:core:front_end"
RTL = ["front_end.v", "front_end_packed.v"]
PACKAGE = "warploom_pkg.sv"
#: The SM's port for C, beside the package.
SM_PORT = ("warploom_sm.h", "warploom_sm.json")
BENCH = "front_end_bench.v"
#: Keys of a manifest and of a group of files, from Bender's book (manifest, sources), 0.32.
BENDER_KEYS = {
    "package",
    "remotes",
    "dependencies",
    "dev_dependencies",
    "sources",
    "export_include_dirs",
    "frozen",
    "workspace",
    "plugins",
    "vendor_package",
}
GROUP_KEYS = {"files", "target", "include_dirs", "defines"}
#: The locked Yosys has no Tcl: it runs the commands that stand in FuseSoC's two scripts.
YOSYS = """#!{python}
import re
from pathlib import Path
from pyosys import libyosys

procs = Path("edalize_yosys_procs.tcl").read_text()
script = Path("edalize_yosys_template.tcl").read_text()
values = dict(re.findall(r"^set (top|name) (\\S+)$", procs + script, re.MULTILINE))
design = libyosys.Design()
for text in (procs, script):
    for command in re.findall(r"^(?:read_verilog|synth_|write_).*$", text, re.MULTILINE):
        for name, value in values.items():
            command = command.replace(f"${{name}}", value)
        libyosys.run_pass(re.sub(r"[{{}}]", "", command), design)
"""


def deep(*values: str) -> object:
    return pytest.param(*values, marks=pytest.mark.deep)


def fusesoc(folder: Path, target: str, work: Path) -> subprocess.CompletedProcess[str]:
    """Run a target of a core in a folder."""
    command = [Path(sys.executable).with_name("fusesoc"), "--cores-root", folder, "run"]
    surroundings = {**os.environ, **simulators.environment("verilator"), "HOME": str(work)}
    surroundings["PATH"] = f"{work}{os.pathsep}{surroundings['PATH']}"
    return subprocess.run(
        [*command, f"--target={target}", CORE],
        cwd=work,
        env=surroundings,
        capture_output=True,
        text=True,
    )


def copy(delivered: Path, folder: Path, **changed: tuple[str, str]) -> Path:
    """Copy the delivered files, with a text in some of them replaced."""
    folder.mkdir()
    for path in delivered.iterdir():
        text = path.read_text()
        if path.stem in changed:
            right, wrong = changed[path.stem]
            assert right in text
            text = text.replace(right, wrong)
        (folder / path.name).write_text(text)
    return folder


@pytest.mark.thorough
def test_fusesoc_runs_a_launch_to_its_record(delivered: Path, tmp_path: Path) -> None:
    done = fusesoc(delivered, "sim", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr
    said = [line.partition(": ")[2] for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert said[0] == "rang the doorbell" and said[-1] == "record of ticket 1"
    assert sorted(said[1:-1]) == [
        *["SM 0 reports a block"] * 2,
        "SM 1 reports a block",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        # SMs that never report; a grid of 0 blocks; another identity; a block too few.
        ("report_valid[n] = valid", "report_valid[n] = 0", "wrong: no record"),
        deep("32'h00000003", "32'h00000000", "wrong: ERROR, 00000001"),
        deep("32'h57415250", "32'h57415251", "wrong: ID, 57415250"),
        deep("BLOCKS = 3", "BLOCKS = 4", "wrong: blocks, 00000003"),
    ],
)
def test_a_wrong_core_ends_with_an_exit_code(
    right: str, wrong: str, said: str, delivered: Path, tmp_path: Path
) -> None:
    bench = (delivered / BENCH).read_text()
    assert right in bench
    (tmp_path / BENCH).write_text(bench.replace(right, wrong))
    files = [tmp_path / BENCH, *(delivered / name for name in RTL)]
    made = tmp_path / "bench.vvp"
    top = "warploom_front_end_bench"
    subprocess.run(["iverilog", "-g2005", "-s", top, "-o", made, *files], check=True)
    done = subprocess.run(["vvp", "-n", made], capture_output=True, text=True)
    assert done.returncode == 1 and said in done.stdout, done.stdout
    assert "record of ticket" not in done.stdout


@pytest.mark.deep
@pytest.mark.parametrize(
    "settings",
    [
        ["sms=5", "sections=4", "units=3", "block_slots=1"],
        ["index_memory_warps=0", "sm_kill=False"],
        ["warp_size=64", "policy=freed_first"],
    ],
)
def test_every_configuration_has_a_bench_that_runs(settings: list[str], tmp_path: Path) -> None:
    generate(["front_end"], ["tiny"], tmp_path, settings=settings)
    (folder,) = tmp_path.iterdir()
    done = fusesoc(folder, "sim", tmp_path)
    assert done.returncode == 0 and "record of ticket 1" in done.stdout, done.stdout + done.stderr


@pytest.mark.deep
def test_fusesoc_lints_the_core(delivered: Path, tmp_path: Path) -> None:
    done = fusesoc(delivered, "lint", tmp_path)
    assert done.returncode == 0 and "%Warning" not in done.stderr, done.stdout + done.stderr
    wrong = copy(delivered, tmp_path / "wrong", front_end_packed=("[1:0] kill", "[2:0] kill"))
    done = fusesoc(wrong, "lint", tmp_path)
    assert done.returncode and "%Warning-WIDTH" in done.stdout + done.stderr


@pytest.mark.deep
def test_fusesoc_makes_a_netlist(delivered: Path, tmp_path: Path) -> None:
    program = tmp_path / "yosys"
    program.write_text(YOSYS.format(python=sys.executable))
    program.chmod(0o755)
    done = fusesoc(delivered, "synth", tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (netlist,) = tmp_path.rglob("synth/*.json")
    modules = json.loads(netlist.read_text())["modules"]
    cells = Counter(cell["type"] for cell in modules["warploom_front_end_packed"]["cells"].values())
    assert cells["LUT4"] > 1000 and cells["TRELLIS_FF"] > 1000


@pytest.mark.thorough
def test_bender_s_manifest_has_documented_keys_and_files_that_exist(delivered: Path) -> None:
    """No Bender runs here: its book says which keys there are."""
    manifest = yaml.safe_load((delivered / "Bender.yml").read_text())
    assert manifest.keys() <= BENDER_KEYS
    assert manifest["package"].keys() <= {"name", "authors", "description"}
    assert manifest["package"]["name"] == "warploom_front_end"
    files = [one for one in manifest["sources"] if isinstance(one, str)]
    (group,) = (one for one in manifest["sources"] if not isinstance(one, str))
    assert group.keys() <= GROUP_KEYS
    assert group == {"target": "simulation", "files": [BENCH]}
    # A package stands before what may use it.
    assert files == [PACKAGE, *RTL]
    assert all((delivered / name).is_file() for name in [*files, BENCH])


@pytest.mark.thorough
def test_the_manifests_are_delivered_with_the_core_alone(delivered: Path, tmp_path: Path) -> None:
    generate(["grid_walker"], ["tiny"], tmp_path)
    assert {path.name for path in (tmp_path / "tiny").iterdir()} == {
        "grid_walker.v",
        PACKAGE,
        *SM_PORT,
    }
    assert {path.name for path in delivered.iterdir()} == {
        *RTL,
        BENCH,
        PACKAGE,
        *SM_PORT,
        "warploom.core",
        "Bender.yml",
    }


@pytest.mark.thorough
def test_fusesoc_s_description_says_which_configuration(delivered: Path) -> None:
    text = (delivered / "warploom.core").read_text()
    assert text.startswith("CAPI=2:\n") and "configuration tiny" in text
    core = yaml.safe_load(text.partition("\n")[2])
    assert core["name"].startswith(f"{CORE}:")
    assert {"default", "lint", "sim", "synth"} == core["targets"].keys()
