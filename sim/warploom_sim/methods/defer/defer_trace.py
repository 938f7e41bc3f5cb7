"""Deferred submission of a recorded trace: what its repeated launches would save, at most."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from warploom_golden.deferral.calls import Answer, Call, Constant, Group
from warploom_golden.deferral.folding import Run, fold
from warploom_golden.deferral.link import Link
from warploom_golden.deferral.mailbox_cost import mailbox_cost
from warploom_golden.deferral.message import encode
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import Gpu
from warploom_sim.traces.kernel_launch import KernelLaunch

#: Templates of a loop that are tried, and the row of launches one by one.
TEMPLATES: Final = (4, 16, 32, 64)


def trace_figures(path: Path, link: Link | None = None, gpu: Gpu | None = None) -> dict[str, Any]:
    """Return what deferral would cost and save for each number of templates.

    Parameters
    ----------
    path : Path
        A trace.
    link : Link or None
        Cost of messages; None: the default.
    gpu : Gpu or None
        The recorded GPU of a trace that does not describe it.

    Returns
    -------
    dict
        ``launches`` and ``templates``: a list of rows, the first with 0 templates (one by one).
    """
    trace = trace_reader.load(path, gpu=gpu.device if gpu else None)
    for said in trace.reading_notes():
        click.echo(said, err=True)
    launches = trace.launches
    keys = [_key(launch) for launch in launches]
    rows = []
    for templates in (0, *TEMPLATES):
        runs = fold(keys, templates) if templates else [Run(n, 1, 1) for n in range(len(keys))]
        rows.append({"templates": templates, **_row(launches, keys, runs, link or Link())})
    head = {"trace": path.name, **trace.times.counts(), "launches": len(launches)}
    return {**head, "upper_bound": True, "rows": rows}


def _key(launch: KernelLaunch) -> tuple[Any, ...]:
    """Return what makes two recorded launches equal: all but time and arguments."""
    return (
        launch.name,
        launch.grid,
        launch.block,
        launch.registers,
        launch.shared_bytes,
        launch.stream,
        launch.device,
    )


def _row(
    launches: Sequence[KernelLaunch],
    keys: Sequence[tuple[Any, ...]],
    runs: list[Run],
    link: Link,
) -> dict[str, Any]:
    numbers: dict[tuple[Any, ...], int] = {}
    named = [numbers.setdefault(key, len(numbers)) for key in keys]
    bodies = [tuple(named[run.first : run.first + run.body]) for run in runs]
    sizes = [size for run in runs for size in _message_sizes(launches, run)]
    mailbox = mailbox_cost(runs, bodies)
    count = len(launches)
    return {
        "commands": len(runs),
        "loops": mailbox.loops,
        "in_loops": sum(run.body * run.count for run in runs if run.count > 1),
        "messages": len(sizes),
        "messages_per_launch": round(len(sizes) / count, 3),
        "bytes": sum(sizes),
        "bytes_per_launch": round(sum(sizes) / count, 1),
        "link_us": round(link.time_ns(sizes) / 1000, 1),
        "mailbox_templates": mailbox.templates,
        "mailbox_transactions": mailbox.transactions,
        "mailbox_transactions_per_launch": round(mailbox.transactions / count, 2),
        "mailbox_bytes": mailbox.bytes,
        "mailbox_bytes_per_launch": round(mailbox.bytes / count, 1),
    }


def _message_sizes(launches: Sequence[KernelLaunch], run: Run) -> tuple[int, int]:
    """Return the bytes of a run's message and of its answer."""
    body = launches[run.first : run.first + run.body]
    calls = tuple(Call(_short(one.name), _arguments(one)) for one in body)
    group = Group(1, 0, 1 if run.count > 1 else 0, 0, 1, run.count, calls)
    answer = Answer(1, 0, 0, 0, 0, (0,) * len(calls))
    return len(encode(group)), len(encode(answer))


def _arguments(launch: KernelLaunch) -> tuple[Constant, ...]:
    """Return a launch's arguments as far as a trace has them: dimensions, shared memory, stream."""
    words = (*launch.grid, *launch.block, launch.shared_bytes, launch.stream)
    return tuple(Constant(word, 4) for word in words)


def _short(name: str) -> str:
    """Return a kernel's name within the message's limit."""
    return name.encode()[:1024].decode(errors="ignore")
