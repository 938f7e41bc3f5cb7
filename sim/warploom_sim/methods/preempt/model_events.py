"""What the event model says of a run, in pieces: every event with its cycle."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import PIECE, Events, Piece
from warploom_golden.replay.event_tables import Table, columns
from warploom_golden.replay.residents.path import ResidentPath
from warploom_golden.replay.residents.ports import SleepingQueue
from warploom_golden.replay.residents.tables import ReplayTables
from warploom_golden.replay.sm_behaviour import SmBehaviour
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.methods.preempt.runs import Setting

#: Kinds of events beside a replay's, and their columns.
_MORE: Final = {
    "sent": ("cycle", "urgent"),
    "pops": ("cycle", "ticket"),
    "levels": ("cycle", "hold", "stop"),
    "cancels": ("cycle", "stream"),
}


class ModelRun:
    """A run of the event model.

    Parameters
    ----------
    host : MeasuringHost
        Who sends the launches.
    setting : Setting
        The machine.
    queue : type of SleepingQueue
        The queue's class: a test gives one that breaks a rule.
    lean : bool
        Leave out what no figure needs.

    Attributes
    ----------
    cycle : int
        The cycle in which the last record was popped, once the run is over.
    """

    def __init__(
        self,
        host: MeasuringHost,
        setting: Setting,
        queue: type[SleepingQueue] = SleepingQueue,
        *,
        lean: bool = False,
    ) -> None:
        self._host, self._lean = host, lean
        self._path = ResidentPath(
            setting.config,
            sm=SmBehaviour(report_time=setting.report_time),
            seed=setting.seed,
            knee=setting.knee,
            queue=queue,
            drained=PIECE,
        )
        self._tables = ReplayTables(self._path, host.launches, setting.config)
        # Before the first change all levels are 0.
        self._taken = dict.fromkeys(_MORE, 0)
        self.cycle = 0

    def pieces(self) -> Iterator[Piece]:
        """Run; yield the events in pieces, each kind in order; the last piece ends with `NEVER`."""
        for until in self._path.pieces(self._host):
            yield Piece(Events(self._take(), {}), until)
        self.cycle = self._host.pops[-1][0]
        stalls = {f"stall_{cause}": n for cause, n in self._path.dispatcher.stalls.items()}
        yield Piece(Events(self._take(), stalls), NEVER)

    def _take(self) -> dict[str, Table]:
        log = self._path.log
        rows: dict[str, Sequence[Any]] = {"sent": self._host.sent, "pops": self._host.pops}
        rows |= {"levels": log.levels, "cancels": log.cancels}
        tables = self._tables.take_lean() if self._lean else self._tables.take()
        return tables | {kind: columns(self._new(kind, rows[kind]), _MORE[kind]) for kind in _MORE}

    def _new(self, kind: str, rows: Sequence[Any]) -> Sequence[Any]:
        """Return what was appended since the last time."""
        first, self._taken[kind] = self._taken[kind], len(rows)
        # The first row of the levels is their value after a reset, which is no change.
        return rows[max(first, int(kind == "levels")) :]
