"""The event model's run: launches in by way of `EventFront`, what happens to their blocks out."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from warploom_golden.replay.block_length import block_lengths, grid_places
from warploom_golden.replay.event_front import EventFront, Waiting
from warploom_golden.replay.event_machine import (
    FIRST_FIT,
    FREED_FIRST,
    LEAST_LOADED,
    LENGTH,
    NEVER,
    NONE,
    ROUND_ROBIN,
    SLOT_BITS,
    SM_BITS,
    advance,
)
from warploom_golden.replay.event_state import Integers, Place, Rules, State, record
from warploom_spec import RESOURCES, Config, LaunchDescriptor, capacities, timing

POLICIES: Final = {
    "first_fit": FIRST_FIT,
    "round_robin": ROUND_ROBIN,
    "least_loaded": LEAST_LOADED,
    "freed_first": FREED_FIRST,
}


def initial_state(config: Config) -> State:
    """Return the state after reset."""
    fields = np.zeros(1, record(State))
    sms = fields["sms"][0, : config.sms]
    sms["room"] = 1
    sms["free"] = tuple(capacities(config).values())
    fields["fifo"][0, :, : config.block_slots] = range(config.block_slots)
    fields["places"]["load"] = NEVER
    fields["due"] = NEVER << SLOT_BITS
    fields["calendar"] = NEVER << SM_BITS
    state: State = fields.view(np.recarray)[0]
    _set_rules(state.rules, config)
    state.head, state.known, state.rooms = NONE, NEVER, config.sms
    state.last, state.last_cycle = NONE, -NEVER
    return state


def _set_rules(rules: Rules, config: Config) -> None:
    rules.sms, rules.block_slots = config.sms, config.block_slots
    rules.policy = POLICIES[config.policy]
    rules.in_order = config.reclaim == "in_order"
    latencies = timing(config)
    for name in ("stage", "fit_table", "offer", "returns", "end"):
        setattr(rules, name, getattr(latencies, name))


class EventDispatch:
    """The dispatcher with its SMs, driven by an `EventFront`.

    Parameters
    ----------
    launches : sequence of LaunchDescriptor
        In the order in which they are sent.
    config : Config
        Policy, reclaim policy, SMs.
    seed : int
        Seed of the block lengths.

    Attributes
    ----------
    front : EventFront
        Answers and decisions.
    words : list of tuple
        (cycle, place, ticket, launch number) of each launch that became resident.
    ended : list of tuple
        (cycle, ticket, cycles from first offer to last report).
    """

    def __init__(self, launches: Sequence[LaunchDescriptor], config: Config, seed: int):
        self._launches = launches
        self._config = config
        self._seed = seed
        self._resident: list[Waiting | None] = [None, None]
        self.front = EventFront(launches, config)
        self._blocks = 0
        self._state = initial_state(config)
        blocks = self.front.most_blocks
        self._offers = np.zeros((4, blocks), np.int64)
        self._reports = np.zeros((3, blocks), np.int64)
        self.words: list[tuple[int, int, int, int]] = []
        self.ended: list[tuple[int, int, int]] = []

    @property
    def offers(self) -> Integers:
        """All offers, in order of decision."""
        return self._offers[:LENGTH, : self._state.decided]

    @property
    def reports(self) -> Integers:
        """All reports, in order of cycle and SM."""
        return self._reports[:, : self._state.sent]

    @property
    def stalls(self) -> dict[str, int]:
        """Stalled cycles by cause: each of ``warploom_spec.STALL_CAUSES``."""
        state = self._state
        by_resource = zip(RESOURCES, state.stalls.tolist(), strict=True)
        others = {"order": int(state.stall_order), "offer": int(state.stall_offer)}
        return dict(by_resource) | others

    def run(self) -> None:
        """Run from reset until every launch was answered and has ended.

        Raises
        ------
        RuntimeError
            If nothing can happen any more although launches wait.
        """
        cycle, blocks = 0, (self._offers, self._reports)
        while cycle < NEVER:
            if self.front.wake <= cycle:
                self._hand_over(cycle)
            cycle, ended = advance(self._state, *blocks, cycle, self.front.wake)
            if ended != NONE:
                self._end(ended, cycle - 1)
        if any(self._resident) or not self.front.drained:
            raise RuntimeError("the event model stands still while launches wait")

    def _hand_over(self, cycle: int) -> None:
        """Step the front; the launch that it hands over occupies the lowest free place."""
        number = 1 if self._resident[0] else 0
        waiting = self.front.step(cycle, self._resident[number] is None)
        if waiting is None:
            return
        launch = self._launches[waiting.number]
        place = self._state.places[number]
        place.occupied = True
        place.since = cycle
        place.stream = launch.stream
        place.awaits = launch.stream if launch.after_previous else NONE
        self._set_need(place, waiting.warps, launch)
        place.end = self._add_lengths(launch)
        place.walking = False
        place.out = 0
        place.started, place.last_report, place.load = NEVER, -1, NEVER
        self._state.older = 1 - number if self._resident[1 - number] else number
        self._resident[number] = waiting
        self.words.append((cycle + 1, number, waiting.ticket, waiting.number))

    def _set_need(self, place: Place, warps: int, launch: LaunchDescriptor) -> None:
        """Note what a launch's blocks take, how many fit on an SM, and what then is short."""
        registers = warps * launch.warp_registers
        place.need[:] = need = (1, warps, registers, launch.shared, launch.barriers)
        pairs = list(zip(capacities(self._config).values(), need, strict=True))
        place.most = min(size // one for size, one in pairs if one)
        place.limiting[:] = [(place.most + 1) * one > size for size, one in pairs]

    def _add_lengths(self, launch: LaunchDescriptor) -> int:
        """Note the lengths of a launch's blocks; return how many blocks that makes in all."""
        lengths = block_lengths(
            self._seed, launch.code, launch.arguments, *grid_places(launch.grid)
        )
        first, self._blocks = self._blocks, self._blocks + len(lengths)
        self._offers[LENGTH, first : self._blocks] = lengths
        return self._blocks

    def _end(self, number: int, loaded: int) -> None:
        """Take note that the end of the launch in a place was loaded in a cycle."""
        place, waiting = self._state.places[number], self._resident[number]
        assert waiting is not None
        first_offer = place.started + self._state.rules.offer
        self.ended.append((loaded + 2, waiting.ticket, int(place.last_report - first_offer)))
        self.front.end(loaded, waiting.entries)
        self._resident[number] = None
