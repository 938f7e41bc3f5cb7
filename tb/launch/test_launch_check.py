"""LaunchCheck: every refusal with its argument, what is derived, and the pipeline's contract."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb.support.dispatch_cases import make_check
from tb.support.dispatch_configs import config_of
from tb.support.error_events import Refusals
from tb.support.launch_cases import (
    legal_launch,
    long_launch,
    random_fields,
    sharp_launch,
    spoiled_launch,
)
from tb.support.planted import plant
from tb.support.record import Sender, record
from tb.support.seeded_faults import LAUNCH_CHECK
from warploom.launch import LaunchCheck
from warploom_dev.rewrite import Rewrite
from warploom_golden.launch import LaunchCheck as Model
from warploom_golden.launch import launch_check
from warploom_golden.oracles.index_reference import is_legal, last_mask, threads, warps, widths
from warploom_sim.cosim.lockstep import Case, LockstepError, run
from warploom_spec import ErrorCode, LaunchDescriptor, layouts, preset, timing
from warploom_spec.launch import AXIS_FIELDS
from warploom_spec.resources import AMOUNT_FIELDS

CONFIGS = (
    "tiny",
    "default",
    "tiny,max_threads=512,warp_slots=40,word_bits=9,register_units=37,register_cell=4,"
    "shared_units=61,shared_cell=8",
    "tiny,warp_size=64,max_threads=512,barriers=20,max_tables=5",
)
TINY = preset("tiny")
LEGAL = LaunchDescriptor(
    grid=(3, 2, 1), block=(8, 4, 2), warp_registers=2, shared=5, barriers=2, index_address=10
)


def any_launch(context):
    """Yield launches: legal ones, spoiled and long ones, some with a bit that tells, noise."""
    rng, config = context.rng, config_of(context.params["config"])
    packet = layouts.launch_descriptor(config)
    while True:
        fields = legal_launch(rng, config, 1 << config.stream_bits, huge=True)
        kind = rng.random()
        if kind < 0.3:
            fields = spoiled_launch(rng, config, fields)
        elif kind < 0.6:
            fields = sharp_launch(rng, config, fields)
        elif kind < 0.7:
            fields = random_fields(rng, ((f.name, f.bits) for f in packet.fields))
        elif kind < 0.75:
            fields = long_launch(rng, config, fields)
        yield packet.pack(fields)


def case(config, seed):
    return Case(
        make=make_check,
        params={"config": config},
        seed=seed,
        sources={"i": any_launch},
        events={"refusals": Refusals},
    )


@pytest.mark.parametrize(
    ("simulator", "configs"),
    [
        ("amaranth", CONFIGS),
        pytest.param("icarus", CONFIGS[:1], marks=pytest.mark.thorough),
        pytest.param("verilator", CONFIGS[1:2], marks=pytest.mark.deep),
    ],
)
def test_equals_its_model(simulator, configs, seed):
    for result in run([case(config, seed) for config in configs], simulator):
        result.require("transfers of i", "transfers of o")


@pytest.mark.deep
def test_equals_its_model_in_large(seed):
    run([case("large", seed + n) for n in range(4)], "verilator")


@pytest.mark.parametrize("fault", LAUNCH_CHECK)
def test_a_seeded_fault_is_found(fault, seed, monkeypatch):
    plant(monkeypatch, [LAUNCH_CHECK[fault]])
    with pytest.raises(LockstepError):
        run([case("tiny", seed + n) for n in range(24)], "amaranth", waves=False)


# What is refused


def checked(config, launch, tables=0):
    packet = layouts.checked_launch(config)
    return packet.unpack(Model(config).check(launch.pack(config), tables))


#: (change, code, argument) for `LEGAL` under ``tiny``: each just beyond what is legal.
BAD_INPUT = (
    ({"grid": (3, 0, 0)}, ErrorCode.GRID_ZERO, 1),
    ({"grid": (0, 2, 1)}, ErrorCode.GRID_ZERO, 0),
    ({"grid": (1 << 16, 1, 1)}, ErrorCode.GRID_RANGE, 0),
    ({"grid": (1, 1 << 8, 1 << 8)}, ErrorCode.GRID_RANGE, 1),
    ({"grid": (1, 1, 1 << 8)}, ErrorCode.GRID_RANGE, 2),
    ({"block": (8, 4, 0)}, ErrorCode.BLOCK_ZERO, 2),
    ({"block": (1025, 1, 1)}, ErrorCode.BLOCK_RANGE, 0),
    ({"block": (1, 1025, 1)}, ErrorCode.BLOCK_RANGE, 1),
    ({"block": (1, 1, 65)}, ErrorCode.BLOCK_RANGE, 2),
    ({"block": (257, 1, 1)}, ErrorCode.THREADS, 0),
    ({"block": (1024, 1024, 64)}, ErrorCode.THREADS, 0),
    ({"index_address": 57}, ErrorCode.INDEX_REGION, 0),
    ({"block": (129, 1, 1)}, ErrorCode.BLOCK_WARPS, 0),
    ({"warp_registers": 5}, ErrorCode.BLOCK_REGISTERS, 0),
    ({"shared": 65}, ErrorCode.BLOCK_SHARED, 0),
    ({"barriers": 5}, ErrorCode.BLOCK_BARRIERS, 0),
    ({"table": 3}, ErrorCode.TABLE_UNKNOWN, 3),
    ({"table": 5}, ErrorCode.TABLE_UNKNOWN, 5),
    # Of several the lowest code, of one code the lowest axis.
    ({"grid": (1 << 16, 1, 0), "shared": 65}, ErrorCode.GRID_ZERO, 2),
    ({"block": (0, 1025, 65), "barriers": 5}, ErrorCode.BLOCK_ZERO, 0),
    ({"shared": 65, "barriers": 5, "table": 3}, ErrorCode.BLOCK_SHARED, 0),
)


@pytest.mark.rule("launch_check", 2, 3)
@pytest.mark.parametrize(
    ("block", "warp_registers", "shared", "counted", "code"),
    [
        ((8, 3, 1), 3, 5, (12, 8), 0),
        ((8, 3, 1), 4, 0, (12, 0), 0),
        ((8, 3, 1), 12, 56, (36, 56), 0),
        ((8, 1, 1), 37, 0, None, ErrorCode.BLOCK_REGISTERS),
        ((8, 3, 1), 3, 57, None, ErrorCode.BLOCK_SHARED),
    ],
)
def test_what_a_block_takes_is_rounded_up_to_whole_cells(
    block, warp_registers, shared, counted, code
):
    """Nine cells of four units of registers and a unit more, seven of eight and five more."""
    config = config_of("tiny,register_units=37,register_cell=4,shared_units=61,shared_cell=8")
    launch = replace(LEGAL, block=block, warp_registers=warp_registers, shared=shared)
    result = checked(config, launch)
    assert result["error"] == code
    if not code:
        assert (result["registers"], result["shared"]) == counted
        assert result["warp_registers"] == warp_registers


@pytest.mark.rule("launch_check", 3, 5)
@pytest.mark.parametrize(("change", "code", "argument"), BAD_INPUT)
def test_bad_input_is_refused_with_its_argument(change, code, argument):
    result = checked(TINY, replace(LEGAL, **change), tables=0b1011)
    assert (result["error"], result["argument"]) == (code, argument)
    rest = {name: value for name, value in result.items() if name not in ("error", "argument")}
    assert code == ErrorCode.BLOCK_REGISTERS or not any(rest.values())


@pytest.mark.rule("launch_check", 5)
@pytest.mark.parametrize("kind", [LaunchCheck, Model], ids=["rtl", "model"])
@pytest.mark.parametrize(
    ("change", "error", "fields_stay"),
    [
        ({}, 0, True),
        ({"warp_registers": 5}, ErrorCode.BLOCK_REGISTERS, True),
        ({"warp_registers": 5, "shared": 65}, ErrorCode.BLOCK_REGISTERS, False),
        ({"shared": 65}, ErrorCode.BLOCK_SHARED, False),
    ],
    ids=["passes", "registers alone", "registers and more", "shared"],
)
def test_only_a_launch_that_has_too_many_registers_alone_keeps_its_fields(
    kind, change, error, fields_stay
):
    """LEGAL's blocks have 8 warps of 4 registers."""
    packet = layouts.checked_launch(TINY)
    sender = Sender(
        {"i": [replace(LEGAL, **change).pack(TINY)]}, lambda cycle: {"tables": 1, "o__ready": 1}
    )
    seen = record(kind(TINY), sender, 8)
    ((cycle, word),) = seen.transfers("o")
    assert (cycle, seen.port("refused")[cycle]) == (5, int(error > 0))
    found = packet.unpack(word)
    assert found["error"] == error
    registers = change.get("warp_registers", LEGAL.warp_registers)
    derived = {"threads": 64, "warps": 8, "warp_registers": registers, "registers": 8 * registers}
    for name, value in derived.items():
        assert found[name] == (value if fields_stay else 0)


