"""Figures of a replay, computed from the RTL's recorded events."""

from collections.abc import Sequence

import numpy as np

from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.event_model import Events, Table
from warploom_spec import Config, LaunchDescriptor


def cycles(events: Events) -> int:
    """Return the cycles from cycle 0 to the last answer or final record, that one included."""
    last = max(int(events.tables[kind]["cycle"].max(initial=0)) for kind in ("answers", "ended"))
    return last + 1


def occupancy(
    events: Events, launches: Sequence[LaunchDescriptor], config: Config
) -> dict[str, float]:
    """Return for each resource the part of all SMs that was taken, on average over the run.

    A block counts from its offer to its report.

    Parameters
    ----------
    events : Events
        Of a run in which every offered block completed.
    launches : sequence of LaunchDescriptor
        What was sent.
    config : Config
        Says how much of each resource there is.
    """
    offers, reports = events.tables["offers"], events.tables["reports"]
    offered, reported = _by_slot(offers), _by_slot(reports)
    held = (reports["cycle"][reported] - offers["cycle"][offered]).astype(float)
    tickets = events.tables["answers"]["ticket"]
    launch_of = np.zeros(int(tickets.max(initial=0)) + 1, int)
    launch_of[tickets.astype(int)] = np.arange(len(tickets))
    number = launch_of[offers["ticket"][offered].astype(int)]
    whole = cycles(events) * config.sms
    taken = np.array([_amounts(launch, config) for launch in launches], float).reshape(-1, 5)
    sizes = {
        "slots": config.block_slots,
        "warps": config.warp_slots,
        "registers": config.register_units,
        "shared": config.shared_units,
        "barriers": config.barriers,
    }
    return {
        name: round(float((held * taken[number, k]).sum() / (whole * size)), 4)
        for k, (name, size) in enumerate(sizes.items())
    }


def _amounts(launch: LaunchDescriptor, config: Config) -> tuple[int, ...]:
    count = warps(launch.block, config.warp_size)
    return 1, count, count * launch.warp_registers, launch.shared, launch.barriers


def _by_slot(table: Table) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the order by slot, then cycle: the k-th offer of a slot meets its k-th report."""
    return np.lexsort((table["cycle"], table["slot"], table["sm"]))
