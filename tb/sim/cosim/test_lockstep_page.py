"""The first example of the lockstep page, run as it is printed."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from tb.support.deep_values import thorough_but
from warploom_sim.cosim.lockstep import SIMULATORS

PAGE = Path(__file__).parents[3] / "docs" / "sim" / "lockstep.md"
#: The module that a reader would make of it.
MODULE = "lockstep_page_example"


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Return the example as a module, where a simulator's own process finds it too."""
    found = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    (tmp_path / f"{MODULE}.py").write_text(found[1])
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(MODULE)
    del sys.modules[MODULE]


@pytest.mark.parametrize("simulator", thorough_but(["amaranth"], SIMULATORS))
def test_the_page_s_first_example_passes_as_printed(example, simulator, seed):
    (test,) = (value for name, value in vars(example).items() if name.startswith("test_"))
    test(simulator=simulator, seed=seed)
