"""Reports at BlockDispatcher's ports, and what they change in the books."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from warploom_golden.dispatch.bits import first_from
from warploom_golden.dispatch.books import Books
from warploom_golden.dispatch.resident_launch import ResidentBlock
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import BlockStatus, ErrorCode

#: Cycles from a grant to the turn at the books.
_TO_THE_BOOKS = 3


@dataclass(eq=False, slots=True)
class Sweep:
    """A sweep for the blocks of one stream (32).

    Attributes
    ----------
    stream : int
        Whose blocks SMs have not reported.
    begins : int
        The first cycle in which it is on.
    reported : bool
        Whether a report of the stream had its books written since it is on.
    """

    stream: int
    begins: int
    reported: bool = False


class Round(Enum):
    """What a turn at the books is for."""

    REPORT = auto()
    FIND = auto()  # the sweep's first round
    RETURN = auto()  # the second one


@dataclass(frozen=True, slots=True)
class BooksTurn:
    """A granted report, or a row of a sweep, on its way to the books.

    Attributes
    ----------
    round : Round
        What it is.
    sm, slot : int
        The row.
    status : BlockStatus
        Of a report.
    sweep : Sweep or None
        Of a sweep's row.
    """

    round: Round
    sm: int
    slot: int
    status: BlockStatus = BlockStatus.KILLED
    sweep: Sweep | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a turn at the books changes; by default nothing.

    Attributes
    ----------
    block : ResidentBlock or None
        The block that returns.
    emptied : int or None
        Its stream, if that has no other block out.
    ok, fault, swept : bool
        Whether its status is `OK`, whether its stream gets a fault, and whether a sweep returned
        it.
    loses : int or None
        The SM that is lost from the next cycle on.
    error : tuple or None
        Code and argument of an error record.
    """

    block: ResidentBlock | None = None
    emptied: int | None = None
    ok: bool = False
    fault: bool = False
    swept: bool = False
    loses: int | None = None
    error: tuple[ErrorCode, int] | None = None


#: What most cycles change.
NOTHING = Outcome()


class ReportPorts:
    """The reports that are held, and the arbiter (25).

    Parameters
    ----------
    config : Config
        Number of SMs.
    """

    def __init__(self, config: Config):
        self._packet = layouts.block_report(config)
        self._sms = range(config.sms)
        self._ports = [(f"report__{n}__valid", f"report__{n}__payload") for n in self._sms]
        self._held: list[int | None] = [None] * config.sms
        self._waiting = 0
        # The page does not say where the pointer begins: at SM 0 (25).
        self._pointer = 0
        self._granted = 0

    @property
    def settled(self) -> bool:
        """Whether nothing is held and every port is ready."""
        return not (self._waiting or self._granted)

    @property
    def ready(self) -> int:
        """Mask of the SMs whose reports are taken."""
        return ~(self._waiting | self._granted)

    def comes(self, inputs: Mapping[str, int]) -> bool:
        """Tell whether a report is valid at a port."""
        return any(inputs[valid] for valid, _ in self._ports)

    def grant(self) -> int | None:
        """Return the SM whose held report is granted, if any is held."""
        if not self._waiting:
            return None
        return first_from(self._waiting, self._pointer, len(self._held))

    def turn(self, sm: int) -> BooksTurn:
        """Return a held report's turn at the books."""
        payload = self._held[sm]
        assert payload is not None
        fields = self._packet.unpack(payload)
        return BooksTurn(Round.REPORT, sm, fields["slot"], BlockStatus.of(fields["status"]))

    def tick(self, inputs: Mapping[str, int], granted: int | None, *, booting: bool) -> None:
        """Hold what transfers; a granted report is held no longer."""
        if granted is not None:
            self._pointer = (granted + 1) % len(self._held)
        self._take(inputs, 0 if granted is None else 1 << granted, booting)

    def _take(self, inputs: Mapping[str, int], leaving: int, booting: bool) -> None:
        """Hold what transfers; the reports of ``leaving`` SMs are held no longer."""
        ready = self.ready
        self._waiting &= ~leaving
        self._granted = leaving
        if booting:
            # Dropped (1): not held, so that `ready` stays 1.
            return
        for sm, (valid, payload) in enumerate(self._ports):
            if inputs[valid] and ready >> sm & 1:
                self._held[sm] = inputs[payload]
                self._waiting |= 1 << sm


