"""How the stand-ins of the SMs may behave."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SmBehaviour:
    """How the SMs' stand-ins behave.

    Attributes
    ----------
    report_time : int
        Cycles from the kill of a block to its report.
    silent_from : dict of int to int
        SM number to the first cycle from which on it sends no report.
    faults : dict of int to int
        Launch number (``code``) to the number of its block that reports a fault.
    """

    report_time: int = 0
    silent_from: dict[int, int] = field(default_factory=dict)
    faults: dict[int, int] = field(default_factory=dict)
