"""Reports of groups of SMs: a second place behind the ports, in BlockDispatcher's model."""

from collections.abc import Mapping

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.returns import BooksTurn, ReportPorts
from warploom_spec.config import Config
from warploom_spec.resident_limits import sm_groups


class _Group:
    """The report that a group holds.

    Attributes
    ----------
    turn : BooksTurn or None
        It.
    held_before : bool
        Whether one was held in the cycle before.
    pointer : int
        The first of its places whose report it takes.

    Parameters
    ----------
    sms : range
        Its SMs.
    """

    def __init__(self, sms: range):
        self.sms, self.pointer = sms, 0
        self.turn: BooksTurn | None = None
        self.held_before = False

    @property
    def settled(self) -> bool:
        return self.turn is None and not self.held_before and self.pointer == 0


class GroupedReportPorts(ReportPorts):
    """Rule 35 e.

    Parameters
    ----------
    config : Config
        Number of SMs.
    """

    def __init__(self, config: Config):
        super().__init__(config)
        self._groups = [_Group(sms) for sms in sm_groups(config.sms)]
        self._group = 0
        self._group_of = {sm: n for n, group in enumerate(self._groups) for sm in group.sms}

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
        turn = self._groups[self._group_of[sm]].turn
        assert turn is not None
        return turn

    def tick(self, inputs: Mapping[str, int], granted: int | None, *, booting: bool) -> None:
        """Hold what transfers, at the ports and behind them."""
        moved = [self._moves(group) for group in self._groups]
        if granted is not None:
            number = self._group_of[granted]
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
        for place, sm in enumerate(group.sms[group.pointer :], group.pointer):
            if self._waiting >> sm & 1:
                group.pointer = place + 1
                return super().turn(sm)
        group.pointer = 0
        return None
