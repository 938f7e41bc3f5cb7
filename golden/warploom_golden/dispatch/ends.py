"""What becomes of runs: the stream `ended`, and their times, in BlockDispatcher's model."""

from collections import deque

from warploom_golden.dispatch.resident_launch import ResidentLaunch
from warploom_golden.dispatch.streams import Streams
from warploom_spec import resident_packets
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Fate

_CLOCK = 1 << 32


class Ends:
    """Rules 29 and 30.

    Parameters
    ----------
    config : Config
        Widths.

    Attributes
    ----------
    payload : int or None
        What is valid at `ended`, if anything is.
    first, cycles : int or None
        The ports `ended_first` and `ended_cycles`; None where they may have any value.
    """

    def __init__(self, config: Config):
        self._packet = resident_packets.resident_end(config)
        self._at_port: ResidentLaunch | None = None
        self.payload: int | None = None
        self.first: int | None = None
        self.cycles: int | None = None
        # The stream of a return of the cycle before that left nothing out.
        self._emptied: int | None = None
        # Launches that transferred one cycle before, and two.
        self._told: deque[ResidentLaunch | None] = deque([None, None])

    @property
    def settled(self) -> bool:
        """Whether nothing happens while no launch is over."""
        told = any(self._told) or self.first is not None or self.cycles is not None
        return not told and self.payload is None and self._emptied is None

    def transfer(self, ready: int) -> ResidentLaunch | None:
        """Return the launch that transfers at `ended` in this cycle."""
        return self._at_port if ready else None

    def tick(
        self,
        turn: int,
        streams: Streams,
        active: ResidentLaunch | None,
        told: ResidentLaunch | None,
        emptied: int | None,
    ) -> None:
        """End a cycle.

        Parameters
        ----------
        turn : int
            The stream whose turn it is.
        streams : Streams
            Their flags in this cycle.
        active : ResidentLaunch or None
            The active launch.
        told : ResidentLaunch or None
            The launch that transfers.
        emptied : int or None
            The stream of a return of this cycle that left nothing out.
        """
        stream = turn if self._emptied is None else self._emptied
        over = (streams.resident & ~streams.alive) >> stream & 1
        launch = streams.launches[stream]
        if launch is active or launch is self._at_port:
            over = 0
        if self._at_port is None or told is not None:
            self._at_port = launch if over else None
            self.payload = self._fate(stream, streams) if over else None
        self._emptied = emptied
        self._tell_times(told)

    def _fate(self, stream: int, streams: Streams) -> int:
        """Return the packed fate of a stream's launch (30)."""
        fate, code = Fate.KILLED, ErrorCode.OK
        if (streams.fault | streams.sm_lost) >> stream & 1:
            lost = streams.sm_lost >> stream & 1
            fate, code = Fate.FAILED, ErrorCode.SM_LOST if lost else ErrorCode.BLOCK_FAULT
        elif (streams.all_placed & ~streams.not_ok) >> stream & 1:
            fate = Fate.FINISHED
        return self._packet.pack({"stream": stream, "fate": fate, "code": code})

    def _tell_times(self, told: ResidentLaunch | None) -> None:
        """Let the times of launches that transferred move on to their ports (30)."""
        two, one = self._told
        self._told.popleft()
        self._told.append(told)
        # Without a block both may have any value.
        self.first = one.first_offer if one is not None and one.picked else None
        length = None if two is None else (two.last_return - two.first_offer) % _CLOCK
        self.cycles = length if two is not None and two.picked else None
