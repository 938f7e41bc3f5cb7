"""What the user asked of a replay."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from warploom_sim.cosim.simulators import SIMULATORS

CONTENTIONS: Final = ("none", "sharing")
#: Policies of IndexMemoryAllocator, the default first.
ALLOCATORS: Final = ("frequent", "shared", "own")
#: When launches arrive: all at once, or at the recorded times of their calls.
ARRIVALS: Final = ("none", "trace")
#: Who sends the launches: a source at LaunchPath, or a host over AXI4-Lite at FrontEnd.
HOSTS: Final = ("direct", "axi")
#: Warps that an SM runs at full speed: about the knee of dependent arithmetic on an H200.
DEFAULT_KNEE: Final = 16
#: More than the warps of any SM.
MOST_KNEE: Final = 65_535


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """One call of ``warploom sim``, checked: every value is legal, every trace is a file.

    Attributes
    ----------
    traces : tuple[Path, ...]
        Recordings to replay, in this order.
    simulator : str
        One of `warploom_sim.cosim.simulators.SIMULATORS`.
    config : str
        A preset's name.
    device : int or None
        Only the kernels of this GPU of each trace; None is all.
    strict : bool
        Refuse a trace with kernels whose launch call is not recorded, instead of leaving them out.
    launches : int or None
        Only the first launches of each trace; None is all of them.
    policy, reclaim : str or None
        Replace the preset's placement and reclaim policy.
    settings : tuple[str, ...]
        Replace other fields of the preset, each ``FIELD=VALUE``.
    seed : int
        Seeds the jitter of the block lengths, and after which block a launch is killed.
    time_scale : Fraction
        Block lengths are multiplied by it.
    kill_every : int or None
        Launches of this number, twice this number and so on are killed; None: no one.
    arrivals : str
        One of `ARRIVALS`: whether launches arrive when their calls began, or one after the other.
    host : str
        One of `HOSTS`.
    contention : str
        One of `CONTENTIONS`: whether blocks of one SM slow each other down.
    knee : int
        With contention: warps that an SM runs at full speed.
    allocator : str
        One of `ALLOCATORS`: which kernels get an address of their own in the index memory.
    waves : bool
        Also write a waveform.
    wave_cycles : tuple[int, int] or None
        First and last cycle that the waveform holds; None: all.
    json : Path or None
        Write the figures there.
    launches_csv : Path or None
        Write each launch's figures there.
    timeline : Path or None
        Write a timeline of all traces there.
    report : Path or None
        Write a report of all traces there.
    forced_fault : str or None
        A fault to plant, so that a test can see it found.
    """

    traces: tuple[Path, ...]
    simulator: str = SIMULATORS[0]
    config: str = "default"
    device: int | None = None
    strict: bool = False
    launches: int | None = None
    policy: str | None = None
    reclaim: str | None = None
    settings: tuple[str, ...] = ()
    seed: int = 1
    time_scale: Fraction = Fraction(1, 32)
    kill_every: int | None = None
    arrivals: str = ARRIVALS[0]
    host: str = HOSTS[0]
    contention: str = CONTENTIONS[0]
    knee: int = DEFAULT_KNEE
    allocator: str = ALLOCATORS[0]
    waves: bool = False
    wave_cycles: tuple[int, int] | None = None
    json: Path | None = None
    launches_csv: Path | None = None
    timeline: Path | None = None
    report: Path | None = None
    forced_fault: str | None = None

    @property
    def model_knee(self) -> int | None:
        """The knee as models take it: None without contention."""
        return None if self.contention == "none" else self.knee
