"""What the difference between two replays of one trace is made of, in figures and in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from warploom_sim.replay.analysis.anatomy import Anatomy, KernelTime
from warploom_sim.replay.analysis.limits import LABELS, LIMITS
from warploom_sim.sweep.noise import interval
from warploom_sim.views.html_report.page import short_name

#: Causes that a sentence names, and the least part of all changes that one of them has.
_NAMED: Final = 3
_LEAST: Final = 0.05
_NAME: Final = 48
_NOTHING: Final = KernelTime(launches=0, blocks=0, head=0, span=0, block_time=0)


class Part(NamedTuple):
    """One part of the cycles of two runs."""

    name: str
    a: int
    b: int

    @property
    def change(self) -> int:
        """The second run's cycles less the first one's."""
        return self.b - self.a


@dataclass(frozen=True, kw_only=True)
class KernelPart:
    """One kernel in two runs.

    Attributes
    ----------
    name : str
        The kernel's.
    a, b : KernelTime
        Its times in each run.
    """

    name: str
    a: KernelTime
    b: KernelTime

    @property
    def head_change(self) -> int:
        """Change of the cycles that count for it."""
        return self.b.head - self.a.head

    @property
    def span_change(self) -> int:
        """Change of first offer to last report, summed over its launches."""
        return self.b.span - self.a.span


@dataclass(frozen=True, kw_only=True)
class RunDifference:
    """Two runs beside each other.

    Attributes
    ----------
    a, b : Anatomy
        The runs.
    parts : list of Part
        Cycles by what blocked the head, the largest change first. Their changes add up to the whole
        one, and so do those of ``kernels`` and ``idle``.
    kernels : list of KernelPart
        The kernels, the largest change first.
    idle : Part
        Cycles that count for no kernel.
    """

    a: Anatomy
    b: Anatomy
    parts: list[Part]
    kernels: list[KernelPart]
    idle: Part

    @property
    def change(self) -> int:
        """Cycles of the second run less those of the first."""
        return self.b.cycles - self.a.cycles


@dataclass(frozen=True)
class OverSeeds:
    """How much each part of two combinations differs, seed by seed.

    Each method returns the mean difference and the half of its interval, as `noise.interval`.

    Parameters
    ----------
    pairs : sequence of tuple of Anatomy
        Of each seed both runs.
    """

    pairs: Sequence[tuple[Anatomy, Anatomy]]

    def part(self, name: str) -> tuple[float, float | None]:
        """Cycles by what blocked the head, of one cause."""
        return self._of(lambda run: run.by_limit[name])

    def kernels(self, names: Sequence[str]) -> tuple[float, float | None]:
        """Cycles that count for some kernels together."""
        return self._of(lambda run: sum(run.kernels.get(name, _NOTHING).head for name in names))

    def idle(self) -> tuple[float, float | None]:
        """Cycles that count for no kernel."""
        return self._of(lambda run: run.idle)

    def cycles(self) -> tuple[float, float | None]:
        """Cycles of the whole runs."""
        return self._of(lambda run: run.cycles)

    def _of(self, part: Callable[[Anatomy], int]) -> tuple[float, float | None]:
        return interval([part(b) - part(a) for a, b in self.pairs])


def difference_of(a: Anatomy, b: Anatomy, others: Sequence[Anatomy] = ()) -> RunDifference:
    """Return two runs beside each other, the second against the first.

    A cause that blocked the head in none of them is left out, unless it did in one of the others.
    """
    seen = [name for name in LIMITS if any(run.by_limit[name] for run in (a, b, *others))]
    parts = [Part(name, a.by_limit[name], b.by_limit[name]) for name in seen]
    kernels = [
        KernelPart(name=name, a=a.kernels.get(name, _NOTHING), b=b.kernels.get(name, _NOTHING))
        for name in dict.fromkeys([*a.kernels, *b.kernels])
    ]
    return RunDifference(
        a=a,
        b=b,
        parts=sorted(parts, key=lambda one: -abs(one.change)),
        kernels=sorted(kernels, key=lambda one: (-abs(one.head_change), -abs(one.span_change))),
        idle=Part("idle", a.idle, b.idle),
    )


def in_words(found: RunDifference, names: tuple[str, str]) -> list[str]:
    """Return sentences on what the difference is made of.

    Parameters
    ----------
    found : RunDifference
        The runs.
    names : tuple of str
        What the first run and the second one are called.
    """
    first, second = names
    if not found.change:
        return [f"{second} takes as many cycles as {first} with this seed."]
    longer = "more" if found.change > 0 else "fewer"
    share = abs(found.change) / found.a.cycles
    head = f"{second} takes {abs(found.change):,} cycles {longer} than {first} ({share:.2%})."
    return [head, *_causes(found), _blocks(found), *_kernel(found)]


def _causes(found: RunDifference) -> list[str]:
    """Return a sentence on the causes that changed most; none if nothing stands out."""
    moved = sum(abs(part.change) for part in found.parts)
    largest = [part for part in found.parts[:_NAMED] if abs(part.change) >= _LEAST * moved]
    if not largest:
        return []
    words = ", ".join(f"{LABELS[part.name]} {part.change:+,}" for part in largest)
    return [f"Cycles by what blocked the next block: {words}."]


def _blocks(found: RunDifference) -> str:
    longer = _said(_change(found.b.mean_block, found.a.mean_block), "longer", "shorter")
    more = _said(_change(found.b.at_once, found.a.at_once), "more", "fewer")
    return f"A block runs {longer} on average, and {more} blocks run at once."


def _change(now: float, before: float) -> float:
    return now / before - 1 if before else math.nan


def _said(share: float, more: str, less: str) -> str:
    return f"{abs(share):.2%} {less if share < 0 else more}"


def _kernel(found: RunDifference) -> list[str]:
    """Return a sentence on the kernel that changed most; none if none did."""
    worst = found.kernels[0] if found.kernels else None
    if worst is None or not worst.head_change:
        return []
    name = short_name(worst.name, _NAME)
    launches = max(worst.a.launches, worst.b.launches)
    return [
        f"The kernel that changes most is {name}: {worst.head_change:+,} cycles"
        f" in {launches:,} {'launch' if launches == 1 else 'launches'}."
    ]


def as_json(found: RunDifference, over: OverSeeds) -> Mapping[str, object]:
    """Return the figures as JSON has them: of the first seed, and the differences of all seeds."""
    names = [one.name for one in found.kernels]
    return {
        "over_seeds": {
            "cycles": over.cycles(),
            "head_blocked": {one.name: over.part(one.name) for one in found.parts},
            "kernels": {name: over.kernels([name]) for name in names},
            "no_kernel": over.idle(),
        },
        "cycles": {"a": found.a.cycles, "b": found.b.cycles, "change": found.change},
        "head_blocked": {one.name: one._asdict() | {"change": one.change} for one in found.parts},
        "kernels": [
            {"name": one.name, "a": vars(one.a), "b": vars(one.b), "change": one.head_change}
            for one in found.kernels
        ],
        "no_kernel": found.idle._asdict() | {"change": found.idle.change},
    }
