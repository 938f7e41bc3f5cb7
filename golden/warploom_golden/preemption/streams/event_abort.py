"""ABORT by ticket (rules 61 and 62)."""

from warploom_golden.preemption.streams.event_launch import Launch, Where
from warploom_golden.preemption.streams.event_log import Code
from warploom_golden.preemption.streams.event_state import EventState
from warploom_spec import ErrorCode
from warploom_spec.queue import FinalFate, QueueCode


class Abort:
    """Searches for a ticket's launch, and ends it.

    Parameters
    ----------
    state : EventState
        What all parts share.
    """

    def __init__(self, state: EventState):
        self._state = state
        self._ticket: int | None = None
        self._transferred = 0
        self._found: Launch | None = None
        self._answered = False
        self._asked: int | None = None

    @property
    def ready(self) -> bool:
        """Whether no ABORT is being served, and none transfers in this cycle."""
        return self._ticket is None and self._asked is None

    def ask(self, ticket: int) -> None:
        """Let an ABORT transfer in this cycle; ask `ready` first."""
        assert self.ready
        self._asked = ticket

    def acts_on(self) -> Launch | None:
        """Return the launch that is acted on in this cycle."""
        return self._found

    def step(self) -> None:
        """Run one cycle."""
        s = self._state
        if self._asked is not None:
            ticket, self._asked = self._asked, None
            s.later(lambda: self._begin(ticket, s.cycle))
        elif self._found is not None:
            self._act(self._found)
        elif self._ticket is not None:
            self._search(self._ticket)

    def _begin(self, ticket: int, cycle: int) -> None:
        self._ticket, self._transferred, self._answered = ticket, cycle, False

    def _search(self, ticket: int) -> None:
        """Look at the places, then at one entry a cycle."""
        s = self._state
        number = s.cycle - self._transferred - 2
        if number < 0:
            in_places = (each.launch for each in s.residents())
            found = next((each for each in in_places if each.ticket == ticket), None)
        elif number == len(s.entries):
            s.log.aborts.append(Code(s.cycle + 1, QueueCode.TICKET_UNKNOWN))
            s.later(self._finish)
            return
        else:
            entry = s.entries[number]
            found = entry if entry is not None and entry.ticket == ticket else None

        def find() -> None:
            self._found = found

        s.later(find)

    def _finish(self) -> None:
        self._ticket = self._found = None

    def _act(self, launch: Launch) -> None:
        """Act on the launch in this cycle."""
        s = self._state
        gone = s.entries[launch.entry] is not launch or launch.ended_in_list
        if not self._answered:
            code = QueueCode.TICKET_UNKNOWN if gone else ErrorCode.OK
            s.log.aborts.append(Code(s.cycle + 1, code))
            self._answered = True
        if gone or self._ends(launch):
            s.later(self._finish)
        else:
            # It acts in the next cycle, too.
            s.later(lambda: None)

    def _ends(self, launch: Launch) -> bool:
        """Do what rule 62 says; tell whether the ABORT is over."""
        s = self._state
        resident = s.resident_of(launch)
        if resident is not None:
            # At ``ended`` it is aborted in the end register, which has all that the place has.
            s.later(lambda: setattr(resident, "aborted", True))
            return True
        if launch.where in (Where.END, Where.STAGE, Where.LINE):
            return False
        waits = s.looked or s.picked is s.stream_of(launch)
        if waits or s.ending is not None or s.was_ending:
            return False
        s.make_record(launch, FinalFate.ABORTED, ErrorCode.OK)
        if launch.where is Where.SUSPENDED:
            s.end_launch(launch)
        else:
            s.later(lambda: setattr(launch, "ended_in_list", True))
        return True
