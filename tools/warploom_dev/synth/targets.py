"""What is measured: a block under a configuration, a policy and a reclaim."""

import dataclasses
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from amaranth.lib import wiring

from warploom_dev.synth.baseline_divider import DividerIndexGenerator
from warploom_sim.verilog.blocks import BARE_INDEX_GENERATOR, block
from warploom_spec import Config, WarploomError, preset

DISPATCHER: Final = "BlockDispatcher"
#: Ends at the packer: an index memory's cost is its user's choice.
INDEX: Final = "IndexGenerator"
INDEX_WITH_MEMORY: Final = "IndexGenerator+IndexMemory"
BASELINE: Final = "DividerIndexGenerator"
FRONT_END: Final = "FrontEnd"
#: Where a row is placed that names no other device.
USUAL_DEVICE: Final = "85k"

#: Measured for their area alone.
OTHERS: Final = (
    "LaunchCheck",
    "ConfigFilter",
    "IndexIterator",
    "IndexPacker",
    "IndexUnpacker",
    "IndexMemory",
    INDEX_WITH_MEMORY,
    "IncrementalScheduler",
    "GridWalker",
)
#: Cells with which a block is measured: one for each unit would be too many.
CELLS: Final[dict[str, dict[str, Any]]] = {
    "ResourceRanges": {"register_cell": 8, "shared_cell": 64}
}
#: Small blocks of which an SM has one.
SM_SIDE: Final = ("ResourceRanges", "BlockToWarps", "BlockAtATime")


@dataclass(frozen=True, kw_only=True)
class Target:
    """One row of the figures.

    Attributes
    ----------
    block : str
        The component's name.
    config : str
        A preset's name.
    policy, reclaim : str or None
        Of the dispatcher; None for a block that holds none.
    seeds : int
        Place-and-route runs; 0 measures the area alone.
    device : str
        The ECP5 that it is placed on, a name of `flow.DEVICES`; a row has one.
    first_seed : int
        The seeds count from it.
    static : bool
        Whether it is placed with the options `flow.STATIC`.
    by_wheel : bool
        Whether the wheel's nextpnr places it even beside a native one, so that everybody can repeat
        its clock rate.
    """

    block: str
    config: str = "default"
    policy: str | None = None
    reclaim: str | None = None
    seeds: int = 0
    device: str = USUAL_DEVICE
    first_seed: int = 1
    static: bool = False
    by_wheel: bool = False

    @property
    def key(self) -> tuple[str, str, str | None, str | None]:
        """What tells a row from the others."""
        return self.block, self.config, self.policy, self.reclaim

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds of place and route."""
        return tuple(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def name(self) -> str:
        """One word for files and messages."""
        return "-".join(part for part in self.key if part).replace("+", "_")

    @property
    def parameters(self) -> Config:
        """The configuration that the component is generated from."""
        chosen = {"policy": self.policy, "reclaim": self.reclaim}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value}
        return dataclasses.replace(preset(self.config), **given, **CELLS.get(self.block, {}))

    @property
    def module(self) -> str:
        """Name of the block's file and of its Verilog module, without prefix."""
        return re.sub(r"\B([A-Z])", r"_\1", self.block.partition("+")[0]).lower()

    def component(self) -> wiring.Component:
        """Return the component, not yet elaborated."""
        if self.block == INDEX:
            return BARE_INDEX_GENERATOR(self.parameters)
        if self.block == BASELINE:
            return DividerIndexGenerator(self.parameters)
        return block(self.module)(self.parameters)


def _whole(block: str, seeds: int, config: str = "default", device: str = USUAL_DEVICE) -> Target:
    """Return a row of a block that holds the dispatcher of the preset."""
    usual = preset(config)
    return Target(
        block=block,
        config=config,
        policy=usual.policy,
        reclaim=usual.reclaim,
        seeds=seeds,
        device=device,
    )


def _dispatchers() -> tuple[Target, ...]:
    """Return the rows of the dispatcher."""
    usual = _whole(DISPATCHER, 0)
    return (
        dataclasses.replace(usual, seeds=1),
        dataclasses.replace(usual, reclaim="in_order"),
        *(dataclasses.replace(usual, policy=policy) for policy in ("least_loaded", "freed_first")),
        *(
            dataclasses.replace(usual, config="large", policy=policy)
            for policy in ("round_robin", "freed_first")
        ),
    )


def all_targets() -> tuple[Target, ...]:
    """Return every row of the figures, the most important first."""
    return (
        Target(block=INDEX, seeds=3),
        *_dispatchers(),
        Target(block="KernelQueue", seeds=1),
        Target(block="RecordQueue", seeds=1),
        _whole("LaunchPath", 0),
        Target(block="Mailbox"),
        Target(block="LoopExpander", seeds=1),
        Target(block="LoopExpander", config="tiny"),
        dataclasses.replace(_whole(FRONT_END, 0), static=True),
        dataclasses.replace(_whole(FRONT_END, 0, config="tiny", device="25k"), static=True),
        Target(block=INDEX, config="tiny", seeds=1, by_wheel=True),
        Target(block=INDEX, config="large", seeds=1),
        *(Target(block=name) for name in OTHERS),
        *(Target(block=name, seeds=3) for name in SM_SIDE),
        Target(block=BASELINE, seeds=1),
    )


def select(**wanted: Collection[str]) -> tuple[Target, ...]:
    """Return the targets that have one of the values of each field; of an empty one, any.

    Parameters
    ----------
    **wanted : collection of str
        By field: ``block``, ``config``, ``policy``, ``reclaim``.

    Raises
    ------
    WarploomError
        If a block is unknown, or no target is left.
    """
    targets = all_targets()
    names = list(dict.fromkeys(target.block for target in targets))
    for name in wanted.get("block", ()):
        if name not in names:
            raise WarploomError(f"block is {name!r}; legal: {', '.join(names)}")
    found = tuple(
        target
        for target in targets
        if all(not values or getattr(target, field) in values for field, values in wanted.items())
    )
    if not found:
        said = "; ".join(f"{k} {' or '.join(values)}" for k, values in wanted.items() if values)
        blocks = wanted.get("block") or names
        legal = ", ".join(target.name for target in targets if target.block in blocks)
        raise WarploomError(f"nothing is measured with {said}; legal: {legal}")
    return found
