"""The engine: which event is picked, and how long it is served (6)."""

from collections.abc import Callable, Mapping

from warploom_golden.launch.queue_parts.events import Event, Service
from warploom_golden.launch.queue_parts.parts import Parts

#: Steps behind the pick; an ACCEPT with a pair, and a LOOK, take `launch_waits` more.
STEPS = {
    Event.ACCEPT: 2,
    Event.END: 3,
    Event.COMMAND: 2,
    Event.ABORT: 3,
    Event.LATE: 3,
    Event.LOOK: 4,
    Event.PREEMPT: 2,
}
ACCEPT_WITH_PAIR = 3
#: In their last step the next event is picked.
OVERLAPPED = (Event.ACCEPT, Event.COMMAND, Event.LATE)
#: Events that may make a record: the writer may not be busy so many cycles behind their pick.
WRITES_IN = {Event.END: 4, Event.ABORT: 0, Event.PREEMPT: 0}


class Engine:
    """Serves one event after the other.

    Attributes
    ----------
    serving : Service or None
        The event that is served.
    """

    def __init__(self) -> None:
        self.serving: Service | None = None

    def finishing(self, cycle: int) -> Service | None:
        """Return the event whose last step a cycle is."""
        serving = self.serving
        return serving if serving is not None and serving.last == cycle else None

    def pick(self, parts: Parts, inputs: Mapping[str, int]) -> Event | None:
        """Return the event that is picked in this cycle."""
        cycle, last = parts.cycle, self.finishing(parts.cycle)
        free = self.serving is None or (last is not None and last.event in OVERLAPPED)
        if not free or cycle < parts.entries.boot:
            return None
        event = _wanted(parts, inputs, None if last is None else last.event)
        return event if event is not None and _is_possible(parts, event) else None

    def begin(self, parts: Parts, event: Event, inputs: Mapping[str, int]) -> None:
        """Begin to serve an event that is picked in this cycle."""
        cycle = parts.cycle
        service = Service(
            event,
            stream=None,
            picked=cycle,
            last=cycle + STEPS[event],
            closed=bool(inputs["soft_reset_active"]),
            no_sm=bool(inputs["no_sm"]),
        )
        _BEGIN[event](parts, service, inputs)
        self.serving = service

    def go_on(self, parts: Parts, inputs: Mapping[str, int]) -> None:
        """Look at what is seen two and three cycles behind the pick."""
        service, cycle = self.serving, parts.cycle
        if service is None:
            return
        if cycle == service.picked + 2:
            service.first_offer = inputs["ended_first"]
            if service.stream is not None:
                service.preparing = parts.is_preparing(service.stream)
                service.resident = parts.is_resident(service.stream)
        if cycle == service.picked + 3:
            service.cycles = inputs["ended_cycles"]


def _wanted(parts: Parts, inputs: Mapping[str, int], finishing: Event | None) -> Event | None:
    """Return the first event that is wanted; ``finishing`` has its last step."""
    if parts.inbox.launch is not None and not parts.walk.on and finishing is not Event.ACCEPT:
        return Event.ACCEPT
    if inputs["ended__valid"]:
        return Event.END
    if (inputs["clear_stream__valid"] or parts.walk.wants) and finishing is not Event.COMMAND:
        return Event.COMMAND
    if parts.search.hit is not None:
        return Event.ABORT
    if parts.times.wanted is not None:
        return Event.LATE
    if parts.looks.chosen is not None:
        return Event.LOOK
    return Event.PREEMPT if parts.preempts.due else None


def _is_possible(parts: Parts, event: Event) -> bool:
    """Return whether an event can be served that is picked in this cycle."""
    if event is Event.ABORT and parts.search.given_back:
        return False
    if event in WRITES_IN:
        return not parts.writer.busy(parts.cycle + WRITES_IN[event])
    return True


def _begin_accept(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    del inputs
    launch = parts.inbox.launch
    assert launch is not None
    service.launch, service.stream = launch, launch.stream
    if launch.valid_pairs(parts.config.launch_waits):
        service.last = service.picked + ACCEPT_WITH_PAIR + parts.config.launch_waits


def _begin_end(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    end = parts.packets.ended.unpack(inputs["ended__payload"])
    stream = service.stream = end["stream"]
    assert parts.is_resident(stream), "an end comes, and its stream has no resident"
    service.fate, service.code = end["fate"], end["code"]
    service.begun = bool(inputs["begun"] >> stream & 1)
    service.held_begun = parts.residences[stream].held_begun


def _begin_command(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    service.clears = bool(inputs["clear_stream__valid"])
    cleared = inputs["clear_stream__payload"]
    service.stream = cleared if service.clears else parts.walk.stream


def _begin_abort(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    del inputs
    service.launch = parts.search.hit
    assert service.launch is not None
    service.stream = service.launch.stream
    parts.search.serve(service.last)


def _begin_late(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    del inputs
    service.stream = parts.times.wanted


def _begin_look(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    del inputs
    service.stream = parts.looks.chosen
    service.last += parts.config.launch_waits


def _begin_preempt(parts: Parts, service: Service, inputs: Mapping[str, int]) -> None:
    del service, inputs
    parts.preempts.pick()


_BEGIN: dict[Event, Callable[[Parts, Service, Mapping[str, int]], None]] = {
    Event.ACCEPT: _begin_accept,
    Event.END: _begin_end,
    Event.COMMAND: _begin_command,
    Event.ABORT: _begin_abort,
    Event.LATE: _begin_late,
    Event.LOOK: _begin_look,
    Event.PREEMPT: _begin_preempt,
}
