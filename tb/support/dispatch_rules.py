"""What the tests of the dispatcher's rules share: launches, reports of SMs, and a short run."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from amaranth.lib import wiring

from tb.support.dispatch_configs import config_of
from tb.support.record import Recording, Sender, made, record
from tb.support.resettable import resettable
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_sim.cosim.lockstep import Stimulus
from warploom_spec import BlockStatus, Config, Stop, layouts, timing

#: The RTL or the model, to be made of a configuration.
Block = Callable[[Config], Model | wiring.Component]
#: Each test of a module twice: of the RTL, and of the model.
RTL_AND_MODEL = pytest.mark.parametrize("block", [BlockDispatcher, Model], ids=["rtl", "model"])


def resettable_block(block: Block) -> Block:
    """Return either of `RTL_AND_MODEL` with the port ``reset_now``."""
    return lambda config: resettable(block(config))


TINY = config_of("tiny,policy=first_fit,kill_timeout=16")
IN_ORDER = config_of("tiny,policy=first_fit,reclaim=in_order,kill_timeout=16")
#: The page's worked example.
SMALLEST = config_of("tiny,sms=1,block_slots=1")
ERROR = layouts.error_record(TINY)
OFFER = layouts.block_offer(TINY)

#: SMs of the machines on which policies are compared.
SMS = 4
#: Needs all of an SM's barriers.
WHOLE = {"barriers": 4}
#: A little more than half of what an SM has, each by itself.
HALF = {"warps": 9, "registers": 17, "shared": 33, "barriers": 3}

OK, FAULT, KILLED = BlockStatus.OK, BlockStatus.FAULT, BlockStatus.KILLED


def launch(ticket: int = 1, config: Config = TINY, **changes: int) -> int:
    """Return a launch of one block of one warp, but for the changes."""
    fields = dict.fromkeys((f.name for f in layouts.dispatch_launch(config).fields), 0)
    fields |= {"gx": 1, "gy": 1, "gz": 1, "warps": 1, "entries": 1, "after_previous": 1}
    return layouts.dispatch_launch(config).pack(fields | {"ticket": ticket} | changes)


def stop(place: int = 0, how: int = Stop.KILL, other: int = Stop.NONE) -> int:
    """Return a stop of one place; ``other`` is the other place's."""
    fields = {f"place{place}": int(how), f"place{1 - place}": int(other)}
    return layouts.dispatch_stop(TINY).pack(fields)


def at(cycle: int, value: int = 1) -> Callable[[int], int]:
    """Return a level that has the value in one cycle."""
    return lambda now: value if now == cycle else 0


def in_cycles(words: dict[int, int]) -> Callable[[int], int]:
    """Return a level that has a value in each of some cycles, and is 0 in all others."""
    return lambda now: words.get(now, 0)


def reporting(sm: int, *when: tuple[int, int] | tuple[int, int, int]) -> dict[str, Any]:
    """Return the levels of an SM's reports, each (cycle, slot) or (cycle, slot, status)."""
    packet = layouts.block_report(TINY)
    words = {}
    for cycle, slot, *status in when:
        words[cycle] = packet.pack({"slot": slot, "status": int(*status or (OK,))})
    return {
        f"report__{sm}__valid": lambda cycle: int(cycle in words),
        f"report__{sm}__payload": in_cycles(words),
    }


def drive(
    block: Block, launches: list[int], cycles: int = 60, config: Config = TINY, **levels: Any
) -> Recording:
    """Run a block: all SMs in use, offers and ends taken, nothing sent, but for the levels.

    Cycle 0 is the first one after the boot: the first launch transfers in it.
    """
    return driven(block, Sender({"launch": launches}, _usual(config, levels)), cycles, config)


def driven(block: Block, stimulus: Stimulus, cycles: int, config: Config) -> Recording:
    """Run a block with a stimulus that begins with the boot; cycle 0 is the first one after it."""
    boot = timing(config).boot
    recording = record(made(block, config), stimulus, cycles + boot)
    return Recording(recording.inputs[boot:], recording.outputs[boot:], recording.validity)


def _usual(config: Config, levels: dict[str, Any]) -> Callable[[int], dict[str, int]]:
    """Return the inputs of a cycle but the launches, counted from the boot's first cycle on."""
    usual: dict[str, Any] = {"enable": (1 << config.sms) - 1, "ended__ready": 1, "stop": 0}
    usual |= {"order_table__valid": 0, "order_table__payload": 0}
    for n in range(config.sms):
        usual |= {f"offer__{n}__ready": 1}
        usual |= {f"report__{n}__valid": 0, f"report__{n}__payload": 0}
    boot = timing(config).boot

    def inputs(cycle: int) -> dict[str, int]:
        merged = usual | levels
        return {name: v(cycle - boot) if callable(v) else v for name, v in merged.items()}

    return inputs


