"""``warploom preempt``: figures, plot, refusals."""

import json
import os
import random
from collections import Counter
from fractions import Fraction

import pytest
from click.testing import CliRunner

from tb.preemption.rtl_runs import TINY, small_workload
from tb.support import trace_files
from warploom_golden.replay.residents.path import ResidentPath
from warploom_sim.cli import main
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.methods.preempt.workload import make_workload, select
from warploom_sim.traces import trace_reader
from warploom_spec import WarploomError, preset
from warploom_spec.queue import Mode


def preempt(*arguments):
    return CliRunner().invoke(main, ["preempt", *map(str, arguments)])


def written(folder, *streams):
    """Write a trace whose long and short kernels alternate, as do their streams."""
    events = []
    for n in range(12):
        stream = streams[n % len(streams)]
        kernel = trace_files.kernel(n, ts=1000.0 + n, grid=[500 + n, 1, 1], stream=stream)
        kernel["args"]["block"] = [256 + 64 * (n == 10), 1, 1]
        kernel["dur"] = (90.0, 3.0)[n % 2]
        events += [trace_files.call(n, float(n)), kernel]
    return trace_files.write(folder, trace_files.document() | {"traceEvents": events})


@pytest.fixture
def trace(tmp_path):
    """Two streams: 7 with long kernels, 20 with short ones."""
    return written(tmp_path, 7, 20)


FEW = ("--arrivals", 20)
#: Where the figures themselves do not count.
FEWEST = ("--arrivals", 5)


@pytest.mark.thorough
def test_each_mode_has_its_figures(trace, tmp_path):
    file, plot = tmp_path / "f.json", tmp_path / "p.svg"
    done = preempt(trace, "--urgent", 20, *FEW, "--json", file, "--plot", plot)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    assert list(figures["modes"]) == ["reset", "drain", "yield", "wait", "auto"]
    assert list(figures["beside"]) == ["window of 8", "synchronous", "reset, in_order"]
    for run in (figures["modes"] | figures["beside"]).values():
        assert run["arrivals"] == 20
        assert 0 < run["median"] <= run["p99"] <= run["max"]
    modes = figures["modes"]
    # The share of idempotent kernels is 1: auto is reset.
    assert modes["auto"] == modes["reset"]
    assert modes["reset"]["kills"] > 0 and modes["reset"]["blocks_run_again"] > 0
    for name in ("drain", "yield", "wait"):
        assert modes[name]["kills"] == 0
    # A launch that was held, or let urgent blocks pass, went on; one that was killed began anew.
    assert {name for name in modes if modes[name]["went_on"]} == {"drain", "yield"}
    assert modes["reset"]["p99"] < modes["drain"]["p99"] < modes["wait"]["p99"]
    assert modes["wait"]["max"] < figures["beside"]["window of 8"]["max"]
    assert figures["law"]["last_low"] == 16
    levels = figures["xsched"]
    assert 7 < levels["same queue"]["p99_commands"] < 9
    assert 0.5 < levels["wait"]["p99_commands"] < 1.1
    assert levels["reset"]["max"] < 100
    assert f"{modes['wait']['max']:,}" in done.output
    # The shortest run counts as a whole, every other one as far as it.
    runs = figures["modes"] | figures["beside"]
    assert figures["compared_cycles"] == min(run["cycles"] for run in runs.values())
    assert any(run["urgent_started"] < 20 for run in runs.values())
    shortest = min(runs.values(), key=lambda run: run["cycles"])
    assert shortest["urgent_started"] == 20
    assert f"each run's first {figures['compared_cycles']:,} cycles" in done.output
    said = "assumed: an SM reports a killed block 5 cycles after the kill (--report-time)"
    assert " ".join(done.output.split()).count(said) == 2
    assert "about 8 commands" in done.output
    # Contention is on, as in a replay.
    assert (figures["contention"], figures["knee"]) == ("sharing", 16)
    assert "with contention: an SM runs 16 warps at full speed (--knee)" in done.output
    assert "without contention" not in done.output
    assert "microseconds" in plot.read_text() or plot.stat().st_size > 10_000


