"""The choice of the launch that goes next, and the stage (rules 29 to 32)."""

from warploom_golden.preemption.streams.event_launch import InLine, Launch, Where
from warploom_golden.preemption.streams.event_state import EventState
from warploom_golden.preemption.streams.event_streams import Stream
from warploom_spec.queue_packets import HANDED

#: Launches in the line, at most.
LINE = 2


class Choice:
    """Chooses launches into the stage, and moves them to the line.

    Parameters
    ----------
    state : EventState
        What all parts share.

    Attributes
    ----------
    chosen : Launch or None
        The launch that is chosen in this cycle.
    """

    def __init__(self, state: EventState):
        self._state = state
        self._last = len(state.streams) - 1
        self.chosen: Launch | None = None

    def step(self) -> None:
        """Run one cycle."""
        s = self._state
        self.chosen = None
        moves = s.stage is not None and len(s.line) < LINE
        if moves:
            self._move()
        if (s.stage is None or moves) and self._on_the_way() < HANDED:
            self._choose()

    def _move(self) -> None:
        """Move the stage's launch to the line."""
        s, launch = self._state, self._state.stage
        assert launch is not None
        waiting = InLine(launch, s.cycle + 1, prepared=not s.config.makes_indices)

        def move() -> None:
            s.stage = None
            launch.where = Where.LINE
            s.line.append(waiting)

        s.later(move)

    def _on_the_way(self) -> int:
        """Count the launches on the way (rule 29)."""
        s = self._state
        launches = [each.launch for each in s.line if not each.was_out]
        if s.stage is not None:
            launches.append(s.stage)
        launches += [
            each.launch for each in s.residents() if not each.is_started and not each.stopping
        ]
        return sum(not s.view.flag(s.stream_of(each)) for each in launches)

    def _choose(self) -> None:
        """Choose a launch of the highest busy priority (rules 30 and 31)."""
        group = self._group()
        if not group:
            return
        count = len(self._state.streams)
        stream = min(group, key=lambda each: (each.number - self._last - 1) % count)
        self._last = stream.number
        view = self._state.view
        if stream in view.resumable:
            self._take(stream, stream.suspended[0], ahead=False)
        else:
            self._take(stream, stream.items[0], ahead=stream not in view.ready)

    def _group(self) -> list[Stream]:
        """Return the first group of streams that is not empty."""
        view = self._state.view
        for group in (view.resumable, view.ready):
            asked = [each for each in group if each.priority == view.top]
            if asked:
                return asked
        return [each for each in view.ahead if each.priority == view.top and self._alone(each)]

    def _alone(self, stream: Stream) -> bool:
        """Tell whether a stream that is ahead may be chosen (rule 30)."""
        s = self._state
        return not any(s.blocks_ahead(each, stream) for each in s.on_line())

    def _take(self, stream: Stream, launch: Launch, ahead: bool) -> None:
        """Let a chosen launch enter the stage."""
        s = self._state
        self.chosen = launch

        def enter() -> None:
            s.stage = launch
            launch.where, launch.chosen_ahead = Where.STAGE, ahead
            if not launch.started:
                stream.handed = True

        s.later(enter)
