"""What the event model runs on: a configuration's hardware, or that with one bound relaxed.

The relaxations are those of ``docs/replay/gains.md``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from warploom_golden.oracles.index_reference import warps
from warploom_golden.replay.event_constants import MOST_SLOTS, MOST_SMS
from warploom_spec import RESOURCES, Config, LaunchDescriptor, WarploomError, capacities
from warploom_spec.resources import block_amounts

#: The dispatcher's cycles in one of the blocks', where its rate is relaxed.
SPEED: Final = 64
#: Of the relaxations that need no number of the configuration: what they change.
_CHANGES: Final[dict[str, dict[str, Any]]] = {
    "order": {"ordered": False},
    "rate": {"speed": SPEED},
    "reclaim": {"at_once": True},
}
#: What can be relaxed, by name.
RELAXATIONS: Final = ("sms", *RESOURCES, *_CHANGES)
#: Between the resources that are without bound at once.
_AND: Final = "+"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """SMs, and what stands before them. Its limits are the model's own, not those of `Config`.

    Attributes
    ----------
    sms : int
        SMs, up to ``event_constants.MOST_SMS``.
    sizes : tuple of int
        What an SM has of each of ``warploom_spec.RESOURCES``; up to ``event_constants.MOST_SLOTS``
        block slots, any number of the others.
    ordered : bool
        Launches wait for the earlier ones of their stream; False: each has a stream of its own.
    at_once : bool
        What a block took is free in the cycle after its report, whatever the reclaim policy.
    speed : int
        Cycles of the front end in one cycle of blocks and arrivals.

    Raises
    ------
    WarploomError
        If it has more SMs or block slots than the model.
    """

    sms: int
    sizes: tuple[int, ...]
    ordered: bool = True
    at_once: bool = False
    speed: int = 1

    def __post_init__(self) -> None:
        """Refuse what the model has no room for."""
        slots = self.sizes[RESOURCES.index("slots")]
        for name, value, most in (("sms", self.sms, MOST_SMS), ("slots", slots, MOST_SLOTS)):
            if not 1 <= value <= most:
                raise WarploomError(f"{name} is {value}; legal in the event model: 1 to {most}")

    @classmethod
    def of(cls, config: Config) -> "Machine":
        """Return the hardware of a configuration."""
        return cls(sms=config.sms, sizes=tuple(capacities(config).values()))


def relaxed(config: Config, name: str, launches: Sequence[LaunchDescriptor]) -> Machine:
    """Return a configuration's hardware with one bound relaxed, or some resources together.

    Parameters
    ----------
    config : Config
        The hardware.
    name : str
        One of `RELAXATIONS`, or what `together` calls some resources.
    launches : sequence of LaunchDescriptor
        What is to run there, without what is refused. A resource without bound is as much of it as
        admits every block that the others admit.

    Raises
    ------
    WarploomError
        If there is no such relaxation.
    """
    resources = parts(name)
    if set(resources) <= set(RESOURCES):
        sizes = capacities(config)
        needs = [dict(zip(RESOURCES, block_needs(one, config), strict=True)) for one in launches]
        if "slots" in resources:
            # Each block takes at least one warp.
            sizes["slots"] = max(config.block_slots, config.warp_slots)
        for each in set(resources) - {"slots"}:
            most = max((need[each] for need in needs), default=0)
            sizes[each] = max(sizes[each], sizes["slots"] * most)
        if "slots" in resources:
            sizes["slots"] = max(config.block_slots, _most_blocks(sizes, needs))
        return replace(Machine.of(config), sizes=tuple(sizes.values()))
    if name == "sms":
        return replace(Machine.of(config), sms=2 * config.sms)
    if name not in _CHANGES:
        raise WarploomError(f"relaxation is {name!r}; legal: {', '.join(RELAXATIONS)}")
    return replace(Machine.of(config), **_CHANGES[name])


def together(resources: Collection[str]) -> str:
    """Return what it is called that some resources are without bound at once."""
    return _AND.join(name for name in RESOURCES if name in resources)


def parts(name: str) -> list[str]:
    """Return what is relaxed at once under a name: one bound, or some resources."""
    return name.split(_AND)


def _most_blocks(sizes: Mapping[str, int], needs: Sequence[Mapping[str, int]]) -> int:
    """Return how many blocks fit on an SM, at most, if each takes the least that any one takes.

    More slots than that stay empty. They would gain nothing, but blocks would stand in other slots,
    and of two that are due at once the one in the lower slot is reported first.
    """
    least = {name: min((need[name] for need in needs), default=0) for name in sizes}
    return min(size // least[name] for name, size in sizes.items() if least[name]) if needs else 1


def block_needs(launch: LaunchDescriptor, config: Config) -> tuple[int, ...]:
    """Return what one block of a launch takes of each of ``warploom_spec.RESOURCES``."""
    return block_amounts(vars(launch), warps(launch.block, config.warp_size), config)
