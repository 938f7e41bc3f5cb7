"""Run cases on any simulator, and report the first difference so that it can be repeated."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom_sim.build_cache import build_root
from warploom_sim.cosim import simulators
from warploom_sim.cosim.lockstep import amaranth_runner, cocotb_runner, events
from warploom_sim.cosim.lockstep.case import Case
from warploom_sim.cosim.lockstep.checker import Failure, Outcome, Session
from warploom_sim.kept_folders import hold, release_folder, remove_old

#: So many failures' waveforms are kept, and runs that go on side by side with them.
KEPT_FAILURES = 64
#: Packages that a bench may import besides its own modules.
PACKAGES = ("warploom", "warploom_golden", "warploom_spec")
SIMULATORS = ("amaranth", "icarus", "verilator")


@dataclass(frozen=True)
class Result:
    """A case that passed.

    Attributes
    ----------
    case : Case
        What ran.
    simulator : str
        Where.
    cycles, compared : int
        Cycles run and output values compared; both more than 0.
    counts : dict of str to int
        Events, and ``transfers of <stream>`` for each stream.
    cycles_per_s : float
        Speed of the cycle loop, without build and start.
    """

    case: Case
    simulator: str
    cycles: int
    compared: int
    counts: dict[str, int]
    cycles_per_s: float

    def require(self, *names: str) -> None:
        """Raise AssertionError unless each of these events happened."""
        events.require(names, self.counts)


class LockstepError(AssertionError):
    """RTL and model differ, or a stream rule is broken.

    Attributes
    ----------
    case : Case
        The case, seed included.
    simulator : str
        Where it was found.
    failure : Failure
        Cycle, ports and values.
    mismatch : str
        What is wrong, where, and the cycles before: all that one run shows.
    command : str
        What to type to repeat it.
    waves : Path or None
        Waveform of the repeated run; None if none was wanted, or none could be made.
    ending : str
        What follows ``mismatch`` in the report: notes, waveform, command.
    """

    def __init__(
        self,
        case: Case,
        simulator: str,
        failure: Failure,
        command: str,
        waves: Path | None = None,
        notes: Sequence[str] = (),
    ):
        self.case = case
        self.simulator = simulator
        self.failure = failure
        self.mismatch = _mismatch(case, simulator, failure)
        self.command = command
        self.waves = waves
        waveform = [f"waveform: {waves}"] if waves else []
        ending = (*notes, *waveform, f"repeat with: {command}")
        self.ending = "\n".join(f"  {line}" for line in ending)
        super().__init__(f"{self.mismatch}\n{self.ending}")


def _mismatch(case: Case, simulator: str, failure: Failure) -> str:
    lines = [
        f"{case.block} on {simulator}, cycle {failure.cycle}:"
        f" seed {case.seed}, params {json.dumps(case.params)}",
        *_differences(failure),
        *(f"  {problem}" for problem in failure.problems),
        f"  last {len(failure.history)} cycles:",
        *(f"  {line}" for line in failure.history),
    ]
    return "\n".join(lines)


def _differences(failure: Failure) -> Iterator[str]:
    """Yield a line for each port that differs, and below a packet's one for each of its fields."""
    for port, got, want in failure.differences:
        yield f"  {port}: got {got}, want {want}"
        for of, name, found, wanted in failure.fields:
            if of == port:
                yield f"    {name}: got {found}, want {wanted}"


def run(cases: Sequence[Case], simulator: str, *, waves: bool = True) -> list[Result]:
    """Run cases; those with equal ``make`` and ``params`` share one simulation.

    Parameters
    ----------
    cases : sequence of Case
        What to run, at least one.
    simulator : str
        ``amaranth``, ``icarus`` or ``verilator``.
    waves : bool
        Whether a difference is repeated with a waveform; before that it is printed to stderr.
        Without, a test that expects one (a seeded bug) is quicker and leaves nothing behind.

    Returns
    -------
    list of Result
        In the order of ``cases``. Their counts are also recorded in `events_folder`.

    Raises
    ------
    LockstepError
        At the first difference, whether or not its waveform can be made.
    ValueError
        If there are no cases or no such simulator.
    WarploomError
        If the simulator, or what cocotb needs, is not installed.
    """
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator must be one of {', '.join(SIMULATORS)}, got {simulator!r}")
    if not cases:
        raise ValueError("cases must hold at least one case")
    if simulator != "amaranth":
        simulators.require(simulator)
        simulators.require_libpython()
    groups: dict[str, list[int]] = {}
    for index, case in enumerate(cases):
        groups.setdefault(json.dumps([str(case.make), case.params]), []).append(index)
    results: dict[int, Result] = {}
    for indexes in groups.values():
        group = [cases[index] for index in indexes]
        results.update(zip(indexes, _run_group(group, simulator, waves), strict=True))
    return [results[index] for index in range(len(cases))]


def run_one(case: Case, simulator: str, *, waves: bool = True) -> Result:
    """Run one case; see `run`."""
    return run([case], simulator, waves=waves)[0]


