"""FrontEnd's delivered files, which several files of tests read."""

from pathlib import Path

import pytest

from warploom_sim.verilog.generate import generate


@pytest.fixture(scope="session")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of FrontEnd's files for `tiny`."""
    folder = tmp_path_factory.mktemp("packed")
    generate(["front_end"], ["tiny"], folder)
    return folder / "tiny"
