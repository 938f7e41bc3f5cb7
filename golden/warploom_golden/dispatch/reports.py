"""What SMs report to BlockDispatcher's cycle model."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from warploom_golden.dispatch.calendar import Calendar
from warploom_golden.dispatch.sm.sm import Block, Sm
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus, ErrorCode, Stop
from warploom_spec.timing import timing

#: An error record's code and argument.
Error = tuple[ErrorCode, int]


class Reports:
    """The registers behind the SMs' reports.

    Parameters
    ----------
    config : Config
        Widths and number of SMs.
    """

    def __init__(self, config: Config):
        self._timing = timing(config)
        self._packet = layouts.block_report(config)
        self._ports = [(f"report__{n}__valid", f"report__{n}__payload") for n in range(config.sms)]
        # What stood at the ports in the cycle before: SM and payload; and the kill level then.
        self._stood: list[tuple[int, int]] = []
        self._kill = 0

    def register(self, inputs: Mapping[str, int], kill: int, cycle: int) -> None:
        """Take in what stands at the ports in this cycle, in which ``kill`` is the level."""
        self._kill = kill
        self._stood = []
        if cycle >= self._timing.boot:
            self._stood = [
                (sm, inputs[payload])
                for sm, (valid, payload) in enumerate(self._ports)
                if inputs[valid]
            ]

    def look_up(
        self, cycle: int, sms: Sequence[Sm], calendar: Calendar, errors: list[Error]
    ) -> list[Block]:
        """Look up what stood at the ports in the cycle before.

        Parameters
        ----------
        cycle : int
            The current cycle.
        sms : sequence of Sm
            All SMs.
        calendar : Calendar
            Gets the stops that faults cause.
        errors : list
            Gets the errors.

        Returns
        -------
        list of Block
            The blocks whose reports count.
        """
        found = []
        for number, payload in self._stood:
            block = self._counts(sms[number], payload, errors)
            if block is None:
                continue
            block.reported = block.place.last_report = cycle - 1
            status = BlockStatus.of(self._packet.unpack(payload)["status"])
            if self._is_fault(block, status, errors):
                self._fault(block, cycle - 1, calendar)
            elif status is BlockStatus.KILLED:
                block.place.any_killed = True
            found.append(block)
        return found

    def _counts(self, sm: Sm, payload: int, errors: list[Error]) -> Block | None:
        """Return the block that a report ends, if it counts."""
        if sm.lost:
            errors.append((ErrorCode.LOST_SM_SIGNAL, sm.number))
            return None
        block = sm.running.pop(self._packet.unpack(payload)["slot"], None)
        if block is None:
            errors.append((ErrorCode.REPORT_NOT_RUNNING, sm.number))
        return block

    def _is_fault(self, block: Block, status: BlockStatus, errors: list[Error]) -> bool:
        """Tell whether a report is a fault; `KILLED` is one if nobody asked for it."""
        match status:
            case BlockStatus.OK:
                return False
            case BlockStatus.FAULT:
                return True
            case BlockStatus.KILLED:
                asked = self._kill >> block.place.number & 1
                if not asked:
                    errors.append((ErrorCode.KILL_NOT_ASKED, block.sm.number))
                return not asked
            case _:
                assert_never(status)

    def _fault(self, block: Block, sent: int, calendar: Calendar) -> None:
        """Let a fault kill its launch."""
        place = block.place
        from_cycle = sent + self._timing.fault

        def act() -> None:
            place.fault = True
            place.stop_from(from_cycle, Stop.KILL)

        calendar.at_end_of(from_cycle - 1, act)
