"""Compile the models' inner loops once, before several processes need them at the same time.

Each process that finds nothing kept compiles for itself, half a minute a loop. ``make test`` runs
this beside the type checker: ``python -m tb.merging.compile_models``.
"""

from tb.merging.graphs import task
from warploom_golden.merging.merge_planner import MergePlanner
from warploom_golden.merging.merged_replay import run_merged
from warploom_golden.replay import event_model
from warploom_spec import LaunchDescriptor, preset


def compile_models() -> None:
    """Run the smallest work through each of the two loops; what they return is not looked at."""
    machine = preset("tiny")
    block = LaunchDescriptor(grid=(1, 1, 1), block=(8, 1, 1), arguments=4, address_space=1)
    event_model.run([block], machine, 0)
    run_merged(
        [MergePlanner(machine).plan([task(2, length=4), task(2, (0,), length=4)])], machine, 0
    )


if __name__ == "__main__":
    compile_models()
