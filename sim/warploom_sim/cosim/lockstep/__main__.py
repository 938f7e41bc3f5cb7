"""Run cases given as JSON: what a failure's report says to type."""

from __future__ import annotations

import argparse
import json
import sys

from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.runner import SIMULATORS, LockstepError, run


def main() -> int:
    """Run the cases and return the exit status: 1 for a difference."""
    parser = argparse.ArgumentParser(
        prog="python -m warploom_sim.cosim.lockstep", description=__doc__
    )
    parser.add_argument("simulator", choices=SIMULATORS)
    parser.add_argument("cases", help="a JSON list of cases")
    arguments = parser.parse_args()
    try:
        results = run(
            [Case.from_json(case) for case in json.loads(arguments.cases)], arguments.simulator
        )
    except LockstepError as error:
        print(error.ending, file=sys.stderr)  # the mismatch itself was printed when it was found
        return 1
    for result in results:
        print(
            f"seed {result.case.seed}: {result.cycles} cycles, {result.compared} values equal,"
            f" {result.cycles_per_s:.0f} cycles/s, {result.counts}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
