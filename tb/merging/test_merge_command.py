"""``warploom merge``: figures, refusals, the H200's experiment."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tb.support import trace_files
from warploom_golden.merging.deadlock import Deadlock
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_replay import MergeRules, run_merged
from warploom_golden.merging.merged_work import CHARGES
from warploom_golden.merging.table_check import TableError
from warploom_golden.replay.gains import Workload, run_queue
from warploom_golden.replay.machine import Machine
from warploom_sim.cli import main
from warploom_sim.methods.merge import h200
from warploom_sim.methods.merge.merge_report import charge_verdict
from warploom_sim.methods.merge.run import MergeOptions, best_charge, prepare, run
from warploom_sim.traces import trace_reader
from warploom_sim.traces.trace_launches import make_launches
from warploom_spec import preset

TASKS = """
[[tasks]]
name = "blur"
grid = [40, 2, 1]
block = [16, 16, 1]
registers = 32
cycles = 900

[[tasks]]
name = "edges"
needs = ["blur"]
grid = [40, 1, 1]
block = [256, 1, 1]
shared_bytes = 4096
cycles = 600

[[tasks]]
name = "histogram"
grid = [96, 1, 1]
block = [128, 1, 1]
cycles = 300
"""
ENTRIES = """
permuted = ["edges"]
[[entries]]
task = "histogram"
first = [0, 0, 0]
last = [95, 0, 0]
[[entries]]
task = "blur"
first = [0, 0, 0]
last = [39, 1, 0]
"""
EDGES = "".join(f'[[entries]]\ntask = "edges"\nfirst = [{x}, 0, 0]\n' for x in reversed(range(40)))


def merge(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["merge", *map(str, arguments)])


def written(folder: Path, text: str) -> Path:
    path = folder / "tasks.toml"
    path.write_text(text)
    return path


@pytest.mark.thorough
def test_a_task_files_figures(tmp_path: Path) -> None:
    out = tmp_path / "f.json"
    done = merge(written(tmp_path, TASKS), "--mode", "spin", "--json", out)
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert (found["merged_launches"], found["tables"], found["blocks"]) == (3, 1, 216)
    assert found["cycles"] == found["modes"]["spin"]["cycles"] < found["cycles_unmerged"]
    assert found["speedup"] == round(found["cycles_unmerged"] / found["cycles"], 4)
    assert found["modes"]["spin"]["spin_slot_cycles"] > 0 == found["modes"]["spin"]["gate_cycles"]
    assert found["modes"]["gate"]["gate_cycles"] > 0 == found["modes"]["gate"]["spin_slot_cycles"]
    assert f"{found['cycles']:,}" in done.output
    # The recorded GPU's figures come only where they are asked for.
    assert "h200" not in found and "418.5" not in done.output


@pytest.mark.thorough
def test_both_charging_rules_run_and_the_better_one_is_named(tmp_path: Path) -> None:
    tasks, out = written(tmp_path, TASKS), tmp_path / "f.json"
    by_charge = {}
    for charge in CHARGES:
        done = merge(tasks, "--charge", charge, "--json", out)
        found = by_charge[charge] = json.loads(out.read_text())
        assert found["modes"] == found["charges"][charge]
        assert found["cycles"] == found["charges"][charge]["gate"]["cycles"]
        verb = {"maximum": "would win", "task": "wins"}[charge]
        assert f"charging rule used: {charge} (--charge); in mode gate task {verb}: " in done.output
        assert "without contention: " in done.output
        rows = [[cell.strip() for cell in line.split("|")] for line in done.output.splitlines()]
        shown = {tuple(row[1:3]): row[3] for row in rows if len(row) == 7}
        for rule, modes in found["charges"].items():
            for mode, run_of in modes.items():
                assert shown[f"merged, {mode}", rule] == f"{run_of['cycles']:,}"
    assert by_charge["maximum"]["charges"] == by_charge["task"]["charges"]
    assert by_charge["task"]["cycles"] < by_charge["maximum"]["cycles"]
    assert {found["best_charge"] for found in by_charge.values()} == {"task"}


def test_equal_charging_rules_have_no_winner() -> None:
    charges = {charge: {"gate": {"cycles": 70}, "spin": {"cycles": 80}} for charge in CHARGES}
    assert best_charge(charges, "gate") is None
    figures = {"mode": "gate", "charge": "task", "charges": charges, "best_charge": None}
    assert charge_verdict(figures).endswith("in mode gate both rules take as long")
    charges["maximum"]["spin"] = {"cycles": 60}
    assert best_charge(charges, "spin") == "maximum"
    figures |= {"mode": "spin", "best_charge": "maximum"}
    assert charge_verdict(figures).endswith("maximum would win: 25.00% fewer cycles than task")


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    out = tmp_path / "f.json"
    # Keys of the document stand before its tables.
    text = ENTRIES.splitlines()[1] + TASKS + "\n".join(ENTRIES.splitlines()[2:]) + "\n" + EDGES
    done = merge(written(tmp_path, text), "--json", out)
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["entries"] == 42


def small_trace(folder: Path, **changes: Any) -> Path:
    document = trace_files.document()
    for number in range(3, 6):
        document["traceEvents"] += [
            trace_files.call(number, 10.0 * number),
            trace_files.kernel(number, stream=7 + number % 2),
        ]
    document["traceEvents"] += changes.get("more", [])
    return trace_files.write(folder, document)


def test_a_traces_figures(tmp_path: Path) -> None:
    trace, out = small_trace(tmp_path), tmp_path / "f.json"
    few = ("--launches", 4, "--config", "tiny", "--seed", 5)
    done = merge(trace, "--json", out, *few, "--h200")
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    config = preset("tiny")
    launches = make_launches(
        trace_reader.load(trace), config, MergeOptions(file=trace).time_scale, 4
    )
    work = Workload(launches, config, 5)
    assert found["cycles_unmerged"] == run_queue(work, Machine.of(config))
    # Streams 7, 7, 8, 7: two of the first with one of the second, then the one that is left.
    assert (found["launches"], found["merged_launches"], found["tables"]) == (4, 3, 1)
    assert found["blocks"] == 32 and found["time_scale"] == "1/32"
    assert len(found["h200"]) == 24
    assert "418.5" in done.output


def test_launches_that_the_configuration_refuses_are_counted(tmp_path: Path) -> None:
    """On `tiny` a block of 300 threads is refused; its neighbours merge without it."""
    document = trace_files.document()
    for number in range(3, 7):
        shape = [300, 1, 1] if number == 3 else [128, 1, 1]
        launch = trace_files.kernel(number, block=shape)
        launch["args"]["registers per thread"] = 16
        document["traceEvents"] += [trace_files.call(number, 10.0 * number), launch]
    trace, out = trace_files.write(tmp_path, document), tmp_path / "f.json"
    done = merge(trace, "--config", "tiny", "--json", out)
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert (found["launches"], found["refused"]) == (6, 1)
    assert found["merged_launches"] == 4 and found["left_out"] == {"THREADS": 1}


def test_a_traces_jitter_is_the_replays(tmp_path: Path) -> None:
    """One launch alone is not merged: its cycles are the replay's."""
    out = tmp_path / "f.json"
    assert merge(small_trace(tmp_path), "--launches", 1, "--json", out).exit_code == 0
    found = json.loads(out.read_text())
    assert found["merged_launches"] == 0
    assert found["cycles"] == found["cycles_unmerged"]


