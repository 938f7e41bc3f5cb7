"""Comparing events: what differs is found, counted once, and said where."""

import io
from typing import cast

import numpy as np
import pytest
from rich.console import Console

from tb.support.trace_files import document, write
from warploom_golden.replay import event_model
from warploom_golden.replay.event_model import Events
from warploom_sim.replay import replay_words, rtl_replay
from warploom_sim.replay.event_comparison import Comparison, compare
from warploom_sim.replay.expected import count
from warploom_sim.replay.request import ReplayRequest
from warploom_sim.views import replay_table
from warploom_spec import LaunchDescriptor, preset

CONFIG = preset("tiny")
LAUNCHES = [
    LaunchDescriptor(
        grid=(3 + n, 2, 1), block=(16, 1 + n % 3, 1), code=n, arguments=40, index_address=8 * n
    )
    for n in range(4)
]


@pytest.fixture(scope="module")
def model() -> Events:
    return event_model.run(LAUNCHES, CONFIG, 3)


def changed(events: Events, kind: str, name: str, number: int, value: int) -> Events:
    column = events.tables[kind][name].copy()
    column[number] = value
    table = events.tables[kind] | {name: column}
    return Events(events.tables | {kind: table}, events.stalls)


def without(events: Events, kind: str, number: int) -> Events:
    table = {name: np.delete(c, number, axis=0) for name, c in events.tables[kind].items()}
    return Events(events.tables | {kind: table}, events.stalls)


def test_equal_events_are_equal(model: Events) -> None:
    outcome = compare(model, model)
    assert (outcome.mismatches, outcome.first) == (0, None)
    assert outcome.compared["offers"] == sum(g[0] * g[1] for g in (x.grid for x in LAUNCHES))


@pytest.mark.parametrize(
    ("kind", "name", "number", "launch"),
    [
        ("offers", "sm", 11, 1),
        ("offers", "bx", 0, 0),
        ("offers", "block_number", 9, 1),
        ("offers", "entry", 35, 3),
        ("starts", "gx", 2, 2),
        ("record_words", "data", 7, 1),
        ("reports", "cycle", 3, 0),
        ("answers", "ticket", 2, 2),
        ("decisions", "hit", 3, 3),
        ("words", "dx", 1, 1),
        ("ended", "word2", 3, 3),
        ("done", "entry", 2, 2),
        ("warps", "mask", 2, 1),
    ],
)
def test_a_changed_field_is_found_with_its_launch(
    model: Events, kind: str, name: str, number: int, launch: int
) -> None:
    value = int(model.tables[kind][name][number]) + 1
    outcome = compare(changed(model, kind, name, number, value), model)
    assert outcome.mismatches == 1
    first = outcome.first
    assert first is not None
    assert (first.kind, first.number, first.launch) == (kind, number, launch)
    assert first.differing() == [name]
    assert first.rtl is not None and first.model is not None
    assert (first.rtl[name], first.model[name]) == (value, value - 1)


def test_an_offer_and_its_report_are_one_block(model: Events) -> None:
    block = tuple(int(model.tables["offers"][name][9]) for name in ("bx", "by", "bz"))
    outcome = compare(changed(model, "offers", "slot", 9, 3), model)
    assert outcome.first is not None and outcome.first.block == block
    offers = model.tables["offers"]
    reports = model.tables["reports"]
    same = (reports["sm"] == offers["sm"][9]) & (reports["slot"] == offers["slot"][9])
    later = same & (reports["cycle"] > offers["cycle"][9])
    number = int(np.flatnonzero(later)[0])
    outcome = compare(changed(model, "reports", "status", number, 1), model)
    assert outcome.first is not None and outcome.first.block == block


@pytest.mark.parametrize("side", ["rtl", "model"])
def test_an_event_that_one_side_lacks_at_the_end(model: Events, side: str) -> None:
    short = without(model, "ended", 3)
    outcome = compare(short, model) if side == "rtl" else compare(model, short)
    assert outcome.mismatches == 1
    assert outcome.first is not None
    assert getattr(outcome.first, side) is None
    assert outcome.compared["ended"] == 3


