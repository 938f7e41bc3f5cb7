"""The SMs behind a dispatcher in Python: they take blocks, run and report them, or stay silent."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from tb.support.sm_behaviour import BehaviourSource, SmBehaviour
from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.layouts import PLACES

Ports = Mapping[str, int]
#: Both values that mean a fault.
FAULTS = (int(BlockStatus.FAULT), 3)


@dataclass(slots=True)
class Running:
    """A block that an SM has taken.

    Attributes
    ----------
    place : int
        Its place.
    due : int or None
        Cycle from which it is reported; None: never.
    killed : bool
        Whether it was ended by a kill.
    seen : bool
        Whether the SM has seen its place's kill.
    """

    place: int
    due: int | None
    killed: bool = False
    seen: bool = False


class SmCore:
    """One SM.

    It keeps to ``docs/dispatch/sm/port.md`` except where its behaviour says otherwise.

    Parameters
    ----------
    number : int
        Its number.
    config : Config
        Widths.
    rng : random.Random
        For all that it does.
    """

    def __init__(self, number: int, config: Config, rng: random.Random):
        self._rng = rng
        self._kill_timeout = config.kill_timeout
        self._offer = layouts.block_offer(config)
        self._report = layouts.block_report(config)
        self._valid, self._payload = f"offer__{number}__valid", f"offer__{number}__payload"
        self._ready = f"offer__{number}__ready"
        self._report_valid = f"report__{number}__valid"
        self._report_payload = f"report__{number}__payload"
        self._period = -1
        self._deaf = False
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        self._running: dict[int, Running] = {}
        self._was_ready = False
        self._reported_at_once: int | None = None
        self._kill = 0
        self._silent = [False] * PLACES

    def next(
        self, cycle: int, outputs: Ports | None, behaviours: BehaviourSource
    ) -> dict[str, int]:
        """Return the SM's signals in ``cycle``; ``outputs`` are those of the cycle before."""
        behaviour = behaviours.now
        if self._period != behaviours.period:
            self._period = behaviours.period
            self._deaf = self._rng.random() < behaviour.deaf
        refused = None
        if outputs is None:
            self.reset()
        else:
            self._hear(cycle, outputs["kill"], behaviour)
            refused = self._take(cycle, outputs, behaviour)
            self._end_killed(cycle, behaviour)
        ready = not self._deaf and self._rng.random() < behaviour.ready
        self._reported_at_once = None
        if refused is not None and ready and self._rng.random() < behaviour.instant:
            self._reported_at_once = refused
        slot = self._reported_at_once
        if slot is None:
            slot = self._choose(cycle, behaviour)
        self._was_ready = ready
        return {self._ready: int(ready), **self._send(slot, behaviour)}

    def _hear(self, cycle: int, kill: int, behaviour: SmBehaviour) -> None:
        """See the kill level of the cycle before."""
        for place in range(PLACES):
            if kill >> place & 1 and not self._kill >> place & 1:
                self._silent[place] = self._rng.random() < behaviour.silent
                if self._silent[place] and self._rng.random() < behaviour.last_report:
                    self._report_last(cycle, place)
        self._kill = kill

    def _report_last(self, cycle: int, silent: int) -> None:
        """Let the other place's blocks be reported when this SM is nearly given up."""
        for block in self._running.values():
            if block.place != silent:
                block.due = cycle + self._kill_timeout + self._rng.randint(-3, 3)

    def _take(self, cycle: int, outputs: Ports, behaviour: SmBehaviour) -> int | None:
        """See the offer of the cycle before; return its slot if it was refused."""
        if not outputs[self._valid]:
            return None
        offer = self._offer.unpack(outputs[self._payload])
        slot = offer["slot"]
        if not self._was_ready:
            return slot
        if slot != self._reported_at_once:
            due = cycle - 1 + self._rng.randint(*behaviour.length)
            self._running[slot] = Running(offer["place"], due)
        return None

    def _end_killed(self, cycle: int, behaviour: SmBehaviour) -> None:
        """End the blocks of places that are killed, or leave them without a report."""
        for block in self._running.values():
            if block.seen or not self._kill >> block.place & 1:
                continue
            block.seen = True
            if self._silent[block.place]:
                block.due = None
                continue
            answer = cycle - 1 + self._rng.randint(*behaviour.answer)
            ended_itself = block.due is not None and block.due <= answer
            block.killed = not ended_itself and self._rng.random() >= behaviour.last_moment
            block.due = min(block.due or answer, answer)

    def _choose(self, cycle: int, behaviour: SmBehaviour) -> int | None:
        """Return the slot that is reported in this cycle."""
        due = [
            slot
            for slot, block in self._running.items()
            if block.due is not None and block.due <= cycle
        ]
        if due and (not behaviour.together or cycle % 8 == 0):
            return self._rng.choice(due)
        if self._rng.random() < behaviour.bogus:
            return self._rng.randrange(1 << self._report.fields[0].bits)
        return None

    def _send(self, slot: int | None, behaviour: SmBehaviour) -> dict[str, int]:
        """Return the report port's values."""
        if slot is None:
            idle = self._rng.getrandbits(self._report.bits)
            return {self._report_valid: 0, self._report_payload: idle}
        block = self._running.pop(slot, None)
        status = int(BlockStatus.KILLED if block is not None and block.killed else BlockStatus.OK)
        if self._rng.random() < behaviour.fault:
            status = self._rng.choice(FAULTS)
        elif self._rng.random() < behaviour.unasked:
            status = int(BlockStatus.KILLED)
        payload = self._report.pack({"slot": slot, "status": status})
        return {self._report_valid: 1, self._report_payload: payload}


class SmCores:
    """All SMs.

    Parameters
    ----------
    config : Config
        Their number and size.
    rng : random.Random
        For all that they do.
    """

    def __init__(self, config: Config, rng: random.Random):
        self._cores = [
            SmCore(n, config, random.Random(rng.getrandbits(64))) for n in range(config.sms)
        ]

    def next(
        self, cycle: int, outputs: Ports | None, behaviours: BehaviourSource
    ) -> dict[str, int]:
        """Return all SMs' signals in ``cycle``; ``outputs`` are those of the cycle before."""
        values: dict[str, int] = {}
        for core in self._cores:
            values |= core.next(cycle, outputs, behaviours)
        return values
