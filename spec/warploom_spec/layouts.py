"""The packets that travel between blocks, as functions of the configuration."""

from warploom_spec.codes import AnyCode
from warploom_spec.config import BLOCK_FIELD_BITS, GRID_FIELD_BITS, Config
from warploom_spec.errors import ERROR_CODE_BITS, BlockStatus, WarploomError
from warploom_spec.packet import Field, Packet
from warploom_spec.resources import AMOUNT_FIELDS, SM_RESOURCES

TICKET_BITS = 32
CYCLES_BITS = 32
BLOCK_NUMBER_BITS = 32
FATE_BITS = 3
STATUS_BITS = 2
MODE_BITS = 2
WIDTH_FIELD_BITS = (4, 4, 3)
ARGUMENT_BITS = 16
#: Packets that are there only where something makes indices.
INDEX_PACKETS = (
    "index_config",
    "index_decision",
    "index_lanes",
    "packed_warp",
    "index_region",
    "index_read",
    "index_data",
    "schedule_request",
)


def _kernel(config: Config) -> tuple[Field, ...]:
    inline = tuple(Field(f"inline{k}", 64, f"argument word {k}") for k in range(config.inline_args))
    return (
        Field("code", 64, "code pointer"),
        Field("arguments", 64, "argument pointer"),
        Field("address_space", 16, "address-space id"),
        *inline,
    )


def _axes(prefix: str, bits: tuple[int, ...], what: str) -> tuple[Field, ...]:
    return tuple(
        Field(f"{prefix}{axis}", width, f"{what} in {axis}")
        for axis, width in zip("xyz", bits, strict=True)
    )


def _order(config: Config) -> tuple[Field, ...]:
    return (
        Field("stream", config.stream_bits, "stream"),
        Field("priority", config.priority_bits, "priority, 0 is the lowest"),
        Field("idempotent", 1, "1: may be killed and run again"),
        Field("mode", MODE_BITS, "preemption mode"),
        Field("table", config.table_bits, "0, or the handle of a mapping table"),
    )


def _widths(config: Config) -> tuple[Field, ...]:
    return tuple(
        Field(f"width_{axis}", _if_indices(config, b), f"bits of {axis} in a packed index")
        for axis, b in zip("xyz", WIDTH_FIELD_BITS, strict=True)
    )


def _last_mask(config: Config) -> Field:
    return Field("last_mask", config.warp_size, "lanes of a block's last warp that are threads")


def _given_amounts() -> tuple[Field, ...]:
    """What a block takes, as the host gives it."""
    return tuple(Field(r.field.name, r.field.bits, r.meaning) for r in SM_RESOURCES if r.field)


def _checked_amounts(config: Config) -> tuple[Field, ...]:
    """Of a launch that passed LaunchCheck: no block of it takes more than an SM has."""
    fields: list[Field] = []
    for resource in SM_RESOURCES:
        bits = resource.capacity(config).bit_length()
        if resource.field and resource.field.of_warp:
            fields.append(Field(resource.field.name, bits, resource.meaning))
        if resource.field:
            fields.append(Field(resource.name, bits, f"{resource.unit} of one block"))
    return tuple(fields)


def _amounts_for_sm(config: Config) -> tuple[Field, ...]:
    """Those that SMs read: of a checked launch, each as the host gives it."""
    return tuple(field for field in _checked_amounts(config) if field.name in AMOUNT_FIELDS)


def _if_indices(config: Config, bits: int) -> int:
    """Return a field's width, 0 where nothing makes indices that it could speak of."""
    return bits if config.makes_indices else 0


def _index_address(config: Config, name: str, meaning: str) -> Field:
    """Return the address of a packet that only blocks for indices have.

    Raises
    ------
    WarploomError
        If there is no index memory.
    """
    if not config.makes_indices:
        raise WarploomError("index_memory_warps is 0; legal where there are indices: 2 to 65536")
    return Field(name, config.index_address_bits, meaning)


