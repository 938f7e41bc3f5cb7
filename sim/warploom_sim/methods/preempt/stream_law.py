"""The law of preemption: until when low blocks are placed, and an urgent launch is offered."""

from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Final

from warploom_spec import Config, timing
from warploom_spec.resident_limits import GROUP_SMS, in_groups

#: From a start to that of the next head, its indices a hit: it enters preparation in the cycle of
#: the start, asks in the next one, and starts in the one after its decision, all beside
#: ``filter_lookup``. A head that is cancelled leaves preparation three cycles later.
_NEXT_START: Final = 3
_CANCELLED: Final = 3
#: From the end of indices to the start of the head that waits for them.
_MADE_START: Final = 4


@dataclass(frozen=True)
class StreamLaw:
    """Sums of latencies, in cycles.

    A is the cycle in which the urgent launch is accepted, its indices a hit.

    Parameters
    ----------
    config : Config
        The configuration.
    """

    config: Config
    #: The terms, in the order of the tables.
    TERMS: ClassVar[tuple[str, ...]] = (
        "last_low",
        "kill",
        "idle_launch",
        "next_start",
        "indices_made",
        "last_block",
        "report_to_offer",
    )

    @property
    def event(self) -> int:
        """What an event adds at most that the queue serves in A."""
        return self.config.launch_waits + 4

    @property
    def scan(self) -> int:
        """The scan's round over the SMs, at most."""
        return self.config.sms

    @property
    def last_low(self) -> int:
        """A to the last offer of a low launch that makes way."""
        latencies = timing(self.config)
        # `hold` stands, and a block that is picked in the next cycle still comes.
        return latencies.queue_stop + 1 + latencies.resident_offer + self.event

    @property
    def kill(self) -> int:
        """A to the first cycle of ``kill``."""
        latencies = timing(self.config)
        return latencies.queue_stop + latencies.resident_kill + self.event

    @property
    def idle_launch(self) -> int:
        """A to the first offer, if an SM has room; another head may be cancelled before it."""
        latencies = timing(self.config)
        way = latencies.queue_start
        if self.config.makes_indices:
            way = latencies.queue_request + latencies.filter_lookup + 2
            way += latencies.filter_lookup + _NEXT_START + _CANCELLED
        # One more where the priority is not that of the head before.
        return way + 1 + self.event + latencies.resident_first_offer + self.scan

    @property
    def next_start(self) -> int:
        """The last start of another head before it to the first offer."""
        latencies = timing(self.config)
        way = latencies.filter_lookup if self.config.makes_indices else 0
        return way + _NEXT_START + latencies.resident_first_offer + self.scan

    @property
    def indices_made(self) -> int:
        """Last warp of its indices written to the first offer, if an earlier launch has them made.

        ConfigFilter accepts the configuration two cycles after the write.
        """
        return _MADE_START + timing(self.config).resident_first_offer + self.scan

    @property
    def last_block(self) -> int:
        """The last offer of a low block to the first offer: a change, and the scan's round."""
        return timing(self.config).resident_first_offer + self.scan

    @property
    def report_to_offer(self) -> int:
        """The last report that makes room to the offer, in a turn of the reports."""
        latencies = timing(self.config)
        return latencies.resident_returns + latencies.resident_offer + self.turn

    @property
    def turn(self) -> int:
        """How long a report waits until it is granted, at most."""
        if not in_groups(self.config):
            return self.config.sms - 1
        # A group gives a report every third cycle, and one group is granted in a cycle.
        return 3 * GROUP_SMS + ceil(self.config.sms / GROUP_SMS)
