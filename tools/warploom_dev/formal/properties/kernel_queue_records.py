"""KernelQueue without launches: no record of a PREEMPT is made for which there is no place."""

from dataclasses import replace
from typing import Final

from warploom_dev.formal.formal_bench import FormalBench
from warploom_dev.formal.properties import kernel_queue
from warploom_dev.formal.queue_view import QueueView
from warploom_spec import ErrorCode

CONFIG: Final = replace(kernel_queue.CONFIG, queue_depth=1)
SIZE: Final = "2 streams, 2 priorities, no launches, 8 records"
#: Cycles that are searched: PREEMPTs fill all records, and one more is refused.
BOUND: Final = 26


def bench(fault: str | None = None) -> FormalBench:
    """Return the bench; its seeded bugs stand in `queue_view.BUGS`."""
    b = FormalBench("kernel_queue_records", CONFIG, SIZE, fault)
    view = QueueView(b, launches=False)
    full = view.outstanding == CONFIG.records
    answer = view.dut.command_answer
    refused = answer.valid & (answer.code == int(ErrorCode.COMPLETION_FULL))
    b.check(
        "place",
        "a record is made only if fewer than 4 `queue_depth` + 4 are made and not taken",
        ~(view.dut.record.valid & full),
        fault="early_taken",
        cover=("a PREEMPT is refused, because all are reserved", refused & full),
        bound=BOUND,
    )
    return b.close()