WAIT = {
    "ph": "X",
    "cat": "cuda_runtime",
    "name": "cudaStreamWaitEvent",
    "ts": 15.0,
    "args": {"correlation": 99},
}


def test_a_trace_with_event_waits_is_refused(tmp_path: Path) -> None:
    trace = small_trace(tmp_path, more=[WAIT])
    done = merge(trace, "--json", tmp_path / "f.json")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {trace}: event 10: a stream waits for an event")
    assert done.stderr.count("\n") == 1 and not (tmp_path / "f.json").exists()


def test_a_trace_without_kernels_is_refused(tmp_path: Path) -> None:
    trace = trace_files.write(tmp_path, {"deviceProperties": [], "traceEvents": []})
    done = merge(trace, "--json", tmp_path / "f.json")
    assert done.exit_code == 2 and "the trace has no kernel events" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "f.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks = 1", "'tasks' is no list of tables; legal: [[tasks]] at least once"),
        ("", "field 'tasks' is missing"),
        ("[[tasks]", "not TOML: "),
        ("tasks = " + "[" * 20000, "not a task file: nested too deeply"),
        (TASKS.replace("cycles = 600", f"cycles = {'9' * 5000}"), "not TOML: "),
        (TASKS.replace("cycles = 600", "cycles = 1.5"), "'cycles' is 1.5; legal: an integer"),
        (TASKS.replace("cycles = 600", "cycles = nan"), "'cycles' is NaN; legal: an integer"),
        ("speed = 1\n" + TASKS, "field 'speed' is unknown; legal: tasks, entries, permuted"),
        (TASKS.replace("registers", "register"), "task 0 (blur): field 'register' is unknown"),
        (TASKS.replace("cycles = 600", ""), "task 1 (edges): field 'cycles' is missing"),
        (
            TASKS.replace("cycles = 600", "cycles = 0"),
            "task 1 (edges): 'cycles' is 0; legal: an integer from 1 to 67108863",
        ),
        (
            TASKS.replace("cycles = 600", "cycles = 2020-01-01"),
            "task 1 (edges): 'cycles' is \"2020-01-01\"; legal: an integer",
        ),
        (
            TASKS.replace("[96, 1, 1]", "[96, 0, 1]"),
            "task 2 (histogram): 'grid' is [96, 0, 1]: a task without blocks; legal: 1 and more",
        ),
        (
            TASKS.replace('["blur"]', '["blu"]'),
            "task 1 (edges): 'needs' names \"blu\"; legal: blur, edges, histogram",
        ),
        (TASKS.replace('["blur"]', '"blur"'), "'needs' is \"blur\"; legal: a list of tasks' names"),
        (
            TASKS.replace('"histogram"', '"blur"'),
            "task 2: 'name' is \"blur\", as that of task 0",
        ),
        (
            TASKS.replace("registers = 32", 'needs = ["edges"]'),
            "tasks depend on each other in a circle: ",
        ),
        (
            TASKS.replace("registers = 32", "registers = 99999"),
            "task 0 (blur): launch_descriptor.warp_registers is 12500; legal: 0 to 511",
        ),
        (
            TASKS.replace("[256, 1, 1]", "[2000, 1, 1]"),
            "BLOCK_RANGE: task 1: LaunchCheck refuses it (argument 0)",
        ),
        (
            TASKS.replace("shared_bytes = 4096", "shared_bytes = 250000"),
            "BLOCK_SHARED: task 1: LaunchCheck refuses it",
        ),
        (
            TASKS + '[[entries]]\ntask = "x"\nfirst = [0, 0, 0]',
            "entry 0: 'task' names \"x\"; legal: ",
        ),
        (TASKS + '[[entries]]\ntask = "blur"\n', "entry 0: field 'first' is missing"),
        (
            TASKS + '[[entries]]\ntask = "edges"\nfirst = [0, 0, 0]\nlast = [39, 0, 0]',
            "TABLE_ORDER: entry 0, task 1, block (0, 0, 0): task 0, which it needs, is not",
        ),
        (
            TASKS + '[[entries]]\ntask = "blur"\nfirst = [0, 0, 0]\nlast = [40, 0, 0]',
            "TABLE_RANGE: entry 0, task 0, block (40, 0, 0): its grid is (40, 2, 1)",
        ),
        (
            'permuted = ["blu"]\n' + TASKS + ENTRIES.split("\n", 2)[2],
            "'permuted' names \"blu\"; legal",
        ),
    ],
)
def test_a_bad_task_file_is_one_line_and_writes_nothing(
    tmp_path: Path, text: str, said: str
) -> None:
    path, out = written(tmp_path, text), tmp_path / "f.json"
    done = merge(path, "--json", out)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {path}: ") and said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


