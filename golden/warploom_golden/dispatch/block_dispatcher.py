"""Cycle model of BlockDispatcher: places blocks on SMs."""

from collections import defaultdict, deque
from collections.abc import Mapping

from warploom_golden.dispatch.calendar import Calendar
from warploom_golden.dispatch.grid_walker import Walk
from warploom_golden.dispatch.place import Need, Place
from warploom_golden.dispatch.placement import policy
from warploom_golden.dispatch.reclaim import reclaim
from warploom_golden.dispatch.reports import Error, Reports
from warploom_golden.dispatch.sm.sm import Block, Sm
from warploom_golden.dispatch.yielding import (
    fit_is_known_from,
    is_held_by_order,
    next_waiting,
    outranked,
)
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode, Stop
from warploom_spec.layouts import PLACES
from warploom_spec.queue_packets import STOP_SKIP
from warploom_spec.resources import RESOURCES, STALL_CAUSES
from warploom_spec.timing import timing


class BlockDispatcher:
    """Cycle model of BlockDispatcher.

    Ports and rules: ``docs/dispatch/block_dispatcher.md``. Numbers in comments are the page's
    rules.

    Parameters
    ----------
    config : Config
        Number and size of SMs, policies, time-out, widths.
    preempts : bool, optional
        Whether launches yield and are skipped (49 to 60).
    first_number : int, optional
        Number of each launch's first block, for tests of the wrap; without effect with `preempts`.
    """

    def __init__(self, config: Config, *, preempts: bool = False, first_number: int = 0):
        self._config = config
        self._preempts = preempts
        self._first_number = first_number
        self._timing = timing(config)
        self._launch = layouts.dispatch_launch(config)
        self._words_packet = layouts.launch_words(config)
        self._offer = layouts.block_offer(config)
        self._end = layouts.dispatch_end(config)
        self._stop_packet = layouts.dispatch_stop(config)
        self._swap_packet = layouts.order_swap(config)
        self._error_packet = layouts.error_record(config)
        self._ready_ports = [f"offer__{n}__ready" for n in range(config.sms)]
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        config = self._config
        self._cycle = 0
        self._sms = [Sm(number, config) for number in range(config.sms)]
        self._policy = policy(config)
        self._reclaim = reclaim(config)
        self._reports = Reports(config)
        self._calendar = Calendar()
        self._places: list[Place] = []  # the older first
        # The place that is walked, and the first cycle in which its next block is the head.
        self._head: Place | None = None
        self._head_since = 0
        # The candidate of the cycle before, and whether it was held by order.
        self._candidate: tuple[Place | None, bool] = (None, False)
        self._words: list[int | None] = [None] * PLACES  # until a place is occupied (3)
        self._started = self._yields = 0  # masks of places (50, 52)
        self._ended: int | None = None
        self._ended_number = 0
        self._freed: list[int] = []  # SMs whose slots become free at the end of this cycle
        self._counters = dict.fromkeys(STALL_CAUSES, 0)
        self._stalls: deque[set[str]] = deque(set() for _ in range(self._timing.stall - 1))
        # Errors by the cycle in which their cause stood at a port.
        self._errors: defaultdict[int, list[Error]] = defaultdict(list)
        self._error = 0
        self._error_count = 0

    def restart(self) -> None:
        """Take the values of a reset, but for the SMs that are lost."""
        lost = self.lost
        self.reset()
        for sm in self._sms:
            sm.lost = bool(lost >> sm.number & 1)

    @property
    def lost(self) -> int:
        """Mask of the SMs that are lost."""
        return sum(1 << sm.number for sm in self._sms if sm.lost)

    @property
    def kill(self) -> int:
        """Mask of the places whose launches are being killed."""
        return sum(1 << place.number for place in self._places if place.stop is Stop.KILL)

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        values: dict[str, int | None] = {
            "launch__ready": int(self._free_place() is not None),
            "ended__valid": int(self._ended is not None),
            "ended__payload": self._ended,
            "lost": self.lost,
            "kill": self.kill,
            "error": self._error,
            "error_count": self._error_count,
        }
        if self._preempts:
            values |= {"started": self._started, "yields": self._yields}
            values["ended_number"] = None if self._ended is None else self._ended_number
        values |= {f"words__{place}": words for place, words in enumerate(self._words)}
        values |= {f"stall_{cause}": count for cause, count in self._counters.items()}
        if self._config.has_order_table:
            values["order_table__ready"] = 1
        for n, sm in enumerate(self._sms):
            values[f"offer__{n}__valid"] = int(sm.standing is not None)
            values[f"offer__{n}__payload"] = sm.standing.offer if sm.standing else None
            values[f"report__{n}__ready"] = 1
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        cycle = self._cycle
        # Judged on the state:
        free, resident = self._free_place(), any(place.started for place in self._places)
        none_left = all(sm.lost for sm in self._sms)
        verdicts = {place: place.judge() for place in self._places}
        chosen = self._decide()
        occupied, lower = list(self._places), outranked(self._places)
        yielding = [place for place in lower if not place.stop and not place.exhausted]
        given, candidate = self._next_to_walk(lower)
        self._count_stalls(chosen, candidate)
        ending = self._find_end(inputs)
        silent = [sm for sm in self._sms if not sm.lost and self._is_silent(sm)]
        self._return_blocks(self._look_up())
        # Changed at the end of the cycle:
        self._reports.register(inputs, self.kill, cycle)
        if self._config.has_order_table and inputs["order_table__valid"]:
            self._swap(inputs["order_table__payload"], resident)
        self._move_offers(inputs)
        self._move_head(chosen, given, candidate)
        self._interrupt(lower)
        self._take_stops(inputs)
        self._calendar.end(cycle)
        self._started = sum(1 << place.number for place in occupied if place.started)
        self._yields = sum(1 << place.number for place in yielding)
        self._policy.tick(resident, self._freed)
        self._freed = []
        for sm in silent:
            self._lose(sm)
        if none_left:
            self._end_without_sms()
        self._load(inputs, ending)
        for place, verdict in verdicts.items():
            place.verdict = verdict
        if inputs["launch__valid"] and free is not None:
            self._accept(inputs, free)
        for sm in self._sms:
            sm.enabled = bool(inputs["enable"] >> sm.number & 1)
        self._show_error()
        self._cycle += 1

    # Places and walker

    def _free_place(self) -> int | None:
        """Return the place that a launch gets, if one is taken (1, 2, 3)."""
        if self._cycle < self._timing.boot:
            return None
        return min(set(range(PLACES)) - {place.number for place in self._places}, default=None)

    def _accept(self, inputs: Mapping[str, int], number: int) -> None:
        """Let a launch occupy a place (3, 49)."""
        launch = self._launch.unpack(inputs["launch__payload"])
        first = inputs["launch_number"] if self._preempts else self._first_number
        walk, need = Walk.of(launch, first), Need.of(launch, self._config)
        place = Place(number, launch, need, self._cycle, walk, self._config.sm_kill)
        if self._preempts:
            place.priority = inputs["launch_priority"]
            place.may_yield = bool(inputs["launch_yields"])
        self._places.append(place)
        self._words[number] = self._words_packet.pack(
            {field.name: launch[field.name] for field in self._words_packet.fields}
        )

    def _next_to_walk(self, lower: list[Place]) -> tuple[Place | None, tuple[Place | None, bool]]:
        """Return the place that is given to the walker (8, 54), and this cycle's candidate (7)."""
        place, held = self._candidate
        gives = place is not None and not held and not place.stop and self._head is None
        given = place if gives and place not in lower else None
        candidate = next_waiting(self._places)
        if candidate is None or self._cycle < candidate.transferred + self._timing.stage - 1:
            return given, (None, False)
        return given, (candidate, is_held_by_order(candidate, self._places))

    def _move_head(
        self, chosen: Sm | None, given: Place | None, candidate: tuple[Place | None, bool]
    ) -> None:
        """Place the head, forget it (10), or let the next launch's first block be it (8, 9)."""
        head = self._head
        if head is not None and chosen is not None:
            self._place_block(head, chosen)
            if head.walk is None:
                self._head = None
        elif head is not None and head.was_stopped_in(self._cycle - 2):
            self._head = None
        if given is not None:
            given.given = True
            self._head, self._head_since = given, self._cycle + self._timing.change
        self._candidate = candidate

    def _interrupt(self, lower: list[Place]) -> None:
        """Let the walked place wait again if it was outranked in this cycle (55)."""
        head = self._head
        if head is not None and head.given and head in lower:
            head.given = False
            self._head = None

    # Decision

    def _may_decide(self) -> bool:
        """Tell whether there is a head that may be decided (6, 11, 59)."""
        if self._head is None or self._cycle < self._head_since:
            return False
        return not self._head.was_stopped_in(self._cycle - 1) and not self._head.skipped

    def _decide(self) -> Sm | None:
        """Return the SM that the head is decided for (11, 12)."""
        head = self._head
        if head is None or not self._may_decide():
            return None
        eligible = [
            sm.in_use and self._port_open(sm) and self._has_room(sm, head) for sm in self._sms
        ]
        if not any(eligible):
            return None
        return self._sms[self._policy.choose(eligible, self._sms)]

    def _port_open(self, sm: Sm) -> bool:
        """Tell whether an SM's port is open (14)."""
        return sm.decided not in (self._cycle - 1, self._cycle - 2) and not sm.left_standing

    def _has_room(self, sm: Sm, head: Place) -> bool:
        """Tell whether an SM has room for the head (15, 57)."""
        others = sm.held[1 - head.number]
        if self._head_since == self._cycle and (others or (self._preempts and any(sm.held))):
            return False
        known = not others or self._cycle >= fit_is_known_from(head, self._places, self._timing)
        return known and sm.fits(head)

    def _place_block(self, place: Place, sm: Sm) -> None:
        """Place the head's block on an SM (5, 16, 17)."""
        walk, launch = place.walk, place.launch
        assert walk is not None
        bx, by, bz = walk.block
        slot = sm.free_slots.popleft()
        widths = {name: launch[name] for name in ("width_x", "width_y", "width_z")}
        fields = {"place": place.number, "slot": slot, "bx": bx, "by": by, "bz": bz, "task": 0}
        fields |= {"block_number": walk.number}
        fields |= {"index_address": launch["index_address"], "index_warps": launch["warps"]}
        block = Block(place, sm, slot, self._offer.pack(fields | widths))
        sm.blocks.append(block)
        sm.decided = self._cycle
        if place.first_offer is None:
            place.first_offer = self._cycle + self._timing.offer
        place.out += 1
        place.walk = walk.following()
        last = place.walk is None

        def act() -> None:
            place.started = True
            place.exhausted |= last
            sm.take(block)
            sm.standing = block
            self._reclaim.enter(block)

        self._calendar.at_end_of(self._cycle + 1, act)

    def _move_offers(self, inputs: Mapping[str, int]) -> None:
        """Let taken offers run; note those that are left standing."""
        for sm in self._sms:
            block = sm.standing
            taken = block is not None and bool(inputs[self._ready_ports[sm.number]])
            sm.left_standing = block is not None and not taken
            if block is not None and taken:
                sm.running[block.slot] = block
                sm.standing = None

    # Reports and returns

    def _look_up(self) -> list[Block]:
        """Look up the reports of the cycle before; its errors show later (23 to 25, 45)."""
        cycle = self._cycle
        return self._reports.look_up(cycle, self._sms, self._calendar, self._errors[cycle - 1])

    def _return_blocks(self, reported: list[Block]) -> None:
        """Let blocks return (26, 27)."""
        for returned_in, block in self._reclaim.returned(self._cycle, reported):
            self._return_block(block, returned_in)

    def _return_block(self, block: Block, cycle: int) -> None:
        """Let a block return in ``cycle`` (21a, 26, 35)."""
        sm = block.sm

        def free_slot() -> None:
            if not sm.lost:
                self._freed.append(sm.number)

        returns = cycle + self._timing.returns
        self._calendar.at_end_of(returns - 2, block.leave)
        self._calendar.at_end_of(returns - 2, free_slot)
        self._calendar.at_end_of(returns - 1, lambda: sm.give(block))

    # Stops and losses

    def _take_stops(self, inputs: Mapping[str, int]) -> None:
        """Take in a stop for the launch of each place (28); this cycle's decision counts (58)."""
        stops = self._stop_packet.unpack(inputs["stop"])
        for place in self._places:
            asked = stops[f"place{place.number}"]
            if self._preempts and asked == STOP_SKIP:
                if place.first_offer is None:
                    place.skipped = True
                    self._stop_later(place, Stop.DRAIN)
            elif asked:
                self._stop_later(place, Stop(min(asked, Stop.KILL)))

    def _stop_later(self, place: Place, stop: Stop) -> None:
        from_cycle = self._cycle + self._timing.stop
        self._calendar.at_end_of(from_cycle - 1, lambda: place.stop_from(from_cycle, stop))

    def _is_silent(self, sm: Sm) -> bool:
        """Tell whether an SM is lost at the end of this cycle (31)."""
        timeout = self._config.kill_timeout
        for place in self._places:
            since = place.kill_since
            if since is None or self._cycle != since + timeout + self._timing.loss - 1:
                continue
            if sm.unreported(place, since + timeout):
                return True
        return False

    def _lose(self, sm: Sm) -> None:
        """Take an SM out of use at the end of this cycle (31 to 33)."""
        sm.lost = True
        last_report = self._cycle - 1
        effect = self._cycle + self._timing.loss_kill

        def no_block_is_out() -> None:
            for block in sm.blocks:
                block.leave()

        def fail_launches() -> None:
            for block in sm.unreported(None, last_report):
                block.place.sm_lost = True
                block.place.stop_from(effect + 1, Stop.KILL)

        self._calendar.at_end_of(effect - 1, no_block_is_out)
        self._calendar.at_end_of(effect, fail_launches)

    def _end_without_sms(self) -> None:
        """End the launches that no SM is left for (34)."""
        for place in self._places:
            if not place.exhausted:
                place.no_sm = True
                place.stop_from(self._cycle + 1, Stop.DRAIN)

    # Ends

    def _find_end(self, inputs: Mapping[str, int]) -> Place | None:
        """Return the place whose record is loaded in this cycle (36)."""
        for place in self._places:
            over = place.exhausted or (place.stop and place is not self._head)
            if place.gone_since is None and not place.out and over:
                place.gone_since = self._cycle
        if self._ended is not None and not inputs["ended__ready"]:
            return None
        for place in self._places:
            since = place.gone_since
            if since is not None and self._cycle >= since + self._timing.end - 1:
                return place
        return None

    def _load(self, inputs: Mapping[str, int], ending: Place | None) -> None:
        """Move the record's register, and free the place (36 to 39, 49)."""
        if inputs["ended__ready"]:
            self._ended = None
        if ending is not None:
            self._ended = self._end.pack(ending.record())
            self._ended_number = ending.next_number
            self._places.remove(ending)

    # Counters and errors

    def _count_stalls(self, chosen: Sm | None, candidate: tuple[Place | None, bool]) -> None:
        """Note this cycle's causes; the counters show them ``timing.stall`` cycles later (44)."""
        self._stalls.append(self._causes(chosen, candidate))
        for cause in self._stalls.popleft():
            wrap = 1 << self._timing.stall_counter_bits
            self._counters[cause] = (self._counters[cause] + 1) % wrap

    def _causes(self, chosen: Sm | None, candidate: tuple[Place | None, bool]) -> set[str]:
        """Return why no block is decided in this cycle (40 to 43)."""
        head = self._head
        if head is None:
            return {"order"} if candidate[1] else set()
        if chosen is not None or not self._may_decide():
            return set()
        causes = set()
        room = [self._has_room(sm, head) for sm in self._sms if sm.in_use]
        if any(room):
            causes.add("offer")
        # The launch's own limit is counted block by block, from its transfer on.
        if not all(room) and self._cycle >= head.transferred + head.need.most + 3:
            limiting = zip(RESOURCES, head.need.limiting, strict=True)
            causes |= {resource for resource, limits in limiting if limits}
        return causes

    def _swap(self, payload: int, resident: bool) -> None:
        """Swap two positions of the order table, which this cycle's decision has used (22)."""
        fields = self._swap_packet.unpack(payload)
        positions = fields["first"], fields["second"]
        bad = [position for position in positions if position >= self._config.sms]
        if bad:
            self._note_error(ErrorCode.ORDER_RANGE, bad[0])
        elif resident:
            self._note_error(ErrorCode.ORDER_BUSY, 0)
        else:
            self._policy.swap(*positions)

    def _note_error(self, code: ErrorCode, argument: int) -> None:
        """Note an error whose cause stands at a port in this cycle."""
        self._errors[self._cycle].append((code, argument))

    def _show_error(self) -> None:
        """Show the lowest error ``timing.error`` cycles after its cause (45)."""
        self._error = 0
        errors = self._errors.pop(self._cycle + 1 - self._timing.error, None)
        if errors:
            code, argument = min(errors)
            self._error = self._error_packet.pack({"valid": 1, "code": code, "argument": argument})
            highest = (1 << self._timing.error_counter_bits) - 1
            self._error_count = min(self._error_count + 1, highest)
