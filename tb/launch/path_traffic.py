"""What is around LaunchPath at random: a host with launches and commands."""

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tb.launch.path_script import queued_word
from tb.launch.path_sms import PathSms
from warploom_spec import Config, LaunchDescriptor, queue_packets, resident_packets
from warploom_spec.queue_packets import WAIT_BITS, QueueOpcode

Values = Mapping[str, int | None]
_STREAMS = "launch", "command", "abort", "clear_stream"
#: Cycles of a soft reset after which the host sends nothing more.
_SENDS_ON = 60
#: Cycles from a launch to the first one in which `room` has counted it.
_ROOM = 3


@dataclass(frozen=True)
class Mood:
    """How often things happen, each the chance in a cycle, of a launch, or of a block.

    Attributes
    ----------
    launch, preempt, resume, abort_streams, abort, clear, take : float
        Of the host, in a cycle; the last one pops a record.
    wait : float
        Of each pair of a launch.
    same_priority, refused : float
        That a launch has its stream's priority; that LaunchCheck refuses it.
    shapes : int
        Shapes of blocks.
    large : float
        That a launch's blocks fill an SM.
    lengths : tuple of int
        Cycles of a block; a launch has one of them.
    fault, mute : float
        Of a block: a fault, and that no kill ends it.
    enable : float
        That SMs are switched off, in a cycle.
    reset : float
        That a soft reset begins, in a cycle.
    limits : tuple of int
        What ``launch_timeout`` may be.
    """

    launch: float = 0.1
    preempt: float = 0.003
    resume: float = 0.02
    abort_streams: float = 0.001
    abort: float = 0.004
    clear: float = 0.02
    take: float = 0.1
    wait: float = 0.3
    same_priority: float = 0.99
    refused: float = 0.03
    shapes: int = 4
    large: float = 0.2
    lengths: tuple[int, ...] = (1, 5, 30, 200)
    fault: float = 0.0
    mute: float = 0.0
    enable: float = 0.002
    reset: float = 0.0
    limits: tuple[int, ...] = (0,)


