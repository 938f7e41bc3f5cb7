"""Replays that the tests of a run share."""

import os
import random
from pathlib import Path

import pytest

from tb.support.shared_replay import SharedReplay, shared_replay
from tb.support.trace_files import call, document, kernel, random_document
from warploom_spec import preset

#: Launches, more than a priority's queue holds, each longer than the host needs for all of them.
MANY = preset("tiny").queue_depth + 4


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all processes of this run."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def plain_replay(common: Path, seed: int) -> SharedReplay:
    """Replay three streams with many shapes, some of which `tiny` refuses, with no other option."""
    return shared_replay(common, "plain", random_document(random.Random(seed), 24), seed)


@pytest.fixture(scope="session")
def crowded_replay(common: Path) -> SharedReplay:
    """Replay over AXI launches that fill the queue."""
    content = document()
    shape = {"grid": [4, 1, 1], "block": [32, 1, 1]}
    kernels = [kernel(n, ts=1000.0 + n, **shape) | {"dur": 14.0} for n in range(MANY)]
    content["traceEvents"] = [*(call(n, float(n)) for n in range(MANY)), *kernels]
    return shared_replay(common, "crowded", content, 1, "--host", "axi")
