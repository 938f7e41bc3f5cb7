"""BlockDispatcher of the event model: from one cycle in which something happens to the next.

What stands here follows ``docs/block_dispatcher.md`` for the environment of a replay: offers are
taken at once, all SMs are in use, no launch is stopped.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warploom_golden.event_front import EventFront, Waiting
from warploom_golden.event_room import RESOURCES, Need, Room, policy
from warploom_golden.event_sms import NEVER, SLOT_BITS, SLOT_MASK, SM_BITS, StandIn, reclaim
from warploom_spec import Config, LaunchDescriptor, timing

#: Stream that a launch waits for when it waits for none.
NO_STREAM = -1


@dataclass
class Place:
    """One of the two resident places, while a launch occupies it.

    Attributes
    ----------
    waiting : Waiting
        The launch.
    number : int
        0 or 1.
    since : int
        Cycle in which it was transferred.
    stream, own_stream : int
        The stream it waits for (`NO_STREAM` if none), and the one it belongs to.
    need : Need
        What one of its blocks takes.
    lengths : list of int
        Cycles that each block holds its slot, by block id.
    decided, out : int
        Blocks placed, and those of them that were not returned.
    started, last_completion : int
        Cycles of its first decision and its last completion.
    walking : bool
        Given to the walker.
    load : int
        First cycle in which its end may be loaded.
    """

    waiting: Waiting
    number: int
    since: int
    stream: int
    own_stream: int
    need: Need
    lengths: list[int]
    decided: int = 0
    out: int = 0
    started: int = NEVER
    last_completion: int = -1
    walking: bool = False
    load: int = NEVER

    @property
    def exhausted(self) -> bool:
        """Whether its last block was decided."""
        return self.decided == len(self.lengths)


class EventDispatch:
    """The dispatcher with its SMs, driven by an `EventFront`.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        Policy, reclaim policy, SMs.
    lengths : callable
        Gives the lengths of a launch's blocks by its number.

    Attributes
    ----------
    offers : list of int
        (cycle << 8 | SM) << 6 | slot of each block in order of decision.
    completions : list of int
        The same of each completion, in order of cycle and SM.
    words : list of tuple
        (cycle, place, ticket, launch number) of each launch that became resident.
    ended : list of tuple
        (cycle, ticket, cycles from first offer to last completion).
    stalls : list of int
        Stalled cycles for each of `RESOURCES`.
    stall_order : int
        Cycles in which stream order alone held a launch.
    """

    def __init__(
        self,
        launches: Sequence[LaunchDescriptor],
        config: Config,
        lengths: Callable[[int], list[int]],
    ):
        self._launches = launches
        self._timing = timing(config)
        self._lengths = lengths
        self._front = EventFront(launches, config)
        self._room = Room(config)
        self._policy = policy(config, self._room)
        self._reclaim = reclaim(config)
        self._sms = StandIn(config.sms)
        self._places: list[Place] = []  # the older first
        self._head: Place | None = None
        self._owner: dict[int, Place] = {}
        # Completed blocks and the cycle in which they are processed, in order of it.
        self._sent: deque[tuple[int, list[int]]] = deque()
        self._held_by_order = False
        self._known = NEVER
        self.offers: list[int] = []
        self.completions: list[int] = []
        self.words: list[tuple[int, int, int, int]] = []
        self.ended: list[tuple[int, int, int]] = []
        self.stalls = [0] * len(RESOURCES)
        self.stall_order = 0

    @property
    def front(self) -> EventFront:
        """Answers and decisions."""
        return self._front

    def run(self) -> None:
        """Run from reset until every launch was answered and has ended.

        Raises
        ------
        RuntimeError
            If nothing can happen any more although launches wait.
        """
        cycle = 0
        while cycle < NEVER:
            busy = self._cycle(cycle)
            following = cycle + 1 if busy else self._next_event(cycle)
            self._count_stalls(cycle, following)
            cycle = following
        if self._places or not self._front.drained:
            raise RuntimeError("the event model stands still while launches wait")

    def _next_event(self, cycle: int) -> int:
        loads = (place.load for place in self._places)
        processed = self._sent[0][0] if self._sent else NEVER
        wakes = (self._front.wake, self._known, processed, NEVER)
        return max(cycle + 1, min(self._sms.next_cycle(), *wakes, *loads))

    def _cycle(self, cycle: int) -> bool:
        """Run one cycle on the state at its start; return whether the next may differ by itself."""
        if self._front.wake <= cycle:
            self._hand_over(cycle)
        if self._known <= cycle:
            self._known = NEVER
            if self._head:
                self._room.fit(self._head.need, known=True)
        resident = any(place.started < cycle for place in self._places)
        busy = self._decide(cycle)
        freed = self._process(cycle)
        # What enters the queue is judged before this cycle's returns are counted.
        busy |= self._policy.tick(resident)
        for sm in freed:
            self._policy.freed(sm)
        self._send(cycle)
        busy |= self._load(cycle)
        return bool(busy or freed or self._reclaim.busy)

    def _send(self, cycle: int) -> None:
        """Let the SMs complete blocks, which are processed later."""
        sent = self._sms.send(cycle)
        if sent:
            self._sent.append((cycle + self._timing.returns - 1, sent))
        for block in sent:
            self.completions.append(cycle << SM_BITS + SLOT_BITS | block)

    def _hand_over(self, cycle: int) -> None:
        waiting = self._front.step(cycle, len(self._places) < 2)
        if waiting is None:
            return
        launch = self._launches[waiting.number]
        number = 1 if any(place.number == 0 for place in self._places) else 0
        self._places.append(
            Place(
                waiting=waiting,
                number=number,
                since=cycle,
                stream=launch.stream if launch.after_previous else NO_STREAM,
                own_stream=launch.stream,
                need=Need(
                    waiting.warps,
                    waiting.warps * launch.warp_registers,
                    launch.shared,
                    launch.barriers,
                ),
                lengths=self._lengths(waiting.number),
            )
        )
        self.words.append((cycle + 1, number, waiting.ticket, waiting.number))

    def _decide(self, cycle: int) -> bool:
        """Place the head if an SM has room; give the walker its next launch."""
        head, room = self._head, self._room.room
        if head is None:
            return self._give(cycle)
        if not room:
            self._stall(1)
            return False
        sm = self._policy.choose(room)
        slot = self._room.take(sm)
        block = sm << SLOT_BITS | slot
        if head.started == NEVER:
            head.started = cycle
        offered = cycle + self._timing.offer
        self._sms.take(sm, slot, offered + head.lengths[head.decided])
        head.decided += 1
        head.out += 1
        self._owner[block] = head
        self._reclaim.decided(block)
        self.offers.append(offered << SM_BITS + SLOT_BITS | block)
        if head.exhausted:
            self._head = None
            self._give(cycle, last=sm)
        return True

    def _give(self, cycle: int, last: int | None = None) -> bool:
        """Give a launch to the walker; return whether one was given or will be by itself.

        ``last``: the SM that got the last block of the one before in this cycle.
        """
        self._held_by_order = False
        for place in self._places:
            if place.walking:
                continue
            if cycle < place.since + self._timing.stage:
                return True
            older = self._places[0]
            if place is not older:
                if not older.exhausted:
                    return False
                if place.stream == older.own_stream:
                    self._held_by_order = True
                    self.stall_order += last is None
                    return False
            place.walking = True
            self._head = place
            self._fit(place, cycle + 1, last)
            return True
        return False

    def _fit(self, place: Place, cycle: int, last: int | None) -> None:
        """Judge the SMs by a launch that is placed from this cycle on."""
        known = place.since + self._timing.fit_table
        self._room.fit(place.need, known=known <= cycle, last=last)
        # Of the SM that got the last block it is known one cycle later.
        self._known = max(known, cycle + 1)

    def _process(self, cycle: int) -> list[int]:
        """Process what completed before; return the SM of each slot that is free again."""
        due = self._sent and self._sent[0][0] == cycle
        if not due and not self._reclaim.busy:
            return []
        completed = self._sent.popleft()[1] if due else []
        for block in completed:
            self._owner[block].last_completion = cycle - (self._timing.returns - 1)
        freed = []
        for block in self._reclaim.processed(completed):
            place, sm = self._owner[block], block >> SLOT_BITS
            earlier = place is not self._head
            self._room.give(sm, block & SLOT_MASK, place.need, earlier=earlier)
            freed.append(sm)
            place.out -= 1
            if not place.out and place.exhausted:
                # Gone from the next cycle on.
                place.load = cycle + self._timing.end
        return freed

    def _load(self, cycle: int) -> bool:
        """Load the end of the older launch that is gone; its place is free in the next cycle."""
        for place in self._places:
            if place.load <= cycle:
                self._places.remove(place)
                first_offer = place.started + self._timing.offer
                lasted = place.last_completion - first_offer
                self.ended.append((cycle + 2, place.waiting.ticket, lasted))
                self._front.end(cycle, place.waiting.entry)
                return True
        return False

    def _stall(self, cycles: int) -> None:
        for resource, lacking in enumerate(self._room.lacking):
            if lacking:
                self.stalls[resource] += cycles

    def _count_stalls(self, cycle: int, following: int) -> None:
        """Count the cycles between two events, in which nothing changes."""
        between = following - cycle - 1
        if not between or following >= NEVER:
            return
        if self._head:
            self._stall(between)
        elif self._held_by_order:
            self.stall_order += between
