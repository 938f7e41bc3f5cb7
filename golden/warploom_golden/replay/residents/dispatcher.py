"""The event model's dispatcher and SMs: launches, holds and stops in, ends out."""

from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from warploom_golden.oracles.predicted_policies import check_predicted
from warploom_golden.replay.contention import rate
from warploom_golden.replay.event_constants import (
    FREED_FIRST,
    NEVER,
    NONE,
    NOT_DUE,
    POLICY_NUMBERS,
    PREDICTED_IN,
    SLOT_BITS,
    SLOTS,
    SM_BITS,
)
from warploom_golden.replay.kills import kill_block
from warploom_golden.replay.machine import Machine, block_needs
from warploom_golden.replay.records import Integers, record
from warploom_golden.replay.residents import returns
from warploom_golden.replay.residents.choice import SETTLES
from warploom_golden.replay.residents.machine import advance
from warploom_golden.replay.residents.rules import Rules
from warploom_golden.replay.residents.state import MOST_ROWS, State
from warploom_golden.replay.sm_behaviour import SmBehaviour
from warploom_spec import RESOURCES, Config, ErrorCode, Fate, LaunchDescriptor
from warploom_spec.queue import Mode
from warploom_spec.resident_limits import in_groups, sm_groups

#: Fate and code of an end, by its number.
_FATES: Final = {
    returns.FINISHED: (Fate.FINISHED, ErrorCode.OK),
    returns.ENDED_KILLED: (Fate.KILLED, ErrorCode.OK),
    returns.FAILED: (Fate.FAILED, ErrorCode.BLOCK_FAULT),
    returns.FAILED_SM_LOST: (Fate.FAILED, ErrorCode.SM_LOST),
}
#: Stages, as `Rules` has them, up to 16 SMs and with groups.
_STAGES: Final = {
    "offer": 3,
    "out": 4,
    "lands": 3,
    "known": 1,
    "unseen": 1,
    "back": 1,
    "judged": 2,
    "known_after": 4,
}
_GROUP_STAGES: Final = {
    "offer": 5,
    "out": 8,
    "lands": 7,
    "known": 4,
    "unseen": 2,
    "back": 2,
    "judged": 5,
    "known_after": 8,
}
#: Silent visits beside those that `kill_timeout` makes.
_MORE_VISITS: Final = 2


@dataclass(frozen=True)
class RunEnd:
    """What is at `ended`.

    Attributes
    ----------
    row : int
        The stream.
    fate : Fate
        As the dispatcher judges it.
    code : ErrorCode
        Why it failed, else ``OK``.
    begun : bool
        A block of it was picked.
    first_offer, cycles : int
        Cycle of its first offer, and from there to its last return; meaningless if it has not
        begun.
    """

    row: int
    fate: Fate
    code: ErrorCode
    begun: bool
    first_offer: int
    cycles: int


