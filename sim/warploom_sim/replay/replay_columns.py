"""From a replay's events to its columns, the same for the RTL's events and the model's."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.event_model import Events
from warploom_golden.replay.event_tables import Table
from warploom_sim.replay.analysis.limits import fits
from warploom_sim.replay.recorded_times import Recording
from warploom_sim.replay.replay_rows import NEVER, REFUSED, Blocks, Integers, Launches, Shares
from warploom_spec import RESOURCES, Config, Fate, LaunchDescriptor, timing
from warploom_spec.queue import FinalFate
from warploom_spec.resources import block_amounts

#: Cycles from a run's transfer at `ended` to its final record's last word, without loops.
_QUEUE_END: Final = 10
#: Cycles from a launch's acceptance to its answer, when the queue serves nothing else.
ACCEPTED_TO_ANSWER: Final = 4
#: Columns of offers that `block_columns` reads.
OFFER_COLUMNS: Final = ("cycle", "ticket", "sm", "slot", "bx", "by", "bz")


def block_columns(events: Events) -> Blocks:
    """Return a row for each block that was offered, in order of its offer."""
    offers = events.tables["offers"]
    return Blocks(
        launch=_launch_of(offers["ticket"], events),
        place=_stack(offers, ("bx", "by", "bz")),
        sm=_signed(offers["sm"]),
        slot=_signed(offers["slot"]),
        start=_signed(offers["cycle"]),
        end=_ends(offers, events.tables["reports"]),
    )


def launch_columns(
    events: Events | None,
    figures: Mapping[str, Integers],
    launches: Sequence[LaunchDescriptor],
    names: Sequence[str],
    config: Config,
    arrivals: Sequence[int] | None = None,
    recording: Recording | None = None,
    awaited: Sequence[tuple[int, ...]] | None = None,
) -> Launches:
    """Return a row for each launch.

    Parameters
    ----------
    events : Events or None
        Of the run; None: nothing happened yet.
    figures : mapping of str to array of int64
        Of its blocks: the columns of `Launches` that `no_figures` names.
    launches : sequence of LaunchDescriptor
        What was sent.
    names : sequence of str
        The kernels' names, of at least as many launches.
    config : Config
        Of the hardware: says its latencies.
    arrivals : sequence of int or None
        First cycle in which each launch might be sent; None: the one in which it was.
    recording : Recording or None
        When the launches ran on the recorded GPU; None: that is not known.
    awaited : sequence of tuple of int or None
        By launch: those that it waits for; None: none waits.
    """
    count = len(launches)
    grid = _whole([launch.grid for launch in launches], 3)
    transfer, resident, end, left, code = (_filled(count) for _ in range(5))
    fate, hits = _filled(count, REFUSED), np.zeros(count, bool)
    if events is not None:
        answers, ended = events.tables["answers"], events.tables["ended"]
        transfer = transfers(answers, config)
        code = _signed(answers["code"])
        of_ended = _launch_of(ended["ticket"], events)
        end[of_ended], fate[of_ended] = _signed(ended["cycle"]), fates(ended)
        left[of_ended] = residence_ends(ended, config)
        decisions = events.tables["decisions"]
        # A launch that was killed is decided again; its first decision comes last here.
        decided, hit = _launch_of(decisions["ticket"], events), decisions["hit"].astype(bool)
        hits[decided[::-1]] = hit[::-1]
        # Of a launch that was killed the last start counts.
        starts = events.tables["starts"]
        resident[_launch_of(starts["ticket"], events)] = _signed(starts["cycle"]) + 1
    takes = _whole([_block_needs(launch, config) for launch in launches], len(RESOURCES))
    objects: NDArray[np.object_] = np.array([*names[:count], None], object)[:-1]
    waiting: NDArray[np.object_] = np.empty(count, object)
    waiting[:] = awaited or [()] * count
    columns: dict[str, Any] = {**figures, **_times(recording, figures, fate, count)}
    return Launches(
        name=objects,
        stream=_whole([launch.stream for launch in launches]),
        arrival=transfer if arrivals is None else _whole(arrivals),
        transfer=transfer,
        resident=resident,
        **columns,
        end=end,
        left=left,
        hit=hits,
        fate=fate,
        code=code,
        awaits=waiting,
        grid=grid,
        block=_whole([launch.block for launch in launches], 3),
        takes=takes,
        places=np.minimum(grid.prod(axis=1), config.sms * fits(takes, config)),
        length=_whole([launch.arguments for launch in launches]),
    )


def fates(ended: Table) -> Integers:
    """Return the fates of final records, as `warploom_spec.Fate` has them."""
    given = _signed(ended["fate"])
    names = np.array([Fate[fate.name] for fate in FinalFate], np.int64)
    # A faulty run may show a fate that does not exist.
    return np.where(given < len(names), names[np.minimum(given, len(names) - 1)], given + len(Fate))


def transfers(answers: Table, config: Config) -> Integers:
    """Return when launches transferred at LaunchPath's port, at the latest, by their answers."""
    late = timing(config).launch_check + 1 + ACCEPTED_TO_ANSWER
    return _signed(answers["cycle"]) - late


