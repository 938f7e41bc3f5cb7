"""What a file is: traces that are written or packed otherwise are read, others are named."""

import gzip
import io
import json
import random
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tb.support.trace_files import document, waiting_document, write
from warploom_sim.replay import recount, wait_check
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import GPUS
from warploom_spec import WarploomError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

RECORDED = Path(__file__).parent / "recorded"


def text_of(content: Any) -> bytes:
    return json.dumps(content).encode()


def refusal(path: Path) -> str:
    with pytest.raises(WarploomError) as caught:
        trace_reader.load(path, strict=False)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}: ")


# --- read ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "packed",
    [
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: gzip.compress(b"\xef\xbb\xbf" + text),
        zstd.compress,
        lambda text: zstd.compress(text[:100]) + zstd.compress(text[100:]),
        lambda text: b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd.compress(text),
        lambda text: b" \n\t" + text,
    ],
    ids=["mark", "mark in gzip", "zstd", "two frames", "frame to skip", "blanks"],
)
def test_a_trace_is_read_however_it_is_packed(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    path = write(tmp_path, document())
    launches, counted = trace_reader.load(path).launches, recount.read(path)
    path.write_bytes(packed(path.read_bytes()))
    assert trace_reader.load(path).launches == launches
    assert recount.read(path) == counted


def test_a_recording_with_a_byte_order_mark_is_read() -> None:
    path = RECORDED / "bom.json"
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert len(trace_reader.load(path).launches) == len(recount.read(path)) == 1


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf", b"\n "])
def test_a_list_of_events_is_a_trace_without_devices(tmp_path: Path, begin: bytes) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(begin + text_of(document()["traceEvents"]))
    assert len(trace_reader.load(path, gpu=GPUS["H200"]).launches) == 2
    assert len(recount.read(path)) == 2
    assert refusal(path).endswith("describes: none (name the recorded GPU with --gpu)")


def as_strings(event: Any) -> Any:
    """Return an event whose times and ids are strings."""
    whole = {name: str(event[name]) for name in ("ts", "dur") if name in event}
    ids = {name: str(value) for name, value in event["args"].items() if isinstance(value, int)}
    return event | whole | {"args": event["args"] | ids}


def test_strings_that_are_numbers_are_read_as_numbers(tmp_path: Path, seed: int) -> None:
    content = waiting_document(random.Random(seed), 12, 3)
    path = write(tmp_path, content)
    plain, counted, waits = trace_reader.load(path), recount.read(path), wait_check.awaited(path)
    write(tmp_path, content | {"traceEvents": [as_strings(e) for e in content["traceEvents"]]})
    read = trace_reader.load(path)
    assert (read.launches, read.calls, read.waits) == (plain.launches, plain.calls, plain.waits)
    assert recount.read(path) == counted
    assert wait_check.awaited(path) == waits and waits


@pytest.mark.parametrize("value", ["seven", "", "7 7", "0x7", "1_000", "7.5", "NaN", "-7"])
def test_a_string_that_is_no_number_of_a_stream_is_refused(tmp_path: Path, value: str) -> None:
    content = document()
    content["traceEvents"][2]["args"]["stream"] = value
    assert refusal(write(tmp_path, content)).startswith("event 2 (\"kernel1\"): 'stream' is ")


@pytest.mark.parametrize(
    "broken",
    [b"caf\xe9", b"a\nb\tc", rb"C:\Users\x", rb"\ud83d", rb"\u12", b"\xff NaN", rb"\" \\ \q"],
    ids=repr,
)
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_broken_text_in_an_event_that_nobody_reads(
    tmp_path: Path, broken: bytes, packed: Callable[[bytes], bytes]
) -> None:
    content = document()
    content["traceEvents"].insert(3, {"ph": "X", "cat": "cpu_op", "name": "BROKEN", "ts": 1})
    path = write(tmp_path, content)
    launches = trace_reader.load(path).launches
    path.write_bytes(packed(path.read_bytes().replace(b"BROKEN", broken)))
    assert trace_reader.load(path).launches == launches
    assert [one.event for one in recount.read(path)] == [2, 4]


def test_broken_text_in_a_kernels_name_is_marked_in_it(tmp_path: Path) -> None:
    path = write(tmp_path, document())
    path.write_bytes(path.read_bytes().replace(b"kernel2", b"caf\xe9"))
    assert trace_reader.load(path).launches[1].name == "caf\N{REPLACEMENT CHARACTER}"
    assert len(recount.read(path)) == 2


# --- named ---------------------------------------------------------------------------------------
def tar_of(text: bytes, form: int = tarfile.PAX_FORMAT) -> bytes:
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode="w", format=form) as tar:
            member = tarfile.TarInfo("trace.json")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
        return file.getvalue()


def zip_of(text: bytes) -> bytes:
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("trace.json", text)
        return file.getvalue()