#: The most that ``tiny`` takes of each.
GOOD_INPUT = (
    {"grid": ((1 << 16) - 1, 255, 255)},
    {"block": (128, 1, 1), "warp_registers": 2},
    {"index_address": 56},
    {"warp_registers": 4},
    {"shared": 64},
    {"barriers": 4},
    {"table": 4},
)


@pytest.mark.rule("launch_check", 3)
@pytest.mark.parametrize("change", GOOD_INPUT)
def test_the_most_that_is_legal_is_let_through(change):
    assert checked(TINY, replace(LEGAL, **change), tables=0b1011)["error"] == ErrorCode.OK


@pytest.mark.rule("launch_check", 3)
def test_a_shape_that_does_not_pack_is_refused_with_its_bits():
    # 65 x 3 x 5 = 975 threads need 7 + 2 + 3 bits; a word of 11 bits is one too small.
    config = config_of("default,word_bits=11")
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(65, 3, 5))
    result = checked(config, launch)
    assert (result["error"], result["argument"]) == (ErrorCode.INDEX_BITS, 12)
    assert checked(config_of("default,word_bits=12"), launch)["error"] == ErrorCode.OK


@pytest.mark.rule("launch_check", 3)
def test_barriers_of_a_block_end_at_16():
    config = preset("default")
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(32, 1, 1), barriers=17)
    assert checked(config, launch)["error"] == ErrorCode.BLOCK_BARRIERS
    assert checked(config, replace(launch, barriers=16))["error"] == ErrorCode.OK


