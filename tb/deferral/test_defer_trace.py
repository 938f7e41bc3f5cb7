"""``warploom defer TRACE``: figures of folded launches."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom_sim.cli import main

ROOT = Path(__file__).parents[2]


def defer(*arguments):
    return CliRunner().invoke(main, ["defer", *map(str, arguments)])


def test_the_figures_of_a_recording(tmp_path):
    file = tmp_path / "f.json"
    done = defer(ROOT / "traces" / "resnet50_infer.json.gz", "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    assert (figures["launches"], figures["upper_bound"]) == (232, True)
    rows = {row["templates"]: row for row in figures["rows"]}
    assert {number: row["commands"] for number, row in rows.items()} == {
        0: 232,
        4: 229,
        16: 75,
        32: 75,
        64: 75,
    }
    assert rows[0]["messages"] == 2 * 232
    assert figures["mailbox"] == "counted"
    assert "counted, not simulated" in " ".join(done.output.split())
    one_by_one = rows[0]["mailbox_transactions"]
    assert rows[0]["mailbox_transactions_one_by_one"] == one_by_one > 232 * 3
    assert rows[64]["mailbox_transactions"] < one_by_one
    assert rows[64]["mailbox_bytes"] == 4 * rows[64]["mailbox_transactions"]
    assert rows[0]["messages_per_launch"] == 2
    assert rows[0]["bytes_per_launch"] == round(rows[0]["bytes"] / 232, 1)
    sixteen = rows[16]
    assert sixteen["commands"] == 232 - sixteen["in_loops"] + sixteen["loops"]
    assert sixteen["bytes"] < rows[0]["bytes"] / 2
    assert sixteen["link_us"] == round((150 * 5000 + sixteen["bytes"] * 0.1) / 1000, 1)
    assert "an upper bound" in done.output


def spread(kernels):
    for number, event in enumerate(kernels):
        event["args"]["stream"] = number % 17


def enlarge(kernels):
    kernels[5]["args"]["grid"] = [1, 70_000, 1]


def empty(kernels):
    kernels[5]["args"]["grid"] = [0, 1, 1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (spread, "17 streams; legal"),
        (enlarge, "legal: 0 to 65535"),
        (empty, "the core refuses it: GRID_ZERO"),
    ],
)
def test_a_trace_that_the_core_does_not_take_has_no_figures_of_the_mailbox(change, said, tmp_path):
    """Messages are counted as ever, accesses are not."""
    trace = json.loads(gzip.decompress((ROOT / "traces" / "resnet50_infer.json.gz").read_bytes()))
    change([event for event in trace["traceEvents"] if event.get("cat") == "kernel"])
    changed, file = tmp_path / "t.json", tmp_path / "f.json"
    changed.write_text(json.dumps(trace))
    done = defer(changed, "--json", file)
    assert done.exit_code == 0, done.output
    assert "no figures of the mailbox: " in done.stderr and said in done.stderr
    for row in json.loads(file.read_text())["rows"]:
        assert row["messages"] > 0
        mailbox = {value for name, value in row.items() if name.startswith("mailbox")}
        assert mailbox == {None}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"no trace", "t.json"),
        (b'{"traceEvents": []}', "t.json"),
    ],
)
def test_what_is_no_trace_is_one_line(tmp_path, content, text):
    trace = tmp_path / "t.json"
    trace.write_bytes(content)
    done = defer(trace, "--json", tmp_path / "f.json")
    assert done.exit_code == 2
    assert done.output.startswith("Error: ") and done.output.count("\n") == 1
    assert text in done.output
    assert not (tmp_path / "f.json").exists()