def test_contention_is_turned_off_or_has_another_knee(trace, tmp_path):
    """Above every load it is a run without contention."""
    runs = {}
    for name, options in (
        ("none", ("--contention", "none")),
        ("above", ("--knee", 65_535)),
        ("low", ("--knee", 4)),
    ):
        file = tmp_path / f"{name}.json"
        few = ("--arrivals", 2, "--mode", "drain", *options)
        done = preempt(trace, "--urgent", 20, *few, "--json", file)
        assert done.exit_code == 0, done.output
        runs[name] = json.loads(file.read_text())
        assert ("without contention: " in done.stdout) == (name == "none")
        assert runs[name].pop("contention") == ("none" if name == "none" else "sharing")
        runs[name].pop("knee", None)
    assert runs["none"] == runs["above"]
    for part in ("modes", "beside", "xsched", "normal"):
        assert runs["none"][part] != runs["low"][part], part


@pytest.mark.thorough
def test_the_same_call_gives_the_same_figures(trace, tmp_path):
    files = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for file, seed in zip(files, (1, 1, 2), strict=True):
        assert (
            preempt(
                trace, "--urgent", 20, *FEW, "--seed", seed, "--mode", "drain", "--json", file
            ).exit_code
            == 0
        )
    first, again, other = (json.loads(file.read_text()) for file in files)
    assert first == again
    assert list(first["modes"]) == ["drain"]
    assert first["modes"] != other["modes"]


def test_two_traces_are_the_low_one_and_the_urgent_one(trace, tmp_path):
    (tmp_path / "urgent").mkdir()
    urgent = trace_files.write(tmp_path / "urgent", trace_files.document())
    done = preempt(trace, urgent, *FEWEST, "--mode", "wait", "--json", tmp_path / "f.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "f.json").read_text())["trace"] == "trace.json + trace.json"


def test_a_kernel_is_idempotent_or_not_whichever_launch_it_is(trace):
    config = preset("default")
    loaded = trace_reader.load(trace)
    both = (select(loaded, 20, wanted) for wanted in (False, True))
    workload = make_workload(*both, config, Fraction(1))
    names = [f"kernel{n}" for n in (1, 1, 2, 2, 3, 3)]
    workload = type(workload)(workload.low, workload.urgent, tuple(names))
    shares = {}
    for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
        low = workload.with_mode(Mode.AUTO, share, random.randrange(1000)).low
        bits = [launch.idempotent for launch in low]
        assert bits[::2] == bits[1::2]
        shares[share] = sum(bits)
    assert shares[Fraction(0)] == 0 and shares[Fraction(1)] == 6


def test_urgent_launches_have_a_stream_of_their_own_and_addresses_are_shared(trace):
    loaded = trace_reader.load(trace)
    low, urgent = (select(loaded, 20, wanted) for wanted in (False, True))
    workload = make_workload(low, urgent, preset("default"), Fraction(1))
    assert {launch.priority for launch in workload.low} == {0}
    assert {(launch.stream, launch.priority) for launch in workload.urgent} == {(15, 3)}
    assert 15 not in {launch.stream for launch in workload.low}
    codes = [launch.code for launch in (*workload.low, *workload.urgent)]
    assert codes == list(range(12))
    # Of one shape that is frequent, indices stand at one address for both sides.
    assert workload.low[-2].index_address == workload.urgent[-1].index_address


def test_each_low_stream_has_a_stream_beside_the_urgent_one(tmp_path):
    """With 2^stream_bits streams the low trace may have one less."""
    three, figures = written(tmp_path, 7, 20, 9), tmp_path / "f.json"
    asked = (three, "--urgent", 20, *FEWEST, "--mode", "wait", "--json", figures, "--set")
    done = preempt(*asked, "stream_bits=1")
    assert done.exit_code == 2 and not figures.exists()
    said = "trace.json: 2 streams; legal: up to 1 (choose --set stream_bits=2)"
    assert said in done.stderr.splitlines()[-1]
    done = preempt(*asked, "stream_bits=2")
    assert done.exit_code == 0, done.output
    assert json.loads(figures.read_text())["set"] == ["stream_bits=2"]
    low, urgent = (select(trace_reader.load(three), 20, wanted) for wanted in (False, True))
    workload = make_workload(low, urgent, preset("default"), Fraction(1))
    assert {launch.stream for launch in workload.low} == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--urgent", 20, "--set", "streams=4"), "field is 'streams'; legal: "),
        (("--urgent", 9), "--urgent is 9; streams of the trace: 7, 20"),
        ((), "traces are 1, with no --urgent; legal: two, LOW and HIGH, or one with --urgent"),
        (("--urgent", 20, "--plot", "p.txt"), "legal: a name that ends in .png, .svg, .pdf"),
        (("--urgent", 20, "--idempotent", "1.5"), "'1.5' is no share; legal: 0 to 1"),
        (("--urgent", 20, "--mode", "stop"), "'stop' is not one of 'reset', 'drain', 'yield'"),
        (("--urgent", 20, "--policy", "random"), "'random' is not one of 'first_fit'"),
        (("--urgent", 20, "--arrivals", 0), "0 is not in the range"),
        (("--urgent", 20, "--distance", 0), "'0'; legal: a fraction above 0"),
        (
            ("--urgent", 20, "--contention", "none", "--knee", 8),
            "--knee 8 counts only with --contention sharing; give that, too",
        ),
        (("--urgent", 20, "--knee", 0), "'0'; legal: 1 to 65535"),
        (
            ("--urgent", 20, "--config", "tiny"),
            "refuses the launch: BLOCK_WARPS (a block takes 32 warps; legal: 0 to 16); grid",
        ),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(trace, tmp_path, arguments, said):
    before = set(tmp_path.iterdir())
    done = preempt(trace, *arguments, "--json", tmp_path / "f.json")
    assert done.exit_code == 2
    assert said in done.stderr.splitlines()[-1]
    assert set(tmp_path.iterdir()) == before


def test_json_and_plot_have_a_file_each(trace, tmp_path):
    same = tmp_path / "same.svg"
    done = preempt(trace, "--urgent", 20, "--json", same, "--plot", same)
    assert (done.exit_code, same.exists()) == (2, False)
    assert f"{str(same)!r} is what --json writes" in done.stderr


def test_the_number_of_traces_is_judged_before_any_is_read(tmp_path):
    (tmp_path / "no_trace").write_text("neither JSON nor gzip")
    done = preempt(tmp_path / "no_trace", tmp_path / "no_trace", "--urgent", 20)
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "Error: traces are 2, with --urgent 20; legal: two, LOW and HIGH, or one with --urgent"
        " STREAM"
    ]


