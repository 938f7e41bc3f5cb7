"""Checks of a copy of the product with the toy resource; `test_toy_resource` runs them there."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from tb.host import test_driver_accesses as accesses
from tb.launch import test_launch_check as launch_check
from tb.sim.replay import test_limits as limits
from tb.support.block_dispatcher_cases import resident_case
from tb.support.block_dispatcher_rules import RTL_AND_MODEL, TINY, drive, given, start
from tb.support.planted import Change, plant
from warploom.dispatch import BlockDispatcher
from warploom.dispatch.amounts import Amounts
from warploom.launch import LaunchCheck
from warploom_golden.merging.mapping_table import MappingTable
from warploom_golden.merging.task import Task
from warploom_sim import cli
from warploom_sim.cosim.lockstep import LockstepError, run
from warploom_sim.replay import expected
from warploom_sim.replay.analysis.limits import LABELS, LIMITS
from warploom_sim.verilog.register_map import c_header
from warploom_sim.verilog.sv_package import package
from warploom_spec import RESOURCES, ErrorCode, LaunchDescriptor
from warploom_spec.host_registers import register_addresses

host = accesses.host
#: What ``tiny`` has.
CORES = 4
ONE = LaunchDescriptor(grid=(3, 1, 1), block=(8, 1, 1), code=1, arguments=20)


def test_it_is_the_last_resource() -> None:
    assert RESOURCES[-1] == "tensor"
    assert LABELS["tensor"] == "tensor cores" and "tensor" in LIMITS


# RTL and models


def test_launch_check_refuses_a_block_that_takes_too_much() -> None:
    legal = replace(launch_check.LEGAL, tensor=CORES)
    result = launch_check.checked(TINY, legal)
    assert (result["error"], result["tensor"]) == (ErrorCode.OK, CORES)
    result = launch_check.checked(TINY, replace(legal, tensor=CORES + 1))
    assert result["error"] == ErrorCode.BLOCK_TENSOR  # type: ignore[attr-defined]


def test_launch_check_equals_its_model(seed: int) -> None:
    run([launch_check.case("tiny", seed + n) for n in range(4)], "amaranth", waves=False)


def test_a_launch_check_that_lets_it_pass_is_found(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    change = Change(LaunchCheck, "_plain_errors", "r.limit(config)", "r.limit(config) | 8")
    plant(monkeypatch, [change])
    with pytest.raises(LockstepError):
        run([launch_check.case("tiny", seed + n) for n in range(24)], "amaranth", waves=False)


@RTL_AND_MODEL
def test_it_holds_a_block_back_and_is_counted(block) -> None:  # type: ignore[no-untyped-def]
    # Of 4 cores a block takes 3: one block on each SM; the third fits on none.
    recording = drive(block, {0: start(gx=3, tensor=3)})
    assert len(given(recording)) == 2
    assert (recording.port("stall_tensor")[-1] or 0) > 10


def test_the_dispatcher_equals_its_model(seed: int) -> None:
    cases = [resident_case("tiny,stream_bits=2", "usual", seed + n, 1200) for n in range(2)]
    run(cases, "amaranth", waves=False)


def test_room_without_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The directed test tells: lockstep's launches may run out of something else."""
    change = Change(
        Amounts,
        "enough",
        "x >= y for x, y in zip(",
        '(x >= y) | (name == "tensor") for name, x, y in zip(self.names, ',
    )
    plant(monkeypatch, [change])
    with pytest.raises(AssertionError):
        test_it_holds_a_block_back_and_is_counted(BlockDispatcher)


# Host, tool


def test_no_register_moves() -> None:
    addresses = register_addresses(TINY)
    assert (addresses["STALL_OFFER"], addresses["STALL_TENSOR"]) == (0x118, 0x11C)


def test_the_headers_have_it() -> None:
    text = c_header(TINY, "tiny")
    for name in ("LAUNCH_TENSOR_SHIFT", "STALL_TENSOR_ADDRESS", "ERROR_BLOCK_TENSOR"):
        assert f"#define WARPLOOM_{name} " in text, name
    assert "tensor;  // tensor cores of one block" in package(TINY, "tiny")


def test_both_drivers_write_it(host) -> None:  # type: ignore[no-untyped-def]
    fields = accesses.NOTHING | {"tensor": 15}
    script = accesses.rings(T9=0x00F00000)
    assert accesses.made(host, "submit_launch", script, 0, **fields) == 0
    assert accesses.made(host, "submit_launch", [], 0, **fields | {"tensor": 16}) == accesses.RANGE


def test_a_replay_s_demand_counts_refusals() -> None:
    many = [replace(ONE, tensor=n) for n in range(CORES + 3)]
    assert expected.count(many, TINY).refused == {"BLOCK_TENSOR": 2}


def test_a_merged_launch_takes_the_most() -> None:
    tasks = tuple(Task(launch=replace(ONE, tensor=n)) for n in (1, 3, 2))
    assert MappingTable(tasks, ()).launch(TINY).tensor == 3  # type: ignore[attr-defined]
    assert tasks[1].need(TINY)[-1] == 3


def test_limits_have_the_numbers_of_the_walk() -> None:
    limits.test_limits_have_the_numbers_of_the_walk()
    limits.test_a_third_launch_is_the_head_while_two_others_run()


@pytest.mark.deep
def test_a_replay_of_rtl_and_model_shows_it() -> None:
    options = "--config tiny --launches 40 --set max_threads=512"
    line = f"sim traces/two_streams_priority.json.gz {options}"
    done = CliRunner().invoke(cli.main, line.split())
    assert done.exit_code == 0, done.output
    assert "tensor" in done.output
