"""What the user asked of a replay."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from warploom_sim.simulators import SIMULATORS


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """One call of ``warploom sim``, checked: every value is legal, every trace is a file.

    Attributes
    ----------
    traces : tuple[Path, ...]
        Recordings to replay, in this order.
    simulator : str
        One of `warploom_sim.simulators.SIMULATORS`.
    config : str
        A preset's name.
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
    waves : bool
        Also write a waveform.
    json : Path or None
        Write the figures there.
    launches_csv : Path or None
        Write each launch's figures there.
    forced_fault : str or None
        A fault to plant, so that a test can see it found.
    """

    traces: tuple[Path, ...]
    simulator: str = SIMULATORS[0]
    config: str = "default"
    launches: int | None = None
    policy: str | None = None
    reclaim: str | None = None
    settings: tuple[str, ...] = ()
    seed: int = 1
    time_scale: Fraction = Fraction(1, 32)
    kill_every: int | None = None
    waves: bool = False
    json: Path | None = None
    launches_csv: Path | None = None
    forced_fault: str | None = None
