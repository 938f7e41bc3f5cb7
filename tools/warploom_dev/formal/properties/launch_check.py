"""LaunchCheck's answers equal the products and the limits of its page."""

from typing import Any, Final

from amaranth.hdl import C, Cat, Mux, Value
from amaranth.utils import exact_log2

from warploom.launch import LaunchCheck
from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.planted import Change
from warploom_spec import Config, ErrorCode, layouts, timing
from warploom_spec.config import BLOCK_LIMITS
from warploom_spec.launch import AXIS_FIELDS, KERNEL_FIELDS, ORDER_FIELDS
from warploom_spec.resources import AMOUNT_FIELDS, BLOCK_AMOUNTS

CONFIG: Final = Config(
    warp_size=8,
    max_threads=128,
    warp_slots=12,
    register_units=20,
    shared_units=5,
    barriers=20,
    grid_bits=(2, 1, 1),
    index_memory_warps=16,
    word_bits=8,
    max_tables=2,
    inline_args=0,
    stream_bits=1,
    priority_bits=1,
)
#: Free bits of a launch: enough of each field to be on both sides of its limit.
FREE: Final = {
    **dict(zip(("gx", "gy", "gz"), (0b111, 0b11, 0b11), strict=True)),
    **dict.fromkeys(("dx", "dy"), 0b100_0000_0111),
    "dz": 0b100_0111,
    **dict.fromkeys(("warp_registers", "shared"), 0b111),
    **dict.fromkeys(("index_address",), 0b1111),
    **{r.name: (1 << r.limit(CONFIG).bit_length()) - 1 for r in BLOCK_AMOUNTS},
    **dict.fromkeys(("table",), 0b11),
    **dict.fromkeys(("code", "arguments", "address_space", "mode"), 1),
    **dict.fromkeys(("stream", "priority", "idempotent"), 1),
}
#: Errors that a product or the sum of the widths decides.
_OF_PRODUCTS: Final = (
    ErrorCode.THREADS,
    ErrorCode.INDEX_BITS,
    ErrorCode.INDEX_REGION,
    ErrorCode.BLOCK_WARPS,
    ErrorCode.BLOCK_REGISTERS,
)
#: Fields of the answer that are the launch's own.
_OWN: Final = (*KERNEL_FIELDS, *AXIS_FIELDS, "index_address", *AMOUNT_FIELDS, *ORDER_FIELDS)

