"""The event model's dispatcher and SMs: launches and stops in, ends out."""

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.block_length import block_lengths, grid_places
from warploom_golden.replay.contention import block_work
from warploom_golden.replay.event_constants import (
    NEVER,
    NONE,
    NOT_DUE,
    POLICY_NUMBERS,
    PREDICTED_IN,
    SLOT_BITS,
    SLOTS,
    SM_BITS,
)
from warploom_golden.replay.event_machine import advance
from warploom_golden.replay.event_state import Integers, Place, Rules, State, record
from warploom_golden.replay.machine import Machine, block_needs
from warploom_spec import (
    RESOURCES,
    Config,
    ErrorCode,
    Fate,
    LaunchDescriptor,
    Stop,
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
        With contention: warps that an SM runs at full speed. None: blocks take as long on a full SM
        as alone.
    machine : Machine or None
        What there is to dispatch on; None: what the configuration says.
    preempts : bool
        Launches may be skipped, and yield.

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
        machine: Machine | None = None,
        preempts: bool = False,
    ):
        self._config = config
        self._machine = machine or Machine.of(config)
        self._knee = knee
        self._seed = seed
        self._sm = sm or SmBehaviour()
        self._timing = timing(config)
        states = initial_state(config, self._machine, self._sm, knee)
        self._states = states
        self._state: State = states[0]
        self._state.rules.preempts = preempts
        # To be read often: a record's attribute takes twenty times as long.
        self._logged = states["offers"], states["reports"]
        # Launches by place, and how many there are of each stream.
        self._launches: dict[int, LaunchDescriptor] = {}
        self._residents: Counter[int] = Counter()
        # The lengths of the head's next blocks, and up to which block they are.
        self._lengths = np.zeros(WINDOW, np.int64)
        self._ready = NEVER
        self._drained = drained
        if drained is not None:
            log = drained + AHEAD + self._machine.sms * self._machine.sizes[SLOTS]
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
        most = self._drained
        return most is not None and any(count.item() >= most for count in self._logged)

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
        return [n for n in range(self._machine.sms) if self._state.sms[n].lost_at != NEVER]

    @property
    def lost_count(self) -> int:
        """How many SMs are lost."""
        return self._machine.sms - int(self._state.alive)

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
        yields: bool = False,
        ordered: bool = True,
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
            Number of the block after whose decision `advance` returns.
        yields : bool
            The launch yields to those of higher priority, where launches may yield.
        ordered : bool
            It waits for those of its stream that have a place.
        """
        state = self._state
        place = state.places[number]
        place.occupied = True
        place.since = cycle
        place.ticket = ticket
        place.stream = launch.stream
        place.awaits = launch.stream if ordered else NONE
        place.ahead = self._residents[launch.stream] if ordered else 0
        self._residents[launch.stream] += 1
        self._set_need(place, launch)
        place.first = place.next = first
        place.end = prod(launch.grid)
        place.kill_block = NONE if kill is None else kill
        fault = self._sm.faults.get(launch.code)
        place.fault_block = NONE if fault is None else fault
        clear(place)
        place.priority, place.may_yield = launch.priority, yields
        if state.rules.preempts:
            state.alarm = min(int(state.alarm), cycle + 1)
        self._launches[number] = launch
        state.ages[state.residents] = number
        state.residents += 1
        state.all_held = False

    def _set_need(self, place: Place, launch: LaunchDescriptor) -> None:
        """Note what a launch's blocks take, how many fit on an SM, and what then is short."""
        place.need[:] = need = block_needs(launch, self._config)
        pairs = list(zip(self._machine.sizes, need, strict=True))
        place.most = min(size // one for size, one in pairs if one)
        place.limiting[:] = [(place.most + 1) * one > size for size, one in pairs]

    def _make_ready(self, number: int) -> None:
        """Compute the lengths of the next blocks of the launch in a place, the head's."""
        launch, first = self._launches[number], int(self._state.places[number].next)
        stop = min(first + WINDOW, prod(launch.grid))
        places = grid_places(launch.grid, first, stop)
        lengths = block_lengths(self._seed, launch.code, launch.arguments, *places)
        made = lengths.astype(np.int64)
        if self._knee is not None:
            made = block_work(made, launch.address_space, self._knee)
        self._lengths[: len(made)] = made * self._machine.speed
        self._state.window = first
        self._ready = stop if stop < prod(launch.grid) else NEVER

    def _look_ahead(self) -> None:
        """See to it that the next `AHEAD` blocks have lengths; let the machine stop after them."""
        state = self._state
        head = int(state.head)
        if head != NONE and (state.unready or state.places[head].next + AHEAD > self._ready):
            self._make_ready(head)
        state.unready = False
        state.pause = state.decided + AHEAD

    def stop(self, cycle: int, number: int, how: Stop) -> None:
        """Send a stop in a cycle to the launch in a place; it acts ``timing.stop`` cycles later.

        Parameters
        ----------
        cycle : int
            The cycle in which it stands at the dispatcher's port.
        number : int
            The place.
        how : Stop
            What becomes of a launch that has started by then.
        """
        place, acts = self._state.places[number], cycle + self._timing.stop
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

    def skip(self, cycle: int, number: int) -> None:
        """Let a skip be at the port in a cycle for the launch in a place."""
        self._state.places[number].skip_from = cycle + 1
        self._state.alarm = min(int(self._state.alarm), cycle + 1)

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
            cycle, ended, other_change, stopped = advance(
                self._states, self._lengths, self._offers, self._reports, cycle, until
            )
            if stopped:
                self._look_ahead()
        return cycle, None if ended == NONE else self._end(cycle - 1, ended), other_change

    def _end(self, loaded: int, number: int) -> End:
        self._residents[self._launches.pop(number).stream] -= 1
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


def clear(place: Place) -> None:
    """Forget what became of the launch before."""
    place.walking = place.sm_lost = False
    place.stop_at = place.kill_at = place.no_sm_at = NEVER
    place.skip_from = place.exhausted = NEVER
    place.skipped = place.yields = place.may_yield = place.made_way = False
    place.started = place.load = NEVER
    place.last_report = -1
    place.out = place.killed = place.faults = place.held = 0


def initial_state(
    config: Config, machine: Machine, sm: SmBehaviour, knee: int | None = None
) -> NDArray[Any]:
    """Return an array of the state after reset.

    The memory of SMs that there are not is never touched.
    """
    # Elements of this type have their fields as attributes, in plain Python, too.
    fields = np.zeros(1, np.dtype((np.record, record(State))))
    slots = machine.sizes[SLOTS]
    sms = fields["sms"][0, : machine.sms]
    fields["has_room"][0, : machine.sms] = 1
    sms["free"] = machine.sizes
    sms["lost_at"] = sms["silent_from"] = NEVER
    for number, cycle in sm.silent_from.items():
        sms["silent_from"][number] = cycle
    fields["slots"][0, : machine.sms, :slots]["place"] = NONE
    fields["fifo"][0, : machine.sms, :slots] = range(slots)
    fields["due"][0, : machine.sms, : 2 * slots] = NOT_DUE << SLOT_BITS
    fields["calendar"] = NEVER << SM_BITS
    state: State = fields[0]
    for number in range(2):
        clear(state.places[number])
    _set_rules(state.rules, config, sm)
    state.rules.sms, state.rules.block_slots = machine.sms, slots
    state.rules.at_once = machine.at_once
    state.rules.in_order = config.reclaim == "in_order" and not machine.at_once
    state.rules.knee = knee or 0
    state.head, state.known, state.rooms = NONE, NEVER, machine.sms
    state.pause = AHEAD
    state.alarm = state.dead_at = state.load_at = NEVER
    state.recount_at = NEVER
    state.candidate = state.candidate_at = state.outranked = NONE
    state.alive = machine.sms
    state.last_cycle = state.earlier_cycle = -NEVER
    return fields


def _set_rules(rules: Rules, config: Config, sm: SmBehaviour) -> None:
    rules.kill_timeout = config.kill_timeout
    check_predicted(config.policy, POLICY_NUMBERS, PREDICTED_IN)
    rules.policy = POLICY_NUMBERS[config.policy]
    rules.report_time = sm.report_time
    latencies = timing(config)
    for name in (
        "stage",
        "change",
        "fit_table",
        "offer",
        "returns",
        "stop",
        "fault",
        "loss",
        "loss_kill",
        "fit_again",
    ):
        setattr(rules, name, getattr(latencies, name))
    rules.end = latencies.end