def test_more_tasks_than_the_table_holds_are_refused(tmp_path: Path) -> None:
    done = merge(written(tmp_path, TASKS), "--max-tasks", 2)
    assert done.exit_code == 2 and "TABLE_SIZE: 3 tasks; legal: 1 to 2" in done.stderr
    assert merge(written(tmp_path, TASKS), "--max-tasks", 65).exit_code == 2


def test_too_many_blocks_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, TASKS.replace("[96, 1, 1]", "[2000, 2000, 10]"))
    done = merge(path)
    assert done.exit_code == 2 and "blocks; legal: up to 16,777,216" in done.stderr


# --- the H200 ------------------------------------------------------------------------------------
def test_the_recorded_figures_are_whole() -> None:
    rows = h200.recorded()
    assert len(rows) == 25
    assert {(row.blocks, row.work) for row in rows} == {
        (n, work) for n in (33, 66, 132, 1056) for work in (2000, 40000)
    }
    assert [row.order for row in rows if row.timed_out] == ["1 0 2"]


def test_with_the_sources_walk_the_model_takes_as_long_as_the_h200() -> None:
    """One number is fitted, to one pair of runs; launching, some 5 us a kernel, is not modelled."""
    for row in h200.compare():
        cycles = row["cycles"]
        if row["order"] == h200.SEPARATE:
            assert -18 < cycles[h200.SEPARATE] / h200.CLOCK_MHZ - row["h200_us"] < 0
        else:
            modelled = cycles["walk"] / h200.CLOCK_MHZ
            assert -12 < modelled - row["h200_us"] < 5 or abs(modelled / row["h200_us"] - 1) < 0.05


