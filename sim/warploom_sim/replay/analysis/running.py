"""A replay's figures from events that come in pieces: sums by launch, and what limits."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from warploom_golden.replay.event_model import Events, Piece, Table, joined
from warploom_sim.replay.analysis.limits import LIMITS, Gone, LimitFinder, shortened_by_scale
from warploom_sim.replay.recorded_times import Recording
from warploom_sim.replay.replay_columns import launch_columns, no_figures
from warploom_sim.replay.replay_figures import cycles
from warploom_sim.replay.replay_result import NEVER, Integers, Launches
from warploom_spec import RESOURCES, STALL_CAUSES, Config, LaunchDescriptor, capacities, timing

#: Kinds of events of which there are a few for each launch: they are kept.
KEPT: Final = ("answers", "decisions", "words", "ended")


class RunningFigures:
    """The figures of a replay, of whose blocks none is kept.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        What is sent.
    names : sequence of str
        The kernels' names, of at least as many launches.
    config : Config
        The configuration.
    arrivals : sequence of int or None
        First cycle in which each launch may be sent; None: any.
    recording : Recording or None
        When the launches ran on the recorded GPU; None: that is not known.
    limits : bool
        Whether to find what blocked the head, which takes as long as all else.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        names: Sequence[str],
        config: Config,
        arrivals: Sequence[int] | None,
        recording: Recording | None = None,
        *,
        limits: bool = True,
    ):
        from warploom_sim.replay.analysis import block_sums

        self._given = launches, names, config, arrivals, recording
        self._config = config
        self._events: list[Events] = []
        count = len(launches)
        self._sums = np.zeros((count, block_sums.SUMS), np.int64)
        self._sums[:, [block_sums.FIRST, block_sums.LAST_OFFER, block_sums.LAST]] = NEVER
        self._slots = np.zeros((config.sms * config.block_slots, 2), np.int64)
        # A first look at the launches, in which what happens to them is filled in as it comes.
        self._live = launch_columns(None, no_figures(count), *self._given)
        self._finder = LimitFinder(self._live, config) if limits else None
        self._limits = np.zeros(len(LIMITS), np.int64)
        self._rate = np.zeros(count, np.int64)
        self._answered = 0
        self._row_of = np.full(count + 1, NEVER, np.int64)

    def add(self, piece: Piece) -> None:
        """Take the next events."""
        tables = piece.events.tables
        small = {kind: tables[kind] for kind in KEPT}
        self._events.append(Events(small, piece.events.stalls))
        self._note_launches(piece.events)
        gone = self._add_blocks(piece.events)
        if self._finder is not None:
            self._find_limits(self._finder, tables["offers"], gone)

    def _find_limits(self, finder: LimitFinder, offers: Table, gone: Gone) -> None:
        """Note what blocked the head up to the last of some offers."""
        decided = offers["cycle"].astype(np.int64) - timing(self._config).offer
        rows = self._row_of[offers["ticket"].astype(np.int64)]
        found = finder.stretches(rows, decided, offers["sm"].astype(np.int64), gone)
        lengths = np.diff(found[0], append=finder.cycle)
        np.add.at(self._limits, found[1], lengths)
        rate = found[1] == LIMITS.index("rate")
        np.add.at(self._rate, found[2][rate], lengths[rate])

    def _note_launches(self, events: Events) -> None:
        """Note what happened to launches."""
        given = events.tables["answers"]["ticket"].astype(np.int64)
        rows = self._answered + np.arange(len(given))
        self._row_of[given[given > 0]] = rows[given > 0]
        self._answered += len(given)
        if self._given[3] is None:
            answered = events.tables["answers"]["cycle"].astype(np.int64)
            self._live.arrival[rows] = answered - (timing(self._config).launch_check + 1)
        for kind, column in (("words", self._live.resident), ("ended", self._live.end)):
            table = events.tables[kind]
            column[self._row_of[table["ticket"].astype(np.int64)]] = table["cycle"]

    def _add_blocks(self, events: Events) -> Gone:
        """Add to the sums; return the reports with their launches."""
        from warploom_sim.replay.analysis import block_sums

        offers, reports = (
            {name: events.tables[kind][name].astype(np.int64) for name in names}
            for kind, names in (
                ("offers", ("cycle", "ticket", "sm", "slot")),
                ("reports", ("cycle", "sm", "slot")),
            )
        )
        slots = self._config.block_slots
        rows = np.zeros(len(reports["cycle"]), np.int64)
        block_sums.add(
            self._sums,
            self._slots,
            offers["cycle"],
            self._row_of[offers["ticket"]],
            offers["sm"] * slots + offers["slot"],
            reports["cycle"],
            reports["sm"] * slots + reports["slot"],
            rows,
        )
        return Gone(reports["cycle"], reports["sm"], rows)

    def finish(self) -> "RunFigures":
        """Return the figures of the whole run."""
        from warploom_sim.replay.analysis import block_sums

        events = joined(self._events)
        columns = {
            "blocks": block_sums.OFFERED,
            "first_offer": block_sums.FIRST,
            "last_offer": block_sums.LAST_OFFER,
            "last_report": block_sums.LAST,
            "held_after": block_sums.HELD_AFTER,
        }
        figures = {name: self._sums[:, k] for name, k in columns.items()}
        launches = launch_columns(events, figures, *self._given)
        total = cycles(events)
        if self._finder is not None:
            self._limits[LIMITS.index("nothing_left")] += total - self._finder.cycle
        held = self._sums[:, block_sums.HELD]
        limits = None if self._finder is None else self._limits
        stalls = {cause: events.stalls[f"stall_{cause}"] for cause in STALL_CAUSES}
        return RunFigures(launches, total, self._config, held, stalls, limits, self._rate)


class RunFigures:
    """The figures of a replay whose blocks were not kept."""

    def __init__(
        self,
        launches: Launches,
        total: int,
        config: Config,
        held: Integers,
        stalls: Mapping[str, int],
        limits: Integers | None,
        rate: Integers,
    ):
        self.launches, self.cycles, self._config, self.stalls = launches, total, config, stalls
        self._held, self._limits, self._rate = held, limits, rate

    @property
    def occupancy(self) -> dict[str, float]:
        """Part of each resource of all SMs that blocks held, on average over `cycles`."""
        taken = self._held.astype(float) @ self.launches.takes
        sizes = np.array(list(capacities(self._config).values()))
        shares = taken / (self.cycles * self._config.sms * sizes)
        return dict(zip(RESOURCES, shares.tolist(), strict=True))

    def limits(self) -> dict[str, float]:
        """Return for which part of the run each limit holds; they must have been looked for."""
        assert self._limits is not None
        shares = (self._limits / self.cycles).tolist()
        return dict(zip(LIMITS, shares, strict=True))

    def rate_by_time_scale(self, scale: Fraction) -> float:
        """Return for which part of the run the dispatch rate limits for the time scale's sake."""
        assert self._limits is not None
        made = shortened_by_scale(self.launches, self._config, scale)
        return float(self._rate[made].sum() / self.cycles)
