"""How simulated SMs behave, and how often launches are stopped: drawn anew for each period."""

import random
from dataclasses import dataclass

#: Shortest and longest period, in cycles.
PERIOD = (40, 250)


@dataclass
class SmBehaviour:
    """What holds for one period; probabilities are for each cycle and SM unless said otherwise.

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
        For each SM: it takes no offers during the period.
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


def no_stops(rng: random.Random) -> SmBehaviour:
    """Blocks come and go; nobody stops anything."""
    return SmBehaviour(
        ready=rng.choice((0.1, 0.5, 0.9, 1.0, 1.0)),
        length=rng.choice(((1, 1), (1, 4), (2, 20), (20, 60))),
        instant=rng.choice((0.0, 0.0, 0.5)),
        together=rng.random() < 0.2,
    )


def few_stops(rng: random.Random) -> SmBehaviour:
    """Blocks that end at once; a launch is stopped now and then."""
    return SmBehaviour(
        length=rng.choice(((1, 1), (1, 4), (2, 20))),
        stop=rng.choice((0.0, 0.01, 0.03)),
    )


def short_blocks(rng: random.Random) -> SmBehaviour:
    """Blocks that end at once, and no stops."""
    del rng
    return SmBehaviour()


def mixed(rng: random.Random) -> SmBehaviour:
    """Stops, faults, reports that nothing asked for, changes of the enable mask."""
    behaviour = no_stops(rng)
    behaviour.fault = rng.choice((0.0, 0.0, 0.01, 0.1))
    behaviour.unasked = rng.choice((0.0, 0.0, 0.0, 0.02))
    behaviour.bogus = rng.choice((0.0, 0.0, 0.01, 0.1))
    behaviour.answer = rng.choice(((1, 1), (1, 4), (5, 15)))
    behaviour.last_moment = rng.choice((0.3, 0.9))
    behaviour.stop = rng.choice((0.0, 0.01, 0.05, 0.2))
    behaviour.drain = rng.choice((0.0, 0.5, 1.0))
    behaviour.enable = rng.choice((0.0, 0.0, 0.02, 0.2))
    return behaviour


def sm_loss(rng: random.Random) -> SmBehaviour:
    """As `mixed`, and SMs fall silent, some while they hold blocks of two launches for long."""
    behaviour = mixed(rng)
    behaviour.length = rng.choice((behaviour.length, (20, 60)))
    behaviour.unasked = rng.choice((0.0, 0.0, 0.1))
    behaviour.resident = rng.choice((0.0, 0.9))
    behaviour.silent = rng.choice((0.0, 0.1, 0.5))
    behaviour.deaf = rng.choice((0.0, 0.0, 0.3))
    behaviour.answer = rng.choice(((1, 2), (10, 20), (14, 18)))
    return behaviour


def very_long_blocks(rng: random.Random) -> SmBehaviour:
    """Blocks that hold their slots for thousands of cycles."""
    return SmBehaviour(length=rng.choice(((1, 3), (300, 3000), (3000, 9000), (17_000, 18_000))))


def stray_reports(rng: random.Random) -> SmBehaviour:
    """Reports that nothing asked for, in nearly every cycle."""
    return SmBehaviour(length=rng.choice(((1, 4), (2, 20))), bogus=1.0)


def kill_bursts(rng: random.Random) -> SmBehaviour:
    """As `mixed` or `sm_loss`, with kills that come one upon the other."""
    behaviour = rng.choice((mixed, mixed, sm_loss))(rng)
    behaviour.length = rng.choice(((1, 4), (2, 20), (20, 60)))
    behaviour.stop = rng.choice((0.01, 0.02, 0.05))
    behaviour.drain = rng.choice((0.0, 0.0, 0.3))
    behaviour.burst = rng.choice((0.0, 0.5, 1.0))
    return behaviour


def dual_kill(rng: random.Random) -> SmBehaviour:
    """Both running launches are killed at once, on SMs that take their time."""
    return SmBehaviour(
        ready=rng.choice((0.15, 0.3, 0.5)),
        length=rng.choice(((5, 30), (20, 60))),
        answer=rng.choice(((1, 4), (3, 11))),
        last_moment=rng.choice((0.0, 0.5)),
        stop=rng.choice((0.1, 0.2)),
        drain=rng.choice((0.0, 0.0, 0.3)),
        resident=0.9,
        pair=0.9,
    )


def frequent_sm_loss(rng: random.Random) -> SmBehaviour:
    """SMs get lost, in the midst of blocks that come and go."""
    return SmBehaviour(
        length=rng.choice(((1, 1), (1, 4), (20, 60), (20, 60))),
        answer=(1, 4),
        silent=rng.choice((0.7, 1.0)),
        last_report=rng.choice((0.5, 1.0)),
        stop=rng.choice((0.05, 0.1)),
        drain=0.0,
        resident=1.0,
    )


def long_blocks(rng: random.Random) -> SmBehaviour:
    """Blocks that hold their slots for some thousand cycles, or end at once; no stops."""
    return SmBehaviour(length=rng.choice(((1, 3), *[(2000, 4100)] * 3)))


def drains(rng: random.Random) -> SmBehaviour:
    """Launches are drained at any place of their grids."""
    return SmBehaviour(
        length=rng.choice(((1, 3), (1, 8))),
        stop=rng.choice((0.002, 0.004, 0.01)),
        drain=1.0,
        resident=0.9,
    )


def late_drains(rng: random.Random) -> SmBehaviour:
    """Blocks that end at once; a launch is drained after about a thousand cycles."""
    return SmBehaviour(stop=rng.choice((0.0, 0.001)), drain=1.0, resident=1.0)


PROFILES = {
    "no_stops": no_stops,
    "few_stops": few_stops,
    "short_blocks": short_blocks,
    "mixed": mixed,
    "sm_loss": sm_loss,
    "very_long_blocks": very_long_blocks,
    "stray_reports": stray_reports,
    "kill_bursts": kill_bursts,
    "dual_kill": dual_kill,
    "frequent_sm_loss": frequent_sm_loss,
    "long_blocks": long_blocks,
    "drains": drains,
    "late_drains": late_drains,
}


class BehaviourSource:
    """The behaviour of the SMs in each cycle.

    Parameters
    ----------
    rng : random.Random
        Draws the periods and their behaviour.
    profile : str
        A name in `PROFILES`.

    Attributes
    ----------
    now : SmBehaviour
        The behaviour in the current period.
    period : int
        Counts the periods.
    """

    def __init__(self, rng: random.Random, profile: str):
        self._rng = rng
        self._draw = PROFILES[profile]
        self._left = 0
        self.now = SmBehaviour()
        self.period = 0

    def next(self) -> SmBehaviour:
        """Move on by a cycle."""
        if not self._left:
            self._left = self._rng.randint(*PERIOD)
            self.now = self._draw(self._rng)
            self.period += 1
        self._left -= 1
        return self.now