#: Seeded bugs in the block's source. ``warps``: a block's last, partial warp is forgotten.
#: ``width_z``: z's width is that of dz. ``range``: a grid of the largest size is refused.
PLANTED: Final = {
    "warps": Change(LaunchCheck, "_warps", "threads[:lane_bits].any()", "C(0, 1)"),
    "width_z": Change(
        LaunchCheck,
        "_width",
        "_bit_length((size - 1)[: len(size)])",
        '_bit_length(size if axis == "z" else (size - 1)[: len(size)])',
    ),
    "range": Change(
        LaunchCheck, "_plain_errors", "config.max_grid", "[g - 1 for g in config.max_grid]"
    ),
}


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; it follows every launch that equals a constant, which may be any one."""
    size = "blocks up to 7 x 7 x 7 and beyond their limits"
    b = FormalBench("launch_check", CONFIG, size, fault, PLANTED)
    dut = LaunchCheck(CONFIG)
    descriptor = layouts.launch_descriptor(CONFIG).layout()
    given = b.partly(descriptor, FREE, "given", b.free, port="i")
    b.drive(dut, i__payload=_seen(given, fault))
    launch = b.partly(descriptor, FREE, "launch", b.constant)
    known = b.constant(1, "known")
    there = Cat(C(1, 1), dut.tables, C(0, 1)).bit_select(given.table, 1)
    same = (given.as_value() == launch.as_value()) & (there == known)

    latency = timing(CONFIG).launch_check
    under_way, followed = b.register(latency, "under_way"), b.register(latency, "followed")
    enabled = ~dut.o.valid | b.inputs["o__ready"]
    with b.m.If(enabled):
        b.m.d.sync += under_way.eq(Cat(dut.i.valid, under_way))
        b.m.d.sync += followed.eq(Cat(dut.i.valid & same, followed))
    answered = followed[-1]

    b.check(
        "one_answer",
        f"each launch has one answer, {latency} enabled edges later",
        (dut.o.valid == under_way[-1]) & (dut.i.ready == enabled),
        fault="deaf_o",
        cover=("five launches are under way", under_way.all()),
    )
    threads, warps, registers = _products(b, launch)
    errors = _errors(launch, known, threads, warps, registers)
    code, argument = _lowest(errors)
    plain, plain_argument = _lowest([error for error in errors if error[0] not in _OF_PRODUCTS])
    out = dut.o.payload
    of_product = Cat(out.error == int(number) for number in _OF_PRODUCTS).any()
    b.check(
        "plain_error",
        "an error, or none, for which no product counts is right, with its argument",
        ~answered | of_product | ((out.error == plain) & (out.argument == plain_argument)),
        fault="range",
        cover=("a table is unknown", answered & (plain == int(ErrorCode.TABLE_UNKNOWN))),
        slow=True,
    )
    large = Cat(launch[f"d{axis}"] > 7 for axis in "xyz").any()
    b.check(
        "error",
        "the error of blocks up to 7 x 7 x 7 is the lowest code that applies, with its argument",
        ~answered | large | ((out.error == code) & (out.argument == argument)),
        fault="range",
        cover=("indices need too many bits", answered & (code == int(ErrorCode.INDEX_BITS))),
        bound=12,
        slow=True,
    )
    passed = answered & (out.error == 0)
    b.check(
        "products",
        "threads, warps and registers of a launch that passes are the products",
        ~passed | ((out.threads == threads) & (out.warps == warps) & (out.registers == registers)),
        fault="warps",
        cover=("a block of 84 threads passes", passed & (threads == 84)),
        slow=True,
    )
    left_over = (threads - 1)[: exact_log2(CONFIG.warp_size)]
    b.check(
        "last_mask",
        "the last warp's mask of a launch that passes has a lane for each thread left over, or all",
        ~passed | (out.last_mask == ((2 << left_over) - 1)),
        fault="blind_x",
        cover=("three threads are left over", passed & (out.last_mask == 0b111)),
        slow=True,
    )
    widths = [out[f"width_{axis}"] == _bits(launch[f"d{axis}"]) for axis in "xyz"]
    b.check(
        "widths",
        "the widths of a launch that passes are those of its largest index",
        ~passed | Cat(widths).all(),
        fault="width_z",
        cover=("x needs three bits and z one", passed & (out.width_x == 3) & (out.width_z == 1)),
        slow=True,
    )
    b.check(
        "own",
        "all else of a launch that passes is its own",
        ~passed | Cat(out[name] == launch[name] for name in _OWN).all(),
        fault="blind",
        cover=("one passes", passed),
    )
    inside = [launch[f"g{a}"] > 0 for a in "xyz"]
    b.check(
        "grid",
        "a grid that passes has no dimension of 0",
        ~passed | Cat(inside).all(),
        fault="blind",
        cover=("one passes", passed),
    )
    b.check_held(dut.o, "o")
    return b.close()


def _lowest(errors: list[tuple[ErrorCode, Value, Value]]) -> tuple[Value, Value]:
    """Return the lowest code that applies, and its argument; 0 and 0 if none does."""
    code: Value = C(0)
    argument: Value = C(0)
    for number, applies, its_argument in sorted(errors, key=lambda error: -error[0]):
        code = Mux(applies, int(number), code)
        argument = Mux(applies, its_argument, argument)
    return code, argument


def _seen(given: Any, fault: str | None) -> Value:
    """Return what the block is given: a ``blind`` one sees 1 in place of a gx of 0.

    A ``blind_x`` one does not see the lowest bit of dx.
    """
    fields = {name: Value.cast(given[name]) for name in given.shape().members}
    if fault == "blind":
        fields["gx"] = fields["gx"] | (given.gx == 0)
    if fault == "blind_x":
        fields["dx"] = Cat(C(0, 1), given.dx[1:])
    return Cat(fields.values())


def _products(b: FormalBench, launch: Any) -> tuple[Value, Value, Value]:
    """Return threads, warps and registers of a block."""
    threads = b.value(launch.dx * launch.dy * launch.dz, "threads")
    above = threads + CONFIG.warp_size - 1
    warps = b.value(above >> (CONFIG.warp_size.bit_length() - 1), "warps")
    return threads, warps, b.value(launch.warp_registers * warps, "registers")


def _bits(size: Value) -> Value:
    """Return how many bits an index below ``size`` needs, by comparing with powers of two."""
    return sum((size > (1 << k) for k in range(len(size))), start=C(0))


def _errors(
    launch: Any, known: Value, threads: Value, warps: Value, registers: Value
) -> list[tuple[ErrorCode, Value, Value]]:
    """Return code, whether it applies, and argument, of every limit."""
    config = CONFIG
    grid = [launch[f"g{axis}"] for axis in "xyz"]
    block = [launch[f"d{axis}"] for axis in "xyz"]
    bits = sum((_bits(size) for size in block), start=C(0))

    def axes(code: ErrorCode, broken: list[Value]) -> tuple[ErrorCode, Value, Value]:
        return code, Cat(broken).any(), Mux(broken[0], 0, Mux(broken[1], 1, 2))

    def limit(code: ErrorCode, broken: Value) -> tuple[ErrorCode, Value, Value]:
        return code, broken, C(0)

    return [
        axes(ErrorCode.GRID_ZERO, [g == 0 for g in grid]),
        axes(ErrorCode.GRID_RANGE, [g > n for g, n in zip(grid, config.max_grid, strict=True)]),
        axes(ErrorCode.BLOCK_ZERO, [d == 0 for d in block]),
        axes(ErrorCode.BLOCK_RANGE, [d > n for d, n in zip(block, BLOCK_LIMITS, strict=True)]),
        limit(ErrorCode.THREADS, threads > config.max_threads),
        (ErrorCode.INDEX_BITS, bits > config.word_bits, bits),
        limit(ErrorCode.INDEX_REGION, launch.index_address + warps > config.index_memory_warps),
        limit(ErrorCode.BLOCK_WARPS, warps > config.warp_slots),
        limit(ErrorCode.BLOCK_REGISTERS, registers > config.register_units),
        *(limit(r.refusal(), launch[r.name] > r.limit(config)) for r in BLOCK_AMOUNTS),
        (ErrorCode.TABLE_UNKNOWN, ~known, launch.table),
    ]
