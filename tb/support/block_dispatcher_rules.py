"""What the tests of BlockDispatcher's rules share: launches, reports of SMs, and a short run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tb.support.dispatch_configs import config_of
from tb.support.record import Recording, made, record
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import BlockStatus, Config, layouts, resident_packets, timing

#: Makes the block of a configuration.
Block = Callable[..., Any]
#: Each test of a module: of the RTL and of the model.
RTL_AND_MODEL = pytest.mark.parametrize("block", [BlockDispatcher, Model], ids=["rtl", "model"])
#: The same where the RTL runs with ``make test-all`` alone: in lockstep it is seen by default, too.
MODEL_FIRST = pytest.mark.parametrize(
    "block",
    [pytest.param(BlockDispatcher, marks=pytest.mark.thorough), Model],
    ids=["rtl", "model"],
)

OK, FAULT, KILLED = BlockStatus.OK, BlockStatus.FAULT, BlockStatus.KILLED
#: Two SMs of four slots, four streams; the boot takes 17 cycles.
TINY = config_of("tiny,policy=first_fit,stream_bits=2,kill_timeout=16")
#: One SM of two slots.
ONE = config_of("tiny,policy=first_fit,stream_bits=2,kill_timeout=16,sms=1,block_slots=2")
#: Needs all barriers of an SM.
WHOLE = {"barriers": 4}
#: A little more than half of what an SM has, each by itself.
HALF = {"warps": 9, "registers": 17, "shared": 33, "barriers": 3}

#: A report: cycle, SM, slot, and its status if that is not `OK`.
Report = tuple[int, int, int] | tuple[int, int, int, int]


def start(stream: int = 0, config: Config = TINY, **changes: int) -> int:
    """Return a launch of one block of one warp, but for the changes."""
    packet = resident_packets.resident_start(config)
    fields = dict.fromkeys((f.name for f in packet.fields), 0)
    fields |= {"gx": 1, "gy": 1, "gz": 1, "warps": 1, "stream": stream}
    return packet.pack(fields | changes)


def at(cycle: int, value: int = 1) -> Callable[[int], int]:
    """Return a level that has the value in one cycle."""
    return lambda now: value if now == cycle else 0


def during(first: int, till: int, value: int = 1, other: int = 0) -> Callable[[int], int]:
    """Return a level that has a value from ``first`` to the cycle before ``till``."""
    return lambda now: value if first <= now < till else other


class Traffic:
    """Starts, reports and levels by the cycle; cycle 0 is the first one after the boot.

    Parameters
    ----------
    config : Config
        The machine.
    starts : mapping
        Packed launches by the cycle of their transfer.
    reports : sequence
        Reports, each valid from its cycle on until it is taken.
    length : int or None
        Cycles from each offer to the block's report, if all blocks report `OK`.
    levels : mapping
        All other inputs: a value, or a function of the cycle.
    """

    def __init__(
        self,
        config: Config,
        starts: Mapping[int, int],
        reports: Sequence[Report],
        length: int | None,
        levels: Mapping[str, Any],
    ):
        self._boot = timing(config).resident_boot
        self._cycle = -self._boot
        self._starts, self._length = starts, length
        self._packet = layouts.block_report(config)
        self._block = resident_packets.resident_block(config)
        usual: dict[str, Any] = {"enable": (1 << config.sms) - 1, "ended__ready": 1, "stop": 0}
        usual |= {"hold": 0, "restart": 0, "clock": lambda cycle: cycle & 0xFFFFFFFF}
        usual |= {"order_swap__valid": 0, "order_swap__payload": 0}
        self._levels = usual | dict(levels)
        self._due: list[list[tuple[int, int]]] = [[] for _ in range(config.sms)]
        for cycle, sm, slot, *status in sorted(reports):
            self._enter(sm, cycle, slot, *status)

    def _enter(self, sm: int, cycle: int, slot: int, status: int = OK) -> None:
        self._due[sm].append((cycle, self._packet.pack({"slot": slot, "status": int(status)})))

    def next(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        """Return the next cycle's inputs; ``outputs`` are those of the last cycle."""
        if outputs is not None:
            self._see(outputs)
        now = self._cycle
        values = {name: v(now) if callable(v) else v for name, v in self._levels.items()}
        values |= {"start__valid": int(now in self._starts)}
        values["start__payload"] = self._starts.get(now, 0)
        for sm, due in enumerate(self._due):
            valid = bool(due) and due[0][0] <= now
            values[f"report__{sm}__valid"] = int(valid)
            values[f"report__{sm}__payload"] = due[0][1] if valid else 0
        self._inputs = values
        self._cycle += 1
        return values

    def _see(self, outputs: Mapping[str, int | None]) -> None:
        for sm, due in enumerate(self._due):
            if self._inputs[f"report__{sm}__valid"] and outputs[f"report__{sm}__ready"]:
                due.pop(0)
        offer, block = outputs["offer"], outputs["block"]
        if self._length is not None and offer and block is not None:
            slot = self._block.unpack(block)["slot"]
            self._enter(offer.bit_length() - 1, self._cycle - 1 + self._length, slot)


