"""Reports of groups of SMs: a second place behind the ports, in BlockDispatcher's model."""

from collections.abc import Mapping

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.returns import BooksTurn, ReportPorts
from warploom_spec.config import Config
from warploom_spec.resident_limits import GROUP_SMS


class _Group:
    """The report that a group holds.

    Attributes
    ----------
    turn : BooksTurn or None
        It.
    held_before : bool
        Whether one was held in the cycle before.
    pointer : int
        The first SM whose report it takes.
    """

    def __init__(self, first: int):
        self.first = self.pointer = first
        self.turn: BooksTurn | None = None
        self.held_before = False

    @property
    def settled(self) -> bool:
        return self.turn is None and not self.held_before and self.pointer == self.first


class GroupedReportPorts(ReportPorts):
    """Rule 35 e.

    Parameters
    ----------
    config : Config
        Number of SMs.
    """

    def __init__(self, config: Config):
        super().__init__(config)
        self._groups = [_Group(first) for first in range(0, config.sms, GROUP_SMS)]
        self._group = 0

    @property
    def settled(self) -> bool:
        """Whether nothing is held and every port is ready."""
        return super().settled and all(group.settled for group in self._groups)

    def grant(self) -> int | None:
        """Return the SM whose report a group holds and is granted, if there is one."""
        holding = sum(1 << n for n, group in enumerate(self._groups) if group.turn is not None)
        number = first_from(holding, self._group, len(self._groups))
        if number is None:
            return None
        turn = self._groups[number].turn
        assert turn is not None
        return turn.sm

    def turn(self, sm: int) -> BooksTurn:
        """Return the turn at the books of the report that an SM's group holds."""
        turn = self._groups[sm // GROUP_SMS].turn
        assert turn is not None
        return turn

    def tick(self, inputs: Mapping[str, int], granted: int | None, *, booting: bool) -> None:
        """Hold what transfers, at the ports and behind them."""
        moved = [self._moves(group) for group in self._groups]
        if granted is not None:
            number = granted // GROUP_SMS
            self._groups[number].turn = None
            self._group = (number + 1) % len(self._groups)
        self._take(inputs, sum(1 << turn.sm for turn in moved if turn is not None), booting)
        for group, turn in zip(self._groups, moved, strict=True):
            if turn is not None:
                group.turn = turn

    def _moves(self, group: _Group) -> BooksTurn | None:
        """Return what a group takes from its ports in this cycle."""
        held_before, group.held_before = group.held_before, group.turn is not None
        if held_before or group.turn is not None:
            return None
        for sm in range(group.pointer, min(group.first + GROUP_SMS, len(self._held))):
            if self._waiting >> sm & 1:
                group.pointer = sm + 1
                return super().turn(sm)
        group.pointer = group.first
        return None
