"""Five ways to keep a dispatcher busy, and how long it places a block in every cycle."""

from collections import deque
from collections.abc import Iterator, Mapping

from tb.support.dispatch_configs import config_of
from warploom_sim.cosim.lockstep import Context, Pace
from warploom_spec import layouts

Ports = Mapping[str, int]
#: Blocks of a long launch; more than the 10,000 that are demanded.
BLOCKS = 10_496
SCENES = ("room everywhere", "room in three SMs", "all SMs at once")
#: Scenes in which two cycles without a block may stand between two blocks.
PAUSING_SCENES = ("room in one SM", "change of kernel")
#: How many SMs the first launch leaves free for ever.
LEFT = {"room in one SM": 1, "room in three SMs": 3}
STREAK = "blocks placed in as many cycles"
PAUSES, PAUSING = "pauses between them", "blocks placed with pauses of two cycles"
#: Cycles of a pause, at most: one SM takes a block in every third cycle; so long is a change, too.
PAUSE = 2


class Streak:
    """Observer: how many blocks come one a cycle, and how many with pauses of `PAUSE` at most.

    For SMs that take every offer at once, so that each valid offer is a new one.
    """

    def __init__(self) -> None:
        self._longest = self._longest_pausing = self._pauses = 0
        self.reset()

    def reset(self) -> None:
        """A run of cycles ends."""
        self._now = 0
        # The same with pauses: blocks, pauses, cycles since the last block.
        self._pausing, self._paused, self._idle = 0, 0, 0

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one cycle."""
        offers = sum(value for name, value in outputs.items() if _is_offer(name))
        self._now = self._now + 1 if offers == 1 else 0
        self._longest = max(self._longest, self._now)
        if offers != 1:
            self._idle += 1
            return
        if self._idle > PAUSE:
            self._pausing, self._paused = 0, 0
        elif self._idle and self._pausing:
            self._paused += 1
        self._idle = 0
        self._pausing += 1
        if self._pausing > self._longest_pausing:
            self._longest_pausing, self._pauses = self._pausing, self._paused

    def counts(self) -> dict[str, int]:
        """Return both longest runs, in blocks, and the pauses of the second one."""
        return {STREAK: self._longest, PAUSING: self._longest_pausing, PAUSES: self._pauses}


def _is_offer(name: str) -> bool:
    return name.startswith("offer__") and name.endswith("__valid")


class BusyHost:
    """Launches as fast as they are taken; SMs that take at once and report in order.

    The option ``scene`` names one of `SCENES` or `PAUSING_SCENES`:

    - room everywhere: a long launch of blocks that last 8 cycles;
    - room in one SM, room in three SMs: a first launch fills all SMs but the last ones for ever,
      then a long launch of blocks that last 1 cycle;
    - all SMs at once: a long launch fills the SMs, then each reports a block in every cycle that is
      a multiple of the number of SMs;
    - change of kernel: launches of 256 blocks that last 2 cycles, in streams that alternate.
    """

    def __init__(self, context: Context):
        self._config = config_of(context.params["config"])
        self._scene: str = context.options["scene"]
        self._packet = layouts.dispatch_launch(self._config)
        self._offer = layouts.block_offer(self._config)
        self._report = layouts.block_report(self._config)
        self._sms = range(self._config.sms)
        self._launch = context.driver("launch", self._launches(), Pace(context.rng, (1.0,)))
        self._ended = context.sink("ended", Pace(context.rng, (1.0,)))
        self._idle = {
            name: 0 for name in context.ports.inputs if name.startswith(("stop", "order"))
        }
        # Cycle from which a block is reported, and its slot, in order of placement.
        self._running: list[deque[tuple[int, int]]] = [deque() for _ in self._sms]
        self._cycle = -1
        self._left = LEFT.get(self._scene, 0)
        self._filling = bool(self._left) or self._scene == "all SMs at once"

    def _launches(self) -> Iterator[int]:
        """Yield the scene's launches; every block takes two warps unless it is to fill an SM."""
        base = dict.fromkeys((f.name for f in self._packet.fields), 0)
        base |= {"gx": 1, "gy": 1, "gz": 1, "warps": 2, "entries": 1, "after_previous": 1}
        ticket = 1
        if self._left:
            fill = min(self._config.max_warps, self._config.warp_slots)
            count = (self._config.warp_slots // fill) * (self._config.sms - self._left)
            yield self._packet.pack(base | {"ticket": ticket, "gx": count, "warps": fill})
            ticket += 1
        blocks = 256 if self._scene == "change of kernel" else BLOCKS
        for number in range(BLOCKS // blocks):
            changes = {"ticket": ticket + number, "gx": blocks, "stream": 1 + number % 3}
            yield self._packet.pack(base | changes)

    def next(self, outputs: Ports | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        self._cycle += 1
        values = self._idle | self._launch.next(outputs) | self._ended.next(outputs)
        if outputs is not None:
            self._take(outputs)
        all_but_last = (1 << self._config.sms - self._left) - 1
        values["enable"] = all_but_last if self._only_fills() else (1 << self._config.sms) - 1
        for n in self._sms:
            slot = self._reported(n)
            values |= {
                f"offer__{n}__ready": 1,
                f"report__{n}__valid": int(slot is not None),
                f"report__{n}__payload": self._report.pack({"slot": slot or 0, "status": 0}),
            }
        return values

    def _only_fills(self) -> bool:
        """Whether the first launch is still to fill all SMs but the last ones."""
        if self._left and self._filling:
            filled = all(self._running[: len(self._sms) - self._left])
            self._filling = not filled or self._cycle < 120
            return True
        return False

    def _take(self, outputs: Ports) -> None:
        length = {"room everywhere": 8, "change of kernel": 2}.get(self._scene, 1)
        for n in self._sms:
            if outputs[f"offer__{n}__valid"]:
                slot = self._offer.unpack(outputs[f"offer__{n}__payload"])["slot"]
                self._running[n].append((self._cycle - 1 + length, slot))

    def _reported(self, n: int) -> int | None:
        """Return the slot of SM n that is reported in this cycle."""
        running = self._running[n]
        if n < len(self._sms) - self._left and self._left:
            return None
        if self._scene == "all SMs at once":
            most = min(self._config.block_slots, self._config.warp_slots // 2)
            if self._filling and all(len(blocks) == most for blocks in self._running):
                self._filling = False
            if self._filling or self._cycle % len(self._sms):
                return None
        if not running or running[0][0] > self._cycle:
            return None
        return running.popleft()[1]
