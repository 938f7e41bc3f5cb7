"""Who is held and who is stopped (24, 25)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from warploom_golden.launch.resident.rows import Flags, Launch, Row
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MAX_KILLS


class Kind(NamedTuple):
    """What a resident is (24)."""

    makes_way: bool = False
    waits: bool = False
    killable: bool = False

    @classmethod
    def of(cls, launch: Launch, kills: int, *, sm_kill: bool) -> "Kind":
        """Return the kind of a launch that starts."""
        mode, idempotent = launch.fields["mode"], bool(launch.fields["idempotent"])
        return cls(
            makes_way=mode not in (Mode.WAIT, Mode.YIELD),
            waits=mode == Mode.WAIT,
            killable=mode in (Mode.AUTO, Mode.RESET)
            and idempotent
            and kills < MAX_KILLS
            and sm_kill,
        )


class Holds:
    """The outputs ``hold`` and ``stop``.

    Parameters
    ----------
    streams : int
        Number of streams.

    Attributes
    ----------
    hold, stop : int
        The outputs.
    kinds : list of Kind
        Of each stream's resident, or of its last one.
    """

    def __init__(self, streams: int):
        self.kinds = [Kind()] * streams
        self.hold = self.stop = 0
        self._top = 0

    def step(self, flags: Flags, rows: Sequence[Row], inputs: Mapping[str, int]) -> None:
        """End a cycle, by the state in it."""
        hold = stop = 0
        top, begun = self._top, inputs["begun"]
        self._top = 0
        for stream, (kind, row) in enumerate(zip(self.kinds, rows, strict=True)):
            bit = 1 << stream
            low, held, has_begun = row.priority < top, bool(flags.held & bit), bool(begun & bit)
            if ((low and kind.makes_way) or held) and not (kind.waits and has_begun):
                hold |= bit
            if flags.resident & bit and has_begun and kind.killable and (low or held):
                stop |= bit
            if flags.live & bit and not flags.stuck & bit and not held:
                self._top = max(self._top, row.priority)
        self.hold, self.stop = hold, stop
