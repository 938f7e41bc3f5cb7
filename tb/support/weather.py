"""How a simulated machine behaves for a while: drawn anew every so often."""

import random
from dataclasses import dataclass

#: Shortest and longest spell, in cycles.
SPELL = (40, 250)


@dataclass
class Weather:
    """What holds for one spell; probabilities are for each cycle and SM unless said otherwise.

    Attributes
    ----------
    ready : float
        An SM takes an offer.
    length : tuple of int
        Cycles that a block runs.
    instant : float
        A block is reported in the very cycle in which it is taken.
    together : bool
        All SMs report in every eighth cycle alone.
    fault : float
        For each report: it is a fault.
    unasked : float
        For each report: it says `KILLED`, whether or not anybody asked for it.
    bogus : float
        A report that nothing asked for.
    answer : tuple of int
        Cycles from a kill to the end of each of its blocks.
    last_moment : float
        For each killed block: it ends by itself, and is reported `OK`.
    silent : float
        For each kill and SM: none of its blocks is ever reported.
    deaf : float
        For each SM: it takes no offers during the spell.
    stop, drain : float
        For each cycle: a launch is stopped; for each stop: it drains.
    burst : float
        For each stop: all other launches are stopped right after it.
    resident, pair : float
        For each stop: it names a launch that may have blocks on SMs; for each of these: the other
        such launch is stopped right after it.
    last_report : float
        For each kill that an SM leaves unanswered: its blocks of the other place are reported
        shortly before or after it is given up.
    enable : float
        For each cycle: another enable mask.
    """

    ready: float = 1.0
    length: tuple[int, int] = (1, 3)
    instant: float = 0.0
    together: bool = False
    fault: float = 0.0
    unasked: float = 0.0
    bogus: float = 0.0
    answer: tuple[int, int] = (1, 2)
    last_moment: float = 0.0
    silent: float = 0.0
    deaf: float = 0.0
    stop: float = 0.0
    drain: float = 0.5
    burst: float = 0.0
    resident: float = 0.0
    pair: float = 0.0
    last_report: float = 0.0
    enable: float = 0.0


def calm(rng: random.Random) -> Weather:
    """Blocks come and go; nobody stops anything."""
    return Weather(
        ready=rng.choice((0.1, 0.5, 0.9, 1.0, 1.0)),
        length=rng.choice(((1, 1), (1, 4), (2, 20), (20, 60))),
        instant=rng.choice((0.0, 0.0, 0.5)),
        together=rng.random() < 0.2,
    )


def brisk(rng: random.Random) -> Weather:
    """Blocks that end at once; a launch is stopped now and then."""
    return Weather(
        length=rng.choice(((1, 1), (1, 4), (2, 20))),
        stop=rng.choice((0.0, 0.01, 0.03)),
    )


def steady(rng: random.Random) -> Weather:
    """Blocks that end at once, and no stops."""
    del rng
    return Weather()


def wild(rng: random.Random) -> Weather:
    """Stops, faults, reports that nothing asked for, changes of the enable mask."""
    weather = calm(rng)
    weather.fault = rng.choice((0.0, 0.0, 0.01, 0.1))
    weather.unasked = rng.choice((0.0, 0.0, 0.0, 0.02))
    weather.bogus = rng.choice((0.0, 0.0, 0.01, 0.1))
    weather.answer = rng.choice(((1, 1), (1, 4), (5, 15)))
    weather.last_moment = rng.choice((0.3, 0.9))
    weather.stop = rng.choice((0.0, 0.01, 0.05, 0.2))
    weather.drain = rng.choice((0.0, 0.5, 1.0))
    weather.enable = rng.choice((0.0, 0.0, 0.02, 0.2))
    return weather