class ResidentMachine:
    """Dispatcher and SMs' stand-ins, from one event to the next.

    Parameters
    ----------
    config : Config
        SMs, placement and reclaim policy.
    seed : int
        Seed of the block lengths.
    sm : SmBehaviour or None
        How the SMs' stand-ins behave; None: as in a replay.
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
    rows : int or None
        Streams; None: those of the configuration.
    kill_every : int or None
        Launches of this number, twice this number and so on have a block of whose pick `take_mark`
        tells: the one after whose offer a replay kills them.

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
        rows: int | None = None,
        kill_every: int | None = None,
    ):
        self._config, self._seed, self._knee = config, seed, knee
        self._machine = machine or Machine.of(config)
        self._sm = sm or SmBehaviour()
        self._rows = rows or 1 << config.stream_bits
        self._kill_every = kill_every
        assert self._rows <= MOST_ROWS
        self._states = _initial_state(config, self._machine, self._sm)
        self._state: State = self._states[0]
        _set_rules(self._state.rules, config, self._machine, self._rows)
        self._state.rules.knee = knee or 0
        self._state.rules.report_time = self._sm.report_time
        self._state.rules.seed = seed
        self._drained = drained
        if drained is not None:
            log = drained + self._machine.sms + 1
        self._state.pause = NEVER if drained is None else drained
        self._offers = np.zeros((5, log), np.int64)
        self._reports = np.zeros((4, log), np.int64)
        # To be read often: a record's attribute takes twenty times as long.
        table: Any = self._states["rows"][0]
        self._flags = {name: table[name] for name in ("begun", "open", "busy", "held", "next")}
        self._fields = {
            name: self._states[name]
            for name in ("at_port", "offers", "reports", "marked", "restless", "active", "alive")
        }
        self._levels = 0, 0
        # Rows with a block of whose pick `take_mark` tells.
        self._marks: dict[int, int] = {}

    # What was written down

    @property
    def offers(self) -> Integers:
        """Log of offers: rows cycle, SM, slot, ticket, block number; in order of picks."""
        return self._offers[:, : self._state.offers]

    @property
    def reports(self) -> Integers:
        """Log of reports: rows cycle, SM, slot, status; in order of cycle and SM."""
        return self._reports[:, : self._state.reports]

    @property
    def is_full(self) -> bool:
        """Whether the logs are to be taken."""
        most = self._drained
        fields = self._fields
        return most is not None and max(fields["offers"].item(), fields["reports"].item()) >= most

    def take_logs(self) -> tuple[Integers, Integers]:
        """Return the logs of offers and of reports, and begin new ones."""
        taken = self.offers.copy(), self.reports.copy()
        self._state.offers = self._state.reports = 0
        return taken

    @property
    def stalls(self) -> dict[str, int]:
        """Stalled cycles by cause: each resource, and ``offer``."""
        by_resource = zip(RESOURCES, self._state.stalls.tolist(), strict=True)
        return dict(by_resource) | {"offer": int(self._state.stall_offer)}

    @property
    def lost(self) -> list[int]:
        """Numbers of the lost SMs."""
        return [n for n in range(self._machine.sms) if self._state.sms[n].lost_at != NEVER]

    @property
    def all_lost(self) -> bool:
        """Whether every SM is lost."""
        return bool(self._fields["alive"].item() == 0)

    # Ports

    def start(self, cycle: int, row: int, launch: LaunchDescriptor, ticket: int) -> None:
        """Let a launch transfer at ``start`` in a cycle."""
        state = self._state
        each = state.rows[row]
        each.ticket, each.code, each.length = ticket, launch.code & 0xFFFF_FFFF, launch.arguments
        if self._knee is not None:
            each.recorded_rate = rate(launch.address_space, self._knee)
        each.priority, each.waits = launch.priority, launch.mode == Mode.WAIT
        state.started += 1
        each.order = state.started
        each.need[:] = block_needs(launch, self._config)
        each.bx = each.by = each.bz = each.next = 0
        each.gx, each.gy = launch.grid[:2]
        each.end = prod(launch.grid)
        fault = self._sm.faults.get(launch.code)
        each.fault_block = NONE if fault is None else fault
        mark = kill_block(self._seed, launch.code, each.end, self._kill_every)
        each.mark_block = NONE if mark is None else mark
        self._marks.pop(row, None)
        if mark is not None:
            self._marks[row] = mark
        each.out, each.first_offer, each.last_return, each.silent = 0, NEVER, -1, 0
        state.start = row
        self._settle(cycle)

    def set_levels(self, cycle: int, holds: int, stops: int) -> None:
        """Let the ports ``hold`` and ``stop`` have a bit of each row from a cycle on."""
        if self._levels == (holds, stops):
            return
        for n in range(self._rows):
            row = self._state.rows[n]
            row.hold, row.stop = bool(holds >> n & 1), bool(stops >> n & 1)
        self._levels = holds, stops
        self._settle(cycle)

    def _settle(self, cycle: int) -> None:
        self._state.restless = max(self._fields["restless"].item(), cycle + SETTLES)

    @property
    def ended(self) -> RunEnd | None:
        """What is valid at `ended` in the next cycle to run, if anything is."""
        at_port = self._fields["at_port"].item()
        if at_port == NONE:
            return None
        row = self._state.rows[at_port]
        fate, code = _FATES[int(self._state.fate)]
        first = int(row.first_offer)
        return RunEnd(at_port, fate, code, bool(row.begun), first, int(row.last_return) - first)

    def take_end(self) -> None:
        """Let what is at `ended` transfer in the next cycle to run."""
        self._state.takes = True

    def level(self, name: str, rows: int) -> int:
        """Return a level of rows, a bit each: ``begun``, ``open``, ``busy`` or ``yields``."""
        flags = self._flags["open" if name == "yields" else name]
        mask = 0
        for n in range(rows.bit_length()):
            if rows >> n & 1 and flags.item(n):
                mask |= 1 << n
        if name != "yields" or not mask:
            return mask
        held, active = self._flags["held"], self._fields["active"].item()
        others = (n for n in range(rows.bit_length()) if mask >> n & 1 and n != active)
        return sum(1 << n for n in others if not held.item(n))

    def take_mark(self) -> int | None:
        """Return the ticket of a launch whose marked block was picked; None without one.

        To be asked after each `advance`.
        """
        if not self._fields["marked"].item():
            return None
        for row, mark in self._marks.items():
            if self._flags["next"].item(row) > mark:
                del self._marks[row]
                return int(self._state.rows[row].ticket)
        return None

    def advance(self, cycle: int, until: int) -> int:
        """Run from one cycle to another, or until the caller must know what happened.

        Also until the logs are to be taken. Returns the next cycle; a launch that begins has begun
        in it, and what is over is at `ended`.
        """
        return int(advance(self._states, self._offers, self._reports, cycle, until))


def _initial_state(config: Config, machine: Machine, sm: SmBehaviour) -> NDArray[Any]:
    """Return an array of the state after the boot.

    The memory of SMs that there are not is never touched.
    """
    # Elements of this type have their fields as attributes, in plain Python, too.
    fields = np.zeros(1, np.dtype((np.record, record(State))))
    slots = machine.sizes[SLOTS]
    sms = fields["sms"][0, : machine.sms]
    sms["free"] = machine.sizes
    sms["warps"] = machine.sizes[RESOURCES.index("warps")]
    sms["warps_at"] = sms["lost_at"] = sms["silent_from"] = NEVER
    sms["picked"], sms["held"] = -NEVER, NONE
    for number, cycle in sm.silent_from.items():
        sms["silent_from"][number] = cycle
    fields["slots"][0, : machine.sms, :slots]["row"] = NONE
    fields["fifo"][0, : machine.sms, :slots] = range(slots)
    fields["due"][0, : machine.sms, : 2 * slots] = NOT_DUE << SLOT_BITS
    fields["calendar"] = NEVER << SM_BITS
    for name in ("pick_at", "back_at", "turn_at", "looks_at"):
        fields[name] = -NEVER
    for name in ("start", "active", "next", "wanted", "at_port", "emptied", "head", "output"):
        fields[name] = NONE
    for name in ("changed", "spent_at", "last_pick", "last_back", "retired_at", "lost_last"):
        fields[name] = -NEVER
    fields["kills_at"], fields["restless"], fields["sweep_row"] = -1, -1, -1
    fields["done"] = NEVER
    fields["ports_at"] = -NEVER
    groups = fields["groups"][0]
    groups["candidate"] = groups["holds"] = NONE
    for number, members in enumerate(sm_groups(machine.sms)):
        sms["group"][members] = number
        groups["sms"][number] = len(members)
        groups["members"][number, : len(members)] = members
    fields["alive"] = machine.sms
    return fields


def _set_rules(rules: Rules, config: Config, machine: Machine, rows: int) -> None:
    check_predicted(config.policy, POLICY_NUMBERS, PREDICTED_IN)
    rules.policy = POLICY_NUMBERS[config.policy]
    rules.sms, rules.block_slots, rules.rows = machine.sms, machine.sizes[SLOTS], rows
    rules.grouped = in_groups(config)
    rules.groups = len(sm_groups(machine.sms)) if rules.grouped else 0
    for name, cycles in (_GROUP_STAGES if rules.grouped else _STAGES).items():
        setattr(rules, name, cycles)
    rules.known_after += int(rules.policy != FREED_FIRST)
    rules.at_once = machine.at_once
    rules.in_order = config.reclaim == "in_order" and not machine.at_once
    rules.kills, rules.speed = config.sm_kill, machine.speed
    rules.silent_visits = max(1, config.kill_timeout // rows) + _MORE_VISITS
