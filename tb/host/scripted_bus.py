"""A bus without a core: every access is held against a list, which says what a read gives."""

from dataclasses import dataclass, field

#: An access: "read" or "write", the byte address, the word.
Access = tuple[str, int, int]


@dataclass
class ScriptedBus:
    """The accesses that a driver must make, in their order."""

    script: list[Access]
    made: list[Access] = field(default_factory=list)

    def _next(self, kind: str, address: int, value: int | None) -> int:
        number = len(self.made)
        assert number < len(self.script), f"access {number} is {kind} {address:#x}; legal: none"
        expected = self.script[number]
        self.made.append((kind, address, expected[2] if value is None else value))
        assert self.made[-1] == expected, f"access {number} is {self.made[-1]}; legal: {expected}"
        return expected[2]

    def read32(self, address: int) -> int:
        """Return what the list has for a read."""
        return self._next("read", address, None)

    def write32(self, address: int, value: int) -> None:
        """Hold a write against the list."""
        self._next("write", address, value)

    def demand_over(self) -> None:
        """Hold that every access of the list was made."""
        assert self.made == self.script