class _Submitter(Sender):
    """Sends each launch from a cycle on; beside it priority, whether it yields, and its number."""

    def __init__(
        self, launches: list[tuple[int, int]], beside: list[tuple[int, int, int]], levels: Any
    ):
        super().__init__({"launch": [word for _, word in launches]}, levels)
        self._from, self._beside = [cycle for cycle, _ in launches], beside

    def next(self, outputs: Mapping[str, int | None] | None) -> dict[str, int]:
        """Return the next cycle's inputs."""
        values = super().next(outputs)
        n = len(self._from) - len(self.waiting["launch"])
        sends = bool(values["launch__valid"]) and self.cycle > self._from[n]
        values["launch__valid"] = int(sends)
        # In a cycle without a launch they mean nothing.
        beside = self._beside[n] if sends else (3, 1, 0xBAD)
        names = "launch_priority", "launch_yields", "launch_number"
        return values | dict(zip(names, beside, strict=True))


def submit(
    block: Block,
    *launches: tuple[int, int, int, int],
    cycles: int = 60,
    config: Config = TINY,
    numbers: tuple[int, ...] = (),
    **levels: Any,
) -> Recording:
    """Run a block with ``preempts``; each launch: cycle, packed launch, priority, may yield.

    ``numbers`` are those of the launches' first blocks; 0 where none is given.
    """
    boot, first = timing(config).boot, (*numbers, *[0] * len(launches))
    stimulus = _Submitter(
        [(cycle + boot, word) for cycle, word, _, _ in launches],
        [
            (priority, may_yield, number)
            for (_, _, priority, may_yield), number in zip(launches, first, strict=False)
        ],
        _usual(config, levels),
    )
    return driven(block, stimulus, cycles, config)


def spans(recording: Recording, port: str) -> dict[int, list[tuple[int, int]]]:
    """Return for each bit of a level the first and last cycle of each time in which it is 1."""
    words = [word or 0 for word in recording.port(port)]
    found: dict[int, list[tuple[int, int]]] = {}
    for cycle, word in enumerate(words):
        for bit in range(word.bit_length()):
            if word >> bit & 1:
                times = found.setdefault(bit, [])
                first = times.pop()[0] if times and times[-1][1] == cycle - 1 else cycle
                times.append((first, cycle))
    return found


def begun(recording: Recording, sm: int = 0) -> list[int]:
    """Return the cycles in which an SM's offers become valid; an offer is taken at once or held."""
    valid, ready = recording.port(f"offer__{sm}__valid"), recording.port(f"offer__{sm}__ready")
    new = [
        v and (not cycle or not valid[cycle - 1] or ready[cycle - 1])
        for cycle, v in enumerate(valid)
    ]
    return [cycle for cycle, begins in enumerate(new) if begins]


def offers(recording: Recording, sm: int = 0) -> list[dict[str, int]]:
    """Return the blocks that an SM took."""
    return [OFFER.unpack(word) for _, word in recording.transfers(f"offer__{sm}")]


def ends(recording: Recording) -> list[tuple[int, dict[str, int]]]:
    """Return cycle and fields of each final record."""
    packet = layouts.dispatch_end(TINY)
    return [(cycle, packet.unpack(word)) for cycle, word in recording.transfers("ended")]


def fates(recording: Recording) -> list[tuple[int, int, int, int, int]]:
    """Return cycle, ticket, fate, code and duration of each final record."""
    return [
        (cycle, end["ticket"], end["fate"], end["code"], end["cycles"])
        for cycle, end in ends(recording)
    ]


def errors(recording: Recording) -> list[tuple[int, int, int]]:
    """Return cycle, code and argument of each error record."""
    found = ((c, ERROR.unpack(w or 0)) for c, w in enumerate(recording.port("error")) if w)
    return [(cycle, e["code"], e["argument"]) for cycle, e in found]


def levels_of(recording: Recording, port: str) -> dict[int, tuple[int, int]]:
    """Return for each bit of a level the first and the last cycle in which it is 1."""
    words = [word or 0 for word in recording.port(port)]
    found: dict[int, tuple[int, int]] = {}
    for cycle, word in enumerate(words):
        for bit in range(word.bit_length()):
            if word >> bit & 1:
                found[bit] = (found.get(bit, (cycle, 0))[0], cycle)
    return found


def policy(name: str, reclaim: str = "out_of_order") -> Config:
    """Return a machine of `SMS` SMs with a placement policy."""
    return config_of(f"tiny,sms={SMS},policy={name},reclaim={reclaim}")


def given(recording: Recording, sms: int = SMS) -> list[int]:
    """Return the SMs in the order in which they got blocks; all offers are taken at once."""
    found = [(c, n) for n in range(sms) for c in recording.cycles(f"offer__{n}__valid")]
    return [n for _, n in sorted(found)]


def used(first: int, till: int) -> Callable[[int], int]:
    """Return an enable mask: all SMs before ``first`` and from ``till`` on."""
    return lambda now: 0 if first <= now < till else (1 << SMS) - 1
