"""What a replay says when it reads less or otherwise than the trace holds."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tb.support.deep_values import thorough_but
from tb.support.small_replays import sim
from tb.support.trace_files import call, document, kernel, write
from warploom_sim.failure import ProgramError
from warploom_sim.replay import recount, replay_checks, rtl_replay
from warploom_sim.traces import trace_reader

pytestmark = pytest.mark.usefixtures("own_folder")
ROOT = Path(__file__).parents[3]
#: A reader with a fault, in every process that finds it on its path: ``launches`` are what it read.
FAULTY_READER = """
import dataclasses
from warploom_sim.traces import trace_reader

load = trace_reader.load

def load_wrongly(path, **options):
    trace = load(path, **options)
    launches = trace.launches
    return dataclasses.replace(trace, launches=tuple({launches}))

trace_reader.load = load_wrongly
"""
#: Faults of a reader that keeps every kernel: what it reads, and what is said of it.
MISREADINGS = {
    "none": ("", ""),
    "streams all 0": (
        "stream=0",
        r"launch 1 \(event 3\): the bench was given stream 0 instead of 1",
    ),
    "grid reversed": (
        "grid=one.grid[::-1]",
        r"launch 0 \(event 1\): the bench was given gx 1 instead of 3, gz 3 instead of 1",
    ),
    "block reversed": ("block=one.block[::-1]", r"dx 2 instead of 4, dz 4 instead of 2"),
    "registers constant": ("registers=24", r"warp_registers \d+ instead of \d+"),
    "shared memory constant": ("shared_bytes=0", r"shared 8 instead of 9"),
}


# The reader


@pytest.fixture
def faulty_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what plants a fault in the reader of this process and of those that it starts."""

    def plant(launches: str) -> None:
        code = FAULTY_READER.format(launches=launches)
        (tmp_path / "sitecustomize.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(trace_reader, "load", trace_reader.load)  # put back afterwards
        exec(code, {})

    return plant


@pytest.mark.thorough
@pytest.mark.parametrize("launches", [None, 15])
def test_a_reader_that_drops_kernels_alike_for_rtl_and_model_is_found(
    trace: Path, faulty_reader: Callable[[str], None], launches: int | None
) -> None:
    faulty_reader("one for number, one in enumerate(launches) if number % 10 != 9")
    code, said, _ = sim(trace, *(("--launches", str(launches)) if launches else ()))
    assert code == 1
    assert re.search(r"mismatches *[|│] *0 ", said)
    assert (
        "trace.json holds 20 kernel events of 160 blocks,"
        " but 18 kernel events of 144 blocks were read\n"
    ) in said


@pytest.mark.parametrize("fault", thorough_but(list(MISREADINGS)[:1], MISREADINGS))
def test_a_reader_that_mistakes_a_field_alike_for_rtl_and_model_is_found(
    tmp_path: Path, faulty_reader: Callable[[str], None], fault: str
) -> None:
    values = {"block": [4, 1, 2], "registers per thread": 64, "shared memory": 128}
    events = [
        event
        for n in range(2)
        for event in (call(n, float(n)), kernel(n, 10.0 + n, grid=[3, 2, 1], stream=7 + n))
    ]
    for event in events[1::2]:
        event["args"] |= values
    trace = write(tmp_path, document() | {"traceEvents": events})
    field, said = MISREADINGS[fault]
    faulty_reader(f"dataclasses.replace(one, {field}) for one in launches")
    code, out, _ = sim(trace)
    assert code == (1 if said else 0)
    assert re.search(r"mismatches *[|│] *0 ", out)
    assert re.search(said, out), out


def test_launches_that_are_lost_after_reading_are_found(trace: Path) -> None:
    read, there = trace_reader.load(trace), recount.read(trace)

    def unread(launches: int, most: int | None) -> list[str]:
        return replay_checks.unread(read, launches, most, there)

    assert unread(20, None) == unread(5, 5) == unread(20, 100) == []
    assert unread(19, None) == unread(19, 100)
    assert unread(19, None) == ["19 launches made of 20 kernel events of 160 blocks, instead of 20"]
    assert len(unread(4, 5)) == 1


def test_a_pipe_is_refused_since_the_trace_is_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, said = sim(tmp_path / "pipe")
    assert code == 2
    assert said.endswith("pipe: is no regular file; legal: a file, which is read twice\n")


def test_a_call_without_an_id_counts_for_nothing(tmp_path: Path) -> None:
    """Nobody looks at its other fields, either."""
    content = document()
    content["traceEvents"].append({"ph": "X", "cat": "cuda_runtime", "args": {}})
    path = write(tmp_path, content)
    assert len(recount.read(path)) == len(trace_reader.load(path).launches) == 2


@pytest.mark.parametrize(
    ("name", "kernels", "blocks"),
    [("resnet50_infer", 232, 451_229), ("stencil3d_shapes", 42, 237_063)],
)
def test_the_recordings_are_counted(name: str, kernels: int, blocks: int) -> None:
    counted = recount.counted(recount.read(ROOT / "traces" / f"{name}.json.gz"))
    assert (counted.kernels, counted.blocks) == (kernels, blocks)


# Files of an earlier run


@pytest.mark.parametrize("ends", ["model dies", "refused"])
def test_a_run_that_fails_leaves_no_file_of_the_run_before_it(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    def dies(job: object) -> None:
        raise ProgramError("the model died")

    monkeypatch.setattr(rtl_replay, "run_one", dies)
    names = {"json": "j.json", "launches-csv": "l.csv", "timeline": "t.pftrace", "report": "r.html"}
    for name in names.values():
        (tmp_path / name).write_text("equal")
    words = [word for option, name in names.items() for word in (f"--{option}", name)]
    if ends == "refused":
        words += ["--set", "sms=0"]
    code, _, said = sim(trace, *words)
    left = {name for name in names.values() if (tmp_path / name).exists()}
    expected = (2, set(names.values())) if ends == "refused" else (3, set())
    assert (code, left) == expected, said
