"""A component's ports and streams under the names that its Verilog gives them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from warploom_sim.cosim.lockstep.packet_fields import PacketField, fields_of

CLOCK, RESET = "clk", "rst"


@dataclass(frozen=True)
class Stream:
    """One stream of a component.

    Attributes
    ----------
    name : str
        Flattened name without ``__payload``, ``__valid``, ``__ready``.
    width : int
        Bits of the payload.
    is_input : bool
        Whether the component receives it.
    valid, ready : str or None
        Port names; None where the stream is always valid or always ready.
    """

    name: str
    width: int
    is_input: bool
    valid: str | None
    ready: str | None

    @property
    def payload(self) -> str:
        """Name of the payload port."""
        return f"{self.name}__payload"


@dataclass(frozen=True)
class Ports:
    """The ports of a component, without clock and reset.

    Attributes
    ----------
    inputs, outputs : dict of str to Value
        By flattened name; constants (the ready of a stream that is always ready) are no ports.
    streams : dict of str to Stream
        By flattened name.
    fields : dict of str to tuple of PacketField
        Of each port its packet's fields; none if it is a plain number.
    """

    inputs: dict[str, Value]
    outputs: dict[str, Value]
    streams: dict[str, Stream]
    fields: dict[str, tuple[PacketField, ...]]

    @classmethod
    def of(cls, component: wiring.Component) -> Ports:
        """Read the ports from a component's signature.

        Raises
        ------
        ValueError
            If a port has the name of the clock or the reset.
        """
        inputs: dict[str, Value] = {}
        outputs: dict[str, Value] = {}
        fields: dict[str, tuple[PacketField, ...]] = {}
        for path, member, value in component.signature.flatten(component):
            name = "__".join(str(part) for part in path)
            if name in (CLOCK, RESET):
                raise ValueError(f"port {name!r} of {type(component).__name__} has a reserved name")
            side = inputs if member.flow is wiring.In else outputs
            side[name] = Value.cast(value)
            fields[name] = fields_of(value)
        streams = _streams(inputs, outputs)
        return cls(_real(inputs), _real(outputs), streams, fields)

    def to_convert(self) -> dict[str, tuple[Value, PortDirection]]:
        """Return what Amaranth's back ends take as ``ports``."""
        return {
            name: (value, direction)
            for side, direction in (
                (self.inputs, PortDirection.Input),
                (self.outputs, PortDirection.Output),
            )
            for name, value in side.items()
        }

    @property
    def plain_inputs(self) -> dict[str, Value]:
        """Inputs that belong to no stream."""
        parts = {
            part
            for stream in self.streams.values()
            for part in (stream.payload, stream.valid, stream.ready)
        }
        return {name: value for name, value in self.inputs.items() if name not in parts}


def _streams(inputs: dict[str, Value], outputs: dict[str, Value]) -> dict[str, Stream]:
    """Find the streams: a payload with a valid on its side and a ready on the other."""
    streams: dict[str, Stream] = {}
    for side, other in ((inputs, outputs), (outputs, inputs)):
        for name, value in side.items():
            root, _, leaf = name.rpartition("__")
            valid, ready = f"{root}__valid", f"{root}__ready"
            if leaf == "payload" and root and valid in side and ready in other:
                streams[root] = Stream(
                    name=root,
                    width=len(value),
                    is_input=side is inputs,
                    valid=None if isinstance(side[valid], Const) else valid,
                    ready=None if isinstance(other[ready], Const) else ready,
                )
    return streams


def _real(ports: dict[str, Value]) -> dict[str, Value]:
    """Leave out what is tied to a constant: the valid or ready of a stream without one."""
    return {name: value for name, value in ports.items() if not isinstance(value, Const)}
