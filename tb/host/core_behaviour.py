"""Stimulus of an execution unit: a legal mailbox before it, and cores that do anything."""

from warploom_sim.cosim.lockstep import Pace
from warploom_spec import host_packets

#: How the cores of a unit behave for a while: chance of a failure, longest work in units of the
#: time-out, chance that all who work end in one cycle, and chance of a level that means nothing.
PROFILES = (
    {"fail": 0.0, "longest": 0.4, "together": 0.0, "noise": 0.0},
    {"fail": 0.3, "longest": 0.4, "together": 0.2, "noise": 0.0},
    {"fail": 0.1, "longest": 1.6, "together": 0.0, "noise": 0.0},
    {"fail": 0.2, "longest": 6.0, "together": 0.1, "noise": 0.02},
    {"fail": 0.2, "longest": 0.8, "together": 0.0, "noise": 0.3},
)


class Cores:
    """Cores of one unit.

    A core that was started works for a while, then holds ``arrived`` or ``failed`` until
    ``barrier_open``. Noise flips levels: arrivals too early, dropped levels, strays.

    Parameters
    ----------
    config : Config
        Cores and time-out.
    rng : random.Random
        For all choices.
    prefix : str
        Of the ports' names, as ``cores__0__``.
    """

    def __init__(self, config, rng, prefix="cores__"):
        self._config, self._rng, self._prefix = config, rng, prefix
        self._start = host_packets.core_start(config)
        self._ready = Pace(rng)
        self._left = 0
        self._restart()

    def _restart(self):
        cores = range(self._config.cores_per_unit)
        self._work = dict.fromkeys(cores)
        self._arrived, self._failed = set(), set()
        self._was_ready = 0
        self._shown = None

    def next(self, outputs):
        """Return the cores' inputs of the unit for the next cycle."""
        rng, prefix = self._rng, self._prefix
        if not self._left:
            self._left, self._profile = rng.randint(50, 400), rng.choice(PROFILES)
        self._left -= 1
        if outputs is None:
            self._restart()
        else:
            self._hear(outputs)
        self._go_on()
        self._was_ready = int(self._ready())
        return {
            f"{prefix}start__ready": self._was_ready,
            f"{prefix}arrived": self._levels(self._arrived),
            f"{prefix}failed": self._levels(self._failed),
            f"{prefix}failure": rng.getrandbits(host_packets.FAILURE_BITS),
        }

    def _hear(self, outputs):
        """Take a start, and drop the levels at `barrier_open` and `cancel`."""
        prefix = self._prefix
        if outputs[f"{prefix}barrier_open"] or outputs[f"{prefix}cancel"]:
            self._arrived.clear()
            self._failed.clear()
        if outputs[f"{prefix}cancel"]:
            self._work = dict.fromkeys(self._work)
        self._shown = None
        if outputs[f"{prefix}start__valid"]:
            self._shown = self._start.unpack(outputs[f"{prefix}start__payload"])["core"]
        if self._shown is not None and self._was_ready:
            core, self._shown = self._shown, None
            unit = self._config.core_timeout or 20
            self._work[core] = self._rng.randint(0, round(self._profile["longest"] * unit))

    def _go_on(self):
        working = [core for core, left in self._work.items() if left is not None]
        together = self._rng.random() < self._profile["together"]
        for core in working:
            if self._work[core] and not together:
                self._work[core] -= 1
                continue
            self._work[core] = None
            failed = self._rng.random() < self._profile["fail"]
            # Both levels at once count as a failure.
            if not failed or self._rng.random() < 0.5:
                self._arrived.add(core)
            if failed:
                self._failed.add(core)

    def _levels(self, held):
        mask = sum(1 << core for core in held)
        if self._rng.random() < self._profile["noise"]:
            core = self._rng.randrange(self._config.cores_per_unit)
            # Half of the time the core whose start stands.
            mask ^= 1 << self._rng.choice((core, core if self._shown is None else self._shown))
        return mask


class Runs:
    """A mailbox that sends tasks while the unit is idle and misses no core, and resets the unit.

    Parameters
    ----------
    config : Config
        Cores.
    case : Case
        For the randomness.
    """

    def __init__(self, config, case):
        self._config, self._rng = config, case.rng("runs")
        self._run = host_packets.unit_run(config)
        self._run_pace = Pace(case.rng("run pace"))
        self._reset_pace = Pace(case.rng("reset pace"), (0.0, 0.0, 0.01, 0.05))
        self._ran = self._was_reset = False
        self._levels = 0

    def next(self, outputs, levels=0):
        """Return ``run`` and ``reset`` of the next cycle; resets come more often with a level."""
        idle = (
            outputs is None
            or self._was_reset
            # Cores are missing a cycle before `missing` is 1, from the cycle of `done` on.
            or not (self._ran or outputs["busy"] or outputs["missing"] or outputs["done"])
        )
        self._ran = idle and self._run_pace()
        pointed = (self._ran or levels or self._levels) and self._rng.random() < 0.03
        self._was_reset = self._reset_pace() or pointed
        self._levels = levels
        return {"run": self._task() if self._ran else 0, "reset": int(self._was_reset)}

    def _task(self):
        rng, cores = self._rng, self._config.cores_per_unit
        skip_primary = int(cores > 1 and rng.random() < 0.3)
        most = cores - skip_primary
        parts = rng.choice((1, most, rng.randint(1, most)))
        words = (0, 1, (1 << 32) - 1, rng.getrandbits(32), rng.randint(0, 9))
        return self._run.pack(
            {
                "valid": 1,
                "skip_primary": skip_primary,
                "parts": parts,
                "larger": rng.choice((0, parts, rng.randint(0, parts), rng.getrandbits(8))),
                "small": rng.choice(words),
                "first": rng.choice(words),
                "code": rng.getrandbits(64),
                "arguments": rng.getrandbits(64),
            }
        )
