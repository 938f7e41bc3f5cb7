"""Whole recordings through the RTL, within the time that is promised for them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from warploom_golden.replay.event_constants import PREDICTED_POLICIES
from warploom_sim import cli
from warploom_spec.config import RECLAIMS

pytestmark = pytest.mark.deep

TRACES = Path(__file__).parents[3] / "traces"
RESNET = TRACES / "resnet50_infer.json.gz"
STENCIL = TRACES / "stencil3d_shapes.json.gz"
STREAMS = TRACES / "two_streams_priority.json.gz"


def sim(folder: Path, *arguments: object) -> dict[str, Any]:
    """Run ``warploom sim``; demand that all was equal; return the figures."""
    file = folder / "figures.json"
    words = ["sim", *map(str, arguments), "--json", str(file)]
    result = CliRunner().invoke(cli.main, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    figures: dict[str, Any] = json.loads(file.read_text())
    assert (figures["verdict"], figures["mismatches"]) == ("equal", 0)
    return figures


def test_resnet50_whole_on_verilator_in_ninety_seconds(tmp_path: Path) -> None:
    figures = sim(tmp_path, RESNET)
    assert (figures["launches"], figures["refused"], figures["blocks"]) == (232, {}, 451_229)
    assert figures["compared_events"] >= 2 * 451_229
    assert figures["wall_s"] <= 90


def test_twenty_launches_on_icarus_in_five_minutes(tmp_path: Path) -> None:
    figures = sim(tmp_path, RESNET, "--sim", "icarus", "--launches", 20)
    assert figures["cycles"] > 240_000
    assert figures["wall_s"] <= 300


@pytest.mark.parametrize("trace", [STENCIL, STREAMS], ids=lambda path: path.name)
def test_the_other_recordings(tmp_path: Path, trace: Path) -> None:
    assert sim(tmp_path, trace)["refused"] == {}


@pytest.mark.parametrize("trace", [RESNET, STENCIL], ids=lambda path: path.name)
def test_tiny_refuses_many_and_goes_on(tmp_path: Path, trace: Path) -> None:
    figures = sim(tmp_path, trace, "--config", "tiny")
    assert sum(figures["refused"].values()) > 30
    assert figures["blocks"] > 100_000


@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("policy", PREDICTED_POLICIES)
def test_every_policy_on_two_streams(tmp_path: Path, policy: str, reclaim: str) -> None:
    figures = sim(tmp_path, STREAMS, "--policy", policy, "--reclaim", reclaim, "--launches", 40)
    assert figures["blocks"] > 10_000


@pytest.mark.parametrize("reclaim", RECLAIMS)
@pytest.mark.parametrize("every", [3, 7])
@pytest.mark.parametrize("trace", [RESNET, STENCIL], ids=lambda path: path.name)
def test_kills(tmp_path: Path, trace: Path, every: int, reclaim: str) -> None:
    figures = sim(tmp_path, trace, "--kill-every", every, "--reclaim", reclaim)
    chosen = (figures["launches"] - 1) // every
    # A launch that had every block reported when its kill came is finished.
    assert 0.9 * chosen <= figures["fates"]["aborted"] <= chosen


def test_kills_on_large(tmp_path: Path) -> None:
    figures = sim(tmp_path, RESNET, "--config", "large", "--launches", 12, "--kill-every", 3)
    assert figures["fates"]["aborted"] == 3