def lossy(rng: random.Random) -> Weather:
    """As wild, and SMs fall silent, some while they hold blocks of two launches for long."""
    weather = wild(rng)
    weather.length = rng.choice((weather.length, (20, 60)))
    weather.unasked = rng.choice((0.0, 0.0, 0.1))
    weather.resident = rng.choice((0.0, 0.9))
    weather.silent = rng.choice((0.0, 0.1, 0.5))
    weather.deaf = rng.choice((0.0, 0.0, 0.3))
    weather.answer = rng.choice(((1, 2), (10, 20), (14, 18)))
    return weather


def slow(rng: random.Random) -> Weather:
    """Blocks that hold their slots for thousands of cycles."""
    return Weather(length=rng.choice(((1, 3), (300, 3000), (3000, 9000), (17_000, 18_000))))


def noisy(rng: random.Random) -> Weather:
    """Reports that nothing asked for, in nearly every cycle."""
    return Weather(length=rng.choice(((1, 4), (2, 20))), bogus=1.0)


def stormy(rng: random.Random) -> Weather:
    """As wild or lossy, with kills that come one upon the other."""
    weather = rng.choice((wild, wild, lossy))(rng)
    weather.length = rng.choice(((1, 4), (2, 20), (20, 60)))
    weather.stop = rng.choice((0.01, 0.02, 0.05))
    weather.drain = rng.choice((0.0, 0.0, 0.3))
    weather.burst = rng.choice((0.0, 0.5, 1.0))
    return weather


def squally(rng: random.Random) -> Weather:
    """Both running launches are killed at once, on SMs that take their time."""
    return Weather(
        ready=rng.choice((0.15, 0.3, 0.5)),
        length=rng.choice(((5, 30), (20, 60))),
        answer=rng.choice(((1, 4), (3, 11))),
        last_moment=rng.choice((0.0, 0.5)),
        stop=rng.choice((0.1, 0.2)),
        drain=rng.choice((0.0, 0.0, 0.3)),
        resident=0.9,
        pair=0.9,
    )


def fading(rng: random.Random) -> Weather:
    """SMs get lost, in the midst of blocks that come and go."""
    return Weather(
        length=rng.choice(((1, 1), (1, 4), (20, 60), (20, 60))),
        answer=(1, 4),
        silent=rng.choice((0.7, 1.0)),
        last_report=rng.choice((0.5, 1.0)),
        stop=rng.choice((0.05, 0.1)),
        drain=0.0,
        resident=1.0,
    )


def lasting(rng: random.Random) -> Weather:
    """Blocks that hold their slots for some thousand cycles, or end at once; no stops."""
    return Weather(length=rng.choice(((1, 3), *[(2000, 4100)] * 3)))


def ebbing(rng: random.Random) -> Weather:
    """Launches are drained at any place of their grids."""
    return Weather(
        length=rng.choice(((1, 3), (1, 8))),
        stop=rng.choice((0.002, 0.004, 0.01)),
        drain=1.0,
        resident=0.9,
    )


CLIMATES = {
    "calm": calm,
    "brisk": brisk,
    "steady": steady,
    "wild": wild,
    "lossy": lossy,
    "slow": slow,
    "noisy": noisy,
    "stormy": stormy,
    "squally": squally,
    "fading": fading,
    "lasting": lasting,
    "ebbing": ebbing,
}


class Forecast:
    """The weather of each cycle.

    Parameters
    ----------
    rng : random.Random
        For its changes.
    climate : str
        A name in `CLIMATES`.

    Attributes
    ----------
    now : Weather
        The current spell's.
    spell : int
        Counts the spells.
    """

    def __init__(self, rng: random.Random, climate: str):
        self._rng = rng
        self._draw = CLIMATES[climate]
        self._left = 0
        self.now = Weather()
        self.spell = 0

    def next(self) -> Weather:
        """Move on by a cycle."""
        if not self._left:
            self._left = self._rng.randint(*SPELL)
            self.now = self._draw(self._rng)
            self.spell += 1
        self._left -= 1
        return self.now

    def clear_up(self) -> None:
        """Let everything that is under way end, from now on."""
        self._draw = lambda rng: Weather()
        self._left = 0
