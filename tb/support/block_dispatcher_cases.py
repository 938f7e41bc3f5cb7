"""Cases of BlockDispatcher's lockstep tests: its host with SMs, and its ledger."""

from collections.abc import Mapping

from tb.support.block_dispatcher_ledger import DispatcherLedger
from tb.support.block_dispatcher_traffic import DispatcherTraffic, Mood
from tb.support.dispatch_configs import LATE_NUMBER, Observers, config_of
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_sim.cosim.lockstep import Case, Context
from warploom_spec import Config

MOODS = {
    "usual": Mood(restart=0.002),
    "crowded": Mood(start=0.5, stop=0.002, hold=0.005, restart=0, longest=15, large=0.2),
    "short": Mood(start=0.9, stop=0.02, hold=0.02, restart=0, longest=2, large=0.1, enable=0.05),
    "mute": Mood(stop=0.02, mute=0.2, restart=0.004, large=0.2),
    "stray": Mood(start=0.3, stray=0.3, restart=0.004, large=0.2),
}
#: Of whom a soft reset takes back what was not taken.
_RESTARTED = "a soft reset forgets it"


def make_resident(
    config: str, *, first_number: int = 0, late_stalls: bool = False
) -> tuple[BlockDispatcher, Model]:
    """Make a BlockDispatcher and its model."""
    return (
        BlockDispatcher(config_of(config), first_number=first_number, late_stalls=late_stalls),
        Model(config_of(config), first_number=first_number, late_stalls=late_stalls),
    )


class ResidentHost:
    """`DispatcherTraffic`, anew after each reset. Option ``mood``: one of `MOODS`."""

    def __init__(self, context: Context):
        self._config = config_of(context.params["config"])
        self._mood = MOODS[context.options["mood"]]
        self._rng, self._cycles = context.rng, context.case.cycles
        self._ports = context.ports.inputs

    def next(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        if outputs is None:
            seed = self._rng.getrandbits(32)
            self._traffic = DispatcherTraffic(self._config, self._mood, seed, self._cycles)
        values = self._traffic.next(outputs)
        return {name: values[name] for name in self._ports}


class ResidentObserver:
    """The ledger of launches whose first block has `LATE_NUMBER`."""

    def __init__(self, config: Config):
        self._config = config
        self._seen: dict[str, int] = {}
        self.reset()

    def see(self, cycle: int, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        """Take in a cycle."""
        del cycle
        self._ledger.see(inputs, outputs)

    def reset(self) -> None:
        """Forget all but the counts."""
        self._ledger = DispatcherLedger(self._config, LATE_NUMBER, self._seen)

    def counts(self) -> dict[str, int]:
        """Return how often each kind of thing happened."""
        return self._seen


RESIDENT_LEDGERS = Observers(ResidentObserver)


def resident_case(config: str, mood: str, seed: int, cycles: int) -> Case:
    """Return a case with a mood of `MOODS`.

    Only where no SM reports what nobody runs the ledger knows which report is whose.
    """
    sms = config_of(config).sms
    swap = ["order_swap"] * config_of(config).has_order_table
    streams = "start", "ended", *swap, *(f"report__{n}" for n in range(sms))
    ledger = {} if mood == "stray" else {"ledger": f"{__name__}:RESIDENT_LEDGERS.{config}"}
    return Case(
        make=make_resident,
        params={"config": config, "first_number": LATE_NUMBER, "late_stalls": True},
        seed=seed,
        cycles=cycles,
        resets=2,
        stimulus=ResidentHost,
        options={"mood": mood},
        withdrawable=dict.fromkeys(streams, _RESTARTED),
        events=ledger,
    )
