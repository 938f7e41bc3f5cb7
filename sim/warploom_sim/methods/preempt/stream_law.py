"""The law of preemption: until when low blocks are placed, and an urgent launch is offered."""

from dataclasses import dataclass
from typing import ClassVar, Final

from warploom_spec import Config, timing
from warploom_spec.resident_limits import in_groups, sm_groups

#: From the cycle in which a head enters preparation to its start, its indices a hit: it asks in the
#: next cycle, and starts in the one after its decision, all beside ``filter_lookup``. The next head
#: enters in the cycle of the start.
_NEXT_START: Final = 3
#: From that cycle to the one in which another head may enter because this one is cancelled: it asks
#: in the next cycle, and leaves three cycles after ``needs_release``.
_CANCELLED: Final = 4
#: Where nothing makes indices: a choice that began a cycle before the launch was known is given up.
_CHOSEN_ANEW: Final = 2
#: From a launch that is ready to its ``request``.
_CHOICE: Final = 3
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
        """A round over the SMs, at most: what a first offer comes later than on an idle machine.

        There the scan stands at the first SM, so its verdict is there with the change. Else the
        scan begins with the change: that verdict comes three cycles later, six in groups, and those
        of the other SMs, a cycle each, behind it.
        """
        sms, begins = self.config.sms, 6 if in_groups(self.config) else 3
        if self.config.policy == "least_loaded":
            # It places nothing before the round is known.
            return sms + begins + 1
        if self.config.policy == "freed_first":
            # Its queue's head may lack room. That is known with the round, and then the pointer
            # goes over the table.
            return 2 * sms + begins
        return sms - 1 + begins

    @property
    def policy(self) -> int:
        """What a policy takes at most to find the one SM that has room again."""
        return {"least_loaded": 1, "freed_first": self.config.sms}.get(self.config.policy, 0)

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
        """A to the first offer, if an SM has room; another head may be cancelled before it.

        That one enters preparation in the cycle in which this launch is ready, at the latest.
        """
        latencies = timing(self.config)
        way = latencies.queue_start + _CHOSEN_ANEW
        if self.config.makes_indices:
            way = latencies.queue_request - _CHOICE + _CANCELLED + latencies.needs_release
            way += latencies.filter_lookup + _NEXT_START
        return way + self.event + latencies.resident_first_offer + self.scan

    @property
    def next_start(self) -> int:
        """The last start of another head before it to the first offer."""
        latencies = timing(self.config)
        way = latencies.filter_lookup if self.config.makes_indices else 0
        return way + _NEXT_START + latencies.resident_first_offer + self.scan

    @property
    def indices_made(self) -> int:
        """Last warp of its indices written to the first offer, if an earlier launch has them made.

        ConfigFilter accepts the configuration two cycles after the write. Where it awaits that an
        answer leaves (``done_depth``), it accepts it in the next cycle.
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
        return latencies.resident_returns + latencies.resident_offer + self.turn + self.policy

    @property
    def turn(self) -> int:
        """How long a report waits until it is granted, at most."""
        if not in_groups(self.config):
            return self.config.sms - 1
        # A group gives a report every third cycle, and one group is granted in a cycle.
        groups = sm_groups(self.config.sms)
        return 3 * max(map(len, groups)) + len(groups)
