"""Whether a replay compared enough, and read all that its trace holds."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from warploom_golden.replay.event_model import Events
from warploom_sim.replay import recount, replay_words
from warploom_sim.replay.bench.records import ERROR_COUNTS
from warploom_sim.replay.event_comparison import Comparison
from warploom_sim.replay.expected import Expected
from warploom_sim.replay.recount import KernelCount
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import Config, timing


def shortfalls(
    compared: Comparison, demanded: Expected, rtl: Events, offered: NDArray[np.int64]
) -> list[str]:
    """Return in words where less was compared than the launches demand, or refused otherwise.

    Parameters
    ----------
    compared : Comparison
        What was compared.
    demanded : Expected
        What the launches demand.
    rtl : Events
        The RTL's answers.
    offered : array of int64
        Blocks that the RTL offered, by ticket.
    """
    problems = []
    for kind, least in demanded.events().items():
        got = compared.compared[kind]
        most = demanded.most(kind)
        if got < least or got > most:
            problems.append(
                f"{kind}: {got:,} compared, but the launches alone demand"
                f" {'' if least == most else 'at least '}{least:,}"
            )
    problems = problems or short_launches(offered, demanded)
    refused = replay_words.refused_by_code(rtl)
    if refused != demanded.refused:
        problems.append(f"refused: {refused}, but the launches alone demand {demanded.refused}")
    return problems


def short_launches(offered: NDArray[np.int64], demanded: Expected) -> list[str]:
    """Return in words the first accepted launch of which too few blocks were offered."""
    # Tickets count from 1, in the order in which launches are accepted.
    for ticket, least in enumerate(demanded.least_blocks, 1):
        got = int(offered[ticket]) if ticket < len(offered) else 0
        if got < least:
            return [f"ticket {ticket}: {got:,} blocks offered; its launch alone demands {least:,}"]
    return []


def unread(
    trace: Trace, launches: int, most: int | None, there: Sequence[recount.Kernel]
) -> list[str]:
    """Return in words where the trace's file holds other kernels than were read and launched.

    Parameters
    ----------
    trace : Trace
        As it was read.
    launches : int
        Launches made of it.
    most : int or None
        Launches asked for; None is all.
    there : sequence of Kernel
        What `recount.read` found in the file.
    """
    held = recount.counted(there)
    read = KernelCount(len(trace.launches), sum(launch.blocks for launch in trace.launches))
    problems = []
    if read != held:
        problems.append(f"{trace.path.name} holds {held}, but {read} were read")
    wanted = held.kernels if most is None else min(most, held.kernels)
    if launches != wanted:
        problems.append(f"{launches:,} launches made of {held}, instead of {wanted:,}")
    return problems


def lost_errors(rtl: Events, error_counts: Sequence[int], config: Config) -> list[str]:
    """Return in words where the RTL's own counters know of more or fewer error records."""
    problems = []
    highest = (1 << timing(config).error_counter_bits) - 1
    sources = rtl.tables["errors"]["source"]
    for source, (name, count) in enumerate(zip(ERROR_COUNTS, error_counts, strict=True)):
        got = int((sources == np.uint64(source)).sum())
        # A counter stays at its highest value.
        if min(got, highest) != count:
            problems.append(f"errors: {got:,} recorded, but `{name}` is {count:,}")
    return problems
