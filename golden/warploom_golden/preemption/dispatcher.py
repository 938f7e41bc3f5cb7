"""The dispatcher as the kernel queue sees it: two places, stops in, ends out."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from warploom_golden.oracles.index_reference import warps
from warploom_golden.preemption.machine import (
    FIRST_FIT,
    LEAST_LOADED,
    NEVER,
    NONE,
    ROUND_ROBIN,
    advance,
)
from warploom_golden.preemption.parameters import SmBehaviour
from warploom_golden.preemption.state import Place, State
from warploom_golden.replay.block_length import block_lengths, grid_places
from warploom_golden.replay.event_state import Integers, record
from warploom_spec import Config, ErrorCode, Fate, LaunchDescriptor, WarploomError, timing
from warploom_spec.queue import Mode

POLICIES: Final = {
    "first_fit": FIRST_FIT,
    "round_robin": ROUND_ROBIN,
    "least_loaded": LEAST_LOADED,
}

LAYOUT: Final = record(State)


@dataclass(frozen=True)
class End:
    """What became of a launch in a place.

    Attributes
    ----------
    place : int
        The place that it left.
    fate : Fate
        As the dispatcher judges it.
    code : ErrorCode
        Why it failed, else ``OK``.
    next_block : int
        The block after the last one that was offered.
    offered : int
        Blocks offered in this residence.
    cycles : int
        From its first offer to its last report; 0 if it did not start.
    held : int
        Sum over the reported blocks of the cycles from offer to report.
    """

    place: int
    fate: Fate
    code: ErrorCode
    next_block: int
    offered: int
    cycles: int
    held: int


class EventDispatcher:
    """Dispatcher and SMs' stand-ins, from one event to the next.

    Parameters
    ----------
    config : Config
        SMs, placement and reclaim policy.
    sm : SmBehaviour
        How the SMs' stand-ins behave.
    seed : int
        Seed of the block lengths.
    log : int
        Offers, and reports, that are written down; later ones are not.

    Raises
    ------
    WarploomError
        If the placement policy is ``freed_first``, which the model does not cover.
    """

    def __init__(self, config: Config, sm: SmBehaviour, seed: int, log: int = 0):
        if config.policy not in POLICIES:
            raise WarploomError(f"policy is {config.policy!r}; legal: {', '.join(POLICIES)}")
        self._config = config
        self._sm = sm
        self._seed = seed
        self._timing = timing(config)
        self._state = initial_state(config, sm)
        self._lengths = np.zeros((2, 1), np.int64)
        self._known: dict[tuple[int, int, tuple[int, int, int]], Integers] = {}
        self._offers = np.zeros((5, log), np.int64)
        self._reports = np.zeros((4, log), np.int64)
        self._handed = 0

    @property
    def offers(self) -> Integers:
        """Log of offers: rows cycle, SM, slot, ticket, block number."""
        return self._offers[:, : self._state.offers]

    @property
    def reports(self) -> Integers:
        """Log of reports: rows cycle, SM, slot, status."""
        return self._reports[:, : self._state.reports]

    @property
    def ignored(self) -> int:
        """Reports of lost SMs."""
        return int(self._state.ignored)

    @property
    def lost(self) -> list[int]:
        """Numbers of the lost SMs."""
        return [n for n in range(self._config.sms) if self._state.sms[n].lost]

    @property
    def lost_count(self) -> int:
        """How many SMs are lost."""
        return int(self._state.lost)

    def started(self, place: int) -> int | None:
        """Return the cycle of the first offer of the launch in a place, if that is decided."""
        decided = int(self._state.places[place].started)
        return None if decided == NEVER else decided + self._timing.offer

    def hand_over(
        self, cycle: int, number: int, launch: LaunchDescriptor, ticket: int, first: int
    ) -> None:
        """Let a launch take a place in a cycle, to begin with block number ``first``."""
        lengths = self._lengths_of(launch)
        if len(lengths) > self._lengths.shape[1]:
            self._lengths = np.pad(
                self._lengths, ((0, 0), (0, len(lengths) - self._lengths.shape[1]))
            )
        self._lengths[number, : len(lengths)] = lengths
        place = self._state.places[number]
        place.occupied = True
        place.order, self._handed = self._handed, self._handed + 1
        place.ticket = ticket
        place.stream = launch.stream
        place.awaits = launch.stream if launch.after_previous else NONE
        place.since = cycle
        count = warps(launch.block, self._config.warp_size)
        place.need[:] = 1, count, count * launch.warp_registers, launch.shared, launch.barriers
        place.first = place.next = first
        place.end = len(lengths)
        place.fault_block = self._sm.faults.get(launch.code, NONE)
        _clear(place)

    def _lengths_of(self, launch: LaunchDescriptor) -> Integers:
        key = launch.code, launch.arguments, launch.grid
        if key not in self._known:
            self._known[key] = block_lengths(
                self._seed, launch.code, launch.arguments, *grid_places(launch.grid)
            ).astype(np.int64)
        return self._known[key]

    def stop(self, cycle: int, number: int, how: Mode) -> None:
        """Send a stop in a cycle to the launch in a place; it acts ``timing.stop`` cycles later.

        A launch that has not started by then is taken back. One that has is killed (``RESET``),
        drained, or goes on (``WAIT``).
        """
        place = self._state.places[number]
        acts = cycle + self._timing.stop
        place.skip_at = min(int(place.skip_at), acts)
        if how is Mode.RESET:
            place.kill_at = min(int(place.kill_at), acts)
        elif how is Mode.DRAIN:
            place.drain_at = min(int(place.drain_at), acts)

    def advance(self, cycle: int, until: int) -> tuple[int, End | None, bool]:
        """Run from one cycle to another, or until the kernel queue must know what happened.

        Returns
        -------
        tuple
            The next cycle; the end of a launch that left its place in the cycle before, if any;
            whether a launch started or an SM was lost.
        """
        cycle, ended, news = advance(
            self._state, self._lengths, self._offers, self._reports, cycle, until
        )
        return cycle, None if ended == NONE else self._end(cycle, ended), news

    def _end(self, cycle: int, number: int) -> End:
        place = self._state.places[number]
        fate, code = judge(place, cycle)
        first_offer = place.started + self._timing.offer
        cycles = 0 if place.started == NEVER else max(0, int(place.last_report - first_offer))
        offered = int(place.next - place.first)
        return End(number, fate, code, int(place.next), offered, cycles, int(place.held))


def judge(place: Place, cycle: int) -> tuple[Fate, ErrorCode]:
    """Return the fate of a launch that left its place before a cycle, and a failed one's code."""
    exhausted = place.next == place.end
    if place.sm_lost:
        return Fate.FAILED, ErrorCode.SM_LOST
    if place.faults:
        return Fate.FAILED, ErrorCode.BLOCK_FAULT
    if place.no_sm and not exhausted:
        return Fate.FAILED, ErrorCode.NO_SM
    if exhausted and not place.killed:
        return Fate.FINISHED, ErrorCode.OK
    if place.started == NEVER:
        return Fate.SKIPPED, ErrorCode.OK
    return (Fate.KILLED if place.kill_at < cycle else Fate.DRAINED), ErrorCode.OK


