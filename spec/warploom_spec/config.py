"""Parameters of one generated front end, validated, with named presets."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from warploom_spec.errors import WarploomError

POLICIES: Final = ("first_fit", "round_robin", "least_loaded", "freed_first")
#: Those of them that read a table of the SMs' turns: BlockDispatcher has the port
#: ``order_swap``, the host the register ORDER_SWAP.
ORDER_TABLE_POLICIES: Final = ("freed_first",)
RECLAIMS: Final = ("in_order", "out_of_order")
WARP_SIZES: Final = (2, 4, 8, 16, 32, 64)

# Widths of a launch's dimensions as it arrives, the same for every preset, so that a small
# configuration can see and refuse what is too large for it.
GRID_FIELD_BITS: Final = (31, 16, 16)
BLOCK_FIELD_BITS: Final = (11, 11, 7)
BLOCK_LIMITS: Final = (1024, 1024, 64)


def _int(default: int, low: int, high: int, meaning: str, *, power: bool = False) -> int:
    """Declare an integer field with its legal range and its meaning; maybe a power of two."""
    return dataclasses.field(
        default=default, metadata={"low": low, "high": high, "meaning": meaning, "power": power}
    )


def _field(default: Any, meaning: str) -> Any:
    """Declare another field with its meaning."""
    return dataclasses.field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class Config:
    """One configuration of the front end.

    Every integer field has a legal range; :class:`WarploomError` names the field, its value and the
    range when it is left. Widths derived from the fields are properties. A field's metadata hold
    its ``meaning``, an integer field's also its range: ``low`` and ``high``, and whether it is a
    ``power`` of two.
    """

    sms: int = _int(8, 1, 256, "Streaming multiprocessors behind the dispatcher.")
    warp_size: int = _field(32, "Lanes of a warp, W: 2, 4, 8, 16, 32 or 64.")
    block_slots: int = _int(32, 1, 64, "Blocks that one SM holds.")
    warp_slots: int = _int(64, 1, 128, "Warps that one SM holds.")
    register_units: int = _int(256, 1, 511, "Registers of one SM, in units of 256.")
    shared_units: int = _int(1824, 1, 2047, "Shared memory of one SM, in units of 128 bytes.")
    barriers: int = _int(32, 1, 63, "Barriers of one SM.")
    register_cell: int = _int(
        1, 1, 256, "Units of a cell of registers: a block takes whole cells.", power=True
    )
    shared_cell: int = _int(
        1, 1, 1024, "Units of a cell of shared memory: a block takes whole cells.", power=True
    )
    max_threads: int = _int(1024, 1, 65536, "Most threads of one block.")
    grid_bits: tuple[int, int, int] = _field(
        (31, 16, 16),
        "Width of each grid dimension; the largest dimension is 2**bits - 1.",
    )
    history_entries: int = _int(8, 1, 64, "Block shapes that ConfigFilter remembers.")
    index_memory_warps: int = _int(
        512,
        0,
        65536,
        "Warps that the index memory holds, 2 at least; 0: there is none, and nothing makes "
        "indices, because the SMs make their own.",
    )
    word_bits: int = _int(16, 8, 32, "Bits of one packed thread index.")
    inline_args: int = _int(4, 0, 8, "Argument words of 64 bits that travel in the launch.")
    stream_bits: int = _int(4, 1, 5, "Widths of these fields.")
    priority_bits: int = _int(2, 1, 2, "Widths of these fields.")
    task_bits: int = _int(
        4,
        1,
        8,
        "Width of a merged kernel's task number. Mapping tables are not in hardware, so no block "
        "and no packet has it; it counts in ``CONFIG_CRC``, as each field does.",
    )
    max_tables: int = _int(4, 1, 7, "Mapping tables; handle 0 means none.")
    reference_bits: int = _int(
        6,
        1,
        8,
        "Width of a history entry's reference count, more than ``stream_bits``: each stream may "
        "have a launch of the entry's shape.",
    )
    kill_timeout: int = _int(
        1024,
        10,
        65535,
        "Cycles after which an SM that has not reported a killed launch's blocks is lost; at "
        "least 2 ``block_slots`` + 8.",
    )
    sm_kill: bool = _field(
        True,
        "Whether SMs end a block when its launch is killed; if not, every kill is a drain, and "
        "no SM is ever lost.",
    )
    cores: int = _int(4, 1, 16, "Execution stages of one SM that IncrementalScheduler feeds.")
    sections: int = _int(
        8,
        1,
        64,
        "Sections of the doorbell mailbox; section k belongs to execution unit k for k < "
        "``units``.",
    )
    units: int = _int(4, 1, 8, "Execution units, at most ``sections``.")
    cores_per_unit: int = _int(
        32,
        1,
        32,
        "Cores of one execution unit; the status word has a bit for each.",
    )
    core_timeout: int = _int(
        1 << 20,
        0,
        1 << 30,
        "Cycles after which a unit's core that has not arrived is missing; 0: never.",
    )
    queue_depth: int = _int(
        16,
        1,
        64,
        "Unfinished launches of one priority, at most, a power of two. There are records for 4 of "
        "it plus 4.",
        power=True,
    )
    launch_waits: int = _int(
        2, 0, 4, "Launches of other streams that one launch may wait for, as pairs."
    )
    loop_templates: int = _int(
        64,
        0,
        64,
        "Slots for launch templates, a power of two from 4 on; 0: nothing of loops is there.",
        power=True,
    )
    loop_sections: int = _int(
        8,
        1,
        16,
        "Sections that can loop, the last ones; of no meaning without ``loop_templates``.",
    )
    policy: str = _field("round_robin", "Placement policy, fixed when the hardware is generated.")
    reclaim: str = _field("out_of_order", "Reclaim policy, fixed when the hardware is generated.")
    step_from_host: bool = _field(
        False,
        "Whether an index configuration carries the index of thread W, as in the index patent.",
    )

    def __post_init__(self) -> None:
        """Refuse a field outside its range, naming the field, its value and the range."""
        for field in dataclasses.fields(self):
            if "low" in field.metadata:
                _check_int(field.name, getattr(self, field.name), field.metadata)
        if self.index_memory_warps == 1:
            raise WarploomError("index_memory_warps is 1; legal: 0, 2 to 65536")
        least = 2 * self.block_slots + 8
        if self.kill_timeout < least:
            legal = f"{least} (2 block_slots + 8) to 65535"
            raise WarploomError(f"kill_timeout is {self.kill_timeout!r}; legal: {legal}")
        for cell, units in (("register_cell", "register_units"), ("shared_cell", "shared_units")):
            size, most = getattr(self, cell), getattr(self, units)
            if size > most:
                raise WarploomError(f"{cell} is {size!r}; legal: 1 to {most} ({units})")
        if self.makes_indices and self.reference_bits <= self.stream_bits:
            least = self.stream_bits + 1
            raise WarploomError(
                f"reference_bits is {self.reference_bits!r}; legal: {least} (stream_bits + 1) to 8"
            )
        _check_choice("warp_size", self.warp_size, WARP_SIZES)
        _check_choice("policy", self.policy, POLICIES)
        _check_choice("reclaim", self.reclaim, RECLAIMS)
        if self.units > self.sections:
            raise WarploomError(f"units is {self.units!r}; legal: 1 to {self.sections} (sections)")
        self._check_loops()
        _check_grid_bits(self.grid_bits)
        for name in ("sm_kill", "step_from_host"):
            if not isinstance(getattr(self, name), bool):
                raise WarploomError(f"{name} is {getattr(self, name)!r}; legal: True, False")

    def _check_loops(self) -> None:
        """Refuse loops that find no slots, no sections, or no addresses."""
        if not self.has_loops:
            return
        if self.loop_templates < 4:
            legal = "0, powers of two from 4 to 64"
            raise WarploomError(f"loop_templates is {self.loop_templates!r}; legal: {legal}")
        if self.sections > 32:
            legal = "1 to 32 with loop_templates, a bit of LOOP_STOP each"
            raise WarploomError(f"sections is {self.sections!r}; legal: {legal}")
        if self.loop_sections > self.sections:
            legal = f"1 to {self.sections} (sections)"
            raise WarploomError(f"loop_sections is {self.loop_sections!r}; legal: {legal}")

    @property
    def has_loops(self) -> bool:
        """Whether LOOP, quiet launches and relative pairs are there."""
        return self.loop_templates > 0

    @property
    def first_loop_section(self) -> int:
        """The section of loop 0; loop n belongs to the n-th section from here on."""
        return self.sections - self.loop_sections

    @property
    def loop_bits(self) -> int:
        """Width of a loop's number (at least 1)."""
        return max(1, (self.loop_sections - 1).bit_length())

    @property
    def template_bits(self) -> int:
        """Width of a template slot's number; 0 without loops."""
        return (self.loop_templates - 1).bit_length() if self.has_loops else 0

    @property
    def max_grid(self) -> tuple[int, int, int]:
        """Largest grid dimensions."""
        x, y, z = self.grid_bits
        return (1 << x) - 1, (1 << y) - 1, (1 << z) - 1

    @property
    def max_warps(self) -> int:
        """Warps of the largest block."""
        return -(-self.max_threads // self.warp_size)

    @property
    def warps_bits(self) -> int:
        """Width of a block's warp count."""
        return self.max_warps.bit_length()

    @property
    def threads_bits(self) -> int:
        """Width of a block's thread count."""
        return self.max_threads.bit_length()

    @property
    def makes_indices(self) -> bool:
        """Whether there are an index generator and an index memory."""
        return self.index_memory_warps > 0

    @property
    def index_address_bits(self) -> int:
        """Width of an address in the index memory, in warps; 0 without one."""
        return (self.index_memory_warps - 1).bit_length() if self.makes_indices else 0

    @property
    def records(self) -> int:
        """Final records that the core has room for: reserved, on their way, or waiting."""
        return 4 * self.queue_depth + 4

    @property
    def slot_bits(self) -> int:
        """Width of a block slot's number (at least 1)."""
        return max(1, (self.block_slots - 1).bit_length())

    @property
    def policy_class(self) -> str:
        """Name of the policy's class, in RTL and models: ``RoundRobin`` for ``round_robin``."""
        return self.policy.title().replace("_", "")

    @property
    def has_order_table(self) -> bool:
        """Whether the placement policy has an order table, whose positions the host swaps."""
        return self.policy in ORDER_TABLE_POLICIES

    @property
    def sm_bits(self) -> int:
        """Width of an SM's number (at least 1)."""
        return max(1, (self.sms - 1).bit_length())

    @property
    def entry_bits(self) -> int:
        """Width of a history entry's number (at least 1)."""
        return max(1, (self.history_entries - 1).bit_length())

    @property
    def table_bits(self) -> int:
        """Width of a mapping table's handle."""
        return self.max_tables.bit_length()


def _check_int(name: str, value: Any, legal: Mapping[str, int]) -> None:
    low, high = legal["low"], legal["high"]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not low <= value <= high or (legal["power"] and value & (value - 1)):
        powers = "powers of two from " * legal["power"]
        raise WarploomError(f"{name} is {value!r}; legal: {powers}{low} to {high}")


def _check_choice(name: str, value: object, legal: tuple[object, ...]) -> None:
    if value not in legal:
        raise WarploomError(f"{name} is {value!r}; legal: {', '.join(map(str, legal))}")


def _check_grid_bits(value: tuple[int, ...]) -> None:
    legal = GRID_FIELD_BITS
    ok = isinstance(value, tuple) and len(value) == len(legal)
    if not ok or not all(
        isinstance(bits, int) and 1 <= bits <= most for bits, most in zip(value, legal, strict=True)
    ):
        raise WarploomError(f"grid_bits is {value!r}; legal: three widths from 1 to {legal}")


PRESETS: Final[dict[str, Config]] = {
    "tiny": Config(
        sms=2,
        warp_size=8,
        block_slots=4,
        warp_slots=16,
        register_units=32,
        shared_units=64,
        barriers=4,
        max_threads=256,
        grid_bits=(16, 8, 8),
        history_entries=4,
        index_memory_warps=64,
        inline_args=1,
        stream_bits=3,
        sections=2,
        loop_templates=8,
        loop_sections=2,
        units=1,
        cores_per_unit=4,
        core_timeout=1 << 10,
        queue_depth=4,
    ),
    "default": Config(),
    "large": Config(sms=132, index_memory_warps=4096, task_bits=6, sections=32, units=8),
}


def preset(name: str) -> Config:
    """Return the preset of that name; an unknown one is refused with the list of legal names."""
    if name not in PRESETS:
        raise WarploomError(f"config is {name!r}; legal: {', '.join(PRESETS)}")
    return PRESETS[name]
