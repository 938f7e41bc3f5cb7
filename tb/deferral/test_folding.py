"""Folding of repeated launches: the fewest runs, by brute force and on the recordings."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom_golden.deferral.folding import fold
from warploom_sim.traces import trace_reader

ROOT = Path(__file__).parents[2]


def unfold(runs, launches):
    for run in runs:
        body = launches[run.first : run.first + run.body]
        yield from itertools.chain.from_iterable([body] * run.count)


def fewest(launches, templates):
    """Return the fewest runs, by trying every last run."""
    if not launches:
        return 0
    best = 1 + fewest(launches[:-1], templates)
    for body in range(1, templates + 1):
        for count in range(2, len(launches) // body + 1):
            tail = launches[-body * count :]
            if tail == tail[:body] * count:
                best = min(best, 1 + fewest(launches[: -body * count], templates))
    return best


@given(st.lists(st.integers(0, 2), max_size=9), st.integers(1, 4))
def test_runs_unfold_to_the_sequence_and_are_the_fewest(launches, templates):
    runs = fold(launches, templates)
    assert list(unfold(runs, launches)) == launches
    assert all(run.body <= templates for run in runs)
    assert len(runs) == fewest(launches, templates)


@pytest.mark.parametrize(
    ("name", "launches", "runs"),
    [
        ("resnet50_infer", 232, {4: 229, 16: 75}),
        ("gpt2_generate", 1108, {4: 1052, 32: 148}),
        ("llama_generate", 924, {4: 880, 64: 208}),
    ],
)
def test_the_recordings_fold_as_the_page_says(name, launches, runs):
    trace = trace_reader.load(ROOT / "traces" / f"{name}.json.gz")
    keys = [
        (one.name, one.grid, one.block, one.registers, one.shared_bytes, one.stream)
        for one in trace.launches
    ]
    assert len(keys) == launches
    assert {templates: len(fold(keys, templates)) for templates in runs} == runs
