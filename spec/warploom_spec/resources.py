"""What a block takes of an SM, and why a block waits: two lists that nobody writes twice."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from warploom_spec.config import Config
from warploom_spec.errors import EXPLANATIONS, ErrorCode, WarploomError


@dataclass(frozen=True, kw_only=True)
class LaunchField:
    """The field of a launch with the amount that a block takes of a resource.

    The launch descriptor, the task register, the C header and the Python driver have the field, and
    so have the launch words that SMs see.

    Attributes
    ----------
    name : str
        The field, and the attribute of `LaunchDescriptor`.
    bits, word, low : int
        Its width, its word of the task register, and its lowest bit there.
    of_warp : bool
        Whether the amount is that of one warp. LaunchCheck has one multiplier, for registers.
    """

    name: str
    bits: int
    word: int
    low: int
    of_warp: bool = False


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One resource of an SM.

    Attributes
    ----------
    name : str
        Its name in packets and ports. BlockDispatcher has the counter ``stall_<name>``.
    label, unit : str
        Its name for readers, and what an amount of it counts.
    size : str
        The field of `Config` that says how much of it an SM has.
    code : str
        The `ErrorCode` that refuses a launch whose blocks take too much; empty: none does.
    most : int or None
        The most that one block may take, whatever an SM has.
    field : LaunchField or None
        How a launch says what a block takes. None: a block takes one slot, and its shape's warps.
    cell : str
        The field of `Config` that says how many units a cell of it has. Blocks take whole cells,
        and ResourceRanges gives each block a contiguous range of them. Empty: a cell is one unit,
        and there are no ranges.
    """

    name: str
    label: str
    unit: str
    size: str
    code: str = ""
    most: int | None = None
    field: LaunchField | None = None
    cell: str = ""

    def capacity(self, config: Config) -> int:
        """Return how much of it one SM has."""
        return int(getattr(config, self.size))

    def limit(self, config: Config) -> int:
        """Return how much of it one block may take."""
        capacity = self.cells(config) * self.cell_units(config)
        return capacity if self.most is None else min(self.most, capacity)

    def cell_units(self, config: Config) -> int:
        """Return how many units a cell of it has."""
        return int(getattr(config, self.cell)) if self.cell else 1

    def cells(self, config: Config) -> int:
        """Return how many whole cells of it one SM has."""
        return self.capacity(config) // self.cell_units(config)

    def in_cells(self, amount: int, config: Config) -> int:
        """Return an amount, rounded up to whole cells."""
        units = self.cell_units(config)
        return -(-amount // units) * units

    @property
    def meaning(self) -> str:
        """What the launch's field says."""
        of = "warp" if self.field and self.field.of_warp else "block"
        return f"{self.unit} of one {of}"

    def refusal(self) -> ErrorCode:
        """Return the code that refuses a launch whose blocks take too much."""
        return ErrorCode[self.code]


#: Every resource: one block slot, and so much of each of the others.
SM_RESOURCES: Final = (
    Resource(name="slots", label="block slots", unit="block slots", size="block_slots"),
    Resource(name="warps", label="warps", unit="warps", size="warp_slots", code="BLOCK_WARPS"),
    Resource(
        name="registers",
        label="registers",
        unit="register units",
        size="register_units",
        code="BLOCK_REGISTERS",
        field=LaunchField(name="warp_registers", bits=9, word=10, low=0, of_warp=True),
        cell="register_cell",
    ),
    Resource(
        name="shared",
        label="shared memory",
        unit="shared-memory units",
        size="shared_units",
        code="BLOCK_SHARED",
        field=LaunchField(name="shared", bits=11, word=10, low=10),
        cell="shared_cell",
    ),
    Resource(
        name="barriers",
        label="barriers",
        unit="barriers",
        size="barriers",
        code="BLOCK_BARRIERS",
        most=16,
        field=LaunchField(name="barriers", bits=6, word=10, low=24),
    ),
)
#: Their names.
RESOURCES: Final = tuple(resource.name for resource in SM_RESOURCES)
#: Those of which the launch gives the amount of one block; registers are given by the warp.
BLOCK_AMOUNTS: Final = tuple(r for r in SM_RESOURCES if r.field and not r.field.of_warp)
#: Those of which ResourceRanges gives a block a contiguous range.
RANGED: Final = tuple(r for r in SM_RESOURCES if r.cell)
#: The one whose amount a launch gives by the warp.
REGISTERS: Final = next(r for r in SM_RESOURCES if r.field and r.field.of_warp)
#: The launch's fields that say what a block takes.
AMOUNT_FIELDS: Final = tuple(r.field.name for r in SM_RESOURCES if r.field)
#: Why no block is decided in a cycle; BlockDispatcher has a counter ``stall_<cause>`` for each.
#: The host's registers stand in this order: a sixth resource comes after, and moves none of them.
STALL_CAUSES: Final = ("order", *RESOURCES[:5], "offer", *RESOURCES[5:])


def capacities(config: Config) -> dict[str, int]:
    """Return how much of each resource one SM has."""
    return {resource.name: resource.capacity(config) for resource in SM_RESOURCES}


def block_amounts(launch: Mapping[str, int], warps: int, config: Config) -> tuple[int, ...]:
    """Return what one block takes, in the order of `RESOURCES`, in units.

    Parameters
    ----------
    launch : mapping
        Values of `AMOUNT_FIELDS`, among others.
    warps : int
        Warps of one block.
    config : Config
        Says how large cells are: amounts are rounded up to whole ones.
    """
    amounts = []
    for resource in SM_RESOURCES:
        field = resource.field
        if field is None:
            amounts.append(warps if resource.name == "warps" else 1)
        else:
            units = launch[field.name] * (warps if field.of_warp else 1)
            amounts.append(resource.in_cells(units, config))
    return tuple(amounts)


def check_resources() -> None:
    """Demand what each resource names.

    Raises
    ------
    WarploomError
        Names the resource, what is missing, and the file that it is missing in.
    """
    sizes = {field.name for field in dataclasses.fields(Config)}
    for resource in SM_RESOURCES:
        what, field = f"resource {resource.name!r}", resource.field
        for size in (resource.size, resource.cell):
            if size and size not in sizes:
                raise WarploomError(
                    f"{what}: Config has no field {size!r} (spec/warploom_spec/config.py)"
                )
        if field and not resource.code:
            raise WarploomError(
                f"{what}: no code refuses a block that takes too much"
                " (spec/warploom_spec/resources.py)"
            )
        if field and not field.of_warp and field.name != resource.name:
            raise WarploomError(
                f"{what}: its launch field is {field.name!r}; legal: the resource's name"
                " (spec/warploom_spec/resources.py)"
            )
        if resource.code and resource.code not in ErrorCode.__members__:
            raise WarploomError(
                f"{what}: ErrorCode has no {resource.code} (spec/warploom_spec/errors.py)"
            )
        if resource.code and resource.refusal() not in EXPLANATIONS:
            raise WarploomError(
                f"{what}: EXPLANATIONS has no {resource.code} (spec/warploom_spec/errors.py)"
            )


check_resources()