def drive(
    block: Block,
    starts: Mapping[int, int],
    cycles: int = 60,
    config: Config = TINY,
    *,
    reports: Sequence[Report] = (),
    length: int | None = None,
    before: int = 0,
    **levels: Any,
) -> Recording:
    """Run a block: all SMs in use, ends taken, nothing sent, but for what is given.

    Cycle 0 is the first one after the boot; ``before`` cycles of the boot are kept, too.
    """
    boot = timing(config).resident_boot
    traffic = Traffic(config, starts, reports, length, levels)
    recording = record(made(block, config), traffic, cycles + boot)
    kept = slice(boot - before, None)
    return Recording(recording.inputs[kept], recording.outputs[kept], recording.validity)


def given(recording: Recording) -> list[tuple[int, int]]:
    """Return cycle and SM of each offer."""
    found = ((c, word or 0) for c, word in enumerate(recording.port("offer")))
    return [(cycle, word.bit_length() - 1) for cycle, word in found if word]


def blocks(recording: Recording, config: Config = TINY) -> list[dict[str, int]]:
    """Return what each offered block says."""
    packet, words = resident_packets.resident_block(config), recording.port("block")
    return [packet.unpack(words[cycle] or 0) for cycle, _ in given(recording)]


def ends(recording: Recording, config: Config = TINY) -> list[tuple[int, int, int, int]]:
    """Return cycle, stream, fate and code of each transfer at `ended`."""
    packet = resident_packets.resident_end(config)
    found = ((c, packet.unpack(word)) for c, word in recording.transfers("ended"))
    return [(cycle, end["stream"], end["fate"], end["code"]) for cycle, end in found]


def ones(recording: Recording, port: str, bit: int = 0) -> list[tuple[int, int]]:
    """Return the first and last cycle of each time in which a bit of a level is 1."""
    times: list[tuple[int, int]] = []
    for cycle, word in enumerate(recording.port(port)):
        if (word or 0) >> bit & 1:
            first = times.pop()[0] if times and times[-1][1] == cycle - 1 else cycle
            times.append((first, cycle))
    return times


def changes(recording: Recording, port: str) -> list[tuple[int, int]]:
    """Return the cycles in which a port has another value than before, and that value."""
    words = [word or 0 for word in recording.port(port)]
    pairs = zip(words, words[1:], strict=False)
    return [(cycle, new) for cycle, (old, new) in enumerate(pairs, start=1) if old != new]


def errors(recording: Recording) -> list[tuple[int, int, int]]:
    """Return cycle, code and argument of each error record."""
    packet = layouts.error_record(TINY)
    found = ((c, packet.unpack(w)) for c, w in enumerate(recording.port("error")) if w)
    return [(cycle, e["code"], e["argument"]) for cycle, e in found]
