"""What the tests of the dispatcher's rules share: launches, signals of SMs, and a short run."""

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.lib import wiring

from tb.support.dispatch_configs import config_of
from tb.support.record import Recording, Sender, record
from warploom.dispatch import BlockDispatcher
from warploom_golden.dispatch import BlockDispatcher as Model
from warploom_spec import Config, layouts

#: The RTL or the model, to be made of a configuration.
Block = Callable[[Config], Model | wiring.Component]
#: Each test of a module twice: of the RTL, and of the model.
RTL_AND_MODEL = pytest.mark.parametrize("block", [BlockDispatcher, Model], ids=["rtl", "model"])

TINY = config_of("tiny,policy=first_fit,kill_timeout=12")
IN_ORDER = config_of("tiny,policy=first_fit,reclaim=in_order")
#: The page's worked example.
SMALLEST = config_of("tiny,sms=1,block_slots=1")
ERROR = layouts.error_record(TINY)

#: SMs of the machines on which policies are compared.
SMS = 4
#: Needs all of an SM's barriers.
WHOLE = {"barriers": 4}
#: A little more than half of what an SM has, each by itself.
HALF = {"warps": 9, "registers": 17, "shared": 33, "barriers": 3}


def launch(ticket: int = 1, config: Config = TINY, **changes: int) -> int:
    """Return a launch of one block of one warp, but for the changes."""
    fields = dict.fromkeys((f.name for f in layouts.dispatch_launch(config).fields), 0)
    fields |= {"gx": 1, "gy": 1, "gz": 1, "warps": 1, "entries": 1, "after_previous": 1}
    return layouts.dispatch_launch(config).pack(fields | {"ticket": ticket} | changes)


def completion(slot: int, code: int = 0) -> int:
    return layouts.block_completion(TINY).pack({"slot": slot, "code": code})


def mask(slots: int) -> int:
    return layouts.slot_mask(TINY).pack({"valid": 1, "mask": slots})


def stop(ticket: int, drain: int = 0) -> int:
    return layouts.launch_stop(TINY).pack({"ticket": ticket, "drain": drain})


def at(cycle: int, value: int = 1) -> Callable[[int], int]:
    """Return a level that has the value in one cycle."""
    return lambda now: value if now == cycle else 0


def drive(
    block: Block, launches: list[int], cycles: int = 60, config: Config = TINY, **levels: Any
) -> Recording:
    """Run a block: all SMs in use, offers and ends taken, nothing sent, but for the levels."""
    usual: dict[str, Any] = {"enable": (1 << config.sms) - 1, "ended__ready": 1}
    usual |= {"stop__valid": 0, "stop__payload": 0}
    usual |= {"order_table__valid": 0, "order_table__payload": 0}
    for n in range(config.sms):
        usual |= {f"offer__{n}__ready": 1, f"acknowledge__{n}": 0}
        usual |= {f"completion__{n}__valid": 0, f"completion__{n}__payload": 0}

    def inputs(cycle: int) -> dict[str, int]:
        merged = usual | levels
        return {name: v(cycle) if callable(v) else v for name, v in merged.items()}

    return record(block(config), Sender({"launch": launches}, inputs), cycles)


def ends(recording: Recording) -> list[tuple[int, dict[str, int]]]:
    packet = layouts.dispatch_end(TINY)
    return [(cycle, packet.unpack(word)) for cycle, word in recording.transfers("ended")]


def errors(recording: Recording) -> list[tuple[int, int, int]]:
    found = ((c, ERROR.unpack(w or 0)) for c, w in enumerate(recording.port("error")) if w)
    return [(cycle, e["code"], e["argument"]) for cycle, e in found]


def completing(sm: int, *when: tuple[int, int]) -> dict[str, Any]:
    """Return the levels of an SM's completions, each (cycle, payload)."""
    words = dict(when)
    return {
        f"completion__{sm}__valid": lambda cycle: int(cycle in words),
        f"completion__{sm}__payload": lambda cycle: words.get(cycle, 0),
    }


def policy(name: str, reclaim: str = "out_of_order") -> Config:
    """Return a machine of `SMS` SMs with a placement policy."""
    return config_of(f"tiny,sms={SMS},policy={name},reclaim={reclaim}")


def given(recording: Recording) -> list[int]:
    """Return the SMs in the order in which they got blocks; all offers are taken at once."""
    offers = [(c, n) for n in range(SMS) for c in recording.cycles(f"offer__{n}__valid")]
    return [n for _, n in sorted(offers)]


def used(first: int, till: int) -> Callable[[int], int]:
    """Return an enable mask: all SMs before ``first`` and from ``till`` on."""
    return lambda now: 0 if first <= now < till else (1 << SMS) - 1
