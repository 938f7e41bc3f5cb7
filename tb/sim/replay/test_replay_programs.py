"""What a replay says when its programs die or write half."""

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tb.support.deep_values import deep_but
from tb.support.small_replays import sim
from warploom_sim import failure
from warploom_sim.failure import ProgramError
from warploom_sim.replay import replay_follow, rtl_replay, simulation_run
from warploom_sim.replay.bench import replay_bench_build
from warploom_sim.replay.bench.records import record_packets, record_words
from warploom_sim.replay.bench.replay_bench_build import Simulation
from warploom_sim.replay.model_run import ModelJob
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces.kept_waits import no_waits
from warploom_spec import LaunchDescriptor, preset

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.usefixtures("own_folder")


# The event files


def errors_are_not_written(text: str) -> str:
    """Plant in the bench: the lines that write error records are gone."""
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines if not re.match(r"\s+if \(\w*error\[0\]\) \$fwrite", line)]
    assert len(kept) == len(lines) - 2
    return "".join(kept)


def errors_are_not_known(text: str) -> str:
    """Plant in the bench: error records are neither written nor counted."""
    counted = re.compile(r"    if \(dispatch_error\[0\].*\n      count_errors = .*\n")
    assert counted.search(text)
    return counted.sub("", errors_are_not_written(text))


def an_sm_reports_what_does_not_run(text: str) -> str:
    """Plant in the bench: error records without end."""
    found = text.replace(".report__0__valid(report__0__valid)", ".report__0__valid(1'b1)")
    assert found != text
    return found


