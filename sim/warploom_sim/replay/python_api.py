"""Replays from Python: one function, on the golden event model or on the RTL."""

import dataclasses
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warploom_sim.cosim import simulators
from warploom_sim.failure import MismatchError
from warploom_sim.replay.request import (
    ALLOCATORS,
    ARRIVALS,
    CONTENTIONS,
    DEFAULT_KNEE,
    MOST_KNEE,
    ReplayOptions,
)
from warploom_spec import Config, WarploomError, preset

if TYPE_CHECKING:
    from warploom_sim.replay.replay_result import Replay

#: Seeds are words of 32 bits.
_HIGHEST_SEED = 2**32 - 1


def replay(
    trace: str | Path,
    config: str | Config = "default",
    *,
    device: int | None = None,
    strict: bool = False,
    launches: int | None = None,
    time_scale: Fraction | str | int | float = Fraction(1, 32),
    seed: int = 1,
    kill_every: int | None = None,
    arrivals: str = ARRIVALS[0],
    contention: str = CONTENTIONS[0],
    knee: int = DEFAULT_KNEE,
    allocator: str = ALLOCATORS[0],
    rtl: bool = False,
    simulator: str = simulators.SIMULATORS[0],
    **fields: Any,
) -> "Replay":
    """Replay a recorded trace and return its launches and blocks as NumPy arrays.

    The golden event model runs alone, in this process, unless ``rtl`` is set.

    Parameters
    ----------
    trace : str or Path
        What the PyTorch profiler wrote (Chrome trace JSON, plain or gzip).
    config : str or Config
        A preset's name (``tiny``, ``default``, ``large``) or a configuration.
    device : int or None
        Only the kernels of this GPU of the trace; None is all.
    strict : bool
        Refuse a trace with kernels whose launch call is not recorded, instead of leaving them out.
    launches : int or None
        Only the first launches of the trace; None is all of them.
    time_scale : Fraction, str, int or float
        Block lengths are the recorded ones times this; as text such as ``"1/32"``.
    seed : int
        Seeds the jitter of the block lengths, and of kills, 0 to 2^32 - 1.
    kill_every : int or None
        Kill the launches of this number, twice this number and so on; None is no one.
    arrivals : str
        Whether launches arrive at the recorded times of their calls, times ``time_scale``
        (``trace``), or one after the other (``none``).
    contention : str
        Whether the blocks of an SM slow each other down: ``none`` or ``sharing``.
    knee : int
        With contention: warps that an SM runs at full speed, 1 to 65,535.
    allocator : str
        Which kernels get an address of their own in the index memory: ``frequent`` (from their
        second launch on), ``shared`` (none) or ``own`` (all), as long as there is room.
    rtl : bool
        Also run the RTL, hold every event against the model's, and return the RTL's. The
        simulation is built once for a configuration, under ``build/``.
    simulator : str
        What runs the RTL: ``verilator`` or ``icarus``.
    **fields
        Fields of `Config` that replace those of ``config``: ``policy="least_loaded"``, ``sms=4``.

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
    # Models and RTL are imported by the first call, not with the package.
    from warploom_sim.replay import replay_job, rtl_replay

    name, chosen = _config(config, fields)
    options = ReplayOptions(
        traces=(Path(trace),),
        simulator=simulator,
        config=name,
        device=_whole("device", device, 0) if device is not None else None,
        strict=bool(strict),
        launches=_whole("launches", launches, 1) if launches is not None else None,
        seed=_whole("seed", seed, 0, _HIGHEST_SEED),
        time_scale=_scale(time_scale),
        kill_every=_whole("kill_every", kill_every, 1) if kill_every is not None else None,
        arrivals=_word("arrivals", arrivals, ARRIVALS),
        contention=_word("contention", contention, CONTENTIONS),
        allocator=_word("allocator", allocator, ALLOCATORS),
        knee=_whole("knee", knee, 1, MOST_KNEE),
    )
    if rtl:
        simulators.require(simulator)
    job = replay_job.prepare(Path(trace), chosen, options)
    if not rtl:
        return replay_job.model_alone(job)
    outcome = rtl_replay.run_one(job)
    if outcome.result is None:
        raise MismatchError(*outcome.problems)
    return outcome.result


def _config(config: str | Config, fields: Mapping[str, Any]) -> tuple[str, Config]:
    """Return a name for the configuration, and the configuration with its fields set."""
    base = preset(config) if isinstance(config, str) else config
    for field in fields:
        if field not in vars(base):
            raise WarploomError(f"field is {field!r}; legal: {', '.join(vars(base))}")
    name = config if isinstance(config, str) else "Config"
    return name, dataclasses.replace(base, **fields)


def _whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    legal = f"{low} or more" if high is None else f"{low} to {high}"
    right = isinstance(value, int) and value >= low and (high is None or value <= high)
    if not right or isinstance(value, bool):
        raise WarploomError(f"{name} is {value!r}; legal: {legal}")
    return int(value)


def _word(name: str, value: Any, legal: Sequence[str]) -> str:
    if value not in legal:
        raise WarploomError(f"{name} is {value!r}; legal: {', '.join(legal)}")
    return str(value)


def _scale(value: Any) -> Fraction:
    try:
        scale = Fraction(value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        scale = Fraction(0)
    if scale <= 0:
        raise WarploomError(f"time_scale is {value!r}; legal: a fraction above 0, such as 1/32")
    return scale