def residence_ends(ended: Table, config: Config) -> Integers:
    """Return the first cycles in which launches are no longer resident, by their records."""
    # With loops a record has a word more: the launch's number.
    return _signed(ended["cycle"]) - (_QUEUE_END + config.has_loops)


def _times(
    recording: Recording | None, figures: Mapping[str, Integers], fate: Integers, count: int
) -> dict[str, Shares]:
    """Return when each launch ran, in the recording and in the replay."""
    if recording is None:
        names = ("recorded_start", "recorded_us", "replayed_start", "replayed_us")
        return {name: np.full(count, np.nan) for name in names}
    start, end = (recording.microseconds(figures[name]) for name in ("first_offer", "last_report"))
    done = fate == Fate.FINISHED
    return {
        "recorded_start": recording.start,
        "recorded_us": recording.duration,
        "replayed_start": np.where(done, start, np.nan),
        "replayed_us": np.where(done, end - start, np.nan),
    }


def no_figures(count: int) -> dict[str, Integers]:
    """Return the figures of launches without blocks."""
    never = {name: _filled(count) for name in ("first_offer", "last_offer", "last_report")}
    return {name: _filled(count, 0) for name in ("blocks", "held", "held_after")} | never


def _ends(offers: Table, reports: Table) -> Integers:
    """Return the cycle of each offer's report: the k-th report of a slot is its k-th offer's."""
    ends = _filled(len(offers["cycle"]))
    offered, reported = _slot_uses(offers), _slot_uses(reports)
    _, at_offers, at_reports = np.intersect1d(
        offered, reported, assume_unique=True, return_indices=True
    )
    ends[at_offers] = _signed(reports["cycle"])[at_reports]
    return ends


def _slot_uses(table: Table) -> Integers:
    """Return a number for each event that says its slot, and which of the slot's events it is."""
    slot = (_signed(table["sm"]) << 16) + _signed(table["slot"])
    order = np.lexsort((table["cycle"], slot))
    ordered = slot[order]
    new = np.flatnonzero(np.diff(ordered, prepend=-1))
    group = np.repeat(new, np.diff(np.append(new, len(ordered))))
    turns = np.empty_like(slot)
    turns[order] = (ordered << 32) + (np.arange(len(ordered)) - group)
    return turns


def _launch_of(tickets: NDArray[np.uint64], events: Events) -> Integers:
    """Return the rows of launches by their tickets."""
    given = events.tables["answers"]["ticket"]
    rows = np.full(int(given.max(initial=0)) + 1, NEVER, np.int64)
    rows[given.astype(np.int64)] = np.arange(len(given))
    return rows[tickets.astype(np.int64)]


def _block_needs(launch: LaunchDescriptor, config: Config) -> tuple[int, ...]:
    """Return what one block takes, in the order of ``RESOURCES``."""
    return block_amounts(vars(launch), warps(launch.block, config.warp_size), config)


def _whole(values: Sequence[Any], parts: int = 0) -> Integers:
    return np.array(values, np.int64).reshape((-1, parts) if parts else -1)


def _signed(column: NDArray[np.uint64]) -> Integers:
    return column.astype(np.int64)


def _stack(table: Table, names: Sequence[str]) -> Integers:
    return np.stack([_signed(table[name]) for name in names], axis=1)


def _filled(count: int, value: int = NEVER) -> Integers:
    return np.full(count, value, np.int64)