def database(table: str) -> bytes:
    with sqlite3.connect(":memory:") as made:
        made.execute(f"create table {table} (start integer)")
        return made.serialize()


XPLANE = b"\x0a\x2f\x08\x01\x12\x0d/device:GPU:0 and more"
ROCPROF = b'"Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp"\n'
NSIGHT = b"Start (ns),Duration (ns),CorrId,GrdX\n"
TEXT = text_of(document())


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("trace.json", TEXT.decode().encode("utf-16"), "UTF-16 text; save it as UTF-8"),
        ("trace.json", TEXT.decode().encode("utf-16-be"), "UTF-16 text; save it as UTF-8"),
        (
            "trace.json",
            (" \n" + TEXT.decode()).encode("utf-16-le"),
            "UTF-16 text; save it as UTF-8",
        ),
        ("trace.json", TEXT.decode().encode("utf-32"), "UTF-32 text; save it as UTF-8"),
        ("trace.json", TEXT.decode().encode("utf-32-le"), "UTF-32 text; save it as UTF-8"),
        ("trace.json", TEXT.decode().encode("utf-32-be"), "UTF-32 text; save it as UTF-8"),
        ("trace.json", bytes(4096), "zeros where text should be; was it written and copied to"),
        ("trace.json.gz", gzip.compress(gzip.compress(TEXT)), "packed twice, gzip the second time"),
        ("trace.json.gz", gzip.compress(zstd.compress(TEXT)), "packed twice, zstd the second time"),
        ("trace.zip", zip_of(TEXT), "a zip archive; unpack it first"),
        ("trace.tar", tar_of(TEXT), "a tar archive; unpack it first"),
        ("trace.tar.gz", gzip.compress(tar_of(TEXT)), "a tar archive; unpack it first"),
        ("old.tgz", gzip.compress(tar_of(TEXT, tarfile.USTAR_FORMAT)), "a tar archive"),
        ("trace.tar.zst", zstd.compress(tar_of(TEXT)), "a tar archive; unpack it first"),
        ("trace.json.bz2", b"BZh91AY", "packed with bzip2; unpack it first"),
        ("trace.json.xz", b"\xfd7zXZ\x00\x00", "packed with xz; unpack it first"),
        ("host.xplane.pb", XPLANE, "an XPlane of XLA's profiler (.xplane.pb)"),
        ("renamed.json.gz", gzip.compress(XPLANE), "an XPlane of XLA's profiler (.xplane.pb)"),
        ("mine.pb", b"\x12\x01x", "a protocol buffer"),
        ("mine.sqlite", database("CUPTI_ACTIVITY_KIND_KERNEL"), "an SQLite file of Nsight Systems"),
        ("results.db", database("rocpd_kernel_dispatch_1"), "an SQLite file of rocprof"),
        ("other.db", database("anything"), "an SQLite file; "),
        ("mine.nsys-rep", b"\x01\x02", "a report of Nsight Systems"),
        ("kernels.csv", ROCPROF, "a table (CSV) of rocprof"),
        ("kernels.csv", b"\xef\xbb\xbf" + ROCPROF, "a table (CSV) of rocprof"),
        ("kernels.csv", NSIGHT, "a table (CSV) of Nsight"),
        ("results.json", b'{"rocprofiler-sdk-tool": [{}]}', "the JSON of rocprof"),
        ("et.json", b'{"schema": "1.1.1", "nodes": []}', "an execution trace (Chakra)"),
        ("page.html", b"<!DOCTYPE html>", "a page or XML"),
        ("trace.json", b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_file_is_named_for_what_it_is(
    tmp_path: Path, name: str, data: bytes, what: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert refusal(path).startswith(f"is {what}")


def test_a_zstd_that_is_cut_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.zst"
    data = zstd.compress(TEXT, options={zstd.CompressionParameter.checksum_flag: 1})
    for length in range(4, len(data), 7):
        path.write_bytes(data[:length])
        assert refusal(path) == "cut off: the zstd data ends in the middle", length
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert refusal(path).startswith("the zstd data is damaged: ")


# --- devices that are no GPUs --------------------------------------------------------------------
def test_a_trace_of_a_device_that_is_no_gpu() -> None:
    assert refusal(RECORDED / "no_gpu.json") == (
        "the trace has no kernel events ('cat': 'kernel'); device 17 (\"X\"): no GPU"
    )


def test_a_device_on_which_no_kernel_ran_may_be_any(tmp_path: Path) -> None:
    content = document()
    content["deviceProperties"] += [{"id": 17, "name": "X"}, {"id": 3, "numSms": -1}, "none", {}]
    path = write(tmp_path, content)
    assert len(trace_reader.load(path).launches) == 2
    content["traceEvents"][2]["args"]["device"] = 17
    assert refusal(write(tmp_path, content)) == "deviceProperties 1: field 'numSms' is missing"
