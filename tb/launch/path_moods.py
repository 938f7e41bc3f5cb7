"""How LaunchPath's host and SMs behave in a busy time, drawn at its begin."""

from dataclasses import dataclass, replace
from random import Random

from tb.launch.queue_host import RESTLESS_RATE, Mood, restless
from warploom_spec import Config
from warploom_spec.queue import Mode

#: Chance that the blocks of a busy time end at once, as in a quiet one.
QUICK_RATE = 0.5
#: Chance of a busy time in which low launches yield to urgent ones.
YIELD_RATE = 0.2
#: Chance of another busy time in which streams have two launches on the SMs.
PAIRED_RATE = 0.25


@dataclass
class Busy:
    """A busy time.

    Attributes
    ----------
    cycles : int
        How long it lasts.
    mood : Mood
        What the host does.
    short : bool
        Whether most grids have few blocks.
    quick : bool
        Whether blocks end at once, and nothing goes wrong.
    slow : bool
        Whether all blocks last long, if SMs end blocks when they are told to.
    reading : float
        Chance of a cycle in which no read stands that the next one comes.
    least : float
        Chance of a launch that its blocks take as little as can be.
    """

    cycles: int
    mood: Mood
    short: bool
    quick: bool
    slow: bool
    reading: float
    least: float

    @classmethod
    def random(cls, rng: Random, config: Config) -> "Busy":
        """Draw one."""
        quick, cycles = rng.random() < QUICK_RATE, rng.randint(100, 1200)
        mood, short, slow = _mood(rng, config), rng.random() < 0.7, False
        if rng.random() < YIELD_RATE:
            mood, short = _yielding(rng, mood), False
        elif rng.random() < PAIRED_RATE:
            mood, short, quick, slow = _paired(rng, mood), True, False, True
        reading, least = rng.choice((0.3, 1.0)), rng.choice((0.0, 0.6, 1.0))
        return cls(cycles, mood, short, quick, slow, reading, least)


def _mood(rng: Random, config: Config) -> Mood:
    """Return a mood of KernelQueue's host, with fewer launches and aborts."""
    mood = Mood.random(rng, config)
    # A launch takes many cycles: in most moods no more is sent than there is room for.
    mood = replace(mood, launch=rng.choice((0.02, 0.05, 0.1, 0.4, 1.0)))
    if rng.random() >= RESTLESS_RATE:
        return replace(mood, purge=mood.purge / 4, abort=min(mood.abort, 0.03))
    # Now and then what was put back is aborted.
    aborts = rng.choice((0.0, 0.05))
    mood = restless(rng, mood)
    return replace(mood, abort=aborts, purge=aborts, overlap=rng.choice((0.0, 0.9)))


def _yielding(rng: Random, mood: Mood) -> Mood:
    """Return the mood in which launches yield, and nothing else stops them but a time-out."""
    rates = {"launch": 0.1, "command": 0.0, "abort": 0.0, "waits": 0.0}
    return replace(mood, modes=(Mode.YIELD,), limit=rng.choice((300, 1000)), **rates)


def _paired(rng: Random, mood: Mood) -> Mood:
    """Return the mood in which two launches of a stream start, and are put back together."""
    rates = {"launch": 0.2, "polite": 0.9, "waits": 0.0, "overlap": 1.0, "urgent": 1.0}
    stops = {"command": 0.03, "abort": rng.choice((0.0, 0.03, 0.1)), "purge": 0.15, "limit": 0}
    return replace(mood, modes=(Mode.AUTO, Mode.RESET), idempotent=1.0, **rates, **stops)
