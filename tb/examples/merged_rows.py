"""Rows of ``make run-kernels`` for the merged kernel: legal tables, on each number of SMs."""

import random
from typing import Any

from simt_host.merged_case import merged_case
from simt_host.merged_run import run_merged_kernels
from tb.examples.merged_tables import usual_table
from tb.support.dispatch_configs import POLICIES_AND_RECLAIMS, config_of
from warploom_golden.merging import MappingTable
from warploom_golden.merging.merge_planner import ORDERS
from warploom_golden.merging.tags_and_marks import permuted
from warploom_spec import Config

#: How many SMs get blocks, in each configuration that is run when no other is asked for.
USUAL = {"tiny": (1, 2), "default,sms=1": (1,)}
#: Four SMs, every policy, both reclaim orders.
ALL = {
    **USUAL,
    "default,sms=4": (1, 2, 4),
    **{f"tiny,sms=4,{text}": (1, 2, 4) for text in POLICIES_AND_RECLAIMS},
}
SEED = 1


def tables(config: Config) -> dict[str, MappingTable]:
    """Return a legal table in each order of the planner, and one with permuted tasks."""
    made = {order: usual_table(config, order) for order in ORDERS}
    made["permuted"] = permuted(made["interleaved"], [0, 1, 2], random.Random(SEED))
    return made


def merged_rows(config: str, simulator: str) -> list[dict[str, Any]]:
    """Run every table on each number of SMs; return a row for each.

    A configuration that `ALL` does not name has no rows.
    """
    machine = config_of(config)
    made: list[dict[str, Any]] = []
    runs = [
        (name, table, sms) for name, table in tables(machine).items() for sms in ALL.get(config, ())
    ]
    if not runs:
        return []
    # Launches that follow each other find the tags of those before, and have epochs of their own.
    cases = [merged_case(table, SEED + n, epochs=(n + 1,)) for n, (_, table, _) in enumerate(runs)]
    outcomes = run_merged_kernels(
        cases, machine, simulator, [{"sms": sms} for _, _, sms in runs], whole=True, waits=()
    )
    for (name, _, sms), case, outcome in zip(runs, cases, outcomes, strict=True):
        made.append(
            {
                "config": config,
                "kernel": "merged",
                "block": [case.threads, 1, 1],
                "table": name,
                "sms": sms,
                "launches": 1,
                "equal": outcome.equal,
                "order": outcome.ordered,
                "cycles": sum(outcome.cycles),
            }
        )
    return made
