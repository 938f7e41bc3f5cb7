"""The lockstep harness refuses what does not fit, and says what it could not run."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import find_libpython
import pytest

from tb.support.lockstep_runs import failure_of, on_every_simulator
from tb.support.stream_buffer import StreamBuffer, StreamBufferModel, make, make_missing_port
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep import Case, Context, RandomStimulus, run, run_one
from warploom_sim.cosim.lockstep.cocotb_entry import PLAN
from warploom_sim.cosim.lockstep.compilation import _keep_runtime
from warploom_sim.cosim.lockstep.validity import Unresolved, Valid
from warploom_spec import WarploomError

# Ports


@on_every_simulator
def test_model_whose_ports_differ_is_refused(simulator: str, seed: int) -> None:
    error = failure_of(Case(make=make_missing_port, seed=seed), simulator, waves=False)
    assert error.failure.cycle == 0
    assert (
        "the model's outputs and the component's ports differ: missing ['level'], unknown ['fill']"
    ) in str(error)


class Extra(RandomStimulus):
    """Gives a value for a port that does not exist."""

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        return super().next(outputs) | {"nowhere": 1}


class TooWide(RandomStimulus):
    """Gives a value that is too wide for its port."""

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        return super().next(outputs) | {"fault": 8}


@pytest.mark.parametrize(
    ("stimulus", "complaint"),
    [
        (Extra, "the stimulus and the component's ports differ: missing [], unknown ['nowhere']"),
        (TooWide, "the stimulus gives fault = 0x8; legal: 0 to 0x7"),
    ],
)
def test_stimulus_that_does_not_fit_is_refused(stimulus: type, complaint: str, seed: int) -> None:
    assert complaint in str(failure_of(Case(make=make, seed=seed, stimulus=stimulus)))


def test_an_unresolved_value_equals_no_number() -> None:
    assert Unresolved("1x") not in range(4)


def test_an_unresolved_field_of_a_pulse_means_nothing_while_it_is_not_valid() -> None:
    valid = Valid("pulse", low=0, width=1)
    assert [valid.of(Unresolved(bits)) for bits in ("xx0", "xx1", "10x")] == [0, 1, 1]


# Bad input


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_a_missing_simulator_is_an_error(
    simulator: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(WarploomError, match=f"simulator {simulator}: .* is not installed"):
        run_one(Case(make=make, seed=seed), simulator)


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_a_python_without_its_shared_library_is_refused(
    simulator: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulators.require_libpython.cache_clear()
    monkeypatch.setattr(find_libpython, "find_libpython", lambda: None)
    with pytest.raises(
        WarploomError,
        match=r"^cocotb needs Python's shared library \(libpython3\.\d+\S*\), which .* has not got;"
        r" run: sudo apt-get install libpython3\.\d+ ",
    ):
        run_one(Case(make=make, seed=seed), simulator)


def test_an_unknown_simulator_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match="must be one of amaranth, icarus, verilator, got 'vcs'"):
        run_one(Case(make=make, seed=seed), "vcs")
    with pytest.raises(ValueError, match="at least one case"):
        run([], "amaranth")


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"make": lambda: make()}, "must be importable by name"),
        ({"make": "tb.support.stream_buffer:unmade"}, "cannot be imported"),
        ({"make": "make"}, "must have the form"),
        ({"params": {"depth": {1, 2}}}, "params must be plain JSON data"),
        ({"options": {"shape": (1, 2)}}, "options must be plain JSON data"),
        ({"cycles": 1}, "cycles must be at least 2"),
        ({"resets": 200}, "resets must be 0 to 125 in 2000 cycles"),
    ],
)
def test_a_case_that_cannot_be_rebuilt_is_refused(fields: dict, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Case(**({"make": make, "seed": 1} | fields))


def nothing(context: Context) -> Iterator[int]:
    return iter(())


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"withdrawable": {"x": "none"}}, "withdrawable names no stream: ['x']"),
        ({"sources": {"o": nothing}}, "sources for no input of the component: ['o']"),
    ],
)
def test_a_name_that_the_component_lacks_is_reported(
    fields: dict, complaint: str, seed: int
) -> None:
    assert complaint in str(failure_of(Case(make=make, seed=seed, **fields)))


def make_dying(where: str) -> tuple[StreamBuffer, StreamBufferModel]:
    if os.environ.get(PLAN):
        raise SystemExit(f"no model in {where}")
    return make()


def test_a_simulator_that_dies_is_an_error_with_its_log(seed: int) -> None:
    case = Case(make=make_dying, params={"where": "the simulator"}, seed=seed)
    with pytest.raises(
        RuntimeError,
        match=rf"(?s)^StreamBuffer, seeds {seed}: icarus ended without"
        rf".*no model in the simulator",
    ):
        run_one(case, "icarus")


# Builds


def test_common_objects_are_kept_where_no_simulation_was_built_before(tmp_path: Path) -> None:
    (tmp_path / "verilated.o").write_bytes(b"object")
    runtime = tmp_path / "simulations" / "runtime"
    _keep_runtime(tmp_path, runtime)
    assert (runtime / "verilated.o").read_bytes() == b"object"
    assert [path.name for path in runtime.parent.iterdir()] == ["runtime"]


def test_processes_side_by_side_share_one_build(tmp_path: Path) -> None:
    program = (
        "from tb.support.port_zoo import make_zoo;"
        "from warploom_sim.cosim.lockstep.build import built;"
        "print(built(make_zoo()[0], 'icarus'))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    outputs = [child.communicate() for child in children]
    assert all(child.returncode == 0 for child in children), outputs
    assert len({out for out, _ in outputs}) == 1
    assert "".join(err for _, err in outputs).count("building PortZoo for icarus") == 1
    folders = [path for path in (tmp_path / "build" / "simulations").iterdir() if path.is_dir()]
    assert len(folders) == 1
