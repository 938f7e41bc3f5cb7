"""The project's public address: one setting, which badges and links outside the pages follow."""

import tomllib
from pathlib import Path
from typing import Final

#: Names the address in ``pyproject.toml``: ``[project.urls]``, then a line with this name.
SETTING: Final = "Repository"
#: The branch that links point at.
BRANCH: Final = "main"


def project_address(root: Path) -> str:
    """Return the address of a checkout's project, an empty string while it has none."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return str(project.get("urls", {}).get(SETTING, "")).rstrip("/")


def file_address(address: str, root: Path, path: str) -> str:
    """Return where the forge shows a file or folder of the checkout."""
    kind = "tree" if (root / path).is_dir() else "blob"
    return f"{address}/{kind}/{BRANCH}/{path}"
