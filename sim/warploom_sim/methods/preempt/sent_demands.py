"""What a run on the RTL must show, counted from what was sent: no model has a part in it."""

from collections.abc import Mapping, Sequence

import numpy as np

from warploom_golden.replay.event_tables import Table
from warploom_sim.methods.preempt.runs import Setting
from warploom_sim.replay import expected
from warploom_sim.replay.replay_checks import short_launches
from warploom_spec import LaunchDescriptor
from warploom_spec.queue import FinalFate

#: Kinds of events that each launch has once, by its ticket.
_ONCE = ("ended", "pops")


def shortfalls(
    compared: Mapping[str, int],
    events: Mapping[str, Table],
    launches: Sequence[LaunchDescriptor],
    setting: Setting,
) -> list[str]:
    """Return in words where less was sent, compared or ended than the run demands.

    Parameters
    ----------
    compared : mapping of str to int
        Events compared, by kind.
    events : mapping of str to Table
        The RTL's events.
    launches : sequence of LaunchDescriptor
        The launches that were sent, in order.
    setting : Setting
        The machine, and how many urgent launches a run has.
    """
    demanded = expected.count(launches, setting.config, in_order=False)
    # A launch that is killed and runs again has more of some.
    least = demanded.events() | dict.fromkeys(("sent", "starts", *_ONCE), len(launches))
    problems = _sent(events["sent"], setting.count)
    problems += [
        f"{kind}: {compared.get(kind, 0):,} compared, but the launches sent demand at least {n:,}"
        for kind, n in least.items()
        if compared.get(kind, 0) < n
    ]
    problems += [text for kind in _ONCE for text in _tickets(kind, events, len(launches))]
    bad = np.flatnonzero((events["ended"]["fate"] != FinalFate.FINISHED) | events["ended"]["code"])
    problems += [
        f"ended: ticket {events['ended']['ticket'][n]} has fate {events['ended']['fate'][n]}, code"
        f" {events['ended']['code'][n]}; each launch sent finishes"
        for n in bad[:1]
    ]
    offered = np.bincount(events["offers"]["ticket"].astype(np.int64))
    return problems + short_launches(offered, demanded)


def _sent(sent: Table, count: int) -> list[str]:
    """Return in words which side sent too few launches."""
    urgent = int(sent["urgent"].sum())
    problems = [] if urgent == count else [f"sent: {urgent:,} urgent launches, not {count:,}"]
    return problems + (["sent: no low launch"] if urgent == len(sent["urgent"]) else [])


def _tickets(kind: str, events: Mapping[str, Table], launches: int) -> list[str]:
    """Return in words the first ticket that a kind of event has not once."""
    times = np.bincount(events[kind]["ticket"].astype(np.int64), minlength=launches + 1)
    expected_times = np.ones(len(times), np.int64)
    expected_times[0] = 0
    expected_times[launches + 1 :] = 0
    wrong = np.flatnonzero(times != expected_times)[:1].tolist()
    return [f"{kind}: ticket {n} comes {times[n]} times, not {expected_times[n]}" for n in wrong]
