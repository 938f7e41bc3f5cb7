"""`--timeline` and `--report`: written whole, refused before the run, named in one line."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from tb.support.trace_files import random_document, write
from warploom_sim import cli, replay
from warploom_sim.commands import sim_run
from warploom_sim.replay import rtl_replay
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.views import replay_views
from warploom_sim.views.html_report import page
from warploom_spec import extras

HINT = "a timeline and a report of this run: --timeline run.pftrace --report run.html"


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    """Return a small trace."""
    return write(tmp_path, random_document(random.Random(seed), 12))


def sim(*arguments: object) -> Any:
    words = ["sim", "--config", "tiny", "--sim", "icarus", *map(str, arguments)]
    return CliRunner().invoke(cli.main, words)


@pytest.mark.thorough
def test_both_views_of_two_traces(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", random_document(random.Random(4), 5))
    timeline, report, figures = (tmp_path / name for name in ("t.pftrace", "r.html", "f.json"))
    kills = ("--kill-every", 3)
    done = sim(trace, other, *kills, "--timeline", timeline, "--report", report, "--json", figures)
    assert done.exit_code == 0, done.output
    assert f"timeline: {timeline} (opens in ui.perfetto.dev)" in done.stdout
    assert f"report: {report}" in done.stdout
    assert HINT not in done.stdout
    first = json.loads(figures.read_text())
    file = Trace()
    file.ParseFromString(timeline.read_bytes())
    events = [packet.track_event for packet in file.packet if packet.HasField("track_event")]
    details = {
        name.iid: name.name for p in file.packet for name in p.interned_data.debug_annotation_names
    }
    blocks = [e for e in events if "bx" in {details[a.name_iid] for a in e.debug_annotations}]
    assert len(blocks) == first["blocks"] + first["more"][0]["blocks"]
    # Of two traces of one name, too, each track has a name of its own.
    tracks = [p.track_descriptor for p in file.packet if p.HasField("track_descriptor")]
    names = [one.thread.thread_name or one.process.process_name or one.name for one in tracks]
    assert len(set(names)) == len(names)
    assert {"trace 1, SM 0", "trace 2, SM 0 slot 0"} <= set(names)
    text = report.read_text()
    for one in (first, *first["more"]):
        assert f'<dd data-figure="cycles">{one["cycles"]:,}</dd>' in text
        assert f"{one['trace']}</h1>" in text
    assert text.count("--kill-every 3") == 2


def test_a_run_without_views_names_them_in_one_line(trace: Path) -> None:
    done = sim(trace, "--launches", 6)
    assert done.exit_code == 0, done.output
    assert [line for line in done.stdout.splitlines() if "--report" in line] == [
        f"{HINT} (with make: TIMELINE=run.pftrace REPORT=run.html)"
    ]


@pytest.mark.parametrize("option", ["--timeline", "--report"])
def test_what_cannot_be_written_is_refused_before_the_run(
    tmp_path: Path, trace: Path, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim_run, "run", lambda _: pytest.fail("it ran"))
    before = sorted(tmp_path.rglob("*"))
    for bad, said in (
        (tmp_path / "no" / "f", "is in a folder that does not exist"),
        (tmp_path, "is a directory"),
        (trace, "is the trace itself"),
        ("/proc/f", "cannot be written"),
        ("", "is no name"),
    ):
        done = sim(trace, option, bad)
        assert done.exit_code == 2, done.output
        assert said in done.stderr and option in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_both_in_one_file_are_refused(tmp_path: Path, trace: Path) -> None:
    done = sim(trace, "--timeline", tmp_path / "a", "--report", tmp_path / "a")
    assert done.exit_code == 2
    assert "is what --timeline writes" in done.stderr


@pytest.mark.parametrize(
    ("option", "package"),
    [("--timeline", "perfetto"), ("--report", "jinja2"), ("--report", "matplotlib")],
)
def test_a_missing_package_is_named_before_the_run(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch, option: str, package: str
) -> None:
    find = extras.importlib.import_module

    def missing(name: str) -> Any:
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(name=package)
        return find(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    monkeypatch.setattr(rtl_replay, "run_one", lambda _: pytest.fail("it ran"))
    done = sim(trace, option, tmp_path / "f")
    assert done.exit_code == 2, done.output
    assert package in done.stderr and "warploom[report]" in done.stderr
    assert not (tmp_path / "f").exists()


def test_a_run_that_differs_has_no_views(tmp_path: Path, trace: Path) -> None:
    timeline, report = tmp_path / "t", tmp_path / "r"
    fault = ("--launches", 6, "--forced-fault", "event.offers.3.0")
    done = sim(trace, *fault, "--timeline", timeline, "--report", report)
    assert done.exit_code == 1
    for file in (timeline, report):
        assert f"{file} not written: RTL and model differ" in done.stdout
        assert not file.exists()


def test_what_breaks_while_it_is_written_leaves_nothing(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, mode: str) -> IO[Any]:
        self.touch()
        return open("/dev/full", mode)

    run = replay(trace, "tiny", time_scale="1/32")
    options = ReplayRequest(traces=(trace,), timeline=tmp_path / "t")
    outcome = rtl_replay.Outcome({}, [], run)
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space"):
        replay_views.write(options, [outcome])
    with pytest.raises(OSError, match="No space"):
        page.write_page(tmp_path / "r", "page", page.WIDE, sections=[])
    assert sorted(tmp_path.iterdir()) == before


def test_recorded_lengths_have_all_other_settings(tmp_path: Path) -> None:
    trace = write(tmp_path, random_document(random.Random(11), 12))
    options = ReplayRequest(
        traces=(trace,),
        config="tiny",
        seed=5,
        launches=7,
        time_scale=Fraction(1, 64),
        kill_every=3,
        arrivals="trace",
        contention="sharing",
        knee=3,
        device=0,
    )
    recorded = replay_views.recorded_lengths(options)
    assert recorded is not None
    settings: dict[str, Any] = {"seed": 5, "launches": 7, "kill_every": 3, "device": 0}
    settings |= {"contention": "sharing", "knee": 3, "arrivals": "trace"}
    same = replay(trace, "tiny", time_scale=1, **settings)
    assert recorded.settings.time_scale == 1
    assert recorded.blocks.end.tolist() == same.blocks.end.tolist()
    with_defaults = replay(trace, "tiny", time_scale=1, seed=5, launches=7)
    assert recorded.blocks.end.tolist() != with_defaults.blocks.end.tolist()


def test_recorded_lengths_that_are_refused_are_none(tmp_path: Path) -> None:
    document = random_document(random.Random(3), 6)
    for event in document["traceEvents"]:
        if event.get("cat") == "kernel":
            event["dur"] = 1e5
    options = ReplayRequest(traces=(write(tmp_path, document),), config="tiny")
    assert replay_views.recorded_lengths(options) is None
