"""Four ways to keep a dispatcher busy, and how long it places a block in every cycle."""

from collections import deque
from collections.abc import Iterator, Mapping

from tb.support.dispatch_configs import config_of
from warploom_sim.lockstep import Context, Pace
from warploom_spec import layouts

Ports = Mapping[str, int]
#: Blocks of a long launch; more than the 10,000 that are demanded.
BLOCKS = 10_496
SCENES = ("room everywhere", "room in one SM", "all SMs at once", "change of kernel")


class Streak:
    """Observer: the longest run of cycles in each of which exactly one new offer is valid.

    For SMs that take every offer at once, so that each valid offer is a new one.
    """

    def __init__(self) -> None:
        self._now = 0
        self._longest = 0

    def reset(self) -> None:
        """A run of cycles ends."""
        self._now = 0

    def see(self, cycle: int, inputs: Ports, outputs: Ports) -> None:
        """Take in one cycle."""
        offers = sum(value for name, value in outputs.items() if _is_offer(name))
        self._now = self._now + 1 if offers == 1 else 0
        self._longest = max(self._longest, self._now)

    def counts(self) -> dict[str, int]:
        """Return the longest run."""
        return {"blocks placed in as many cycles": self._longest}


def _is_offer(name: str) -> bool:
    return name.startswith("offer__") and name.endswith("__valid")


class BusyHost:
    """Launches as fast as they are taken; SMs that take at once and complete in order.

    The option ``scene`` names one of `SCENES`:

    - room everywhere: a long launch of blocks that last 8 cycles;
    - room in one SM: a first launch fills all SMs but the last for ever, then a long launch of
      blocks that last 1 cycle;
    - all SMs at once: a long launch fills the SMs, then each completes a block in every cycle that
      is a multiple of the number of SMs;
    - change of kernel: launches of 256 blocks that last 2 cycles, in streams that alternate.
    """

    def __init__(self, context: Context):
        self._config = config_of(context.params["config"])
        self._scene: str = context.options["scene"]
        self._packet = layouts.dispatch_launch(self._config)
        self._offer = layouts.block_offer(self._config)
        self._completion = layouts.block_completion(self._config)
        self._sms = range(self._config.sms)
        self._launch = context.driver("launch", self._launches(), Pace(context.rng, (1.0,)))
        self._ended = context.sink("ended", Pace(context.rng, (1.0,)))
        self._idle = {
            name: 0 for name in context.ports.inputs if name.startswith(("stop", "order", "ackn"))
        }
        # Cycle from which a block completes, and its slot, in order of placement.
        self._running: list[deque[tuple[int, int]]] = [deque() for _ in self._sms]
        self._cycle = -1
        self._filling = self._scene in ("room in one SM", "all SMs at once")

    def _launches(self) -> Iterator[int]:
        """Yield the scene's launches; every block takes two warps unless it is to fill an SM."""
        base = dict.fromkeys((f.name for f in self._packet.fields), 0)
        base |= {"gx": 1, "gy": 1, "gz": 1, "warps": 2, "entries": 1, "after_previous": 1}
        ticket = 1
        if self._scene == "room in one SM":
            fill = min(self._config.max_warps, self._config.warp_slots)
            count = (self._config.warp_slots // fill) * (self._config.sms - 1)
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
        all_but_last = (1 << self._config.sms - 1) - 1
        values["enable"] = all_but_last if self._only_fills() else (1 << self._config.sms) - 1
        for n in self._sms:
            slot = self._completes(n)
            values |= {
                f"offer__{n}__ready": 1,
                f"completion__{n}__valid": int(slot is not None),
                f"completion__{n}__payload": self._completion.pack({"slot": slot or 0, "code": 0}),
            }
        return values

    def _only_fills(self) -> bool:
        """Whether the first launch is still to fill all SMs but the last."""
        if self._scene == "room in one SM" and self._filling:
            self._filling = not all(self._running[:-1]) or self._cycle < 60
            return True
        return False

    def _take(self, outputs: Ports) -> None:
        length = {"room everywhere": 8, "change of kernel": 2}.get(self._scene, 1)
        for n in self._sms:
            if outputs[f"offer__{n}__valid"]:
                slot = self._offer.unpack(outputs[f"offer__{n}__payload"])["slot"]
                self._running[n].append((self._cycle - 1 + length, slot))

    def _completes(self, n: int) -> int | None:
        """Return the slot of SM n that completes in this cycle."""
        running = self._running[n]
        if self._scene == "room in one SM" and n != len(self._sms) - 1:
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