def launch_descriptor(config: Config) -> Packet:
    """One kernel launch as the host gives it.

    Dimension and resource fields have one width in all presets, so that a small configuration sees
    and refuses what is too large for it.
    """
    return Packet(
        "launch_descriptor",
        (
            *_kernel(config),
            *_axes("g", GRID_FIELD_BITS, "blocks of the grid"),
            *_axes("d", BLOCK_FIELD_BITS, "threads of the block"),
            Field("index_address", config.index_address_bits, "first warp of its packed indices"),
            *_given_amounts(),
            *_order(config),
        ),
    )


def checked_launch(config: Config) -> Packet:
    """A launch behind LaunchCheck; of a refused one only ``error`` and ``argument`` count."""
    return Packet(
        "checked_launch",
        (
            Field("error", ERROR_CODE_BITS, "0, or why it is refused", AnyCode),
            Field("argument", ARGUMENT_BITS, "argument of the error"),
            *_launch_body(config),
        ),
    )


def _launch_body(config: Config) -> tuple[Field, ...]:
    return (
        *_kernel(config),
        *_axes("g", config.grid_bits, "blocks of the grid"),
        *_axes("d", BLOCK_FIELD_BITS, "threads of the block"),
        Field("threads", config.threads_bits, "threads of one block, dx dy dz"),
        Field("warps", config.warps_bits, "warps of one block, ceil(dx dy dz / W)"),
        _last_mask(config),
        *_widths(config),
        Field("index_address", config.index_address_bits, "first warp of its packed indices"),
        *_checked_amounts(config),
        *_order(config),
    )


def launch_words(config: Config) -> Packet:
    """What is the same for all blocks of a resident launch, common to all SMs."""
    return Packet(
        "launch_words",
        (
            Field("ticket", TICKET_BITS, "ticket"),
            *_kernel(config),
            *_axes("g", config.grid_bits, "blocks of the grid"),
            *_axes("d", BLOCK_FIELD_BITS, "threads of the block"),
            Field("threads", config.threads_bits, "threads of one block, dx dy dz"),
            Field("warps", config.warps_bits, "warps launched and counted in the barrier"),
            _last_mask(config),
            *_amounts_for_sm(config),
            *_widths(config),
        ),
    )


def block_index(config: Config) -> Packet:
    """A block's position in its grid."""
    return Packet("block_index", _axes("b", config.grid_bits, "position in the grid"))


def grid_walk(config: Config) -> Packet:
    """A grid to walk, from a starting block."""
    return Packet(
        "grid_walk",
        (
            *_axes("g", config.grid_bits, "blocks of the grid"),
            *_axes("start_", config.grid_bits, "first block"),
        ),
    )


def walked_block(config: Config) -> Packet:
    """A block as GridWalker gives it."""
    return Packet(
        "walked_block",
        (
            *_axes("b", config.grid_bits, "position in the grid"),
            Field("block_number", BLOCK_NUMBER_BITS, "blocks of the launch before it, modulo 2^32"),
            Field("last", 1, "1: the grid's last block"),
        ),
    )


def block_report(config: Config) -> Packet:
    """An SM's report that a block has ended."""
    return Packet(
        "block_report",
        (
            Field("slot", config.slot_bits, "block slot on the SM"),
            Field(
                "status", STATUS_BITS, "warploom_spec.BlockStatus; 3 counts as FAULT", BlockStatus
            ),
        ),
    )


def error_record(config: Config) -> Packet:
    """An error record: a pulse with code and argument."""
    del config
    return Packet(
        "error_record",
        (
            Field("valid", 1, "1 for one cycle"),
            Field("code", ERROR_CODE_BITS, "warploom_spec.ErrorCode", AnyCode),
            Field("argument", ARGUMENT_BITS, "argument of the code"),
        ),
    )


