"""`--config recorded`: what is replayed on is the GPU that the trace was recorded on."""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support.trace_files import DEVICE, call, document, kernel, random_document, write
from warploom_sim import cli, replay
from warploom_sim.replay import python_api
from warploom_sim.replay.request import requested
from warploom_sim.replay.request_fields import Surface
from warploom_sim.sweep.plan import plan
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import GPUS
from warploom_sim.traces.recorded_config import recorded_config
from warploom_spec import Config, WarploomError, preset

ROOT = Path(__file__).parents[3]


def trace_of(folder: Path, **changes: Any) -> Path:
    """Return a trace of a GPU with these properties."""
    content = random_document(random.Random(3), 6)
    content["deviceProperties"][0] |= changes
    return write(folder, content)


def test_the_recordings_gpu_is_the_preset_default_with_its_sms() -> None:
    trace = trace_reader.load(ROOT / "traces" / "stencil3d_shapes.json.gz")
    wanted = dataclasses.replace(preset("default"), sms=132)
    assert vars(recorded_config(trace)) == vars(wanted)
    assert recorded_config(trace, built=True) == wanted


def test_each_size_is_the_recorded_one(tmp_path: Path) -> None:
    path = trace_of(
        tmp_path,
        computeMinor=9,
        computeMajor=8,
        numSms=58,
        maxThreadsPerMultiprocessor=1536,
        regsPerMultiprocessor=32_768,
        sharedMemPerMultiprocessor=102_400,
    )
    config = replay(path, "recorded").config
    sizes = {
        "sms": 58,
        "warp_size": 32,
        "block_slots": 24,
        "warp_slots": 48,
        "register_units": 128,
        "shared_units": 800,
        "barriers": 24,
    }
    assert vars(config) == vars(preset("default")) | sizes


def test_more_sms_than_hardware_takes_are_modelled_and_not_built(tmp_path: Path) -> None:
    path = trace_of(tmp_path, numSms=304)
    # One block to an SM: without these SMs a launch of 304 blocks takes two waves.
    content = json.loads(path.read_text())
    content["traceEvents"] = [call(1, 1.0), kernel(1, grid=[304, 1, 1], block=[1024, 1, 1])]
    content["traceEvents"][1]["args"]["shared memory"] = 200_000
    path = write(tmp_path, content)
    wide, narrow = replay(path, "recorded"), replay(path, "recorded", sms=256)
    assert (wide.config.sms, len(set(wide.blocks.sm.tolist()))) == (304, 304)
    # The boot takes a cycle for each slot, so it is left out.
    took = [run.cycles - int(run.blocks.start.min()) for run in (narrow, wide)]
    assert 1.6 < took[0] / took[1] < 2
    with pytest.raises(WarploomError) as refused:
        replay(path, "recorded", rtl=True)
    assert str(refused.value) == (
        f"{path}: the recorded NVIDIA H200 is more than the hardware takes: sms is 304; legal:"
        " 1 to 256"
    )


def test_the_models_own_limit_is_named(tmp_path: Path) -> None:
    path = trace_of(tmp_path, numSms=1025)
    with pytest.raises(WarploomError) as refused:
        replay(path, "recorded")
    assert str(refused.value).endswith(
        "is more than the event model takes: sms is 1025; legal: 1 to 1024"
    )
    with pytest.raises(WarploomError, match="sms is 2000; legal: 1 to 1024"):
        replay(trace_of(tmp_path), "recorded", sms=2000)


def test_fields_and_policies_replace_the_recorded_ones(tmp_path: Path) -> None:
    path = trace_of(tmp_path)
    given = replay(path, "recorded", sms=4, policy="first_fit", settings=("barriers=16",))
    wanted = {"sms": 4, "policy": "first_fit", "barriers": 16}
    assert vars(given.config) == vars(preset("default")) | wanted
    same = replay(path, Config(**wanted))
    assert same.cycles == given.cycles


def test_the_named_gpu_is_the_recorded_one(tmp_path: Path) -> None:
    content = document()
    del content["deviceProperties"]
    config = replay(write(tmp_path, content), "recorded", gpu="MI300X").config
    device = GPUS["MI300X"]
    assert (config.sms, config.warp_size, config.warp_slots) == (304, 64, 32)
    assert config.register_units == device.registers // 256 == 512


def test_a_trace_of_several_gpus_needs_a_choice(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"].append(DEVICE | {"id": 5, "numSms": 7})
    content["traceEvents"][3]["args"]["device"] = 5
    path = write(tmp_path, content)
    with pytest.raises(WarploomError) as refused:
        replay(path, "recorded")
    assert str(refused.value) == (
        f"{path}: the trace's kernels ran on devices 0, 5; legal with --config recorded: one"
        " (choose it with --device)"
    )
    assert replay(path, "recorded", device=5).config.sms == 7


def test_a_comparison_runs_each_trace_on_its_own_gpu(tmp_path: Path) -> None:
    first = trace_of(tmp_path, numSms=10)
    second = tmp_path / "second.json"
    second.write_text(first.read_text().replace('"numSms": 10', '"numSms": 20'))
    given = {"config": ("recorded",), "settings": ("block_slots=8,16",)}
    runs = plan((first, second), given)
    sizes = [(run.config.sms, run.config.block_slots) for run in runs]
    assert sizes == [(10, 8), (10, 16), (20, 8), (20, 16)]
    assert len({run.run_id for run in runs}) == 4


def test_it_is_the_default_where_the_model_runs_alone(tmp_path: Path) -> None:
    path = trace_of(tmp_path, numSms=5)
    assert replay(path).config.sms == 5
    assert python_api.request_of(path, None, {}).config == "recorded"
    assert [run.config.sms for run in plan((path,), {})] == [5]
    # The RTL is built: there it stays the preset.
    assert python_api.request_of(path, None, {"rtl": True}).config == "default"
    assert [run.request.config for run in plan((path,), {"rtl": (True,)})] == ["default"]
    assert requested(Surface.SIM, (path,), {}).config == "default"
    shown = CliRunner().invoke(cli.main, ["compare", "--help"], terminal_width=200)
    assert "[default: recorded; with --rtl: default]" in shown.stdout
