"""``warploom steal``: figures, timeline, plot, refusals."""

import json

import matplotlib.image
import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from warploom_golden.stealing import Costs, bounds, make_algorithm
from warploom_sim.cli import main


def steal(*arguments):
    return CliRunner().invoke(main, ["steal", *map(str, arguments)])


def test_the_figures_are_those_of_the_run(tmp_path):
    file = tmp_path / "f.json"
    done = steal("n_queens", "--size", 7, "--workers", 4, "--seed", 3, "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    least = bounds(make_algorithm("n_queens", 3, 7), Costs())
    assert figures["correct"] is True
    assert figures["leaves"] == least.leaves == figures["rounds"]
    assert figures["work"] == least.work == figures["makespan_one_worker"] - Costs().start_up
    assert figures["bound"] == max(-(-least.work // 4), least.span)
    assert figures["bound"] <= figures["makespan"] <= figures["limit"]
    assert figures["speedup"] == round(figures["makespan_one_worker"] / figures["makespan"], 3)
    assert figures["makespan"] == figures["makespan_fence"] < figures["makespan_atomic"]
    assert f"{figures['makespan']:,}" in done.output
    assert "without contention: " in done.output


def test_the_timeline_reads_back(tmp_path):
    file = tmp_path / "t.pftrace"
    assert steal("n_queens", "--size", 6, "--workers", 3, "--timeline", file).exit_code == 0
    trace = Trace()
    trace.ParseFromString(file.read_bytes())
    tracks = {
        packet.track_descriptor.uuid: packet.track_descriptor.thread.thread_name
        for packet in trace.packet
        if packet.track_descriptor.HasField("thread")
    }
    assert sorted(tracks.values()) == ["worker 0", "worker 1", "worker 2"]
    names, opened, spans = {}, {}, []
    for packet in trace.packet:
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened
            opened[event.track_uuid] = (packet.timestamp, names[event.name_iid])
        elif event.type == TrackEvent.TYPE_SLICE_END:
            start, name = opened.pop(event.track_uuid)
            assert packet.timestamp > start
            spans.append((event.track_uuid, name, packet.timestamp - start))
    assert not opened
    assert {name for _, name, _ in spans} >= {"unit", "split", "push", "pop", "steal", "idle"}
    assert {uuid for uuid, _, _ in spans} == set(tracks)
    assert {length for _, name, length in spans if name == "steal"} == {Costs().steal}


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_plot_is_drawn(tmp_path, ending):
    file = tmp_path / f"p.{ending}"
    assert steal("n_queens", "--size", 6, "--workers", 3, "--plot", file).exit_code == 0
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert file.read_bytes().startswith(starts[ending])
    again = tmp_path / f"again.{ending}"
    assert steal("n_queens", "--size", 6, "--workers", 3, "--plot", again).exit_code == 0
    assert again.read_bytes() == file.read_bytes()
    if ending == "png":
        picture = matplotlib.image.imread(file)
        assert picture.std() > 0.05


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["bubble_sort"], "'bubble_sort' is not one of 'merge_sort', 'matrix_product'"),
        (["merge_sort", "--workers", 5, "--units", 4], "workers is 5 with 4 units; legal: 1 to 4"),
        (["merge_sort", "--workers", 0], "0 is not in the range"),
        (["n_queens", "--size", 13], "size is 13 for n_queens; legal: 1 to 12"),
        (["n_queens", "--plot", "p.gif"], "legal: a name that ends in .png, .svg, .pdf"),
        (
            ["n_queens", "--plot", "a.svg", "--timeline", "a.svg"],
            "'a.svg' is what --timeline writes",
        ),
        (["n_queens", "--timeline", "no/t.pftrace"], "in a folder that does not exist"),
    ],
)
def test_what_is_refused_is_one_line_and_writes_nothing(tmp_path, monkeypatch, arguments, text):
    monkeypatch.chdir(tmp_path)
    done = steal(*arguments, "--json", "f.json")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ") and text in line
    assert list(tmp_path.iterdir()) == []
