"""The recorded GPU: older files, AMD's files, and files that do not describe theirs."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support.trace_files import DEVICE, call, document, kernel, write
from warploom_sim import cli
from warploom_sim.replay import recount
from warploom_sim.traces import trace_reader
from warploom_sim.traces.devices import BLOCK_SLOTS
from warploom_sim.traces.gpus import FIELDS, GPUS, RANGES, named
from warploom_sim.traces.trace_launches import make_launches, resident_blocks
from warploom_spec import WarploomError, preset

#: What PyTorch writes of a GPU on ROCm.
AMD_DEVICE = {
    "id": 0,
    "name": "AMD Instinct MI300X",
    "computeMajor": 9,
    "computeMinor": 4,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 64,
    "sharedMemPerBlock": 65536,
    "numSms": 304,
    "maxSharedMemoryPerMultiProcessor": 65536,
}
#: Commands that read a trace, beside those of `warploom trace`.
READERS = ("sim", "compare", "merge", "defer", "preempt")
#: A file of a GPU: V100's SM.
GPU = {
    "sms": 80,
    "block_slots": 32,
    "warp_slots": 64,
    "registers": 65536,
    "shared_bytes": 98304,
    "reserved_bytes": 0,
}


def amd_kernel(correlation: int, **arguments: Any) -> dict[str, Any]:
    """Return a kernel as PyTorch has it on ROCm: without registers and shared memory."""
    event = kernel(correlation, **arguments)
    del event["args"]["registers per thread"], event["args"]["shared memory"]
    return event


def amd_document() -> dict[str, Any]:
    launch = call(1, 10.0) | {"name": "hipLaunchKernel"}
    return {"deviceProperties": [dict(AMD_DEVICE)], "traceEvents": [launch, amd_kernel(1)]}


def bare() -> dict[str, Any]:
    """Return a trace that does not describe its GPU."""
    content = document()
    del content["deviceProperties"]
    return content


def old() -> dict[str, Any]:
    """Return a trace as PyTorch 1.8 to 1.11 wrote it: other names of categories, no GPU."""
    content = bare()
    names = {"kernel": "Kernel", "cuda_runtime": "Runtime"}
    for event in content["traceEvents"]:
        event["cat"] = names[event["cat"]]
    content["traceEvents"] += [
        {"ph": "X", "cat": cat, "name": cat, "ts": 1, "dur": 1, "args": {}}
        for cat in ("Memcpy", "Memset", "Operator")
    ]
    return content


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(WarploomError) as caught:
        trace_reader.load(path, **options)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_warp_has_no_more_threads_than_an_sm(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"][0]["warpSize"] = 4096
    assert refusal(write(tmp_path, content)) == (
        "deviceProperties 0: 'warpSize' is 4096; legal: an integer from 1 to 2048"
    )


# Older files


def test_an_older_files_kernels_calls_and_copies_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, old())
    loaded = trace_reader.load(path, gpu=GPUS["V100"])
    new = trace_reader.load(write(tmp_path, bare()), gpu=GPUS["V100"])
    assert loaded.launches == new.launches
    counts = [loaded.passed_over[name] for name in ("memory_copies", "memory_sets")]
    assert counts == [1, 1]
    assert len(recount.read(write(tmp_path, old()))) == 2


# AMD's files


def test_amds_properties_are_read(tmp_path: Path) -> None:
    device = trace_reader.load(write(tmp_path, amd_document()), strict=False).devices[0]
    sizes = (device.sms, device.warp_size, device.warp_slots, device.block_slots, device.barriers)
    assert sizes == (304, 64, 32, 32, 16)
    assert (device.registers, device.shared_bytes, device.reserved_bytes) == (65536, 65536, 0)


def test_of_amds_work_groups_those_of_several_waves_take_a_barrier(tmp_path: Path) -> None:
    """By LLVM's ``getMaxWorkGroupsPerCU``: 32 of one wave, 16 of two waves, 8 of four."""
    content = amd_document()
    blocks = ((64, 1, 1), (65, 1, 1), (128, 1, 1), (256, 1, 1))
    content["traceEvents"] = [call(n, float(n)) for n in range(4)]
    content["traceEvents"] += [amd_kernel(n, block=list(block)) for n, block in enumerate(blocks)]
    trace = trace_reader.load(write(tmp_path, content), strict=False)
    device = trace.devices[0]
    assert [resident_blocks(launch, device) for launch in trace.launches] == [32, 16, 16, 8]
    made = make_launches(trace, preset("default"), time_scale=Fraction(1))
    assert [launch.barriers for launch in made] == [0, 1, 1, 1]
    assert {(launch.warp_registers, launch.shared) for launch in made} == {(0, 0)}