#: Largest blocks, each before one that is too large. 1536 threads are 48 warps, no power of two:
#: 48 x 342 registers are 2^14 and 32 more.
LARGEST = {
    "default": (
        ({"block": (1024, 1, 1)}, ErrorCode.OK),
        ({"block": (5, 205, 1)}, ErrorCode.THREADS),
    ),
    "default,max_threads=1536": (
        ({"block": (768, 2, 1)}, ErrorCode.OK),
        ({"block": (29, 53, 1)}, ErrorCode.THREADS),
        ({"block": (768, 2, 1), "warp_registers": 5}, ErrorCode.OK),
        ({"block": (768, 2, 1), "warp_registers": 6}, ErrorCode.BLOCK_REGISTERS),
        ({"block": (768, 2, 1), "warp_registers": 342}, ErrorCode.BLOCK_REGISTERS),
    ),
}


def demand_largest(block, config):
    """Hold that the largest blocks pass RTL or model, and the next ones do not."""
    changes, codes = zip(*LARGEST[config], strict=True)
    config = config_of(config)
    launch = LaunchDescriptor(grid=(1, 1, 1), block=(1, 1, 1))
    sent = [replace(launch, **change).pack(config) for change in changes]
    host = Sender({"i": sent}, lambda cycle: {"tables": 0, "o__ready": 1})
    packet = layouts.checked_launch(config)
    found = record(block(config), host, 12).transfers("o")
    assert tuple(packet.unpack(word)["error"] for _, word in found) == codes


def test_every_refusal_of_the_check_was_shown():
    codes = {code for _, code, _ in BAD_INPUT} | {ErrorCode.INDEX_BITS}
    assert codes == {code for code in ErrorCode if 1 <= code <= ErrorCode.TABLE_UNKNOWN}


@pytest.mark.rule("launch_check", 3)
def test_rtl_refuses_the_same_bad_input():
    sent = [replace(LEGAL, **change).pack(TINY) for change, _, _ in BAD_INPUT]
    host = Sender({"i": sent}, lambda cycle: {"tables": 0b1011, "o__ready": 1})
    recording = record(LaunchCheck(TINY), host, len(sent) + 10)
    packet = layouts.checked_launch(TINY)
    got = [packet.unpack(word) for _, word in recording.transfers("o")]
    assert [(g["error"], g["argument"]) for g in got] == [(c, a) for _, c, a in BAD_INPUT]


# What is derived


BLOCKS = pytest.mark.parametrize("block", [Model, LaunchCheck])


@pytest.mark.rule("launch_check", 2, 3)
@BLOCKS
@pytest.mark.parametrize("config", LARGEST)
def test_the_largest_block_is_let_through_and_the_next_is_refused(block, config):
    demand_largest(block, config)


#: Rules that are wrong in the RTL, or in RTL and model alike.
WRONG_LIMITS = {
    "the product of registers has a bit less": (
        "default,max_threads=1536",
        (LaunchCheck,),
        Rewrite(
            LaunchCheck,
            "elaborate",
            "launch.warp_registers * warps",
            "(launch.warp_registers * warps)[:-1]",
        ),
    ),
    "as many threads as there may be are refused": (
        "default",
        (LaunchCheck, Model),
        Rewrite(
            LaunchCheck,
            "elaborate",
            "threads > self._config.max_threads",
            "threads >= self._config.max_threads",
        ),
        Rewrite(
            launch_check,
            "refusals",
            "block[0] * block[1] * block[2] > config.max_threads",
            "block[0] * block[1] * block[2] >= config.max_threads",
        ),
    ),
}


