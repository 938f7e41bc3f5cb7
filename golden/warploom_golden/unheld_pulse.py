"""A pulse's word whose fields mean nothing while its ``valid`` is 0."""


class UnheldPulse(int):
    """A pulse that is not valid, and whose other fields a page leaves open.

    Its value is 0. It equals each word whose lowest bit is 0: ``valid`` is the first field of a
    pulse.
    """

    def __eq__(self, other: object) -> bool:
        """Return whether a word is not valid, too."""
        return isinstance(other, int) and not int(other) & 1

    def __ne__(self, other: object) -> bool:
        """Return whether a word is valid."""
        return not self == other

    __hash__ = int.__hash__
