"""Replays through LaunchPath's Verilog: equal on every simulator, and faults found."""

import itertools
import json
import random
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support.deep_values import deep_but, thorough_but
from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import document, random_document, write
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim import cli, screen
from warploom_sim.commands import sim_run
from warploom_sim.failure import ProgramError
from warploom_sim.replay import replay_follow, replay_gains, rtl_replay
from warploom_sim.replay.model_run import ModelJob, read_piece
from warploom_sim.replay.request import DEFAULT_KNEE, ReplayRequest
from warploom_sim.replay.simulation_run import model_process
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import WarploomError, preset
from warploom_spec.config import RECLAIMS

ROOT = Path(__file__).parents[3]
RESNET = ROOT / "traces" / "resnet50_infer.json.gz"
STENCIL = ROOT / "traces" / "stencil3d_shapes.json.gz"
LAUNCHES = 24
PAIRS = list(itertools.product(PREDICTED_POLICIES, RECLAIMS))


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    """Return a small trace: three streams, many shapes, some of which `tiny` refuses."""
    return write(tmp_path, random_document(random.Random(seed), LAUNCHES))


def sim(tmp_path: Path, *arguments: object) -> tuple[Result, dict[str, Any]]:
    """Run ``warploom sim`` with ``--json``; return what it printed, and the figures."""
    file = tmp_path / "figures.json"
    words = ["sim", *map(str, arguments), "--json", str(file)]
    result = CliRunner().invoke(cli.main, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result, json.loads(file.read_text()) if file.exists() else {}


def assert_equal(result: Result, figures: dict[str, Any]) -> None:
    assert result.exit_code == 0, result.output
    assert figures["verdict"] == "equal"
    assert figures["mismatches"] == 0
    assert figures["compared_events"] >= figures["demanded_events"] > 0


@pytest.mark.parametrize(
    ("policy", "reclaim"),
    # Each policy with one of the reclaims, in turn. By default the preset's own pair is replayed.
    deep_but([], PAIRS, thorough=[PAIRS[number] for number in (0, 3, 4, 7)]),
    ids=str,
)
def test_tiny_on_icarus(tmp_path: Path, trace: Path, seed: int, policy: str, reclaim: str) -> None:
    options = ("--sim", "icarus", "--config", "tiny", "--policy", policy, "--reclaim", reclaim)
    result, figures = sim(tmp_path, trace, *options, "--seed", seed)
    assert_equal(result, figures)
    assert (figures["policy"], figures["reclaim"]) == (policy, reclaim)
    assert figures["launches"] == LAUNCHES


def test_what_tiny_refuses_is_counted_and_the_replay_goes_on(plain_replay: SharedReplay) -> None:
    figures = plain_replay.figures
    assert (figures["verdict"], figures["mismatches"]) == ("equal", 0)
    assert figures["compared_events"] >= figures["demanded_events"] > 0
    assert (figures["policy"], figures["reclaim"]) == PAIRS[3]
    assert sum(figures["refused"].values()) > 0
    for code, count in figures["refused"].items():
        assert f"{code} {count}" in plain_replay.stdout
    assert figures["launches"] == LAUNCHES
    assert figures["blocks"] > 0


@pytest.mark.parametrize("config", thorough_but(["tiny"], ["tiny", "default"]))
def test_verilator(tmp_path: Path, trace: Path, seed: int, config: str) -> None:
    result, figures = sim(tmp_path, trace, "--config", config, "--seed", seed)
    assert_equal(result, figures)


@pytest.mark.deep
def test_both_simulators_show_the_same(tmp_path: Path, trace: Path) -> None:
    figures = [
        sim(tmp_path, trace, "--config", "tiny", "--sim", simulator)[1]
        for simulator in ("icarus", "verilator")
    ]
    ours = {"simulator", "wall_s", "build_s"}
    first, second = ({k: v for k, v in f.items() if k not in ours} for f in figures)
    assert first == second


@pytest.mark.thorough
def test_the_recordings_begin_equal(tmp_path: Path) -> None:
    """The figures of both: the first trace's at the top, the second's under ``more``."""
    result, figures = sim(tmp_path, RESNET, STENCIL, "--launches", 2)
    assert_equal(result, figures)
    assert [figures["trace"], *(f["trace"] for f in figures["more"])] == [RESNET.name, STENCIL.name]
    for one in (figures, *figures["more"]):
        assert (one["launches"], one["refused"], one["mismatches"]) == (2, {}, 0)
        assert one["blocks_per_cycle"] == round(one["blocks"] / one["cycles"], 4)
        assert all(0 < one["occupancy"][name] <= 1 for name in ("slots", "warps", "barriers"))
    assert (figures["blocks"], figures["more"][0]["blocks"]) == (12_672, 4_394)


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_cycles_another_does_not(tmp_path: Path, trace: Path) -> None:
    options = (trace, "--sim", "icarus", "--config", "tiny", "--launches", 5, "--seed")
    first, again, other = (sim(tmp_path, *options, seed)[1]["per_launch"] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.thorough
def test_the_time_scale_stretches_the_run(tmp_path: Path, plain_replay: SharedReplay) -> None:
    options = ("--sim", "icarus", "--config", "tiny", "--seed", plain_replay.seed)
    _, long = sim(tmp_path, plain_replay.trace, *options, "--time-scale", "1/8")
    assert (long["time_scale"], plain_replay.figures["time_scale"]) == ("1/8", "1/32")
    # What a launch takes beside its blocks is not scaled.
    assert long["cycles"] > 2 * plain_replay.figures["cycles"]


@pytest.mark.parametrize("reclaim", deep_but([], RECLAIMS, thorough=["in_order"]))
def test_kills_on_icarus(tmp_path: Path, trace: Path, seed: int, reclaim: str) -> None:
    options = ("--sim", "icarus", "--config", "tiny", "--reclaim", reclaim, "--kill-every", 2)
    result, figures = sim(tmp_path, trace, *options, "--seed", seed)
    assert_equal(result, figures)
    assert figures["kill_every"] == 2
    assert figures["fates"]["aborted"] > 0
    assert sum(figures["fates"].values()) == LAUNCHES - sum(figures["refused"].values())
    assert f"aborted {figures['fates']['aborted']}" in result.stdout


def test_a_replay_says_how_far_it_is_and_that_kills_kill_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches 0 and 1: the first to be killed would be number 2."""
    monkeypatch.setattr(screen, "LOOK_S", 0.005)
    monkeypatch.setattr(screen, "LINE_S", 0.01)
    gains_of = replay_gains.gains_of

    def slow(*given: Any) -> Any:
        """Take long enough for a line, also where the screen is looked at late."""
        time.sleep(0.5)
        return gains_of(*given)

    monkeypatch.setattr(replay_gains, "gains_of", slow)
    trace = write(tmp_path, document())
    options = ("--sim", "icarus", "--config", "tiny", "--kill-every", 2)
    result, figures = sim(tmp_path, trace, *options)
    assert_equal(result, figures)
    said = "kill_every 2 killed nobody: launches are numbered from 0 to 1"
    assert figures["killed_nobody"] == said
    assert result.stdout.splitlines().count(said) == 1
    lines = result.stderr.splitlines()
    for form in (
        rf"trace\.json: blocks: \d+ of {figures['blocks']}, \d+%, \d+ s",
        r"trace\.json: gains, one bound relaxed after the other: \d+ s",
    ):
        assert any(re.fullmatch(form, line) for line in lines), form


@pytest.mark.thorough
def test_kills_on_verilator(tmp_path: Path) -> None:
    """Numbers 3, 6, 9, 12 and 15 of 16 launches; what was offered is less than all blocks."""
    result, killed = sim(tmp_path, STENCIL, "--launches", 16, "--kill-every", 3)
    assert_equal(result, killed)
    assert killed["fates"] == {"finished": 11, "aborted": 5}
    result, whole = sim(tmp_path, STENCIL, "--launches", 16)
    assert_equal(result, whole)
    assert whole["fates"] == {"finished": 16}
    assert "kill_every" not in whole
    assert killed["blocks"] < whole["blocks"]
    by_number = zip(killed["per_launch"], whole["per_launch"], strict=True)
    for number, (one, other) in enumerate(by_number):
        wanted = "ABORTED" if number % 3 == 0 and number else "FINISHED"
        assert (one["fate"], other["fate"]) == (wanted, "FINISHED")
        assert one["blocks"] == other["blocks"] if wanted == "FINISHED" else one["blocks"] >= 1


@pytest.mark.thorough
def test_kills_of_other_launches_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The RTL's stops are told another number than the model: a launch has too few blocks, too."""
    start = rtl_replay.simulation_process

    def other(*arguments: Any) -> Any:
        simulation, launches, config, request, *rest = arguments
        return start(simulation, launches, config, replace(request, kill_every=5), *rest)

    monkeypatch.setattr(rtl_replay, "simulation_process", other)
    result, figures = sim(tmp_path, STENCIL, "--launches", 16, "--kill-every", 3)
    assert (result.exit_code, figures["verdict"]) == (1, "different")
    assert re.search(
        r"ticket 6: [\d,]+ blocks offered; its launch alone demands [\d,]+", result.output
    )
    assert "--kill-every 3" in result.output


@pytest.mark.parametrize("bit", [16, 21])
@pytest.mark.thorough
def test_a_report_that_says_another_status_is_found(tmp_path: Path, bit: int) -> None:
    fault = f"event.reports.100.{64 + bit}"
    options = ("--launches", 4, "--kill-every", 1, "--forced-fault", fault)
    result, figures = sim(tmp_path, STENCIL, *options)
    assert (result.exit_code, figures["mismatches"]) == (1, 1)
    assert f"differs: {'slot' if bit == 16 else 'status'}" in result.output


def test_a_kill_of_every_zeroth_launch_is_refused(tmp_path: Path) -> None:
    result, _ = sim(tmp_path, STENCIL, "--kill-every", 0)
    assert result.exit_code == 2
    assert "'0'; legal: 1 or more" in result.output


@pytest.mark.thorough
def test_kernels_without_a_launch_call_and_other_gpus_are_left_out(tmp_path: Path) -> None:
    document = random_document(random.Random(1), 12)
    document["deviceProperties"].append(document["deviceProperties"][0] | {"id": 1})
    kernels = [event for event in document["traceEvents"] if event["cat"] == "kernel"]
    for launch in kernels[8:]:
        launch["args"]["device"] = 1
    del kernels[5]["dur"]
    document["traceEvents"].append(kernels[6])
    kernels[7]["args"]["stream"] = str(kernels[7]["args"]["stream"])
    document["traceEvents"] = [
        event for event in document["traceEvents"] if event not in document["traceEvents"][:6:2]
    ]
    options = (write(tmp_path, document), "--sim", "icarus", "--config", "tiny")
    result, figures = sim(tmp_path, *options)
    assert_equal(result, figures)
    assert (figures["launches"], figures["left_out"]) == (8, 3)
    assert (figures["without_time"], figures["twice"]) == (1, 1)
    assert "3 of 13 kernels left out: no launch call is recorded for them" in result.stderr
    assert "1 of 13 kernels left out: no time is recorded for them" in result.stderr
    assert "1 of 13 kernels left out: the file has them twice" in result.stderr
    result, figures = sim(tmp_path, *options, "--device", 1, "--strict")
    assert_equal(result, figures)
    assert (figures["launches"], figures["device"]) == (4, 1)
    assert not {"left_out", "without_time", "twice"} & figures.keys()
    (tmp_path / "figures.json").unlink()
    for refused, said in ((("--strict",), "'correlation' is 0"), (("--device", 2), "ran on: 0, 1")):
        result, figures = sim(tmp_path, *options, *refused)
        assert (result.exit_code, result.stdout, figures) == (2, "", {})
        assert said in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_trace_of_which_nothing_is_dispatched_is_no_success(tmp_path: Path) -> None:
    document = random_document(random.Random(1), 3)
    for event in document["traceEvents"]:
        event["args"] |= {"block": [1024, 1, 1], "registers per thread": 16}
    options = ("--sim", "icarus", "--config", "tiny")
    result, figures = sim(tmp_path, write(tmp_path, document), *options)
    assert result.exit_code == 1
    assert (figures["verdict"], figures["blocks"]) == ("nothing was dispatched", 0)
    assert figures["mismatches"] == 0
    assert "nothing was dispatched: every launch was refused" in result.stdout
    assert not {"blocks_per_cycle", "occupancy", "head_blocked", "gains"} & figures.keys()


@pytest.mark.thorough
def test_the_recordings_demand_all_that_is_compared(tmp_path: Path) -> None:
    _, figures = sim(tmp_path, STENCIL, "--launches", 2)
    assert figures["compared_events"] == figures["demanded_events"]


# Forced mismatches


def assert_described(output: str, kind: str) -> re.Match[str]:
    """Demand launch, block, cycle, both values, and how to see it again."""
    found = re.search(
        rf"first mismatch: ({kind}) (?P<number>\d+), launch (?P<launch>\d+) "
        r'\("kernel\d+"\), block'
        r" (\((?P<block>\d+, \d+, \d+)\)|none yet), cycle (?P<cycle>\d+)\n"
        r"  RTL: +(?P<rtl>.+)\n"
        r"  model: (?P<model>.+)\n"
        r"(  differs: (?P<differs>.+)\n)?"
        r"  again with: warploom sim .*--seed \d+.*\n",
        output,
    )
    assert found, output
    assert found["rtl"] != found["model"]
    return found


@pytest.mark.parametrize(
    ("kind", "bit", "field"),
    [
        ("offers", 64, "sm"),
        # Launches start eight cycles apart at least: two more or less keep their order.
        pytest.param("starts", 1, "cycle", marks=pytest.mark.deep),
        pytest.param("starts", 64, "stream", marks=pytest.mark.deep),
        pytest.param("timeline", 68, "count", marks=pytest.mark.deep),
        pytest.param("reports", 80, "slot", marks=pytest.mark.deep),
        pytest.param("answers", 64, "ticket", marks=pytest.mark.deep),
        pytest.param("decisions", 64, "hit", marks=pytest.mark.deep),
        pytest.param("done", 65, "entry", marks=pytest.mark.deep),
        pytest.param("warps", 75, "words", marks=pytest.mark.deep),
        pytest.param("words", 96, "code", marks=pytest.mark.thorough),
        pytest.param("ended", 64 + 32 + 8, "fate", marks=pytest.mark.thorough),
    ],
)
def test_one_flipped_bit_in_an_event_is_found(
    tmp_path: Path, trace: Path, kind: str, bit: int, field: str
) -> None:
    fault = f"event.{kind}.3.{bit}"
    options = ("--sim", "icarus", "--config", "tiny", "--launches", 12, "--forced-fault", fault)
    result, figures = sim(tmp_path, trace, *options)
    assert result.exit_code == 1
    assert figures["verdict"] == "different"
    assert figures["mismatches"] >= 1
    found = assert_described(result.stdout, kind)
    assert found["number"] == "3"
    assert found["differs"] == field
    assert f"--forced-fault {fault}" in found[0]
    # Of a run that went wrong these would mean nothing.
    assert not {"blocks_per_cycle", "occupancy", "head_blocked", "gains"} & figures.keys()
    kept = Path(figures["event_files"])
    assert (kept / "rtl" / "offers.bin").stat().st_size > 0
    shutil.rmtree(kept)


@pytest.mark.parametrize("fault", ["event.offers.1", "event.nothing.1.1", "event.offers.x.1"])
def test_a_flip_that_means_nothing_is_refused(tmp_path: Path, trace: Path, fault: str) -> None:
    result, figures = sim(tmp_path, trace, "--config", "tiny", "--forced-fault", fault)
    assert (result.exit_code, figures) == (2, {})
    assert f"forced fault is '{fault}'; legal: event.<kind>.<number>.<bit>" in result.stderr


def test_an_unknown_fault_is_refused(tmp_path: Path, trace: Path) -> None:
    result, figures = sim(tmp_path, trace, "--config", "tiny", "--forced-fault", "no.such")
    assert (result.exit_code, figures) == (2, {})
    assert "'no.such'; legal: event" in result.stderr


def test_a_kernels_name_may_hold_anything(tmp_path: Path) -> None:
    document = random_document(random.Random(1), 3)
    for event in document["traceEvents"]:
        event["name"] = "\ud800 [red]\n\x1b[31m"
    options = ("--sim", "icarus", "--config", "tiny", "--forced-fault", "event.answers.0.64")
    result, figures = sim(tmp_path, write(tmp_path, document), *options)
    assert result.exit_code == 1
    assert r'launch 0 ("\ud800 [red]\n\u001b[31m")' in result.stdout
    shutil.rmtree(figures["event_files"])


# The model is on its own


def test_the_model_is_told_trace_configuration_and_seed_alone(tmp_path: Path, trace: Path) -> None:
    config = replace(preset("tiny"), policy="least_loaded")
    options = ReplayRequest(traces=(trace,), launches=5, seed=77)
    job = ModelJob(request=options, config=config)
    told = json.loads(job.to_json())
    assert told.keys() == {"trace", "config", "request"}
    assert told["config"].keys() == vars(config).keys()
    # Neither what runs the RTL, nor what is written, nor a planted fault.
    work = {"time_scale", "contention", "knee", "arrivals", "allocator", "kill_every"}
    work |= {"events", "priorities"}
    assert told["request"].keys() == work | {"launches", "seed", "device", "gpu"}
    rtl = replace(options, rtl=True, waves=True, forced_fault="event.offers.3.0")
    assert replace(job, request=rtl).to_json() == job.to_json()
    assert ModelJob.from_json(job.to_json()) == job
    with model_process(job, tmp_path) as process:
        parts = list(iter(lambda: read_piece(process.stdout), None))
        assert process.wait() == 0
    # Without any run of the RTL it says the same as here.
    launches = make_launches(trace_reader.load(trace), config, options.time_scale, 5)
    here = event_model.run(launches, config, 77, knee=DEFAULT_KNEE)
    there = event_model.joined([part.events for part in parts])
    assert here.stalls == there.stalls
    for kind, table in here.tables.items():
        assert all((column == there.tables[kind][name]).all() for name, column in table.items())


# Verdict, files, refusals


def test_one_bad_trace_makes_the_verdict_of_all(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"trace": "t", "verdict": "equal", "mismatches": 0}
    outcomes = iter(
        [rtl_replay.Outcome(dict(figures), []), rtl_replay.Outcome(dict(figures), ["something"])]
    )
    monkeypatch.setattr(rtl_replay, "run_one", lambda one: next(outcomes))
    result, written = sim(tmp_path, trace, trace, "--sim", "icarus")
    assert result.exit_code == 1
    assert written["verdict"] == "different"


def test_a_bad_second_trace_is_refused_before_the_first_runs(tmp_path: Path, trace: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    result, figures = sim(tmp_path, trace, bad, "--sim", "icarus", "--config", "tiny")
    assert (result.exit_code, result.stdout, figures) == (2, "", {})


@pytest.mark.thorough
def test_a_report_comes_from_events_in_pieces(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--sim", "icarus", "--config", "tiny")
    texts = []
    for size in (event_model.PIECE, 16):
        monkeypatch.setattr(event_model, "PIECE", size)
        assert_equal(*sim(tmp_path, trace, *options, "--report", tmp_path / "r.html"))
        page = (tmp_path / "r.html").read_text()
        texts.append(page.partition('class="figures"')[2].partition("</script>")[0])
    assert len(texts[0]) > 1000
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        pytest.param(WarploomError("no event"), 2, marks=pytest.mark.thorough),
        pytest.param(ProgramError("died"), 3, marks=pytest.mark.thorough),
    ],
)
def test_what_is_broken_off_or_refused_leaves_nothing(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def stop(end: Path) -> None:
        assert (end.parent / "offers.bin").exists()
        seen.append(end.parent)
        raise error

    seen: list[Path] = []
    monkeypatch.setattr(replay_follow, "read_end", stop)
    options = ("--sim", "icarus", "--config", "tiny", "--launches", 6)
    result, figures = sim(tmp_path, trace, *options)
    assert (result.exit_code, figures) == (code, {})
    assert not seen[0].parent.exists()


def test_a_missing_simulator_is_refused(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result, figures = sim(tmp_path, trace, "--sim", "icarus")
    assert (result.exit_code, result.stdout, figures) == (2, "", {})
    assert "simulator icarus: iverilog is not installed; run: " in result.stderr


def test_an_unknown_simulator_is_refused(trace: Path) -> None:
    with pytest.raises(WarploomError, match="simulator is 'vcs'; legal: verilator, icarus"):
        sim_run.run(ReplayRequest(traces=(trace,), rtl=True, simulator="vcs"))


def test_an_unknown_configuration_is_refused(trace: Path) -> None:
    with pytest.raises(WarploomError, match="config is 'huge'; legal: tiny, default, large"):
        sim_run.run(ReplayRequest(traces=(trace,), config="huge"))


def test_a_waveform_is_written_where_it_is_said(tmp_path: Path) -> None:
    # Three launches of another seed may all be too large for `tiny`.
    trace = write(tmp_path, random_document(random.Random(1), 3))
    result, figures = sim(tmp_path, trace, "--sim", "icarus", "--config", "tiny", "--waves")
    assert_equal(result, figures)
    assert f"waveform: {figures['waveform']}" in result.stdout
    waveform = Path(figures["waveform"])
    assert waveform.stat().st_size > 10_000
    shutil.rmtree(waveform.parents[1])