def test_what_amds_profiler_does_not_record_is_said(tmp_path: Path) -> None:
    content = amd_document()
    without = amd_kernel(2)
    del without["args"]["grid"], without["args"]["block"]
    content["traceEvents"] += [call(2, 20.0), without]
    path = write(tmp_path, content)
    loaded = trace_reader.load(path, strict=False)
    assert (len(loaded.launches), loaded.without_grid, loaded.without_resources) == (1, 1, 1)
    assert len(recount.read(path)) == 1
    assert [note.removeprefix(f"{path}: ") for note in loaded.notes()] == [
        "1 of 2 kernels left out: the profiler recorded no grid for them",
        "1 launches without recorded registers and static shared memory: they are replayed as if"
        " their blocks took none",
    ]
    assert refusal(path) == ("event 1 (\"kernel1\"): field 'registers per thread' is missing")


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("hipLaunchKernel", (1024, 3, 1)),
        ("hipModuleLaunchKernel", (1024, 3, 1)),
        ("hipExtLaunchKernel", (1024, 3, 1)),
        ("hipExtModuleLaunchKernel", (4, 2, 1)),
        ("hipHccModuleLaunchKernel", (4, 2, 1)),
    ],
)
@pytest.mark.parametrize("call_is_first", [True, False])
def test_a_grid_in_threads_becomes_one_in_blocks(
    tmp_path: Path, name: str, grid: tuple[int, ...], call_is_first: bool
) -> None:
    """As HIP's reference has it: ``globalWorkSizeX`` of these calls counts work items."""
    launch = call(1, 10.0) | {"name": name}
    launch["args"]["shared memory"] = 4096
    events = [launch, amd_kernel(1, grid=[1024, 3, 1], block=[256, 2, 1])]
    content = amd_document() | {"traceEvents": events if call_is_first else events[::-1]}
    path = write(tmp_path, content)
    (read,) = trace_reader.load(path, strict=False).launches
    assert (read.grid, read.shared_bytes, read.registers) == (grid, 4096, 0)
    (counted,) = recount.read(path)
    assert (counted.grid, counted.shared_bytes) == (grid, 4096)


def test_a_trace_of_amd_without_any_grid_is_refused(tmp_path: Path) -> None:
    content = amd_document()
    del content["traceEvents"][1]["args"]["grid"]
    assert refusal(write(tmp_path, content), strict=False) == (
        "none of the 1 kernels has the field 'grid', which PyTorch records for AMD's GPUs from 2.5"
        " on"
    )


@pytest.mark.parametrize("others", [[], [AMD_DEVICE | {"id": 1}]])
def test_amds_numbers_of_agents_are_the_gpu_if_all_are_alike(
    tmp_path: Path, others: list[Any]
) -> None:
    content = amd_document()
    content["deviceProperties"] += others
    content["traceEvents"][1]["args"]["device"] = 7
    path = write(tmp_path, content)
    assert trace_reader.load(path, strict=False).devices[7].sms == 304
    content["deviceProperties"].append(AMD_DEVICE | {"id": 2, "numSms": 228})
    path = write(tmp_path, content)
    assert "'device' is 7; 'deviceProperties' describes: 0" in refusal(path, strict=False)


def test_a_kernel_of_nvidia_without_registers_is_refused(tmp_path: Path) -> None:
    content = document()
    del content["traceEvents"][2]["args"]["registers per thread"]
    message = "event 2 (\"kernel1\"): field 'registers per thread' is missing"
    assert refusal(write(tmp_path, content), strict=False) == message


def test_a_property_of_amd_that_is_missing_is_named(tmp_path: Path) -> None:
    content = amd_document()
    del content["deviceProperties"][0]["regsPerBlock"]
    message = "deviceProperties 0: field 'regsPerBlock' is missing"
    assert refusal(write(tmp_path, content), strict=False) == message


# --gpu


def test_a_named_gpu_stands_for_what_the_trace_does_not_describe(tmp_path: Path) -> None:
    loaded = trace_reader.load(write(tmp_path, bare()), gpu=GPUS["A100"])
    assert loaded.devices == {0: GPUS["A100"]}
    assert loaded.unused_gpu == ""