def _clear(place: Place) -> None:
    """Forget what became of the launch before."""
    place.walking = place.sm_lost = place.no_sm = False
    place.skip_at = place.drain_at = place.kill_at = place.killing = NEVER
    place.started = place.load = NEVER
    place.last_report = -1
    place.out = place.killed = place.faults = place.held = 0


def initial_state(config: Config, sm: SmBehaviour) -> State:
    """Return the state after reset."""
    fields = np.zeros(1, LAYOUT)
    fields["sms"]["free"][0, : config.sms] = (
        config.block_slots,
        config.warp_slots,
        config.register_units,
        config.shared_units,
        config.barriers,
    )
    fields["sms"]["decided"] = -2
    fields["sms"]["due"] = fields["sms"]["silent_from"] = NEVER
    for number, cycle in sm.silent_from.items():
        fields["sms"]["silent_from"][0, number] = cycle
    fields["slots"]["place"] = NONE
    fields["slots"]["due"] = NEVER
    fields["free_slots"][0, :, : config.block_slots] = range(config.block_slots)
    state: State = fields.view(np.recarray)[0]
    state.head = NONE
    for number in range(2):
        _clear(state.places[number])
    rules, latencies = state.rules, timing(config)
    rules.policy = POLICIES[config.policy]
    rules.in_order = config.reclaim == "in_order"
    rules.report_time = sm.report_time
    for name in ("sms", "block_slots", "retire_width", "kill_timeout"):
        setattr(rules, name, getattr(config, name))
    for name in ("stage", "fit_table", "offer", "returns", "end"):
        setattr(rules, name, getattr(latencies, name))
    return state
