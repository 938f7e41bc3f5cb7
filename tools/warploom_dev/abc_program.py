"""ABC, the program that proves and searches: where it is."""

from importlib import metadata
from pathlib import Path

from warploom_spec import WarploomError


def abc_program() -> Path:
    """Return ABC, which comes with pyosys.

    Raises
    ------
    WarploomError
        If it is not installed; says how.
    """
    try:
        found = Path(str(metadata.distribution("pyosys").locate_file("pyosys/yosys-abc")))
    except metadata.PackageNotFoundError as error:
        raise WarploomError(
            "pyosys is not installed; run: make formal, or pip install 'warploom[formal]'"
        ) from error
    return found.resolve()
