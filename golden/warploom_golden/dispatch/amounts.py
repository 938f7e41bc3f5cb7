"""Amounts of an SM's resources, packed into one number."""

from collections.abc import Mapping

from warploom_spec.config import Config
from warploom_spec.resources import RESOURCES, SM_RESOURCES


class Amounts:
    """An amount of each resource of an SM, packed into one number.

    A guard bit stands above each amount: a difference that is negative clears it.

    Parameters
    ----------
    config : Config
        What an SM has.
    """

    def __init__(self, config: Config):
        self._fields: dict[str, tuple[int, int]] = {}
        self._guards: dict[str, int] = {}
        shift = 0
        for resource in SM_RESOURCES:
            bits = resource.capacity(config).bit_length()
            self._fields[resource.name] = shift, (1 << bits) - 1
            self._guards[resource.name] = 1 << shift + bits
            shift += bits + 1
        self._guard = sum(self._guards.values())

    def pack(self, amounts: Mapping[str, int]) -> int:
        """Return packed amounts; what else the mapping has does not count."""
        return sum(amounts[name] << shift for name, (shift, _) in self._fields.items())

    def amount(self, packed: int, name: str) -> int:
        """Return the amount of one resource."""
        shift, mask = self._fields[name]
        return packed >> shift & mask

    def fits(self, free: int, needs: int) -> bool:
        """Tell whether a block with these needs fits into what is free."""
        return ((free | self._guard) - needs) & self._guard == self._guard

    def lacking(self, free: int, needs: int) -> str | None:
        """Return the first resource of which less is free than a block needs."""
        enough = (free | self._guard) - needs
        return next((name for name in RESOURCES if not enough & self._guards[name]), None)