def index_config(config: Config) -> Packet:
    """An index configuration: all of it is the history's key."""
    step = _axes("step_", BLOCK_FIELD_BITS, "index of thread W") if config.step_from_host else ()
    return Packet(
        "index_config",
        (
            _index_address(config, "address", "first warp in the index memory"),
            *_axes("d", BLOCK_FIELD_BITS, "threads of the block"),
            Field("warps", config.warps_bits, "warps of the block"),
            *step,
        ),
    )


def index_decision(config: Config) -> Packet:
    """ConfigFilter's answer."""
    return Packet(
        "index_decision",
        (
            Field("hit", 1, "1: the indices are there or being made; 0: they are made now"),
            Field("entry", config.entry_bits, "history entry"),
        ),
    )


def index_lanes(config: Config) -> Packet:
    """One warp of indices between IndexIterator and IndexPacker, each already placed.

    A lane's word is x | y << width_x | z << (width_x + width_y), not cut.
    """
    return Packet(
        "index_lanes",
        (
            _index_address(config, "address", "warp in the index memory"),
            Field("lanes", config.warp_size * lane_bits(config), "W placed indices, lane 0 lowest"),
            Field("mask", config.warp_size, "lanes with z < dz"),
            Field("first", 1, "1: the region's first warp"),
            Field("last", 1, "1: the region's last warp"),
            *_widths(config),
        ),
    )


def lane_bits(config: Config) -> int:
    """Bits of a placed index between iterator and packer: the word's, no more is needed."""
    return config.word_bits


def packed_warp(config: Config) -> Packet:
    """One packed warp as it is written into the index memory."""
    return Packet(
        "packed_warp",
        (
            _index_address(config, "address", "warp in the index memory"),
            Field("words", config.warp_size * config.word_bits, "W words, lane 0 lowest"),
            Field("mask", config.warp_size, "lanes that are threads"),
            Field("first", 1, "1: the region's first warp"),
            Field("last", 1, "1: the region's last warp"),
            *_widths(config),
        ),
    )


def index_region(config: Config) -> Packet:
    """A pulse: a region of the index memory is about to be written."""
    return Packet(
        "index_region",
        (
            Field("valid", 1, "1 for one cycle"),
            _index_address(config, "address", "first warp"),
            Field("warps", config.warps_bits, "warps"),
        ),
    )


def index_read(config: Config) -> Packet:
    """A request for one warp of packed indices."""
    return Packet(
        "index_read",
        (
            _index_address(config, "address", "first warp of the block's indices"),
            Field("warp", config.warps_bits, "warp of the block"),
            Field("index_warps", config.warps_bits, "warps that have indices"),
        ),
    )


def index_data(config: Config) -> Packet:
    """One warp of packed indices as read."""
    return Packet(
        "index_data",
        (
            Field("words", config.warp_size * config.word_bits, "W words, lane 0 lowest"),
            Field("mask", config.warp_size, "lanes that are threads"),
        ),
    )


def thread_index(config: Config) -> Packet:
    """One unpacked thread index."""
    del config
    return Packet("thread_index", _axes("", BLOCK_FIELD_BITS, "thread index"))


def order_swap(config: Config) -> Packet:
    """A swap of two positions of the order table; it stays a permutation whatever comes."""
    return Packet(
        "order_swap",
        (
            Field("first", config.sm_bits, "one position"),
            Field("second", config.sm_bits, "the other position"),
        ),
    )


def schedule_request(config: Config) -> Packet:
    """A program for IncrementalScheduler: a block's warps, and instructions for each."""
    return Packet(
        "schedule_request",
        (
            _index_address(config, "address", "first warp of the block's indices"),
            Field("warps", config.warps_bits, "warps"),
            Field("instructions", 16, "instructions of the program"),
        ),
    )


def warp_issue(config: Config) -> Packet:
    """One instruction of one warp on one core in this cycle."""
    return Packet(
        "warp_issue",
        (
            Field("valid", 1, "1: runs in this cycle"),
            Field("warp", config.warps_bits, "warp"),
            Field("instruction", 16, "instruction"),
        ),
    )
