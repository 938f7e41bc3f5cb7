"""Runs spread over processes: a cluster on this machine, or a scheduler that has workers."""

import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Final

from warploom_sim.failure import ProgramError
from warploom_sim.screen import be_quiet
from warploom_sim.sweep.execute import Finished, execute
from warploom_sim.sweep.plan import Run
from warploom_spec import WarploomError
from warploom_spec.extras import need

#: The most seconds until a scheduler must answer, and have a worker.
ANSWER_S: Final = 10
_PURPOSE: Final = "comparing runs"


@contextmanager
def connect(scheduler: str | None, workers: int | None, runs: int) -> Iterator[Any]:
    """Yield a Dask client: of a scheduler, or of a new cluster on this machine.

    Parameters
    ----------
    scheduler : str or None
        Address of a scheduler; None starts a cluster on this machine, and ends it.
    workers : int or None
        Number of processes of a new cluster; None: one for each CPU, but not more than runs.
    runs : int
        Number of runs that will be made.

    Raises
    ------
    WarploomError
        If the scheduler does not answer in `ANSWER_S` seconds, or has no worker by then.
    """
    distributed = need("distributed", "compare", _PURPOSE)
    _be_quiet()
    if scheduler is None:
        count = workers or min(runs, len(os.sched_getaffinity(0)))
        with _local_cluster(distributed, count) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    with _client(distributed, scheduler) as client:
        yield client


def _local_cluster(distributed: Any, workers: int) -> Any:
    """Return a cluster of this machine whose processes leave Ctrl-C to this one."""
    # The first process that multiprocessing starts is its tracker, which clears the mask.
    resource_tracker.ensure_running()
    # What starts the workers, now and later, is a thread that is made here: it has this mask.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _be_quiet() -> None:
    """Turn Dask's log off: an error is told to the user in one line at the end."""
    for name in ("asyncio", *logging.Logger.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _client(distributed: Any, scheduler: str) -> Any:
    """Return a client of a scheduler that answers and has a worker."""
    try:
        client = distributed.Client(scheduler, timeout=ANSWER_S)
    except (OSError, ValueError, TypeError) as error:  # TimeoutError is an OSError
        raise WarploomError(
            f"scheduler is {scheduler!r}, which does not answer within {ANSWER_S} s;"
            " legal: the address of a scheduler that runs, such as tcp://127.0.0.1:8786"
        ) from error
    try:
        client.wait_for_workers(1, timeout=ANSWER_S)
    except TimeoutError as error:
        client.close()
        raise WarploomError(
            f"scheduler is {scheduler!r}, which has no worker within {ANSWER_S} s;"
            f" run: dask worker {scheduler}"
        ) from error
    return client


def finished_runs(client: Any, runs: Sequence[Run], sources: str) -> Iterator[tuple[Run, Finished]]:
    """Run all runs; yield each one when it is finished, in any order.

    A worker that dies in the middle of a run is left out: the run starts again on another one.

    Raises
    ------
    ProgramError
        If the scheduler goes away, a run kills one worker after the other, or a worker has other
        sources or versions than this machine.
    """
    distributed = need("distributed", "compare", _PURPOSE)
    traces = {run.content: run.trace for run in runs}
    contents = {
        content: client.submit(_keep, path.read_bytes(), key=f"trace-{content}")
        for content, path in traces.items()
    }
    futures = {
        client.submit(_on_worker, run, contents[run.content], pure=False): run for run in runs
    }
    for future in distributed.as_completed(futures):
        run = futures[future]
        try:
            finished: Finished = future.result()
        except distributed.KilledWorker as error:
            raise ProgramError(
                f"{_words(run)} killed every worker that took it: the memory may be too small"
            ) from error
        except distributed.CancelledError as error:
            raise ProgramError("the scheduler went away") from error
        if finished.sources != sources:
            raise ProgramError(
                "a worker has other sources of Warploom than this machine, or other versions of"
                " what runs them"
            )
        future.release()
        yield run, finished


def _keep(content: bytes) -> bytes:
    """Hold a trace on a worker; made again on another one if that worker dies."""
    return content


def _on_worker(run: Run, trace: bytes) -> Finished:
    """Run on a worker, which may have the client's screen: what goes on there the client says."""
    be_quiet()
    return execute(run, trace)


def _words(run: Run) -> str:
    identity = run.identity()
    return f"the run of {identity['trace']} with {run.request.config}, {run.config.policy}"
