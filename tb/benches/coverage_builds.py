"""The builds whose branches and bits `make coverage` counts: of each block those of its tests."""

from typing import Final

from tb.dispatch import test_block_dispatcher
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
from tb.support import block_dispatcher_cases, dispatch_cases, kernel_queue_cases
from tb.support.dispatch_configs import LATE_NUMBER, soon
from warploom_dev.coverage.counted_builds import Build

#: Every policy, and both reclaims, with the few streams of the tests.
BLOCK_DISPATCHERS: Final = tuple(
    f"tiny,{mode},stream_bits=2" for mode in test_block_dispatcher.SMALL_MODES
)

BUILDS: Final[dict[str, tuple[Build, ...]]] = {
    "launch_check": (Build.of(dispatch_cases.make_check, "tiny"),),
    "config_filter": (Build.of(test_config_filter.make, "three_entries"),),
    "index_iterator": (Build.of(test_index_iterator.make, "tiny"),),
    "index_packer": (Build.of(test_index_packer.make_packer, "tiny"),),
    "index_unpacker": (Build.of(test_index_packer.make_unpacker, "tiny"),),
    "index_memory": (Build.of(test_index_memory.make, "tiny"),),
    "index_generator": (Build.of(test_index_generator.make, "narrow", memory=True),),
    "incremental_scheduler": (Build.of(test_incremental_scheduler.make, "three_entries"),),
    "grid_walker": (Build.of(dispatch_cases.make_walker, "tiny", first_number=LATE_NUMBER),),
    "block_dispatcher": tuple(
        Build.of(
            block_dispatcher_cases.make_resident,
            soon(config),
            first_number=LATE_NUMBER,
            late_stalls=True,
        )
        for config in BLOCK_DISPATCHERS
    ),
    "kernel_queue": (
        Build.of(
            kernel_queue_cases.make_queue, test_kernel_queue.LOOPS, **kernel_queue_cases.WRAPS
        ),
    ),
    "record_queue": (Build.of(test_record_queue.make, test_record_queue.LOOPS),),
    "launch_path": (
        Build.of(test_launch_path.make, test_launch_path.LOOPS, **test_launch_path.NEAR_THE_WRAPS),
    ),
    "bus_port": (Build.of(test_bus_port.make, "tiny"),),
    # Every row of the memories of these is a section's.
    "mailbox": tuple(Build.of(test_mailbox.make, config) for config in ("tiny", test_mailbox.EVEN)),
    "loop_expander": (Build.of(test_loop_expander.make, test_loop_expander.TINY),),
    "execution_unit": (Build.of(test_execution_unit.make, test_execution_unit.SHORT),),
    "task_units": (Build.of(test_task_units.make, test_task_units.SEVERAL),),
    "host_registers": (Build.of(test_host_registers.make, test_host_registers.ODD),),
    "index_read_arbiter": (Build.of(test_index_read_arbiter.make, test_index_read_arbiter.THREE),),
    "resource_ranges": (Build.of(test_resource_ranges.make, test_resource_ranges.EIGHT),),
    "offer_queue": (Build.of(test_offer_queue.make, "tiny"),),
    "block_to_warps": (Build.of(test_block_to_warps.make, "tiny"),),
    "block_at_a_time": (Build.of(test_block_at_a_time.make, "tiny"),),
    "front_end": (Build.of(test_front_end.make, test_front_end.TINY),),
}
