"""The law of preemption with streams as queues: when an urgent launch is offered, at most."""

from dataclasses import dataclass, field
from typing import Final

from warploom_spec import Config, timing

#: The last cycle after A in which a launch's end can hold the urgent one's configuration back.
SETTLES: Final = 8


@dataclass(frozen=True)
class StreamLaw:
    """Sums of latencies, in cycles; the dispatcher's and the filter's are those of ``timing``.

    A is the cycle in which the urgent launch is accepted, its indices a hit.

    Parameters
    ----------
    config : Config
        The configuration.

    Attributes
    ----------
    queue_choice, queue_line, queue_stop : int
        Constants of the queue.
    """

    config: Config
    queue_choice: int = field(default=1, init=False)
    queue_line: int = field(default=2, init=False)
    queue_stop: int = field(default=2, init=False)

    @property
    def kill(self) -> int:
        """A to the first cycle of ``kill``."""
        return self.queue_stop + timing(self.config).stop

    @property
    def idle_launch(self) -> int:
        """A to the first offer, if nothing is in the way."""
        latencies = timing(self.config)
        way = self.queue_choice + self.queue_line
        if self.config.makes_indices:
            way += latencies.filter_lookup + 2
        return way + latencies.first_offer

    @property
    def in_flight(self) -> int:
        """The same, if a configuration of a launch that is taken back was in flight.

        At most two cycles more: its flight ends, and its reference is sent. Launches are taken back
        one in a cycle, and neither that nor the reference comes in a cycle in which one ends. So a
        second launch that is taken back, and each that ends up to A + `SETTLES`, is a cycle more.
        """
        return self.idle_launch + 2

    @property
    def report_to_offer(self) -> int:
        """The last report that makes room to the offer, if the urgent launch is the head."""
        latencies = timing(self.config)
        return latencies.returns + latencies.offer

    @property
    def next_launch(self) -> int:
        """Last report of the launch that is gone first to the offer, if both places were held."""
        latencies = timing(self.config)
        return latencies.returns - 1 + latencies.end + latencies.first_offer

    @property
    def idle_place(self) -> int:
        """A to the first offer in the place of a launch that was stopped while its head stood.

        Nothing of that launch was out. Its walk is forgotten at the end of the third cycle of its
        stop; then it is gone.
        """
        latencies = timing(self.config)
        return self.kill + 3 + latencies.end + latencies.first_offer

    @property
    def indices_made(self) -> int:
        """Last warp of its indices written to the first offer, if an earlier launch has them made.

        ConfigFilter accepts the configuration two cycles after the write.
        """
        return 4 + timing(self.config).first_offer
