"""A driver for Warploom's core in Python; the driver in C stands in ``host/c``.

What a program must know:

- Launches of one stream run one after the other, those of different streams at once. Who wants two
  launches at once uses two streams.
- An urgent launch that never ends starves every launch of a lower priority with mode auto, reset or
  drain for ever, even when all its blocks are placed and SMs are empty. Persistent kernels belong
  to the lowest priority.
- A low launch of mode wait that has begun stops every priority until its last block is placed: with
  a large grid, for long.
- Blocks that wait for each other belong to mode wait. With mode yield an urgent launch may take the
  room that the rest of them needs: both then stand still, until the program aborts one.
- The record of an aborted launch can come before those of earlier launches of its stream. Wait for
  an event (`Streams`), not for a record.
- A launch that was killed, and then aborted while it waited, has cycles and first_offer 0, and its
  kills.
- A launch fails with NO_SM when every SM is lost; SMs that are only disabled do not count. One that
  was aborted, or whose time was over, says that instead.
"""

from warploom_host.driver import HostDriver
from warploom_host.index_shapes import IndexShapes
from warploom_host.kept_section import KeptSection
from warploom_host.launch_words import Relative, wait_latest
from warploom_host.loops import LoopOutcome, Steps, Templates
from warploom_host.outcomes import (
    CommandFailed,
    HostTimeout,
    Outcome,
    QuietLaunch,
    Record,
    code_name,
)
from warploom_host.streams import Event, Streams

__all__ = [
    "CommandFailed",
    "Event",
    "HostDriver",
    "HostTimeout",
    "IndexShapes",
    "KeptSection",
    "LoopOutcome",
    "Outcome",
    "QuietLaunch",
    "Record",
    "Relative",
    "Steps",
    "Streams",
    "Templates",
    "code_name",
    "wait_latest",
]
