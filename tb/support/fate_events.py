"""Each fate of a launch, how it was stopped, and its place at BlockDispatcher."""

from collections.abc import Mapping
from itertools import product

from warploom_spec import Config, Fate, Stop, layouts

Ports = Mapping[str, int]

#: A stop in t is in the flags of t + 2, which decide a record that is valid in t + 4 or later.
LATEST_STOP = 4
#: How a launch was stopped that has each fate. What is skipped or killed was stopped.
STOPS = {
    Fate.FINISHED: (0, Stop.DRAIN, Stop.KILL),
    Fate.KILLED: (Stop.KILL,),
    Fate.DRAINED: (Stop.DRAIN,),
    Fate.SKIPPED: (Stop.DRAIN, Stop.KILL),
    Fate.FAILED: (0, Stop.DRAIN, Stop.KILL),
}


def fate_event(fate: Fate, stop: int, place: int) -> str:
    """Return the name under which a record is counted."""
    how = {0: "not stopped", Stop.DRAIN: "drained", Stop.KILL: "killed"}[stop]
    return f"{fate.name.lower()}, {how} by `stop`, place {place}"


class Fates:
    """Observer of BlockDispatcher's ports: fate, stop and place of each final record.

    Parameters
    ----------
    config : Config
        Widths of the record.
    """

    def __init__(self, config: Config):
        self._record = layouts.dispatch_end(config)
        self._counts = {
            fate_event(fate, stop, place): 0
            for fate, stops in STOPS.items()
            for stop, place in product(stops, (0, 1))
        }
        self.reset()

    def reset(self) -> None:
        """Both places are free."""
        self._occupied = [False, False]
        # Of the launch in each place: cycle and kind of each stop.
        self._stops: list[list[tuple[int, int]]] = [[], []]
        self._shown = False

    def counts(self) -> dict[str, int]:
        """Return how many records there were of each kind."""
        return dict(self._counts)

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one compared cycle."""
        valid = bool(outputs["ended__valid"])
        if valid and not self._shown:
            self._end(cycle, self._record.unpack(outputs["ended__payload"]))
        self._shown = valid and not inputs["ended__ready"]
        for place in (0, 1):
            stop = min(inputs["stop"] >> 2 * place & 3, Stop.KILL)
            if stop and self._occupied[place]:
                self._stops[place].append((cycle, stop))
        if inputs["launch__valid"] and outputs["launch__ready"]:
            self._occupied[self._occupied.index(False)] = True

    def _end(self, cycle: int, record: Ports) -> None:
        """Count a record in the first cycle in which it is valid; its place is free in it."""
        place = record["place"]
        stops = [stop for when, stop in self._stops[place] if when <= cycle - LATEST_STOP]
        event = fate_event(Fate(record["fate"]), max(stops, default=0), place)
        # A launch that was only faulted may be killed by its own fault: `stop` says nothing of it.
        self._counts[event] = self._counts.get(event, 0) + 1
        self._occupied[place], self._stops[place] = False, []
