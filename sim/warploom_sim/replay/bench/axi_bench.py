"""The host of a replay that rings doorbells: its place in the bench, what it is given."""

from collections.abc import Iterator, Sequence
from typing import Final

from warploom_sim.replay.bench.connect import connect
from warploom_sim.replay.bench.records import ANSWER, ASKED, LOOKED, POPPED, TRESPASS
from warploom_sim.traces.kept_waits import KeptWaits
from warploom_spec import Config, ErrorCode, LaunchDescriptor, host_packets, queue_packets
from warploom_spec.host_commands import INLINE_WORD, WAIT_WORDS, Opcode, launch_words
from warploom_spec.host_map import OFFSETS, SECTION_BASE, SECTION_BYTES
from warploom_spec.host_registers import registers

#: Codes after which the host rings again.
AGAIN: Final = (ErrorCode.QUEUE_FULL, ErrorCode.COMPLETION_FULL)
#: Faults of the host that can be planted, by the number that it goes by in the bench.
FAULTS: Final = {"host.lost_word": 1, "host.no_repeat": 2}


def task_words(config: Config) -> int:
    """Return how many words of the task register a launch has, from T0 on."""
    return INLINE_WORD + 2 * config.inline_args


def launch_lines(
    launches: Sequence[LaunchDescriptor], config: Config, waits: KeptWaits
) -> Iterator[str]:
    """Give for each launch what it is held for, its stream's section and its words, hexadecimal."""
    layout = launch_words(config)
    for number, launch in enumerate(launches):
        values = launch.values(config)
        fields = dict.fromkeys(layout.by_name, 0) | {"opcode": int(Opcode.LAUNCH)}
        fields |= {name: value for name, value in values.items() if name in fields}
        pairs = waits.pairs[number]
        fields["flags"] = (1 << len(pairs)) - 1
        for k, (stream, count) in enumerate(pairs):
            fields[f"wait{k}_stream"] = stream
            fields[f"wait{k}_count"] = count % (1 << queue_packets.WAIT_BITS)
        whole = sum(word << 32 * k for k, word in enumerate(layout.pack(fields)))
        words = *holds(number, launches, waits), launch.stream % config.sections, whole
        yield " ".join(f"{word:x}" for word in words) + "\n"


def holds(number: int, launches: Sequence[LaunchDescriptor], waits: KeptWaits) -> tuple[int, ...]:
    """Return what a launch is held for: how many streams, and of each its number and a count.

    It is sent when so many records of the stream's launches were taken.
    """
    held = waits.held[number]
    pairs = ((launches[other].stream, waits.numbers[other]) for other in held)
    return len(held), *(word for pair in pairs for word in pair)


def axi_host(config: Config) -> Iterator[str]:
    """Yield the lines of the bench that connect the host."""
    addresses = {word.name: word.offset for word in registers(config)}
    named = (
        "ID",
        "IRQ_ENABLE",
        "IRQ_STATUS",
        "IRQ_THRESHOLD",
        "RECORDS",
        "RECORD_POP",
        "REFUSED",
        "ROOM",
    )
    launch = launch_words(config)
    flags, priority = launch.by_name["flags"], launch.by_name["priority"]
    stream = queue_packets.final_record_words(config).by_name["stream"]
    parameters = {
        "TASK_WORDS": launch.words,
        "WORDS": task_words(config),
        "FLAGS": flags.low,
        "FIRST_PAIR": queue_packets.FIRST_WAIT_WORD,
        "PAIRS": WAIT_WORDS,
        "PRIORITY": 32 * priority.word + priority.low,
        "PRIORITY_BITS": priority.bits,
        "STREAM": stream.low,
        "STREAM_BITS": stream.bits,
        "STREAMS": 1 << config.stream_bits,
        "SECTION_BASE": SECTION_BASE,
        "SECTION_BYTES": SECTION_BYTES,
        "TASK": OFFSETS["T0"],
        "DOORBELL": OFFSETS["DOORBELL"],
        "ERROR": OFFSETS["ERROR"],
        "RESULT": OFFSETS["RESULT0"],
        "RESULT_COUNT": OFFSETS["RESULT1"],
        **{name: addresses[name] for name in named},
        "RECORD": addresses["RECORD0"],
        **{code.name: int(code) for code in AGAIN},
        "ANSWER": ANSWER,
        "POPPED": POPPED,
        "LOOKED": LOOKED,
        "TRESPASS": TRESPASS,
        "ASKED": ASKED,
    }
    answer = host_packets.bus_read_answer(config).offsets
    ports = {
        **{name: name for name in ("clk", "rst", "cycle", "irq")},
        "heard": "file_heard",
        **{f"{c}{p}": f"axil__{c}__{p}" for c in ("aw", "w", "ar") for p in ("valid", "ready")},
        "awaddr": "host_awaddr",
        "wdata": "host_wdata",
        "araddr": "host_araddr",
        "bvalid": "axil__b__valid",
        "bresp": "axil__b__payload",
        "rvalid": "axil__r__valid",
        "rdata": f"axil__r__payload[{answer['data']} +: 32]",
        "rresp": f"axil__r__payload[{answer['resp']} +: 2]",
        "done": "host_done",
        "launches": "launches",
        "count": "count_heard",
    }
    yield "  wire [31:0] launches, host_wdata;"
    yield "  wire [15:0] host_awaddr, host_araddr;"
    yield "  wire host_done;"
    yield "  wire [63:0] count_heard;"
    # A launch is never early, and all strobes are set.
    yield "  wire launch_early = 0;"
    yield "  assign axil__aw__payload = {3'd0, host_awaddr};"
    yield "  assign axil__ar__payload = {3'd0, host_araddr};"
    yield "  assign axil__w__payload = {4'hf, host_wdata};"
    yield "  assign axil__b__ready = 1, axil__r__ready = 1;"
    yield f"  axi_host #({connect(parameters)})"
    yield f"  host ({connect(ports)});"
