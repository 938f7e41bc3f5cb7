"""Index configurations of merged launches: one for each shape of a launch's tasks."""

from collections import deque
from collections.abc import Callable, Sequence

from warploom_golden.replay.event_filter import Accepted
from warploom_golden.replay.residents.front import IndexConfig, Indices
from warploom_spec import Config, LaunchDescriptor


class MergedIndices(Indices):
    """Asks for each shape of a launch, one after the other: the queue sees one request.

    The queue's decision is that of the last shape. Launches are in one stream, so they are
    released in the order in which they were decided.

    Parameters
    ----------
    config : Config
        As for `Indices`.
    shapes_of : callable
        Returns the configurations of a launch.
    """

    def __init__(
        self, config: Config, shapes_of: Callable[[LaunchDescriptor], Sequence[IndexConfig]]
    ):
        super().__init__(config)
        self._shapes_of = shapes_of
        # Of the launch in preparation: shapes that were not presented, and history entries.
        self._left: deque[IndexConfig] = deque()
        self._entries: list[int] = []
        # History entries of launches that were decided and not released.
        self._referred: deque[list[int]] = deque()

    def ask(self, cycle: int, launch: LaunchDescriptor) -> None:
        """Let a launch's configurations transfer, the first one in a cycle."""
        self._left = deque(self._shapes_of(launch))
        self._present(cycle, self._left.popleft())

    def decision(self, cycle: int) -> Accepted | None:
        """Return what is decided in this cycle: the launch's last shape.

        The next shape is presented in the cycle after a decision.
        """
        accepted = super().decision(cycle)
        if accepted is None:
            return None
        self._entries.append(accepted.entry)
        if self._left:
            self._present(cycle + 1, self._left.popleft())
            return None
        self._referred.append(self._entries)
        self._entries = []
        return accepted

    def release(self, cycle: int, entry: int) -> None:
        """Give back all that the oldest launch referred to, at the end of a cycle."""
        referred = self._referred.popleft()
        assert referred[-1] == entry, "launches are released in the order of their decisions"
        for one in referred:
            super().release(cycle, one)

    def cancel(self, cycle: int) -> None:
        """Let a cancel be there in a cycle: the launch's other shapes are given back, too."""
        super().cancel(cycle)
        for one in self._entries:
            super().release(cycle, one)
        self._entries = []
        self._left.clear()
