"""FrontEnd with what a replay looks at inside it, beside its ports."""

from typing import Any, Final

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warploom.host import FrontEnd
from warploom.lib.axil_pins import hand_through
from warploom_spec import STALL_CAUSES, Config

#: Ports of LaunchPath that are seen as they are.
OBSERVED: Final = (
    "room",
    "lost",
    "answer",
    "decided",
    "decided_valid",
    "done",
    "done_valid",
    "written",
    "written_valid",
    "record",
    "put_back",
    "timeline",
    "pop",
    "dispatch_error",
    "dispatch_error_count",
    "index_error",
    "index_error_count",
    *(f"stall_{cause}" for cause in STALL_CAUSES),
)
#: Its streams, of which payload, valid and ready are seen.
STREAMS: Final = ("launch", "abort")


class ObservedFrontEnd(wiring.Component):
    """Show what FrontEnd's LaunchPath does, under the names that its ports have.

    Parameters
    ----------
    config : Config
        As for FrontEnd.

    Attributes
    ----------
    launch__payload, launch__valid, launch__ready, abort__payload, ... : Out
        Its streams.
    """

    def __init__(self, config: Config) -> None:
        self._core = core = FrontEnd(config)
        self._path = core._path
        path = self._path.signature.members
        super().__init__(
            {
                **dict(core.signature.members.items()),
                **{name: Out(path[name].shape) for name in OBSERVED},
                **{
                    f"{name}__{port}": Out(path[name].signature.members[port].shape)
                    for name in STREAMS
                    for port in ("payload", "valid", "ready")
                },
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the core and hand its ports through."""
        del platform
        m = Module()
        path: Any = self._path
        m.submodules.core = self._core
        for name in self._core.signature.members:
            hand_through(m, self, self._core, name)
        m.d.comb += [getattr(self, name).eq(getattr(path, name)) for name in OBSERVED]
        for name in STREAMS:
            stream = getattr(path, name)
            m.d.comb += [
                getattr(self, f"{name}__payload").eq(stream.payload),
                getattr(self, f"{name}__valid").eq(stream.valid),
                getattr(self, f"{name}__ready").eq(stream.ready),
            ]
        return m
