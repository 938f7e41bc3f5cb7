"""Whose the dispatcher's places are, and what `kill` says of them, as a ledger sees it."""

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
        Widths, and how long an SM may stay silent.

    Attributes
    ----------
    holders : list of Entry or None
        Whose each place is.
    kill : int
        The level of the last cycle.
    """

    def __init__(self, config: Config) -> None:
        self._kill_timeout = config.kill_timeout
        self._loss = timing(config).loss
        self._words = layouts.launch_words(config)
        self._end = layouts.dispatch_end(config)
        self.holders: list[Entry | None] = [None] * PLACES
        self.kill = 0
        # Since when each level is 1.
        self._since: list[int | None] = [None] * PLACES
        # Cycles in which another launch's kill began, by the ticket of the one beside it.
        self._beside: dict[int, set[int]] = {}

    def occupy(self, entry: Entry) -> bool:
        """Let a launch that the dispatcher takes have the lowest free place, if there is one."""
        if None not in self.holders:
            return False
        entry.place = self.holders.index(None)
        self.holders[entry.place] = entry
        return True

    def find_by_words(self, outputs: Ports, entries: Mapping[int, Entry]) -> None:
        """Find out whose the places are by LaunchPath's launch words."""
        for place in range(PLACES):
            ticket = self._words.unpack(outputs[f"words__{place}"])["ticket"]
            entry = self.holders[place] = entries.get(ticket)
            if entry is not None:
                entry.place = place

    def find_by_record(self, outputs: Ports) -> None:
        """Find a place free in the cycle in which its launch's record stands at the dispatcher."""
        if not outputs["ended__valid"]:
            return
        record = self._end.unpack(outputs["ended__payload"])
        holder = self.holders[record["place"]]
        if holder is not None and holder.ticket == record["ticket"]:
            self.holders[record["place"]] = None

    def look(self, kill: int, cycle: int, exact: bool) -> str:
        """Take in the level; return what is wrong with it, or an empty string.

        Parameters
        ----------
        kill : int
            The level.
        cycle : int
            The current cycle.
        exact : bool
            Whether the level must be 1 wherever it may be.
        """
        self.kill = kill
        for place, entry in enumerate(self.holders):
            level = bool(kill >> place & 1)
            asked = entry is not None and entry.is_killed(cycle)
            ticket = entry.ticket if entry is not None else "nobody"
            if level and not asked:
                return f"place {place}: a kill of {ticket}, unasked"
            if exact and asked and not level:
                return f"place {place}: {ticket} is not killed"
            if not level:
                self._since[place] = None
            elif self._since[place] is None:
                self._since[place] = cycle
                self._begin(place, cycle)
        return ""

    def _begin(self, place: int, cycle: int) -> None:
        """Note for the other place's launch that a kill begins."""
        beside = self.holders[1 - place]
        if beside is not None:
            self._beside.setdefault(beside.ticket, set()).add(cycle)

    def began_beside(self, entry: Entry) -> set[int]:
        """Return, once, the cycles in which a kill of the other place began beside a launch."""
        return self._beside.pop(entry.ticket, set())

    def is_silent(self, sm: Account, cycle: int) -> bool:
        """Tell whether an SM left a block of a killed place without a report for too long."""
        for since, entry in zip(self._since, self.holders, strict=True):
            if since is None or entry is None:
                continue
            deadline = since + self._kill_timeout
            if cycle == deadline + self._loss and sm.silent(entry, deadline):
                return True
        return False
