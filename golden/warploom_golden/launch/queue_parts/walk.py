"""The walk over a mask of streams (9)."""


class Walk:
    """A walk of ABORT_STREAMS, or a purge.

    Parameters
    ----------
    streams : int
        Number of streams.

    Attributes
    ----------
    on : bool
        Whether it is on.
    stream : int
        Where it stands.
    aborts : bool
        Whether it is an ABORT_STREAMS.
    closed, no_sm : bool
        The state of that name.
    """

    def __init__(self, streams: int):
        self._streams = streams
        self.on = self.aborts = False
        self.stream = self._mask = 0
        self._purge_wanted = False
        self.closed = self.no_sm = False
        self._closed_before = self._no_sm_before = False

    @property
    def ready(self) -> bool:
        """``command.ready``: none is on or wanted (5)."""
        return not (self.on or self._purge_wanted)

    @property
    def wants(self) -> bool:
        """Whether its bit is 1."""
        return self.on and bool(self._mask >> self.stream & 1)

    def begin(self, mask: int, *, aborts: bool) -> None:
        """Begin one in this cycle."""
        self.on, self.aborts, self._mask, self.stream = True, aborts, mask, 0

    def step(self, *, served: bool) -> bool:
        """End a cycle, before it takes a command.

        Parameters
        ----------
        served : bool
            The cycle is the last step of a COMMAND of its own.

        Returns
        -------
        bool
            Whether an ABORT_STREAMS is over: it is answered in the next cycle.
        """
        over = False
        if self.on:
            over = self._move(moves=served or not self.wants)
        elif self._purge_wanted:
            self._purge_wanted = False
            self.begin((1 << self._streams) - 1, aborts=False)
        rises = (self.closed and not self._closed_before) or (self.no_sm and not self._no_sm_before)
        self._purge_wanted = self._purge_wanted or rises
        return over

    def _move(self, *, moves: bool) -> bool:
        if not moves:
            return False
        last = self.stream == self._streams - 1
        self.stream += not last
        self.on = not last
        return last and self.aborts

    def see(self, *, closed: bool, no_sm: bool) -> None:
        """Keep the levels of this cycle for the next one."""
        self._closed_before, self._no_sm_before = self.closed, self.no_sm
        self.closed, self.no_sm = closed, no_sm
