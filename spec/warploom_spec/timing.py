"""Exact latencies and depths of every block, in cycles, shared by RTL and models."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from warploom_spec.config import Config
from warploom_spec.host_map import template_numbers
from warploom_spec.resident_limits import in_groups


def _of(meaning: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare a field; its meaning begins with the block's name."""
    return dataclasses.field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Latencies and depths of one configuration; the page of each block uses them.

    The metadata of a field hold its ``meaning``; a property's is its docstring.
    """

    bus_requests: int = _of("BusPort: entries of the queues of AW, W and AR each.")
    bus_responses: int = _of("BusPort: responses of B that are taken, at most.")
    bus_reads: int = _of("BusPort: answers of R that are taken, at most.")
    bus_commit: int = _of("BusPort: ``write`` to the write's commit.")
    bus_sample: int = _of("BusPort: ``read`` to the read's sampling.")
    bus_answer: int = _of("BusPort: a read's sampling to ``answer``.")
    soft_reset_units: int = _of(
        "HostRegisters: commit of a soft reset to the cycle in which all units are reset. The "
        "mailbox is closed from then on.",
    )
    soft_reset_settled: int = _of(
        "HostRegisters: commit of a soft reset to the first cycle in which ``idle`` counts.",
    )
    soft_reset_limit: int = _of(
        "HostRegisters: commit of a soft reset to the cycle from which on it is forced, with "
        "``sm_kill``: more than a sound core ever needs.",
    )
    launch_check: int = _of("LaunchCheck: transfer at ``i`` to valid at ``o``.")
    done_depth: int = _of("ConfigFilter: answers outstanding, at most.")
    filter_lookup: int = _of("ConfigFilter: transfer to the earliest acceptance.")
    needs_release: int = _of("ConfigFilter: transfer to ``needs_release``.")
    release_seen: int = _of(
        "ConfigFilter: a release to the first cycle in which it no longer holds a configuration: "
        "``needs_release`` is 0, and the configuration may be accepted.",
    )
    cancel_decision: int = _of(
        "ConfigFilter: ``cancel`` to the last cycle in which the decision of what it took back "
        "may become valid.",
    )
    iterator_setup: int = _of(
        "IndexIterator: cycles a configuration spends in the setup unit, at least.",
    )
    iterator_pipe: int = _of(
        "IndexIterator: a warp's first cycle in the generation unit to valid at ``o``.",
    )
    packer: int = _of("IndexPacker: ``i`` to ``o``.")
    index_read: int = _of("IndexMemory: request to data, if the row is written.")
    index_wake: int = _of("IndexMemory: write of a row to the data of a read that waits for it.")
    boot: int = _of(
        "BlockToWarps: cycles after a reset in which it takes no block.",
    )
    kill_gap: int = _of(
        "The SM's port: first cycle with a stream's ``kill`` = 0 to the first offer of its next "
        "launch, at least.",
    )
    queue_answer: int = _of(
        "KernelQueue: transfer at ``checked`` to ``answer``; this and the next: idle, no pairs."
    )
    queue_stop: int = _of(
        "KernelQueue: transfer at ``checked`` to ``hold`` and ``stop`` of lower ones."
    )
    queue_request: int = _of("KernelQueue: transfer at ``checked`` to ``request``.")
    queue_start: int = _of(
        "KernelQueue: transfer at ``checked`` to ``start`` where nothing makes indices."
    )
    queue_preempt: int = _of("KernelQueue: PREEMPT to ``hold`` and ``stop``.")
    queue_record: int = _of("KernelQueue: transfer at ``ended`` to the record's first word.")
    queue_wait: int = _of(
        "KernelQueue: a record's first word to ``request`` of the launch that waits for it."
    )
    record_known: int = _of(
        "A replay's launch source: a record's last word to the first cycle in which it knows it."
    )
    resident_kill: int = _of("BlockDispatcher: ``stop`` to ``kill``.")
    resident_boot: int = _of(
        "BlockDispatcher: the first cycle after a reset in which it takes a launch."
    )
    resident_first_offer: int = _of("BlockDispatcher: a start to its first offer, idle.")
    resident_offer: int = _of("BlockDispatcher: a pick to its offer.")
    resident_fetch: int = _of("BlockDispatcher: ``fetch`` to the offer of the same block.")
    resident_again: int = _of("BlockDispatcher: a pick to the next one of the same SM.")
    resident_returns: int = _of("BlockDispatcher: a report to the first pick that sees it.")
    resident_end: int = _of("BlockDispatcher: a launch's last report to ``ended``.")
    resident_stall: int = _of("BlockDispatcher: stalled cycle to the counter that shows it.")
    resident_error: int = _of("BlockDispatcher: a report at the port to its error record.")
    ranges: int = _of("ResourceRanges: ``offer`` to ``o`` for a block of one cell.")
    ranges_cell: int = _of("ResourceRanges: cycles more for each further cell of a block.")
    ranges_freed: int = _of("ResourceRanges: a report to the first search that sees its cells.")
    warp_first: int = _of("BlockToWarps: ``offer`` to the block's first warp.")
    warps_end: int = _of("BlockToWarps: a block's last end to its report.")
    offer_queue: int = _of("OfferQueue: ``offer`` to ``first``, if no block waits.")
    block_start: int = _of("BlockAtATime: ``offer`` to ``start``.")
    block_end: int = _of("BlockAtATime: ``done`` or a kill to the report.")
    loop_handed: int = _of(
        "Mailbox: a LOOP's judgement to ``begin``; an answer of a loop's launch to ``answers``."
    )
    loop_decide: int = _of("LoopExpander: choice of a loop to the cycle in which its look decides.")
    loop_pipe: int = _of("LoopExpander: a word enters the pipe to ``step``, if no step stands.")
    loop_sweep: int = _of("LoopExpander: cycles after a reset in which no loop is looked at.")
    loop_words: int = _of("LoopExpander: cycles of a launch's words, T11 included.")
    stall_counter_bits: int = _of("Widths of those counters.", default=32)
    error_counter_bits: int = _of("Widths of those counters.", default=16)

    def loop_launch_interval(self, words: int, answer: int) -> int:
        """One loop alone: launch to launch, with words written and cycles to the answer."""
        return words + answer + self.loop_decide + self.loop_pipe + self.loop_handed + 4

    @property
    def loop_launch_interval_of_any(self) -> int:
        """LoopExpander: launch to launch, several loops, whatever LaunchPath takes."""
        return self.loop_words + self.loop_decide + 2

    def loop_doorbell_to_launch(self, templates: int) -> int:
        """LOOP's doorbell commits to its first launch at ``launch``, nothing else under way."""
        looks = 2 * self.loop_decide + templates
        return 1 + self.loop_handed + looks + self.loop_words + self.loop_pipe + 4

    def loop_end_to_doorbell(self, templates: int) -> int:
        """Last ``loop_end`` to the first cycle with doorbell 0, at most; 2 less at least."""
        return templates + 2 * self.loop_decide + self.loop_pipe + 4

    @property
    def index_miss(self) -> int:
        """IndexGenerator: configuration accepted to first packed warp written."""
        return self.iterator_setup + 1 + self.iterator_pipe + self.packer


