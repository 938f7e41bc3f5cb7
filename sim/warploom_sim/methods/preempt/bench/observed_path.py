"""LaunchPath with what a measurement looks at inside it, beside its ports."""

from typing import Any, Final

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warploom.launch.launch_path import LaunchPath
from warploom.lib.axil_pins import hand_through
from warploom_spec import Config
from warploom_spec.layouts import PLACES, STOP_BITS, TICKET_BITS

#: Fields of a launch on its way to the dispatcher that are seen, beside its ticket.
STARTS: Final = ("start_x", "start_y", "start_z")


class ObservedPath(wiring.Component):
    """Show what LaunchPath's queue gives to its dispatcher.

    Parameters
    ----------
    config : Config
        As for LaunchPath.

    Attributes
    ----------
    handed__valid : Out(1)
        1 in the cycles in which a launch transfers to the dispatcher.
    handed__ticket, handed__start_x, handed__start_y, handed__start_z : Out
        Its ticket, and the block that it begins with.
    stopped__0, stopped__1 : Out(STOP_BITS)
        The stop of each place.
    """

    handed__valid: Signal
    handed__ticket: Signal

    def __init__(self, config: Config) -> None:
        self._core = core = LaunchPath(config)
        starts = dict(zip(STARTS, config.grid_bits, strict=True))
        super().__init__(
            {
                **dict(core.signature.members.items()),
                "handed__valid": Out(1),
                "handed__ticket": Out(TICKET_BITS),
                **{f"handed__{name}": Out(bits) for name, bits in starts.items()},
                **{f"stopped__{place}": Out(STOP_BITS) for place in range(PLACES)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the core and hand its ports through."""
        del platform
        m = Module()
        m.submodules.core = self._core
        for name in self._core.signature.members:
            hand_through(m, self, self._core, name)
        queue: Any = self._core._queue
        launch: Any = queue.launch
        m.d.comb += [
            self.handed__valid.eq(launch.valid & launch.ready),
            self.handed__ticket.eq(launch.payload.ticket),
            *(getattr(self, f"handed__{name}").eq(launch.payload[name]) for name in STARTS),
            *(getattr(self, f"stopped__{k}").eq(queue.stop[f"place{k}"]) for k in range(PLACES)),
        ]
        return m
