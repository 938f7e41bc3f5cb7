"""The bench that mutants of each block must not pass: cases of its own lockstep test."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tb.dispatch import test_block_dispatcher, test_grid_walker
from tb.host import (
    test_bus_port,
    test_execution_unit,
    test_front_end,
    test_host_registers,
    test_loop_expander,
    test_mailbox,
    test_task_units,
)
from tb.index import (
    test_config_filter,
    test_index_generator,
    test_index_iterator,
    test_index_memory,
    test_index_packer,
)
from tb.launch import (
    test_kernel_queue,
    test_launch_check,
    test_launch_path,
    test_record_queue,
)
from tb.sm_side import (
    test_block_at_a_time,
    test_block_to_warps,
    test_incremental_scheduler,
    test_index_read_arbiter,
    test_offer_queue,
    test_resource_ranges,
)
from tb.support.dispatch_configs import soon
from warploom_sim.cosim.lockstep import Case

MutationBench = Callable[[int], list[Case]]

#: Grids and blocks of which each bit is 0 and 1 in a short run.
NARROW_PATH: Final = soon("tiny,stream_bits=2,max_threads=128,grid_bits=8,4,4")
RESIDENTS: Final = soon("tiny,stream_bits=2,policy=round_robin,reclaim=out_of_order")


def _repeated(case: Callable[..., Case], config: str, count: int, **params: int) -> MutationBench:
    """Return a bench of ``count`` seeds of one case."""
    return lambda seed: [case(config, seed=seed + k, **params) for k in range(count)]


def _then(first: MutationBench, *last: Callable[[str, int], Case], config: str) -> MutationBench:
    """Return a bench that runs more cases, one of each kind, after those of another."""
    return lambda seed: first(seed) + [case(config, seed) for case in last]


def _all(*benches: MutationBench) -> MutationBench:
    """Return a bench of the cases of several."""
    return lambda seed: [case for bench in benches for case in bench(seed)]


def _unobserved(bench: MutationBench) -> MutationBench:
    """Return a bench without its observers: they see no more than the model, and take time."""
    return lambda seed: [replace(case, events={}) for case in bench(seed)]


def _residents(seed: int) -> list[Case]:
    """Return the cases of BlockDispatcher in all moods."""
    return [
        case for k in range(3) for case in test_block_dispatcher.cases(RESIDENTS, seed + k, 6000)
    ]


def _queues(seed: int) -> list[Case]:
    """Return the cases of KernelQueue in all moods."""
    return [
        case
        for k in range(3)
        for case in test_kernel_queue.cases(test_kernel_queue.LOOPS, seed + k, 6000, wraps=True)
    ]


BENCHES: Final[dict[str, MutationBench]] = {
    # As small as `tiny`, but every limit can be met by itself.
    "launch_check": _repeated(
        test_launch_check.case, "tiny,max_threads=512,warp_slots=40,word_bits=9", 12
    ),
    "config_filter": _then(
        _repeated(test_config_filter.case, "three_entries", 20),
        test_config_filter.longest_case,
        test_config_filter.error_case,
        config="three_entries",
    ),
    "index_iterator": _then(
        _repeated(test_index_iterator.case, "tiny", 4),
        test_index_iterator.every_shape_case,
        config="tiny",
    ),
    "index_packer": _repeated(test_index_packer.packer_case, "tiny", 2),
    "index_unpacker": _repeated(test_index_packer.unpacker_case, "tiny", 2),
    "index_memory": _repeated(test_index_memory.case, "tiny", 8),
    "index_generator": _then(
        _repeated(test_index_generator.case, "three_entries", 6, memory=False),
        test_index_generator.every_shape_case,
        test_index_generator.other_counts_case,
        config="three_entries",
    ),
    "incremental_scheduler": _then(
        _repeated(test_incremental_scheduler.case, "three_entries", 3),
        test_incremental_scheduler.longest_case,
        config="three_entries",
    ),
    "grid_walker": _all(
        _repeated(test_grid_walker.case, "tiny", 3),
        _repeated(test_grid_walker.edge_case, "tiny", 3),
    ),
    "block_dispatcher": _unobserved(_residents),
    "kernel_queue": _unobserved(_queues),
    "record_queue": _repeated(test_record_queue.case, test_record_queue.LOOPS, 4),
    "launch_path": _unobserved(
        _repeated(
            functools.partial(test_launch_path.case, cycles=30_000, resets=12),
            NARROW_PATH,
            8,
            **test_launch_path.NEAR_THE_WRAPS,
        )
    ),
    "bus_port": _repeated(test_bus_port.case, "tiny", 4),
    # Of four sections every row of its queues' memories is used: proofs close.
    "mailbox": _repeated(test_mailbox.case, test_mailbox.EVEN, 8),
    "loop_expander": _then(
        _repeated(test_loop_expander.case, test_loop_expander.TINY, 12),
        test_loop_expander.long_case,
        config=test_loop_expander.TINY,
    ),
    "execution_unit": _repeated(test_execution_unit.case, test_execution_unit.SHORT, 4),
    "task_units": _repeated(test_task_units.case, test_task_units.SEVERAL, 3),
    "host_registers": _repeated(test_host_registers.case, test_host_registers.ODD, 4),
    "index_read_arbiter": _repeated(test_index_read_arbiter.case, test_index_read_arbiter.THREE, 4),
    "resource_ranges": _all(
        _repeated(test_resource_ranges.case, test_resource_ranges.EIGHT, 4),
        _repeated(test_resource_ranges.hurried_case, test_resource_ranges.EIGHT, 3),
    ),
    "offer_queue": _repeated(test_offer_queue.case, "tiny", 3),
    "block_to_warps": _repeated(test_block_to_warps.case, "tiny", 5),
    "block_at_a_time": _repeated(test_block_at_a_time.case, "tiny", 3),
    "front_end": _repeated(
        functools.partial(test_front_end.case, cycles=6000), test_front_end.TINY, 2
    ),
}
