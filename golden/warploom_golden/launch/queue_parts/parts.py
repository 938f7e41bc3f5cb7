"""All registers and memories of KernelQueue's cycle model."""

from dataclasses import dataclass, field

from warploom_golden.launch.queue_parts.choice import Choice
from warploom_golden.launch.queue_parts.entries import Entries, Inbox, Kept
from warploom_golden.launch.queue_parts.holds import Holds
from warploom_golden.launch.queue_parts.looks import Looks
from warploom_golden.launch.queue_parts.packing import Packets
from warploom_golden.launch.queue_parts.preempts import Preempts
from warploom_golden.launch.queue_parts.preparation import Preparation, Started
from warploom_golden.launch.queue_parts.rows import Flags, Row
from warploom_golden.launch.queue_parts.search import Search
from warploom_golden.launch.queue_parts.times import Times
from warploom_golden.launch.queue_parts.walk import Walk
from warploom_golden.launch.queue_parts.writer import Writer
from warploom_spec.config import Config


@dataclass(slots=True)
class Pulses:
    """Outputs that are registers and say something for one cycle; 0 or None if they do not.

    Attributes
    ----------
    answer, command_answer, timeline, killed, loop_end : int
        Packed.
    release : int or None
        The history entry.
    stop : int
        Rule 17 (c).
    """

    answer: int = 0
    command_answer: int = 0
    timeline: int = 0
    killed: int = 0
    loop_end: int = 0
    release: int | None = None
    stop: int = 0


@dataclass(slots=True)
class Residence:
    """What is kept of a stream's run.

    Attributes
    ----------
    started : Started
        The launch and its history entry.
    held_begun : bool
        ``hold`` and ``begun`` were both 1 in a cycle of the run (13).
    """

    started: Started
    held_begun: bool = False


@dataclass(eq=False)
class Parts:
    """State of a machine, as a reset or a restart leaves it.

    Parameters
    ----------
    config : Config
        Priorities, streams, entries.
    packets : Packets
        Packs outputs.
    kept : Kept
        What a restart keeps.
    first_count : int
        Counts and timelines at first.
    """

    config: Config
    packets: Packets
    kept: Kept
    first_count: int
    cycle: int = 0
    residences: dict[int, Residence] = field(default_factory=dict)
    pulses: Pulses = field(default_factory=Pulses)
    flags: Flags = field(default_factory=Flags)
    looks: Looks = field(default_factory=Looks)
    preempts: Preempts = field(default_factory=Preempts)

    def __post_init__(self) -> None:
        """Make what depends on the configuration."""
        config, streams = self.config, 1 << self.config.stream_bits
        self.rows = [Row(self.first_count, self.first_count) for _ in range(streams)]
        self.entries = Entries(config)
        self.inbox = Inbox(self.packets.checked)
        self.walk = Walk(streams)
        self.search = Search(self.entries.number)
        self.times = Times(streams)
        self.holds = Holds()
        self.choice = Choice(streams)
        self.preparation = Preparation(makes_indices=config.makes_indices)
        self.writer = Writer(self.packets.word)

    def is_preparing(self, stream: int) -> bool:
        """Return whether the stream's head is in preparation."""
        launch = self.preparation.launch
        return launch is not None and launch.stream == stream

    def is_resident(self, stream: int) -> bool:
        """Return whether the stream has a resident."""
        return bool(self.flags.resident >> stream & 1)
