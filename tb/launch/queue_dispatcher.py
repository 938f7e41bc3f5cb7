"""A dispatcher of two places for KernelQueue: it decides, stops and ends launches at random."""

from dataclasses import dataclass, field
from random import Random

from warploom_spec import Config, ErrorCode, Fate, Stop, layouts
from warploom_spec.layouts import PLACES
from warploom_spec.queue_packets import STOP_SKIP

NEVER = 1 << 60
#: Cycles from a block's decision to `started`.
SHOWN = 2


@dataclass
class Resident:
    """A launch in a place.

    Attributes
    ----------
    launch : dict
        Fields of ``dispatch_launch``.
    decided : int
        Cycle of its first block's decision.
    since : int
        Cycle from which on it has its place.
    ends, fate, code : int, Fate, int
        How it will end.
    stops : set of int
        Stops that were heard.
    """

    launch: dict[str, int]
    since: int
    decided: int
    ends: int
    fate: Fate = Fate.FINISHED
    code: int = 0
    stops: set[int] = field(default_factory=set)


class Dispatcher:
    """Two places, a launch in each at most.

    Parameters
    ----------
    config : Config
        The machine.
    rng : Random
        For all that it does.
    """

    def __init__(self, config: Config, rng: Random):
        self._config = config
        self._rng = rng
        self._launch = layouts.dispatch_launch(config)
        self._stop = layouts.dispatch_stop(config)
        self._end = layouts.dispatch_end(config)
        self.places: list[Resident | None] = [None] * PLACES
        #: Chance of ``launch.ready``; longest run; chances of an endless run and of a failure.
        self.ready_rate, self.longest, self.endless, self.fails = 0.8, 40, 0.0, 0.0
        #: No SM is left: all end soon.
        self.lost = False
        self._ended: int | None = None
        self._ready = 0

    def hear(self, now: int, inputs: dict[str, int], outputs: dict[str, int]) -> None:
        """Take in the last cycle's outputs: it was ``now`` - 1."""
        stops = self._stop.unpack(outputs["stop"])
        for place, resident in enumerate(self.places):
            if resident is not None and place != self._ended:
                self._stopped(now - 1, place, resident, stops[f"place{place}"])
        if self._ended is not None:
            self.places[self._ended] = None
        if self._ready and outputs["launch__valid"]:
            launch = self._launch.unpack(outputs["launch__payload"])
            self.places[self.places.index(None)] = self._settle(now, launch)

    def _settle(self, now: int, launch: dict[str, int]) -> Resident:
        decided = now + self._rng.choice((0, 1, 2, 3, 4, self._rng.randrange(25)))
        long = self._rng.randint(1, self.longest)
        length = self._rng.choice((0, 1, 5, long, long))
        ends = decided + SHOWN + length
        if self._rng.random() < self.endless:
            ends = NEVER
        resident = Resident(launch, now, decided, ends)
        if self._rng.random() < self.fails:
            resident.fate = Fate.FAILED
            resident.code = self._rng.choice((ErrorCode.BLOCK_FAULT, ErrorCode.SM_LOST))
        return resident

    def _stopped(self, heard: int, place: int, resident: Resident, stop: int) -> None:
        """Follow a stop that stood in a cycle; a block decided in it stands."""
        if not stop:
            return
        waits = resident.decided > heard and self._is_held(place, resident)
        resident.stops.add(stop)
        latest = heard if stop == STOP_SKIP else heard + 1
        if resident.decided > latest or waits:
            resident.decided = NEVER
            resident.fate, resident.code = Fate.SKIPPED, 0
            if self._rng.random() < 0.1:
                # KernelQueue's page allows it; BlockDispatcher says SKIPPED.
                said = {int(Stop.DRAIN): Fate.DRAINED, int(Stop.KILL): Fate.KILLED}
                resident.fate = said.get(stop, Fate.SKIPPED)
            resident.ends = heard + self._rng.randint(4, 12)
        elif stop != STOP_SKIP:
            self._make_way(max(heard, resident.decided), resident, stop)

    def _make_way(self, heard: int, resident: Resident, stop: int) -> None:
        last = heard + 4 + self._rng.randrange(20 if stop == Stop.KILL else 40)
        if resident.ends <= last or (resident.fate is Fate.FAILED and self._rng.random() < 0.5):
            resident.ends = min(resident.ends, last)
            return
        kills = stop == Stop.KILL and self._config.sm_kill
        resident.fate, resident.code = (Fate.KILLED if kills else Fate.DRAINED), 0
        if Stop.KILL in resident.stops and self._config.sm_kill:
            resident.fate = Fate.KILLED
        resident.ends = last

    def _is_held(self, place: int, resident: Resident) -> bool:
        """Whether the launch waits for an older one of its stream in the other place."""
        other = self.places[1 - place]
        if other is None or resident.stops or not resident.launch["after_previous"]:
            return False
        same = other.launch["stream"] == resident.launch["stream"]
        return same and other.since < resident.since

    def speak(self, now: int, hurry: bool) -> dict[str, int]:
        """Return the inputs of a cycle."""
        rng = self._rng
        started = self._flags(now, hurry)
        self._ended, ended = None, 0
        due = [p for p, r in enumerate(self.places) if r is not None and r.ends <= now]
        if due and (hurry or rng.random() < 0.8):
            self._ended = rng.choice(due)
            ended = self._record(self._ended, now)
        free = self.places.count(None) + (self._ended is not None)
        self._ready = int(free > 0 and (hurry or rng.random() < self.ready_rate))
        yields = rng.choice((0, 0, 0, rng.getrandbits(2)))
        return {
            "launch__ready": self._ready,
            "started": started,
            "yields": 0 if hurry else yields,
            "ended__valid": int(self._ended is not None),
            "ended__payload": ended,
            "ended_number": rng.getrandbits(32),
        }

    def _flags(self, now: int, hurry: bool) -> int:
        """Return ``started``; of a free place it means nothing."""
        flags = 0
        for place, resident in enumerate(self.places):
            if resident is None:
                flags |= self._rng.getrandbits(1) << place
                continue
            if now <= resident.decided < NEVER and self._is_held(place, resident):
                resident.decided += 1
                resident.ends += resident.ends < NEVER
            if self.lost and now < resident.decided < NEVER and self._rng.random() < 0.2:
                resident.decided, resident.ends = NEVER, now + 3
                resident.fate, resident.code = Fate.FAILED, ErrorCode.NO_SM
            if (hurry or self.lost) and resident.ends >= NEVER:
                resident.ends = now + self._rng.randint(4, 30)
                resident.ends = max(resident.ends, resident.decided + SHOWN + 1)
            if self.lost and resident.fate is Fate.FINISHED and resident.decided < now - 2:
                resident.fate, resident.code = Fate.FAILED, ErrorCode.SM_LOST
            flags |= int(resident.decided + SHOWN <= now) << place
        self._decide_apart(now)
        return flags

    def _decide_apart(self, now: int) -> None:
        """One block is decided in a cycle: two launches never begin at once."""
        first, second = self.places
        if first is None or second is None or first.decided != second.decided:
            return
        if now <= second.decided < NEVER:
            second.decided += 1
            second.ends += second.ends < NEVER

    def _record(self, place: int, now: int) -> int:
        resident = self.places[place]
        assert resident is not None
        launch = resident.launch
        block = dict.fromkeys(("next_x", "next_y", "next_z"), 0)
        if resident.fate is Fate.DRAINED:
            for field_ in self._end.fields:
                if field_.name in block:
                    block[field_.name] = self._rng.getrandbits(field_.bits)
        return self._end.pack(
            {
                "ticket": launch["ticket"],
                "fate": resident.fate,
                "code": resident.code,
                "cycles": self._rng.getrandbits(32),
                "place": place,
                "entries": launch["entries"],
                "stream": launch["stream"],
                **block,
            }
        )


