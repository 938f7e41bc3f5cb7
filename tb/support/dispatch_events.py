"""Hard cases of the dispatcher, counted at the ports of runs that are compared."""

from collections.abc import Mapping

from tb.support.error_events import error_event
from warploom_golden.oracles import Ledger
from warploom_golden.oracles.ledger import RARE
from warploom_spec import RESOURCES, Config, ErrorCode, layouts

Ports = Mapping[str, int]


def end_event(code: ErrorCode) -> str:
    """Return the name under which final records with a code are counted."""
    return f"ended with {code.name.lower()}"


#: What the default test run must have seen in a compared cycle.
DISPATCH_CASES = (
    *RARE,
    "stream order held a launch",
    *(f"{resource} alone did not fit" for resource in RESOURCES),
)
#: A final record of a launch of more than so many cycles.
LONG_CYCLES = 1 << 14
LONG = "ended after more than 2**14 cycles"
#: Errors of the dispatcher alone, and codes of its final records, that its run must have seen.
ERROR_CASES = (
    *(
        error_event(code)
        for code in (
            ErrorCode.REPORT_NOT_RUNNING,
            ErrorCode.KILL_NOT_ASKED,
            ErrorCode.LOST_SM_SIGNAL,
        )
    ),
    *(end_event(code) for code in (ErrorCode.NO_SM, ErrorCode.BLOCK_FAULT, ErrorCode.SM_LOST)),
)
#: The same where there is an order table; two SMs leave no position that does not exist.
ORDER_CASES = (error_event(ErrorCode.ORDER_BUSY),)


class StallCauses:
    """Observer of the stall counters: which cause held a launch or a block back."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(
            ("stream order held a launch", *(f"{name} alone did not fit" for name in RESOURCES)), 0
        )
        self.reset()

    def reset(self) -> None:
        """The counters begin afresh."""
        self._before: Ports | None = None

    def counts(self) -> dict[str, int]:
        """Return each cause with the cycles in which it was seen."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one compared cycle."""
        before, self._before = self._before, outputs
        if before is None:
            return
        rose = [name for name in RESOURCES if outputs[f"stall_{name}"] != before[f"stall_{name}"]]
        if len(rose) == 1 and outputs["stall_offer"] == before["stall_offer"]:
            self._counts[f"{rose[0]} alone did not fit"] += 1
        if outputs["stall_order"] != before["stall_order"]:
            self._counts["stream order held a launch"] += 1


class Ends:
    """Observer of BlockDispatcher's final records: their codes, and launches that took long.

    Parameters
    ----------
    config : Config
        Widths of the record.
    """

    def __init__(self, config: Config):
        self._record = layouts.dispatch_end(config)
        self._counts = {end_event(code): 0 for code in ErrorCode} | {LONG: 0}

    def reset(self) -> None:
        """Do nothing: there is no state but the counts."""

    def counts(self) -> dict[str, int]:
        """Return the records of each code, and those of long launches."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one compared cycle."""
        if outputs["ended__valid"] and inputs["ended__ready"]:
            record = self._record.unpack(outputs["ended__payload"])
            self._counts[end_event(ErrorCode(record["code"]))] += 1
            self._counts[LONG] += record["cycles"] > LONG_CYCLES


#: Eight blocks before the highest number: each of its bits is both 0 and 1.
LATE_NUMBER = (1 << layouts.BLOCK_NUMBER_BITS) - 8


class LateLedger(Ledger):
    """The ledger where each launch's first block has `LATE_NUMBER`."""

    first_number = LATE_NUMBER
