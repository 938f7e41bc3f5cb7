"""LaunchPath and FrontEnd with what a replay looks at inside them, beside their ports."""

from typing import Any, Final

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warploom.host import FrontEnd
from warploom.launch.launch_path import LaunchPath
from warploom.lib.axil_pins import hand_through
from warploom_sim.replay.bench.records import STALLS
from warploom_spec import Config
from warploom_spec.resident_packets import resident_start

#: Ports of LaunchPath that are seen as they are.
OBSERVED: Final = (
    "answer",
    "decided",
    "decided_valid",
    "done",
    "done_valid",
    "written",
    "written_valid",
    "record",
    "killed",
    "timeline",
    "room",
    "records_left",
    "pop",
    "lost",
    "dispatch_error",
    "dispatch_error_count",
    "index_error",
    "index_error_count",
    *STALLS,
)
#: Its streams, of which payload, valid and ready are seen.
STREAMS: Final = ("launch", "abort")


class _Observed(wiring.Component):
    """A core with LaunchPath in it, and what starts in that."""

    def __init__(self, core: Any, path: LaunchPath, more: dict[str, Any]) -> None:
        self._core, self._path = core, path
        start = resident_start(path._config).layout()
        super().__init__(
            {
                **dict(core.signature.members.items()),
                "started": Out(start),
                "started_valid": Out(1),
                **more,
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the core and hand its ports through."""
        del platform
        m = Module()
        ports: Any = self
        m.submodules.core = self._core
        for name in self._core.signature.members:
            hand_through(m, self, self._core, name)
        start: Any = self._path._queue.start
        m.d.comb += [
            ports.started.eq(start.payload),
            ports.started_valid.eq(start.valid & start.ready),
        ]
        return m


class ObservedPath(_Observed):
    """Show which launches of LaunchPath start.

    Parameters
    ----------
    config : Config
        As for LaunchPath.

    Attributes
    ----------
    started, started_valid : Out
        The launch that transfers to the dispatcher, and whether one does.
    """

    def __init__(self, config: Config) -> None:
        path = LaunchPath(config)
        super().__init__(path, path, {})


class ObservedFrontEnd(_Observed):
    """Show what FrontEnd's LaunchPath does, under the names that its ports have.

    Parameters
    ----------
    config : Config
        As for FrontEnd.

    Attributes
    ----------
    started, started_valid : Out
        As for `ObservedPath`.
    launch__payload, launch__valid, launch__ready, abort__payload, ... : Out
        Its streams.
    """

    def __init__(self, config: Config) -> None:
        core = FrontEnd(config)
        path = core._path
        members = path.signature.members
        self._seen = [name for name in OBSERVED if name not in core.signature.members]
        super().__init__(
            core,
            path,
            {
                **{name: Out(members[name].shape) for name in self._seen},
                **{
                    f"{name}__{port}": Out(members[name].signature.members[port].shape)
                    for name in STREAMS
                    for port in ("payload", "valid", "ready")
                },
            },
        )

    def elaborate(self, platform: object) -> Module:
        """Build the core and hand its ports through."""
        m = super().elaborate(platform)
        path: Any = self._path
        m.d.comb += [getattr(self, name).eq(getattr(path, name)) for name in self._seen]
        for name in STREAMS:
            stream = getattr(path, name)
            m.d.comb += [
                getattr(self, f"{name}__payload").eq(stream.payload),
                getattr(self, f"{name}__valid").eq(stream.valid),
                getattr(self, f"{name}__ready").eq(stream.ready),
            ]
        return m
