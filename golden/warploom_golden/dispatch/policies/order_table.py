"""The order table of `freed_first`, and the swaps that change it."""

from warploom_golden.dispatch.policies.policy import Error
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode


class OrderTable:
    """A permutation of the SMs, the identity after the boot.

    Parameters
    ----------
    config : Config
        Number of SMs.

    Attributes
    ----------
    sms : list of int
        By position.
    """

    def __init__(self, config: Config):
        self._packet = layouts.order_swap(config)
        self.sms = list(range(config.sms))
        # Position and SM of the writes at the ends of the next cycles, None for none in a cycle.
        self._writes: list[tuple[int, int] | None] = []
        # A refusal whose record waits for a cycle without an error of a report.
        self._refused: Error | None = None

    @property
    def swaps(self) -> bool:
        """Whether a swap is written: the table's SM is not picked, and the pointer stands."""
        return bool(self._writes)

    @property
    def ready(self) -> bool:
        """Whether no swap is at work."""
        return not self._writes and self._refused is None

    @property
    def settled(self) -> bool:
        """Whether nothing happens without a swap."""
        return self.ready

    def tick(self, payload: int | None, *, quiet: bool, shows: bool) -> Error | None:
        """End a cycle; return the refusal whose record appears in the next one.

        Parameters
        ----------
        payload : int or None
            The swap that transfers.
        quiet : bool
            Whether the machine is quiet.
        shows : bool
            Whether an error of a report takes the next cycle's record.
        """
        error = None if shows else self._refused
        if error is not None:
            self._refused = None
        if self._writes:
            write = self._writes.pop(0)
            if write is not None:
                position, sm = write
                self.sms[position] = sm
        elif payload is not None:
            self._take(payload, quiet=quiet)
        return error

    def _take(self, payload: int, *, quiet: bool) -> None:
        fields = self._packet.unpack(payload)
        first, second = fields["first"], fields["second"]
        outside = [position for position in (first, second) if position >= len(self.sms)]
        if outside:
            self._refused = ErrorCode.ORDER_RANGE, outside[0]
        elif not quiet:
            self._refused = ErrorCode.ORDER_BUSY, 0
        else:
            self._writes = [None, (first, self.sms[second]), (second, self.sms[first]), None]
