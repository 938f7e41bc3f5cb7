"""One line if what the proofs run on is missing: ``test_formal.py`` is left out then."""

from importlib.metadata import PackageNotFoundError, distribution

import pytest


def test_pyosys_is_installed() -> None:
    try:
        distribution("pyosys")
    except PackageNotFoundError:
        pytest.fail("pyosys is not installed, so no proof was tested; run: make formal", False)
