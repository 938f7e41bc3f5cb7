"""Which outputs say something in a cycle: the fields of a pulse that is not valid mean nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from warploom_sim.cosim.lockstep.ports import Ports

Values = Mapping[str, int | None]


class Unresolved(int):
    """A port's value with bits that are neither 0 nor 1; as a number -1, which no port can have."""

    bits: str

    def __new__(cls, bits: str) -> Unresolved:
        """Keep the simulator's own notation."""
        value = super().__new__(cls, -1)
        value.bits = bits
        return value

    def bits_from(self, low: int, width: int) -> int:
        """Return the value with only some bits kept, or -1 if one of these is neither 0 nor 1."""
        end = len(self.bits) - low
        kept = self.bits[end - width : end]
        return int(kept, 2) << low if set(kept) <= {"0", "1"} else -1


class Valid(NamedTuple):
    """Where an output's ``valid`` stands.

    Attributes
    ----------
    port : str
        The output itself, if it is a packet with the field; else the output beside it.
    low, width : int
        Its bits there: 0 in all of them says that the output is not valid.
    """

    port: str
    low: int
    width: int

    def of(self, value: int) -> int:
        """Return its bits in the port's value; other bits may be neither 0 nor 1."""
        if isinstance(value, Unresolved):
            value = value.bits_from(self.low, self.width)
        return value >> self.low & (1 << self.width) - 1


class Validity:
    """A component's outputs that say something only while they are valid.

    These are a packet with a field ``valid`` (a pulse), an output ``x`` beside an output
    ``x_valid`` (a pulse of two ports), and the payload of a port stream.

    Parameters
    ----------
    ports : Ports
        The component's.

    Attributes
    ----------
    valids : dict of str to Valid
        Of each such output where its ``valid`` stands.
    """

    def __init__(self, ports: Ports):
        self.valids = {
            name: valid for name in ports.outputs if (valid := _valid_of(name, ports)) is not None
        }
        self._pulses = {
            name: valid for name, valid in self.valids.items() if not name.endswith("payload")
        }

    def quiet(self, outputs: Mapping[str, int]) -> dict[str, int]:
        """Return a component's outputs with 0 for each pulse that is not valid."""
        silent = {n: 0 for n, valid in self._pulses.items() if not valid.of(outputs[valid.port])}
        return {**outputs, **silent}

    def meant(self, want: Values) -> dict[str, int | None]:
        """Return a model's outputs with what `quiet` ones are held to.

        A pulse that is not valid is 0. A payload or an output beside its ``valid`` is None, which
        is not compared.
        """
        silent = {}
        for name, valid in self.valids.items():
            level = want[valid.port]
            if level is not None and not valid.of(level):
                silent[name] = 0 if valid.port == name else None
        return {**want, **silent}


def _valid_of(name: str, ports: Ports) -> Valid | None:
    """Return where an output's ``valid`` stands, or None if it has none."""
    for field in ports.fields[name]:
        if field.name == "valid":
            return Valid(name, field.low, field.width)
    stem, is_payload = name.removesuffix("payload"), name.endswith("payload")
    beside = f"{stem}valid" if is_payload else f"{name}_valid"
    if beside not in ports.outputs:
        return None
    return Valid(beside, 0, len(ports.outputs[beside]))
