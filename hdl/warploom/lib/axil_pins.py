"""A core's AXI4-Lite channels under AXI's own names, as tools and boards expect them."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

PREFIX = "s_axil_"
#: Pins of each channel beside its valid and ready: payload field (None: the payload itself).
_HOST_TO_CORE = {
    "aw": {"addr": ("addr", 16), "prot": ("prot", 3)},
    "w": {"data": ("data", 32), "strb": ("strb", 4)},
    "ar": {"addr": ("addr", 16), "prot": ("prot", 3)},
}
_CORE_TO_HOST = {
    "b": {"resp": (None, 2)},
    "r": {"data": ("data", 32), "resp": ("resp", 2)},
}


def hand_through(m: Module, wrapper: Any, core: Any, name: str) -> None:
    """Connect a port of a core to the port of that name of what stands around it."""
    member = core.signature.members[name]
    outer, inner = getattr(wrapper, name), getattr(core, name)
    pairs = zip(outer, inner, strict=True) if member.dimensions else [(outer, inner)]
    for outside, inside in pairs:
        if not member.is_port:
            wiring.connect(m, wiring.flipped(outside), inside)
        elif member.flow == Out:
            m.d.comb += outside.eq(inside)
        else:
            m.d.comb += inside.eq(outside)


class AxilPins(wiring.Component):
    """Wrap a core that has a port ``axil``; all its other ports stay as they are.

    Adds no registers: latencies are the core's.

    Parameters
    ----------
    core : Component
        With an AXI4-Lite port ``axil`` of streams.
    """

    def __init__(self, core: wiring.Component) -> None:
        self._core = core
        ports: dict[str, Any] = {}
        for channels, forward, backward in (
            (_HOST_TO_CORE, In, Out),
            (_CORE_TO_HOST, Out, In),
        ):
            for name, fields in channels.items():
                for pin, (_, bits) in fields.items():
                    ports[f"{PREFIX}{name}{pin}"] = forward(bits)
                ports[f"{PREFIX}{name}valid"] = forward(1)
                ports[f"{PREFIX}{name}ready"] = backward(1)
        others = {name: member for name, member in core.signature.members.items() if name != "axil"}
        super().__init__(ports | others)

    def elaborate(self, platform: object) -> Module:
        del platform
        m = Module()
        core: Any = self._core
        m.submodules.core = core
        for name in core.signature.members:
            if name != "axil":
                hand_through(m, self, core, name)
        for name, fields in (_HOST_TO_CORE | _CORE_TO_HOST).items():
            channel = getattr(core.axil, name)
            inward = name in _HOST_TO_CORE
            pairs = [
                (self._pin(name, pin), channel.payload if field is None else channel.payload[field])
                for pin, (field, _) in fields.items()
            ]
            pairs.append((self._pin(name, "valid"), channel.valid))
            for pin, inside in pairs:
                m.d.comb += inside.eq(pin) if inward else pin.eq(inside)
            ready = self._pin(name, "ready")
            m.d.comb += ready.eq(channel.ready) if inward else channel.ready.eq(ready)
        return m

    def _pin(self, channel: str, pin: str) -> Any:
        return getattr(self, f"{PREFIX}{channel}{pin}")
