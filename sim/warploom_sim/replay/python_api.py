"""Replays from Python: one function, on the golden event model or on the RTL."""

import dataclasses
import inspect
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warploom_sim.cosim import simulators
from warploom_sim.failure import MismatchError
from warploom_sim.replay.request import RECORDED, ReplayRequest, requested
from warploom_sim.replay.request_fields import Option, Surface, options
from warploom_sim.variant import settings_of, shown
from warploom_spec import Config, WarploomError, preset

if TYPE_CHECKING:
    from warploom_golden.replay.gains import Gain
    from warploom_sim.replay.replay_result import Replay


def replay(trace: str | Path, config: str | Config | None = None, **given: Any) -> "Replay":
    """Replay a recorded trace and return its launches and blocks as NumPy arrays.

    The golden event model runs alone, in this process, unless ``rtl`` is set.

    Parameters
    ----------
    trace : str or Path
        What the PyTorch profiler wrote (Chrome trace JSON, plain or gzip).
    config : str, Config or None
        A preset's name (``tiny``, ``default``, ``large``), ``recorded`` for the GPU of the trace,
        or a configuration. None: ``recorded``, with ``rtl`` ``default``.
    **given
        Options of `warploom_sim.replay.request.ReplayRequest`, listed below, and fields of `Config`
        that replace those of ``config``: ``sms=4``.

    Raises
    ------
    WarploomError
        If a parameter or the trace is refused, before anything runs.
    MismatchError
        If RTL and model differ.
    ProgramError
        If the simulator or the model's process fails.

    Examples
    --------
    >>> from warploom_sim import replay
    >>> run = replay("traces/stencil3d_shapes.json.gz", policy="least_loaded", launches=2)
    >>> len(run.launches), len(run.blocks)
    (2, 4394)
    """
    return run(request_of(Path(trace), config, given))


def gains(trace: str | Path, config: str | Config | None = None, **given: Any) -> "list[Gain]":
    """Return what a recorded trace would gain without each bound of the hardware.

    The golden event model runs again with one bound relaxed after the other, at the recorded block
    lengths: first without contention, then with it. What was found before is kept in ``build``.

    Parameters
    ----------
    trace, config, **given
        As for `replay`; ``time_scale`` and ``contention`` do not count.

    Raises
    ------
    WarploomError
        If a parameter or the trace is refused, before anything runs.

    Examples
    --------
    >>> from warploom_sim import gains
    >>> found = gains("traces/stencil3d_shapes.json.gz", launches=2)
    >>> best = max(found, key=lambda gain: gain.fewer_cycles_percent)
    >>> print(f"{best.name}: {best.fewer_cycles_percent:.1f} % fewer cycles")
    sms: 45.8 % fewer cycles
    """
    from warploom_sim.replay.replay_gains import gains_of
    from warploom_sim.replay.replay_job import prepare, recorded_lengths

    return gains_of(prepare(recorded_lengths(request_of(Path(trace), config, given))))


def request_of(trace: Path, config: str | Config | None, given: Mapping[str, Any]) -> ReplayRequest:
    """Return the request of a call.

    Raises
    ------
    WarploomError
        If a parameter is refused.
    """
    known = options(ReplayRequest)
    fields = {name: value for name, value in given.items() if name not in known}
    if config is None:
        rtl = bool(given.get("rtl"))
        config = str(known["config"].default_of(Surface.PYTHON, rtl=rtl))
    name = known["config"].checked("config", config) if isinstance(config, str) else "default"
    # Of the recorded GPU only the names of its fields are known before the trace is read.
    base = config if isinstance(config, Config) else preset("default" if name == RECORDED else name)
    for field in fields:
        if field not in vars(base):
            raise WarploomError(f"field is {field!r}; legal: {', '.join(vars(base))}")
    if name == RECORDED:
        own = tuple(f"{field}={shown(value, ',')}" for field, value in fields.items())
    else:
        own = settings_of(name, dataclasses.replace(base, **fields))
    asked = {name: value for name, value in given.items() if name in known} | {"config": name}
    if own:
        replaced = tuple(f"{field}=" for field in ("policy", "reclaim") if given.get(field))
        kept = [setting for setting in own if not setting.startswith(replaced)]
        asked["settings"] = (*given.get("settings", ()), *kept)
    return requested(Surface.PYTHON, (trace,), asked)


def run(request: ReplayRequest) -> "Replay":
    """Replay the trace of a request for one.

    Raises
    ------
    WarploomError
        If the configuration or the trace is refused, before anything runs.
    MismatchError
        If RTL and model differ.
    ProgramError
        If the simulator or the model's process fails.
    """
    # Models and RTL are imported by the first call, not with the package.
    from warploom_sim.replay import replay_job, rtl_replay

    if request.simulator:
        simulators.require(request.simulator)
    job = replay_job.prepare(request)
    if not request.rtl:
        return replay_job.model_alone(job)
    outcome = rtl_replay.run_one(job)
    if outcome.result is None:
        raise MismatchError(*outcome.problems)
    return outcome.result


def _taken() -> dict[str, Option]:
    """Return the options that a call may have, `config` apart."""
    return {
        name: one
        for name, one in options(ReplayRequest).items()
        if Surface.PYTHON not in one.refused and name != "config"
    }


def _document() -> None:
    """Let help and editors show the options: they are the request's, not written a second time."""
    known = inspect.signature(replay)
    first, second, rest = known.parameters.values()
    named = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=one.default_of(Surface.PYTHON)
        )
        for name, one in _taken().items()
    ]
    # A function's type has no such attribute; `inspect` looks for it.
    replay.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[first, second, *named, rest.replace(name="fields")]
    )
    lines = []
    for name, one in _taken().items():
        lines += [
            f"{name} : default {one.default_of(Surface.PYTHON)!r}; legal: {one.kind.legal}",
            f"    {one.help}",
        ]
    said = "\n".join(["", "Options", "-------", *lines])
    replay.__doc__ = f"{inspect.getdoc(replay)}\n{textwrap.dedent(said)}\n"


_document()
