"""LaunchCheck and the index generator around the queue, as a replay's launches meet them."""

from collections import deque

from warploom_golden.oracles.index_reference import Dims, last_mask, threads, warps, widths
from warploom_golden.replay.event_constants import NEVER
from warploom_golden.replay.event_filter import Accepted, EventFilter
from warploom_golden.replay.refusal import judge
from warploom_golden.replay.residents.launches import SentLaunch
from warploom_spec import Config, LaunchDescriptor, resident_packets, timing
from warploom_spec.host_errors import HostError
from warploom_spec.queue import Mode
from warploom_spec.queue_packets import MODE_WORD

#: Modes that LaunchCheck knows have two bits.
_CHECKED_MODES = 4
#: An index configuration: address and block.
IndexConfig = tuple[int, Dims]


class Checks:
    """LaunchCheck's pipeline: launches leave it in order, and stand until they are taken.

    Parameters
    ----------
    config : Config
        What it checks against.
    tables : int
        The mapping tables that are loaded, a bit each.
    """

    def __init__(self, config: Config, tables: int = 0):
        self._config, self._tables = config, tables
        self._stages = timing(config).launch_check
        self._packet = resident_packets.resident_launch(config)
        self._pipe: deque[tuple[int, SentLaunch, int]] = deque()

    @property
    def wake(self) -> int:
        """The first cycle in which a launch is at its output, `NEVER` if there is none."""
        return self._pipe[0][0] if self._pipe else NEVER

    def send(self, cycle: int, launch: SentLaunch) -> None:
        """Let a launch enter in a cycle."""
        self._pipe.append((cycle + self._stages, launch, self._pack(launch)))

    def output(self, cycle: int) -> int | None:
        """Return the packed launch at the output, if one is there."""
        return self._pipe[0][2] if self._pipe and self._pipe[0][0] <= cycle else None

    def take(self, cycle: int) -> SentLaunch:
        """Let the launch at the output transfer; those behind it have stood still meanwhile."""
        since, launch, _ = self._pipe.popleft()
        late = cycle - since
        self._pipe = deque((at + late, sent, word) for at, sent, word in self._pipe)
        return launch

    def _pack(self, sent: SentLaunch) -> int:
        launch, config = sent.descriptor, self._config
        checked = launch
        if launch.mode >= _CHECKED_MODES:
            checked = type(launch)(**{**vars(launch), "mode": launch.mode % _CHECKED_MODES})
        code, argument = judge(checked, config, self._tables)
        if not code and launch.mode > Mode.YIELD:
            code, argument = HostError.FIELD_RANGE, MODE_WORD
        values = dict.fromkeys(self._packet.offsets, 0)
        values |= {name: value for name, value in launch.values(config).items() if name in values}
        values |= {
            "mode": launch.mode,
            "threads": threads(launch.block),
            "warps": warps(launch.block, config.warp_size),
            "last_mask": last_mask(launch.block, config.warp_size),
            "error": int(code),
            "argument": int(argument),
        }
        for axis, width in zip("xyz", widths(launch.block), strict=True):
            values[f"width_{axis}"] = width
        for k, pair in enumerate(sent.waits):
            if pair is not None:
                values |= {
                    f"wait{k}_valid": 1,
                    f"wait{k}_stream": pair[0],
                    f"wait{k}_count": pair[1],
                }
        if code:
            # Fields that are out of range have no meaning behind an error.
            values = {n: v & (1 << self._bits(n)) - 1 for n, v in values.items()}
        return self._packet.pack({n: values[n] for n in self._packet.offsets})

    def _bits(self, name: str) -> int:
        return next(field.bits for field in self._packet.fields if field.name == name)


class Indices:
    """ConfigFilter as the queue sees it: one request at a time.

    Parameters
    ----------
    config : Config
        Entries, references, latencies.
    """

    def __init__(self, config: Config):
        self._config, self._timing = config, timing(config)
        self._filter = EventFilter(config)
        # The configuration in the lookup stage, and since when.
        self._asked: tuple[int, int, Dims, int] | None = None
        self._accepted: Accepted | None = None
        self._made: deque[int] = deque()

    @property
    def under_way(self) -> bool:
        """Whether a configuration is in the lookup stage or has no decision yet."""
        return self._asked is not None or self._accepted is not None

    def ask(self, cycle: int, launch: LaunchDescriptor) -> None:
        """Let a launch's configuration transfer in a cycle."""
        self._present(cycle, (launch.index_address, launch.block))

    def _present(self, cycle: int, shape: IndexConfig) -> None:
        """Present a configuration in a cycle."""
        address, block = shape
        self._asked = cycle, address, block, warps(block, self._config.warp_size)

    def look_up(self, cycle: int) -> Accepted | None:
        """Accept the configuration in this cycle if nothing holds it."""
        if self._asked is None:
            return None
        since, address, block, count = self._asked
        if cycle < since + self._timing.filter_lookup:
            return None
        accepted = self._filter.accept(cycle, address, block, count)
        if accepted is not None:
            self._asked, self._accepted = None, accepted
            if not accepted.hit:
                self._made.append(accepted.done)
        return accepted

    def decision(self, cycle: int) -> Accepted | None:
        """Return what is decided in this cycle."""
        accepted = self._accepted
        if accepted is None or accepted.decision != cycle:
            return None
        self._accepted = None
        return accepted

    def made(self, cycle: int) -> bool:
        """Tell whether the indices of a shape are complete in this cycle."""
        if not self._made or self._made[0] > cycle:
            return False
        return self._made.popleft() == cycle

    def needs_release(self, cycle: int) -> bool:
        """Tell whether only a release helps the configuration that waits."""
        if self._asked is None:
            return False
        since, address, block, count = self._asked
        if cycle < since + self._timing.filter_lookup:
            return False
        return self._filter.needs_release(cycle, address, block, count)

    def release(self, cycle: int, entry: int) -> None:
        """Give back what a launch refers to at the end of a cycle; its decision said ``entry``."""
        self._filter.release(cycle, entry)

    def cancel(self, cycle: int) -> None:
        """Let a cancel be there in a cycle, in which nothing was accepted."""
        del cycle
        self._asked = None

    @property
    def wake(self) -> int:
        """The next cycle in which indices of a shape are complete."""
        return self._made[0] if self._made else NEVER
