"""Cycle model of BlockDispatcher: places blocks on SMs."""

from collections import deque
from collections.abc import Mapping

from warploom_golden.dispatch.grid_walker import Walk
from warploom_golden.dispatch.place import Need, Place, Stop
from warploom_golden.dispatch.placement.placement import FreedFirst, policy
from warploom_golden.dispatch.reclaim import reclaim
from warploom_golden.dispatch.signals import Error, Signals, kill_mask, lose, send_kill
from warploom_golden.dispatch.sm.sm import Block, Sm
from warploom_spec import layouts
from warploom_spec.config import Config
from warploom_spec.errors import ErrorCode
from warploom_spec.timing import timing

#: Causes of a stall in the order of their counters.
CAUSES = ("order", "slots", "warps", "registers", "shared", "barriers", "offer")


class BlockDispatcher:
    """Cycle model of BlockDispatcher.

    Ports and rules: ``docs/dispatch/block_dispatcher.md``. All outputs depend on registers alone;
    within `tick` everything is judged on the state before anything of it changes.

    Parameters
    ----------
    config : Config
        SMs, policies, widths, time-outs.
    """

    def __init__(self, config: Config):
        self._config = config
        self._timing = timing(config)
        assert self._timing.offer == 1, "this model offers in the cycle after the decision"
        self._launch = layouts.dispatch_launch(config)
        self._words_packet = layouts.launch_words(config)
        self._offer = layouts.block_offer(config)
        self._mask = layouts.slot_mask(config)
        self._end_packet = layouts.dispatch_end(config)
        self._stop_packet = layouts.launch_stop(config)
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
        self._signals = Signals(config)
        self._places: list[Place] = []  # the older first
        self._head: Place | None = None
        self._walk: Walk | None = None
        self._decided: Block | None = None
        self._last: Block | None = None  # decided in the cycle before
        # Loses a block in this cycle that was decided in the cycle of its SM's loss.
        self._loses: Place | None = None
        # What stopped in each of the last cycles, and how: None for nobody, the oldest first.
        self._stops: deque[tuple[Place | None, Stop] | None] = deque(
            None for _ in range(self._timing.stop - 1)
        )
        self._words = [0, 0]
        self._ended: int | None = None
        self._counters = [0] * len(CAUSES)
        self._increments: deque[list[int]] = deque()
        self._error = 0
        self._error_count = 0

    @property
    def lost(self) -> int:
        """Mask of the SMs that are lost."""
        return sum(1 << sm.number for sm in self._sms if sm.lost)

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        values: dict[str, int | None] = {
            "launch__ready": int(len(self._places) < 2),
            "ended__valid": int(self._ended is not None),
            "ended__payload": self._ended,
            "stop__ready": 1,
            "lost": self.lost,
            "words__0": self._words[0],
            "words__1": self._words[1],
            "error": self._error,
            "error_count": self._error_count,
        }
        for cause, count in zip(CAUSES, self._counters, strict=True):
            values[f"stall_{cause}"] = count
        if isinstance(self._policy, FreedFirst):
            values["order_table__ready"] = 1
        for n, sm in enumerate(self._sms):
            values[f"offer__{n}__valid"] = int(sm.standing is not None)
            values[f"offer__{n}__payload"] = sm.standing.offer if sm.standing else None
            values[f"completion__{n}__ready"] = 1
            values[f"kill__{n}"] = self._mask.pack({"valid": 1, "mask": sm.kill}) if sm.kill else 0
        return values

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        places, head = self._places, self._head
        errors: list[Error] = []
        # Judged on the state:
        chosen = self._decide(inputs)
        flushes = head is not None and bool(head.stop)
        given, held_by_order = self._next_to_walk(chosen is not None)
        self._count_stalls(inputs, chosen, held_by_order)
        loaded = self._find_end(inputs)
        resident = any(place.started for place in places)
        free = min({0, 1} - {place.number for place in places}, default=None)
        killing = any(place.stop is Stop.KILL for place in places)
        killed = [p for p in places if p.stop is Stop.KILL and p.kill_since < self._cycle]
        unseen = [sm.look(killing, sm is chosen) for sm in self._sms]
        none_left = all(sm.lost for sm in self._sms)
        self._reclaim.tick()
        # Changed at the end of the cycle:
        self._place_head(chosen, flushes, given)
        self._policy.tick(resident, self._process(killed, errors))
        if self._loses is not None:
            self._loses.lose(self._cycle)
        self._loses = self._move_offers(inputs)
        if none_left:
            self._give_up()
        self._stop(inputs, errors)
        if isinstance(self._policy, FreedFirst) and inputs["order_table__valid"]:
            self._swap(inputs["order_table__payload"], resident, errors)
        self._load(inputs, loaded)
        if inputs["launch__valid"] and free is not None:
            self._accept(inputs["launch__payload"], free)
        self._record(errors)
        self._signals.register(inputs)
        for sm, hidden in zip(self._sms, unseen, strict=True):
            sm.enabled = bool(inputs["enable"] >> sm.number & 1)
            sm.unseen = hidden
        self._cycle += 1

    def _decide(self, inputs: Mapping[str, int]) -> Sm | None:
        """Return the SM that the head is decided for."""
        head = self._head
        if head is None or head.stop:
            return None
        eligible = [
            sm.in_use and self._port_free(sm, inputs) and self._has_room(sm, head)
            for sm in self._sms
        ]
        if True not in eligible:
            return None
        return self._sms[self._policy.choose(eligible, self._sms)]

    def _fit_known(self, sm: Sm, head: Place) -> bool:
        """Tell whether it is known how many of the head's blocks fit on an SM."""
        last = self._last
        if self._cycle >= head.transferred + self._timing.fit_table:
            return last is None or last.sm is not sm or last.place is head
        return all(block.place is head for block in sm.held())

    def _has_room(self, sm: Sm, head: Place) -> bool:
        return sm.has_room(head.need) and self._fit_known(sm, head)

    def _lacks(self, sm: Sm, head: Place) -> tuple[bool, bool, bool, bool, bool]:
        """Tell for each resource whether an SM is known to lack it."""
        lacks = sm.lacks(head.need)
        return lacks if self._fit_known(sm, head) else (lacks[0], False, False, False, False)

    def _port_free(self, sm: Sm, inputs: Mapping[str, int]) -> bool:
        return sm.standing is None or bool(inputs[self._ready_ports[sm.number]])

    def _next_to_walk(self, decided: bool) -> tuple[Place | None, bool]:
        """Return the place to give to the walker, and whether stream order alone holds one back."""
        last = decided and self._walk is not None and self._walk.last
        if self._head is not None and not last:
            return None, False
        for age, place in enumerate(self._places):
            if place.walking or place.stop:
                continue
            if self._cycle < place.transferred + self._timing.stage:
                continue
            older = self._places[0] if age else None
            if older is not None:
                if not (older.exhausted or older.stop or (last and older is self._head)):
                    return None, False
                same = older.launch["stream"] == place.launch["stream"]
                if same and place.launch["after_previous"]:
                    return None, True
            return place, False
        return None, False

    def _count_stalls(
        self, inputs: Mapping[str, int], chosen: Sm | None, held_by_order: bool
    ) -> None:
        """Count this cycle's causes; the counters show them ``timing.stall`` cycles later."""
        head = self._head
        counts = [0] * len(CAUSES)
        counts[0] = int(held_by_order and head is None)
        if head is not None and not head.stop and chosen is None:
            used = [sm for sm in self._sms if sm.in_use]
            lacking = [self._lacks(sm, head) for sm in used]
            for resource in range(5):
                counts[1 + resource] = int(any(lacks[resource] for lacks in lacking))
            counts[6] = int(any(self._has_room(sm, head) for sm in used))
        self._increments.append(counts)
        if len(self._increments) == self._timing.stall:
            wrap = 1 << self._timing.stall_counter_bits
            shown = self._increments.popleft()
            self._counters = [
                (total + one) % wrap for total, one in zip(self._counters, shown, strict=True)
            ]

    def _find_end(self, inputs: Mapping[str, int]) -> tuple[Place, int] | None:
        """Return the place whose end is loaded in this cycle, and its record."""
        for place in self._places:
            ended = place.exhausted or (place.stop and place is not self._head)
            if place.gone_since is None and not place.out and ended:
                place.gone_since = self._cycle
        if self._ended is not None and not inputs["ended__ready"]:
            return None
        for place in self._places:
            since = place.gone_since
            if since is not None and self._cycle >= since + self._timing.end - 1:
                return place, self._end_packet.pack(place.record())
        return None

    def _process(self, killed: list[Place], errors: list[Error]) -> list[tuple[int, int]]:
        """Process signals and send kills; return SM and number of slots that become free.

        A kill names what runs, judged on the state, for a launch in ``killed``: those that were
        being killed in the cycle before already.
        """
        before = [(sm, sm.free_slots) for sm in self._sms if not sm.lost]
        silent = [sm for sm, _ in before if not sm.outstanding] if killed else []
        kills = [(sm, kill_mask(sm, killed)) for sm in silent]
        self._signals.process(self._cycle, self._sms, self._reclaim, errors)
        for sm in self._sms:
            sm.kill = 0
        for sm, named in kills:
            send_kill(sm, named, self._cycle)
        freed = ((sm.number, (sm.free_slots & ~was_free).bit_count()) for sm, was_free in before)
        return [(number, slots) for number, slots in freed if slots]

    def _place_head(self, chosen: Sm | None, flushes: bool, given: Place | None) -> None:
        """Place the head where it was decided or flush it, and move the walker."""
        head, walk = self._head, self._walk
        if head is not None and walk is not None:
            if chosen is not None:
                self._place_block(chosen, head, walk)
                self._walk = walk.following()
                head.exhausted = walk.last
            elif flushes:
                head.next_block = walk.block
                self._walk = None
            if self._walk is None:
                self._head = None
        if given is not None:
            given.walking = True
            self._head, self._walk = given, Walk(given.grid, given.start)

    def _place_block(self, sm: Sm, place: Place, walk: Walk) -> None:
        block = sm.take(place)
        self._decided = block
        self._reclaim.decided(block)
        if not place.started:
            place.started = True
            place.first_offer = self._cycle + self._timing.offer
        place.out += 1
        launch = place.launch
        bx, by, bz = walk.block
        block.offer = self._offer.pack(
            {
                "place": place.number,
                "slot": block.slot,
                "bx": bx,
                "by": by,
                "bz": bz,
                "task": 0,
                "index_address": launch["index_address"],
                "index_warps": launch["warps"],
                "width_x": launch["width_x"],
                "width_y": launch["width_y"],
                "width_z": launch["width_z"],
            }
        )

    def _move_offers(self, inputs: Mapping[str, int]) -> Place | None:
        """Let taken offers run, lose silent SMs, and show the decided block's offer.

        Returns the place that loses the decided block in the next cycle.
        """
        loses = None
        for sm in self._sms:
            standing = sm.standing
            refused = standing is not None and not inputs[self._ready_ports[sm.number]]
            if standing is not None and not refused:
                standing.running = not standing.done
                standing.running_from = self._cycle + 1
                sm.standing = None
            if self._signals.is_overdue(sm, refused, self._cycle):
                loses = lose(sm, self._cycle, self._decided) or loses
        if self._decided is not None:
            self._decided.sm.standing = self._decided
        self._last, self._decided = self._decided, None
        return loses

    def _give_up(self) -> None:
        """End the launches that no SM is left for."""
        for place in self._places:
            if not place.exhausted:
                place.no_sm = True
                place.end_with(Stop.DRAIN, self._cycle)

    def _stop(self, inputs: Mapping[str, int], errors: list[Error]) -> None:
        """Let the stop from ``timing.stop`` - 1 cycles before act; see whom the next one means."""
        self._stops.append(self._whom(inputs))
        stop = self._stops.popleft()
        if stop is None:
            return
        place, how = stop
        if place is None:
            errors.append((ErrorCode.STOP_UNKNOWN, 0))
        else:
            place.end_with(how, self._cycle)

    def _whom(self, inputs: Mapping[str, int]) -> tuple[Place | None, Stop] | None:
        """Return the place, if any, that the stop at the port means, and how it ends."""
        if not inputs["stop__valid"]:
            return None
        fields = self._stop_packet.unpack(inputs["stop__payload"])
        means = (p for p in self._places if p.launch["ticket"] == fields["ticket"])
        return next(means, None), Stop.DRAIN if fields["drain"] else Stop.KILL

    def _swap(self, payload: int, resident: bool, errors: list[Error]) -> None:
        """Swap two positions of the order table, which this cycle's decision has used already."""
        assert isinstance(self._policy, FreedFirst)
        fields = self._swap_packet.unpack(payload)
        positions = fields["first"], fields["second"]
        bad = [position for position in positions if position >= self._config.sms]
        if bad:
            errors.append((ErrorCode.ORDER_RANGE, bad[0]))
        elif resident:
            errors.append((ErrorCode.ORDER_BUSY, 0))
        else:
            self._policy.swap(*positions)

    def _load(self, inputs: Mapping[str, int], loaded: tuple[Place, int] | None) -> None:
        if inputs["ended__ready"]:
            self._ended = None
        if loaded is not None:
            place, self._ended = loaded
            self._places.remove(place)

    def _accept(self, payload: int, number: int) -> None:
        """Let a launch occupy a place."""
        launch = self._launch.unpack(payload)
        need = Need(launch["warps"], launch["registers"], launch["shared"], launch["barriers"])
        self._places.append(Place(number, launch, need, self._cycle))
        self._words[number] = self._words_packet.pack(
            {field.name: launch[field.name] for field in self._words_packet.fields}
        )

    def _record(self, errors: list[Error]) -> None:
        """Show the lowest code of this cycle, then the lowest SM, in the next one."""
        self._error = 0
        if errors:
            code, argument = min(errors)
            self._error = self._error_packet.pack({"valid": 1, "code": code, "argument": argument})
            highest = (1 << self._timing.error_counter_bits) - 1
            self._error_count = min(self._error_count + 1, highest)
