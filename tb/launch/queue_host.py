"""Hosts and LaunchCheck before KernelQueue: launches, commands and pops at random."""

from collections import deque
from dataclasses import dataclass, replace
from random import Random

from warploom_spec import Config, ErrorCode, queue_packets
from warploom_spec.queue_packets import QueueOpcode
from warploom_spec.timing import timing

#: An error of LaunchCheck, and the chance of one.
WRONG, WRONG_RATE = ErrorCode.GRID_ZERO, 0.03
#: Tickets that a host remembers for its ABORTs.
REMEMBERED = 8
COUNTS = 1 << 16
#: Chance of a mood in which everything is preempted and resumed again and again.
RESTLESS_RATE = 0.15
#: Chance of a mood in which half of the streams have one priority, and half another.
KIN_RATE = 0.25


@dataclass
class Mood:
    """How a host behaves for some hundred cycles; each number is a chance of a cycle.

    Attributes
    ----------
    launch, command, abort, clear, pop : float
        A launch, a command, an ABORT, `clear_stream` and a pop.
    polite : float
        Of a launch: it waits for its bit of ``room``.
    odd : float
        Of a launch: another priority than its stream's.
    waits : float
        Of a pair: it is valid.
    overlap : float
        Of a launch: its ``after_previous`` is 0.
    idempotent : float
        Of a launch.
    urgent : float
        Of a launch: its stream is any one, not the lower of two.
    streams : int
        Streams that it uses.
    modes : tuple of int
        Modes that it uses.
    purge : float
        Of a command: it is ABORT_STREAMS.
    limit : int
        ``launch_timeout``.
    """

    launch: float
    command: float
    abort: float
    clear: float
    pop: float
    polite: float
    odd: float
    waits: float
    overlap: float
    idempotent: float
    urgent: float
    streams: int
    modes: tuple[int, ...]
    purge: float
    limit: int

    @classmethod
    def random(cls, rng: Random, config: Config) -> "Mood":
        """Draw one."""
        return cls(
            launch=rng.choice((0.02, 0.05, 0.1, 0.5)),
            command=rng.choice((0.0, 0.01, 0.05, 0.3)),
            abort=rng.choice((0.0, 0.01, 0.1, 0.5)),
            clear=rng.choice((0.0, 0.05)),
            pop=rng.choice((0.02, 0.3, 1.0, 1.0)),
            polite=rng.choice((0.0, 0.9)),
            odd=rng.choice((0.0, 0.0, 0.1)),
            waits=rng.choice((0.0, 0.2, 0.6, 1.0)),
            overlap=rng.choice((0.0, 0.5, 0.9)),
            idempotent=rng.choice((0.1, 0.6, 1.0, 1.0)),
            urgent=rng.choice((0.1, 0.5, 1.0)),
            streams=rng.choice((2, 2, min(4, 1 << config.stream_bits), 1 << config.stream_bits)),
            modes=rng.choice((range(8), range(5), (0, 1), (0, 1), (2,), (3,), (4,), (0, 3, 4))),
            purge=rng.choice((0.0, 0.0, 0.02, 0.2, 0.8)),
            limit=rng.choice((0, 0, 0, 10, 30, 100, 1 << rng.randrange(8, 32))),
        )

    def stream(self, rng: Random, priorities: list[int]) -> int:
        """Draw a launch's stream. Low launches are more: an urgent one meets some that run."""
        some = rng.sample(range(self.streams), 2)
        low = min(some, key=lambda number: priorities[number])
        return some[0] if rng.random() < self.urgent else low

    def pairs(self, rng: Random, waits: int, counts: list[int], furthest: int) -> dict[str, int]:
        """Draw a launch's pairs: most for what was accepted, seldom for what was not yet."""
        fields = {}
        for k in range(waits):
            stream = rng.randrange(self.streams)
            near = 0, 0, 1, 2, rng.randrange(8)
            back = rng.choice((*near, furthest, furthest ^ 1 << rng.randrange(15)))
            if rng.random() < 0.05:
                back = -rng.choice((1, 2, 0x4000))
            fields[f"wait{k}_valid"] = int(rng.random() < self.waits)
            fields[f"wait{k}_stream"] = stream
            fields[f"wait{k}_count"] = (counts[stream] - back) % COUNTS
        return fields


def restless(rng: Random, mood: Mood) -> Mood:
    """Return the mood in which everything is preempted and resumed again and again."""
    rates = {"launch": 0.05, "command": 0.3, "abort": 0.0, "purge": 0.0, "limit": 0}
    modes = rng.choice(((0, 1), (0, 1), (2,), range(8)))
    return replace(mood, idempotent=1.0, modes=tuple(modes), **rates)


def any_priority(rng: Random, config: Config) -> int:
    """Draw a priority."""
    return rng.randrange(1 << config.priority_bits)


def redraw(rng: Random, config: Config, priorities: list[int]) -> None:
    """Change the streams' priorities for a new mood: one, or all to two values."""
    streams = len(priorities)
    if rng.random() < KIN_RATE:
        two = [any_priority(rng, config), any_priority(rng, config)]
        priorities[:] = rng.sample((two * streams)[:streams], streams)
    one = rng.randrange(streams)
    priorities[one] = any_priority(rng, config)


