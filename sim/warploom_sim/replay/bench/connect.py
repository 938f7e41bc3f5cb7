"""Port and parameter lists of an instance in the bench."""

from collections.abc import Mapping


def connect(connections: Mapping[str, object]) -> str:
    """Return a list of named connections, of ports or of parameters."""
    return ", ".join(f".{name}({what})" for name, what in connections.items())