def test_the_rtl_wants_a_trace_that_can_be_read_twice(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = preempt(pipe, "--urgent", 20, "--rtl")
    assert done.exit_code == 2
    assert done.stderr == f"Error: {pipe}: is no regular file; legal: a file, which is read twice\n"


def test_a_trace_without_kernels_is_refused(tmp_path):
    empty = trace_files.write(tmp_path, trace_files.document() | {"traceEvents": []})
    done = preempt(empty, "--urgent", 7)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "the trace has no kernel events" in done.stderr


def test_a_traces_only_stream_leaves_nothing_to_preempt(tmp_path):
    file = trace_files.write(tmp_path, trace_files.document())
    with pytest.raises(WarploomError, match="--urgent is 7, the trace's only stream"):
        select(trace_reader.load(file), 7, True)
    assert preempt(file, "--urgent", 7).exit_code == 2


def test_an_urgent_launch_without_room_is_sent_in_the_first_cycle_with_room():
    """Between two events nothing is asked; stepped in every cycle, the same is sent."""
    workload = small_workload("reset").in_one_queue()
    sent = {}
    for dense in (False, True):
        host = MeasuringHost(
            workload.low, workload.urgent, count=12, distance=40.0, seed=2, ahead=9
        )
        path = ResidentPath(TINY, dense=dense)
        steps = Counter()
        step = host.step

        def counted(cycle, path, step=step, steps=steps):
            steps["all"] += 1
            step(cycle, path)

        host.step = counted
        path.run(host, until=20_000)
        assert sum(urgent for _, urgent in host.sent) == 12
        sent[dense] = host.sent, host.pops
        assert (steps["all"] == path.cycle) == dense
    assert sent[False] == sent[True]