def events_folder() -> Path:
    """Return the folder in which the counts of all passed runs are recorded."""
    return build_root() / "lockstep" / "events"


def repeat_command(cases: Sequence[Case], simulator: str) -> str:
    """Return the shell command that runs ``cases`` again."""
    modules = {__name__, *PACKAGES, *(str(case.make).partition(":")[0] for case in cases)}
    # Which modules a process happens to have imported must not show in the command.
    roots = {str(_root(module)) for module in modules if "site-packages" not in str(_root(module))}
    relative = sorted(os.path.relpath(root) for root in roots)
    text = json.dumps([case.to_json() for case in cases])
    return (
        f"PYTHONPATH={':'.join(relative)} {os.path.relpath(sys.executable)}"
        f" -m warploom_sim.cosim.lockstep {simulator} {shlex.quote(text)}"
    )


def _root(module: str) -> Path:
    """Return the folder that must be on the path for a module to be importable."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None, f"{module} has no file"
    levels = module.count(".") + (1 if Path(spec.origin).name == "__init__.py" else 0)
    return Path(spec.origin).parents[levels]


def _run_group(cases: Sequence[Case], simulator: str, waves: bool) -> list[Result]:
    """Run cases of one component in one simulation."""
    folder = _new_folder(cases[0], simulator)
    outcomes = _simulate(cases, simulator, folder, waves=False)
    failure = outcomes[-1].failure
    ran = cases[: len(outcomes)]
    if failure is not None and waves:
        # A waveform takes another build and another run: neither may cost what was found.
        print(_mismatch(ran[-1], simulator, failure), file=sys.stderr, flush=True)
        raise _with_waveform(ran, simulator, failure, folder)
    shutil.rmtree(folder)
    release_folder(folder)
    if failure is not None:
        raise LockstepError(ran[-1], simulator, failure, repeat_command(ran, simulator))
    results = []
    for case, outcome in zip(cases, outcomes, strict=True):
        if not outcome.compared:
            raise AssertionError(f"{case.block}: no value was compared")
        counts = outcome.counts | {
            f"transfers of {name}": count for name, count in outcome.transfers.items()
        }
        speed = outcome.cycles / outcome.wall_s
        results.append(Result(case, simulator, outcome.cycles, outcome.compared, counts, speed))
        label = f"{case.block} on {simulator}, seed {case.seed}"
        events.record(events_folder(), label, outcome.counts)
    return results


def _simulate(cases: Sequence[Case], simulator: str, folder: Path, waves: bool) -> list[Outcome]:
    if simulator != "amaranth":
        return cocotb_runner.run_cases(cases, simulator, folder, waves)
    session = Session(cases)
    amaranth_runner.run_session(session, folder / amaranth_runner.WAVES if waves else None)
    return session.outcomes


def _with_waveform(
    cases: Sequence[Case], simulator: str, failure: Failure, folder: Path
) -> LockstepError:
    """Run the failed case again with a waveform; what cannot be made is one line of the report."""
    notes: list[str] = []
    path: Path | None = None
    ran = cases
    try:
        _remove_old_folders()
        ran, repeats = _repeated(cases, simulator, failure, folder)
        if not repeats:
            notes.append("this did not repeat: something in the case is not deterministic")
        path = Path(os.path.relpath(folder / _waves_name(simulator)))
        path.stat()
    except (Exception, SystemExit) as error:
        notes.append(f"no waveform: {_one_line(error)}")
        path = None
    return LockstepError(cases[-1], simulator, failure, repeat_command(ran, simulator), path, notes)


def _repeated(
    cases: Sequence[Case], simulator: str, failure: Failure, folder: Path
) -> tuple[Sequence[Case], bool]:
    """Run the failed case with a waveform: alone, or if that does not fail alike, after the others.

    A case alone starts from power-up, not from the memories that the cases before it left behind.

    Returns
    -------
    tuple of (sequence of Case, bool)
        The cases that ran last, and whether they failed alike.
    """
    for attempt in (cases[-1:], cases):
        again = _simulate(attempt, simulator, folder, waves=True)[-1].failure
        if again is not None and again.cycle == failure.cycle:
            return attempt, True
    return cases, False


def _waves_name(simulator: str) -> str:
    if simulator == "amaranth":
        return amaranth_runner.WAVES
    return cocotb_runner.waves_name(simulator)


def _one_line(error: BaseException) -> str:
    """Return an error's first line and, of a log behind that, the first line with an error."""
    first, *rest = str(error).splitlines() or [type(error).__name__]
    why = [line.strip() for line in rest if "error" in line.lower()] or rest[-1:]
    return ": ".join([first, *why[:1]])


def _remove_old_folders() -> None:
    """Remove the waveforms of old failures."""
    remove_old(build_root() / "lockstep", KEPT_FAILURES, lambda path: path == events_folder())


def _new_folder(case: Case, simulator: str) -> Path:
    name = f"{case.block}-{simulator}-{case.seed}-{uuid.uuid4().hex[:8]}"
    folder = build_root() / "lockstep" / name
    hold(folder)
    folder.mkdir(parents=True)
    return folder
