"""Libraries of the optional extra ``warploom[elf]``, imported when they are first needed."""

from typing import Any

from warploom_spec.extras import need


def require(module: str) -> Any:
    """Import a module of the extra.

    Raises
    ------
    WarploomError
        If the module is not installed; the text names the extra.
    """
    return need(module, "elf", "reading programs")
