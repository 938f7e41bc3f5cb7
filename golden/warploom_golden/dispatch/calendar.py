"""What BlockDispatcher's cycle model has to do at the end of later cycles."""

from collections import defaultdict
from collections.abc import Callable

#: Something that changes the model's state.
Action = Callable[[], None]


class Calendar:
    """Actions by the cycle at whose end they are due.

    A page says "at the end of t + 1"; the model says ``at_end_of(t + 1, action)``.
    """

    def __init__(self) -> None:
        self._due: defaultdict[int, list[Action]] = defaultdict(list)

    def at_end_of(self, cycle: int, action: Action) -> None:
        """Note an action for the end of a cycle, the current one or a later one."""
        self._due[cycle].append(action)

    def end(self, cycle: int) -> None:
        """Carry out what is due at the end of this cycle."""
        for action in self._due.pop(cycle, ()):
            action()
