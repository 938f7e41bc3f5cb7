"""Random traffic for BlockDispatcher: a host that starts, stops and holds, and SMs."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from warploom_spec import BlockStatus, Config, layouts, resident_packets, timing
from warploom_spec.resources import SM_RESOURCES

#: The stream of a mute block, which no kill reaches, and the cycles to its report: it may come
#: while a sweep is on, or after it.
_NOBODY, _MUTE = -1, (40, 60, 80, 800)
#: The clock's step in a cycle: each of its bits soon turns, and lengths of runs wrap.
_TICK: Final = 0x9E3779B1
#: Chance that a launch has a grid of any size, which a stop must end, at the end at the latest.
_WIDE: Final = 0.05
#: Chance in a cycle that all holds end and all SMs are in use.
_RELIEF = 0.05


@dataclass(frozen=True)
class Mood:
    """How often things happen, each the chance in a cycle or of a block.

    Attributes
    ----------
    start, stop, hold, enable, restart, swap : float
        Of the host, in a cycle.
    fault, mute : float
        Of a block: a fault, and a report that comes very late, whatever is killed.
    stray : float
        Of an SM with nothing to report, in a cycle: a report of any slot, also in the boot.
    longest : int
        Cycles of the longest block.
    large : float
        Chance of a launch of large blocks.
    """

    start: float = 0.1
    stop: float = 0.01
    hold: float = 0.02
    enable: float = 0.01
    restart: float = 0.001
    swap: float = 0.02
    fault: float = 0.02
    mute: float = 0.0
    stray: float = 0.0
    longest: int = 40
    large: float = 0.5


class DispatcherTraffic:
    """Inputs of each cycle; in the last part all runs come to their ends.

    Parameters
    ----------
    config : Config
        The machine.
    mood : Mood
        How often things happen.
    seed : int
        Of the random numbers.
    till : int
        Cycle from which on nothing new begins: no start, no hold, all SMs in use.
    """

    def __init__(self, config: Config, mood: Mood, seed: int, till: int):
        self._config, self._mood, self._till = config, mood, till
        self._random = random.Random(seed)
        self._start = resident_packets.resident_start(config)
        self._block = resident_packets.resident_block(config)
        self._report = layouts.block_report(config)
        self._end = resident_packets.resident_end(config)
        self._streams = range(1 << config.stream_bits)
        self._boot = timing(config).resident_boot
        self._cycle = -1
        self._wide = 0
        self._hold, self._enable = 0, (1 << config.sms) - 1
        self._inputs: dict[str, int] = {}
        self._forget()

    def _forget(self) -> None:
        self._booted = self._cycle + 1 + self._boot
        self._free_from = dict.fromkeys(self._streams, 0)
        #: Of each SM: cycle, stream, slot and status of what it will report.
        self._due: list[list[list[int]]] = [[] for _ in range(self._config.sms)]
        self._standing: list[int | None] = [None] * self._config.sms

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance

    def next(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        kill = no_sm = 0
        if outputs is not None:
            kill, no_sm = outputs["kill"] or 0, outputs["no_sm"] or 0
            self._see(outputs)
        self._cycle += 1
        going = self._cycle < self._till
        self._inputs = {"start__valid": 0, "start__payload": 0, "order_swap__valid": 0}
        self._inputs |= {"order_swap__payload": 0, "clock": self._cycle * _TICK & 0xFFFFFFFF}
        self._inputs["restart"] = int(going and self._happens(self._mood.restart))
        self._inputs["stop"] = self._stops(going, no_sm)
        self._inputs["ended__ready"] = int(not going or self._happens(0.7))
        self._levels(going)
        if going and self._happens(self._mood.start):
            self._try_start()
        if self._config.has_order_table and self._happens(self._mood.swap):
            self._inputs["order_swap__valid"] = 1
            bits = layouts.order_swap(self._config).bits
            self._inputs["order_swap__payload"] = self._random.getrandbits(bits)
        for sm in range(self._config.sms):
            self._report_of(sm, kill)
        return self._inputs

    def _see(self, outputs: Mapping[str, int | None]) -> None:
        before = self._inputs
        for sm in range(self._config.sms):
            if before[f"report__{sm}__valid"] and outputs[f"report__{sm}__ready"]:
                self._standing[sm] = None
        if outputs["offer"] and outputs["block"] is not None:
            said = self._block.unpack(outputs["block"])
            self._run(outputs["offer"].bit_length() - 1, said["stream"], said["slot"])
        if outputs["ended__valid"] and before["ended__ready"]:
            stream = self._end.unpack(outputs["ended__payload"] or 0)["stream"]
            self._free_from[stream] = self._cycle + 8
        if before["restart"]:
            self._forget()

    def _run(self, sm: int, stream: int, slot: int) -> None:
        status = BlockStatus.FAULT if self._happens(self._mood.fault) else BlockStatus.OK
        length = self._random.randrange(1, self._mood.longest + 1)
        if self._cycle < self._till and self._happens(self._mood.mute):
            stream, length = _NOBODY, self._random.choice(_MUTE)
        self._due[sm].append([self._cycle + length, stream, slot, status])

    def _report_of(self, sm: int, kill: int) -> None:
        """Let an SM report a block that is due; killed ones are due soon."""
        due = self._due[sm]
        for one in due:
            if one[1] != _NOBODY and kill >> one[1] & 1 and self._happens(0.2):
                one[0] = min(one[0], self._cycle)
                if self._happens(0.7) and one[3] == BlockStatus.OK:
                    one[3] = BlockStatus.KILLED
        ready = [one for one in due if one[0] <= self._cycle]
        if self._standing[sm] is None and ready:
            one = self._random.choice(ready)
            due.remove(one)
            self._standing[sm] = self._report.pack({"slot": one[2], "status": int(one[3])})
        elif self._standing[sm] is None and self._mood.stray and self._happens(self._mood.stray):
            self._standing[sm] = self._random.getrandbits(self._report.bits)
        standing = self._standing[sm]
        self._inputs[f"report__{sm}__valid"] = int(standing is not None)
        self._inputs[f"report__{sm}__payload"] = standing or 0

    def _stops(self, going: bool, no_sm: int) -> int:
        """Stop at random; in the last part wide launches, and all if every SM is lost."""
        if not going:
            return (1 << len(self._streams)) - 1 if no_sm else self._wide
        return sum(1 << s for s in self._streams if self._happens(self._mood.stop))

    def _levels(self, going: bool) -> None:
        everyone = (1 << self._config.sms) - 1
        if not going or self._happens(_RELIEF):
            self._hold, self._enable = 0, everyone
        elif self._happens(self._mood.hold):
            self._hold |= 1 << self._random.choice(self._streams)
        elif self._happens(self._mood.enable):
            self._enable = self._random.getrandbits(self._config.sms)
        self._inputs |= {"hold": self._hold, "enable": self._enable}

    def _try_start(self) -> None:
        """Start a launch in a stream that is free, if there is one."""
        free = [s for s, since in self._free_from.items() if since <= self._cycle]
        if self._cycle < self._booted or not free:
            return
        stream = self._random.choice(free)
        self._free_from[stream] = 1 << 60
        large = self._happens(self._mood.large)
        fields = {f.name: 0 for f in self._start.fields}
        for resource in SM_RESOURCES:
            if resource.name != "slots":
                most = resource.capacity(self._config)
                fields[resource.name] = self._random.randint(0, most if large else most // 4)
        fields["warps"] = max(1, fields["warps"])
        grid = self._random.choice(
            [(1, 1, 1), (2, 1, 1), (3, 2, 1), (1, 3, 2), (2, 2, 3), (20, 1, 1)]
        )
        fields |= dict(zip(("gx", "gy", "gz"), grid, strict=True))
        if self._mood.stop and self._happens(_WIDE):
            self._wide |= 1 << stream
            for name, bits in zip(("gx", "gy", "gz"), self._config.grid_bits, strict=True):
                fields[name] = self._random.randrange(1, 1 << bits)
        fields |= {"stream": stream, "priority": self._random.getrandbits(2)}
        fields["wait_mode"] = int(self._happens(0.3))
        for name in ("entry", "index_address"):
            bits = next(f.bits for f in self._start.fields if f.name == name)
            fields[name] = self._random.getrandbits(bits)
        self._inputs["start__valid"] = 1
        self._inputs["start__payload"] = self._start.pack(fields)
