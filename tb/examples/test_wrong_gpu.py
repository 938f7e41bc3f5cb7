"""A fault in the front end or beside the core makes a kernel's result wrong, on a whole GPU."""

from collections.abc import Sequence

import numpy as np
import pytest

from simt_host import gpu_run
from tb.examples.kernel_cases import KernelCase, add_in_place, kernel_case
from tb.examples.run_kernels import run_of
from tb.support.planted import plant
from warploom.index.index_packer import IndexPacker
from warploom.sm_side import BlockToWarps
from warploom.sm_side._cell_runs import CellRuns
from warploom_dev.rewrite import Rewrite
from warploom_spec import preset

LIMIT = 30_000


def launches(name: str, *blocks: tuple[int, int, int], seed: int) -> list[KernelCase]:
    """Draw launches of one kernel that are resident at once."""
    if name == "in place":
        return [add_in_place(blocks[0], seed)]
    drawn: list[KernelCase] = []
    for number, block in enumerate(blocks):
        behind = drawn[-1] if drawn else None
        drawn.append(kernel_case(name, block, seed + number, 2, behind))
    return drawn


def equal(drawn: Sequence[KernelCase], folder) -> list[bool]:
    """Run launches at once on one SM; return which results are NumPy's."""
    run = run_of(*drawn, sms=1, limit=LIMIT)
    (outcome,) = gpu_run.run_kernels([run], preset("tiny"), "icarus", folder)
    assert len(outcome.records) == len(drawn)
    return [np.array_equal(case.result(outcome.memory), case.out) for case in drawn]


#: Launches of two block sizes, and so two rows of ranges.
TWO = ("block_sum", (9, 1, 1), (17, 1, 1))
#: Two warps in shared memory; blocks with three dimensions; 16 warps, of which the last one of
#: the second block starts when its first one has stored.
SUM = ("block_sum", (13, 1, 1))
STENCIL = ("stencil_3d", (3, 3, 2))
ADD = ("in place", (121, 1, 1))


def packed(word: str) -> Rewrite:
    """Let the packer make another word of the right one, ``p``; ``x``, ``y``, ``z`` are widths."""
    right = "lanes.lanes.word_select(lane, bits)"
    widths = ", ".join(f"lanes.width_{axis}" for axis in "xyz")
    return Rewrite(
        IndexPacker, "elaborate", right, f"(lambda p, x, y, z: {word})({right}, {widths})"
    )


FAULTS = {
    "ranges of two launches overlap": (
        TWO,
        Rewrite(CellRuns, "elaborate", "Mux(self.take, run, 0)", "0"),
    ),
    "x has a bit too many": (STENCIL, packed("p & (1 << x) - 1 | (p >> x) << x + 1")),
    "y has a bit too many": (STENCIL, packed("p & (1 << x + y) - 1 | (p >> x + y) << x + y + 1")),
    "z has a bit too few": (STENCIL, packed("p & (1 << x + y + z >> 1) - 1")),
    "a warp has the indices of the warp before": (
        SUM,
        Rewrite(
            BlockToWarps,
            "_hand_on",
            "warp.row.eq(offer.index_address)",
            "warp.row.eq(offer.index_address - 1)",
        ),
    ),
    "all lanes of the last warp are threads": (
        ADD,
        Rewrite(
            BlockToWarps,
            "_hand_on",
            "(~last).replicate(len(warp.mask))",
            "(last | ~last).replicate(len(warp.mask))",
        ),
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("drawn", [TWO, SUM, STENCIL, ADD], ids=str)
def test_without_a_fault_the_results_are_right(drawn, seed: int, tmp_path) -> None:
    assert all(equal(launches(*drawn, seed=seed), tmp_path))


@pytest.mark.deep
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_makes_a_result_wrong(
    fault: str, seed: int, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, change = FAULTS[fault]
    plant(monkeypatch, [change])
    monkeypatch.setattr(gpu_run, "_simulation", gpu_run._simulation.__wrapped__)
    assert not all(equal(launches(*drawn, seed=seed), tmp_path))
