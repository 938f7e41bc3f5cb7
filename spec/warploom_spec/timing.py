"""Exact latencies and depths of every block, in cycles, shared by RTL and models."""

from dataclasses import dataclass

from warploom_spec.config import Config


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Latencies and depths of one configuration. What each means stands on its block's page.

    Attributes
    ----------
    launch_check : int
        LaunchCheck: transfer at ``i`` to valid at ``o``.
    launch_queue : int
        LaunchPath: launches accepted and not yet handed to the dispatcher, at most.
    end_records : int
        LaunchPath: entries for final records.
    done_depth : int
        ConfigFilter: answers outstanding, at most.
    filter_lookup : int
        ConfigFilter: transfer to the earliest acceptance.
    iterator_setup : int
        IndexIterator: cycles a configuration spends in the setup unit, at least.
    iterator_pipe : int
        IndexIterator: a warp's first cycle in the generation unit to valid at ``o``.
    packer : int
        IndexPacker: ``i`` to ``o``.
    index_read : int
        IndexMemory: request to data.
    boot : int
        BlockDispatcher: cycles after a reset in which it takes no launch and no report.
    stage : int
        BlockDispatcher: transfer of a launch to the first cycle in which GridWalker can take it.
    fit_table : int
        BlockDispatcher: from a launch's transfer, beside 2 A + B, to the first decision that may
        put one of its blocks on an SM that holds blocks of the other place. A and B are the most
        blocks of the launch and of the other place's that fit on an empty SM.
    offer : int
        BlockDispatcher: decision to offer.
    again : int
        BlockDispatcher: decision to the next one for the same SM, if it takes its offer at once.
    change : int
        BlockDispatcher: cycles without a decision between two launches.
    returns : int
        BlockDispatcher: report or retirement to the first decision that sees it.
    stop : int
        BlockDispatcher: a stop at the port to the first cycle in which its launch is stopped, and
        ``kill`` is 1.
    fault : int
        BlockDispatcher: a fault at the port to the first cycle in which ``kill`` is 1.
    loss : int
        BlockDispatcher: ``kill_timeout`` cycles after ``kill`` rose to the first cycle in which a
        silent SM is lost.
    loss_kill : int
        BlockDispatcher: the first cycle in which an SM is lost to the first cycle in which the
        launches with blocks on it are killed.
    end : int
        BlockDispatcher: first cycle in which a launch is gone to its record.
    kill_gap : int
        BlockDispatcher: first cycle with ``kill`` = 0 to the first offer of the place's next
        launch, at least.
    stall : int
        BlockDispatcher: stalled cycle to the counter that shows it.
    error : int
        BlockDispatcher: cause at the port to the error record.
    stall_counter_bits, error_counter_bits : int
        Widths of those counters.
    """

    launch_check: int
    launch_queue: int
    end_records: int
    done_depth: int
    filter_lookup: int
    iterator_setup: int
    iterator_pipe: int
    packer: int
    index_read: int
    boot: int
    stage: int
    fit_table: int
    offer: int
    again: int
    change: int
    returns: int
    stop: int
    fault: int
    loss: int
    loss_kill: int
    end: int
    kill_gap: int
    stall: int
    error: int
    stall_counter_bits: int = 32
    error_counter_bits: int = 16

    @property
    def launches_ahead(self) -> int:
        """LaunchPath: launches accepted and not started, at most (the queue and two places)."""
        return self.launch_queue + 2

    @property
    def first_offer(self) -> int:
        """BlockDispatcher: transfer of a launch to its first offer, at least."""
        return self.stage + 1 + self.offer

    @property
    def index_miss(self) -> int:
        """IndexGenerator: configuration accepted to first packed warp written."""
        return self.iterator_setup + 1 + self.iterator_pipe + self.packer


def timing(config: Config) -> Timing:
    """Return the latencies and depths of a configuration."""
    return Timing(
        launch_check=5,
        launch_queue=8,
        end_records=16,
        done_depth=4,
        filter_lookup=3,
        iterator_setup=4,
        iterator_pipe=6,
        packer=1,
        index_read=1,
        boot=config.block_slots,
        stage=3,
        fit_table=8,
        offer=2,
        again=2,
        change=1,
        returns=4,
        stop=2,
        fault=4,
        loss=4,
        loss_kill=3,
        end=3,
        kill_gap=4,
        stall=3,
        error=4,
    )
