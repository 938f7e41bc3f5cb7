"""The notebook of the pages says what it says now: executed, every printed figure compared."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[3] / "docs" / "sim" / "architect.ipynb"


def printed(cell: Any) -> str:
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")


def drawn(cell: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


# The kernel's libraries warn of their own future.
@pytest.mark.deep
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_the_notebook_gives_the_figures_that_it_shows() -> None:
    shown = nbformat.read(NOTEBOOK, 4)
    made = nbformat.read(NOTEBOOK, 4)
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    settings = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(made, timeout=300, resources=settings).execute()
    pairs = [(a, b) for a, b in zip(shown.cells, made.cells, strict=True) if a.cell_type == "code"]
    assert len(pairs) >= 4
    for old, new in pairs:
        assert printed(new) == printed(old) != ""
        assert drawn(new) == drawn(old)
    assert sum(drawn(cell) for cell, _ in pairs) >= 2