def test_the_order_that_timed_out_on_the_h200_deadlocks_in_the_model() -> None:
    (row,) = (row for row in h200.recorded() if row.timed_out)
    table = MergePlanner(h200.machine()).plan(h200.three_tasks(row.blocks, row.work))
    with pytest.raises(TableError, match="^TABLE_ORDER: entry 0, task 1"):
        MergePlanner(h200.machine()).check(h200.ordered(table, row.order))
    with pytest.raises(Deadlock) as stands:
        run_merged([h200.ordered(table, row.order)], h200.machine(), 0, MergeRules(mode="spin"))
    *spinning, head = stands.value.waiters
    assert len(spinning) == 264 and {waiter.task for waiter in spinning} == {1}
    assert {waiter.cause for waiter in spinning} == {"the mark of task 0"}
    assert (head.merged_id, head.cause) == (264, "room on an SM")


def test_a_mark_beside_the_dispatcher_makes_merging_win_where_the_walk_loses() -> None:
    rows = {(row["blocks"], row["work_cycles"], row["order"]): row for row in h200.compare()}
    for (blocks, work, order), row in rows.items():
        separate = rows[blocks, work, h200.SEPARATE]
        if order != h200.SEPARATE:
            for mode in ("gate", "spin"):
                assert row["cycles"][mode] <= separate["cycles"][h200.SEPARATE]
            if blocks == 1056:
                assert row["h200_us"] > 2 * separate["h200_us"]


def test_the_tasks_are_checked_before_anything_runs(tmp_path: Path) -> None:
    job = prepare(MergeOptions(file=written(tmp_path, TASKS)))
    assert job.blocks == 216 and job.figures["entries"] == 3


# --- the page ------------------------------------------------------------------------------------
PAGE = Path(__file__).parents[2] / "docs" / "merging" / "merged_kernels.md"
TRACES = {
    "ResNet-50": "resnet50_infer",
    "stencil": "stencil3d_shapes",
    "two streams": "two_streams_priority",
    "GPT-2": "gpt2_generate",
    "Llama": "llama_generate",
}


def page_rows(heading: str) -> list[list[str]]:
    """Return the cells of the table whose head begins with a heading."""
    lines = PAGE.read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_pages_h200_table_is_what_the_command_prints() -> None:
    found = {(r["blocks"], r["work_cycles"], r["order"]): r for r in h200.compare()}
    rows = page_rows("n")
    assert len(rows) == 8
    for cells in rows:
        blocks, work = (int(cell.replace(",", "")) for cell in cells[:2])
        merged, separate = (found[blocks, work, order] for order in ("0 2 1", h200.SEPARATE))
        cycles = merged["cycles"] | separate["cycles"]
        walk, gate, alone = (
            f"{cycles[name] / h200.CLOCK_MHZ:.1f}" for name in ("walk", "gate", h200.SEPARATE)
        )
        recorded = [str(one["h200_us"]) for one in (merged, separate)]
        assert cells[2:] == [recorded[0], walk, recorded[1], gate, alone]


def test_the_pages_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = PAGE.read_text().split("```python\n")[1].split("```")[0]
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("[0, 0, 0, 0, 1, 1, 1, 1] [0, 1, ")
    tasks = PAGE.read_text().split("```toml\n")[1].split("```")[0]
    done = merge(written(tmp_path, tasks))
    assert done.exit_code == 0, done.output


@pytest.mark.deep
@pytest.mark.parametrize("config", ["default", "large"])
@pytest.mark.parametrize("name", TRACES)
def test_the_pages_figures_of_the_traces(name: str, config: str) -> None:
    (row,) = (row for row in page_rows("trace") if row[:2] == [name, f"`{config}`"])
    file = PAGE.parents[2] / "traces" / f"{TRACES[name]}.json.gz"
    options = MergeOptions(file=file, config=config)
    found = run(options, prepare(options))
    unmerged = found["cycles_unmerged"]
    cells = [
        f"{100 * (found['charges'][charge][mode]['cycles'] / unmerged - 1):+.2f} %"
        for charge in CHARGES
        for mode in ("gate", "spin")
    ]
    assert row[2:] == [f"{unmerged:,}", *cells]
