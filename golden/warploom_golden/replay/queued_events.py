"""Event-driven golden model of a replay through QueuedLaunchPath: every event with its cycle."""

from collections.abc import Iterator, Sequence

from warploom_golden.preemption.streams import QueuedModel
from warploom_golden.replay import event_model
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_model import Events, Piece
from warploom_golden.replay.queued_source import ReplaySource, Waits
from warploom_golden.replay.queued_tables import QueuedTables
from warploom_spec import Config, LaunchDescriptor

#: Offers, or reports, of which a piece is made.
PIECE = 1 << 17


def pieces(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    kill_every: int | None = None,
    knee: int | None = None,
    arrivals: Sequence[int] | None = None,
    waits: Waits | None = None,
    *,
    lean: bool = False,
) -> Iterator[Piece]:
    """Replay launches; yield the events in pieces, so that no more than one is held.

    What is yielded is in order, each kind for itself; the last piece ends with `NEVER`. Beside the
    kinds of `event_model.Events` there are ``put_back`` and ``timeline``; ``ended`` has the fields
    of ``final_record``. The column ``ticket`` of ``decisions`` is the model's own: no port has it.

    Parameters
    ----------
    launches, config, seed, kill_every, knee, arrivals, lean
        As for `event_model.pieces`, but launches may have any priority.
    waits : Waits or None
        What launches wait for; None: nothing.

    Raises
    ------
    WarploomError
        If `event_model.check` refuses the configuration.
    RuntimeError
        If nothing can happen any more although launches wait.
    """
    event_model.check(config, kill_every)
    model = QueuedModel(config, seed=seed, knee=knee, drained=PIECE, kill_every=kill_every)
    source = ReplaySource(launches, config, model.dispatcher, waits, arrivals)
    tables = QueuedTables(model, launches, config)

    def piece(until: int) -> Piece:
        stalls = {f"stall_{cause}": n for cause, n in model.dispatcher.stalls.items()}
        return Piece(Events(tables.take_lean() if lean else tables.take(), stalls), until)

    for until in model.pieces(source):
        yield piece(until)
    if not source.is_done:
        raise RuntimeError("the event model stands still while launches wait")
    yield piece(NEVER)


def run(
    launches: Sequence[LaunchDescriptor],
    config: Config,
    seed: int,
    kill_every: int | None = None,
    knee: int | None = None,
    arrivals: Sequence[int] | None = None,
    waits: Waits | None = None,
) -> Events:
    """Replay launches; return all events at once. Parameters and errors are those of `pieces`."""
    given = pieces(launches, config, seed, kill_every, knee, arrivals, waits)
    return event_model.joined([each.events for each in given])
