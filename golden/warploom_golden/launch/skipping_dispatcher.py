"""BlockDispatcher's cycle model with what KernelQueue needs of it, but without yielding places.

It stands in for the model with `preempts`, until that one is there.
"""

from collections.abc import Mapping

from warploom_golden.dispatch import BlockDispatcher
from warploom_golden.dispatch.place import Place
from warploom_spec.errors import Stop
from warploom_spec.layouts import PLACES
from warploom_spec.queue_packets import STOP_SKIP


class SkippingDispatcher(BlockDispatcher):
    """Cycle model of BlockDispatcher that takes a skip and shows which places have started."""

    def reset(self) -> None:
        """Forget everything."""
        self._started = [False] * PLACES  # kept until the place is occupied again
        self._skipped: list[Place] = []
        super().reset()

    def outputs(self, inputs: Mapping[str, int]) -> dict[str, int | None]:
        """Return the outputs of this cycle."""
        started = sum(1 << place for place, flag in enumerate(self._started) if flag)
        return super().outputs(inputs) | {"started": started, "yields": 0}

    def tick(self, inputs: Mapping[str, int]) -> None:
        """Advance by one clock edge."""
        super().tick(inputs)
        self._skipped = [place for place in self._skipped if place in self._places]
        for place in self._places:
            self._started[place.number] = place.started

    def _may_decide(self) -> bool:
        """Tell whether there is a head that may be decided."""
        return super()._may_decide() and self._head not in self._skipped

    def _take_stops(self, inputs: Mapping[str, int]) -> None:
        """Take in a stop for the launch of each place; a skip counts if no block was decided."""
        stops = self._stop_packet.unpack(inputs["stop"])
        for place in self._places:
            asked = stops[f"place{place.number}"]
            if asked == STOP_SKIP:
                if place.first_offer is None:
                    self._skipped.append(place)
                    self._stop_later(place, Stop.DRAIN)
            elif asked:
                self._stop_later(place, Stop(asked))
