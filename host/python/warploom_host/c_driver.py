"""The sources of the driver in C, which the wheel carries."""

from pathlib import Path
from typing import Final

_PARTS: Final = ("", "_kept", "_loops", "_shapes", "_streams")
#: The driver's files beside the generated ``warploom_host.h``.
FILES: Final = (
    *(f"warploom{part}.{end}" for part in _PARTS for end in "hc"),
    "warploom_fields.h",
)


def c_driver() -> dict[str, str]:
    """Return the texts of the driver's files by their names."""
    package = Path(__file__).parent
    folders = (package / "c", package.parents[1] / "c")  # in a wheel, in a checkout
    folder = next(folder for folder in folders if folder.is_dir())
    return {name: (folder / name).read_text() for name in FILES}
