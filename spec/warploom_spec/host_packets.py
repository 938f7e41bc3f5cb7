"""Packets between bus port, mailbox, execution units and their cores."""

from warploom_spec.codes import AnyCode
from warploom_spec.config import Config
from warploom_spec.host_errors import HOST_CODE_BITS
from warploom_spec.host_map import ADDRESS_BITS, RESULT_WORDS
from warploom_spec.host_registers import AddressedWord
from warploom_spec.packet import Field, Packet
from warploom_spec.timing import timing

WORD_ADDRESS_BITS = ADDRESS_BITS - 2
RESULT_BITS = (RESULT_WORDS - 1).bit_length()
CORE_BITS = 5
PARTS_BITS = 8
TASK_NUMBER_BITS = 8
FAILURE_BITS = 16


def bus_address(config: Config) -> Packet:
    """An address as AW and AR carry it."""
    del config
    return Packet(
        "bus_address",
        (
            Field("addr", ADDRESS_BITS, "byte address; the two low bits are ignored"),
            Field("prot", 3, "ignored"),
        ),
    )


def bus_data(config: Config) -> Packet:
    """Write data as W carries it."""
    del config
    return Packet("bus_data", (Field("data", 32, "data"), Field("strb", 4, "byte strobes")))


def bus_read_answer(config: Config) -> Packet:
    """Read data as R carries it."""
    word = AddressedWord(config, "ar", "addr", step=1)
    data = Field("data", 32, "data", word=word)
    return Packet("bus_read_answer", (data, Field("resp", 2, "0 or 2")))


def bus_write(config: Config) -> Packet:
    """A pulse: a write, which commits in the next cycle."""
    word = AddressedWord(config, "", "address", step=4)
    return Packet(
        "bus_write",
        (
            Field("valid", 1, "1 for one cycle"),
            Field("address", WORD_ADDRESS_BITS, "word address"),
            Field("data", 32, "data", word=word),
            Field("strobes", 4, "byte strobes"),
        ),
    )


def bus_read(config: Config) -> Packet:
    """A pulse: a read, which is sampled in the next cycle."""
    del config
    return Packet(
        "bus_read",
        (
            Field("valid", 1, "1 for one cycle"),
            Field("address", WORD_ADDRESS_BITS, "word address"),
        ),
    )


def bus_answer(config: Config) -> Packet:
    """What a read gives, two cycles after it was sampled."""
    after = timing(config).bus_sample + timing(config).bus_answer
    word = AddressedWord(config, "read", "address", step=4, after=after)
    data = Field("data", 32, "0 if refused", word=word)
    return Packet("bus_answer", (Field("refused", 1, "1: outside the map"), data))


def unit_run(config: Config) -> Packet:
    """A pulse: a unit begins a task in the next cycle."""
    del config
    return Packet(
        "unit_run",
        (
            Field("valid", 1, "1 for one cycle"),
            Field("skip_primary", 1, "1: part k goes to core k + 1"),
            Field("parts", PARTS_BITS, "parts, at least 1 and at most the cores for them"),
            Field("larger", PARTS_BITS, "how many of them have one element more"),
            Field("small", 32, "elements of a small part"),
            Field("first", 32, "first element of part 0"),
            Field("code", 64, "code pointer"),
            Field("arguments", 64, "argument pointer"),
        ),
    )


def core_start(config: Config) -> Packet:
    """A part of a task, for one core."""
    del config
    return Packet(
        "core_start",
        (
            Field("core", CORE_BITS, "the core"),
            Field("first", 32, "its first element"),
            Field("count", 32, "its elements"),
            Field("task", TASK_NUMBER_BITS, "the task's number"),
        ),
    )


def core_result(config: Config) -> Packet:
    """A result word, from a unit's cores."""
    del config
    return Packet(
        "core_result", (Field("word", RESULT_BITS, "result word"), Field("data", 32, "its value"))
    )


def unit_result(config: Config) -> Packet:
    """A pulse: a result word of the task that runs."""
    return Packet(
        "unit_result", (Field("valid", 1, "1 for one cycle"), *core_result(config).fields)
    )


def unit_done(config: Config) -> Packet:
    """A pulse: a unit's task has ended."""
    return Packet(
        "unit_done",
        (
            Field("valid", 1, "1 for one cycle"),
            Field("status", config.cores_per_unit, "cores whose part succeeded"),
            Field("assigned", config.cores_per_unit, "cores that got a part"),
            Field("task", TASK_NUMBER_BITS, "the task's number"),
        ),
    )


def unit_error(config: Config) -> Packet:
    """Say why a unit's task ended as it did, in the cycle after ``unit_done``."""
    del config
    return Packet(
        "unit_error",
        (
            Field("code", HOST_CODE_BITS, "0, or the reason of the failure", AnyCode),
            Field("core", CORE_BITS, "the core that the code speaks of"),
            Field("argument", FAILURE_BITS, "the core's own code"),
        ),
    )