class ReturnStages:
    """The stages between a grant and the books.

    Parameters
    ----------
    back : int
        Cycles from the read of `given` to the turn at the books.

    Attributes
    ----------
    at_books : BooksTurn or None
        Whose turn it is in this cycle.
    """

    def __init__(self, back: int) -> None:
        self._back = back
        self._stages: deque[BooksTurn | None] = deque([None] * _TO_THE_BOOKS)

    @property
    def settled(self) -> bool:
        """Whether the stages are empty."""
        return not any(self._stages)

    @property
    def at_books(self) -> BooksTurn | None:
        """Whose turn at the books it is."""
        return self._stages[0]

    @property
    def looked_up(self) -> BooksTurn | None:
        """For whom `given` is read: what the page calls stage t + 3."""
        return self._stages[self._back]

    def tick(self, entering: BooksTurn | None) -> None:
        """Move on by a stage."""
        self._stages.popleft()
        self._stages.append(entering)


def judge(turn: BooksTurn, books: Books, cycle: int, lost: int, kill: int) -> Outcome:
    """Return what a turn at the books changes (26, 27, 32).

    Parameters
    ----------
    turn : BooksTurn
        Whose turn it is.
    books : Books
        Who runs where.
    cycle : int
        The current cycle.
    lost : int
        SMs that were lost in the cycle before.
    kill : int
        Streams whose `kill` is 1.
    """
    is_lost = bool(lost >> turn.sm & 1)
    block = books.running(turn.sm, turn.slot, cycle)
    match turn.round:
        case Round.REPORT if is_lost:
            return Outcome(error=(ErrorCode.LOST_SM_SIGNAL, turn.sm))
        case Round.REPORT if block is None:
            return Outcome(error=(ErrorCode.REPORT_NOT_RUNNING, turn.sm))
        case Round.REPORT if block is not None:
            return _report(turn, block, books, cycle, kill)
        case Round.FIND if block is not None:
            return _find(turn, block)
        case Round.RETURN if block is not None and is_lost:
            return _returned(block, books, cycle, fault=True, swept=True)
        case _:
            return NOTHING


def _report(turn: BooksTurn, block: ResidentBlock, books: Books, cycle: int, kill: int) -> Outcome:
    """Return what the report of a block changes (27)."""
    unasked = turn.status is BlockStatus.KILLED and not kill >> block.launch.stream & 1
    error = (ErrorCode.KILL_NOT_ASKED, turn.sm) if unasked else None
    fault = unasked or turn.status is BlockStatus.FAULT
    ok = turn.status is BlockStatus.OK
    return _returned(block, books, cycle, ok=ok, fault=fault, error=error)


def _find(turn: BooksTurn, block: ResidentBlock) -> Outcome:
    """Return whether a sweep's first round loses an SM (32)."""
    sweep = turn.sweep
    assert sweep is not None
    silent = block.launch.stream == sweep.stream and not sweep.reported
    return Outcome(loses=turn.sm) if silent else NOTHING


def _returned(
    block: ResidentBlock,
    books: Books,
    cycle: int,
    *,
    ok: bool = False,
    fault: bool = False,
    swept: bool = False,
    error: tuple[ErrorCode, int] | None = None,
) -> Outcome:
    """Let a block run no longer and be out no longer (5, 26)."""
    books.leave(block)
    block.returned = cycle
    launch = block.launch
    launch.out -= 1
    # Rule 29 looks at a stream of which nothing is out in the sense of rule 5, also where a pick
    # of the cycle before wins there.
    emptied = None if launch.out else launch.stream
    return Outcome(block, emptied, ok, fault, swept, None, error)