@pytest.mark.thorough
@pytest.mark.usefixtures("own_build")
@pytest.mark.parametrize(
    ("plant", "code", "message"),
    [
        pytest.param(lambda text: text, 1, "first mismatch: errors 0,", marks=pytest.mark.deep),
        (
            errors_are_not_written,
            3,
            r"Error: event file errors\.bin has 0 records; the test bench counted [\d,]+\n$",
        ),
        pytest.param(
            errors_are_not_known,
            1,
            r"\nerrors: 0 recorded, but `dispatch_error_count` is [\d,]+\n",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_error_records_that_are_not_written_are_missed(
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[str], str],
    code: int,
    message: str,
) -> None:
    generate = replay_bench_build._generate

    def planted(job: dict[str, object], folder: Path) -> None:
        generate(job, folder)
        bench = folder / "bench.v"
        bench.write_text(plant(an_sm_reports_what_does_not_run(bench.read_text())))

    monkeypatch.setattr(replay_bench_build, "_generate", planted)
    seen, out, err = sim(trace)
    assert seen == code, out + err
    assert re.search(message, out + err), out + err


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a whole run of twenty launches."""
    folder = tmp_path_factory.mktemp("rtl")
    shape = {"grid": (2, 1, 1), "block": (8, 1, 1), "arguments": 4}
    launches = [LaunchDescriptor(code=number, **shape) for number in range(20)]
    config = preset("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        simulation = replay_bench_build.build(config, "icarus")
    request = ReplayRequest(traces=(), rtl=True, simulator="icarus")
    with simulation_run.simulation_process(
        simulation, launches, config, request, folder, no_waits(launches)
    ) as process:
        assert process.wait() == 0
    return folder


@pytest.mark.parametrize("kind", record_packets(preset("tiny")))
def test_every_event_file_is_demanded_whole(recorded: Path, tmp_path: Path, kind: str) -> None:
    config = preset("tiny")
    folder = shutil.copytree(recorded, tmp_path / "rtl")
    file, size = folder / f"{kind}.bin", 8 * record_words(record_packets(config)[kind])
    whole = file.read_bytes()
    records = len(whole) // size - 1
    assert simulation_run.read_recorded(folder, config).stopped == ""
    in_the_middle = f"{kind}.bin ends in the middle of a record: "
    damages = {
        whole[:-size]: f"{kind}.bin has no closing record",
        b"": f"{kind}.bin has no closing record",
        whole[:-1]: in_the_middle,
        whole + b"\0": in_the_middle,
        whole + bytes(size): f"{kind}.bin: 1 records after its closing record",
        bytes(size)
        + whole: f"{kind}.bin has {records + 1} records; the test bench counted {records}",
    }
    for content, message in damages.items():
        file.write_bytes(content)
        with pytest.raises(ProgramError, match=f"^event file {message}"):
            simulation_run.read_recorded(folder, config)
    file.unlink()
    with pytest.raises(ProgramError, match="has no closing record: it was not written whole$"):
        simulation_run.read_recorded(folder, config)


def test_a_run_ends_with_one_summary(recorded: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(recorded, tmp_path / "rtl")
    end = (folder / "end.bin").read_bytes()
    for records in (0, 2):
        (folder / "end.bin").write_bytes(end * records)
        said = rf"^event file end\.bin has {records} records; a run ends with one$"
        with pytest.raises(ProgramError, match=said):
            simulation_run.read_recorded(folder, preset("tiny"))


# Programs that die


@pytest.mark.parametrize(
    ("returncode", "said"),
    [
        (3, "ended with status 3"),
        (-signal.SIGSEGV, "was killed by SIGSEGV"),
        (-signal.SIGRTMIN - 1, f"was killed by signal {signal.SIGRTMIN + 1}"),
    ],
)
def test_how_a_process_ended(returncode: int, said: str) -> None:
    assert failure.how_it_ended(returncode) == said


@pytest.mark.parametrize("victim", ["simulator", "model"])
def test_a_program_that_is_killed_is_told_by_its_signal(
    trace: Path, monkeypatch: pytest.MonkeyPatch, victim: str
) -> None:
    follow = rtl_replay.follow

    def killing(
        running: subprocess.Popen[bytes], model: subprocess.Popen[bytes], *rest: Any, **more: Any
    ) -> Any:
        process = running if victim == "simulator" else model
        process.kill()
        return follow(running, model, *rest, **more)

    monkeypatch.setattr(rtl_replay, "follow", killing)
    # It must not be through before.
    endless = Simulation(("sh", "-c", "exec sleep 1000"), "")
    monkeypatch.setattr(replay_bench_build, "build", lambda *_: endless)
    assert sim(trace) == (3, "", f"Error: the {victim} was killed by SIGKILL\n")


def test_a_simulator_that_fails_is_told_by_its_status_and_last_line(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = Simulation(("sh", "-c", "echo one; echo out of luck; echo; exit 7"), "")
    monkeypatch.setattr(replay_bench_build, "build", lambda *_: dying)
    said = "Error: the simulator ended with status 7: out of luck\n"
    assert sim(trace) == (3, "", said)


def test_a_model_that_fails_is_told_by_its_status_and_last_line(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelJob, "to_json", lambda job: "{}")
    assert sim(trace) == (3, "", "Error: the model ended with status 1: KeyError: 'trace'\n")


@pytest.mark.thorough
@pytest.mark.parametrize("file", deep_but(["offers.bin"], ["offers.bin", "end.bin"]))
def test_a_simulator_on_a_full_disk_is_told(
    trace: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """What is written into ``/dev/full`` fails as on a full disk."""
    run_both = rtl_replay._run_both

    def on_a_full_disk(one: Any, simulation: Simulation, folder: Path, *rest: Any) -> Any:
        for name in (file, "probe"):
            (folder / name).symlink_to("/dev/full")
        return run_both(one, simulation, folder, *rest)

    monkeypatch.setattr(rtl_replay, "_run_both", on_a_full_disk)
    code, out, err = sim(trace)
    assert (code, out) == (3, "")
    assert re.fullmatch(
        rf"Error: event file {file} has .*; no space left on the disk of \S+/rtl\n", err
    )


def test_a_program_that_dies_of_a_full_disk_is_told(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = Simulation(("sh", "-c", "ln -s /dev/full probe; echo puzzling; exit 1"), "")
    monkeypatch.setattr(replay_bench_build, "build", lambda *_: dying)
    code, out, err = sim(trace)
    assert (code, out) == (3, "")
    assert re.fullmatch(
        r"Error: the simulator ended with status 1: no space left on the disk of \S+/rtl\n", err
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo warned; echo cannot write: No space left on device >&2; exit 1", "status 1: {room}"),
        ("ln -s /dev/full probe; kill -9 $$", "was killed by SIGKILL: {room}"),
        ("kill -9 $$", "was killed by SIGKILL"),
        ("echo no such module; exit 2", "ended with status 2\nno such module"),
    ],
)
def test_a_compiler_that_fails_says_how_it_ended(tmp_path: Path, command: str, said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        replay_bench_build.run_in(("sh", "-c", command), "icarus", tmp_path)
    room = f"no space left on the disk of {tmp_path}"
    assert str(caught.value).endswith(said.format(room=room))
    assert len(str(caught.value).splitlines()) == 1 + ("module" in said)


@pytest.mark.thorough
def test_a_disk_that_is_full_of_generated_verilog_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "launch_path.v").symlink_to("/dev/full")
    job = {"config": dataclasses.asdict(preset("tiny")), "host": "direct"}
    with pytest.raises(ProgramError) as caught:
        replay_bench_build._generate(job, tmp_path)
    assert str(caught.value) == (
        "the generator of the replay's Verilog ended with status 1:"
        f" no space left on the disk of {tmp_path}"
    )


def test_a_disk_with_room_is_not_full(tmp_path: Path) -> None:
    before = list(tmp_path.iterdir())
    assert not failure.is_full(tmp_path)
    assert list(tmp_path.iterdir()) == before
    assert not failure.is_full(tmp_path / "nowhere")


# Ctrl-C


@pytest.fixture
def heeding() -> Iterator[None]:
    """Heed Ctrl-C, which what a shell runs in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.thorough
@pytest.mark.usefixtures("heeding")
@pytest.mark.parametrize("second", deep_but([signal.SIGINT], [signal.SIGINT, signal.SIGTERM]))
def test_ctrl_c_twice_leaves_no_folder(
    trace: Path, monkeypatch: pytest.MonkeyPatch, second: signal.Signals
) -> None:
    """The second one comes while the folder is removed."""
    remove, seen = shutil.rmtree, []

    def stop(end: Path) -> None:
        seen.append(end.parents[1])
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted(folder: Path, **options: Any) -> None:
        if seen:  # not while something is built
            os.kill(os.getpid(), second)
        remove(folder, **options)

    monkeypatch.setattr(replay_follow, "read_end", stop)
    monkeypatch.setattr(rtl_replay.shutil, "rmtree", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert sim(trace) == (130, "", "Interrupted.\n")
    assert not seen[0].exists()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.thorough
@pytest.mark.usefixtures("heeding")
def test_ctrl_c_while_an_equal_run_is_removed_leaves_no_folder(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, seen = shutil.rmtree, []

    def interrupted(folder: Path, **options: Any) -> None:
        if folder.parent.name != "replays":
            return remove(folder, **options)
        if not seen:
            remove(folder / "model")
        seen.append(folder)
        if len(seen) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        remove(folder, **options)

    monkeypatch.setattr(rtl_replay.shutil, "rmtree", interrupted)
    code, _, err = sim(trace)
    assert (code, err) == (130, "Interrupted.\n")
    assert not seen[0].exists()


def test_a_reader_whose_model_was_ended_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever breaks a run off ends the model and closes its output, perhaps before it is read."""
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    process = subprocess.Popen(["true"], stdout=subprocess.PIPE)
    process.wait()
    assert process.stdout
    process.stdout.close()
    before = set(threading.enumerate())
    replay_follow.ModelPieces(process, tmp_path)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
    assert told == []
