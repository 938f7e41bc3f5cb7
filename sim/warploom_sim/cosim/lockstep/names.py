"""Objects named by strings, so that a case can be rebuilt in a simulator's own process."""

from __future__ import annotations

import importlib
from typing import Any


def resolve(name: str) -> Any:
    """Import what ``module:qualified.name`` names.

    Raises
    ------
    ValueError
        If ``name`` has no colon, or nothing importable has that name.
    """
    module, colon, qualname = name.partition(":")
    if not colon or not qualname:
        raise ValueError(f"{name!r} must have the form 'module:name'")
    try:
        found: Any = importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name!r} cannot be imported: {error}") from error
    return found


def name_of(target: Any) -> str:
    """Return the ``module:qualified.name`` under which ``target`` can be imported.

    A string is checked and returned as it is.

    Raises
    ------
    ValueError
        If importing the name does not give ``target`` back (a lambda, a local function).
    """
    if isinstance(target, str):
        resolve(target)
        return target
    module = getattr(target, "__module__", None)
    qualname = getattr(target, "__qualname__", None)
    name = f"{module}:{qualname}"
    if module is None or qualname is None or "<" in name or resolve(name) is not target:
        raise ValueError(
            f"{target!r} must be importable by name: a function or class at a module's top level"
        )
    return name