def test_the_traces_own_properties_win_and_a_line_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, document())
    loaded = trace_reader.load(path, gpu=GPUS["A100"])
    assert loaded.devices == trace_reader.load(path).devices
    assert loaded.notes() == [
        f"{path}: --gpu A100 is not used: 'deviceProperties' describes the recorded GPU,"
        ' "NVIDIA H200"'
    ]


@pytest.mark.parametrize("change", [{"computeMajor": 77}, {"numSms": None}])
def test_a_named_gpu_stands_for_an_incomplete_description(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    content = document()
    properties = content["deviceProperties"][0] | change
    kept = {name: value for name, value in properties.items() if value is not None}
    content["deviceProperties"] = [kept]
    path = write(tmp_path, content)
    assert trace_reader.load(path, gpu=GPUS["H100"]).devices == {0: GPUS["H100"]}
    with pytest.raises(WarploomError):
        trace_reader.load(path)


def test_sms_by_the_kernels_blocks_per_sm_decide(tmp_path: Path) -> None:
    content = bare()
    content["traceEvents"][2]["args"]["blocks per SM"] = 0.074074  # 8 blocks, 108 SMs
    path = write(tmp_path, content)
    assert refusal(path) == (
        "event 2 (\"kernel1\"): 'device' is 0; 'deviceProperties' describes: none (name the"
        " recorded GPU with --gpu; by 'blocks per SM' it has 108 SMs: A100)"
    )
    assert refusal(path, gpu=GPUS["V100"]) == (
        "event 2 (\"kernel1\"): 'blocks per SM' is 0.074074: the recorded GPU has 108 SMs;"
        " --gpu V100 has 80"
    )
    assert len(trace_reader.load(path, gpu=GPUS["A100"]).launches) == 2


@pytest.mark.parametrize(
    ("name", "sms", "slots", "warps", "shared"),
    [
        ("V100", 80, 32, 64, 98_304),
        ("T4", 40, 16, 32, 65_536),
        ("A100", 108, 32, 64, 167_936),
        ("H200", 132, 32, 64, 233_472),
        ("rtx4090", 128, 24, 48, 102_400),
        ("MI210", 104, 32, 32, 65_536),
        ("MI300X", 304, 32, 32, 65_536),
    ],
)
def test_gpus_are_what_their_own_traces_say(
    name: str, sms: int, slots: int, warps: int, shared: int
) -> None:
    device = named(name).device
    found = (device.sms, device.block_slots, device.warp_slots, device.shared_bytes)
    assert found == (sms, slots, warps, shared)


def test_the_h200_of_the_table_is_that_of_the_recordings(tmp_path: Path) -> None:
    recorded = trace_reader.load(write(tmp_path, document())).devices[0]
    known = vars(GPUS["H200"]) | {"name": recorded.name}
    assert known == vars(recorded)
    assert DEVICE["name"] == "NVIDIA H200"


@pytest.mark.parametrize(("capability", "shared"), [((7, 5), 65_536), ((8, 0), 66_560)])
def test_cuda_keeps_shared_memory_of_a_block_from_8_0_on(
    tmp_path: Path, capability: tuple[int, int], shared: int
) -> None:
    content = document()
    content["deviceProperties"][0] |= dict(
        zip(("computeMajor", "computeMinor"), capability, strict=True),
        sharedMemPerMultiprocessor=65_536,
    )
    content["traceEvents"][2]["args"]["shared memory"] = 65_536
    trace = trace_reader.load(write(tmp_path, content))
    fits = resident_blocks(trace.launches[0], trace.devices[0])
    assert fits == int(shared <= 65_536)
    if fits:
        made = make_launches(trace, preset("default"), time_scale=Fraction(1))
        assert made[0].shared == shared // 128


def test_every_gpu_of_nvidia_has_the_block_slots_of_its_capability() -> None:
    assert {one.block_slots for one in GPUS.values() if one.resources_recorded} <= {
        *BLOCK_SLOTS.values()
    }
    for name, (low, high) in RANGES.items():
        assert all(low <= getattr(one, name) <= high for one in GPUS.values()), name


# A JSON file


def gpu_file(folder: Path, content: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_file_describes_a_gpu_and_its_content_is_kept(tmp_path: Path) -> None:
    path = gpu_file(tmp_path, GPU)
    found = named(str(path))
    assert vars(found.device) == vars(GPUS["V100"]) | {"name": "mine"}
    assert found.given == str(path)
    path.unlink()
    assert named(found.text) == found


def test_barriers_are_as_many_as_block_slots_and_1024_bytes_are_reserved(tmp_path: Path) -> None:
    values = {name: value for name, value in GPU.items() if name != "reserved_bytes"}
    device = named(str(gpu_file(tmp_path, values | {"name": "other", "warp_size": 64}))).device
    assert (device.name, device.warp_size, device.barriers) == ("other", 64, 32)
    assert device.reserved_bytes == 1024


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sms": None}, "field 'sms' is missing; legal: an integer from 1 to 1024"),
        ({"sms": 0}, "'sms' is 0; legal: an integer from 1 to 1024"),
        ({"sms": 1025}, "'sms' is 1025; legal: an integer from 1 to 1024"),
        ({"registers": 1.5}, "'registers' is 1.5; legal: an integer from 1 to 1048576"),
        ({"warp_size": 33}, "'warp_size' is 33; legal: 2, 4, 8, 16, 32, 64"),
        ({"warp_size": 32.0}, "'warp_size' is 32.0; legal: 2, 4, 8, 16, 32, 64"),
        ({"name": 7}, "'name' is 7; legal: a string"),
        ({"sm": 4}, f'field is "sm"; legal: {", ".join(FIELDS)}'),
    ],
)
def test_a_wrong_field_of_a_file_is_named_with_its_range(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    values = {name: value for name, value in (GPU | change).items() if value is not None}
    path = gpu_file(tmp_path, values)
    trace = write(tmp_path, bare())
    for command in ("trace info", *READERS):
        done = CliRunner().invoke(cli.main, [*command.split(), str(trace), "--gpu", str(path)])
        assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"Error: {path}: {said}\n")


