"""Launches that a host sends over AXI4-Lite: the main job through the doorbell, and its cost."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tb.sim.conftest import MANY
from tb.sim.replay.test_arrivals_replay import equal_figures, sim
from tb.support.planted_replays import choose
from tb.support.shared_replay import SharedReplay
from tb.support.trace_files import (
    random_document,
    waiting_document,
    write,
)
from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.host_source import HostCycles
from warploom_golden.replay.waits import Waits
from warploom_sim import replay as replayed
from warploom_sim.replay.replay_job import prepare
from warploom_sim.replay.request import ReplayRequest
from warploom_spec import LaunchDescriptor, preset, timing

TRACES = Path(__file__).parents[3] / "traces"
TINY = ("--sim", "icarus", "--config", "tiny")
AXI = ("--host", "axi")
#: Launches that a priority's queue holds until they end.
DEPTH = preset("tiny").queue_depth
LAUNCH = LaunchDescriptor(grid=(2, 1, 1), block=(8, 1, 1), arguments=2000)


def test_a_random_trace_through_the_doorbell_is_equal(tmp_path: Path, seed: int) -> None:
    trace = write(tmp_path, random_document(random.Random(seed), 10))
    figures = equal_figures(tmp_path, trace, *TINY, *AXI, "--contention", "sharing")
    assert (figures["host"], figures["launches"]) == ("axi", 10)
    assert figures["doorbells"] >= 10


@pytest.mark.thorough
def test_a_full_queue_is_rung_again_and_the_cost_is_told(crowded_replay: SharedReplay) -> None:
    figures = crowded_replay.figures
    assert figures["launches"] == MANY < figures["doorbells"]
    assert (figures["refused"], figures["fates"]) == ({}, {"finished": MANY})
    assert (
        figures["cycles_direct"] == replayed(crowded_replay.trace, "tiny", time_scale="1/32").cycles
    )
    assert figures["host_cycles"] == figures["cycles"] - figures["cycles_direct"] > 0
    # The host is the quicker one: the blocks alone decide when the last launch ends.
    assert figures["host_cycles"] < 500
    assert [one["refusal"] for one in figures["per_launch"]] == [None] * MANY
    for said in ("| host ", "| doorbells ", "| cycles with --host direct ", "cycles that the host"):
        assert said in crowded_replay.stdout


@pytest.mark.thorough
def test_streams_wait_for_each_other_and_have_priorities(tmp_path: Path, seed: int) -> None:
    """Pairs in the launch's words, and what the host itself holds; the same launches as without."""
    trace = write(tmp_path, waiting_document(random.Random(seed), 40, 8))
    job = prepare(ReplayRequest(traces=(trace,), config="tiny"))
    assert any(job.waits.held) and any(len(own) == 2 for own in job.waits.pairs)
    options = ("--priority", "0=3", "--priority", "4=1")
    figures = equal_figures(tmp_path, trace, *TINY, *AXI, *options)
    assert figures["event_waits_kept"] == job.trace.waits.count > 10
    assert (figures["priority"], figures["launches"]) == ("0=3 4=1", 40)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["host.lost_word", "host.no_repeat"])
def test_a_planted_fault_in_the_host_is_found(
    tmp_path: Path, crowded_replay: SharedReplay, fault: str
) -> None:
    result, figures = sim(tmp_path, crowded_replay.trace, *TINY, *AXI, "--forced-fault", fault)
    assert result.exit_code == 1
    assert figures["verdict"] == "different"


@pytest.mark.thorough
def test_a_planted_fault_in_the_core_is_found(
    tmp_path: Path, crowded_replay: SharedReplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "not_offered")
    result, figures = sim(tmp_path, crowded_replay.trace, *TINY, *AXI)
    assert result.exit_code == 1
    assert figures["verdict"] == "different"


