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
        LaunchPath: places for final records.
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
    stage : int
        BlockDispatcher: transfer of a launch to the first cycle in which GridWalker can take it.
    fit_table : int
        BlockDispatcher: transfer of a launch to the first decision that may put one of its blocks
        on an SM that holds blocks of the other resident launch.
    offer : int
        BlockDispatcher: decision to offer.
    returns : int
        BlockDispatcher: completion, acknowledgement or retirement to the first decision that sees
        it.
    stop : int
        BlockDispatcher: a stop at the port to the first cycle in which its launch is stopped.
    end : int
        BlockDispatcher: first cycle in which a launch is gone to its record.
    stall : int
        BlockDispatcher: stalled cycle to the counter that shows it.
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
    stage: int
    fit_table: int
    offer: int
    returns: int
    stop: int
    end: int
    stall: int
    stall_counter_bits: int = 32
    error_counter_bits: int = 16

    @property
    def launches_ahead(self) -> int:
        """LaunchPath: launches accepted and not started, at most (the queue and two places)."""
        return self.launch_queue + 2

    @property
    def index_miss(self) -> int:
        """IndexGenerator: configuration accepted to first packed warp written."""
        return self.iterator_setup + 1 + self.iterator_pipe + self.packer


def timing(config: Config) -> Timing:
    """Return the latencies and depths of a configuration."""
    small = config.sms <= 2
    return Timing(
        launch_check=5,
        launch_queue=2 if small else 4,
        end_records=8 if small else 16,
        done_depth=4,
        filter_lookup=3,
        iterator_setup=4,
        iterator_pipe=6,
        packer=1,
        index_read=1,
        stage=2,
        # Three passes over the counts of blocks that an SM can hold.
        fit_table=3 * config.block_slots + 8,
        offer=1,
        returns=3,
        stop=2,
        end=2,
        stall=2,
    )
