"""Sizes and latencies of the kernel queue's model.

Page: ``docs/preemption/preemption.md``.
"""

from dataclasses import dataclass, field

from warploom_spec import Config, WarploomError, timing


@dataclass(frozen=True, kw_only=True)
class QueueParameters:
    """Sizes of the kernel queue.

    Attributes
    ----------
    queue_depth : int
        Entries for launches in each priority's queue: a power of two, 1 to 1024.
    max_in_flight : int
        Size of a queue's window, in unfinished launches: 1 to ``queue_depth``.
    handed : int
        The most launches that are handed on to the dispatcher and not started: 1 to 8.
    max_kills : int
        A launch that was killed this often is drained from then on: 0 to 7.
    launch_timeout : int
        The most cycles of one residence, counted from its first offer: up to 2**32 - 1; 0: no
        limit.
    first_ticket : int
        Ticket of the first accepted command: 1 to 2**32 - 1.

    Raises
    ------
    WarploomError
        If a value is outside its range.
    """

    queue_depth: int = 16
    max_in_flight: int = 8
    handed: int = 2
    max_kills: int = 4
    launch_timeout: int = 0
    first_ticket: int = 1

    def __post_init__(self) -> None:
        """Refuse a value outside its range; the message names field, value and range."""
        depth = self.queue_depth
        if not 1 <= depth <= 1024 or depth & (depth - 1):
            raise WarploomError(f"queue_depth is {depth}; legal: a power of two up to 1024")
        for name, low, high in (
            ("max_in_flight", 1, depth),
            ("handed", 1, 8),
            ("max_kills", 0, 7),
            ("launch_timeout", 0, 2**32 - 1),
            ("first_ticket", 1, 2**32 - 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise WarploomError(f"{name} is {value}; legal: {low} to {high}")

    @property
    def completion_entries(self) -> int:
        """The most final records that the completion queue holds."""
        return 4 * self.queue_depth + 4


@dataclass(frozen=True)
class QueueLatency:
    """Latencies of the kernel queue, in cycles, and the latencies of preemption that follow.

    The dispatcher's own latencies are those of ``warploom_spec.timing``. The kernel queue has no
    RTL yet. The values here are chosen; they keep the bounds of the page's section 'How long it
    takes'.

    Parameters
    ----------
    config : Config
        The configuration, which sets the dispatcher's latencies.

    Attributes
    ----------
    flag : int
        From the acceptance of a launch or a PREEMPT to the first cycle of the lower queues' flag,
        in which their launches get their stop. The page's rule 8 asks for 1.
    choose : int
        From the acceptance of a launch, with nothing else to do, to the cycle in which it is
        chosen.
    present : int
        From the choice of a launch to its index configuration at the filter.
    prepared : int
        From the filter's decision to the first cycle in which a place may take the launch.
    """

    config: Config
    flag: int = field(default=1, init=False)
    choose: int = field(default=1, init=False)
    present: int = field(default=1, init=False)
    prepared: int = field(default=2, init=False)

    @property
    def kill(self) -> int:
        """From the acceptance of the urgent launch to the first cycle of ``kill``.

        The page allows 4.
        """
        return self.flag + timing(self.config).stop

    @property
    def idle_launch(self) -> int:
        """From a launch's acceptance to its first offer; nothing else to do, indices a hit.

        The page allows 14.
        """
        latencies = timing(self.config)
        way = self.choose + self.present + latencies.filter_lookup + self.prepared
        return way + latencies.first_offer

    @property
    def report_to_offer(self) -> int:
        """From the last report that makes room to the offer that uses it; the page allows 6."""
        latencies = timing(self.config)
        return latencies.returns + latencies.offer

    @property
    def next_launch(self) -> int:
        """From a launch's last report to the first offer of the next launch in the same place.

        The page allows 12. The launch is gone ``returns`` - 1 cycles after the report. Its place is
        free ``end`` cycles later, and then takes the next launch.
        """
        latencies = timing(self.config)
        return latencies.returns - 1 + latencies.end + latencies.first_offer

    @property
    def idle_place(self) -> int:
        """From the urgent launch's acceptance to its first offer, in a stopped launch's place.

        This is the shortest case: the stopped launch has a block left and none on an SM when its
        stop is seen. Its head stays for three more cycles. Then the launch is gone, and its place
        takes the urgent launch ``end`` cycles later.
        """
        latencies = timing(self.config)
        return self.kill + 3 + latencies.end + latencies.first_offer
