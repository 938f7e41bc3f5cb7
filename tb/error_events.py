"""Error records, counted at the ports of runs that are compared."""

from collections.abc import Mapping

from warploom_spec import Config, ErrorCode, layouts, timing

#: An error record that comes when the counter of errors has reached its end.
UNCOUNTED = "an error past the highest count"


def error_event(code: ErrorCode) -> str:
    """Return the name under which records of a code are counted."""
    return f"error {code.name.lower()}"


class ErrorRecords:
    """Observer of the ports ``error`` and ``error_count``, which are the same in every block."""

    def __init__(self) -> None:
        config = Config()
        self._packet = layouts.error_record(config)
        self._highest = (1 << timing(config).error_counter_bits) - 1
        self._counts = {error_event(code): 0 for code in ErrorCode} | {UNCOUNTED: 0}
        self.reset()

    def reset(self) -> None:
        """The counter begins afresh."""
        self._full = False

    def counts(self) -> dict[str, int]:
        """Return the records of each code, and those past the counter's end."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in one compared cycle; the count beside a record includes it."""
        record = self._packet.unpack(outputs["error"])
        if record["valid"]:
            self._counts[error_event(ErrorCode(record["code"]))] += 1
            self._counts[UNCOUNTED] += self._full
        self._full = outputs["error_count"] == self._highest
