"""What the event model expects of the RTL, in pieces: every event with its cycle."""

from collections.abc import Iterator, Sequence
from typing import Any

from warploom_golden.preemption.streams import EventQueue, QueuedModel
from warploom_golden.preemption.streams.event_log import Handed
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_dispatcher import SmBehaviour
from warploom_golden.replay.event_model import Events, Piece
from warploom_golden.replay.event_tables import Table, columns
from warploom_golden.replay.replay_tables import ReplayTables
from warploom_sim.methods.preempt.host import MeasuringHost
from warploom_sim.methods.preempt.measure import Setting
from warploom_sim.methods.preempt.workload import Workload

#: Offers, or reports, of which a piece is made.
_PIECE = 1 << 17


class ModelRun:
    """A run of the event model.

    Parameters
    ----------
    workload : Workload
        The low and the urgent launches.
    setting : Setting
        The machine and the arrivals.
    queue : type of EventQueue
        The queue's class: a test gives one that breaks a rule.

    Attributes
    ----------
    cycle : int
        The cycle in which the last record was popped, once the run is over.
    """

    def __init__(
        self, workload: Workload, setting: Setting, queue: type[EventQueue] = EventQueue
    ) -> None:
        self._config = setting.config
        self._host = MeasuringHost(
            workload.low,
            workload.urgent,
            count=setting.count,
            distance=setting.distance,
            seed=setting.seed,
            waits=workload.low_waits,
        )
        self._model = QueuedModel(
            setting.config,
            sm=SmBehaviour(report_time=setting.report_time),
            seed=setting.seed,
            knee=setting.knee,
            queue=queue,
            drained=_PIECE,
        )
        self._tables = ReplayTables(self._model, self._host.launches, setting.config)
        self._taken = dict.fromkeys(("sent", "pops", "handed", "stops"), 0)
        self.cycle = 0

    def pieces(self) -> Iterator[Piece]:
        """Run; yield the events in pieces, each kind in order; the last piece ends with `NEVER`."""
        for until in self._model.pieces(self._host):
            yield Piece(Events(self._take(), {}), until)
        self.cycle = self._host.pops[-1][0]
        stalls = {f"stall_{cause}": n for cause, n in self._model.dispatcher.stalls.items()}
        yield Piece(Events(self._take(), stalls), NEVER)

    def _take(self) -> dict[str, Table]:
        log, host = self._model.log, self._host
        tables = self._tables.take()
        handed = [self._start(each) for each in self._new("handed", log.handed)]
        return tables | {
            "sent": columns(self._new("sent", host.sent), ("cycle", "urgent")),
            "pops": columns(self._new("pops", host.pops), ("cycle", "ticket")),
            "handed": columns(handed, ("cycle", "ticket", "start_x", "start_y", "start_z")),
            "stops": columns(self._new("stops", log.stops), ("cycle", "place", "stop")),
        }

    def _new(self, kind: str, rows: Sequence[Any]) -> Sequence[Any]:
        """Return what was appended since the last time."""
        first, self._taken[kind] = self._taken[kind], len(rows)
        return rows[first:]

    def _start(self, each: Handed) -> tuple[int, ...]:
        x, y, _ = self._host.launches[each.ticket - 1].grid
        across, start_x = divmod(each.next_block, x)
        start_z, start_y = divmod(across, y)
        return each.cycle, each.ticket, start_x, start_y, start_z
