"""Deferred submission of a recorded trace: what its repeated launches would save, at most."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from warploom_golden.deferral.calls import Answer, Call, Constant, Group
from warploom_golden.deferral.folding import Run, fold
from warploom_golden.deferral.link import Link
from warploom_golden.deferral.message import encode
from warploom_golden.deferral.trace_loops import TraceLaunch, fold_trace, one_by_one
from warploom_sim.methods.defer.folded_launches import trace_launches
from warploom_sim.traces import trace_reader
from warploom_sim.traces.gpus import Gpu
from warploom_sim.traces.kernel_launch import KernelLaunch
from warploom_sim.traces.trace_reader import Trace
from warploom_spec import WarploomError, preset

#: Templates of a loop that are tried, and the row of launches one by one.
TEMPLATES: Final = (4, 16, 32, 64)
#: The core at whose mailbox accesses are counted.
CORE: Final = replace(preset("default"), loop_templates=max(TEMPLATES))
_WORD_BYTES: Final = 4


def read_trace(path: Path, gpu: Gpu | None = None) -> Trace:
    """Return a trace, and say what was noted while it was read.

    Parameters
    ----------
    path : Path
        The trace's file.
    gpu : Gpu or None
        The recorded GPU of a trace that does not describe it.
    """
    trace = trace_reader.load(path, gpu=gpu.device if gpu else None)
    for said in trace.reading_notes():
        click.echo(said, err=True)
    return trace


def trace_figures(trace: Trace, link: Link | None = None) -> dict[str, Any]:
    """Return what deferral would cost and save for each number of templates.

    Parameters
    ----------
    trace : Trace
        A trace.
    link : Link or None
        Cost of messages; None: the default.

    Returns
    -------
    dict
        ``launches`` and ``rows``: the first with 0 templates (one by one). Figures of the mailbox
        are counted; no core is simulated.
    """
    launches = trace.launches
    keys = [_key(launch) for launch in launches]
    at_core = _at_core(trace)
    rows = []
    for templates in (0, *TEMPLATES):
        runs = fold(keys, templates) if templates else [Run(n, 1, 1) for n in range(len(keys))]
        row = _row(launches, runs, link or Link())
        rows.append({"templates": templates, **row, **_mailbox_row(at_core, templates)})
    head = {"trace": trace.path.name, **trace.times.counts(), "launches": len(launches)}
    return {**head, "upper_bound": True, "mailbox": "counted", "rows": rows}


def _at_core(trace: Trace) -> list[TraceLaunch]:
    """Return the launches as the core gets them; none, with a note, if it does not take them."""
    try:
        return trace_launches(trace, CORE)
    except WarploomError as error:
        click.echo(f"no figures of the mailbox: {error}", err=True)
        return []


def _mailbox_row(launches: Sequence[TraceLaunch], templates: int) -> dict[str, Any]:
    """Return the accesses of a driver that keeps words; all None without launches."""
    names = ("loops", "templates", "transactions", "transactions_one_by_one")
    values: tuple[int | float | None, ...] = (None,) * len(names)
    if launches:
        folded = fold_trace(launches, templates, CORE)
        single = one_by_one(folded, CORE)
        values = (folded.loops, folded.templates, folded.transactions, single)
    row: dict[str, Any] = {f"mailbox_{n}": v for n, v in zip(names, values, strict=True)}
    total, each, bytes_ = row["mailbox_transactions"], None, None
    if total is not None:
        each, bytes_ = round(total / len(launches), 2), _WORD_BYTES * total
    return row | {"mailbox_transactions_per_launch": each, "mailbox_bytes": bytes_}


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


def _row(launches: Sequence[KernelLaunch], runs: list[Run], link: Link) -> dict[str, Any]:
    sizes = [size for run in runs for size in _message_sizes(launches, run)]
    count = len(launches)
    loops = [run for run in runs if run.count > 1]
    return {
        "commands": len(runs),
        "loops": len(loops),
        "in_loops": sum(run.body * run.count for run in loops),
        "messages": len(sizes),
        "messages_per_launch": round(len(sizes) / count, 3),
        "bytes": sum(sizes),
        "bytes_per_launch": round(sum(sizes) / count, 1),
        "link_us": round(link.time_ns(sizes) / 1000, 1),
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