@pytest.mark.parametrize("content", ["[1]", "{", ""])
def test_a_file_that_describes_no_gpu(tmp_path: Path, content: str) -> None:
    path = gpu_file(tmp_path, content)
    with pytest.raises(WarploomError) as caught:
        named(str(path))
    assert str(caught.value).startswith(f"{path}: ")


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    trace = write(tmp_path, bare())
    done = CliRunner().invoke(cli.main, ["trace", "info", str(trace), "--gpu", "V10"])
    assert done.exit_code == 2
    assert f"'V10'; legal: {', '.join(GPUS)}, or a JSON file" in done.stderr


@pytest.mark.parametrize("command", ["merge", "defer", "preempt --urgent 20 --arrivals 3"])
def test_methods_take_the_gpu_that_a_refusal_asks_for(tmp_path: Path, command: str) -> None:
    content = bare()
    for number, event in enumerate(content["traceEvents"][2:]):
        event["args"]["stream"] = (7, 20)[number % 2]
    trace = write(tmp_path, content)
    refused = CliRunner().invoke(cli.main, [*command.split(), str(trace)])
    assert refused.exit_code == 2 and "(name the recorded GPU with --gpu" in refused.stderr
    done = CliRunner().invoke(cli.main, [*command.split(), str(trace), "--gpu", "T4"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", ["merge", "defer", "preempt --urgent 7 --arrivals 3"])
def test_methods_say_that_the_gpu_is_not_used(tmp_path: Path, command: str) -> None:
    content = document()
    content["traceEvents"][3]["args"]["stream"] = 20
    trace = write(tmp_path, content)
    done = CliRunner().invoke(cli.main, [*command.split(), str(trace), "--gpu", "A100"])
    assert done.exit_code == 0, done.output
    assert "--gpu A100 is not used: 'deviceProperties' describes" in done.stderr


def test_a_file_of_tasks_has_no_recorded_gpu(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.toml"
    tasks.write_text("")
    done = CliRunner().invoke(cli.main, ["merge", str(tasks), "--gpu", "V100"])
    said = f"{tasks}: --gpu is V100; legal with a task file, of which nothing is recorded: none"
    assert (done.exit_code, done.stderr) == (2, f"Error: {said}\n")


def test_info_takes_the_gpu(tmp_path: Path) -> None:
    trace, figures = write(tmp_path, bare()), tmp_path / "figures.json"
    options = ["--gpu", "T4", "--json", str(figures)]
    done = CliRunner().invoke(cli.main, ["trace", "info", str(trace), *options])
    assert done.exit_code == 0, done.output
    assert [json.loads(figures.read_text())[name] for name in ("device", "sms")] == ["T4", 40]