def _resident_stages(config: Config) -> dict[str, int]:
    """Return latencies that groups of SMs change; with `round_robin` a candidate waits a cycle."""
    if not in_groups(config):
        return {
            "resident_first_offer": 9,
            "resident_offer": 3,
            "resident_again": 5,
            "resident_returns": 7,
            "resident_end": 6,
            "resident_error": 5,
        }
    candidate = int(config.policy == "round_robin")
    return {
        "resident_first_offer": 12 + candidate,
        "resident_offer": 5,
        "resident_again": 9 + candidate,
        "resident_returns": 11 + candidate,
        "resident_end": 7,
        "resident_error": 6,
    }


def timing(config: Config) -> Timing:
    """Return the latencies and depths of a configuration."""
    return Timing(
        bus_requests=4,
        bus_responses=5,
        bus_reads=6,
        bus_commit=1,
        bus_sample=1,
        bus_answer=2,
        soft_reset_units=4,
        soft_reset_settled=5,
        # The boot, a return of each slot, and two sweeps at a quarter of the cycles; a silent SM is
        # lost; each entry ends; each accepted warp is written, and all reads of it are answered.
        soft_reset_limit=(
            config.kill_timeout
            + 10 * config.sms * config.block_slots
            + 8 * (config.queue_depth << config.priority_bits)
            + 2 * config.index_memory_warps
            + 256
        ),
        launch_check=5,
        done_depth=4,
        filter_lookup=3,
        needs_release=3,
        release_seen=2,
        cancel_decision=1,
        iterator_setup=4,
        iterator_pipe=6,
        packer=1,
        index_read=3,
        index_wake=4,
        boot=config.block_slots,
        kill_gap=16,
        queue_answer=4,
        queue_stop=6,
        queue_request=7,
        queue_start=8,
        queue_preempt=2,
        queue_record=5,
        # A LOOK reads a pair a cycle.
        queue_wait=8 + config.launch_waits,
        record_known=4,
        resident_kill=1,
        # A row of memory a cycle; the pipes are empty nine cycles later.
        resident_boot=max(config.sms * config.block_slots, 1 << config.stream_bits) + 9,
        resident_fetch=2,
        resident_stall=2,
        **_resident_stages(config),
        loop_handed=1,
        loop_decide=2,
        loop_pipe=3,
        # Four slots a cycle.
        loop_sweep=config.loop_templates // 4,
        loop_words=len(template_numbers(config)),
        ranges=5,
        ranges_cell=2,
        ranges_freed=2,
        warp_first=1,
        warps_end=2,
        offer_queue=2,
        block_start=3,
        block_end=1,
    )