class Host:
    """Sends launches through LaunchCheck, commands and ABORTs, and pops records.

    Parameters
    ----------
    config : Config
        The machine.
    rng : Random
        For all that it does.
    first_count : int
        The streams' accepted count after a restart.
    """

    def __init__(self, config: Config, rng: Random, first_count: int):
        self._config, self._rng = config, rng
        self._first_count = first_count
        self._sent = queue_packets.queue_sent(config)
        self._checked = queue_packets.queue_launch(config)
        self._command = queue_packets.queue_command(config)
        self._answer = queue_packets.queue_answer(config)
        self._stream = queue_packets.queue_stream(config)
        self._streams = 1 << config.stream_bits
        self._everyone = (1 << self._streams) - 1
        self.check: deque[dict[str, int] | None] = deque([None] * timing(config).launch_check)
        self.mood = Mood.random(rng, config)
        self._priorities = [any_priority(self._rng, self._config) for _ in range(self._streams)]
        self.forget()
        self._room = 0
        self._tickets: deque[int] = deque(maxlen=REMEMBERED)
        self._ticket: int | None = None
        self._unpopped = 0
        self._everything = False
        self._judged: dict[str, int] = {}

    def forget(self) -> None:
        """Follow a restart: the streams' counts are the first ones."""
        self._counts = [self._first_count] * self._streams

    def change_mood(self) -> None:
        """Behave differently from now on; now and then preempt and resume without end."""
        self.mood = Mood.random(self._rng, self._config)
        self._everything = self._rng.random() < RESTLESS_RATE
        if self._everything:
            self.mood = restless(self._rng, self.mood)
        redraw(self._rng, self._config, self._priorities)

    def hear(self, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        """Take in the last cycle."""
        self._room = outputs["room"]
        self._unpopped += bool(outputs["record"]) - inputs["record_taken"]
        if inputs["abort__valid"] and outputs["abort__ready"]:
            self._ticket = None
        if inputs["checked"]:
            self._judged = self._checked.unpack(inputs["checked"])
        if outputs["answer"]:
            answer = self._answer.unpack(outputs["answer"])
            if not answer["code"]:
                self._counts[self._judged["stream"]] = answer["count"]
                self._tickets.append(answer["ticket"])

    def speak(self, *, quiet: bool) -> dict[str, int]:
        """Return the inputs of a cycle.

        Parameters
        ----------
        quiet : bool
            No launch, no ABORT and no PREEMPT; all streams are resumed and cleared.
        """
        rng, mood = self._rng, self.mood
        launch = None if quiet or rng.random() >= mood.launch else self._launch()
        self.check.append(launch)
        judged = self.check.popleft()
        values = {
            "sent": 0 if launch is None else self._order(launch),
            "checked": 0 if judged is None else self._word(judged),
            "command": self._say(quiet),
            "clear_stream": 0,
            "record_taken": int(self._unpopped > 0 and rng.random() < mood.pop),
            "launch_timeout": mood.limit,
        }
        if rng.random() < mood.clear or quiet:
            values["clear_stream"] = self._stream.pack(
                {"valid": 1, "stream": rng.randrange(self._streams)}
            )
        return values | self._name(quiet)

    def _name(self, quiet: bool) -> dict[str, int]:
        """Offer an ABORT until it is taken."""
        rng = self._rng
        if self._ticket is None and not quiet and rng.random() < self.mood.abort:
            known = self._tickets and rng.random() < 0.9
            self._ticket = rng.choice(self._tickets) if known else rng.getrandbits(32)
        return {"abort__valid": int(self._ticket is not None), "abort__payload": self._ticket or 0}

    @property
    def asks(self) -> bool:
        """Whether an ABORT is offered."""
        return self._ticket is not None

    def _say(self, quiet: bool) -> int:
        rng = self._rng
        if quiet:
            if rng.random() < 0.9:
                return 0
            fields = {"opcode": QueueOpcode.RESUME, "mask": self._everyone}
            return self._command.pack({"valid": 1, **fields})
        if rng.random() >= self.mood.command:
            return 0
        opcode = rng.choice((0, 1, 1))
        if rng.random() < self.mood.purge:
            opcode = rng.choice((2, 3))
        mask = rng.choice(
            (1 << rng.randrange(self.mood.streams), rng.getrandbits(self._streams), self._everyone)
        )
        if self._everything or (opcode == QueueOpcode.RESUME and rng.random() < 0.3):
            mask = self._everyone
        return self._command.pack({"valid": 1, "opcode": opcode, "mask": mask})

    def _launch(self) -> dict[str, int] | None:
        """Return a launch's fields, or None if its host waits for room."""
        rng, mood = self._rng, self.mood
        stream = mood.stream(rng, self._priorities)
        priority = self._priorities[stream]
        if rng.random() < mood.odd:
            priority = any_priority(self._rng, self._config)
        if rng.random() < mood.polite and not self._room >> priority & 1:
            return None
        wide = {"error", "argument", "valid"}
        fields = {
            field.name: rng.getrandbits(field.bits) if field.bits else 0
            for field in self._checked.fields
            if field.name not in wide
        }
        fields |= {
            "valid": 1,
            "error": WRONG if rng.random() < WRONG_RATE else 0,
            "argument": rng.randrange(4),
            "stream": stream,
            "priority": priority,
            "after_previous": int(rng.random() >= mood.overlap),
            "idempotent": int(rng.random() < mood.idempotent),
            "mode": rng.choice(mood.modes),
        }
        return fields | mood.pairs(rng, self._config.launch_waits, self._counts, 0x7FFF)

    def _order(self, launch: dict[str, int]) -> int:
        return self._sent.pack({field.name: launch[field.name] for field in self._sent.fields})

    def _word(self, launch: dict[str, int]) -> int:
        """Return the launch as LaunchCheck says it; a refused one's fields may have any value."""
        fields = dict(launch)
        if launch["error"]:
            for field in self._checked.fields:
                if field.bits and field.name not in ("valid", "error", "argument"):
                    fields[field.name] = self._rng.getrandbits(field.bits)
        return self._checked.pack({f.name: fields[f.name] for f in self._checked.present})