def test_an_error_record_is_never_expected(model: Events) -> None:
    row = {"cycle": 9, "source": 0, "code": 20, "argument": 1}
    errors = {name: np.array([value], np.uint64) for name, value in row.items()}
    outcome = compare(Events(model.tables | {"errors": errors}, model.stalls), model)
    assert outcome.mismatches == 1
    assert outcome.first is not None and outcome.first.rtl == row


def test_a_stall_counter_that_differs(model: Events) -> None:
    stalls = model.stalls | {"stall_warps": model.stalls["stall_warps"] + 1}
    outcome = compare(Events(model.tables, stalls), model)
    assert outcome.mismatches == 1
    assert outcome.first is not None and outcome.first.kind == "stall_warps"


def test_of_several_the_first_in_time_is_shown(model: Events) -> None:
    both = changed(changed(model, "ended", "fate", 0, 1), "offers", "stream", 1, 1)
    outcome = compare(both, model)
    assert outcome.mismatches == 2
    assert outcome.first is not None and outcome.first.kind == "offers"


def shortfalls(outcome: Comparison, rtl: Events) -> list[str]:
    offered = np.bincount(rtl.tables["offers"]["ticket"].astype(int), minlength=1)
    return rtl_replay.shortfalls(outcome, count(LAUNCHES, CONFIG), rtl, offered)


def test_what_both_sides_lack_is_missed_by_the_demand(model: Events) -> None:
    assert shortfalls(compare(model, model), model) == []
    for kind in (
        "answers",
        "decisions",
        "done",
        "starts",
        "words",
        "warps",
        "offers",
        "reports",
        "record_words",
    ):
        short = without(model, kind, 0)
        outcome = compare(short, short)
        assert outcome.mismatches == 0
        (problem,) = shortfalls(outcome, short)
        assert problem.startswith(f"{kind}: {outcome.compared[kind]} compared, but the launches")


def test_a_refusal_that_nothing_demands(model: Events) -> None:
    refused = changed(model, "answers", "code", 1, 5)
    (problem,) = shortfalls(compare(refused, refused), refused)
    assert problem == "refused: {'THREADS': 1}, but the launches alone demand {}"


def test_a_mismatch_says_everything(model: Events, tmp_path) -> None:
    path = write(tmp_path, document())
    options = ReplayRequest(traces=(path,), rtl=True, policy="first_fit", seed=9)
    outcome = compare(changed(model, "offers", "sm", 11, 7), model)
    assert outcome.first is not None
    text = replay_words.describe(outcome.first, ["conv", "relu", "pool", "add"], options)
    cycle = int(model.tables["offers"]["cycle"][11])
    first, rtl, golden, differs, again = text.splitlines()
    block = outcome.first.block
    assert first == f'first mismatch: offers 11, launch 1 ("relu"), block {block}, cycle {cycle}'
    assert rtl.startswith("  RTL:   cycle ") and ", sm 7, " in rtl
    assert golden.startswith("  model: cycle ") and ", sm 7, " not in golden
    assert differs == "  differs: sm"
    assert again == (
        f"  again with: warploom sim {path} --sim verilator --config default"
        " --policy first_fit --time-scale 1/32 --contention sharing --seed 9"
    )


@pytest.mark.parametrize(("blocks", "said"), [(0, True), (3, False)])
def test_a_replay_in_which_nothing_was_dispatched_says_so(blocks: int, said: bool) -> None:
    console = Console(file=io.StringIO(), width=100)
    figures = {"trace": "t.json", "verdict": "equal", "refused": {"THREADS": 2}, "blocks": blocks}
    replay_table.show(console, figures, [])
    text = cast(io.StringIO, console.file).getvalue()
    assert "THREADS 2" in text
    assert ("nothing was dispatched" in text) == said
