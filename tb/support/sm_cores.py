"""The SMs behind a dispatcher in Python: they take blocks, run and report them, or stay silent."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from tb.support.sm_behaviour import BehaviourSource, SmBehaviour
from warploom_spec import BlockStatus, Config, layouts
from warploom_spec.resident_packets import resident_block

Ports = Mapping[str, int]
#: Both values that mean a fault.
FAULTS = (int(BlockStatus.FAULT), 3)


@dataclass(slots=True)
class Running:
    """A block that an SM has taken.

    Attributes
    ----------
    stream : int
        Its launch's stream.
    due : int or None
        Cycle from which it is reported; None: never.
    killed : bool
        Whether it was ended by a kill.
    seen : bool
        Whether the SM has seen its stream's kill.
    """

    stream: int
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
        self._streams = range(1 << config.stream_bits)
        self._number, self._block = number, resident_block(config)
        self._report = layouts.block_report(config)
        self._report_ready = f"report__{number}__ready"
        self._report_valid = f"report__{number}__valid"
        self._report_payload = f"report__{number}__payload"
        self.reset()

    def reset(self) -> None:
        """Forget all blocks."""
        self._running: dict[int, Running] = {}
        #: The report that stands at the port.
        self._standing: dict[str, int] | None = None
        self._kill = 0
        self._silent = [False for _ in self._streams]

    def next(
        self, cycle: int, outputs: Ports | None, behaviours: BehaviourSource
    ) -> dict[str, int]:
        """Return the SM's signals in ``cycle``; ``outputs`` are those of the cycle before."""
        behaviour = behaviours.now
        if outputs is None:
            self.reset()
        else:
            if outputs[self._report_ready]:
                self._standing = None
            self._hear(cycle, outputs["kill"], behaviour)
            self._take(cycle, outputs, behaviour)
            self._end_killed(cycle, behaviour)
        if self._standing is not None:
            return self._standing
        values = self._send(self._choose(cycle, behaviour), behaviour)
        self._standing = values if values[self._report_valid] else None
        return values

    def _hear(self, cycle: int, kill: int, behaviour: SmBehaviour) -> None:
        """See the kill level of the cycle before."""
        for stream in self._streams:
            if kill >> stream & 1 and not self._kill >> stream & 1:
                self._silent[stream] = self._rng.random() < behaviour.silent
                if self._silent[stream] and self._rng.random() < behaviour.last_report:
                    self._report_last(cycle, stream)
        self._kill = kill

    def _report_last(self, cycle: int, silent: int) -> None:
        """Let other streams' blocks be reported when this SM is nearly given up."""
        for block in self._running.values():
            if block.stream != silent:
                block.due = cycle + self._kill_timeout + self._rng.randint(-3, 3)

    def _take(self, cycle: int, outputs: Ports, behaviour: SmBehaviour) -> None:
        """Take the block that was offered in the cycle before."""
        if not outputs["offer"] >> self._number & 1:
            return
        block = self._block.unpack(outputs["block"])
        due = cycle - 1 + self._rng.randint(*behaviour.length)
        self._running[block["slot"]] = Running(block["stream"], due)

    def _end_killed(self, cycle: int, behaviour: SmBehaviour) -> None:
        """End the blocks of streams that are killed, or leave them without a report."""
        for block in self._running.values():
            if block.seen or not self._kill >> block.stream & 1:
                continue
            block.seen = True
            if self._silent[block.stream]:
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
