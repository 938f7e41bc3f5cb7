"""Error records, counted at the ports of runs that are compared, apart from every model."""

from collections import Counter
from collections.abc import Mapping

from warploom_spec import ERROR_CODE_BITS, Config, ErrorCode, layouts

#: An error record that comes when the counter of errors has reached its end.
UNCOUNTED = "an error past the highest count"
#: What ``error_count`` counts to, as the pages have it: 16 bits.
HIGHEST = 0xFFFF


def error_event(code: ErrorCode) -> str:
    """Return the name under which records of a code are counted."""
    return f"error {code.name.lower()}"


class ErrorRecords:
    """Observer of the ports ``error`` and ``error_count``, which are the same in every block.

    Held: the count is that of the cycles with an error record since the last reset, and stays at
    its highest value.

    Raises
    ------
    AssertionError
        From `see`, if the count is another.
    """

    def __init__(self) -> None:
        self._packet = layouts.error_record(Config())
        self._counts = {error_event(code): 0 for code in ErrorCode} | {UNCOUNTED: 0}
        self.reset()

    def reset(self) -> None:
        """The counter begins afresh."""
        self._seen = 0

    def counts(self) -> dict[str, int]:
        """Return the records of each code, and those past the counter's end."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in one compared cycle; the count beside a record includes it."""
        record = self._packet.unpack(outputs["error"])
        if record["valid"]:
            self._counts[error_event(ErrorCode(record["code"]))] += 1
            self._seen += 1
            self._counts[UNCOUNTED] += self._seen > HIGHEST
        wanted, count = min(self._seen, HIGHEST), outputs["error_count"]
        assert count == wanted, f"error_count is {count} in cycle {cycle}; want {wanted}"


class Refusals:
    """Observer of LaunchCheck: the launches that passed, and those that each code refused."""

    def __init__(self) -> None:
        codes = [code for code in ErrorCode if code <= ErrorCode.TABLE_UNKNOWN]
        self._counts = Counter({_refusal(code): 0 for code in codes})

    def reset(self) -> None:
        """Do nothing: there is no state but the counts."""

    def counts(self) -> dict[str, int]:
        """Return the launches of each code."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in one compared cycle; the code stands in the lowest bits of the packet."""
        if outputs["o__valid"] and inputs["o__ready"]:
            code = outputs["o__payload"] & (1 << ERROR_CODE_BITS) - 1
            self._counts[_refusal(ErrorCode(code))] += 1


def _refusal(code: ErrorCode) -> str:
    return f"refused with {code.name.lower()}" if code else "a launch passes"
