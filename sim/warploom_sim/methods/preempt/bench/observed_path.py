"""LaunchPath with what a measurement looks at inside it, beside its ports."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warploom.lib.axil_pins import hand_through
from warploom_sim.replay.bench.observed import ObservedPath
from warploom_spec import Config


class ObservedLevels(wiring.Component):
    """Show what is said inside LaunchPath: starts, who is held, and what is taken back.

    Parameters
    ----------
    config : Config
        As for LaunchPath.

    Attributes
    ----------
    holds, stops : Out
        The queue's levels, a bit each stream.
    cancels : Out(1)
        A head's configuration is taken back.
    cancelled : Out
        The stream of the head in preparation.
    started, started_valid, ... : Out
        What `ObservedPath` shows, and LaunchPath's ports.
    """

    def __init__(self, config: Config) -> None:
        self._core = core = ObservedPath(config)
        levels = dict.fromkeys(("holds", "stops"), Out(1 << config.stream_bits))
        more = {"cancels": Out(1), "cancelled": Out(config.stream_bits)}
        super().__init__({**dict(core.signature.members.items()), **levels, **more})

    def elaborate(self, platform: object) -> Module:
        """Build the core and hand its ports through."""
        del platform
        m = Module()
        m.submodules.core = self._core
        for name in self._core.signature.members:
            hand_through(m, self, self._core, name)
        queue: Any = self._core._path._queue
        ports: Any = self
        m.d.comb += [
            ports.holds.eq(queue.hold),
            ports.stops.eq(queue.stop),
            ports.cancels.eq(queue.cancel),
            # What the head in preparation would start with, from its second cycle there on.
            ports.cancelled.eq(queue.start.payload.stream),
        ]
        return m
