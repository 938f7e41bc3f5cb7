"""``warploom preempt --rtl``: RTL against model, figures, exit codes, planted faults."""

import json

import pytest
from click.testing import CliRunner

from tb.preemption.rtl_runs import setting, small_workload
from tb.support import trace_files
from warploom_golden.preemption.patent_rules import OneFlag
from warploom_sim.cli import main
from warploom_sim.cosim import simulators
from warploom_sim.methods.preempt import measure, rtl_measurement, rtl_run
from warploom_sim.methods.preempt.bench import preempt_bench_build, preempt_bench_verilog
from warploom_sim.methods.preempt.model_events import ModelRun
from warploom_sim.methods.preempt.workload import MODES
from warploom_spec import WarploomError, queue_packets

TWO = ("reset", "yield")
#: What each mode's figures have, at least.
KEYS = {
    "arrivals",
    "median",
    "p99",
    "max",
    "kills",
    "went_on",
    "blocks_run_again",
    "cycles_thrown_away",
    "low_finished_in_the_same_cycles",
}


def preempt(*arguments):
    return CliRunner().invoke(main, ["preempt", *map(str, arguments)])


@pytest.fixture
def trace(tmp_path):
    """Two streams whose blocks fit `tiny`: 7 with long kernels, 20 with short ones."""
    events = []
    for n in range(12):
        kernel = trace_files.kernel(n, ts=1000.0 + n, grid=[30 + n, 1, 1], stream=(7, 20)[n % 2])
        kernel["args"]["block"] = [64, 1, 1]
        kernel["dur"] = (40.0, 3.0)[n % 2]
        events += [trace_files.call(n, float(n)), kernel]
    return trace_files.write(tmp_path, trace_files.document() | {"traceEvents": events})


def on_tiny(trace, *arguments):
    few = ("--arrivals", 10, *(word for mode in TWO for word in ("--mode", mode)))
    return preempt(trace, "--urgent", 20, "--config", "tiny", "--rtl", *few, *arguments)


@pytest.mark.thorough
def test_rtl_and_model_agree_and_the_law_holds(trace, tmp_path):
    done = on_tiny(trace, "--json", tmp_path / "f.json", "--plot", tmp_path / "p.svg")
    assert done.exit_code == 0, done.output
    figures = json.loads((tmp_path / "f.json").read_text())
    assert (figures["simulator"], figures["mismatches"]) == ("verilator", 0)
    assert figures["compared_events"] > 1000
    assert figures["time_scale"] == "1/32"
    assert tuple(figures["modes"]) == TWO
    for mode in figures["modes"].values():
        assert mode["arrivals"] == 10
        assert mode.keys() >= KEYS
    assert figures["modes"]["reset"]["kills"] > 0
    assert figures["modes"]["yield"]["kills"] == 0 < figures["modes"]["yield"]["went_on"]
    law = figures["law"]
    assert law["violations"] == 0 < law["checked"]
    assert (law["last_low"], law["kill"], law["report_to_offer"]) == (16, 13, 11)
    assert law["checked"] + sum(law["outside"].values()) == 20
    assert f"{figures['compared_events']:,} events compared, 0 mismatches" in done.stdout
    assert (tmp_path / "p.svg").stat().st_size > 10_000


@pytest.mark.thorough
def test_a_model_with_a_wrong_rule_is_a_mismatch_and_exit_code_1(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(rtl_run, "ModelRun", lambda host, sets, _: ModelRun(host, sets, OneFlag))
    done = on_tiny(trace, "--json", tmp_path / "f.json")
    assert done.exit_code == 1
    assert "reset: first mismatch: " in done.stderr
    assert "  RTL:   " in done.stderr and "  model: " in done.stderr
    figures = json.loads((tmp_path / "f.json").read_text())
    assert figures["mismatches"] > 0
    # What differs has no figures.
    assert figures["modes"] == {}


@pytest.mark.thorough
def test_a_broken_law_is_told_and_exit_code_1(trace, tmp_path, monkeypatch):
    law = type("Law", (rtl_measurement.StreamLaw,), {"kill": 6})
    check = rtl_measurement.LawCheck
    monkeypatch.setattr(
        rtl_measurement, "LawCheck", lambda *given: check(*given[:4], law(given[3]))
    )
    done = on_tiny(trace, "--json", tmp_path / "f.json")
    assert done.exit_code == 1
    assert "the law allows 6" in done.stderr
    assert json.loads((tmp_path / "f.json").read_text())["law"]["violations"] > 0


def test_no_arrivals_are_refused_in_one_line(trace):
    done = preempt(trace, "--urgent", 20, "--rtl", "--arrivals", 0)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "0 is not in the range" in done.stderr


def test_a_simulator_that_is_not_there_is_refused_in_one_line(trace, tmp_path, monkeypatch):
    def missing(name):
        raise WarploomError(f"simulator {name}: it is not installed")

    monkeypatch.setattr(simulators, "environment", missing)
    done = preempt(trace, "--urgent", 20, "--rtl", "--json", tmp_path / "f.json")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "simulator verilator: it is not installed" in done.stderr
    assert not (tmp_path / "f.json").exists()


# --- longer ones ---------------------------------------------------------------------------------


@pytest.mark.deep
def test_every_mode_on_tiny(seed):
    for time in (0, 1, 20):
        sets = setting(200, seed, time)
        workloads = {mode: small_workload(mode) for mode in MODES}
        figures, runs, problems = rtl_measurement.measure_rtl(workloads, sets)
        assert problems == [], f"seed {seed}, report time {time}"
        assert figures["law"]["violations"] == 0
        for mode, run in runs.items():
            expected = measure.run(workloads[mode], sets)
            assert run.latencies == expected.latencies
            assert measure.costs(run, run.cycles) == measure.costs(expected, expected.cycles)


@pytest.mark.deep
def test_a_fault_of_the_rtl_is_found(seed, tmp_path, monkeypatch):
    """A launch is only held after two kills, not after four."""
    monkeypatch.setattr(queue_packets, "MAX_KILLS", 2)
    for keeps in ("cached", "cached_by_sources"):
        monkeypatch.setattr(
            preempt_bench_build,
            keeps,
            lambda kind, parts, make: make(folder := tmp_path / kind) or folder,
        )
    monkeypatch.setattr(
        preempt_bench_build,
        "_generate",
        lambda job, folder: preempt_bench_verilog.write(sets.config, folder),
    )
    for kind in ("preempt-verilog", "preempt-verilator"):
        (tmp_path / kind).mkdir()
    sets = setting(100, seed)
    workloads = {"reset": small_workload("reset")}
    figures, runs, problems = rtl_measurement.measure_rtl(workloads, sets)
    assert figures["mismatches"] > 0
    assert runs == {}
    assert "reset: first mismatch: " in problems[0]


@pytest.mark.deep
def test_the_modes_of_a_recorded_workload(tmp_path):
    """One in ten of the urgent launches of the page's figures."""
    file = tmp_path / "f.json"
    trace = "traces/two_streams_priority.json.gz"
    done = preempt(trace, "--urgent", 31, "--rtl", "--arrivals", 100, "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    medians = {name: mode["median"] for name, mode in figures["modes"].items()}
    assert medians["reset"] <= medians["drain"] <= medians["wait"]
    assert medians["yield"] <= medians["wait"]
    assert (figures["mismatches"], figures["law"]["violations"]) == (0, 0)
