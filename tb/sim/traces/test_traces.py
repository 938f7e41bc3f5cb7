"""The trace reader: what it gives, and that it refuses the rest in one line that says where."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tb.support.trace_files import DEVICE, call, document, kernel, write
from warploom_sim import cli
from warploom_sim.replay import recount
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import GPUS
from warploom_spec import WarploomError

TRACES = Path(__file__).parents[3] / "traces"


def refusal(path: Path) -> str:
    """Return the message, without the path that it must begin with."""
    with pytest.raises(WarploomError) as caught:
        trace_reader.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


# What it gives


def test_a_kernel_has_the_fields_that_its_event_has(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"][3]["args"] |= {"registers per thread": 40, "shared memory": 4224}
    launch = trace_reader.load(write(tmp_path, content)).launches[1]
    assert (launch.event, launch.name) == (3, "kernel2")
    assert (launch.grid, launch.block) == ((4, 2, 1), (128, 1, 1))
    assert (launch.registers, launch.shared_bytes) == (40, 4224)
    assert (launch.start, launch.duration, launch.stream, launch.device) == (1005.0, 5.0, 7, 0)
    assert launch.blocks == 8


def test_launches_stand_in_the_order_of_their_calls_not_of_their_kernels(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"] = [
        kernel(1, ts=500.0),
        kernel(2, ts=400.0),
        kernel(3, ts=300.0),
        call(3, 30.0),
        call(2, 10.0, "cuda_driver"),
        call(1, 20.0),
    ]
    loaded = trace_reader.load(write(tmp_path, content))
    assert [launch.name for launch in loaded.launches] == ["kernel2", "kernel1", "kernel3"]


def test_the_kernels_of_one_call_stand_in_the_order_of_their_start(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"] = [
        kernel(1, ts=500.0) | {"name": "later"},
        kernel(1, ts=400.0) | {"name": "sooner"},
        call(1, 10.0),
    ]
    loaded = trace_reader.load(write(tmp_path, content))
    assert [launch.name for launch in loaded.launches] == ["sooner", "later"]


def test_other_events_are_passed_over(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"] += [
        {"ph": "M", "name": "process_name"},
        {"ph": "X", "cat": "gpu_memcpy", "name": "copy", "ts": 1, "dur": -5, "args": {}},
        {"ph": "X", "cat": "cuda_runtime", "name": "no correlation", "ts": 1},
    ]
    assert len(trace_reader.load(write(tmp_path, content)).launches) == 2


def test_gzip_and_plain_give_the_same(tmp_path: Path) -> None:
    plain = write(tmp_path, document())
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert trace_reader.load(packed).launches == trace_reader.load(plain).launches


@pytest.mark.parametrize(
    ("name", "launches", "blocks", "not_one_dimensional", "streams"),
    [
        ("resnet50_infer", 232, 451_229, 1, 1),
        ("stencil3d_shapes", 42, 237_063, 39, 1),
        ("two_streams_priority", 334, 502_111, 4, 2),
        ("gpt2_generate", 1108, 134_474, 292, 1),
        ("llama_generate", 924, 125_517, 21, 1),
        ("googlenet_branches", 240, 116_170, 1, 5),
        ("overlapped_training", 137, 52_485, 23, 2),
    ],
)
def test_the_recordings_hold_what_their_page_says(
    name: str, launches: int, blocks: int, not_one_dimensional: int, streams: int
) -> None:
    summary = trace_reader.load(TRACES / f"{name}.json.gz").summary()
    assert summary["device"] == "NVIDIA H200"
    assert summary["sms"] == 132
    counted = (
        summary[k] for k in ("launches", "blocks", "launches_not_one_dimensional", "streams")
    )
    assert tuple(counted) == (launches, blocks, not_one_dimensional, streams)
    page = (TRACES / "README.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}.json.gz`"))
    cells = [cell.strip() for cell in row.split("|")]
    figures = (launches, blocks, summary["block_shapes"], not_one_dimensional, streams)
    assert cells[3:8] == [f"{figure:,}" for figure in figures]
    assert cells[8] == f"{summary['span_us'] / 1000:,.1f} ms"


# Files that are no trace


def test_a_missing_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.json") == "No such file or directory"


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "Is a directory"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b"\x80\xfe", "not JSON, line 1 column 1: Expecting value; byte 0 is not UTF-8"),
        (b"kernel,grid\n", "not JSON, line 1 column 1: Expecting value"),
        (b'{"a": 1,\n "b" 2}', "not JSON, line 2 column 6: Expecting ':' delimiter"),
        (b'{"traceEvents": [{"ph":', "cut off: the JSON ends in the middle, line 1 column 24"),
        (b'{"traceEvents": [{"ph": "X', "cut off: the JSON ends in the middle, line 1 column 25"),
        (b'{"traceEvents": [1, 2', "cut off: the JSON ends in the middle, line 1 column 22"),
        (b'{"traceEvents": []} x', "not JSON, line 1 column 21: Extra data"),
        (b"[" * 100_000, "not a trace: nested too deeply"),
        (b'{"traceEvents": [' + b"9" * 5000 + b"]}", "not a trace: Exceeds the limit"),
        (b"[]", "the trace has no kernel events"),
        (b"[[]]", "event 0: is []; legal: an object"),
        (b'"trace"', "JSON, but no trace"),
        (b'{"traceEvents": {}}', "JSON, but no trace"),
        (b'{"events": []}', "JSON, but no trace"),
        (b'{"traceEvents": []}', "the trace has no kernel events"),
    ],
    ids=repr,
)
def test_a_file_that_is_no_trace(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    assert refusal(path).startswith(message)


def test_a_trace_without_kernels(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"] = content["traceEvents"][:2]
    message = "the trace has no kernel events ('cat': 'kernel')"
    assert refusal(write(tmp_path, content)) == message


def test_a_recording_cut_anywhere(tmp_path: Path) -> None:
    text = gzip.decompress((TRACES / "stencil3d_shapes.json.gz").read_bytes()).strip()
    path = tmp_path / "trace.json"
    for length in range(1, len(text), 331):
        path.write_bytes(text[:length])
        assert "cut off" in refusal(path), f"cut to {length} bytes"


def test_a_gzip_cut_anywhere(tmp_path: Path) -> None:
    data = (TRACES / "stencil3d_shapes.json.gz").read_bytes()
    path = tmp_path / "trace.json.gz"
    for length in range(2, len(data), 97):
        path.write_bytes(data[:length])
        assert refusal(path) == "cut off: the gzip data ends in the middle", f"{length} bytes"


def test_a_gzip_with_a_wrong_checksum(tmp_path: Path) -> None:
    data = bytearray((TRACES / "stencil3d_shapes.json.gz").read_bytes())
    data[-8] ^= 1  # CRC-32, then the length: the last 8 bytes
    path = tmp_path / "trace.json.gz"
    path.write_bytes(data)
    assert refusal(path).startswith("the gzip data is damaged: CRC check failed")


def test_a_gzip_with_damaged_data(tmp_path: Path) -> None:
    data = bytearray((TRACES / "stencil3d_shapes.json.gz").read_bytes())
    data[100] ^= 0xFF  # in the code tables
    path = tmp_path / "trace.json.gz"
    path.write_bytes(data)
    assert refusal(path).startswith("the gzip data is damaged: Error -3")


# Events that are wrong: file, event, field, value, what is legal


@pytest.mark.parametrize(
    "field",
    [
        "grid",
        "block",
        "registers per thread",
        "shared memory",
        "stream",
        "correlation",
        "device",
    ],
)
def test_a_kernel_without_an_argument(tmp_path: Path, field: str) -> None:
    content = document()
    del content["traceEvents"][3]["args"][field]
    assert refusal(write(tmp_path, content)) == f'event 3 ("kernel2"): field {field!r} is missing'


def test_a_kernel_without_arguments(tmp_path: Path) -> None:
    content = document()
    del content["traceEvents"][2]["args"]
    assert refusal(write(tmp_path, content)) == "event 2 (\"kernel1\"): field 'args' is missing"


def test_a_kernel_without_a_name(tmp_path: Path) -> None:
    content = document()
    del content["traceEvents"][2]["name"]
    assert refusal(write(tmp_path, content)) == "event 2: field 'name' is missing"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53 + 1, 1e308, 10**400, True, "five", [], "1e99"]
)
@pytest.mark.parametrize("field", ["dur", "ts"])
def test_a_time_that_is_none(tmp_path: Path, field: str, value: Any) -> None:
    content = document()
    content["traceEvents"][2][field] = value
    message = refusal(write(tmp_path, content))
    shown = "1e+99" if value == "1e99" else json.dumps(value)[:60]
    assert message.startswith(f"event 2 (\"kernel1\"): '{field}' is {shown}")
    assert message.endswith(f"; legal: a number from 0 to {2**53}")


def test_a_time_before_0(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"][2]["ts"] = -0.5
    assert refusal(write(tmp_path, content)).startswith(
        "event 2 (\"kernel1\"): 'ts' is -0.5; legal"
    )


@pytest.mark.parametrize("value", [-1, 1.0, True, "seven", None, [7], 2**63])
@pytest.mark.parametrize(
    "field", ["registers per thread", "shared memory", "stream", "correlation", "device"]
)
def test_an_integer_that_is_none(tmp_path: Path, field: str, value: Any) -> None:
    content = document()
    content["traceEvents"][2]["args"][field] = value
    message = refusal(write(tmp_path, content))
    assert message.startswith(f"event 2 (\"kernel1\"): '{field}' is {json.dumps(value)}; legal: ")


@pytest.mark.parametrize(
    "value", [[1, 1], [1, 1, 1, 1], [1, 1, -1], [1, 1, 1.5], [1, 1, 2**31], 5, "1", None]
)
@pytest.mark.parametrize("field", ["grid", "block"])
def test_dimensions_that_are_none(tmp_path: Path, field: str, value: Any) -> None:
    content = document()
    content["traceEvents"][2]["args"][field] = value
    expected = f"event 2 (\"kernel1\"): '{field}' is {json.dumps(value)}; legal: three integers"
    assert refusal(write(tmp_path, content)).startswith(expected)


def test_blocks_per_sm_that_no_gpu_has(tmp_path: Path) -> None:
    content = document() | {"deviceProperties": []}
    for event in content["traceEvents"][2:]:
        event["args"]["blocks per SM"] = 1e-320
    assert refusal(write(tmp_path, content)).endswith("(name the recorded GPU with --gpu)")


def test_a_capability_that_is_a_list_gives_way_to_a_named_gpu(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"][0]["computeMajor"] = [9]
    path = write(tmp_path, content)
    assert refusal(path).startswith("deviceProperties 0: 'computeMajor' is [9]; legal: ")
    trace = trace_reader.load(path, gpu=GPUS["H100"])
    assert {device.name for device in trace.devices.values()} == {GPUS["H100"].name}


def test_a_byte_that_is_no_blank_is_not_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b"\x1f")
    assert refusal(path).startswith("not JSON")


def test_an_event_that_is_no_object(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"].append("event")
    assert refusal(write(tmp_path, content)) == 'event 4: is "event"; legal: an object'


def test_a_long_value_is_cut_in_the_message(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"][2]["args"]["stream"] = "x" * 10_000
    assert len(refusal(write(tmp_path, content))) < 200


def test_a_kernel_without_its_launch_call(tmp_path: Path) -> None:
    content = document()
    del content["traceEvents"][1]
    message = refusal(write(tmp_path, content))
    assert message.startswith("event 2 (\"kernel2\"): 'correlation' is 2, and no runtime or driver")


def test_a_call_whose_time_is_wrong(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"][0]["ts"] = "ten"
    assert refusal(write(tmp_path, content)).startswith("event 0: 'ts' is \"ten\"; legal: ")


def test_an_unknown_device(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"][2]["args"]["device"] = 3
    message = (
        "event 2 (\"kernel1\"): 'device' is 3; 'deviceProperties' describes: 0"
        " (name the recorded GPU with --gpu)"
    )
    assert refusal(write(tmp_path, content)) == message


def test_no_device_properties(tmp_path: Path) -> None:
    content = document()
    del content["deviceProperties"]
    message = (
        "event 2 (\"kernel1\"): 'device' is 0; 'deviceProperties' describes: none"
        " (name the recorded GPU with --gpu)"
    )
    assert refusal(write(tmp_path, content)) == message


@pytest.mark.parametrize("field", sorted(DEVICE))
def test_a_device_without_a_property(tmp_path: Path, field: str) -> None:
    content = document()
    del content["deviceProperties"][0][field]
    assert refusal(write(tmp_path, content)) == f"deviceProperties 0: field {field!r} is missing"


def test_a_device_of_unknown_capability(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"][0]["computeMajor"] = 3
    message = refusal(write(tmp_path, content))
    assert message.startswith("deviceProperties 0: compute capability is 3.0; known: 5.0, ")


@pytest.mark.parametrize("value", [0, -1, 1.5, "132"])
def test_a_device_whose_property_is_wrong(tmp_path: Path, value: Any) -> None:
    content = document()
    content["deviceProperties"][0]["numSms"] = value
    message = refusal(write(tmp_path, content))
    assert message.startswith(f"deviceProperties 0: 'numSms' is {json.dumps(value)}; legal: ")


# The same on the command line


def without_grid(content: dict[str, Any]) -> None:
    del content["traceEvents"][2]["args"]["grid"]


def without_kernels(content: dict[str, Any]) -> None:
    content["traceEvents"] = []


@pytest.mark.parametrize("command", [("trace", "info"), ("sim",)], ids=" ".join)
@pytest.mark.parametrize("spoil", [without_grid, without_kernels])
def test_the_command_refuses_in_one_line_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    spoil: Callable[[dict[str, Any]], None],
) -> None:
    content = document()
    spoil(content)
    path = write(tmp_path, content)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, (*command, str(path), "--json", "figures.json"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {path}: ")
    assert result.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["trace.json"]


def test_a_path_with_brackets_is_shown_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "a[fp16]"
    folder.mkdir()
    done = CliRunner().invoke(cli.main, ["trace", "info", str(write(folder, document()))])
    assert done.exit_code == 0
    assert "a[fp16]" in "".join(done.stdout.split())


# --- kernels without a launch call, several GPUs, large files ------------------------------------
def test_kernels_without_a_launch_call_are_left_out_and_named(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"] += [kernel(9, 1.0), kernel(8, 2.0)]
    path = write(tmp_path, content)
    loaded = trace_reader.load(path, strict=False)
    assert [launch.name for launch in loaded.launches] == ["kernel1", "kernel2"]
    assert loaded.left_out == loaded.summary()["left_out"] == 2
    assert loaded.left_out_note() == (
        f"{path}: 2 of 4 kernels left out: no launch call is recorded for them;"
        ' the first is event 4 ("kernel9")'
    )
    assert trace_reader.load(write(tmp_path, document())).left_out_note() == ""


def test_a_trace_without_any_launch_call_is_refused(tmp_path: Path) -> None:
    content = document()
    del content["traceEvents"][:2]
    with pytest.raises(WarploomError, match="'correlation' is 1, and no runtime or driver call"):
        trace_reader.load(write(tmp_path, content), strict=False)


def test_one_gpu_of_several(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"].append(DEVICE | {"id": 5, "name": "other"})
    content["traceEvents"][3]["args"]["device"] = 5
    path = write(tmp_path, content)
    assert [one.name for one in trace_reader.load(path).launches] == ["kernel1", "kernel2"]
    assert [one.name for one in trace_reader.load(path, device=5).launches] == ["kernel2"]
    with pytest.raises(WarploomError, match=r"device is 3; the trace's kernels ran on: 0, 5$"):
        trace_reader.load(path, device=3)
    assert (len(recount.read(path)), len(recount.read(path, 5))) == (2, 1)


def test_what_is_not_asked_for_stays_text(tmp_path: Path) -> None:
    content = document()
    content["traceEvents"].insert(0, {"ph": "X", "cat": "cpu_op", "name": "a", "ts": "no time"})
    content["traceEvents"].insert(0, {"ph": "i", "cat": "kernel"})
    assert [launch.event for launch in trace_reader.load(write(tmp_path, content)).launches] == [
        4,
        5,
    ]


def test_a_category_in_other_letters_of_json_is_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, document())
    path.write_text(path.read_text().replace('"kernel"', r'"\u006bernel"'))
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


@pytest.mark.parametrize(
    "value", ["NaN", "-Infinity", "1e999", str(1 << 64), "9" * 5000], ids=lambda text: text[:9]
)
@pytest.mark.parametrize("where", ["an event", "the kernel"])
def test_kernels_are_counted_beside_what_is_not_quite_json(
    tmp_path: Path, value: str, where: str
) -> None:
    content = document()
    if where == "an event":
        content["traceEvents"].insert(3, {"ph": "C", "value": "odd"})
    else:
        content["traceEvents"][3]["args"]["value"] = "odd"
    path = write(tmp_path, content)
    path.write_text(path.read_text().replace('"odd"', value))
    if where == "the kernel" and len(value) > 4300:
        assert refusal(path).startswith("not a trace: Exceeds the limit")
    else:
        assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 2


#: Loads a trace; prints seconds of the processor and the highest memory in megabytes.
IMPORT = """
import resource, sys, time
from pathlib import Path
from warploom_sim.traces import trace_reader
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.process_time()
launches = trace_reader.load(Path(sys.argv[1])).launches
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(len(launches), time.process_time() - began, used / 1024)
"""


@pytest.mark.deep
def test_a_hundred_megabytes_in_ten_seconds_without_a_second_copy(tmp_path: Path) -> None:
    """Of profiler events most are operators on the CPU, whose text alone is held."""
    operators = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": float(n), "dur": 2.5,
         "args": {"External id": n, "Input Dims": [[512, 64], [64, 64]], "Ev Idx": n}}
        for n in range(20)
    ]  # fmt: skip
    events: list[Any] = []
    for n in range(20_000):
        events += [call(n, float(n)), kernel(n, 1000.0 + n), *operators]
    path = write(tmp_path, document() | {"traceEvents": events})
    size = path.stat().st_size / 1e6
    assert size > 60
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, str(path)], capture_output=True, text=True, check=True
    )
    launches, seconds, megabytes = map(float, done.stdout.split())
    assert launches == 20_000
    assert seconds < size / 10
    # The text, and what is made of it: no second copy, and no object for each operator.
    assert megabytes < 2 * size
