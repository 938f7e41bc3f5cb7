"""The runs of a comparison: every combination of the requested values."""

import dataclasses
import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import util
from pathlib import Path
from typing import Any, Final

from warploom_golden.replay import event_model
from warploom_sim.build_cache import digest
from warploom_sim.replay.request import ALLOCATORS, ARRIVALS, CONTENTIONS, DEFAULT_KNEE
from warploom_sim.variant import variant
from warploom_spec import Config, WarploomError, preset

#: Packages that decide what a replay shows; with the RTL that one as well.
_MODELS: Final = ("warploom_golden", "warploom_sim", "warploom_spec")
_RTL: Final = "warploom"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be compared: every combination of the tuples is a run.

    Attributes
    ----------
    traces : tuple of Path
        Recordings.
    configs, policies, reclaims : tuple of str
        Presets, and what replaces their policies; empty: the preset's own.
    settings : tuple of str
        Each ``FIELD=V1,V2``: values of a field. A field that is a tuple has one value a setting.
    time_scales : tuple of Fraction
        Block lengths are the recorded ones times these.
    contentions : tuple of str
        Whether the blocks of an SM slow each other down: of
        `warploom_sim.replay.request.CONTENTIONS`.
    knees : tuple of int
        With contention: warps that an SM runs at full speed.
    arrivals : tuple of str
        Whether launches arrive at the times of their calls: of
        `warploom_sim.replay.request.ARRIVALS`.
    allocators : tuple of str
        Which kernels get an address of their own in the index memory: of
        `warploom_sim.replay.request.ALLOCATORS`.
    kill_every : int or None
        Launches of this number, twice this number and so on are killed; None: no one.
    first : int or None
        Only the first launches of each trace.
    seed : int
        Seeds the jitter of the block lengths.
    device : int or None
        Only the kernels of this GPU of each trace; None is all of them.
    strict : bool
        Refuse a trace with kernels whose launch call is not recorded, instead of leaving them out.
    simulator : str or None
        What runs the RTL; None: the golden event model runs alone.
    """

    traces: tuple[Path, ...]
    configs: tuple[str, ...] = ("default",)
    policies: tuple[str, ...] = ()
    reclaims: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    time_scales: tuple[Fraction, ...] = (Fraction(1, 32),)
    contentions: tuple[str, ...] = CONTENTIONS[:1]
    knees: tuple[int, ...] = (DEFAULT_KNEE,)
    arrivals: tuple[str, ...] = ARRIVALS[:1]
    allocators: tuple[str, ...] = ALLOCATORS[:1]
    kill_every: int | None = None
    first: int | None = None
    seed: int = 1
    device: int | None = None
    strict: bool = False
    simulator: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a comparison.

    Attributes
    ----------
    trace : Path
        The recording.
    content : str
        SHA-256 of its bytes.
    preset : str
        Name of the preset.
    settings : tuple of (str, str)
        Fields that were set, policies left out.
    config : Config
        The preset with all that replaces its fields.
    time_scale, contention, arrivals, allocator, kill_every, first, seed, device, simulator
        As in `Request`, one value each.
    knee : int or None
        With contention one of the request's; None without.
    """

    trace: Path
    content: str
    preset: str
    settings: tuple[tuple[str, str], ...]
    config: Config
    time_scale: Fraction
    contention: str
    knee: int | None
    arrivals: str
    allocator: str
    kill_every: int | None
    first: int | None
    seed: int
    device: int | None
    simulator: str | None

    @property
    def run_id(self) -> str:
        """Hash of everything that decides the result, except the version of the models."""
        parts = (self.trace.name, self.content, dataclasses.asdict(self.config))
        block_lengths = (str(self.time_scale), self.contention, self.knee, self.seed)
        host = (self.arrivals, self.allocator, self.kill_every, self.first, self.device)
        return digest([*parts, *block_lengths, *host, self.simulator])

    def identity(self) -> dict[str, Any]:
        """Return what tells this run from others, by name, as JSON has it."""
        return {
            "trace": self.trace.name,
            "config": self.preset,
            "set": dict(self.settings),
            "policy": self.config.policy,
            "reclaim": self.config.reclaim,
            "time_scale": str(self.time_scale),
            "contention": self.contention,
            "knee": self.knee,
            "arrivals": self.arrivals,
            "allocator": self.allocator,
            "kill_every": self.kill_every,
            "first": self.first,
            "seed": self.seed,
            "device": self.device,
            "engine": self.simulator or "model",
        }


def plan(request: Request) -> list[Run]:
    """Return every combination once: of each trace all runs in a row, the reclaim policy fastest.

    Raises
    ------
    WarploomError
        If a preset or a field does not exist, or a value is not legal.
    """
    contents = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in dict.fromkeys(request.traces)
    }
    configs = [
        (name, fields, _config(name, fields, policy, reclaim))
        for name in request.configs
        for fields in _fields(request.settings)
        for policy in request.policies or (None,)
        for reclaim in request.reclaims or (None,)
    ]
    runs = [
        Run(
            trace=path,
            content=contents[path],
            preset=name,
            settings=fields,
            config=config,
            time_scale=time_scale,
            contention=contention,
            knee=knee,
            arrivals=arrivals,
            allocator=allocator,
            kill_every=request.kill_every,
            first=request.first,
            seed=request.seed,
            device=request.device,
            simulator=request.simulator,
        )
        for path, time_scale, arrivals, (contention, knee) in itertools.product(
            request.traces, request.time_scales, request.arrivals, _contentions(request)
        )
        for allocator in request.allocators
        for name, fields, config in configs
    ]
    return list({run.run_id: run for run in reversed(runs)}.values())[::-1]


def _contentions(request: Request) -> list[tuple[str, int | None]]:
    """Return every contention, with each knee where there is one."""
    return [
        (contention, knee)
        for contention in request.contentions
        for knee in (request.knees if contention != "none" else (None,))
    ]


def _config(
    name: str, fields: Sequence[tuple[str, str]], policy: str | None, reclaim: str | None
) -> Config:
    chosen = [("policy", policy), ("reclaim", reclaim), *fields]
    settings = [f"{field}={value}" for field, value in chosen if value is not None]
    config = variant(name, settings).config
    event_model.check(config)
    return config


def _fields(settings: Sequence[str]) -> Iterable[tuple[tuple[str, str], ...]]:
    """Return every combination of the fields' values."""
    values: dict[str, list[str]] = {}
    known = vars(preset("default"))
    for setting in settings:
        field, equals, text = setting.partition("=")
        if not equals:
            raise WarploomError(f"setting is {setting!r}; legal: FIELD=V1,V2, such as sms=4,8")
        whole = isinstance(known.get(field), tuple)
        values.setdefault(field, []).extend([text] if whole else text.split(","))
    each = [[(field, value) for value in given] for field, given in values.items()]
    return itertools.product(*each)


def sources(rtl: bool) -> str:
    """Return a hash of the sources that decide what a run shows: another one, another result."""
    parts = []
    for package in (*_MODELS, *((_RTL,) if rtl else ())):
        found = util.find_spec(package)
        assert found and found.origin
        folder = Path(found.origin).parent
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".v", ".cpp"):
                name = str(path.relative_to(folder))
                parts.append([package, name, _hash(path)])
    return digest(parts)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