def test_without_a_host_figures_are_as_ever(tmp_path: Path, plain_replay: SharedReplay) -> None:
    figures = plain_replay.figures
    assert figures["host"] == "direct" and "doorbells" not in figures
    result, _ = sim(tmp_path, plain_replay.trace, *TINY, "--forced-fault", "host.no_repeat")
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--kill-every", 2), "host is axi with kill_every 2; legal: direct"),
        (("--arrivals", "trace"), "host is axi with arrivals trace; legal: direct"),
    ],
)
def test_what_a_host_does_not_do_is_refused(
    tmp_path: Path, option: tuple[object, ...], said: str
) -> None:
    trace = write(tmp_path, random_document(random.Random(1), 3))
    result, figures = sim(tmp_path, trace, *TINY, *AXI, *option)
    assert (result.exit_code, figures) == (2, {})
    assert said in " ".join(result.stderr.split())


# --- the model that is given what the host did ---------------------------------------------------


def hosted(transfers: list[int], pops: list[int], count: int) -> Events:
    """Return the events of launches that transfer, and of records that are popped, in cycles."""
    host = HostCycles(transfers, pops)
    return event_model.run([LAUNCH] * count, preset("tiny"), 1, host=host)


def answers(transfers: list[int], pops: list[int], count: int) -> list[tuple[int, int]]:
    """Return cycle and code of each answer."""
    table = hosted(transfers, pops, count).tables["answers"]
    return list(zip(table["cycle"].tolist(), table["code"].tolist(), strict=True))


def test_a_given_transfer_is_answered_ten_cycles_later() -> None:
    assert answers([100, 130], [], 2) == [(110, 0), (140, 0)]


def test_a_transfer_without_room_is_none() -> None:
    """As many as a priority has entries are accepted; the next one comes when one has ended."""
    transfers = [*range(100, 100 + 20 * (DEPTH + 1), 20), 1000, 3000]
    got = answers(transfers, [], DEPTH + 1)
    assert got == [(cycle + 10, 0) for cycle in (*transfers[:DEPTH], 3000)]


def test_without_pops_the_records_run_out() -> None:
    """A record that is popped makes room for one launch; a place is kept for a command's."""
    most = preset("tiny").records - 1
    transfers = [100 + 5000 * k for k in range(most + 1)]
    assert len(answers(transfers, [], most + 1)) == most
    assert len(answers(transfers, [transfers[-1] - 10], most + 1)) == most + 1


def test_a_launch_has_its_pairs_when_it_comes_late() -> None:
    """It waits for the last one of the other stream, long after it was accepted."""
    last, config = DEPTH, preset("tiny")
    launches = [*[LAUNCH] * last, replace(LAUNCH, stream=1)]
    host = HostCycles([*range(100, 100 + 20 * last, 20), 3000], [])
    waits = Waits([*[()] * last, ((0, last),)], [()] * (last + 1))
    tables = event_model.run(launches, config, 1, waits=waits, host=host).tables
    assert tables["answers"]["code"].tolist() == [0] * (last + 1)
    first = tables["offers"]["cycle"][tables["offers"]["ticket"] == last + 1].min()
    # The cycle of a record is that of its last word, six behind its first one.
    record = int(tables["ended"]["cycle"][tables["ended"]["ticket"] == last][0]) - 6
    assert int(first) == record + 24 > 3500


def test_a_launch_that_comes_in_the_boot_waits_for_a_boot_that_begins_a_cycle_late() -> None:
    """FrontEnd resets its core a cycle later than a bench resets a launch path."""
    config = preset("default")
    boot = timing(config).resident_boot
    assert boot > 200
    direct = event_model.run([LAUNCH], config, 1).tables["starts"]["cycle"]
    hosted = event_model.run([LAUNCH], config, 1, host=HostCycles([100], [])).tables["starts"]
    assert (direct.tolist(), hosted["cycle"].tolist()) == ([boot], [boot + 1])


def test_transfers_beyond_the_launches_are_no_launches() -> None:
    assert answers([100, 130, 150], [], 2) == [(110, 0), (140, 0)]


@pytest.mark.deep
@pytest.mark.parametrize("name", ["resnet50_infer", "stencil3d_shapes", "googlenet_branches"])
def test_the_main_job_through_the_doorbell_is_equal(tmp_path: Path, name: str) -> None:
    figures = equal_figures(tmp_path, TRACES / f"{name}.json.gz", *AXI)
    assert figures["doorbells"] > figures["launches"]
    assert figures["host_cycles"] < 0.01 * figures["cycles"]
