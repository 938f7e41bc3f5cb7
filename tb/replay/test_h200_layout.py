"""Which SMs of an H200 belong together, and how far they are from the dispatcher."""

import json
from pathlib import Path

import numpy as np
import pytest

from warploom_golden.replay import h200_latency
from warploom_golden.replay.h200_latency import far_gpcs, latencies
from warploom_golden.replay.h200_layout import SMS, gpcs_of, layout, mismatch

#: Clocks of the GPU that was measured: the singletons have that of GPC 0.
CLOCKS = [*gpcs_of().tolist(), *[0] * 8]
NAMES = list(range(SMS))


def test_gpcs_rotations_and_the_order_of_a_pass():
    found = layout(NAMES, CLOCKS)
    # GPC 0 has the CPCs of TPC 0, 8, 16 and 24, 62, 63 and 64, 65: the last four are singletons.
    assert found.rotation[0].tolist() == [0, 24, 64, 8, 62, 65, 16, 63, -1]
    assert found.rotation[7].tolist() == [7, 31, 52, 15, 38, 59, 23, 45, 61]
    assert found.served[0].tolist() == [0, 1, 16, 17, 32, 33, 48, 49, *[-1] * 10]
    assert found.served[8].tolist() == [*range(124, 132), *[-1] * 10]
    assert np.bincount(found.group).tolist() == [8, 16, 16, 16, 16, 16, 18, 18, 8]


def test_sms_and_clocks_go_by_the_gpus_own_numbers():
    order = np.random.default_rng(1).permutation(SMS)
    mixed = layout(order.tolist(), np.array(CLOCKS)[order].tolist())
    for one, other in zip(mixed, layout(NAMES, CLOCKS), strict=True):
        assert one.tolist() == other.tolist()


def test_a_singleton_reports_through_the_gpc_whose_clock_it_shares():
    clocks = CLOCKS.copy()
    clocks[126] = clocks[127] = 5
    found = layout(NAMES, clocks)
    assert found.gpc[124:].tolist() == [0, 0, 5, 5, 0, 0, 0, 0]
    assert 63 in found.rotation[5] and 63 not in found.rotation[0]
    assert found.group[126] == 8


@pytest.mark.parametrize(
    ("names", "clocks", "says"),
    [
        (NAMES[:-2], CLOCKS[:-2], "the recording has 130 SMs, the rule is that of 132"),
        ([*NAMES[:-1], 140], CLOCKS, "SM 0 to 131"),
        (NAMES, [], "no clocks"),
        (NAMES, [0] * SMS, "not those of the GPCs"),
        (NAMES, [*CLOCKS[1:], 0], "not those of the GPCs"),
        (NAMES, [*CLOCKS[:-1], 9], "not those of the GPCs"),
        (NAMES, [8, *CLOCKS[1:]], "not those of the GPCs"),
    ],
)
def test_another_gpu_is_refused(names, clocks, says):
    assert says in mismatch(names, clocks)
    assert mismatch(NAMES, CLOCKS) == ""


def waits(far, apart):
    """Return SM and wait of three blocks on each SM; those of the far GPCs wait longer."""
    sm = np.tile(np.arange(124), 3)
    return sm, 140.0 + sm % 3 + apart * np.isin(gpcs_of()[sm], far)


def test_the_recording_says_which_gpcs_are_far():
    gpc = layout(NAMES, CLOCKS).gpc
    assert far_gpcs(gpc, *waits((0, 2, 4, 6), 30)) == (0, 2, 4, 6)
    # Not four of them, or not clearly: a GPU with these singletons is known.
    assert far_gpcs(gpc, *waits((0, 2, 4), 30)) == (1, 2, 3, 7)
    assert far_gpcs(gpc, *waits((0, 2, 4, 6), 10)) == (1, 2, 3, 7)
    assert far_gpcs(gpc, np.zeros(0, np.int64), np.zeros(0)) == (1, 2, 3, 7)
    unknown = np.where(np.arange(SMS) < 124, gpc, 3)
    assert far_gpcs(unknown, *waits((0, 2, 4, 6), 10)) == ()


def test_ways_of_the_gpu_that_was_measured_are_the_tables():
    table = json.loads(Path(h200_latency.__file__).with_name("h200_latency.json").read_text())
    up, down = latencies(layout(NAMES, CLOCKS).gpc, (1, 2, 3, 7))
    assert up[::2].tolist() == up[1::2].tolist() == table["up"]
    assert down[::2].tolist() == down[1::2].tolist() == table["down"]


def test_another_gpus_far_gpcs_have_the_ways_of_the_tables_in_order():
    clocks = CLOCKS.copy()
    clocks[126] = clocks[127] = 5
    gpc = layout(NAMES, clocks).gpc
    known, moved = (sum(latencies(gpc, far)) for far in ((1, 2, 3, 7), (2, 3, 5, 6)))
    # SM 4 is the first of GPC 2, the first far GPC here; there it is SM 2 of GPC 1.
    assert moved[4] == known[2]
    # SM 12 is the first of GPC 6, the fourth far GPC here; there it is SM 14 of GPC 7.
    assert moved[12] == known[14]
    # SM 126 shares the clock of GPC 5, which is far here: 33 ns more there and back.
    assert moved[126] - moved[124] == pytest.approx(33 + 2, abs=2)
    assert moved[124] == known[124]
