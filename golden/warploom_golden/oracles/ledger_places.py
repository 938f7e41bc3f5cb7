"""A ledger's view of the dispatcher's two places: which launch has each, and its `kill` level."""

from collections.abc import Mapping

from warploom_golden.oracles.ledger_entry import Account, Entry
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.layouts import PLACES
from warploom_spec.timing import timing

Ports = Mapping[str, int]


class Places:
    """The two places.

    Parameters
    ----------
    config : Config
        Sets the packets' widths, and how long an SM may leave a killed block without a report.

    Attributes
    ----------
    holders : list of Entry or None
        The launch in each place; None: the place is free.
    kill : int
        ``kill`` in the last cycle: one bit a place.
    """

    def __init__(self, config: Config) -> None:
        self._kill_timeout = config.kill_timeout
        self._loss = timing(config).loss
        self._end = layouts.dispatch_end(config)
        self.holders: list[Entry | None] = [None] * PLACES
        self.kill = 0
        # The cycle since which each place's kill level is 1; None: the level is 0.
        self._since: list[int | None] = [None] * PLACES
        # By ticket: the cycles in which a kill of the other place's launch began.
        self._beside: dict[int, set[int]] = {}

    def occupy(self, entry: Entry) -> bool:
        """Give the lowest free place to a launch that the dispatcher takes.

        Return False if no place is free.
        """
        if None not in self.holders:
            return False
        entry.place = self.holders.index(None)
        self.holders[entry.place] = entry
        return True

    def find_by_record(self, outputs: Ports) -> None:
        """Free a place in the first cycle in which its launch's final record is valid."""
        if not outputs["ended__valid"]:
            return
        record = self._end.unpack(outputs["ended__payload"])
        holder = self.holders[record["place"]]
        if holder is not None and holder.ticket == record["ticket"]:
            self.holders[record["place"]] = None

    def look(self, kill: int, cycle: int) -> str:
        """Take in the kill levels; return what is wrong with them, or an empty string.

        Parameters
        ----------
        kill : int
            The levels: one bit a place.
        cycle : int
            The current cycle.
        """
        self.kill = kill
        for place, entry in enumerate(self.holders):
            level = bool(kill >> place & 1)
            asked = entry is not None and entry.is_killed(cycle)
            ticket = entry.ticket if entry is not None else "nobody"
            if level and not asked:
                return f"place {place}: a kill of {ticket}, unasked"
            if asked and not level:
                return f"place {place}: {ticket} is not killed"
            if not level:
                self._since[place] = None
            elif self._since[place] is None:
                self._since[place] = cycle
                self._begin(place, cycle)
        return ""

    def _begin(self, place: int, cycle: int) -> None:
        """Note, for the launch in the other place, that this place's kill begins."""
        beside = self.holders[1 - place]
        if beside is not None:
            self._beside.setdefault(beside.ticket, set()).add(cycle)

    def kills_beside(self, entry: Entry) -> set[int]:
        """Return the cycles in which a kill of the other place began beside a launch.

        The cycles are forgotten: a second call returns an empty set.
        """
        return self._beside.pop(entry.ticket, set())

    def is_silent(self, sm: Account, cycle: int) -> bool:
        """Tell whether an SM is lost from ``cycle`` on: it left a killed block unreported."""
        for since, entry in zip(self._since, self.holders, strict=True):
            if since is None or entry is None:
                continue
            deadline = since + self._kill_timeout
            if cycle == deadline + self._loss and sm.silent(entry, deadline):
                return True
        return False
