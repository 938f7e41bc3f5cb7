"""Packages that only some commands need."""

import importlib
from types import ModuleType

from warploom_spec.errors import WarploomError


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module of an extra.

    Raises
    ------
    WarploomError
        If it is not installed; the text names the extra.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise WarploomError(
            f"{purpose} needs the Python package {error.name}; run: pip install 'warploom[{extra}]'"
        ) from error
