"""The placement policies that predictions know: their list, and what the others are told."""

import subprocess
import sys
from pathlib import Path

import pytest

from tb.support.toy_policy import IN_REGISTRY, NAME
from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.event_constants import PREDICTED_IN, PREDICTED_POLICIES
from warploom_spec import WarploomError
from warploom_spec.config import POLICIES

PLUGIN = "tb.support.toy_policy"
ROOT = Path(__file__).parents[2]
TRACE = "traces/stencil3d_shapes.json.gz"
STREAMS = "traces/two_streams_priority.json.gz"
#: Quick ones of the tests that run predictions.
QUICK = (
    "tb/merging/test_merged_replay.py",
    "tb/replay/test_pieces.py",
    "tb/spec/test_spec.py",
    "tb/sim/sweep/test_plan.py",
)
#: What `make test-all` runs.
THOROUGH = ("-m", "not deep and not fpga")
#: Where such tests are.
FOLDERS = ("tb/oracles", "tb/merging", "tb/preemption", "tb/replay", "tb/sim/sweep")


def test_predicted_policies_are_policies() -> None:
    assert set(PREDICTED_POLICIES) <= set(POLICIES)


def test_a_refusal_names_the_policy_the_legal_ones_and_the_file() -> None:
    with pytest.raises(WarploomError) as refused:
        check_predicted(NAME, PREDICTED_POLICIES, PREDICTED_IN)
    text = str(refused.value)
    assert text.startswith(f"policy is '{NAME}', ") and "\n" not in text
    assert f"legal: {', '.join(PREDICTED_POLICIES)} (" in text
    path = text.rsplit(" ", 1)[1].rstrip(")")
    assert path.endswith(PREDICTED_IN) and (ROOT / path).is_file()


def with_last_fit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with `last_fit` in the registry from the beginning."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=IN_REGISTRY,
        capture_output=True,
        text=True,
        check=False,
    )


#: Builds each predictor with the policy, then gives it to each command that predicts.
REFUSALS = f"""
import sys
import tb.support.toy_policy
from click.testing import CliRunner
from dataclasses import replace
from warploom_golden.merging.merged_dispatcher import MergedDispatcher
from warploom_golden.replay.residents.dispatcher import ResidentMachine
from warploom_sim import cli
from warploom_sim.cosim import simulators
from warploom_spec import WarploomError, preset

def build(*arguments):
    raise AssertionError("something was built")

simulators.require = build
config = replace(preset("tiny"), policy="{NAME}")
models = (
    lambda config: ResidentMachine(config, 1),
    lambda config: MergedDispatcher(config, lambda launch: None, "gate"),
)
for model in models:
    try:
        model(config)
    except WarploomError as error:
        print(2, error)
for line in sys.argv[1:]:
    done = CliRunner().invoke(cli.main, line.split())
    print(done.exit_code, done.output.strip().replace(chr(10), " / "))
"""


def test_predictors_and_commands_refuse_it_in_one_line(tmp_path: Path) -> None:
    lines = [
        f"sim {TRACE} --policy {NAME}",
        f"sim {TRACE} --set policy={NAME}",
        f"compare {TRACE} --policy first_fit,{NAME} --results {tmp_path / 'results'}",
        f"compare {TRACE} --set policy={NAME} --results {tmp_path / 'results'}",
        f"merge {TRACE} --policy {NAME} --json {tmp_path / 'merge.json'}",
        f"preempt {STREAMS} --urgent 31 --policy {NAME} --json {tmp_path / 'preempt.json'}",
    ]
    done = with_last_fit("-c", REFUSALS, *lines)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == 2 + len(lines)
    for line in said:
        assert line.startswith("2 ") and " / " not in line, line
        assert f"policy is '{NAME}', which is not predicted; legal: first_fit, " in line
        assert "golden/warploom_golden/" in line
    assert not [*tmp_path.iterdir()]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "paths",
    [QUICK, pytest.param((*FOLDERS, "tb/spec"), marks=pytest.mark.deep)],
    ids=["quick", "folders"],
)
def test_tests_are_green_before_a_prediction_is_written(paths: tuple[str, ...]) -> None:
    """What a policy's author sees behind the steps for RTL, model and registry."""
    unwanted = "not test_predicted_policies"
    chosen = (*THOROUGH, "-x", "-k", unwanted)
    done = with_last_fit("-m", "pytest", "-q", "-p", PLUGIN, *chosen, *paths)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


@pytest.mark.thorough
def test_no_case_of_the_predictions_is_for_a_policy_that_is_not_predicted() -> None:
    chosen = (*THOROUGH, "--collect-only", *FOLDERS, "tb/sim")
    done = with_last_fit("-m", "pytest", "-q", "-p", PLUGIN, *chosen)
    assert done.returncode == 0, done.stdout[-4000:]
    cases = [line for line in done.stdout.splitlines() if "::" in line]
    assert all(any(name in case for case in cases) for name in PREDICTED_POLICIES)
    assert not [case for case in cases if NAME in case]
