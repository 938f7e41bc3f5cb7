"""Sizes, latencies and options of the kernel queue's model, each in one place."""

from dataclasses import dataclass, field

from warploom_spec import Config, WarploomError, timing


@dataclass(frozen=True, kw_only=True)
class QueueParameters:
    """Sizes of the kernel queue.

    Attributes
    ----------
    queue_depth : int
        Places for launches in each priority's queue, a power of two.
    max_in_flight : int
        The first so many unfinished launches of a queue are its window.
    handed : int
        Launches handed on to the dispatcher and not started, at most.
    max_kills : int
        A launch that was killed so often is drained from then on.
    launch_timeout : int
        Cycles of one residence, from its first offer; 0: no limit.
    first_ticket : int
        Ticket of the first accepted command.

    Raises
    ------
    WarploomError
        If a value leaves its range.
    """

    queue_depth: int = 16
    max_in_flight: int = 8
    handed: int = 2
    max_kills: int = 4
    launch_timeout: int = 0
    first_ticket: int = 1

    def __post_init__(self) -> None:
        """Refuse a value outside its range, naming the field, its value and the range."""
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
    def completion_places(self) -> int:
        """Final records that the completion queue holds."""
        return 4 * self.queue_depth + 4


@dataclass(frozen=True)
class QueueLatency:
    """Latencies of the way through the kernel queue, in cycles: what the law of preemption adds up.

    The dispatcher's own latencies are those of ``warploom_spec.timing``. The queue's hardware does
    not exist yet: what is chosen here stands within the bounds that its page states.

    Attributes
    ----------
    flag : int
        A launch or a PREEMPT accepted, to the first cycle in which the flag of the queues below
        stands and their launches get their stop. The page states 1.
    choose : int
        A launch accepted by an idle machine, to the cycle in which it is chosen.
    present : int
        Chosen, to its index configuration at the filter.
    prepared : int
        The filter's decision accepted, to the first cycle in which a place may take the launch.
    """

    config: Config
    flag: int = field(default=1, init=False)
    choose: int = field(default=1, init=False)
    present: int = field(default=1, init=False)
    prepared: int = field(default=2, init=False)

    @property
    def kill(self) -> int:
        """Acceptance of the urgent launch to the first cycle of ``kill``; the page allows 4."""
        return self.flag + timing(self.config).stop

    @property
    def idle_launch(self) -> int:
        """Acceptance by an idle machine to the first offer, indices a hit; the page allows 14."""
        latencies = timing(self.config)
        way = self.choose + self.present + latencies.filter_lookup + self.prepared
        return way + latencies.first_offer

    @property
    def report_to_offer(self) -> int:
        """Last report that makes room to the offer that uses it; the page allows 6."""
        latencies = timing(self.config)
        return latencies.returns + latencies.offer

    @property
    def next_launch(self) -> int:
        """Last report of a launch to its place's next first offer; the page allows 12.

        The launch is gone ``returns`` - 1 cycles after the report, its place is free ``end`` cycles
        later, and then takes the next launch.
        """
        latencies = timing(self.config)
        return latencies.returns - 1 + latencies.end + latencies.first_offer

    @property
    def idle_place(self) -> int:
        """Acceptance to the first offer if a stopped launch's place is free as soon as can be.

        The launch has a block left and none out when its stop is seen. Its head stands for three
        cycles more, then it is gone, and its place takes the urgent launch ``end`` cycles later.
        """
        latencies = timing(self.config)
        return self.kill + 3 + latencies.end + latencies.first_offer


@dataclass(frozen=True, kw_only=True)
class SourceRules:
    """The source's rules, each off: with one of them on a test shows what goes wrong.

    Attributes
    ----------
    flag_check_block : bool
        Every block tests the flag when it starts, so that a started kernel loses its later blocks.
    all_submitted : bool
        A launch is killed only if every submitted launch of its queue is idempotent; else it waits.
    one_flag : bool
        One global flag, which the urgent kernel sees as well.
    only_not_executed : bool
        Only launches that were not executed are submitted again: a killed one was, in part.
    """

    flag_check_block: bool = False
    all_submitted: bool = False
    one_flag: bool = False
    only_not_executed: bool = False