class Filter:
    """An index filter that takes one configuration at a time and decides it some cycles later."""

    def __init__(self, config: Config, rng: Random):
        self._config = config
        self._rng = rng
        self._packet = layouts.index_decision(config)
        self._due: int | None = None
        self._last: int | None = None
        self.ready_rate, self.slowest = 0.8, 6
        self._values: dict[str, int] = {}

    def hear(self, now: int, outputs: dict[str, int]) -> None:
        """Take in the last cycle's outputs: it was ``now`` - 1."""
        decided = self._values["decision__valid"]
        if decided or self._last is not None and self._last < now:
            self._due = self._last = None
        elif outputs["cancel"]:
            self._last = now
        if outputs["request__valid"] and self._values["request__ready"]:
            self._due = now - 1 + self._rng.randint(1, self.slowest)

    def speak(self, now: int) -> dict[str, int]:
        """Return the inputs of a cycle."""
        rng = self._rng
        last_chance = self._last is not None and rng.random() < 0.5
        valid = self._due is not None and (self._due <= now or last_chance)
        word = self._packet.pack({"hit": 1, "entry": rng.randrange(self._config.history_entries)})
        self._values = {
            "request__ready": int(rng.random() < self.ready_rate),
            "release__ready": 1,
            "decision__valid": int(valid),
            "decision__payload": word,
        }
        return self._values
