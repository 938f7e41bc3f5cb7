"""Named small faults that a block can be built with, to show that its tests see them."""

from collections.abc import Iterable, Mapping

from warploom_spec import WarploomError


def checked(block: str, fault: str | None, legal: Iterable[str]) -> str | None:
    """Return the fault, or None for a block without one.

    Raises
    ------
    WarploomError
        If the block has no fault of that name; the message lists those it has.
    """
    names = tuple(legal)
    if fault is not None and fault not in names:
        known = ", ".join(names) or "none"
        raise WarploomError(f"fault of {block} is {fault!r}; legal: {known}")
    return fault


def of_children(children: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """List the faults of a block's children, as ``child.fault``."""
    return tuple(f"{child}.{fault}" for child, faults in children.items() for fault in faults)


def for_child(fault: str | None, child: str) -> str | None:
    """Return the fault that a child is to be built with; None if the fault is not its own."""
    prefix = f"{child}."
    return fault.removeprefix(prefix) if fault and fault.startswith(prefix) else None
