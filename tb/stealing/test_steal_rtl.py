"""``warploom steal --rtl``: workers over AXI4-Lite against the RTL of mailbox and units."""

import json

import pytest
from click.testing import CliRunner

from warploom_sim.cli import main


def steal(*arguments):
    return CliRunner().invoke(main, ["steal", *map(str, arguments)])


def run(folder, *arguments):
    file = folder / "f.json"
    done = steal(*arguments, "--rtl", "--json", file)
    assert done.exit_code == 0, done.output
    figures = json.loads(file.read_text())
    assert figures["correct"] is True
    assert figures["leaves"] == figures["leaves_model"]
    return figures


@pytest.mark.thorough
def test_two_workers_sort_as_numpy_does(tmp_path):
    """4,096 numbers in 8 leaves, each cut into 32 parts for the unit's cores."""
    figures = run(tmp_path, "merge_sort", "--workers", 2, "--size", 4096)
    assert (figures["leaves"], figures["rounds"], figures["parts"]) == (8, 8, 256)
    assert figures["steals"] > 0
    assert figures["polls"] > 0


@pytest.mark.deep
@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
@pytest.mark.parametrize("algorithm", ["merge_sort", "matrix_product", "n_queens", "quadrature"])
def test_eight_workers_get_every_answer_right(tmp_path, algorithm, simulator):
    sizes = {"merge_sort": 8192, "matrix_product": 64, "n_queens": 6, "quadrature": 100}
    arguments = ("--workers", 8, "--size", sizes[algorithm], "--sim", simulator)
    run(tmp_path, algorithm, *arguments)


@pytest.mark.deep
def test_a_leaf_over_all_units_of_a_worker(tmp_path):
    figures = run(
        tmp_path,
        "n_queens",
        "--workers",
        2,
        "--units",
        4,
        "--size",
        6,
        "--mapping",
        "one_to_many",
    )
    assert figures["rounds"] == 2 * figures["leaves"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--workers", 9), "units is 9 with --rtl; legal: 1 to 8"),
        (("--plot", "p.png"), "--rtl writes neither --timeline nor --plot"),
    ],
)
def test_what_the_rtl_cannot_do_is_refused(tmp_path, monkeypatch, arguments, text):
    monkeypatch.chdir(tmp_path)
    done = steal("n_queens", "--rtl", *arguments)
    assert done.exit_code == 2
    assert text in done.output
    assert list(tmp_path.iterdir()) == []
