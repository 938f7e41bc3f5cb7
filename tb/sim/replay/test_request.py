"""A replay's options: what a field of `ReplayRequest` says holds in every place that takes it."""

import inspect
import json
import os
import random
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support.trace_files import random_document, write
from warploom_sim import cli, replay
from warploom_sim.replay.model_run import ModelJob
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.replay.request_fields import Role, Surface, conditions, options, plain, words
from warploom_sim.traces.gpus import named
from warploom_spec import WarploomError, preset

ROOT = Path(__file__).parents[3]
#: A new option, as CONTRIBUTING has it: one declaration and nothing else.
FIELD = """    pace: int = option("--pace", Whole(1, 9), "Steps of a toy in a cycle.", 3)

"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write(tmp_path, random_document(random.Random(1), 4))


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tool, to which the field was added."""
    folder = tmp_path_factory.mktemp("toy")
    ignored = shutil.ignore_patterns("__pycache__")
    package = shutil.copytree(
        ROOT / "sim" / "warploom_sim", folder / "warploom_sim", ignore=ignored
    )
    file = package / "replay" / "request.py"
    before, after = file.read_text().split("    def __post_init__")
    file.write_text(f"{before}{FIELD}    def __post_init__{after}")
    return folder


def python(toy: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python with the toy's tool, in its folder."""
    path = os.pathsep.join([str(toy), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100"},
        cwd=toy,
        capture_output=True,
        text=True,
        check=False,
    )


def warploom(toy: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return python(toy, "-c", "from warploom_sim.cli import main; main()", *arguments)


@pytest.mark.parametrize(("command", "metavar"), [("sim", "N"), ("compare", "N,...")])
def test_a_new_field_is_in_the_help_and_refuses(
    toy: Path, trace: Path, command: str, metavar: str
) -> None:
    shown = warploom(toy, command, "--help")
    assert f"--pace {metavar} " in shown.stdout
    assert "Steps of a toy in a cycle.  [default: 3]" in " ".join(shown.stdout.split("\n")).replace(
        "                                  ", ""
    )
    refused = warploom(toy, command, trace, "--pace", 10)
    assert (refused.returncode, refused.stdout) == (2, "")
    said = "Error: Invalid value for '--pace': '10'; legal: 1 to 9.\n"
    assert refused.stderr == said


@pytest.mark.thorough
def test_a_new_field_is_in_the_json_and_in_the_words_of_a_failure(toy: Path, trace: Path) -> None:
    """The model's own process takes it, too: it refuses a field that it does not know."""
    figures = toy / "figures.json"
    options = (trace, "--sim", "icarus", "--config", "tiny", "--json", figures)
    done = warploom(toy, "sim", *options, "--pace", 5, "--forced-fault", "event.offers.0.64")
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads(figures.read_text())["pace"] == 5
    assert "--pace 5" in done.stdout.split("again with: ")[1].splitlines()[0].split("trace.json")[1]


#: Prints what the Python call, kept results and workers make of the field.
SCRIPT = """
import dataclasses, inspect, json, pickle, sys
from pathlib import Path
from warploom_sim import replay
from warploom_sim.replay.model_run import ModelJob
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.sweep.execute import execute
from warploom_sim.sweep.labels import baseline, label, varying
from warploom_sim.sweep.plan import plan
from warploom_sim.sweep.result_folder import ResultFolder
from warploom_sim.traces.gpus import named
from warploom_spec import WarploomError, preset

trace = Path(sys.argv[1])
said = {"signature": inspect.signature(replay).parameters["pace"].default}
said["help"] = "Steps of a toy" in replay.__doc__
said["settings"] = replay(trace, "tiny", pace=4).settings.pace
runs = plan((trace,), {"config": ("tiny",), "pace": (2, 5)})
said["names"] = len({run.run_id for run in runs})
sent = [pickle.loads(pickle.dumps(run)) for run in runs]
said["sent"] = [run.request.pace for run in sent]
results = ResultFolder(Path("runs"), "a")
for run in sent:
    results.write(run, execute(run, trace.read_bytes()).row)
rows = [results.read(run) for run in runs]
said["rows"] = [row["pace"] for row in rows]
said["labels"] = [label(row, varying(rows)) for row in rows]
said["same work"] = baseline(rows[1], rows) is rows[0]
job = ModelJob(request=ReplayRequest(traces=(trace,), pace=7), config=preset("tiny"))
said["job"] = json.loads(job.to_json())["request"]["pace"]
said["job's pace"] = ModelJob.from_json(job.to_json()).request.pace
said["refused"] = []
for call in (
    lambda: replay(trace, "tiny", pace=0),
    lambda: ReplayRequest(traces=(trace,), pace="7"),
    lambda: plan((trace,), {"pace": (3, 10)}),
    lambda: ModelJob.from_json(job.to_json().replace('"pace": 7', '"pace": 70')),
):
    try:
        call()
    except WarploomError as error:
        said["refused"].append(str(error))
print(json.dumps(said))
"""


def test_a_new_field_is_in_the_call_the_kept_results_and_the_workers_jobs(
    toy: Path, trace: Path
) -> None:
    done = python(toy, "-c", SCRIPT, trace)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "signature": 3,
        "help": True,
        "settings": 4,
        "names": 2,
        "sent": [2, 5],
        "rows": [2, 5],
        "labels": ["pace 2", "pace 5"],
        "same work": False,
        "job": 7,
        "job's pace": 7,
        "refused": [f"pace is {value}; legal: 1 to 9" for value in ("0", "'7'", "10", "70")],
    }


# The fields that there are


def test_every_field_but_the_traces_is_an_option_of_another_name() -> None:
    found = options(ReplayRequest)
    assert list(vars(ReplayRequest(traces=()))) == ["traces", *found]
    for of in ("flag", "key", "variable"):
        assert len({getattr(one, of) for one in found.values()}) == len(found)
    for name, one in found.items():
        assert one.checked(name, one.default) == one.default
        assert one.help.endswith(".")


ILLEGAL: dict[str, tuple[Any, ...]] = {
    "simulator": ("vcs", 1),
    "config": ("huge", None),
    "settings": ("sms=4", (4,)),
    "policy": ("x", ("first_fit",)),
    "reclaim": ("x", 0),
    "time_scale": (0, "1e9", None, float("nan"), float("inf"), "1/0", (), True - 1),
    "contention": ("x", None, True),
    "knee": (0, 65536, "8", 1.5),
    "arrivals": ("late", None),
    "allocator": ("x", None),
    "kill_every": (0, "3", True),
    "events": ("drop", None, True),
    "priorities": (("1",), ("1=3", "1=2"), (1,)),
    "launches": (0, -1, "3", 2.0),
    "seed": (-1, 2**32, None, True),
    "device": (-1, "0"),
    "gpu": ("", "V10", 1, "no.json"),
    "host": ("usb", None),
    "rtl": (1, None, "yes"),
    "strict": (1, None),
    "forced_fault": (1,),
    "waves": (1, "yes"),
    "wave_cycles": ((3, 2), "3", (1, 2, 3), 5),
    "json": ("", 1),
    "launches_csv": ("", 1),
    "timeline": ("", 1),
    "report": ("", 1),
}


@pytest.mark.parametrize("name", options(ReplayRequest))
def test_what_is_illegal_is_refused_with_field_value_and_what_is_legal(name: str) -> None:
    for value in ILLEGAL[name]:
        with pytest.raises(WarploomError) as refused:
            ReplayRequest(traces=(), **{name: value})
        assert str(refused.value) == (
            f"{name} is {value!r}; legal: {options(ReplayRequest)[name].kind.legal}"
        )


def test_what_has_no_part_is_none() -> None:
    request = ReplayRequest(
        traces=(), contention="none", knee=3, simulator="icarus", wave_cycles=(1, 2)
    )
    assert (request.knee, request.simulator, request.wave_cycles) == (None, None, None)
    given = ReplayRequest(
        traces=(),
        contention="sharing",
        rtl=True,
        waves=True,
        wave_cycles="3:9",
    )
    assert (given.knee, given.simulator, given.wave_cycles) == (16, "verilator", (3, 9))


def full(trace: Path) -> ReplayRequest:
    """Return a request in which no option that decides something is the default.

    Contention is: only with it there is a knee.
    """
    return ReplayRequest(
        traces=(trace,),
        simulator="icarus",
        config="tiny",
        settings=("sms=3", "grid_bits=9,8,8"),
        policy="first_fit",
        reclaim="in_order",
        time_scale=Fraction(1, 8),
        contention="sharing",
        knee=3,
        arrivals="trace",
        allocator="own",
        kill_every=2,
        events="ignore",
        priorities=("1=3",),
        launches=5,
        seed=7,
        device=0,
        gpu=named("A100"),
        rtl=True,
        strict=True,
        forced_fault="event.offers.0.64",
    )


def test_the_command_that_runs_it_again_is_the_same_request(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = full(trace)
    kept = ("traces", "host", "rtl", "waves", "wave_cycles", "json", "contention")
    default = ReplayRequest(traces=(), rtl=True)
    for name in options(ReplayRequest).keys() - {*kept, "launches_csv", "timeline", "report"}:
        assert getattr(request, name) != getattr(default, name), name
    seen: list[ReplayRequest] = []
    monkeypatch.setattr("warploom_sim.commands.sim_run.run", lambda one: seen.append(one) or 0)
    hosted = ReplayRequest(traces=(trace,), rtl=True, host="axi", contention="none")
    for one in (request, hosted):
        done = CliRunner().invoke(cli.main, ["sim", str(trace), *words(one, Surface.SIM)])
        assert done.exit_code == 0, done.output
    assert seen == [request, hosted]


def test_the_models_job_is_the_request_as_far_as_the_model_is_told(trace: Path) -> None:
    request, config = full(trace), preset("tiny")
    again = ModelJob.from_json(ModelJob(request=request, config=config).to_json())
    for name, one in options(ReplayRequest).items():
        told = one.role in (Role.WORK, Role.SOFTWARE)
        value = getattr(request, name) if told else getattr(ReplayRequest(traces=()), name)
        assert getattr(again.request, name) == value, name
    assert (again.config, again.request.traces) == (config, (trace,))


def test_json_and_the_report_have_the_options(trace: Path) -> None:
    found = plain(full(trace))
    assert json.loads(json.dumps(found)) == found
    assert (found["set"], found["time_scale"], found["first"]) == (
        ["sms=3", "grid_bits=9,8,8"],
        "1/8",
        5,
    )
    said = "time scale 1/8, contention sharing, knee 3, arrivals trace, kill every 2, first 5"
    all_set = conditions(full(trace))
    assert {"events ignore", "priority 1=3"} <= set(all_set)
    assert {*said.split(", "), "seed 7", "device 0", "gpu A100"} <= set(all_set)
    assert len(all_set) == sum(one.role is Role.WORK for one in options(ReplayRequest).values())
    by_default = conditions(ReplayRequest(traces=()))
    assert {"time scale 1/32", "seed 1", "contention sharing", "knee 16"} <= set(by_default)
    assert not any(word in said for said in by_default for word in ("arrivals", "kill"))
    assert "contention none" in conditions(ReplayRequest(traces=(), contention="none"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("compare --host axi", "--host axi is refused by warploom compare: its runs have no host;"),
        ("compare --waves", "--waves is refused by warploom compare: warploom sim --waves writes"),
        ("compare --timeline t", "--timeline t is refused by warploom compare: warploom sim"),
        ("compare --sim icarus", "--sim icarus counts only with --rtl; give that, too"),
        (
            "compare --contention none --knee 3,4",
            "--knee 3 4 counts only with --contention sharing; give that, too",
        ),
        ("compare --first 3", "Invalid value for '--first': give --launches 3 instead."),
        ("compare --launches a.json b.json", "legal: 1 or more. two results are compared by: "),
        ("sim --wave-cycles 3:9", "--wave-cycles 3:9 counts only with --waves; give that, too"),
        ("sim --host axi --kill-every 3", "host is axi with kill_every 3; legal: direct"),
        ("sim --host axi --arrivals trace", "host is axi with arrivals trace; legal: direct"),
    ],
)
def test_what_a_command_cannot_do_is_refused_in_a_line(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *rest = arguments.split()
    (tmp_path / "b.json").write_text("{}")
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(cli.main, [command, str(trace), *rest], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"host": "axi"}, "host is axi without the RTL; legal: direct"),
        ({"waves": True}, "waves=True is refused by warploom_sim.replay: warploom sim --waves"),
        ({"json": "f.json"}, "json=.* is refused by warploom_sim.replay: it returns the result"),
        ({"simulator": "icarus"}, "simulator='icarus' counts only with rtl=True; give that, too"),
        (
            {"contention": "none", "knee": 3},
            "knee=3 counts only with contention='sharing'; give that, too",
        ),
        ({"settings": ("sms=3",), "sms": 4}, "sms is set twice: to 3 and 4"),
    ],
)
def test_what_the_call_cannot_do_is_refused(trace: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(WarploomError, match=said):
        replay(trace, "tiny", **given)


def test_the_calls_help_has_the_options_of_the_request() -> None:
    parameters = inspect.signature(replay).parameters
    taken = [n for n, one in options(ReplayRequest).items() if Surface.PYTHON not in one.refused]
    assert list(parameters) == ["trace", "config", *(n for n in taken if n != "config"), "fields"]
    assert replay.__doc__ and all(
        options(ReplayRequest)[name].help in replay.__doc__ for name in taken if name != "config"
    )
    assert parameters["time_scale"].default == 1