@pytest.mark.parametrize("rule", WRONG_LIMITS)
def test_a_wrong_limit_is_found(rule, monkeypatch):
    config, blocks, *changes = WRONG_LIMITS[rule]
    plant(monkeypatch, changes)
    for block in blocks:
        with pytest.raises(AssertionError):
            demand_largest(block, config)


@pytest.mark.rule("launch_check", 2, 4, 5)
@given(seed=st.integers(0, 1 << 32), name=st.sampled_from(("tiny", "default", "large")))
def test_derived_fields_equal_the_reference(seed, name):
    rng, config = random.Random(seed), preset(name)
    fields = legal_launch(rng, config, 1 << config.stream_bits, huge=True)
    if rng.random() < 0.5:
        fields = spoiled_launch(rng, config, fields)
    result = layouts.checked_launch(config).unpack(
        Model(config).check(layouts.launch_descriptor(config).pack(fields), 0)
    )
    block = fields["dx"], fields["dy"], fields["dz"]
    if result["error"]:
        return
    count = warps(block, config.warp_size)
    assert is_legal(block, config) and threads(block) <= config.max_threads
    assert result["threads"] == threads(block) <= config.max_threads
    assert result["last_mask"] == last_mask(block, config.warp_size)
    assert result["warps"] == count <= config.warp_slots
    assert result["registers"] == fields["warp_registers"] * count <= config.register_units
    assert (result["width_x"], result["width_y"], result["width_z"]) == tuple(widths(block))
    for name in ("code", *AXIS_FIELDS, *AMOUNT_FIELDS, "stream"):
        assert result[name] == fields[name]


@pytest.mark.rule("launch_check", 2)
@BLOCKS
@pytest.mark.parametrize(
    ("block_dims", "mask"),
    [
        ((1, 1, 1), 0b1),
        ((8, 1, 1), 0xFF),
        ((9, 1, 1), 0b1),
        ((5, 3, 1), 0x7F),
        ((2, 2, 3), 0xF),
        ((4, 4, 2), 0xFF),
    ],
)
def test_the_last_warp_has_the_lanes_that_are_left_over(block, block_dims, mask):
    sent = [replace(LEGAL, block=block_dims).pack(TINY)]
    host = Sender({"i": sent}, lambda cycle: {"tables": 0, "o__ready": 1})
    packet = layouts.checked_launch(TINY)
    (_, word) = record(block(TINY), host, 8).transfers("o")[0]
    got = packet.unpack(word)
    assert (got["error"], got["last_mask"]) == (ErrorCode.OK, mask)


# The pipeline


@pytest.mark.rule("launch_check", 1)
@BLOCKS
def test_one_launch_a_cycle_after_five_cycles(block):
    sent = [replace(LEGAL, code=k).pack(TINY) for k in range(20)]
    host = Sender({"i": sent}, lambda cycle: {"tables": 0, "o__ready": 1})
    recording = record(block(TINY), host, 30)
    assert timing(TINY).launch_check == 5
    packet = layouts.checked_launch(TINY)
    got = [(cycle, packet.unpack(word)["code"]) for cycle, word in recording.transfers("o")]
    assert got == [(5 + k, k) for k in range(20)]


@pytest.mark.rule("launch_check", 1)
@BLOCKS
def test_a_refused_answer_holds_the_whole_pipeline(block):
    sent = [replace(LEGAL, code=k).pack(TINY) for k in range(8)]
    stalled = range(6, 16)
    host = Sender({"i": sent}, lambda cycle: {"tables": 0, "o__ready": int(cycle not in stalled)})
    recording = record(block(TINY), host, 30)
    assert [cycle for cycle, _ in recording.transfers("i")] == [*range(6), 16, 17]
    assert [cycle for cycle, _ in recording.transfers("o")] == [5, *range(16, 23)]


@pytest.mark.rule("launch_check", 3)
@BLOCKS
def test_tables_are_sampled_with_the_transfer(block):
    sent = [replace(LEGAL, table=1).pack(TINY)] * 3
    host = Sender({"i": sent}, lambda cycle: {"tables": int(cycle == 1), "o__ready": 1})
    packet = layouts.checked_launch(TINY)
    transfers = record(block(TINY), host, 12).transfers("o")
    errors = [packet.unpack(word)["error"] for _, word in transfers]
    assert errors == [ErrorCode.TABLE_UNKNOWN, ErrorCode.OK, ErrorCode.TABLE_UNKNOWN]
