"""A host that writes and reads a FrontEnd's map in a fixed order, on RTL and model alike."""

from collections.abc import Callable, Sequence
from typing import Any

from tb.support.record import Recording, Sender, made, record
from warploom_spec import Config, host_packets, preset
from warploom_spec.host_map import section_address
from warploom_spec.host_registers import register_addresses

# The bus is the same in every configuration.
ADDRESS, DATA = (make(preset("tiny")) for make in (host_packets.bus_address, host_packets.bus_data))
READ_ANSWER = host_packets.bus_read_answer(preset("tiny"))
#: An access: the cycle from which it is sent on, the byte address, and the word if it is a write.
Access = tuple[int, int, int | None]


def write_to(config: Config, cycle: int, name: str, value: int) -> Access:
    """Return a write of a register."""
    return cycle, register_addresses(config)[name], value


def read_of(config: Config, cycle: int, name: str) -> Access:
    """Return a read of a register."""
    return cycle, register_addresses(config)[name], None


def read_section(cycle: int, section: int, name: str) -> Access:
    """Return a read of a section's word."""
    return cycle, section_address(section, name), None


def command(cycle: int, section: int, words: Sequence[int]) -> list[Access]:
    """Return the writes of a command's first words and its doorbell."""
    named = [(f"T{number}", word) for number, word in enumerate(words)]
    return [
        (cycle, section_address(section, name), value) for name, value in [*named, ("DOORBELL", 1)]
    ]


def quiet_inputs(config: Config) -> dict[str, int]:
    """Return the inputs of a core around which nothing happens; it may offer what it will."""
    values = {"axil__b__ready": 1, "axil__r__ready": 1}
    for n in range(config.sms):
        values |= {f"report__{n}__valid": 0, f"report__{n}__payload": 0}
        if config.makes_indices:
            values |= {f"read__{n}__valid": 0, f"read__{n}__payload": 0}
    for k in range(config.units):
        unit = {"start__ready": 1, "arrived": 0, "failed": 0, "failure": 0}
        unit |= {"result__valid": 0, "result__payload": 0}
        values |= {f"cores__{k}__{name}": value for name, value in unit.items()}
    return values


def play(
    kind: Callable[..., Any],
    config: Config,
    accesses: Sequence[Access],
    cycles: int,
    host: "type[Host] | None" = None,
    **levels: Callable[[int], int],
) -> tuple[Recording, list[int | None]]:
    """Run a core; return the recording, and what each read gave: None where it was refused.

    ``host`` also plays what is around the core; without it nothing happens there but ``levels``.
    """
    quiet = quiet_inputs(config)
    writes = [access for access in accesses if access[2] is not None]
    reads = [access for access in accesses if access[2] is None]
    sender = (host or Host)(
        {
            "axil__aw": [_address(address) for _, address, _ in writes],
            "axil__w": [DATA.pack({"data": word or 0, "strb": 0xF}) for *_, word in writes],
            "axil__ar": [_address(address) for _, address, _ in reads],
        },
        lambda cycle: quiet | {name: level(cycle) for name, level in levels.items()},
        {"axil__aw": [c for c, *_ in writes], "axil__ar": [c for c, *_ in reads]},
    )
    recording = record(made(kind, config), sender, cycles)
    answers = [READ_ANSWER.unpack(word) for _, word in recording.transfers("axil__r")]
    assert len(answers) == len(reads), "the run is too short for its reads"
    return recording, [None if answer["resp"] else answer["data"] for answer in answers]


def _address(address: int) -> int:
    return ADDRESS.pack({"addr": address, "prot": 0})


class Host(Sender):
    """A sender that holds each access back until its cycle."""

    def __init__(self, streams: Any, levels: Any, starts: dict[str, list[int]]):
        super().__init__(streams, self._held)
        self._quiet, self._starts = levels, starts

    def _held(self, cycle: int) -> dict[str, int]:
        values: dict[str, int] = self._quiet(cycle)
        for name, starts in self._starts.items():
            left = len(self.waiting[name])
            values[f"{name}__hold"] = int(bool(left) and cycle < starts[-left])
        return values
