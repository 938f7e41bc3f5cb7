"""All that is around LaunchPath, at random: a host, SMs, busy and quiet times."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random

from tb.launch.path_moods import Busy
from tb.launch.queue_host import REMEMBERED, any_priority, redraw
from tb.support.dispatch_configs import config_of
from tb.support.index_cases import few_places, reads_of
from tb.support.launch_cases import LEAST, legal_launch, sharp_grid, spoiled_launch
from tb.support.sm_behaviour import PERIOD, SmBehaviour, mixed, no_stops, sm_loss
from tb.support.sm_cores import SmCores
from warploom_golden.oracles.index_reference import Dims, is_legal, warps
from warploom_sim.cosim.lockstep import Context
from warploom_spec import Config, layouts, queue_packets
from warploom_spec.layouts import PLACES
from warploom_spec.queue_packets import QueueOpcode

#: Cycles in which everything must end once nothing new comes: at least, and for each entry.
PATIENCE_AT_LEAST, PATIENCE = 2500, 120
#: Cycles of a soft reset in which launches and commands may still come.
LATE_ONES = 12
#: Limit of a residence in a quiet time: blocks that would never end are killed.
QUIET_LIMIT = 100
#: Chance that a launch has a grid of `sharp_grid`, whose blocks may outlast all else.
LONG_RATE, LONG_RATE_WITHOUT_LIMIT = 0.1, 0.02
#: Blocks that outlast what waits for them.
LONG = (200, 2000)


class Behaviours:
    """How SMs behave in each cycle, drawn anew for each period.

    Parameters
    ----------
    rng : Random
        For all choices.
    may_kill : bool
        Whether SMs end blocks when they are told to; if not, no block lasts long.

    Attributes
    ----------
    now : SmBehaviour
        The behaviour in the current period.
    period : int
        Counts the periods.
    lossy : bool
        Whether SMs fall silent.
    quick : bool
        Whether blocks end at once, and nothing goes wrong.
    slow : bool
        Whether all blocks last long, if SMs end blocks when they are told to.
    """

    def __init__(self, rng: Random, may_kill: bool):
        self._rng, self._may_kill = rng, may_kill
        self._left = 0
        self.now = SmBehaviour()
        self.period = 0
        self.lossy = self.quick = self.slow = False

    def next(self) -> SmBehaviour:
        """Move on by a cycle."""
        if self.quick:
            if self.now != SmBehaviour():
                self.now, self._left = SmBehaviour(), 0
                self.period += 1
            return self.now
        if not self._left:
            self._left = self._rng.randint(*PERIOD)
            self.period += 1
            kinds = (sm_loss, mixed) if self.lossy else (mixed, no_stops, no_stops)
            self.now = self._rng.choice(kinds)(self._rng)
            if self._may_kill and (self.slow or self._rng.random() < 0.3):
                self.now.length = LONG
        self._left -= 1
        return self.now


class PathHost:
    """A host that launches, commands, aborts, reads and pops, and the SMs.

    A busy time is followed by a quiet one, in which no launch comes, all streams are resumed and
    each residence ends; then `idle` must come. Instead of a quiet time a soft reset may come.

    Parameters
    ----------
    config : Config
        The machine.
    rng : Random
        For all that happens.
    first_count : int, optional
        The streams' accepted count after a restart.

    Attributes
    ----------
    idle_times : int
        How often `idle` came in a quiet time or a soft reset.
    """

    def __init__(self, config: Config, rng: Random, first_count: int = 0):
        self._config, self._rng = config, rng
        self._first_count = first_count
        self._launch = queue_packets.queued_launch(config)
        self._answer = queue_packets.queue_answer(config)
        self._command = queue_packets.queue_command(config)
        self._stream = queue_packets.queue_stream(config)
        self._put_back = queue_packets.put_back(config)
        self._streams = 1 << config.stream_bits
        self._everyone = (1 << self._streams) - 1
        self._patience = PATIENCE_AT_LEAST + PATIENCE * (config.queue_depth << config.priority_bits)
        self._all = (1 << config.sms) - 1
        self.idle_times = 0
        self._start()

    def _start(self) -> None:
        """Begin afresh after a reset."""
        rng, config = self._rng, self._config
        self._now = 0
        self._inputs: dict[str, int] | None = None
        self._cores = SmCores(config, Random(rng.getrandbits(64)))
        self._behaviours = Behaviours(Random(rng.getrandbits(64)), config.sm_kill)
        self._behaviours.lossy = rng.random() < 0.3
        # Regions of launches that were sent last: address and warps.
        self._regions: deque[tuple[int, int]] = deque(maxlen=3)
        self._places = self._index_places()
        self._reads = reads_of(rng, config, self._regions) if config.makes_indices else None
        self._read: int | None = None
        self._asked: deque[dict[str, int]] = deque()
        self._tickets: deque[int] = deque(maxlen=REMEMBERED)
        # Of launches that were put back last.
        self._back: deque[int] = deque(maxlen=PLACES)
        self._abort: int | None = None
        self._priorities = [any_priority(rng, config) for _ in range(self._streams)]
        self._counts = [self._first_count] * self._streams
        self._room = 0
        self._enable, self._tables = self._all, 0
        self._begin_busy_time()

    def _begin_busy_time(self) -> None:
        rng = self._rng
        self._quiet = self._resets = self._restarts = False
        self._busy = busy = Busy.random(rng, self._config)
        self._behaviours.quick, self._behaviours.slow = busy.quick, busy.slow
        self._until, self._mood = self._now + busy.cycles, busy.mood
        redraw(rng, self._config, self._priorities)

    # A cycle

    def next(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        if outputs is None:
            self._start()
        elif self._inputs is not None:
            self._hear(self._inputs, outputs)
        self._now += 1
        rng = self._rng
        behaviour = self._behaviours.next()
        hurry = self._quiet or self._resets
        late = self._resets and self._now < self._reset_since + LATE_ONES
        blip = not hurry and rng.random() < 0.0005
        self._active = int(self._resets or blip)
        values = {
            "tables": self._tables,
            "enable": self._enable,
            "clear_stream": 0,
            "launch_timeout": QUIET_LIMIT if hurry else self._mood.limit,
            "pop": int(rng.random() < self._mood.pop),
            "soft_reset_active": self._active,
            "restart": int(self._restarts),
        }
        values |= self._speak(quiet=hurry and not late)
        if rng.random() < self._mood.clear or hurry:
            stream = rng.randrange(self._streams)
            values["clear_stream"] = self._stream.pack({"valid": 1, "stream": stream})
        if rng.random() < 0.01:
            self._tables = rng.getrandbits(self._config.max_tables)
        if rng.random() < behaviour.enable:
            self._enable = rng.choice((self._all, rng.getrandbits(self._config.sms)))
        if hurry:
            self._enable = self._all
        values |= self._move_indices(outputs)
        values |= self._cores.next(self._now, outputs, self._behaviours)
        self._inputs = values
        return values

    def _hear(self, inputs: dict[str, int], outputs: Mapping[str, int | None]) -> None:
        """Take in the last cycle."""
        self._room = outputs["room"] or 0
        if inputs["abort__valid"] and outputs["abort__ready"]:
            self._abort = None
        if outputs["put_back"]:
            self._back.append(self._put_back.unpack(outputs["put_back"])["ticket"])
        if outputs["answer"]:
            answer, launch = self._answer.unpack(outputs["answer"]), self._asked.popleft()
            if not answer["code"]:
                self._counts[launch["stream"]] = answer["count"]
                self._tickets.append(answer["ticket"])
        if inputs["restart"]:
            self._counts = [self._first_count] * self._streams
            self._begin_busy_time()
        calm = not (inputs["launch__valid"] or inputs["command"] or inputs["abort__valid"])
        idle = bool(outputs["idle"]) and calm
        self._restarts = False
        if not (self._quiet or self._resets):
            if self._now >= self._until:
                # Counts get far between restarts.
                self._resets = self._rng.random() < 0.25
                self._quiet = not self._resets
                self._until, self._reset_since = self._now + self._patience, self._now
                self._behaviours.quick = True
        elif idle and self._quiet and self._rng.random() < 0.3:
            self.idle_times += 1
            self._begin_busy_time()
        elif idle and self._resets and self._now > self._reset_since + LATE_ONES:
            self.idle_times += 1
            self._restarts = True
        elif self._now > self._until:
            raise AssertionError(f"not idle after {self._patience} quiet cycles: a deadlock?")

    def _speak(self, *, quiet: bool) -> dict[str, int]:
        """Return launch, command and ABORT."""
        rng = self._rng
        launch = None
        if not quiet and not self._restarts and rng.random() < self._mood.launch:
            launch = self._make_launch()
        word = rng.getrandbits(self._launch.bits)
        if launch is not None:
            self._asked.append(launch)
            word = self._launch.pack(launch)
        named = self._abort is None and self._tickets and rng.random() < self._mood.abort
        if named and (not quiet or self._restarts):
            some = self._back if self._back and rng.random() < 0.5 else self._tickets
            self._abort = rng.choice(some) if rng.random() < 0.9 else rng.getrandbits(32)
        return {
            "launch__valid": int(launch is not None),
            "launch__payload": word,
            "command": self._say(quiet),
            "abort__valid": int(self._abort is not None),
            "abort__payload": self._abort or 0,
        }

    def _say(self, quiet: bool) -> int:
        """Return a command; in a quiet time only RESUME of everyone."""
        rng = self._rng
        if quiet and not self._restarts:
            # A soft reset ends what is held.
            if self._resets or rng.random() < 0.9:
                return 0
            fields = {"opcode": QueueOpcode.RESUME, "mask": self._everyone}
            return self._command.pack({"valid": 1, **fields})
        if rng.random() >= self._mood.command:
            return 0
        opcode = rng.choice((0, 1, 1))
        if rng.random() < self._mood.purge:
            opcode = rng.choice((2, 3))
        one = 1 << rng.randrange(self._mood.streams)
        mask = rng.choice((one, one, rng.getrandbits(self._streams), self._everyone))
        return self._command.pack({"valid": 1, "opcode": opcode, "mask": mask})

    # Launches

    def _make_launch(self) -> dict[str, int] | None:
        """Return a launch's fields, or None if the host waits for room."""
        rng, mood = self._rng, self._mood
        stream = mood.stream(rng, self._priorities)
        priority = self._priorities[stream]
        if rng.random() < mood.odd:
            priority = any_priority(rng, self._config)
        if rng.random() < mood.polite and not self._room >> priority & 1:
            return None
        need = LEAST if rng.random() < self._busy.least else None
        fields = legal_launch(rng, self._config, self._streams, False, next(self._places), need)
        if self._busy.short:
            fields |= {"gx": rng.choice((1, 1, 2, 3, 5)), "gy": 1, "gz": rng.choice((1, 1, 2))}
        if rng.random() < (LONG_RATE if mood.limit else LONG_RATE_WITHOUT_LIMIT):
            fields |= dict(zip(("gx", "gy", "gz"), sharp_grid(rng, self._config), strict=True))
        if rng.random() < 0.04:
            fields = spoiled_launch(rng, self._config, fields)
            fields |= {"gx": fields["gx"] and 1, "gy": fields["gy"] and 1, "gz": 1}
        self._note_region(fields)
        fields |= {
            "stream": stream,
            "priority": priority,
            "after_previous": int(rng.random() >= mood.overlap),
            "idempotent": int(rng.random() < mood.idempotent),
            "mode": rng.choice(mood.modes),
        }
        fields |= mood.pairs(rng, self._config.launch_waits, self._counts, 0x7FF0)
        return {field.name: fields.get(field.name, 0) for field in self._launch.fields}

    # Indices

    def _index_places(self) -> Iterator[tuple[int, Dims] | None]:
        """Yield where launches' indices are to be: few shapes at few addresses."""
        config = self._config
        if not config.makes_indices:
            while True:
                yield None
        most = min(config.max_threads, config.warp_slots * config.warp_size)
        yield from few_places(self._rng, replace(config, max_threads=most))

    def _note_region(self, launch: Mapping[str, int]) -> None:
        """Note the region of a launch that is likely to be accepted."""
        dims = (launch["dx"], launch["dy"], launch["dz"])
        if self._config.makes_indices and is_legal(dims, self._config):
            count = warps(dims, self._config.warp_size)
            self._regions.appendleft((launch["index_address"], count))

    def _move_indices(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        """Return what stands at the ports of the index memory, and at the order table's."""
        values: dict[str, int] = {}
        rng = self._rng
        if self._reads is not None:
            if outputs is None or (self._read is not None and outputs["read__ready"]):
                self._read = None
            if self._read is None and rng.random() < self._busy.reading:
                self._read = next(self._reads)
            values = {
                "read__valid": int(self._read is not None),
                "read__payload": self._read or 0,
                "data__ready": int(rng.random() < 0.8),
            }
        if self._config.has_order_table:
            values["order_table__valid"] = int(rng.random() < 0.05)
            values["order_table__payload"] = rng.getrandbits(layouts.order_swap(self._config).bits)
        return values


def surroundings(context: Context) -> PathHost:
    """Make the surroundings of a lockstep run."""
    params = context.params
    return PathHost(config_of(params["config"]), context.rng, params.get("first_count", 0))
