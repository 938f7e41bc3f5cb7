"""A checkout's public address, for tests that need one."""

import re
from pathlib import Path

ADDRESS = "https://forge.example/warploom"


def set_address(checkout: Path, address: str = ADDRESS) -> None:
    """Give a copy of the checkout a public address, in the place of its own if it has one."""
    project = checkout / "pyproject.toml"
    without = re.sub(r"^\[project\.urls\]\n(?:.+\n)*", "", project.read_text(), flags=re.MULTILINE)
    project.write_text(f'{without}\n[project.urls]\nRepository = "{address}/"\n')
