"""What ``make run-kernels`` demands of its runs; no simulator runs here."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from simt_host import merged_run
from simt_host.gpu_run import KernelOutcome, KernelRun
from simt_host.memory_image import MEMORY_BYTES
from tb.examples import run_kernels
from tb.examples.kernel_cases import KernelCase
from tb.examples.merged_rows import merged_rows

CONFIG = "default,sms=1"
Change = Callable[[KernelOutcome, tuple[KernelCase, ...]], KernelOutcome]


def right(cases: tuple[KernelCase, ...]) -> KernelOutcome:
    """Return what a GPU without a fault makes of launches."""
    memory = cases[-1].image.bytes.copy()
    for case in cases:
        first = case.image.addresses["out"]
        memory[first : first + case.out.nbytes] = np.frombuffer(case.out.tobytes(), np.uint8)
    record = {"fate": 0, "code": 0, "cycles": 1, "waited": 2}
    records = [record | {"launch": number} for number in range(len(cases))]
    return KernelOutcome(0, records, 1, 1, memory, [])


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Callable[[Change], tuple[int, list]]:
    """Return what calls the program on a GPU whose first outcome is changed."""

    def call(change: Change, merged: Sequence[dict] = ()) -> tuple[int, list]:
        def stand_in(runs: list[KernelRun], *_: object) -> list[KernelOutcome]:
            cases = [cases for cases, _ in run_kernels.planned(CONFIG)]
            first, *rest = map(right, cases)
            return [change(first, cases[0]), *rest]

        monkeypatch.setattr(run_kernels, "run_kernels", stand_in)
        monkeypatch.setattr(run_kernels, "ENDING", ("vector_add",))
        monkeypatch.setattr(run_kernels, "merged_rows", lambda *_: merged)
        file = tmp_path / "kernels.json"
        monkeypatch.setattr(sys, "argv", ["", "--config", CONFIG, "--out", str(file)])
        with pytest.raises(SystemExit) as ended:
            run_kernels.main()
        rows = json.loads(file.read_text()) if file.exists() else []
        return int(ended.value.code or 0), rows

    return call


def stray(place: Callable[[KernelCase], int]) -> Change:
    """Return what changes one byte of the memory."""

    def change(outcome: KernelOutcome, cases: tuple[KernelCase, ...]) -> KernelOutcome:
        outcome.memory[place(cases[0])] ^= 1
        return outcome

    return change


def test_runs_that_are_right_are_equal(made) -> None:
    code, rows = made(lambda outcome, cases: outcome)
    assert (code, len(rows)) == (0, 11)
    assert all(row["equal"] for row in rows)


@pytest.mark.parametrize(
    "place",
    [
        lambda case: case.image.addresses["out"],
        lambda case: case.image.addresses["out"] + case.out.nbytes,
        lambda case: case.image.addresses["a"],
        lambda case: case.image.arguments,
        lambda case: case.kernel.entry,
        lambda case: len(case.image.bytes) - 1,
    ],
    ids=["the result", "behind the result", "an operand", "arguments", "code", "the last byte"],
)
def test_a_byte_that_nobody_may_change_is_seen(made, place) -> None:
    code, rows = made(stray(place))
    assert code == 1
    assert [number for number, row in enumerate(rows) if not row["equal"]] == [0]


@pytest.mark.parametrize("config", ["tiny", CONFIG])
def test_what_a_run_fills_was_read_before(config, monkeypatch) -> None:
    """A word above what is read is 0 until the whole memory is read."""
    monkeypatch.setattr(run_kernels, "ENDING", ("vector_add", "block_sum"))
    above, wholes = 0, 0
    for cases, run in run_kernels.planned(config):
        assert above == 0 or cases[-1].image.end <= above
        assert run.read_bytes >= cases[-1].image.end
        above = run.read_bytes if run.read_bytes < MEMORY_BYTES else 0
        wholes += not above
    assert (above, wholes) == (0, 1 + (config == run_kernels.TIMED_CONFIG))


@pytest.mark.parametrize("launches", [(), (0, 0)])
def test_a_launch_without_its_record_fails(made, launches, capsys) -> None:
    def change(outcome: KernelOutcome, cases: tuple[KernelCase, ...]) -> KernelOutcome:
        return replace(outcome, records=[outcome.records[0] | {"launch": n} for n in launches])

    assert made(change) == (run_kernels.FAILED, [])
    said = capsys.readouterr().err
    assert said == f"run-kernels: vector_add, code 0: records of launches {[*launches]} of 1\n"


@pytest.mark.parametrize(("equal", "order"), [(True, True), (False, True), (True, False)])
def test_a_merged_kernel_is_equal_and_in_order_or_the_program_fails(made, equal, order) -> None:
    row = {"kernel": "merged", "equal": equal, "order": order}
    code, rows = made(lambda outcome, cases: outcome, [row])
    assert code == (not (equal and order))
    assert rows[-1] == row


def test_a_merged_row_is_equal_only_if_its_launch_is(monkeypatch) -> None:
    """Here a GPU that does nothing, and offers the highest block first."""

    def stand_in(runs: list[KernelRun], *_: object) -> list[KernelOutcome]:
        record = {"fate": 0, "code": 0, "cycles": 5}
        blocks = range(runs[0].grids[0][0])
        offers = [[{"block": n} for n in blocks], [{"block": n} for n in reversed(blocks)]]
        made = [(run.images[-1].bytes, offers[n > 0]) for n, run in enumerate(runs)]
        return [KernelOutcome(0, [record], 0, 0, memory, [], told) for memory, told in made]

    monkeypatch.setattr(merged_run, "run_kernels", stand_in)
    rows = merged_rows("tiny", "verilator")
    assert len(rows) == 8
    assert [row["equal"] for row in rows] == [False] * 8
    assert [row["order"] for row in rows] == [True] + [False] * 7


def test_an_empty_plan_is_refused(made, monkeypatch, capsys) -> None:
    monkeypatch.setattr(run_kernels, "planned", lambda config: [])
    assert made(lambda outcome, cases: outcome) == (run_kernels.REFUSED, [])
    said = "run-kernels: config default,sms=1 has 0 runs; legal: at least 1\n"
    assert capsys.readouterr().err == said
