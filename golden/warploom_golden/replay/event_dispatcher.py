"""The event model's dispatcher and SMs: two places, stops in, ends out."""

from dataclasses import dataclass, field
from math import prod
from typing import Final, assert_never

import numpy as np

from warploom_golden.oracles.index_reference import warps
from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.block_length import block_lengths, grid_places
from warploom_golden.replay.contention import block_work, rate
from warploom_golden.replay.event_constants import (
    NEVER,
    NONE,
    POLICY_NUMBERS,
    PREDICTED_IN,
    SLOT_BITS,
    SM_BITS,
)
from warploom_golden.replay.event_machine import advance
from warploom_golden.replay.event_state import Integers, Place, Rules, State, record
from warploom_spec import (
    RESOURCES,
    Config,
    ErrorCode,
    Fate,
    LaunchDescriptor,
    Stop,
    capacities,
    timing,
)

#: Blocks that are decided at once, at most: so many lengths stand ready.
AHEAD: Final = 1 << 14
#: Lengths that are computed at once.
WINDOW: Final = 1 << 16


@dataclass(frozen=True, kw_only=True)
class SmBehaviour:
    """How the SMs' stand-ins behave.

    Attributes
    ----------
    report_time : int
        Cycles from the kill of a block to its report.
    silent_from : dict of int to int
        SM number to the first cycle from which on it sends no report.
    faults : dict of int to int
        Launch number (``code``) to the number of its block that reports a fault.
    """

    report_time: int = 0
    silent_from: dict[int, int] = field(default_factory=dict)
    faults: dict[int, int] = field(default_factory=dict)


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
        From its first offer to its last report; 0 if none of its blocks was reported.
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
    seed : int
        Seed of the block lengths.
    sm : SmBehaviour
        How the SMs' stand-ins behave; as in a replay by default.
    log : int
        Offers, and reports, that are written down; later ones are not.
    drained : int or None
        The caller takes the logs with `take_logs` when so many offers, or reports, stand there:
        then `advance` stops early, and no log overflows. None: ``log`` is all that is written down.
    knee : int or None
        With contention: warps that an SM runs at full speed; every SM then reports, and at once.
        None: blocks take as long on a full SM as alone.

    Raises
    ------
    WarploomError
        If the placement policy is not predicted.
    """

    def __init__(
        self,
        config: Config,
        seed: int,
        sm: SmBehaviour | None = None,
        log: int = 0,
        knee: int | None = None,
        drained: int | None = None,
    ):
        self._config = config
        self._knee = knee
        self._seed = seed
        self._sm = sm or SmBehaviour()
        self._timing = timing(config)
        self._state = initial_state(config, self._sm, knee)
        # For each place the lengths of its next blocks, its launch, and up to which block they are.
        self._lengths = np.zeros((2, WINDOW), np.int64)
        self._launches: list[LaunchDescriptor | None] = [None, None]
        self._ready = [NEVER, NEVER]
        self._drained = drained
        if drained is not None:
            log = drained + AHEAD + config.sms * config.block_slots
        self._offers = np.zeros((5, log), np.int64)
        self._reports = np.zeros((4, log), np.int64)

    @property
    def offers(self) -> Integers:
        """Log of offers: rows cycle, SM, slot, ticket, block number; in order of decision."""
        return self._offers[:, : self._state.offers]

    @property
    def reports(self) -> Integers:
        """Log of reports: rows cycle, SM, slot, status; in order of cycle and SM."""
        return self._reports[:, : self._state.reports]

    @property
    def is_full(self) -> bool:
        """Whether the logs are to be taken."""
        state, most = self._state, self._drained
        return most is not None and (state.offers >= most or state.reports >= most)

    def take_logs(self) -> tuple[Integers, Integers]:
        """Return the logs of offers and of reports, and begin new ones."""
        taken = self.offers.copy(), self.reports.copy()
        self._state.offers = self._state.reports = 0
        return taken

    @property
    def ignored(self) -> int:
        """Reports of lost SMs."""
        return int(self._state.ignored)

    @property
    def lost(self) -> list[int]:
        """Numbers of the lost SMs."""
        return [n for n in range(self._config.sms) if self._state.sms[n].lost_at != NEVER]

    @property
    def lost_count(self) -> int:
        """How many SMs are lost."""
        return self._config.sms - int(self._state.alive)

    @property
    def stalls(self) -> dict[str, int]:
        """Stalled cycles by cause: each of ``warploom_spec.STALL_CAUSES``."""
        state = self._state
        by_resource = zip(RESOURCES, state.stalls.tolist(), strict=True)
        others = {"order": int(state.stall_order), "offer": int(state.stall_offer)}
        return dict(by_resource) | others

    def started(self, place: int) -> int | None:
        """Return the cycle of the first offer of the launch in a place, if that is decided."""
        decided = int(self._state.places[place].started)
        return None if decided == NEVER else decided + self._timing.offer

    def hand_over(
        self,
        cycle: int,
        number: int,
        launch: LaunchDescriptor,
        ticket: int,
        first: int = 0,
        kill: int | None = None,
    ) -> None:
        """Let a launch take a free place.

        Parameters
        ----------
        cycle : int
            The cycle of its transfer.
        number : int
            The place.
        launch : LaunchDescriptor
            The launch.
        ticket : int
            Its ticket.
        first : int
            Number of the block that it begins with.
        kill : int or None
            Number of the block after whose offer the launch is stopped by a kill.
        """
        place = self._state.places[number]
        place.occupied = True
        place.since = cycle
        place.ticket = ticket
        place.stream = launch.stream
        place.awaits = launch.stream if launch.after_previous else NONE
        self._set_need(place, launch)
        place.first = place.next = first
        place.end = prod(launch.grid)
        place.kill_block = NONE if kill is None else kill
        fault = self._sm.faults.get(launch.code)
        place.fault_block = NONE if fault is None else fault
        _clear(place)
        self._launches[number] = launch
        self._make_ready(number, first)
        other = self._state.places[1 - number]
        self._state.older = 1 - number if other.occupied else number

    def _set_need(self, place: Place, launch: LaunchDescriptor) -> None:
        """Note what a launch's blocks take, how many fit on an SM, and what then is short."""
        count = warps(launch.block, self._config.warp_size)
        registers = count * launch.warp_registers
        place.need[:] = need = (1, count, registers, launch.shared, launch.barriers)
        pairs = list(zip(capacities(self._config).values(), need, strict=True))
        place.most = min(size // one for size, one in pairs if one)
        place.limiting[:] = [(place.most + 1) * one > size for size, one in pairs]

    def _make_ready(self, number: int, first: int) -> None:
        """Compute the lengths of the next blocks of the launch in a place."""
        launch = self._launches[number]
        assert launch is not None
        stop = min(first + WINDOW, prod(launch.grid))
        places = grid_places(launch.grid, first, stop)
        lengths = block_lengths(self._seed, launch.code, launch.arguments, *places)
        made = lengths.astype(np.int64)
        if self._knee is not None:
            made = block_work(made, launch.address_space, self._knee)
        self._lengths[number, : len(made)] = made
        self._state.places[number].window = first
        self._ready[number] = stop if stop < prod(launch.grid) else NEVER

    def _look_ahead(self) -> None:
        """See to it that the next `AHEAD` blocks have lengths; let the machine stop after them."""
        for number in range(2):
            if self._ready[number] < NEVER:
                next_block = int(self._state.places[number].next)
                if next_block + AHEAD > self._ready[number]:
                    self._make_ready(number, next_block)
        self._state.pause = self._state.decided + AHEAD

    def stop(self, cycle: int, number: int, how: Stop, take_back: bool = False) -> None:
        """Send a stop in a cycle to the launch in a place; it acts ``timing.stop`` cycles later.

        Parameters
        ----------
        cycle : int
            The cycle in which it stands at the dispatcher's port.
        number : int
            The place.
        how : Stop
            What becomes of a launch that has started by then.
        take_back : bool
            Whether a launch that has not started leaves its place at once instead.
        """
        place, acts = self._state.places[number], cycle + self._timing.stop
        if take_back:
            place.skip_at = min(int(place.skip_at), acts)
        match how:
            case Stop.NONE:
                pass
            case Stop.DRAIN:
                place.stop_at = min(int(place.stop_at), acts)
            case Stop.KILL:
                place.stop_at = min(int(place.stop_at), acts)
                place.kill_at = min(int(place.kill_at), acts)
            case _:
                assert_never(how)
        self._state.alarm = min(int(self._state.alarm), acts)

    def advance(self, cycle: int, until: int) -> tuple[int, End | None, bool]:
        """Run from one cycle to another, or until the caller must know what happened.

        Also until the logs are to be taken.

        Returns
        -------
        tuple
            The next cycle; the end of a launch that left its place in the cycle before, if any;
            whether a launch started or an SM was lost.
        """
        ended, other_change = NONE, False
        while cycle < until and ended == NONE and not other_change and not self.is_full:
            self._look_ahead()
            cycle, ended, other_change = advance(
                self._state, self._lengths, self._offers, self._reports, cycle, until
            )
        return cycle, None if ended == NONE else self._end(cycle - 1, ended), other_change

    def _end(self, loaded: int, number: int) -> End:
        place = self._state.places[number]
        fate, code = judge(place, loaded)
        first_offer = place.started + self._timing.offer
        cycles = 0 if place.last_report < 0 else int(place.last_report - first_offer)
        offered, next_block = int(place.next - place.first), int(place.next)
        return End(number, fate, code, next_block, offered, cycles, int(place.held))


def judge(place: Place, loaded: int) -> tuple[Fate, ErrorCode]:
    """Return fate and code of a launch whose end was loaded in a cycle, by the cycle before."""
    exhausted = place.next == place.end
    if place.sm_lost:
        return Fate.FAILED, ErrorCode.SM_LOST
    if place.faults:
        return Fate.FAILED, ErrorCode.BLOCK_FAULT
    if place.no_sm_at < loaded and not exhausted:
        return Fate.FAILED, ErrorCode.NO_SM
    if exhausted and not place.killed:
        return Fate.FINISHED, ErrorCode.OK
    if place.started == NEVER:
        return Fate.SKIPPED, ErrorCode.OK
    return (Fate.KILLED if place.kill_at < loaded else Fate.DRAINED), ErrorCode.OK


def _clear(place: Place) -> None:
    """Forget what became of the launch before."""
    place.walking = place.sm_lost = False
    place.skip_at = place.stop_at = place.kill_at = place.no_sm_at = NEVER
    place.started = place.load = NEVER
    place.last_report = -1
    place.out = place.killed = place.faults = place.held = 0


def initial_state(config: Config, sm: SmBehaviour, knee: int | None) -> State:
    """Return the state after reset."""
    fields = np.zeros(1, record(State))
    sms = fields["sms"][0, : config.sms]
    sms["room"] = 1
    sms["free"] = tuple(capacities(config).values())
    fields["sms"]["lost_at"] = fields["sms"]["silent_from"] = NEVER
    for number, cycle in sm.silent_from.items():
        sms["silent_from"][number] = cycle
    fields["slots"]["place"] = NONE
    fields["fifo"][0, :, : config.block_slots] = range(config.block_slots)
    fields["due"] = NEVER << SLOT_BITS
    fields["calendar"] = NEVER << SM_BITS
    state: State = fields.view(np.recarray)[0]
    for number in range(2):
        _clear(state.places[number])
    _set_rules(state.rules, config, sm)
    state.rules.sharing = knee is not None
    if knee is not None:
        state.rates[:] = [rate(warps, knee) for warps in range(len(state.rates))]
    state.head, state.known, state.rooms = NONE, NEVER, config.sms
    state.alarm = state.dead_at = NEVER
    state.flushed, state.alive = NONE, config.sms
    state.last_cycle = -NEVER
    return state


def _set_rules(rules: Rules, config: Config, sm: SmBehaviour) -> None:
    rules.sms, rules.block_slots = config.sms, config.block_slots
    rules.kill_timeout = config.kill_timeout
    check_predicted(config.policy, POLICY_NUMBERS, PREDICTED_IN)
    rules.policy = POLICY_NUMBERS[config.policy]
    rules.in_order = config.reclaim == "in_order"
    rules.report_time = sm.report_time
    latencies = timing(config)
    for name in ("stage", "fit_table", "offer", "returns", "stop", "fault", "loss", "loss_kill"):
        setattr(rules, name, getattr(latencies, name))
    rules.end = latencies.end
