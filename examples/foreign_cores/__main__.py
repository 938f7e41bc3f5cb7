"""``make foreign TINY_GPU=FOLDER``: add two vectors on tiny-gpu's cores behind FrontEnd."""

import sys
from pathlib import Path

from foreign_cores import THREADS, Outcome, add_vectors, bench_files, built_bench
from warploom_sim.failure import ProgramError
from warploom_spec import WarploomError

WORK = Path("build/foreign/tiny_gpu")
DIFFERS, REFUSED, FAILED = 1, 2, 3


def said(threads: int, outcome: Outcome) -> str:
    """Return the line of one run."""
    verdict = "equal to NumPy" if outcome.equal else f"differs at {outcome.differing}"
    return f"{threads:2} threads: {'; '.join(outcome.records)}; {verdict}"


def main(arguments: list[str]) -> int:
    """Run the cores of a checkout, and return the exit code."""
    (folder,) = arguments
    try:
        bench = built_bench(bench_files(Path(folder), WORK), WORK)
        outcomes = {threads: add_vectors(bench, threads, WORK) for threads in THREADS}
        # The launch is aborted while blocks run, and launched again.
        killed = add_vectors(bench, max(THREADS), WORK, abort_after=40)
    except WarploomError as error:
        print(f"foreign: {error}", file=sys.stderr)
        return REFUSED
    except (ProgramError, OSError) as error:
        print(f"foreign: {error}", file=sys.stderr)
        return FAILED
    for threads, outcome in [*outcomes.items(), (max(THREADS), killed)]:
        print(said(threads, outcome))
    if not all(outcome.equal for outcome in (*outcomes.values(), killed)):
        print("add differs")
        return DIFFERS
    print("add ok")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