class PathTraffic:
    """Inputs of each cycle, by what the last one showed.

    Parameters
    ----------
    config : Config
        The machine.
    mood : Mood
        How often things happen.
    rng : random.Random
        For everything.
    till : int
        Cycle from which on nothing new begins, and nothing stays held.
    first_count : int
        The machine's first count.
    """

    def __init__(
        self, config: Config, mood: Mood, rng: random.Random, till: int, first_count: int = 0
    ):
        self._config, self._mood, self._rng, self._till = config, mood, rng, till
        self._command = resident_packets.resident_command(config)
        self._answer = queue_packets.queue_answer(config)
        self._code = queue_packets.queue_code(config)
        self._streams = 1 << config.stream_bits
        self._first_count, self._tickets = first_count, [1]
        self._shapes = [self._shape() for _ in range(mood.shapes)]
        self._now, self._resetting = -1, 0
        self._enable, self._limit = (1 << config.sms) - 1, mood.limits[0]
        self._inputs: dict[str, int] = {}
        self._restarted()

    def _restarted(self) -> None:
        self._sms = PathSms(self._config, self._mood, self._rng)
        self._priorities = [
            self._rng.randrange(1 << self._config.priority_bits) for _ in range(self._streams)
        ]
        self._accepted = [self._first_count] * self._streams
        self._asked: deque[int] = deque()
        self._standing: dict[str, int] = {}
        self._sent, self._held, self._pending = -_ROOM, 0, False
        self._priority = 0

    @property
    def winds_up(self) -> bool:
        """Whether nothing new begins."""
        return self._now >= self._till or self._resetting > _SENDS_ON

    def next(self, outputs: Values | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        shown: dict[str, int] = dict.fromkeys(("room", "records_left", "idle", "kill"), 0)
        if outputs is not None:
            self._see(outputs)
            shown = {name: outputs[name] or 0 for name in shown}
            if self._inputs["restart"]:
                self._restarted()
                self._resetting, shown = 0, dict.fromkeys(shown, 0)
        self._now += 1
        rng, mood, config = self._rng, self._mood, self._config
        self._choose(shown["room"])
        values = {"tables": 0, "pop": int(rng.random() < mood.take)}
        room = shown["room"] >> self._priority & 1 and shown["records_left"]
        for name in _STREAMS:
            valid = name in self._standing and (name != "launch" or bool(room))
            values[f"{name}__valid"] = int(valid)
            values[f"{name}__payload"] = self._standing[name] if valid else 0
        if rng.random() < mood.enable:
            self._enable = rng.getrandbits(config.sms) or 1
        if self.winds_up or rng.random() < 0.02:
            self._enable = (1 << config.sms) - 1
        if rng.random() < 0.002:
            self._limit = rng.choice(mood.limits)
        values |= {"enable": self._enable, "launch_timeout": self._limit}
        values |= self._sms.inputs(self._now, shown["kill"], calm=self.winds_up)
        values |= self._soft_reset(bool(shown["idle"]), values)
        self._inputs = values
        return values

    def _soft_reset(self, idle: bool, values: Mapping[str, int]) -> dict[str, int]:
        """Begin and end soft resets; a restart comes in an idle cycle without a transfer."""
        if self._resetting:
            self._resetting += 1
        elif not self.winds_up and self._rng.random() < self._mood.reset:
            self._resetting = 1
        offers = any(values[f"{n}__valid"] or self._inputs.get(f"{n}__valid") for n in _STREAMS)
        restart = idle and self._resetting > 2 and not offers
        return {"soft_reset_active": int(bool(self._resetting)), "restart": int(restart)}

    def _choose(self, room: int) -> None:
        """Let something new stand at the host's streams."""
        rng, mood, standing = self._rng, self._mood, self._standing
        if "command" not in standing and (command := self._next_command()):
            opcode, mask = command
            standing["command"] = self._command.pack({"opcode": opcode, "mask": mask})
        if self.winds_up:
            return
        known = "launch" not in standing and self._now >= self._sent + _ROOM
        if known and rng.random() < mood.launch:
            self._next_launch(room)
        if "abort" not in standing and rng.random() < mood.abort:
            standing["abort"] = rng.choice(self._tickets[-8:])
        if "clear_stream" not in standing and rng.random() < mood.clear:
            standing["clear_stream"] = rng.randrange(self._streams)

    def _next_command(self) -> tuple[int, int] | None:
        rng, mood = self._rng, self._mood
        every = (1 << self._streams) - 1
        mask = rng.getrandbits(self._streams) & rng.getrandbits(self._streams)
        if self.winds_up:
            if self._held:
                return QueueOpcode.RESUME, self._held
            # What no SM reports has to be killed.
            stuck = mood.mute and rng.random() < 0.005 and not self._resetting
            return (QueueOpcode.ABORT_STREAMS, every) if stuck else None
        if rng.random() < mood.preempt:
            return QueueOpcode.PREEMPT, mask
        if rng.random() < mood.resume:
            return QueueOpcode.RESUME, rng.choice((self._held, mask))
        if rng.random() < mood.abort_streams:
            return rng.choice((QueueOpcode.ABORT_STREAMS, QueueOpcode.ABORT_STREAMS + 1)), mask
        return None

    def _shape(self) -> tuple[tuple[int, int, int], int]:
        """Return a block and the address of its indices."""
        config, rng = self._config, self._rng
        block = (rng.choice((1, 3, 8, 17)), rng.choice((1, 2)), 1)
        warps = -(-block[0] * block[1] // config.warp_size)
        room = max(0, config.index_memory_warps - warps)
        return block, rng.randint(0, room)

    def _next_launch(self, room: int) -> None:
        rng, mood, config = self._rng, self._mood, self._config
        stream, other = rng.randrange(self._streams), rng.randrange(1 << config.priority_bits)
        priority = self._priorities[stream] if rng.random() < mood.same_priority else other
        if not room >> priority & 1:
            return
        block, address = rng.choice(self._shapes)
        grid = (rng.choice((1, 2, 3, 9)), rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2)))
        if rng.random() < mood.refused:
            grid = (0, 1, 1)
        large = rng.random() < mood.large
        descriptor = LaunchDescriptor(
            grid=grid,
            block=block,
            warp_registers=rng.choice((0, 1, 4)),
            shared=config.shared_units if large else rng.choice((0, 3)),
            barriers=rng.choice((0, 1)),
            index_address=address if config.makes_indices else 0,
            code=rng.choice(mood.lengths),
            arguments=rng.getrandbits(32),
        )
        order = {"stream": stream, "priority": priority, "idempotent": rng.getrandbits(1)}
        if config.has_loops:
            order |= {"loop": rng.randint(0, config.loop_sections), "quiet": rng.getrandbits(1)}
        waits = []
        for _ in range(config.launch_waits):
            if rng.random() < mood.wait:
                awaited = rng.randrange(self._streams)
                back = rng.choice((0, 0, 0, 1, 2, 5, 30_000)) - (rng.random() < 0.02)
                relative = config.has_loops and rng.random() < 0.5
                if relative:
                    order[f"wait{len(waits)}_relative"] = 1
                count = back if relative else self._accepted[awaited] - back
                waits.append((awaited, count % (1 << WAIT_BITS)))
        order["mode"] = rng.choice((0, 0, 1, 1, 2, 3, 4)) if rng.random() < 0.98 else 6
        self._priority = priority
        self._standing["launch"] = queued_word(config, descriptor, waits, **order)
        self._launched = stream

    def _see(self, outputs: Values) -> None:
        """Note what the last cycle showed."""
        for name in list(self._standing):
            if self._inputs[f"{name}__valid"] and outputs[f"{name}__ready"]:
                payload = self._standing.pop(name)
                if name == "launch":
                    self._sent = self._now
                    self._asked.append(self._launched)
                elif name == "command":
                    self._see_command(self._command.unpack(payload))
        if outputs["answer"]:
            answer = self._answer.unpack(outputs["answer"])
            stream = self._asked.popleft()
            if not answer["code"]:
                self._accepted[stream] += 1
                self._tickets.append(answer["ticket"])
        self._sms.see(self._now, self._inputs, outputs)

    def _see_command(self, command: Mapping[str, int]) -> None:
        """Note who may be held now."""
        if command["opcode"] == QueueOpcode.PREEMPT:
            self._held |= command["mask"]
        elif command["opcode"] == QueueOpcode.RESUME:
            self._held &= ~command["mask"]
