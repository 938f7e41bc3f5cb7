"""Contention through LaunchPath's Verilog: equal to the model, read by the command, refused."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support.deep_values import deep_but
from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import document, random_document, write
from warploom_sim import cli, replay
from warploom_sim.replay import simulation_run
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.traces.trace_launches import make_launches, recorded_load
from warploom_sim.traces.trace_reader import load
from warploom_spec import WarploomError, preset
from warploom_spec.config import RECLAIMS

TRACES = Path(__file__).parents[3] / "traces"
TINY = ("--sim", "icarus", "--config", "tiny")
FREE = ("--contention", "none")
SCALE = ReplayRequest(traces=()).time_scale


def sim(tmp_path: Path, *arguments: object) -> tuple[Result, dict[str, Any]]:
    """Run ``warploom sim`` with ``--json``; return what it printed, and the figures."""
    file = tmp_path / "figures.json"
    file.unlink(missing_ok=True)
    words = ["sim", *map(str, arguments), "--json", str(file)]
    result = CliRunner().invoke(cli.main, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result, json.loads(file.read_text()) if file.exists() else {}


@pytest.fixture
def trace(tmp_path: Path, seed: int) -> Path:
    return write(tmp_path, random_document(random.Random(seed), 24))


@pytest.fixture
def full_sms(tmp_path: Path) -> Path:
    """Two grids that were recorded at 4 warps of `tiny` an SM, and fill its SMs with 16."""
    content = document()
    for event in content["traceEvents"][2:]:
        event["args"] |= {"grid": [16, 1, 1], "block": [32, 1, 1]}
    return write(tmp_path, content)


def equal_cycles(tmp_path: Path, *arguments: object) -> int:
    """Replay; demand that every event was equal; return the cycles."""
    result, figures = sim(tmp_path, *arguments)
    assert result.exit_code == 0, result.output
    assert (figures["verdict"], figures["mismatches"]) == ("equal", 0)
    assert figures["compared_events"] >= figures["demanded_events"] > 0
    return int(figures["cycles"])


@pytest.mark.thorough
@pytest.mark.parametrize("reclaim", deep_but(["out_of_order"], RECLAIMS))
def test_rtl_and_model_are_equal_with_kills(tmp_path: Path, trace: Path, reclaim: str) -> None:
    options = (trace, *TINY, "--reclaim", reclaim, "--kill-every", 2)
    equal_cycles(tmp_path, *options, "--contention", "sharing", "--knee", 3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kills",
    [(), pytest.param(("--kill-every", 2), marks=pytest.mark.deep)],
    ids=["no kills", "kills"],
)
@pytest.mark.parametrize(
    "reclaim", ["in_order", pytest.param("out_of_order", marks=pytest.mark.deep)]
)
@pytest.mark.parametrize(
    "knees", [(3, 65_535), pytest.param((1, 3, 8, 65_535), marks=pytest.mark.deep)], ids=len
)
def test_rtl_and_model_are_equal_at_every_knee(
    tmp_path: Path, trace: Path, knees: tuple[int, ...], reclaim: str, kills: tuple[object, ...]
) -> None:
    options = (trace, *TINY, "--reclaim", reclaim, *kills)
    free = equal_cycles(tmp_path, *options, *FREE)
    by_knee = {
        knee: equal_cycles(tmp_path, *options, "--contention", "sharing", "--knee", knee)
        for knee in knees
    }
    # Above every load it is a replay without contention.
    assert by_knee[65_535] == free


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.parametrize("reclaim", deep_but(["out_of_order"], RECLAIMS))
def test_full_sms_take_longer_by_their_load(tmp_path: Path, full_sms: Path, reclaim: str) -> None:
    """On the model, and without contention and with one knee on the RTL, too."""
    given = {"time_scale": SCALE, "reclaim": reclaim}
    free = replay(full_sms, "tiny", contention="none", **given)
    # 16 warps where 4 were recorded: 16 / 4 times as long, 16 / 8 where 8 still run at full speed.
    by_knee = {knee: replay(full_sms, "tiny", knee=knee, **given) for knee in (1, 4, 8, 16)}
    for (knee, shared), times in zip(by_knee.items(), (4, 4, 2, 1), strict=True):
        assert 0.85 * times < shared.cycles / free.cycles <= times, knee
        assert (shared.settings.knee, free.settings.knee) == (knee, None)
    options = (full_sms, *TINY, "--reclaim", reclaim)
    result, figures = sim(tmp_path, *options, *FREE)
    assert (result.exit_code, figures["cycles"]) == (0, free.cycles)
    assert figures["contention"] == "none" and "knee" not in figures
    shared = equal_cycles(tmp_path, *options, "--contention", "sharing", "--knee", 8)
    assert shared == by_knee[8].cycles


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"contention": "much"}, "contention is 'much'; legal: none, sharing"),
        ({"contention": "sharing", "knee": 0}, "knee is 0; legal: 1 to 65535"),
    ],
)
def test_what_is_refused_from_python(trace: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(WarploomError, match=said):
        replay(trace, "tiny", **options)


def test_contention_is_on_unless_it_is_turned_off(plain_replay: SharedReplay) -> None:
    figures = plain_replay.figures
    assert (figures["contention"], figures["knee"]) == ("sharing", 16)
    assert "knee, warps of an SM at full speed" in plain_replay.stdout


@pytest.mark.thorough
def test_a_mismatch_says_how_to_see_it_again(tmp_path: Path, trace: Path) -> None:
    fault = ("--contention", "sharing", "--knee", "3", "--forced-fault", "event.reports.3.1")
    result, _ = sim(tmp_path, trace, *TINY, "--launches", 12, *fault)
    assert result.exit_code == 1
    again = result.stdout.split("again with: ")[1].splitlines()[0]
    assert "--contention sharing --knee 3 " in again
    assert again.endswith("--forced-fault event.reports.3.1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--contention", "bandwidth"), "'bandwidth'; legal: none, sharing"),
        (("--contention", "sharing", "--knee", "0"), "'0'; legal: 1 to 65535"),
        (("--contention", "sharing", "--knee", "x"), "legal: 1 to 65535"),
        ((*FREE, "--knee", "8"), "--knee 8 counts only with --contention sharing; give that, too"),
    ],
)
def test_what_is_refused(tmp_path: Path, trace: Path, options: tuple[str, ...], said: str) -> None:
    result, figures = sim(tmp_path, trace, *TINY, *options)
    assert (result.exit_code, result.stdout, figures) == (2, "", {})
    assert said in result.stderr


def test_a_silent_run_is_given_up_later() -> None:
    config = preset("default")
    knees = (None, 1, 16, 60, 64, 65_535)
    assert [simulation_run.slowdown(config, knee) for knee in knees] == [1, 64, 4, 2, 1, 1]


@pytest.mark.parametrize(
    ("grid", "block", "load"),
    [
        ((1, 1, 1), (128, 1, 1), 4),
        # A block on each of 132 SMs, two on one of them: two are counted.
        ((133, 1, 1), (128, 1, 1), 8),
        ((132 * 500, 1, 1), (128, 1, 1), 64),
        # Nine warps seven times, not rounded to the 64 slots.
        ((132 * 500, 1, 1), (257, 1, 1), 63),
    ],
)
def test_the_recorded_load(
    tmp_path: Path, grid: tuple[int, ...], block: tuple[int, ...], load: int
) -> None:
    content = document()
    for event in content["traceEvents"][2:]:
        event["args"] |= {"grid": list(grid), "block": list(block), "registers per thread": 0}
    trace = load_trace(tmp_path, content)
    assert {n.address_space for n in make_launches(trace, preset("default"), SCALE)} == {load}
    # In the replay's own warps: a quarter of the threads, four times the warps.
    tiny = recorded_load(trace, trace.launches[0], preset("tiny"))
    assert tiny == -(-block[0] // preset("tiny").warp_size) * (load // -(-block[0] // 32))


def load_trace(folder: Path, content: Any) -> Any:
    return load(write(folder, content))


def test_a_load_that_the_descriptor_cannot_hold_is_refused(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"][0] |= {
        "maxThreadsPerMultiprocessor": 2**40,
        "regsPerMultiprocessor": 2**40,
        "numSms": 1,
    }
    for event in content["traceEvents"][2:]:
        event["args"] |= {"grid": [2**20, 1, 1], "block": [1024, 64, 1]}
    with pytest.raises(WarploomError, match="65536 warps on an SM of .*; legal: up to 65535"):
        make_launches(load_trace(tmp_path, content), preset("default"), SCALE)


@pytest.mark.deep
@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("name", ["resnet50_infer", "stencil3d_shapes"])
def test_whole_recordings_are_equal_at_several_knees(
    tmp_path: Path, name: str, reclaim: str
) -> None:
    options = (TRACES / f"{name}.json.gz", "--reclaim", reclaim)
    free = equal_cycles(tmp_path, *options, *FREE)
    knees = (1, 5, 8, 16, 30, 64)
    by_knee = {
        knee: equal_cycles(tmp_path, *options, "--contention", "sharing", "--knee", knee)
        for knee in knees
    }
    assert by_knee[64] == free
    assert len(set(by_knee.values())) == len(knees), by_knee
