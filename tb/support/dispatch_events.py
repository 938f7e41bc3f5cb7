"""Hard cases of dispatcher and launch path, counted at the ports of runs that are compared."""

from collections.abc import Mapping

from tb.support.error_events import error_event
from warploom_golden.oracles import HostLedger, Ledger
from warploom_golden.oracles.ledger import RARE
from warploom_spec import RESOURCES, Config, ErrorCode, layouts, timing

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
PATH_CASES = ("a configuration cancelled", "a wait for an overlapping region")


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


#: Tickets wrap soon, so that all their bits are both 0 and 1.
LATE_TICKET = (1 << layouts.TICKET_BITS) - 8
#: Eight blocks before the highest number: each of its bits is both 0 and 1.
LATE_NUMBER = (1 << layouts.BLOCK_NUMBER_BITS) - 8


class PathLedger(Ledger):
    """The ledger of LaunchPath, which also follows launches to their index decision."""

    def __init__(self, config: Config):
        super().__init__(config)
        self._path_counts = dict.fromkeys(PATH_CASES, 0)
        self._quickest = timing(config).filter_lookup + 1

    def reset(self) -> None:
        """Forget all launches; the counts stay."""
        super().reset()
        # Open tickets without a decision, in order, and whether a stop found them in flight.
        self._undecided: dict[int, bool] = {}
        self._decided: set[int] = set()
        self._in_flight_from = 0
        self._overlaps = False

    def counts(self) -> dict[str, int]:
        """Return the ledger's counts and those of the hard cases."""
        return super().counts() | self._path_counts

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one compared cycle."""
        super().see(cycle, inputs, outputs)
        # Without indices nothing is decided.
        for ticket in self.open_tickets if "decided" in outputs else ():
            if ticket not in self._undecided and ticket not in self._decided:
                if not self._undecided:
                    self._in_flight_from = cycle + 1
                self._undecided[ticket] = False
        if outputs.get("decided_valid"):
            self._decide(outputs["decided_ticket"], cycle)
        elif self._undecided:
            self._wait(cycle, inputs, outputs)
        for ticket in [ticket for ticket in self._undecided if ticket not in self._open]:
            self._end_undecided(ticket, cycle)

    def _decide(self, ticket: int, cycle: int) -> None:
        """Let the next launch's configuration go."""
        del self._undecided[ticket]
        self._decided.add(ticket)
        self._path_counts["a wait for an overlapping region"] += self._overlaps
        self._next_from(cycle)

    def _next_from(self, cycle: int) -> None:
        self._overlaps = False
        # Presented in the next cycle, transferred at its end.
        self._in_flight_from = cycle + 2

    def _wait(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Look at the configuration in flight: does a region hold it, is its launch stopped."""
        front = next(iter(self._undecided))
        if cycle >= self._in_flight_from + self._quickest:
            self._overlaps |= any(self._meets(front, other) for other in self._decided)
        stops = inputs["stop__valid"] and outputs["stop__ready"] and cycle >= self._in_flight_from
        if stops and self._path_stop.unpack(inputs["stop__payload"])["ticket"] == front:
            self._undecided[front] = True

    def _meets(self, front: int, other: int) -> bool:
        """Tell whether an unfinished launch reads warps that another one's indices overwrite."""
        one, two = self._open.get(front), self._open.get(other)
        if one is None or two is None:
            return False
        shapes = [tuple(entry.words[f"d{axis}"] for axis in "xyz") for entry in (one, two)]
        regions = [range(entry.index[0], sum(entry.index[:2])) for entry in (one, two)]
        first, second = regions
        apart = first.stop <= second.start or second.stop <= first.start
        return not apart and (shapes[0] != shapes[1] or first.start != second.start)

    def _end_undecided(self, ticket: int, cycle: int) -> None:
        """A launch ended without a decision: it was taken back, in flight or before."""
        self._path_counts["a configuration cancelled"] += self._undecided.pop(ticket)
        self._next_from(cycle)


class LatePathLedger(PathLedger):
    """The same where `LATE_TICKET` and `LATE_NUMBER` are first."""

    first_ticket, first_number = LATE_TICKET, LATE_NUMBER


class LateLedger(Ledger):
    """The ledger where each launch's first block has `LATE_NUMBER`."""

    first_number = LATE_NUMBER


class LateHostLedger(HostLedger):
    """The same of FrontEnd."""

    first_number = LATE_NUMBER
